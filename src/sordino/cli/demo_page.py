# SPDX-License-Identifier: Apache-2.0
"""How the demonstration looks in a terminal, and in a pipe."""

import sys
from dataclasses import dataclass
from math import exp

from rich.box import SIMPLE
from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import sordino as so
from sordino.cli.demo import Answer, Cost, Interval, answers, total_cost
from sordino.cli.demo_data import PERSONS, people

NARROWEST, WIDEST = 40, 100
ROOMY = 60  # columns from which on there is room for code and pictures
INDENT = (0, 2, 0, 4)
_NOISES = {so.Laplace: "Laplace", so.Gaussian: "Gaussian", so.PermuteAndFlip: "in the choice"}


@dataclass(frozen=True, slots=True)
class Ink:
    """The characters to draw with; plain ones where the terminal knows no others."""

    bar: str = "█"
    left: str = "├"
    line: str = "─"
    right: str = "┤"
    noisy: str = "●"
    exact: str = "×"
    plus_minus: str = "±"


PLAIN_INK = Ink(bar="#", left="|", line="-", right="|", noisy="o", exact="x", plus_minus="+/-")


def show(console: Console | None = None) -> None:
    """Ask the questions and print the answers."""
    console = console or Console(highlight=False)
    console.width = min(max(console.width, NARROWEST), WIDEST)
    ink = PLAIN_INK if console.options.ascii_only else Ink()
    asked = answers(people())

    console.print()
    console.print(_opening(ink, console.width))
    for number, answer in enumerate(asked, start=1):
        console.print()
        _show_answer(console, ink, number, answer)
    console.print()
    console.print(_bill(asked, console.width))
    console.print(_closing(asked, ink))
    console.print()


def _opening(ink: Ink, width: int) -> Panel:
    opening = Text.assemble(
        (f"An invented hospital: {PERSONS:,} synthetic persons, one row each.\n", "bold"),
        "Every answer below hides whether any one person is in the data. The noise is drawn afresh "
        "on each run, so the answers differ the next time.\n",
    )
    warning = Text(
        "\nExact values are shown only because nobody here is real, to let you judge the answers. "
        "With real data they stay hidden.",
        style="dim",
    )
    return Panel(
        Group(opening, _legend(ink, width), warning),
        title="sordino demo",
        border_style="cyan",
        padding=(1, 2),
    )


def _legend(ink: Ink, width: int) -> Table:
    """Explain the signs; a narrow page draws no error bars."""
    legend = Table.grid(padding=(0, 2, 0, 0))
    legend.add_column(no_wrap=True)
    bar = ink.left + ink.line * 3 + ink.right
    meaning = "holds the exact value in at least 95 % of runs"
    if width >= ROOMY:
        legend.add_row(Text(ink.noisy, "bold cyan"), "the private answer")
        legend.add_row(Text(bar, "cyan"), f"its error bar ({ink.plus_minus}): {meaning}")
        legend.add_row(Text(ink.exact, "yellow"), "the exact value")
    else:
        legend.add_row(Text(ink.plus_minus, "bold cyan"), f"error bar: {meaning}")
    return legend


def _show_answer(console: Console, ink: Ink, number: int, answer: Answer) -> None:
    roomy = console.width >= ROOMY
    heading = Table.grid(padding=(0, 2, 0, 0), expand=True)
    heading.add_column(width=2, style="bold cyan", justify="right")
    heading.add_column(ratio=1, style="bold")
    heading.add_column(no_wrap=True, style="bold cyan")
    price = _price(answer.cost)
    heading.add_row(str(number), answer.question, price if roomy else "")
    if not roomy:
        heading.add_row("", Text(price, style="bold cyan"), "")
    console.print(Padding(heading, (0, 2, 0, 0)))
    remark = answer.remark.replace("±", ink.plus_minus)
    console.print(Padding(Text(remark, style="dim"), INDENT, expand=False))
    console.print()
    if roomy:
        console.print(Padding(Text(answer.code, style="green"), (0, 0, 0, 4), expand=False))
        console.print()
    drawn = _picture(answer, console.width, ink) if answer.intervals else _name(answer, roomy)
    console.print(Padding(drawn, INDENT, expand=False))


