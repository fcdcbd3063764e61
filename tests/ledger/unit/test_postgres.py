# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from threading import Barrier, Thread

import psycopg
import pytest

from sordino.catalog.model import Catalog, Purse
from sordino.errors import LedgerError
from sordino.ledger.entry import Seen
from sordino.ledger.ledger import Ledger
from sordino.ledger.opening import book_at, open_ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores import postgres as module
from sordino.ledger.stores.postgres import MIGRATIONS, PostgresStore
from sordino.ledger.stores.protocol import Store
from sordino.ledger.verify import verify
from sordino.privacy import Budget, losses
from tests.support.postgres import Server, run

CATALOG = Catalog(
    tables=(),
    purses=tuple((name, Purse(Budget(epsilon=1, neighbours="add_remove"))) for name in ("a", "b")),
)
STEP = ("ALTER TABLE sordino.entries ADD COLUMN remark text", "CREATE TABLE sordino.more (x int)")
NEWER = (*MIGRATIONS, STEP)
_LOSING = "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"


@pytest.fixture
def address(postgres: Server) -> str:
    return postgres.database()


@pytest.fixture
def ledger(address: str) -> Iterator[Ledger]:
    found = open_ledger(CATALOG, book_at(address))
    yield found
    found.close()


def pay(ledger: Ledger, people: str = "a", who: str = "ann") -> int:
    loss = losses.pure(epsilon=Fraction(1, 100)).under("add_remove")
    return ledger.charge(people, loss, slack=Fraction(0), plan="p", who=who).number


def left(ledger: Ledger) -> Fraction:
    return ledger.left("a", "ann")[0].value


def begin_space(store: Store, people: str, then: Callable[[], None] = lambda: None) -> None:
    """Begin an id space, and do something else before the transaction ends."""
    with store.write(people) as pages:
        pages.add_space(people, "epsilon")
        then()


def cut_off(address: str) -> None:
    """End all other connections to a database."""
    run(
        address,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid != pg_backend_pid()",
    )


# Making and changing the tables. ----------------------------------------------------------------


