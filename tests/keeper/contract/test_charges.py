# SPDX-License-Identifier: Apache-2.0
"""Cap and approval are used up by charges, and by nothing else; what is told of them is true."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from sordino.channel.frames import Reply
from sordino.errors import LedgerError
from sordino.keeper import asking
from sordino.keeper.requests import Requests
from sordino.keeper.state import State
from sordino.ledger.ledger import Ledger
from sordino.session import Session
from tests.keeper.contract.test_restart import failed
from tests.keeper.study import Study, code, question, raising, told

CAP = 100_000_000  # the price of one question
STUDY = {"server": 'slot = "off"\napprove_above = 0.5'}


def capped(served: Study, cap: int = CAP) -> str:
    served.person("ann", "analyst")
    return served.token("ann", ["ask"], cap=cap, fresh=True)


def spent(served: Study, token: str) -> int:
    found: int = told(served.send("me", token))["spent_nanos"]
    return found


def approved(served: Study, token: str) -> None:
    """Let ask a dear question, once."""
    olga = served.person("olga", "owner")
    body = {"question": question(epsilon="1")}
    number = told(served.send("petition", token, body))["number"]
    vote = {"decision": "approve", "comment": ""}
    assert served.send("vote", olga, vote, path={"request": str(number)}).status == 200


def state(served: Study) -> str:
    (row,) = served.state.rows("SELECT state FROM requests")
    found: str = row["state"]
    return found


def rewritten(served: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the rows anew between the look at what is paid and the charge, once."""
    is_paid = Session.is_paid

    def watched(self: Session, *arguments: Any) -> bool:
        found = is_paid(self, *arguments)
        if found:
            served.rows += 1
            served.write()
        return found

    monkeypatch.setattr(Session, "is_paid", watched)


def test_what_is_charged_anew_after_the_rows_were_written_needs_the_cap(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, token = served.person("ann", "analyst"), capped(served, CAP - 1)
    failed(served, ann)
    rewritten(served, monkeypatch)
    reply = served.ask(token)
    assert (reply.status, code(reply)) == (409, "token_spent")
    assert len(served.charges) == 1


def test_what_is_charged_anew_after_the_rows_were_written_is_counted(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, token = served.person("ann", "analyst"), capped(served)
    failed(served, ann)
    rewritten(served, monkeypatch)
    assert served.ask(token).status == 200
    assert len(served.charges) == 2
    assert spent(served, token) == CAP


def test_what_is_charged_anew_after_the_rows_were_written_needs_an_approval(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    approved(served, ann)
    failed(served, ann, epsilon="1")
    rewritten(served, monkeypatch)
    assert served.ask(ann, epsilon="1").status == 202
    assert len(served.charges) == 1


def test_what_somebody_else_has_paid_for_meanwhile_is_not_counted(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, token = served.person("ann", "analyst"), capped(served, 10 * CAP)
    begun = asking._begun

    def paid_first(*arguments: Any) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(asking, "_begun", begun)
            failed(served, ann, fresh=True, key="first")
        return begun(*arguments)

    monkeypatch.setattr(asking, "_begun", paid_first)
    assert served.ask(token).status == 200
    assert len(served.charges) == 1
    assert spent(served, token) == 0


broken, unlucky = raising(LedgerError("the disk is full")), raising(RuntimeError("canary"))
FAILURES = pytest.mark.parametrize(("failure", "status"), [(broken, 503), (unlucky, 500)])


def asked_in_vain(
    served: Study, monkeypatch: pytest.MonkeyPatch, step: str, failure: Callable[..., Any]
) -> tuple[str, Reply]:
    """Ask what was approved while a step of the ledger fails; returns the token and the reply."""
    token = capped(served, 10 * CAP)
    approved(served, token)
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, step, failure)
        return token, served.ask(token, epsilon="1")


@FAILURES
def test_a_failure_before_the_charge_gives_back_cap_and_approval(
    served: Study, monkeypatch: pytest.MonkeyPatch, failure: Callable[..., Any], status: int
) -> None:
    token, reply = asked_in_vain(served, monkeypatch, "obtain", failure)
    assert (reply.status, code(reply)) == (status, "ledger" if status == 503 else "internal")
    assert (spent(served, token), state(served), served.charges) == (0, "approved", [])
    assert served.state.rows("SELECT * FROM questions") == []
    assert served.ask(token, epsilon="1").status == 200
    assert (spent(served, token), state(served), len(served.charges)) == (10 * CAP, "answered", 1)


@FAILURES
def test_a_failure_after_the_charge_gives_back_nothing(
    served: Study, monkeypatch: pytest.MonkeyPatch, failure: Callable[..., Any], status: int
) -> None:
    token, reply = asked_in_vain(served, monkeypatch, "record", failure)
    assert (reply.status, code(reply)) == (status, "ledger" if status == 503 else "sealed")
    assert "nothing was charged" not in told(reply)["detail"]
    assert (spent(served, token), state(served), len(served.charges)) == (10 * CAP, "answered", 1)
    assert served.ask(token, epsilon="1").status == 200
    assert (spent(served, token), len(served.charges)) == (10 * CAP, 1)


def test_a_ledger_that_cannot_be_read_after_a_failure_gives_back_nothing(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = capped(served)
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "obtain", unlucky)
        patched.setattr(asking, "_charge_of", broken)
        assert served.ask(token).status == 503
    assert spent(served, token) == CAP


locked = raising(sqlite3.OperationalError("database is locked"))


def test_an_answer_that_cannot_be_written_down_is_given(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = capped(served, 10 * CAP)
    approved(served, token)
    with monkeypatch.context() as patched:
        patched.setattr(Requests, "answered", locked)
        assert served.ask(token, epsilon="1", key="one").status == 200
    change = State.change

    def unwritten(self: State, sql: str, *values: object) -> int:
        if "UPDATE questions" in sql:
            locked()
        return change(self, sql, *values)

    with monkeypatch.context() as patched:
        patched.setattr(State, "change", unwritten)
        first = told(served.ask(served.person("bob", "analyst"), fresh=True, key="two"))
    bob = served.token("bob", ["ask"], fresh=True)
    again = told(served.ask(bob, fresh=True, key="two"))
    assert (again["receipt"], again["again"]) == (first["receipt"], True)
    assert len(served.charges) == 2


def test_an_answer_that_cannot_be_shown_is_said_to_be_charged(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = capped(served)
    with monkeypatch.context() as patched:
        patched.setattr(asking, "_csv", unlucky)
        reply = served.ask(token, query={"format": "csv"})
    assert (reply.status, code(reply)) == (500, "sealed")
    assert spent(served, token) == CAP
    assert served.ask(token, query={"format": "csv"}).status == 200
