# SPDX-License-Identifier: Apache-2.0
"""How the demonstration looks in a terminal, and in a pipe."""

from __future__ import annotations

import json
import sys
from math import exp
from pathlib import Path

import typer
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import sordino as so
from sordino.answer import Answer
from sordino.cli.ask import answer_as_json
from sordino.cli.demo import QUESTIONS, REFUSED, Question
from sordino.cli.demo_data import PATIENTS, write
from sordino.cli.shown import facts_of, gauge, plain, table_of
from sordino.errors import BudgetExceeded, QueryError
from sordino.ledger.verify import verify
from sordino.session import Left

NARROWEST, WIDEST = 60, 100
INDENT = (0, 2, 0, 4)


def show(folder: Path, console: Console | None = None) -> None:
    """Invent the hospital, ask it all questions, and print the answers."""
    console = console or Console(highlight=False)
    console.width = min(max(console.width, NARROWEST), WIDEST)
    with console.status("inventing a hospital"):
        catalog = write(folder)
    console.print()
    console.print(_opening(catalog))
    with so.open(catalog) as hospital:
        answers = []
        for number, question in enumerate(QUESTIONS, start=1):
            answers.append(hospital.ask(question.sql, **dict(question.asked)))
            console.print()
            _show_answer(console, number, question, answers[-1])
        console.print()
        _show_refusal(console, hospital)
        console.print()
        _show_ledger(console, hospital)
        console.print()
        (left,) = hospital.budget
        _show_budget(console, left)
    _draw(console, answers[0], folder / "diseases.png")
    console.print(_closing(catalog, left))
    console.print()


def show_json(folder: Path) -> None:
    """Invent the hospital, ask it all questions, and print the answers for programs."""
    catalog = write(folder)
    with so.open(catalog) as hospital:
        answers = []
        for question in QUESTIONS:
            answer = hospital.ask(question.sql, **dict(question.asked))
            told = answer_as_json(answer, hospital.budget[0])
            answers.append({"question": question.words, "sql": question.sql, **told})
    typer.echo(json.dumps({"catalog": str(catalog), "answers": answers}, indent=2))


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
    console.print(Padding(table_of(answer, console), INDENT, expand=False))
    if number == 1:
        said = plain("\n".join(f"- {note}" for note in answer.notes), console)
        console.print()
        console.print(Padding(Text(said, style="dim"), INDENT, expand=False))


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


def _show_ledger(console: Console, hospital: so.Session) -> None:
    """Show that the ledger gives answers again, refuses what is too much, and can be verified."""
    first = QUESTIONS[0]
    again = hospital.ask(first.sql, **dict(first.asked))
    if not again.again:
        raise RuntimeError("a question that was asked before was charged again")
    try:
        hospital.ask(first.sql, epsilon=3)
    except BudgetExceeded as error:
        refused = str(error)
    else:
        raise RuntimeError("a question that costs more than is left was not refused")
    (found,) = verify(hospital.ledger)
    console.print(Text("    What was spent is kept in a ledger:", style="bold"))
    console.print()
    facts = [
        ("asked again", "the first question gets its stored answer, and nothing is charged"),
        ("too much", refused),
        ("verified", f"{found.entries} entries, {found.charges} charges, {found.answers} answers"),
    ]
    console.print(Padding(facts_of(facts), INDENT, expand=False))


def _show_budget(console: Console, left: Left) -> None:
    part = left.left.value / left.cap.value
    told = f"  {left.left} of {left.cap}"
    console.print(Text.assemble(("    what is left  ", "bold"), gauge(part, console), told))
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
        f"'sordino repl --catalog {catalog} --epsilon 0.1' is a prompt for questions of your own, "
        f"and 'sordino budget --catalog {catalog}' says what is left. Or start {sys.executable} "
        f"and type the two green lines at the top. {catalog} shows what an owner declares, and "
        "docs/sql.md what can be asked. The next demonstration begins a new ledger.",
    )
    return Padding(text, INDENT, expand=False)
