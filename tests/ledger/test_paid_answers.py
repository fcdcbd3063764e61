# SPDX-License-Identifier: Apache-2.0
"""Answers that an older version was paid for: found again, the same, and for nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import sordino as so
from sordino.answer.answer import to_bytes
from sordino.ledger.verify import verify
from sordino.release import Options
from sordino.session.first_identity import first_identity
from sordino.session.session import tables_of
from tests.fixtures.answered.make import HERE, PAID, lay_out

PURCHASES: list[dict[str, Any]] = json.loads(PAID.read_text("utf-8"))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[so.Session]:
    folder = tmp_path_factory.mktemp("answered")
    lay_out(folder)
    for name in ("sordino.ledger", "sordino.ledger.heads"):
        shutil.copy(HERE / name, folder)
    with so.open(folder / "sordino.toml", who="ann") as opened:
        yield opened


def titled(purchase: dict[str, Any]) -> str:
    return f"{purchase['sql']} {purchase['terms']}"


def test_there_are_enough_of_them() -> None:
    assert len(PURCHASES) > 100


@pytest.mark.parametrize("purchase", PURCHASES, ids=titled)
def test_a_paid_answer_is_found_and_is_not_paid_again(
    session: so.Session, purchase: dict[str, Any]
) -> None:
    before = session.budget
    answer = session.ask(purchase["sql"], **purchase["terms"])
    assert answer.again
    assert str(answer.receipt) == purchase["receipt"]
    assert sha256(to_bytes(answer)).hexdigest() == purchase["answer"]
    assert session.budget == before


def test_the_ledger_verifies(session: so.Session) -> None:
    assert [one.people for one in verify(session.ledger)] == ["patients", "survey"]


def test_a_paid_answer_is_found_without_asking(session: so.Session) -> None:
    plan = session.plan(PURCHASES[0]["sql"], **PURCHASES[0]["terms"])
    stored = session.stored(plan)
    assert stored is not None
    assert str(stored.receipt) == PURCHASES[0]["receipt"]


def test_a_charge_of_then_without_an_answer_is_taken_up(tmp_path: Path) -> None:
    lay_out(tmp_path)
    sql = "SELECT COUNT(*) FROM visits"
    with so.open(tmp_path / "sordino.toml", who="ann") as before:
        plan = before.plan(sql, epsilon=0.05)
        asked = first_identity(plan, Options())
        assert asked is not None
        receipt = before.ledger.charge(
            plan.people,
            plan.loss,
            slack=plan.slack,
            plan=asked,
            who="ann",
            data=before._engine.version(tables_of(plan, before.catalog)),
        )
        spent = before.budget
    with so.open(tmp_path / "sordino.toml", who="ann") as session:
        assert session.stored(plan) is None
        answer = session.ask(sql, epsilon=0.05)
        assert (answer.again, answer.charge.head) == (False, receipt.head)
        again = session.ask(sql, epsilon=0.05)
        assert (again.again, again.charge.head) == (True, receipt.head)
        assert session.budget == spent


def test_a_new_ledger_is_not_searched_for_answers_of_then(tmp_path: Path) -> None:
    lay_out(tmp_path)
    with so.open(tmp_path / "sordino.toml", who="ann") as session:
        answer = session.ask("SELECT COUNT(*) FROM visits", epsilon=0.05)
        assert not answer.again
        assert session._older == {"patients": False}
