# SPDX-License-Identifier: Apache-2.0
"""Laws of a session besides those of asking, and that a session on a server offers them all."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from sordino import dbapi
from sordino.answer.answer import REHEARSAL
from sordino.errors import QueryError, UnknownName
from sordino.plan.ask import read_ask
from sordino.remote import RemoteSession
from sordino.session import Session
from tests.session.contract.doors import Either, Sessions

SQL = "SELECT ward, COUNT(*) AS n FROM data GROUP BY ward"
AT_HOME = {  # what belongs to whoever holds the data, the plan or the ledger
    "answer", "catalog", "check_fits", "inspect", "is_paid", "ledger", "of", "owner_log", "plan",
    "plan_ask", "public", "resume", "stored", "time_of", "who",
}  # fmt: skip
FAR = {  # what only a server has
    "buy", "certificate", "given", "history", "logout", "me", "petition", "request", "requests",
    "standing", "tables", "url", "who", "withdraw",
}  # fmt: skip


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def parameters(kind: Any, name: str) -> list[tuple[str, object]]:
    signature = inspect.signature(getattr(kind, name))
    return [(one.name, one.default) for one in signature.parameters.values()]


def test_a_session_on_a_server_has_what_a_session_has() -> None:
    assert public(Session) - AT_HOME == public(RemoteSession) - FAR
    for name in public(RemoteSession) - FAR - {"budget"}:
        assert parameters(Session, name) == parameters(RemoteSession, name), name


def test_every_public_method_of_a_session_on_a_server_is_used_in_a_test() -> None:
    folders = [Path(__file__).parent, Path(__file__).parents[2] / "remote"]
    texts = [path.read_text("utf-8") for folder in folders for path in folder.rglob("*.py")]
    used = set(re.findall(r"\.(\w+)", "\n".join(texts)))
    assert public(RemoteSession) - used == set()


def test_an_ask_that_was_read_before_is_answered_explained_and_rehearsed(
    session: Sessions,
) -> None:
    data, ask = session(), read_ask(SQL, epsilon=1)
    price = data.explain_ask(ask).price
    assert data.rehearse_ask(ask).price == price
    answer = data.answer_ask(ask)
    assert answer.price == price
    assert data.ask(SQL, epsilon=1).again


def test_a_rehearsal_costs_nothing_and_says_what_it_is(session: Sessions) -> None:
    data = session()
    trial = data.rehearse(SQL, epsilon=1)
    assert trial.rehearsed
    assert trial.notes[0] == REHEARSAL
    assert str(data.budget[0].left) == "epsilon 10"
    assert trial.titles == data.ask(SQL, epsilon=1).titles
    with pytest.raises(UnknownName):
        data.rehearse("SELECT COUNT(wrad) FROM data", epsilon=1)


def test_an_explanation_reads_the_same(session: Sessions) -> None:
    found = session().explain(SQL, epsilon=1)
    lines = str(found).splitlines()
    assert lines[0] == "price       epsilon 1; the whole budget is epsilon 10"
    assert "n       ± 9.49" in lines
    assert found.widths() == [("n", "± 9.49", "")]
    assert [row[0] for row in found.rows()] == ["rows"]
    assert found.warnings == ()
    assert found._repr_html_().startswith('<div class="sordino-plan"><table><tr><th>price</th>')


def test_a_refusal_reads_the_same(session: Sessions) -> None:
    with pytest.raises(QueryError) as refused:
        session().explain("SELECT COUNT(wrad) FROM data", epsilon=1)
    assert str(refused.value).splitlines() == [
        "there is no column 'wrad' in data",
        "  SELECT COUNT(wrad) FROM data",
        "               ^^^^",
        "hint: did you mean ward?",
    ]


def test_a_program_asks_through_the_database_interface(session: Sessions) -> None:
    data: Either = session()
    with dbapi.connect(data, epsilon=1, intervals=True) as connection:
        cursor = connection.cursor().execute(SQL)
        assert [column[0] for column in cursor.description or ()] == [
            "ward",
            "n",
            "n_low",
            "n_high",
        ]
        assert [row[0] for row in cursor.fetchall()] == ["north", "south", "west"]
        with pytest.raises(dbapi.ProgrammingError, match="did you mean ward"):
            cursor.execute("SELECT COUNT(wrad) FROM data")
        with pytest.raises(dbapi.OperationalError, match="is left"):
            cursor.execute(SQL, epsilon=100)


def test_a_session_that_is_closed_asks_no_more(session: Sessions) -> None:
    with session() as data:
        data.ask(SQL, epsilon=1)
    for ask in (data.ask, data.rehearse):
        with pytest.raises(ValueError, match="this session is closed"):
            ask(SQL, epsilon=1)
