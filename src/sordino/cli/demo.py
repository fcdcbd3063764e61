# SPDX-License-Identifier: Apache-2.0
"""`sordino demo`: an invented hospital, a few questions to it, and how their answers look.

The patients and visits are the same every time, and none of them ever lived. Every value is a
function of the number of its row, so that the recipe is the data set: nothing to download, nothing
to go stale, and no question whether somebody real might be in it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import sordino as so
from sordino.answer import Answer
from sordino.catalog.checks import DEFAULT
from sordino.cli.show import table_of
from sordino.cli.terminal import facts_of, gauge, plain
from sordino.errors import BudgetExceeded, CatalogError, QueryError
from sordino.ledger.verify import verify
from sordino.mock.draws import Words, mix, share, skewed, weighted
from sordino.session import Left
from sordino.session.service import answer_to_json

NARROWEST, WIDEST = 60, 100
INDENT = (0, 2, 0, 4)
PATIENTS = 30_000
DISEASES = ("asthma", "diabetes", "flu", "fracture", "migraine", "pneumonia")
WARDS = ("Children", "Emergency", "Maternity", "Medicine", "Surgery")
REGIONS = ("north", "east", "south", "west")
_CITIES = 48
_SHARES = {"flu": 30, "asthma": 20, "fracture": 18, "diabetes": 14, "migraine": 12, "pneumonia": 6}
_COSTS = {
    "asthma": 180, "diabetes": 240, "flu": 90, "fracture": 900, "migraine": 120, "pneumonia": 1900,
}  # fmt: skip

CATALOG = """\
# Who is protected, what is public, how much may be learned. Nothing here was read off the data.

[budget]
epsilon = 3
delta = 1e-6              # only for keys that are not declared, such as the city of a patient

[tables.visits]
parquet = "visits.parquet"
unit = "patient_id"       # one patient with all visits is hidden
limits = { rows = 12 }    # a patient with more visits counts with twelve in all

[tables.visits.columns]
visit_id = "integer"
patient_id = "integer"
day = { type = "date", bounds = [2023-01-01, 2024-12-31] }
ward = { type = "text", keys = ["Children", "Emergency", "Maternity", "Medicine", "Surgery"] }
cost = { type = "real", bounds = [0, 5000] }
urgent = "boolean"

[tables.visits.columns.disease]
type = "text"
keys = ["asthma", "diabetes", "flu", "fracture", "migraine", "pneumonia"]

[tables.patients]
parquet = "patients.parquet"
unit = "patient_id"
limits = { rows = 1 }

[tables.patients.columns]
patient_id = "integer"
sex = { type = "text", keys = ["f", "m", "x"] }
age = { type = "integer", bounds = [0, 110] }
city = "text"             # no list of cities: which are told is decided privately

[tables.cities]
parquet = "cities.parquet"
public = true

[tables.cities.columns]
name = "text"
region = { type = "text", keys = ["north", "east", "south", "west"] }
"""


def write(folder: Path) -> Path:
    """Write three tables and their catalog into a folder, and return the path of the catalog.

    A ledger that an earlier demonstration left is begun anew, which is right for nobody but people
    who are invented. A folder that holds anything else is refused.
    """
    import pyarrow as pa  # heavy, and only the demonstration needs it here
    import pyarrow.parquet as pq

    made = tables()
    path = folder / "sordino.toml"
    files = [path, *(folder / f"{name}.parquet" for name in made)]
    ledger = [folder / f"{DEFAULT}{end}" for end in ("", "-wal", "-shm", ".heads")]
    if not (path.is_file() and path.read_text("utf-8", "replace") == CATALOG):
        _check_free([*files, *ledger])
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(CATALOG, encoding="utf-8")
    for file in ledger:
        file.unlink(missing_ok=True)
    for name, columns in made.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return path


def _check_free(files: list[Path]) -> None:
    for file in files:
        if file.exists():
            raise CatalogError(
                f"{str(file)!r} is there already, and not as the demonstration writes it; name "
                "another folder"
            )


def tables() -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Return the columns of the three tables."""
    people = np.arange(PATIENTS, dtype=np.uint64)
    city = skewed(mix(people, 1), _CITIES)
    ages = np.minimum((share(mix(people, 2)) + share(mix(people, 3))) * 52, 104)
    visits_of = 1 + np.minimum((-2.8 * np.log1p(-share(mix(people, 4)))).astype(np.int64), 40)
    owners = np.repeat(people, visits_of)
    visits = np.arange(owners.size, dtype=np.uint64)
    disease = weighted(mix(visits, 5), tuple(_SHARES[name] for name in DISEASES))
    typical = np.array([_COSTS[name] for name in DISEASES], dtype=np.float64)[disease]
    day = (share(mix(visits, 6)) * 731).astype(np.int64).astype("timedelta64[D]")
    return {
        "patients": {
            "patient_id": _identifier(people),
            "sex": np.array(["f", "m", "x"])[weighted(mix(people, 7), (50, 49, 1))],
            "age": ages.astype(np.int64),
            "city": np.where(people % np.uint64(10_007) == 5, "Little Foxley", _names()[city]),
        },
        "visits": {
            "visit_id": visits.astype(np.int64) + 1,
            "patient_id": _identifier(owners),
            "day": np.datetime64("2023-01-01", "D") + day,
            "disease": np.array(DISEASES)[disease],
            "ward": np.array(WARDS)[weighted(mix(visits, 8), (9, 16, 12, 36, 27))],
            "cost": np.round(typical * (0.4 - 0.6 * np.log1p(-share(mix(visits, 9)))), 2),
            "urgent": share(mix(visits, 10)) < 0.27,
        },
        "cities": {
            "name": _names(),
            "region": np.array(REGIONS)[np.arange(_CITIES) % len(REGIONS)],
        },
    }


def _names() -> npt.NDArray[Any]:
    first = ("Ash", "Birch", "Clay", "Dun", "Elm", "Fern", "Green", "Hart")
    second = ("bridge", "field", "ford", "haven", "mouth", "ton")
    return np.array([one + other for one in first for other in second])


def _identifier(people: Words) -> npt.NDArray[np.int64]:
    """Give each patient a number that does not tell the order they were made in."""
    return (people * np.uint64(7_919) % np.uint64(90_001)).astype(np.int64) + 10_000


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
            told = answer_to_json(answer, hospital.budget[0])
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
