# SPDX-License-Identifier: Apache-2.0
"""`sordino demo`: a few questions to an invented hospital, and how their answers look."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sordino as so
from sordino.cli.options import AsJson
from sordino.cli.usage import refusals
from sordino.errors import BudgetExceeded, QueryError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.panel import Panel

    from sordino.answer import Answer
    from sordino.session import Left

NARROWEST, WIDEST = 60, 100


@dataclass(frozen=True, slots=True)
class Question:
    """A question in words and in SQL, what it may cost or how far off it may be, and a remark."""

    words: str
    remark: str
    sql: str
    asked: tuple[tuple[str, Any], ...]

    @property
    def code(self) -> str:
        """The Python that asks it."""
        arguments = "".join(f", {name}={value!r}" for name, value in self.asked)
        lines = self.sql.splitlines()
        if len(lines) == 1:
            return f'hospital.ask("{lines[0]}"{arguments})'
        return "\n".join(
            ('hospital.ask("""', *(f"    {line}" for line in lines), f'"""{arguments})')
        )


QUESTIONS = (
    Question(
        words="How many visits were there for each disease, and what did one cost?",
        remark="The list of diseases is public. Every number comes with an error bar; AVG divides "
        "a noisy sum by a noisy count.",
        sql="SELECT disease, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY disease",
        asked=(("epsilon", 0.5),),
    ),
    Question(
        words="Which disease is the most common one?",
        remark="The answer is a name, so the noise goes into the choice.",
        sql="SELECT MODE(disease) AS disease FROM visits",
        asked=(("epsilon", 0.1),),
    ),
    Question(
        words="What does the middle urgent visit cost?",
        remark="A median is drawn near the middle rank; its interval is drawn too, and paid for.",
        sql="SELECT MEDIAN(cost) AS cost FROM visits WHERE urgent",
        asked=(("epsilon", 0.5),),
    ),
    Question(
        words="How many patients came from each region?",
        remark="Two private tables are joined on the patient, and a public one on the city.",
        sql="""SELECT region, COUNT(DISTINCT patient_id) AS patients
