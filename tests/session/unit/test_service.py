# SPDX-License-Identifier: Apache-2.0
"""Every shape of JSON is as docs/service.md shows it, but for times and hashes."""

import json
import re
from pathlib import Path

import pytest

import sordino as so
from sordino.catalog.model import Catalog
from sordino.errors import (
    BudgetExceeded,
    CatalogError,
    LedgerError,
    QuestionTooDear,
    SealedError,
    UnknownAnalyst,
    UnknownName,
)
from sordino.ledger.history import entries, standing
from sordino.ledger.left import left_in_words
from sordino.ledger.verify import verify
from sordino.plan.ask import Options
from sordino.session import Session, service

PAGE = Path(__file__).parents[3] / "docs" / "service.md"
SQL = "SELECT ward, COUNT(*) AS n FROM data GROUP BY ward"
DEAR = 1000  # an epsilon at which noise of a whole row has a chance of e**-250


def example(heading: str) -> object:
    """The example that stands below a heading of the page."""
    section = PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2]
    return json.loads(section.partition("```json\n")[2].partition("```")[0])


def written(shape: object) -> object:
    """A shape as it is after it was written, without what differs from run to run."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "0" * 64, json.dumps(shape))
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-01-01T00:00:00Z", text))


@pytest.fixture
def hospital() -> Session:
    rows = {"patient": [k % 50 for k in range(100)], "ward": ["north", "south"] * 50}
    keys = {"ward": ["north", "south"]}
    return so.table(rows, unit="patient", keys=keys, rows=2, epsilon=2 * DEAR, who="ann")


def test_an_explanation(hospital: Session) -> None:
    found = hospital.explain(SQL, epsilon=DEAR)
    (left,) = hospital.budget
    words = left_in_words(left, found.price, found.plan.slack, more="")
    assert written(service.explanation_to_json(found, left=words)) == example("Explanation")
    warned = service.explanation_to_json(found, left=words, warnings=["beware"])
    assert warned["warnings"] == [*found.warnings, "beware"]


def test_an_answer(hospital: Session) -> None:
    answer = hospital.ask(SQL, epsilon=DEAR)
    assert written(service.answer_to_json(answer, hospital.budget[0])) == example("Answer")
    again = service.answer_to_json(hospital.ask(SQL, epsilon=DEAR), hospital.budget[0])
    assert again == {**service.answer_to_json(answer, hospital.budget[0]), "again": True}


def test_a_budget(hospital: Session) -> None:
    hospital.ask(SQL, epsilon=DEAR)
    standings = standing(hospital.ledger, who="ann")
    assert written(service.budget_to_json(standings, "ann")) == example("Budget")
    assert service.budget_to_json(standings, "ann", warning="no")["warning"] == "no"


def test_the_history(hospital: Session) -> None:
    hospital.ask(SQL, epsilon=DEAR)
    opened, charge, answer = service.history_to_json(
        hospital.ledger, list(entries(hospital.ledger))
    )
    assert written(answer) == example("History")
    assert (opened["question"], charge["question"]) == (None, SQL)


def test_a_verification(hospital: Session) -> None:
    hospital.ask(SQL, epsilon=DEAR)
    (verified,) = verify(hospital.ledger)
    assert written(service.verified_to_json(verified)) == example("Verification")


def test_an_error(hospital: Session) -> None:
    with pytest.raises(UnknownName) as refused:
        hospital.explain("SELECT COUNT(wrd) FROM data", epsilon=1)
    assert written(service.error_to_json(refused.value)) == example("Error")


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (BudgetExceeded("a", "b", "c; d"), "this asks for a, but b is left", "c; d"),
        (QuestionTooDear("a", "b"), "this asks for a, but one question may cost at most b",
         "ask for less"),
        (UnknownAnalyst("eve", ("ann",)),
         "'eve' is not among the analysts that the catalog names, who are 'ann'",
         'ask as one of them, or add [analysts.eve], or [analysts."*"] for everybody'),
        (LedgerError("x; y"), "x; y", ""),
        (CatalogError("x"), "x", ""),
        (SealedError(), str(SealedError()), ""),
        (ValueError("x"), "x", ""),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_an_error_has_its_message_and_its_hint_apart(
    error: Exception, message: str, hint: str
) -> None:
    shape = service.error_to_json(error)
    assert list(shape) == ["code", "message", "why", "hint", "span"]
    assert (shape["message"], shape["hint"]) == (message, hint)
    assert str(error) == (f"{message}; {hint}" if hint else message)


def test_a_plan_has_the_number_that_the_history_tells(hospital: Session) -> None:
    hospital.ask(SQL, epsilon=DEAR, nonnegative=True)
    plan = hospital.plan(SQL, epsilon=DEAR)
    *_, last = entries(hospital.ledger)
    options = Options(nonnegative=True)
    assert last.plan.startswith(service.number_of(plan, options))
    assert not last.plan.startswith(service.number_of(plan))


def test_who_stands_for_all_others_cannot_ask(hospital: Session) -> None:
    assert service.check_who("ann") == "ann"
    with pytest.raises(ValueError, match="name one of them"):
        service.check_who("*")
    catalog: Catalog = hospital.catalog
    assert service.note_on_stranger(catalog, "eve") == ""  # nobody is declared