def _picture(answer: Answer, width: int, ink: Ink) -> Text:
    """Write one line for each interval: label, private value, error bar if it fits, exact value."""
    rows = [
        (interval, f"{_value(interval, ink)}  ", f"  exact {_number(interval.exact)}")
        for interval in answer.intervals
    ]
    roomy = width >= ROOMY
    label = max(len(interval.label) + 2 if interval.label else 0 for interval in answer.intervals)
    value = max(14 if roomy else 0, *(len(value) for _, value, _ in rows))
    exact = max(14, *(len(exact) for _, _, exact in rows))
    room = max(width - label - value - exact - 6, 12) if roomy else 0
    alone = len(rows) == 1
    highest = max(max(interval.high, interval.exact) for interval in answer.intervals)
    lines = []
    for interval, noisy_text, exact_text in rows:
        axis = zoom(interval) if alone else (0.0, highest)
        drawn = draw(interval, axis, room, ink, bar=not alone) if roomy else ""
        lines.append(
            Text.assemble(
                interval.label.ljust(label),
                (noisy_text.rjust(value) if label else noisy_text.ljust(value), "bold cyan"),
                drawn,
                (exact_text if roomy else exact_text.strip(), "yellow"),
            )
        )
    return Text("\n", no_wrap=True).join(lines)


def _name(answer: Answer, roomy: bool) -> Text:
    """Write the name that was chosen, how far behind it may be, and the best one."""
    if answer.choice is None:
        raise ValueError(f"there is no answer to {answer.question!r}")
    name, gap, exact = answer.choice
    behind = f"less than {gap:.0f} behind the best, in 95 % of runs"
    return Text.assemble(
        (name, "bold cyan"), f"  {behind}" if roomy else "", (f"  exact {exact}", "yellow")
    )


def draw(interval: Interval, axis: tuple[float, float], room: int, ink: Ink, *, bar: bool) -> Text:
    """Draw an error bar on a line of `room` characters, with a bar from zero if asked for."""

    def place(value: float) -> int:
        return round((max(value, axis[0]) - axis[0]) / (axis[1] - axis[0]) * (room - 1))

    low, high = place(interval.low), place(interval.high)
    cells = [(ink.bar, "blue") if bar and at < low else (" ", "") for at in range(room)]
    cells[low : high + 1] = [(ink.line, "cyan")] * (high + 1 - low)
    cells[low], cells[high] = (ink.left, "cyan"), (ink.right, "cyan")
    cells[place(interval.exact)] = (ink.exact, "yellow")
    cells[place(interval.noisy)] = (ink.noisy, "bold cyan")
    return Text.assemble(*cells)


def zoom(interval: Interval) -> tuple[float, float]:
    """Return the ends of an axis with the error bar, and the exact value if that lies outside."""
    return min(interval.low, interval.exact), max(interval.high, interval.exact)


def _value(interval: Interval, ink: Ink) -> str:
    radius = max(interval.high - interval.noisy, interval.noisy - interval.low)
    return f"{_number(interval.noisy)} {ink.plus_minus} {_number(radius)}"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _price(cost: Cost) -> str:
    return f"epsilon {cost.epsilon:.3g}" + (f", delta {cost.delta:.0e}" if cost.delta else "")


def _bill(asked: tuple[Answer, ...], width: int) -> Padding:
    """Draw the table of costs; a narrow page leaves columns out rather than cutting them."""
    table = Table(box=SIMPLE, show_footer=True, pad_edge=False)
    total = total_cost([answer.cost for answer in asked])
    shown = slice(None if width >= ROOMY else 2)  # without rho
    noisy = width >= ROOMY + 10
    table.add_column("what it cost", footer="all of it, added up", footer_style="bold")
    if noisy:
        table.add_column("noise")
    for name, value in list(zip(total._fields, total, strict=True))[shown]:
        table.add_column(
            name, footer=f"{value:.3g}", justify="right", footer_style="bold cyan", no_wrap=True
        )
    for answer in asked:
        noise = [_NOISES[type(answer.mechanisms[0])]] if noisy else []
        table.add_row(answer.short, *noise, *(f"{value:.3g}" for value in [*answer.cost][shown]))
    return Padding(table, INDENT, expand=False)


def _closing(asked: tuple[Answer, ...], ink: Ink) -> Padding:
    total = total_cost([answer.cost for answer in asked])
    least = so.Laplace.within(25, confidence=0.95, sensitivity=1)
    text = Text.assemble(
        f"To whoever reads all of it, nothing becomes more than e^{total.epsilon:.3g} = "
        f"{exp(total.epsilon):.2f} times as likely, plus {total.delta:.0e}, because one person is "
        "in the data or is not.\n\n",
        ("Before asking: ", "bold"),
        f"a count within {ink.plus_minus} 25 at 95 % costs epsilon {least:.4f}, says\n",
        ("so.Laplace.within(25, confidence=0.95, sensitivity=1)\n\n", "green"),
        ("Next: ", "bold"),
        f"start {sys.executable}, type `import sordino as so`, and try a number of your own; "
        "README.md says what is promised and what is not.",
    )
    return Padding(text, INDENT, expand=False)
