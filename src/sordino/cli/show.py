# SPDX-License-Identifier: Apache-2.0
"""What commands print about questions and ledgers: answers, prices, budgets, entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sordino.answer import Answer, Column
from sordino.answer.render import key_texts, printable, shown_rows, with_bar
from sordino.catalog.model import Catalog
from sordino.cli.terminal import (
    GAP_BETWEEN_COLUMNS,
    facts_of,
    gauge,
    notes_of,
    plain,
    show_facts,
    table_with,
)
from sordino.ledger.entry import Entry
from sordino.ledger.history import Part, Standing, Sum, currencies
from sordino.ledger.ledger import Ledger
from sordino.ledger.left import Left, and_delta, left_in_words
from sordino.ledger.verify import Verified
from sordino.plan.told import COLUMNS, RELEASES, Told
from sordino.privacy.currency import ATTO, Currency, Price
from sordino.session.service import (
    DIGITS_OF_PLAN,
    note_on_stranger,
    place_of_charge,
    questions_of,
    takes_all,
)

MIN_WIDTH_OF_KEY = 8  # places


def table_of(answer: Answer, console: Console) -> Table:
    """Return an answer as a table: values in colour, their error bars beside them.

    A terminal gets the ends of a long answer, and a pipe all of it. Where the numbers do not fit
    side by side, they stand below each other: a number that is cut is a wrong one.
    """
    every = range(len(answer))
    rows = shown_rows(len(answer)) if console.is_terminal else list(every)
    titles = [Text(printable(column.title)) for column in answer.columns]
    cells = [_cells(column, rows, console) for column in answer.columns]
    lines: list[list[Text]] = [list(line) for line in zip(*cells, strict=True)]
    if len(rows) < len(every):
        lines.insert(len(rows) // 2, [Text(f"... {len(every) - len(rows):,} more rows", "dim")])
    if not rows:
        lines.append([Text("(no rows)", style="dim")])
    least = [
        max(cell.cell_len for cell in (title, *column)) if one.noisy else MIN_WIDTH_OF_KEY
        for one, title, column in zip(answer.columns, titles, cells, strict=True)
    ]
    if sum(least) + GAP_BETWEEN_COLUMNS * len(least) > console.options.max_width:
        return _below_each_other(titles, lines)
    table = table_with()
    for column, title, width in zip(answer.columns, titles, least, strict=True):
        if column.noisy:
            table.add_column(title, no_wrap=True, min_width=width)
        else:
            table.add_column(title, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


def _below_each_other(titles: list[Text], lines: list[list[Text]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", overflow="fold")
    table.add_column(overflow="fold")
    for number, line in enumerate(lines):
        if number:
            table.add_row()
        for title, cell in zip(titles, line, strict=False):
            table.add_row(title, cell)
    return table


def _cells(column: Column, rows: list[int], console: Console) -> list[Text]:
    if not column.noisy:
        style = "" if column.kind == "key" else "bold cyan"
        gap = column.gap
        behind = "" if gap is None else f" (at most {gap:,.0f} rows behind the best)"
        return [Text.assemble((text, style), (behind, "dim")) for text in key_texts(column, rows)]
    pairs = [with_bar(column, row) for row in rows]
    wide = max((len(value) for value, _ in pairs), default=0)
    return [
        Text.assemble((value.rjust(wide), "bold cyan"), f" {plain(bar, console)}")
        for value, bar in pairs
    ]


def show_answer(console: Console, answer: Answer, left: Left, *, taken_up: bool = False) -> None:
    """Print an answer: its table, the price, what is left, and what the error bars do not cover.

    ``taken_up`` says that it was charged before, by a question that was not answered then.
    """
    charge = answer.charge
    price = and_delta(charge.price, charge.slack)
    sure = f"each ± holds with {100 * float(answer.confidence):.6g} %, by itself"
    console.print(table_of(answer, console))
    console.print()
    paid = price
    if answer.again:
        paid = f"answered before: nothing was charged ({price} then)"
    elif taken_up:
        paid = f"paid before, and not answered: nothing more was charged ({price} then)"
    show_facts(
        console,
        [
            ("price", paid),
            ("left", left_in_words(left, charge.price, charge.slack)),
            ("error bars", plain(sure, console)),
        ],
        whole=("receipt", answer.receipt),
    )
    if answer.notes:
        console.print(notes_of(plain(note, console) for note in answer.notes))


def show_explanation(
    console: Console,
    explanation: Told,
    facts: Iterable[tuple[str, str]],
    warnings: Iterable[str],
) -> None:
    """Print what an answer would cost: the price, further facts, widths, releases, warnings."""
    (first, *others) = explanation.facts
    console.print(facts_of([first, *facts, *others]))
    for titles, rows in ((COLUMNS, explanation.widths()), (RELEASES, explanation.rows())):
        table = table_with(*titles)
        for row in rows:
            table.add_row(*(escape(plain(text, console)) for text in row))
        console.print()
        console.print(table)
    for warning in warnings:
        console.print(f"\n[yellow]warning:[/] {escape(warning)}")


def show_budget(
    console: Console, standings: Sequence[Standing], who: str, warning: str = ""
) -> None:
    """Print how every id space stands, with a bar of what is left."""
    for number, one in enumerate(standings):
        if number:
            console.print()
        cap, left = one.cap.price, one.left.price
        part = Fraction(left.nanos, cap.nanos) if cap.nanos else Fraction(0)
        console.print(Text.assemble((one.people, "bold"), f": {left} of {cap} left"))
        console.print(gauge(min(part, Fraction(1)), console))
        console.print(facts_of(_facts_of_budget(one, who)))
        if len(one.parts) > 1:
            console.print()
            console.print(_shares(one.parts))
    if warning:
        console.print()
        console.print(Text.assemble(("warning: ", "yellow"), warning))


def _facts_of_budget(one: Standing, who: str) -> list[tuple[str, str]]:
    facts = [("spent", _amount(one.spent))]
    own = one.part(who)
    if own is not None and (len(one.parts) > 1 or own.left != one.left):
        facts.append((f"for {who}", f"{_amount(own.left)} left"))
    kept = [f"{_amount(part.kept)} for {part.who}" for part in one.parts if _is_some(part.kept)]
    if kept:
        facts.append(("kept", ", ".join(kept)))
    if one.question is not None:
        facts.append(("one question", f"at most {one.question}"))
    if one.others is not None:
        facts.append(("all others", f"at most {_amount(one.others)} each"))
    if one.cap.delta:
        left, cap = float(one.left.delta), float(one.cap.delta)
        facts.append(("keys", f"delta {left:.3g} of {cap:.3g} left to discover them"))
    return facts


def _shares(parts: tuple[Part, ...]) -> Table:
    table = table_with("analyst", "spent", "at most", "kept", "left")
    for part in parts:
        most = "no limit" if part.most is None else str(part.most.price)
        kept = str(part.kept.price) if _is_some(part.kept) else "nothing"
        table.add_row(
            Text(printable(part.who)),
            str(part.spent.price),
            most,
            kept,
            Text(str(part.left.price), "cyan"),
        )
    return table


def _amount(amount: Sum) -> str:
    return and_delta(amount.price, amount.delta)


def _is_some(amount: Sum) -> bool:
    return bool(amount.price.nanos or amount.delta)


def show_entries(console: Console, ledger: Ledger, listed: list[Entry], wanted: str = "") -> None:
    """Print entries of a ledger as a table."""
    questions = questions_of(ledger, listed)
    told = [(entry, questions.get(place_of_charge(entry))) for entry in listed]
    show_listed(console, told, currencies(ledger), wanted)


def show_listed(
    console: Console,
    told: Sequence[tuple[Entry, str | None]],
    counted: Mapping[str, Currency],
    wanted: str = "",
) -> None:
    """Print entries: when, who, what, and what was left of the whole budget, where that is told."""
    if not told:
        nothing = f"nothing is on record {wanted}" if wanted else "nothing has been asked yet"
        console.print(Text(printable(nothing)))
        return
    table = table_with(gap=2)
    several = len({entry.people for entry, _ in told}) > 1
    titles = ["number", "when", "who", "what"]
    is_left_told = any(entry.cap >= 0 for entry, _ in told)
    if is_left_told:
        titles.append("left")
    for title in ["people", *titles] if several else titles:
        whole = title in ("number", "when")
        side: Literal["left", "right"] = "right" if title == "number" else "left"
        table.add_column(title, justify=side, overflow="fold", no_wrap=whole)
    for entry, question in told:
        currency = counted[entry.people]
        left = Price(currency, max(0, entry.cap - entry.spent))
        cells = [
            Text(str(entry.number)),
            Text(entry.at.replace("T", " ").removesuffix("Z")),
            Text(printable(entry.who or entry.by)),
            Text(
                in_words(entry, currency) + _quoted(question, entry, console),
                "" if entry.kind == "charge" else "dim",
            ),
        ]
        if is_left_told:
            cells.append(Text("" if entry.kind == "answer" or entry.cap < 0 else str(left)))
        table.add_row(*([Text(entry.people)] if several else []), *cells)
    console.print(table)


def in_words(entry: Entry, currency: Currency) -> str:
    """Say what an entry is about."""
    match entry.kind:
        case "open" | "limits":
            begun = "opened" if entry.kind == "open" else "limits set"
            cap = _written(currency, entry.cap, entry.cap_slack)
            most = "" if entry.most is None else f", one question {Price(currency, entry.most)}"
            each = _limit(currency, entry.others, entry.others_slack)
            others = "" if each is None else f", all others {each} each"
            return f"{begun}: {cap}{most}{others}{_reason(entry)}"
        case "share":
            most = _limit(currency, entry.share, entry.share_slack) or "no limit"
            kept = _written(currency, entry.kept, entry.kept_slack)
            return f"share of {printable(entry.who)}: {most}, kept {kept}{_reason(entry)}"
        case "charge":
            price = _written(currency, entry.price, entry.price_slack)
            return f"charge of {price}, plan {entry.plan[:DIGITS_OF_PLAN]}"
        case "answer":
            return f"answer to {entry.charge}"


def _quoted(question: str | None, entry: Entry, console: Console) -> str:
    """Return a question behind its answer, on one line and no longer than suits the console."""
    if question is None or entry.kind != "answer":
        return ""
    text, most = printable(" ".join(question.split())), console.width // 2
    return f": {text}" if len(text) <= most else f": {text[:most].rstrip()}..."


def _reason(entry: Entry) -> str:
    return f" ({printable(entry.by)}: {printable(entry.why)})" if entry.why else ""


def _limit(currency: Currency, nanos: int | None, slack: int | None) -> str | None:
    return None if nanos is None else _written(currency, nanos, slack or 0)


def _written(currency: Currency, nanos: int, slack: int) -> str:
    return and_delta(Price(currency, nanos), Fraction(slack, ATTO))


def show_verified(console: Console, verified: Sequence[Verified], seen: int) -> None:
    """Print what was found in order; ``seen`` is how many entries it was held to besides."""
    if not verified:
        console.print("nothing has been asked yet")
        return
    for one in verified:
        charges = f"{one.charges:,} charge{'s' * (one.charges != 1)}"
        answers = f"{one.answers:,} answer{'s' * (one.answers != 1)}"
        show_facts(
            console,
            [
                ("people", one.people),
                ("entries", f"{one.entries:,}: {charges}, {answers}"),
                ("spent", f"{one.spent} of {one.cap}"),
            ],
            whole=("head", str(one.head)),
        )
        console.print()
    many = "the one" if seen == 1 else f"all {seen:,}"
    held = (
        f", also {many} that an anchor or a receipt has seen"
        if seen
        else "; no anchor and no receipt was there to hold it to, so an old copy would pass too"
    )
    console.print(Text.assemble(("all is well", "bold green"), f": every entry is in place{held}"))


def show_amended(
    console: Console, entries: Sequence[Entry], counted: Mapping[str, Currency]
) -> None:
    """Print the entries that changed limits."""
    if not entries:
        console.print("nothing to change: the ledger has the same limits on record")
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    for entry in entries:
        what = in_words(entry, counted[entry.people])
        table.add_row(Text(entry.people), str(entry.number), Text(what))
    console.print(table)


def show_log(console: Console, lines: Sequence[Mapping[str, object]]) -> None:
    """Print lines of the owner's log."""
    if not lines:
        console.print("nothing has failed after its charge")
        return
    table = table_with(gap=2)
    for title in ("at", "process", "charge", "what"):
        table.add_column(title, overflow="fold", no_wrap=title != "what")
    for line in lines:
        *others, what = (_cell(line, name) for name in ("at", "pid", "charge", "what"))
        failure = _cell(line, "failure")
        told = f"{what}: {failure}" if failure and failure not in what else what
        table.add_row(*map(Text, (*others, told)))
    console.print(table)


def _cell(line: Mapping[str, object], name: str) -> str:
    return printable(str(line.get(name, "")))


def note_stranger(catalog: Catalog, who: str, *, refused: bool = False) -> None:
    """Say on standard error that analysts are declared and this one is not, as after a slip.

    With ``refused`` nothing is said of who may not ask, because the refusal of a question says it.
    """
    note = note_on_stranger(catalog, who)
    if note and (takes_all(catalog) or not refused):
        typer.echo(f"note: {note}", err=True)