def open_together(address: str, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS) -> list[str]:
    """Open a store eight times at once, and return the identities that were found."""
    barrier, found = Barrier(8), []

    def work() -> None:
        barrier.wait()
        store = PostgresStore(address, migrations=migrations)
        found.append(store.identity)
        store.close()

    threads = [Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_all_who_make_a_ledger_at_once_have_the_same(address: str) -> None:
    found = open_together(address)
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_ledger_is_carried_over_whole_and_once(address: str, ledger: Ledger) -> None:
    pay(ledger)
    head = ledger.heads()
    assert set(open_together(address, NEWER)) == {ledger.store.identity}
    later = Ledger(PostgresStore(address, migrations=NEWER), terms_of(CATALOG))
    assert later.heads() == head
    pay(later)
    verify(later)
    later.close()
    with pytest.raises(
        LedgerError, match="is of version 3, and this sordino reads versions 1 to 2"
    ):
        PostgresStore(address)


def test_a_step_that_fails_changes_nothing(address: str, ledger: Ledger) -> None:
    pay(ledger)
    with pytest.raises(LedgerError, match="syntax error"):
        PostgresStore(address, migrations=(*MIGRATIONS, (*STEP, "NONSENSE")))
    again = PostgresStore(address)
    with again.read() as pages:
        found = pages.last("a")
    again.close()
    assert found is not None
    assert pay(ledger) == found.number + 1
    PostgresStore(address, migrations=NEWER).close()  # the same step can be taken later


# Waiting. ---------------------------------------------------------------------------------------


def test_id_spaces_do_not_wait_for_each_other(address: str, ledger: Ledger) -> None:
    pay(ledger, "a")
    pay(ledger, "b")
    other = PostgresStore(address)
    with other.write("a"):
        pay(ledger, "b")
        assert left(ledger) == Fraction(99, 100)
    other.close()
    assert pay(ledger, "a") == 3


def test_a_transaction_within_another_fails_both(address: str) -> None:
    store = PostgresStore(address)
    with pytest.raises(LedgerError, match="connection was lost"):
        begin_space(store, "a", lambda: begin_space(store, "b"))
    with store.read() as pages:
        assert pages.spaces() == {"b": "epsilon"}
    store.close()


def test_nobody_waits_for_ever(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SETTINGS", ("SET lock_timeout = '50ms'",))
    hasty = Ledger(PostgresStore(address), terms_of(CATALOG))
    for opened in (False, True):  # not opened yet, it is locked by its name
        with ledger.store.write("a"), pytest.raises(LedgerError, match="writing for very long"):
            pay(hasty)
        if not opened:
            pay(ledger)
    assert pay(hasty) == 3
    hasty.close()


def test_who_writes_and_says_no_more_is_cut_off(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = "SET idle_in_transaction_session_timeout = '50ms'"
    monkeypatch.setattr(module, "_SETTINGS", (short,))
    slow = PostgresStore(address)
    with slow.read() as pages:  # whoever reads may take their time
        time.sleep(0.2)
        assert pages.spaces() == {}
    with pytest.raises(LedgerError, match="connection was lost"):
        begin_space(slow, "a", lambda: time.sleep(0.2))
    with slow.read() as pages:
        assert pages.spaces() == {}
    slow.close()


def test_who_reads_sees_one_moment(address: str, ledger: Ledger) -> None:
    pay(ledger)
    other = PostgresStore(address)
    with other.read() as pages:
        before = pages.last("a")
        pay(ledger)
        assert pages.last("a") == before
    with other.read() as pages:
        assert pages.last("a") != before
    other.close()


# Lost connections. ------------------------------------------------------------------------------


def test_a_connection_lost_between_two_operations_is_made_anew(
    address: str, ledger: Ledger
) -> None:
    pay(ledger)
    cut_off(address)
    assert left(ledger) == Fraction(99, 100)
    cut_off(address)
    assert pay(ledger) == 3


def test_a_connection_lost_in_an_operation_fails_it_and_nothing_else(
    address: str, ledger: Ledger
) -> None:
    pay(ledger)
    with pytest.raises(LedgerError, match="connection was lost"):
        begin_space(ledger.store, "c", lambda: cut_off(address))
    assert (pay(ledger), pay(ledger, "b")) == (3, 2)


def test_a_server_that_lost_its_power_has_all_charges(postgres: Server, ledger: Ledger) -> None:
    paid = [pay(ledger) for _ in range(20)]
    postgres.stop_at_once()
    with pytest.raises(LedgerError, match="cannot be reached"):
        pay(ledger)
    postgres.start()
    assert pay(ledger) == paid[-1] + 1
    assert [found.charges for found in verify(ledger)] == [21, 0]


def test_another_ledger_in_the_same_place_is_refused(address: str, ledger: Ledger) -> None:
    pay(ledger)
    cut_off(address)
    run(address, "DROP SCHEMA sordino CASCADE")
    with pytest.raises(LedgerError, match="removed or exchanged"):
        pay(ledger)
    PostgresStore(address).close()
    with pytest.raises(LedgerError, match="removed or exchanged"):
        pay(ledger)


def test_what_failed_in_a_transaction_is_not_taken_for_added(ledger: Ledger) -> None:
    pay(ledger)

    def twice() -> None:
        with ledger.store.write("c") as pages:
            pages.add_space("c", "epsilon")
            with suppress(psycopg.Error):
                pages.add_space("c", "rho")

    with pytest.raises(LedgerError, match="nothing was added"):
        twice()
    assert pay(ledger, "b") == 2
    assert [found.people for found in verify(ledger)] == ["a", "b"]


def test_a_forked_process_has_a_connection_of_its_own(address: str, ledger: Ledger) -> None:
    script = """
import os, sys
from fractions import Fraction
from sordino.ledger.opening import book_at, open_ledger
from sordino.privacy import Budget, losses
from sordino.catalog.model import Catalog, Purse
purse = Purse(Budget(epsilon=1, neighbours="add_remove"))
ledger = open_ledger(Catalog((), (("a", purse), ("b", purse))), book_at(sys.argv[1]))
loss = losses.pure(epsilon=Fraction(1, 100)).under("add_remove")
def pay(): return ledger.charge("a", loss, slack=Fraction(0), plan="p", who="ann").number
pay()
for _ in range(3):
    child = os.fork()
    if child == 0:
        for _ in range(5): pay()
        ledger.close()
        os._exit(0)
    for _ in range(5): pay()
    assert os.waitpid(child, 0)[1] == 0
assert pay() == 33
ledger.close()
"""
    subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", script, address], check=True
    )
    assert left(ledger) == Fraction(100 - 32, 100)
    verify(ledger)


def test_a_closed_store_says_so(address: str) -> None:
    store = PostgresStore(address)
    store.close()
    store.close()
    with pytest.raises(LedgerError, match="was closed"), store.read():
        pass


@pytest.mark.parametrize("who", ["a\0b", "\ud800"])
def test_a_name_that_cannot_be_kept_is_refused(ledger: Ledger, who: str) -> None:
    with pytest.raises((LedgerError, ValueError)):
        pay(ledger, who=who)
    assert pay(ledger) == 2


def test_a_receipt_with_an_impossible_number_is_refused(ledger: Ledger) -> None:
    pay(ledger)
    with pytest.raises(LedgerError, match="lacks entry"):
        ledger.hold_to(Seen("a", 10**19 - 1, "0" * 64))


def test_names_are_sorted_by_their_letters_and_compared_by_all_of_them(ledger: Ledger) -> None:
    names = ["b", "B", "a b", "ä", "a", "a\u0308", "Zoë", "z", "'; DROP TABLE", "%s"]
    for name in names:
        pay(ledger, who=name)
    with ledger.store.read() as pages:
        assert pages.analysts("a") == sorted(names)
        assert [pages.last_of("a", name) is not None for name in names] == [True] * len(names)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE sordino.entries DISABLE TRIGGER entries_follow",
        "DROP TRIGGER answers_only_added_to ON sordino.answers",
        "CREATE OR REPLACE FUNCTION sordino.follow() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RETURN new; END'",
        "CREATE RULE lose AS ON INSERT TO sordino.entries DO INSTEAD NOTHING",
        f"{_LOSING}; CREATE TRIGGER lose BEFORE INSERT ON sordino.entries FOR EACH ROW "
        "WHEN (new.number > 100) EXECUTE FUNCTION lose()",
        f"{_LOSING}; CREATE TRIGGER lose AFTER INSERT ON sordino.spaces FOR EACH ROW "
        "EXECUTE FUNCTION lose()",
        "CREATE POLICY hide ON sordino.entries USING (number < 2)",
        "CREATE TABLE other () INHERITS (sordino.about)",
    ],
)
def test_a_trigger_that_was_tampered_with_is_found(
    address: str, ledger: Ledger, statement: str
) -> None:
    pay(ledger)
    verify(ledger)
    run(address, statement)
    with pytest.raises(LedgerError, match="somebody has changed it"):
        verify(ledger)
    with pytest.raises(LedgerError, match="somebody has changed it"):
        PostgresStore(address)


def test_an_entry_that_the_database_swallows_is_no_charge(address: str, ledger: Ledger) -> None:
    pay(ledger)
    run(address, "CREATE RULE lose AS ON INSERT TO sordino.entries DO INSTEAD NOTHING")
    with pytest.raises(LedgerError, match="did not add"):
        pay(ledger)


def test_an_entry_that_a_trigger_swallows_is_no_charge(address: str, ledger: Ledger) -> None:
    pay(ledger)
    run(address, _LOSING)
    run(
        address,
        "CREATE TRIGGER lose BEFORE INSERT ON sordino.entries FOR EACH ROW EXECUTE FUNCTION lose()",
    )
    for who in ("ann", "bob"):
        with pytest.raises(LedgerError, match="did not add"):
            pay(ledger, who=who)
