# SPDX-License-Identifier: Apache-2.0
"""How the demonstration looks in a terminal, and in a pipe."""

from __future__ import annotations

import sys
from math import exp
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import sordino as so
from sordino.answer import Answer, Column
from sordino.answer.text import with_bar
from sordino.cli.demo import QUESTIONS, REFUSED, Question
from sordino.cli.demo_data import PATIENTS, write
from sordino.errors import QueryError
from sordino.session import Left

NARROWEST, WIDEST = 60, 100
INDENT = (0, 2, 0, 4)
_GAUGE = 24


def show(folder: Path, console: Console | None = None) -> None:
    """Invent the hospital, ask it all questions, and print the answers."""
    console = console or Console(highlight=False)
    console.width = min(max(console.width, NARROWEST), WIDEST)
    with console.status("inventing a hospital"):
        catalog = write(folder)
    console.print()
    console.print(_opening(catalog))
    with so.open(catalog) as hospital:
        first = None
        for number, question in enumerate(QUESTIONS, start=1):
            answer = hospital.ask(question.sql, **dict(question.asked))
            first = first or answer
            console.print()
            _show_answer(console, number, question, answer)
        console.print()
        _show_refusal(console, hospital)
        console.print()
        (left,) = hospital.budget
        _show_budget(console, left)
    if first is not None:
        _draw(console, first, folder / "diseases.png")
    console.print(_closing(catalog, left))
    console.print()


def _opening(catalog: Path) -> Panel:
    text = Text.assemble(
        (f"An invented hospital: {PATIENTS:,} patients, three tables.\n", "bold"),
        f"The tables and what is declared about them lie in {catalog.parent}. Every answer hides "
        "whether any one patient, with all visits, is in the data. The noise is drawn afresh on "
        "each run, so the answers differ the next time.\n\n",
        ("import sordino as so\n", "green"),
        (f'hospital = so.open("{catalog}")', "green"),
    )
    return Panel(text, title="sordino demo", border_style="cyan", padding=(1, 2))


def _show_answer(console: Console, number: int, question: Question, answer: Answer) -> None:
    heading = Table.grid(padding=(0, 2, 0, 0), expand=True)
    heading.add_column(width=2, style="bold cyan", justify="right")
    heading.add_column(ratio=1, style="bold")
    heading.add_column(no_wrap=True, style="bold cyan")
    heading.add_row(str(number), question.words, str(answer.price))
    console.print(Padding(heading, (0, 2, 0, 0)))
    console.print(Padding(Text(question.remark, style="dim"), INDENT, expand=False))
    console.print()
    console.print(Padding(Text(question.code, style="green"), (0, 0, 0, 4), expand=False))
    console.print()
    sign = "+/-" if console.options.ascii_only else "±"
    console.print(Padding(table_of(answer, sign), INDENT, expand=False))
    if number == 1:
        said = "\n".join(f"- {note}" for note in answer.notes)
        console.print()
        console.print(Padding(Text(said.replace("±", sign), style="dim"), INDENT, expand=False))


def table_of(answer: Answer, sign: str = "±") -> Table:
    """Return an answer as a table: values in colour, their error bars beside them."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for column in answer.columns:
        table.add_column(column.title, justify="right" if column.noisy else "left")
    for row in range(len(answer)):
        table.add_row(*(_cell(column, row, sign) for column in answer.columns))
    return table


def _cell(column: Column, row: int, sign: str) -> Text:
    if column.noisy:
        value, bar = with_bar(column, row)
        return Text.assemble((value, "bold cyan"), f" {bar.replace('±', sign)}")
    style = "" if column.kind == "key" else "bold cyan"
    behind = "" if column.gap is None else f" (at most {column.gap:,.0f} visits behind the best)"
    return Text.assemble((str(column.cell(row)), style), (behind, "dim"))


def _show_refusal(console: Console, hospital: so.Session) -> None:
    try:
        hospital.explain(REFUSED, epsilon=1)
    except QueryError as error:
        refusal = str(error)
    else:
        raise RuntimeError("a question about single rows was not refused")
    console.print(Text("    What gives somebody away is refused, and costs nothing:", style="bold"))
    console.print()
    console.print(Padding(Text(refusal, style="yellow"), INDENT, expand=False))


def _show_budget(console: Console, left: Left) -> None:
    share = float(left.left.value / left.cap.value)
    full = round(share * _GAUGE)
    filled, empty = ("#", ".") if console.options.ascii_only else ("━", "─")
    gauge = Text.assemble(
        ("    what is left  ", "bold"), (filled * full, "cyan"), (empty * (_GAUGE - full), "dim"),
        f"  {left.left} of {left.cap}",
    )  # fmt: skip
    console.print(gauge)
    console.print()


def _draw(console: Console, answer: Answer, path: Path) -> None:
    try:
        answer.plot(path)
    except ImportError as error:
        console.print(Padding(Text(str(error), style="dim"), INDENT, expand=False))
    else:
        console.print(Padding(Text(f"The first answer as a picture: {path}"), INDENT, expand=False))
        console.print()


def _closing(catalog: Path, left: Left) -> Padding:
    spent = float(left.cap.value - left.left.value)
    text = Text.assemble(
        f"To whoever reads all of it, nothing becomes more than e^{spent:.3g} = {exp(spent):.1f} "
        "times as likely because one patient is in the data or is not, but for one chance in a "
        "million that a city is told.\n\n",
        ("Next: ", "bold"),
        f"start {sys.executable}, type the two green lines at the top, and ask something of your "
        f"own; {catalog} shows what an owner declares, and docs/sql.md what can be asked.",
    )
    return Padding(text, INDENT, expand=False)
