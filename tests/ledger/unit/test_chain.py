# SPDX-License-Identifier: Apache-2.0
"""No entry is believed that does not fit what was seen: by this process, an anchor or a receipt."""

from pathlib import Path
from typing import Any

import pytest

from sordino.catalog.model import Catalog
from sordino.errors import LedgerError
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import FIELDS, Entry, Seen, read_seen
from sordino.ledger.ledger import Ledger
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.sqlite.store import SqliteStore
from tests.ledger.unit.samples import catalog, in_file, in_memory, pay, terms


def spent(count: int = 3) -> tuple[MemoryStore, Ledger]:
    store = MemoryStore()
    ledger = in_memory(store=store)
    for _ in range(count):
        pay(ledger)
    return store, ledger


def change(store: MemoryStore, number: int, **fields: Any) -> None:
    entries = store._entries["people"]
    entries[number - 1] = entries[number - 1]._replace(**fields)


def other(value: object) -> object:
    return f"{value}x" if isinstance(value, str) else 7 if value is None else int(str(value)) + 1


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in ("people", "number")])
def test_a_last_entry_that_was_changed_is_refused_by_whoever_opens(name: str) -> None:
    store, ledger = spent()
    before: Entry = store._entries["people"][-1]
    change(store, 4, **{name: other(getattr(before, name))})
    with pytest.raises(LedgerError, match=r"lacks entry 4|does not have the hash"):
        in_memory(store=store)
    if name == "hash":
        with pytest.raises(LedgerError, match="lacks entry 4"):
            pay(ledger)
    else:  # the process that wrote it goes on from what it remembers, and is not misled
        assert pay(ledger).left.nanos == before.cap - before.spent - 100_000_000


def test_an_entry_about_an_analyst_that_was_changed_is_refused() -> None:
    store, ledger = spent()
    pay(ledger, who="bob")
    change(store, 4, used=0)
    pay(ledger, who="bob")
    for use in (lambda: pay(ledger, who="ann"), lambda: in_memory(store=store)):
        with pytest.raises(LedgerError, match=r"lost sight of what 'ann' has used|entry 4 of"):
            use()


def test_an_entry_about_an_analyst_that_is_no_longer_found_is_missed() -> None:
    store, ledger = spent()
    pay(ledger, who="bob")
    del store._own["people", "ann"]
    for use in (lambda: pay(ledger, who="ann"), lambda: in_memory(store=store)):
        with pytest.raises(LedgerError, match=r"lost sight of what 'ann' has used|not add up"):
            use()


def test_a_process_misses_entries_that_it_has_seen() -> None:
    store, ledger = spent()
    copy = list(store._entries["people"])
    del store._entries["people"][2:]
    with pytest.raises(LedgerError, match="lacks entry 4 of 'people', which has been seen"):
        pay(ledger)
    with pytest.raises(LedgerError, match="put the newest copy back"):
        ledger.left("people", "ann")
    with pytest.raises(LedgerError, match="lacks entry 4"):
        ledger.find("people", who="ann", plan="plan", data="data")
    store._entries["people"] = copy
    assert pay(ledger).number == 5


def test_entries_that_replace_those_seen_are_refused() -> None:
    store, ledger = spent()
    twin = in_memory(store=store)
    del store._entries["people"][2:]
    store._own["people", "ann"] = 2
    again = in_memory(store=store)  # it has seen nothing, and there is no anchor
    for _ in range(4):
        pay(again, plan="another")
    for using in (ledger, twin):
        with pytest.raises(LedgerError, match="lacks entry 4"):
            pay(using)


def test_entries_of_other_people_are_not_taken_for_ours() -> None:
    store, ledger = spent()
    purses = catalog().purses + catalog(people="staff").purses
    both = in_memory(Catalog(tables=(), purses=purses), store)
    both.amend(by="olga", why="staff")
    pay(both, people="staff")
    entries = store._entries
    entries["people"], entries["staff"] = entries["staff"], entries["people"]
    for using in (ledger, both, None):
        with pytest.raises(LedgerError):
            pay(using or in_memory(store=store))


def test_what_somebody_has_seen_must_be_there() -> None:
    store, ledger = spent(1)
    receipt = pay(ledger)
    ledger.hold_to(read_seen(str(receipt.seen)))
    assert ledger.heads() == (receipt.seen,)
    for seen in (
        Seen("people", receipt.number + 1, receipt.head),
        Seen("people", receipt.number, "0" * 64),
        Seen("people", receipt.number - 1, receipt.head),
        Seen("people", 10**18 - 1, receipt.head),
        Seen("staff", receipt.number, receipt.head),
    ):
        with pytest.raises(LedgerError, match="which has been seen"):
            ledger.hold_to(seen)
    del store._entries["people"][-1]
    with pytest.raises(LedgerError, match="which has been seen"):
        in_memory(store=store).hold_to(receipt.seen)


@pytest.mark.parametrize("people", ["people", "forgotten"])
def test_an_anchor_remembers_for_longer_than_a_process(tmp_path: Path, people: str) -> None:
    path = tmp_path / "ledger"
    used = in_file(path, catalog(people=people), anchored=True)
    pay(used, people=people)
    used.close()
    path.rename(tmp_path / "away")
    fresh = in_file(path)
    pay(fresh)
    fresh.close()
    with pytest.raises(LedgerError, match=f"lacks entry 2 of '{people}'"):
        in_file(path, anchored=True)


def test_a_ledger_can_be_opened_while_others_write(tmp_path: Path) -> None:
    busy = in_file(tmp_path / "ledger", anchored=True)
    pay(busy)

    class Late(Anchor):
        def all(self) -> dict[str, Seen]:
            pay(busy, "0.001")
            found = super().all()
            pay(busy, "0.001")
            return found

    anchor = Late(tmp_path / "ledger.heads")
    late = Ledger(SqliteStore(tmp_path / "ledger"), terms(), anchor=anchor)
    assert pay(late, "0.001").number > 4
    late.close()
    busy.close()


def test_a_key_makes_hashes_that_nobody_else_can_make() -> None:
    store = MemoryStore(keyed=True)
    ours, theirs = b"the key of the owner", b"another key that is guessed"
    ledger = Ledger(store, terms(), key=ours)
    pay(ledger)
    with pytest.raises(LedgerError, match="or the key is another one"):
        Ledger(store, terms(), key=theirs)
    with pytest.raises(LedgerError, match="made with a key; state its file"):
        Ledger(store, terms())
    with pytest.raises(LedgerError, match="made without a key; state none"):
        Ledger(MemoryStore(), terms(), key=ours)
    assert pay(Ledger(store, terms(), key=ours)).number == 3


def test_an_older_entry_is_not_remembered_in_place_of_a_newer_one() -> None:
    store, ledger = spent()
    old, new = store._entries["people"][1], store._entries["people"][3]
    ledger.chain.saw(old, store)
    assert ledger.chain.known("people", "ann") == (new, new)