FROM visits JOIN patients USING (patient_id) JOIN cities ON city = name
GROUP BY region ORDER BY patients DESC""",
        asked=(("epsilon", 0.5), ("groups", 1)),
    ),
    Question(
        words="Which cities do patients come from?",
        remark="Nobody listed the cities. A city is told if enough patients live there; one where "
        "only three do stays hidden, and that is why this costs a delta.",
        sql="SELECT city, COUNT(*) AS patients FROM patients GROUP BY city\n"
        "ORDER BY patients DESC LIMIT 8",
        asked=(("epsilon", 0.5),),
    ),
    Question(
        words="How many visits fell into December 2024, within 150?",
        remark="Say how far off the answer may be, and the price follows.",
        sql="SELECT COUNT(*) AS n FROM visits WHERE day >= '2024-12-01'",
        asked=(("within", 150),),
    ),
)

REFUSED = "SELECT patient_id, cost FROM visits WHERE disease = 'migraine'"


def demo(
    folder: Annotated[
        Path, typer.Argument(help="Where to write the invented tables and the picture.")
    ] = Path("sordino-demo"),
    *,
    as_json: AsJson = False,
) -> None:
    """Invent a hospital and ask it a few questions in SQL."""
    with refusals(as_json=as_json):
        show_json(folder) if as_json else show(folder)


def show(folder: Path, console: Console | None = None) -> None:
    """Invent the hospital, ask it all questions, and print the answers."""
    from rich.console import Console  # this and the following load rich and numpy

    from sordino.cli.hospital import write

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
    _print(console, _closing(catalog, left))
    console.print()


def show_json(folder: Path) -> None:
    """Invent the hospital, ask it all questions, and print the answers for programs."""
    from sordino.cli.hospital import write  # this and the following load numpy
    from sordino.session.service import answer_to_json

    catalog = write(folder)
    with so.open(catalog) as hospital:
        answers = []
        for question in QUESTIONS:
            answer = hospital.ask(question.sql, **dict(question.asked))
            told = answer_to_json(answer, hospital.budget[0])
            answers.append({"question": question.words, "sql": question.sql, **told})
    typer.echo(json.dumps({"catalog": str(catalog), "answers": answers}, indent=2))


def _print(console: Console, what: RenderableType, style: str = "") -> None:
    """Print something below a heading, a little to the right of it."""
    from rich.padding import Padding  # this and the following load rich
    from rich.text import Text

    shown = Text(what, style) if isinstance(what, str) else what
    console.print(Padding(shown, (0, 2, 0, 4), expand=False))


def _opening(catalog: Path) -> Panel:
    from rich.panel import Panel  # this and the following load rich and numpy
    from rich.text import Text

    from sordino.cli.hospital import PATIENTS

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
    from rich.padding import Padding  # this and the following load rich
    from rich.table import Table
    from rich.text import Text

    from sordino.cli.show import table_of
    from sordino.cli.terminal import plain

    heading = Table.grid(padding=(0, 2, 0, 0), expand=True)
    heading.add_column(width=2, style="bold cyan", justify="right")
    heading.add_column(ratio=1, style="bold")
    heading.add_column(no_wrap=True, style="bold cyan")
    heading.add_row(str(number), question.words, str(answer.price))
    console.print(Padding(heading, (0, 2, 0, 0)))
    _print(console, question.remark, "dim")
    console.print()
    console.print(Padding(Text(question.code, style="green"), (0, 0, 0, 4), expand=False))
    console.print()
    _print(console, table_of(answer, console))
    if number == 1:
        said = plain("\n".join(f"- {note}" for note in answer.notes), console)
        console.print()
        _print(console, said, "dim")


def _show_refusal(console: Console, hospital: so.Session) -> None:
    try:
        hospital.explain(REFUSED, epsilon=1)
    except QueryError as error:
        refusal = str(error)
    else:
        raise RuntimeError("a question about single rows was not refused")
    _print(console, "What gives somebody away is refused, and costs nothing:", "bold")
    console.print()
    _print(console, refusal, "yellow")


def _show_ledger(console: Console, hospital: so.Session) -> None:
    """Show that the ledger gives answers again, refuses what is too much, and can be verified."""
    from sordino.cli.terminal import facts_of  # this and the following load rich and numpy
    from sordino.ledger.verify import verify

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
    _print(console, "What was spent is kept in a ledger:", "bold")
    console.print()
    facts = [
        ("asked again", "the first question gets its stored answer, and nothing is charged"),
        ("too much", refused),
        ("verified", f"{found.entries} entries, {found.charges} charges, {found.answers} answers"),
    ]
    _print(console, facts_of(facts))


def _show_budget(console: Console, left: Left) -> None:
    from rich.text import Text  # this and the following load rich

    from sordino.cli.terminal import gauge

    part = left.left.value / left.cap.value
    told = f"  {left.left} of {left.cap}"
    console.print(Text.assemble(("    what is left  ", "bold"), gauge(part, console), told))
    console.print()


def _draw(console: Console, answer: Answer, path: Path) -> None:
    try:
        answer.plot(path)
    except ImportError as error:
        _print(console, str(error), "dim")
    else:
        _print(console, f"The first answer as a picture: {path}")
        console.print()


def _closing(catalog: Path, left: Left) -> RenderableType:
    from rich.text import Text  # rich is loaded only here

    spent = float(left.cap.value - left.left.value)
    return Text.assemble(
        f"To whoever reads all of it, nothing becomes more than e^{spent:.3g} = {exp(spent):.1f} "
        "times as likely because one patient is in the data or is not, but for one chance in a "
        "million that a city is told.\n\n",
        ("Next: ", "bold"),
        f"'sordino repl --catalog {catalog} --epsilon 0.1' is a prompt for questions of your own, "
        f"and 'sordino budget --catalog {catalog}' says what is left. Or start {sys.executable} "
        f"and type the two green lines at the top. {catalog} shows what an owner declares, and "
        "docs/sql.md what can be asked. The next demonstration begins a new ledger.",
    )
