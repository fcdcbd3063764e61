# SPDX-License-Identifier: Apache-2.0
"""The same question is answered from the ledger, wherever it is asked; anything else is charged."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sordino as so
from sordino.answer.answer import to_bytes
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import BudgetExceeded
from tests.session.contract.doors import Door
from tests.session.unit.clinic import SQL, charges, clinic, rows, spent


def test_the_same_question_gets_the_same_bytes_for_nothing(tmp_path: Path, door: Door) -> None:
    with door(so.open(clinic(tmp_path))) as data:
        first, second = data.ask(SQL, epsilon=1), data.ask(SQL, epsilon=1)
        assert to_bytes(first) == to_bytes(second)
        assert (first.again, second.again) == (False, True)
        assert (charges(data), spent(data)) == (1, 1)


def test_another_process_would_get_the_same_bytes_for_nothing(tmp_path: Path, door: Door) -> None:
    path = clinic(tmp_path)
    with door(so.open(path)) as data:
        first = data.ask(SQL, epsilon=1)
    with door(so.open(path)) as data:
        assert to_bytes(data.ask(SQL, epsilon=1)) == to_bytes(first)
        assert (charges(data), spent(data)) == (1, 1)


def test_a_thousand_repeats_cost_one_charge(tmp_path: Path, door: Door) -> None:
    with door(so.open(clinic(tmp_path))) as data:
        answers = {to_bytes(data.ask(SQL, epsilon=1)) for _ in range(1_000)}
        assert len(answers) == charges(data) == spent(data) == 1


def test_nothing_is_looked_at_for_a_stored_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: Door
) -> None:
    with door(so.open(clinic(tmp_path))) as data:
        first = data.ask(SQL, epsilon=1)

        def run(*_: Any, **__: Any) -> Any:
            pytest.fail("the engine was asked again")

        monkeypatch.setattr(DuckdbEngine, "run", run)
        assert data.ask(SQL, epsilon=1) == first


def test_how_the_question_is_spelled_does_not_matter(tmp_path: Path, door: Door) -> None:
    with door(so.open(clinic(tmp_path))) as data:
        data.ask(SQL, epsilon=1)
        assert data.ask("select  count(*)  as n\nfrom Visits -- again", epsilon=1).again
        assert data.ask(SQL, epsilon=Fraction(1)).again
        assert charges(data) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 2},
        {"confidence": 0.9},
        {"rows": 2},
        {"nonnegative": True},
        {"integer": False},
        {"consistent": True},
        {"diagnostics": True},
        {"sql": "SELECT COUNT(*) AS m FROM visits"},
        {"sql": "SELECT COUNT(*) AS n FROM visits WHERE cost < 3"},
    ],
    ids=lambda other: " ".join(map(str, other)),
)
def test_a_question_asked_in_another_way_is_charged(
    tmp_path: Path, other: dict[str, Any], door: Door
) -> None:
    stated: dict[str, Any] = {"sql": SQL, "epsilon": 1}
    with door(so.open(clinic(tmp_path))) as data:
        first = data.ask(**stated)
        second = data.ask(**stated | other)
        assert not second.again
        assert charges(data) == 2
        assert data.ask(**stated).receipt == first.receipt
        assert data.ask(**stated | other).receipt == second.receipt
        assert charges(data) == 2


def test_another_analyst_is_charged(tmp_path: Path, door: Door) -> None:
    path = clinic(tmp_path)
    with door(so.open(path, who="ann")) as ann, door(so.open(path, who="bob")) as bob:
        first, second = ann.ask(SQL, epsilon=1), bob.ask(SQL, epsilon=1)
        assert not second.again
        assert first.receipt != second.receipt
        assert (charges(ann), spent(bob)) == (2, 2)
        assert ann.ask(SQL, epsilon=1).receipt == first.receipt
        assert bob.ask(SQL, epsilon=1).receipt == second.receipt


def test_a_fresh_answer_is_charged_and_is_the_one_given_from_then_on(
    tmp_path: Path, door: Door
) -> None:
    with door(so.open(clinic(tmp_path))) as data:
        first, second = data.ask(SQL, epsilon=1), data.ask(SQL, epsilon=1, fresh=True)
        assert not second.again
        assert second.receipt != first.receipt
        assert data.ask(SQL, epsilon=1).receipt == second.receipt
        assert (charges(data), spent(data)) == (2, 2)


def test_an_answer_is_given_again_when_the_budget_is_used_up(tmp_path: Path, door: Door) -> None:
    with door(so.open(clinic(tmp_path, budget="epsilon = 1"))) as data:
        first = data.ask(SQL, epsilon=1)
        assert data.ask(SQL, epsilon=1) == first
        with pytest.raises(BudgetExceeded):
            data.ask(SQL, epsilon=1, fresh=True)


def test_a_question_priced_by_its_error_is_found_again(tmp_path: Path, door: Door) -> None:
    with door(so.open(clinic(tmp_path))) as data:
        first, second = data.ask(SQL, within=5), data.ask(SQL, within=5)
        assert (second.again, second.receipt) == (True, first.receipt)
        assert data.ask(SQL, epsilon=float(first.price.value), fresh=True).receipt != first.receipt


def test_a_table_in_memory_remembers_its_answers_while_it_is_open(door: Door) -> None:
    with door(so.table(rows(), unit="person", name="visits", epsilon=1)) as data:
        first = data.ask(SQL, epsilon=1)
        assert data.ask(SQL, epsilon=1).receipt == first.receipt
