# SPDX-License-Identifier: Apache-2.0
"""What only a session on a server has: who asks, what was asked, tables, certificates, requests."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import sordino as so
from sordino import dbapi
from sordino.answer.answer import to_bytes
from sordino.catalog.model import Serving
from sordino.errors import ApprovalNeeded, LedgerError, ServerError
from sordino.query.types import Type
from sordino.remote import RemoteSession, profiles
from sordino.remote.told import explanation_of
from tests.remote.unit.conftest import TOKEN, Connect
from tests.session.unit.clinic import SQL, clinic
from tests.support.remotes import AT_ONCE, Server
from tests.support.scripted import Scripted, ScriptedServer, said


@pytest.fixture(scope="module")
def house() -> Iterator[Server]:
    with Server() as started:
        yield started


@pytest.fixture
def ann(house: Server, tmp_path: Path) -> Iterator[RemoteSession]:
    with so.open(clinic(tmp_path), who="owner") as session:
        house.serve(session)
        with house.connect("ann") as opened:
            yield opened


def test_a_token_says_who_asks(ann: RemoteSession) -> None:
    assert (ann.who, ann.me["roles"]) == ("ann", ["analyst"])
    assert repr(ann) == f"<RemoteSession at {ann.url}>"


def test_tables_are_described_by_what_is_declared(ann: RemoteSession) -> None:
    (visits,) = ann.tables
    assert str(visits) == "visits (of people): person integer; cost real from 0 to 9"
    assert [column.type for column in visits.columns] == [Type.INTEGER, Type.REAL]
    assert (visits.unit, visits.public) == ("person", False)


def test_the_history_has_what_was_asked(ann: RemoteSession) -> None:
    assert ann.history() == []
    answer = ann.ask(SQL, epsilon=1)
    charge, recorded = ann.history(people="people")
    assert (charge["kind"], charge["question"], recorded["kind"]) == ("charge", SQL, "answer")
    assert ann.history(last=1) == [recorded]
    again = ann.given(f"people:{answer.charge.number}")
    assert to_bytes(again) == to_bytes(answer)
    assert again.again
    assert ann.certificate(answer).startswith(answer.certificate().rstrip())
    with pytest.raises(ServerError, match="no such thing"):
        ann.given("people:99")


def test_a_price_is_bought_as_it_was_explained(ann: RemoteSession) -> None:
    price = ann.explain(SQL, within=20)
    assert [(one.title, one.type, one.kind) for one in price.columns] == [
        ("n", Type.INTEGER, "measure")
    ]
    assert ann.buy(price).price == price.price
    assert price.quote is not None
    assert price.quote not in repr(price) + str(price.json)
    with pytest.raises(ServerError, match="no quote that was made for you"):
        ann.buy(replace(price, quote=price.quote[:-2] + "AA"))
    with pytest.raises(ValueError, match="not for sale"):
        ann.buy(replace(price, quote=None))


def test_what_is_left_is_told_as_json_too(ann: RemoteSession) -> None:
    ann.ask(SQL, epsilon=1)
    assert ann.standing["people"][0]["left_for_who"]["price"] == str(ann.budget[0].left)


def test_fresh_noise_needs_a_token_for_it(house: Server, ann: RemoteSession) -> None:
    ann.ask(SQL, epsilon=1)
    with house.connect("ann", fresh=False) as limited:
        assert limited.ask(SQL, epsilon=1).again
        with pytest.raises(ServerError, match="may not do that"):
            limited.ask(SQL, epsilon=1, fresh=True)


def test_receipts_are_remembered_and_hold_the_ledger(house: Server, tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with so.open(clinic(tmp_path / "one")) as session, so.open(clinic(tmp_path / "other")) as old:
        house.serve(session)
        with house.connect("bob") as bob:
            for epsilon in (1, 2):
                bob.ask(SQL, epsilon=epsilon)
            house.serve(old)  # another ledger, in which these charges are not
            house.know(bob, "bob")
            with pytest.raises(LedgerError, match="went along"):
                bob.ask(SQL, epsilon=3)


@pytest.mark.usefixtures("ann")
def test_no_receipt_is_remembered_where_that_is_not_wanted(house: Server, tmp_path: Path) -> None:
    token = house.token("ann")
    for remember in (False, True):
        with so.connect(house.url, token=token, remember=remember) as session:
            session.ask(SQL, epsilon=1)
        assert (tmp_path / "state" / "sordino" / "heads").exists() == remember


def test_a_dear_question_waits_until_it_is_approved(house: Server, tmp_path: Path) -> None:
    serving = Serving(slot=None, rate=AT_ONCE.rate, approve_above=Fraction(1, 2))
    with so.open(clinic(tmp_path)) as session:
        house.serve(session, serving)
        with house.connect("ann") as ann:
            dear, cheap = ann.explain(SQL, epsilon=1), ann.explain(SQL, epsilon=0.25)
            assert "has to approve this" in dear.warnings[-1]
            assert cheap.warnings == dear.warnings[:-1]
            spent = {**cheap.json, "fits_token": False, "left_of_token": "epsilon 0.1"}
            (told,) = explanation_of(spent, SQL).warnings[len(cheap.warnings) :]
            assert told.endswith("may still be spent with this token: epsilon 0.1")
            with pytest.raises(ApprovalNeeded) as needed:
                ann.ask(SQL, epsilon=1)
            request = ann.request(needed.value.request)
            assert request in ann.requests()
            ann.withdraw(needed.value.request)
            assert ann.request(needed.value.request)["state"] == "withdrawn"
            made = ann.petition(SQL, comment="for the report", epsilon=1)
            assert made["state"] == "sent"
            assert ann.ask(SQL, epsilon=0.25).price.nanos == 250_000_000
            ann.logout()
            with pytest.raises(ServerError, match="needs a token"):
                _ = ann.budget


def test_the_database_interface_takes_an_address(server: ScriptedServer) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="there is no token"):
        dbapi.connect(server.url)
    profiles.keep(profiles.Profile("here", server.url, TOKEN))
    for connection in (dbapi.connect(server.url), dbapi.connect(server.url, token=TOKEN)):
        assert isinstance(connection.session, RemoteSession)
        connection.close()
    with pytest.raises(dbapi.ProgrammingError, match="by itself"):
        dbapi.connect(server.url, who="ann")
    with pytest.raises(dbapi.ProgrammingError, match="a token is for a server"):
        dbapi.connect("sordino.toml", token=TOKEN)


@pytest.mark.parametrize(
    "told",
    [{}, [], {"prices": []}, {"prices": [{}]}, {"prices": [{"price": "much"}]}, {"prices": [None]}],
)
def test_prices_in_another_form_are_refused(
    told: object, server: ScriptedServer, connect: Connect
) -> None:
    server.script = [said(told)]
    with pytest.raises(ServerError, match="none of a sordino server"):
        connect().explain(SQL, epsilon=1)


@pytest.mark.parametrize("told", [{}, [], {"tables": 3, "people": 3, "entries": 3, "name": 3}])
def test_what_else_comes_in_another_form_is_refused(
    told: object, server: ScriptedServer, connect: Connect
) -> None:
    server.script = [said(told)]
    session = connect()
    for read in (
        lambda: session.budget,
        lambda: session.tables,
        lambda: session.who,
        lambda: session.history(people="people"),
        session.requests,
    ):
        with pytest.raises(ServerError, match="none of a sordino server"):
            read()
    server.script = [Scripted(200, b"[]")]
    with pytest.raises(ServerError, match="none of a sordino server"):
        session.request("x")
