# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import pytest

import sordino as so
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import LedgerError
from sordino.ledger.ledger import Ledger
from sordino.session import Session
from tests.session.contract.doors import failing, small


def number(answer: so.Answer, title: str) -> Any:
    return answer.cell(0, title)


def left(of: Session) -> str:
    return str(of.budget[0].left)


def test_the_charge_stays_when_somebody_interrupts() -> None:
    data = failing(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        data.ask("SELECT COUNT(*) FROM data", epsilon=0.25)
    assert left(data) == "epsilon 0.75"


def test_nothing_is_looked_at_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    data = small()
    seen: list[str] = []

    def watch(kind: type, name: str) -> None:
        original = getattr(kind, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            seen.append(name)
            return original(*arguments, **named)

        monkeypatch.setattr(kind, name, watched)

    watch(Ledger, "find")
    watch(Ledger, "obtain")
    watch(Ledger, "charge")
    watch(DuckdbEngine, "run")
    watch(Ledger, "record")
    data.ask("SELECT COUNT(*) FROM data", epsilon=1)
    assert seen == ["find", "obtain", "run", "record"]
    seen.clear()
    data.ask("SELECT COUNT(*) FROM data", epsilon=1, fresh=True)
    assert seen == ["charge", "run", "record"]


def test_a_plan_is_made_once_for_each_way_of_asking() -> None:
    data, sql = small(), "SELECT COUNT(*) FROM data"
    first = data.plan(sql, epsilon=1)
    assert data.plan(sql, epsilon=1) is first
    assert data.plan(sql, epsilon=1, rows=2) is not first
    assert data.plan(sql, within={"COUNT(*)": 5}) is data.plan(sql, within={"COUNT(*)": 5})


def test_a_session_opens_files_and_closes_them(tmp_path: Path) -> None:
    path = tmp_path / "sordino.toml"
    (tmp_path / "data.csv").write_text("person,ward\n1,north\n2,south\n", "utf-8")
    path.write_text(
        '[budget]\nepsilon = 1\n[tables.data]\ncsv = "data.csv"\nunit = "person"\n'
        '[tables.data.columns]\nperson = "integer"\nward = "text"\n',
        "utf-8",
    )
    with so.open(path) as data:
        assert data.ask("SELECT COUNT(*) AS n FROM data", epsilon=1).titles == ("n",)
        assert repr(data) == "<Session of data; people: epsilon 0 of epsilon 1 left>"
        assert repr(data.budget) == "people: epsilon 0 of epsilon 1 left"
    with pytest.raises(ValueError, match="this session is closed"):
        data.ask("SELECT COUNT(*) AS n FROM data", epsilon=1)


def test_an_answer_is_recorded_once() -> None:
    data = small()
    plan = data.plan("SELECT COUNT(*) FROM data", epsilon=1)
    receipt = data._ledger.charge(
        plan.people, plan.loss, slack=plan.slack, plan=plan.fingerprint, who="owner"
    )
    data._ledger.record(receipt, b"answer")
    with pytest.raises(LedgerError):
        data._ledger.record(receipt, b"answer")
