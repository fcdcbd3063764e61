# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import time
import traceback
from fractions import Fraction

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sordino.catalog.model import Catalog, Purse
from sordino.errors import LedgerError
from sordino.ledger.opening import book_at, open_ledger
from sordino.ledger.stores.postgres import PostgresStore
from sordino.privacy import Budget, losses
from tests.support.postgres import Server, run


@pytest.fixture
def address(postgres: Server) -> str:
    return postgres.database()


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_forgets_is_refused(postgres: Server, address: str, name: str) -> None:
    try:
        run(postgres.address, f"ALTER SYSTEM SET {name} = off", "SELECT pg_reload_conf()")
        wait_for(postgres.address, name, "off")
        with pytest.raises(LedgerError, match=f"{name} turned off"):
            PostgresStore(address)
    finally:
        run(postgres.address, f"ALTER SYSTEM RESET {name}", "SELECT pg_reload_conf()")
        wait_for(postgres.address, name, "on")
    PostgresStore(address).close()


def wait_for(address: str, name: str, value: str) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with psycopg.connect(address) as connection:
            if connection.execute(f"SHOW {name}").fetchone() == (value,):
                return
        time.sleep(0.02)
    raise AssertionError(f"{name} is not {value}")


def test_a_commit_waits_for_the_disk_whatever_the_database_says(address: str) -> None:
    name = conninfo_to_dict(address)["dbname"]
    run(address, f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    store = PostgresStore(address)
    with store.read() as pages:
        found = pages._connection.execute("SHOW synchronous_commit").fetchone()
    store.close()
    assert found == ("on",)


def test_a_database_that_cannot_hold_every_name_is_refused(address: str) -> None:
    run(address, "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0")
    with pytest.raises(LedgerError, match="encoding UTF8"):
        PostgresStore(make_conninfo(address, dbname="ascii"))
    run(address, "DROP DATABASE ascii")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:sesame@127.0.0.1:1/study",
        "postgresql://ann:se%73ame@127.0.0.1:1/study",
        "postgresql://ann:sesame%zz@127.0.0.1/study",
        "postgresql://ann:sesame@[127.0.0.1/study",
        "postgresql://ann@127.0.0.1:1/study?password=sesame&connect_timeout=sesame",
        "postgresql://ann:sesame@127.0.0.1:sesame/study",
    ],
)
def test_no_error_shows_a_password(address: str) -> None:
    with pytest.raises(LedgerError) as caught:
        PostgresStore(address)
    shown = "".join(traceback.format_exception(caught.value))
    assert "sesame" not in shown
    assert "se%73ame" not in shown


def test_a_user_needs_few_rights_and_is_told_of_those_that_lack(address: str) -> None:
    PostgresStore(address).close()
    name = conninfo_to_dict(address)["dbname"]
    poor = f"{address}&user=poor_{name}"
    run(address, f'CREATE ROLE "poor_{name}" LOGIN')
    with pytest.raises(LedgerError, match="lacks the right"):
        PostgresStore(poor)
    run(
        address,
        f'GRANT USAGE ON SCHEMA sordino TO "poor_{name}"',
        f'GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA sordino TO "poor_{name}"',
        f'GRANT UPDATE ON sordino.spaces TO "poor_{name}"',
    )
    purse = Purse(Budget(epsilon=1, neighbours="add_remove"))
    ledger = open_ledger(Catalog((), (("people", purse),)), book_at(poor))
    loss = losses.pure(epsilon=Fraction(1, 100)).under("add_remove")
    receipt = ledger.charge("people", loss, slack=Fraction(0), plan="p", who="ann")
    ledger.record(receipt, b"answer")
    ledger.close()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        run(poor, "ALTER TABLE sordino.entries DISABLE TRIGGER ALL")
    with pytest.raises(psycopg.errors.RaiseException, match="only added to"):
        run(poor, "UPDATE sordino.spaces SET currency = 'rho'")


def test_a_standby_is_refused(postgres: Server, address: str) -> None:
    PostgresStore(address).close()
    mark = postgres.data / "standby.signal"
    postgres.stop_at_once()
    mark.touch(0o644)
    postgres.start()
    try:
        with pytest.raises(LedgerError, match="is a standby, which lags behind"):
            PostgresStore(address)
    finally:
        postgres.stop_at_once()
        mark.unlink()
        postgres.start()
    PostgresStore(address).close()


def test_without_psycopg_the_error_says_what_to_install() -> None:
    script = """
import sys
sys.modules["psycopg"] = None
from sordino.errors import LedgerError
from sordino.ledger.opening import open_store
try:
    open_store("postgresql://host/name", keyed=False)
except LedgerError as error:
    print(error)
"""
    told = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert "pip install 'sordino[postgres]'" in told.stdout
