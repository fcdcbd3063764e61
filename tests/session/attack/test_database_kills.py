# SPDX-License-Identifier: Apache-2.0
"""A database that is killed in the middle of questions: charged, sealed, never a wrong answer."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

import sordino as so
from sordino.errors import CatalogError, SealedError
from sordino.session.session import Session
from tests.support.postgres import Server

pytestmark = pytest.mark.long

PEOPLE = 20_000
QUESTIONS, SOAKED = 24, 200
CATALOG = """
[budget]
epsilon = 1e9

[ledger]
file = "clinic.ledger"

[tables.visits]
postgres = "{address}"
table = "clinic.visits"
version = "{version}"
unit = "person"
limits = {{ rows = 3, groups = 3 }}

[tables.visits.columns]
person = "integer"
ward = {{ type = "text", keys = ["a", "b", "c"] }}
cost = {{ type = "real", bounds = [0, 100] }}
"""
MADE = (
    "CREATE SCHEMA clinic",
    "CREATE TABLE clinic.visits (person bigint, ward text, cost float8)",
    "INSERT INTO clinic.visits SELECT n, ward, 10.0 "
    "FROM generate_series(1, 20000) AS n, unnest(ARRAY['a', 'b', 'c']) AS ward",
)
SQL = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward"
LATER = "the next question works"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of its own, for it is killed."""
    with Server() as own:
        with psycopg.connect(own.address, autocommit=True) as connection:
            for statement in MADE:
                connection.execute(statement)
        yield own


def at(server: Server) -> psycopg.Connection[tuple[object, ...]]:
    """Return a connection, as soon as the server has recovered from what was done to it before."""
    until = time.monotonic() + 60
    while True:
        try:
            return psycopg.connect(server.address, autocommit=True)
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.02)


def end(server: Server) -> None:
    """End the connections that ask, as an operator would."""
    with at(server) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'sordino'"
        )


def kill(server: Server) -> None:
    """Kill the processes that ask; the server then starts anew by itself."""
    with at(server) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'sordino'"
        ).fetchall()
    for (process,) in found:
        with suppress(ProcessLookupError):
            os.kill(int(str(process)), signal.SIGKILL)


def lose_power(server: Server) -> None:
    """Stop the whole server at once, and start it again."""
    server.stop_at_once()
    server.start()


def asked(session: Session) -> bool | None:
    """Tell whether a question was answered, rightly; None if it was refused before its charge."""
    try:
        answer = session.ask(SQL, epsilon=10**5, fresh=True)
    except SealedError:
        return False
    except CatalogError:
        return None
    for row, ward in enumerate("abc"):
        assert answer.cell(row, "ward").value == ward
        assert abs(float(str(answer.cell(row, "n").value)) - PEOPLE) < 1
        assert abs(float(str(answer.cell(row, "s").value)) - 10 * PEOPLE) < 10
    return True


def spent(session: Session) -> float:
    with session.ledger.store.read() as pages:
        last = pages.last("people")
    return 0.0 if last is None else last.spent / 10**9


def campaign(
    server: Server, folder: Path, harm: Callable[[Server], None], many: int
) -> Counter[str]:
    """Ask so many questions while the database is harmed, and look at each of them."""
    catalog = folder / "sordino.toml"
    catalog.write_text(CATALOG.format(address=server.address, version="1"))
    at(server).close()
    tally: Counter[str] = Counter()
    draw = random.Random(many)  # noqa: S311 - moments of a test
    with so.open(catalog) as session:
        begun = time.monotonic()
        assert asked(session)
        usual = time.monotonic() - begun
        charges = 1
        for _ in range(many):
            thread = threading.Timer(draw.random() * usual, harm, [server])
            thread.start()
            outcome = asked(session)
            thread.join()
            tally[str(outcome)] += 1
            charges += outcome is not None
            assert spent(session) == charges * 10**5  # whatever went wrong is paid for, and once
            until = time.monotonic() + 60
            while True:
                again = asked(session)
                charges += again is not None
                if again:
                    tally[LATER] += 1
                    break
                assert time.monotonic() < until
                time.sleep(0.05)
    return tally


@pytest.mark.parametrize("harm", [end, kill, lose_power])
def test_a_killed_database_costs_the_charge_and_nothing_else(
    server: Server, tmp_path: Path, harm: Callable[[Server], None]
) -> None:
    tally = campaign(server, tmp_path, harm, QUESTIONS // 3)
    assert tally[LATER] == QUESTIONS // 3


@pytest.mark.soak
@pytest.mark.parametrize("harm", [end, kill, lose_power])
def test_a_database_killed_two_hundred_times_costs_charges_and_nothing_else(
    server: Server, tmp_path: Path, harm: Callable[[Server], None]
) -> None:
    tally = campaign(server, tmp_path, harm, SOAKED // 3 + 1)
    assert tally[LATER] == SOAKED // 3 + 1
    assert tally["False"] > SOAKED // 20  # else hardly any was hit
    print(tally)  # noqa: T201  # shown with -rP
