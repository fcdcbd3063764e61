# SPDX-License-Identifier: Apache-2.0
"""How the demonstration looks in a terminal, and in a pipe."""

import sys
from dataclasses import dataclass
from math import exp

from rich.box import SIMPLE
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import sordino as so
from sordino.cli.demo import Answer, Cost, Interval, answers, total_cost
from sordino.cli.demo_data import PERSONS, people

WIDEST = 100
INDENT = (0, 2, 0, 4)


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
    console.width = min(console.width, WIDEST)
    ink = PLAIN_INK if console.options.ascii_only else Ink()
    asked = answers(people())

    console.print()
    console.print(_opening(ink))
    for number, answer in enumerate(asked, start=1):
        console.print()
        _show_answer(console, ink, number, answer)
    console.print()
    console.print(_bill(asked))
    console.print(_closing(asked, ink))
    console.print()


def _opening(ink: Ink) -> Panel:
    text = Text.assemble(
        (f"An invented hospital: {PERSONS:,} synthetic persons, one row each.\n", "bold"),
        "Every answer below hides whether any one person is in the data. The noise is drawn afresh "
        "on each run, so the answers differ the next time.\n\n",
        (f"{ink.noisy:5}", "bold cyan"),
        "  the private answer\n",
        (ink.left + ink.line * 3 + ink.right, "cyan"),
        "  its error bar: contains the exact value in at least 95 % of all runs\n",
        (f"{ink.exact:5}", "yellow"),
        "  the exact value\n\n",
        (
            "Exact values are shown only because nobody here is real, to let you judge the "
            "answers. With real data they stay hidden.",
            "dim",
        ),
    )
    return Panel(text, title="sordino demo", border_style="cyan", padding=(1, 2))


def _show_answer(console: Console, ink: Ink, number: int, answer: Answer) -> None:
    heading = Text.assemble((f" {number}  ", "bold cyan"), (answer.question, "bold"))
    price = _price(answer.cost)
    gap = console.width - 2 - heading.cell_len - len(price)
    heading.append(" " * max(gap, 2)).append(price, "bold cyan")
    console.print(heading)
    console.print(Padding(Text(answer.remark, style="dim"), INDENT, expand=False))
    console.print()
    console.print(Padding(Text(answer.code, style="green"), INDENT, expand=False))
    console.print()
    console.print(Padding(_picture(answer, console.width, ink), INDENT, expand=False))


def _picture(answer: Answer, width: int, ink: Ink) -> Text:
    """Draw one line for each interval: label, private value, error bar, exact value."""
    rows = [
        (interval, f"{_value(interval, ink)}  ", f"  exact {_number(interval.exact)}")
        for interval in answer.intervals
    ]
    label = max(len(interval.label) + 2 if interval.label else 0 for interval in answer.intervals)
    value = max(14, *(len(value) for _, value, _ in rows))
    exact = max(14, *(len(exact) for _, _, exact in rows))
    room = max(width - label - value - exact - 6, 12)
    alone = len(rows) == 1
    highest = max(max(interval.high, interval.exact) for interval in answer.intervals)
    lines = []
    for interval, noisy_text, exact_text in rows:
        axis = zoom(interval) if alone else (0.0, highest)
        drawn = draw(interval, axis, room, ink, bar=not alone)
        lines.append(
            Text.assemble(
                interval.label.ljust(label),
                (noisy_text.rjust(value) if label else noisy_text.ljust(value), "bold cyan"),
                drawn,
                (exact_text, "yellow"),
            )
        )
    return Text("\n", no_wrap=True).join(lines)


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


def _bill(asked: tuple[Answer, ...]) -> Padding:
    table = Table(box=SIMPLE, show_footer=True, pad_edge=False)
    total = total_cost([answer.cost for answer in asked])
    table.add_column("what it cost", footer="all of it, added up", footer_style="bold")
    table.add_column("noise")
    for name, value in zip(total._fields, total, strict=True):
        table.add_column(name, footer=f"{value:.3g}", justify="right", footer_style="bold cyan")
    for answer in asked:
        noise = type(answer.mechanisms[0]).__name__
        table.add_row(answer.short, noise, *(f"{value:.3g}" for value in answer.cost))
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
