# SPDX-License-Identifier: Apache-2.0
"""The same question of the same data is answered from the ledger; anything else is charged."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sordino as so
from sordino.answer.answer import to_bytes
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import BudgetExceeded
from sordino.release import Options
from tests.session.unit.clinic import SQL, charges, clinic, rows, spent

FINGERPRINTS = """
import sys
import sordino as so
with so.open(sys.argv[1], ledger="memory") as data:
    for sql in (
        "SELECT COUNT(*) AS n FROM visits WHERE cost IN (1, 2, 3) OR cost NOT IN (7, 5)",
        "SELECT AVG(cost), MEDIAN(cost), STDDEV(cost) FROM visits WHERE cost < 8",
        "SELECT FLOOR(cost) AS c, COUNT(DISTINCT person) FROM visits GROUP BY FLOOR(cost)",
        "SELECT COUNT(*) FROM visits AS a JOIN visits AS b USING (person) WHERE a.cost > b.cost",
    ):
        print(data.plan(sql, epsilon=1).fingerprint)
"""


def test_the_same_question_gets_the_same_bytes_for_nothing(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        first, second = data.ask(SQL, epsilon=1), data.ask(SQL, epsilon=1)
        assert to_bytes(first) == to_bytes(second)
        assert (first.again, second.again) == (False, True)
        assert (charges(data), spent(data)) == (1, 1)


def test_another_process_would_get_the_same_bytes_for_nothing(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path) as data:
        first = data.ask(SQL, epsilon=1)
    with so.open(path) as data:
        assert to_bytes(data.ask(SQL, epsilon=1)) == to_bytes(first)
        assert (charges(data), spent(data)) == (1, 1)


def test_every_process_gives_a_question_the_same_fingerprint(tmp_path: Path) -> None:
    path, told = clinic(tmp_path, budget="epsilon = 9\ndelta = 1e-6"), set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", FINGERPRINTS, str(path)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(done.stdout)
    (lines,) = told
    assert len(set(lines.split())) == 4


def test_a_thousand_repeats_cost_one_charge(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        answers = {to_bytes(data.ask(SQL, epsilon=1)) for _ in range(1_000)}
        assert len(answers) == charges(data) == spent(data) == 1


def test_nothing_is_looked_at_for_a_stored_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with so.open(clinic(tmp_path)) as data:
        first = data.ask(SQL, epsilon=1)

        def run(*_: Any, **__: Any) -> Any:
            pytest.fail("the engine was asked again")

        monkeypatch.setattr(DuckdbEngine, "run", run)
        assert data.ask(SQL, epsilon=1) == first


def test_how_the_question_is_spelled_does_not_matter(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
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
def test_a_question_asked_in_another_way_is_charged(tmp_path: Path, other: dict[str, Any]) -> None:
    stated: dict[str, Any] = {"sql": SQL, "epsilon": 1}
    with so.open(clinic(tmp_path)) as data:
        first = data.ask(**stated)
        second = data.ask(**stated | other)
        assert not second.again
        assert charges(data) == 2
        assert data.ask(**stated).receipt == first.receipt
        assert data.ask(**stated | other).receipt == second.receipt
        assert charges(data) == 2


def test_another_analyst_is_charged(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path, who="ann") as ann, so.open(path, who="bob") as bob:
        first, second = ann.ask(SQL, epsilon=1), bob.ask(SQL, epsilon=1)
        assert not second.again
        assert first.receipt != second.receipt
        assert (charges(ann), spent(bob)) == (2, 2)
        assert ann.ask(SQL, epsilon=1).receipt == first.receipt
        assert bob.ask(SQL, epsilon=1).receipt == second.receipt


def test_a_fresh_answer_is_charged_and_is_the_one_given_from_then_on(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        first, second = data.ask(SQL, epsilon=1), data.ask(SQL, epsilon=1, fresh=True)
        assert not second.again
        assert second.receipt != first.receipt
        assert data.ask(SQL, epsilon=1).receipt == second.receipt
        assert (charges(data), spent(data)) == (2, 2)


def test_an_answer_is_given_again_when_the_budget_is_used_up(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path, budget="epsilon = 1")) as data:
        first = data.ask(SQL, epsilon=1)
        assert data.ask(SQL, epsilon=1) == first
        with pytest.raises(BudgetExceeded):
            data.ask(SQL, epsilon=1, fresh=True)


def test_a_question_priced_by_its_error_is_found_again(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        first, second = data.ask(SQL, within=5), data.ask(SQL, within=5)
        assert (second.again, second.receipt) == (True, first.receipt)
        assert data.ask(SQL, epsilon=float(first.price.value), fresh=True).receipt != first.receipt


def test_the_stored_answer_can_be_had_without_asking(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        plan = data.plan(SQL, epsilon=1)
        assert data.stored(plan) is None
        answer = data.ask(SQL, epsilon=1)
        assert data.stored(plan) == answer
        assert data.stored(plan, Options(nonnegative=True)) is None
        assert charges(data) == 1


def test_a_table_in_memory_remembers_its_answers_while_it_is_open() -> None:
    with so.table(rows(), unit="person", name="visits", epsilon=1) as data:
        first = data.ask(SQL, epsilon=1)
        assert data.ask(SQL, epsilon=1).receipt == first.receipt
