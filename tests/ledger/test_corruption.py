# SPDX-License-Identifier: Apache-2.0
"""Damaged, cut, edited and exchanged ledgers: refused in words, or nothing is missing."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from sordino.errors import LedgerError
from sordino.ledger.entry import Entry, Seen
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.sqlite import files as sqlite_file
from sordino.ledger.stores.sqlite.store import _LOOK_AGAIN, SqliteStore
from sordino.ledger.verify import verify
from tests.ledger.damage import CRASHED_WAYS, LOG, WAYS, delete_last, rename_newest
from tests.ledger.images import (
    ANALYSTS,
    CATALOG,
    HEADS,
    NAME,
    PEOPLE,
    PRICE,
    ask,
    charge,
    dice,
    open_book,
)

TESTED, PIECES = 500, 5
SOAKED, LONG_PIECES = 5_000, 50
QUESTIONS = 40
BACK = 50  # entries
ENDS = ("refused at opening", "refused in use", "refused by verify", "unchanged")


class Facts(NamedTuple):
    """All that a ledger says."""

    entries: dict[str, list[Entry]]
    bodies: dict[tuple[str, int], bytes | None]
    left: dict[tuple[str, str], int]


class Ledgers(NamedTuple):
    """One ledger that was closed and the same one as a crash leaves it, with all older copies."""

    closed: Path
    crashed: Path
    copies: Path
    facts: Facts
    heads: list[Seen]  # of the older copies, one after the other


def facts_of(book: Ledger) -> Facts:
    with book.store.read() as pages:
        entries = {people: list(pages.entries(people)) for people in pages.spaces()}
        bodies = {
            (people, entry.number): pages.body(entry)
            for people, those in entries.items()
            for entry in those
            if entry.kind == "answer"
        }
    left = {(p, who): book.left(p, who)[0].nanos for p in PEOPLE for who in ANALYSTS}
    return Facts(entries, bodies, left)


def copy(folder: Path, to: Path) -> None:
    to.mkdir(parents=True)
    for name in (NAME, LOG, HEADS):
        if (folder / name).exists():
            shutil.copy(folder / name, to / name)


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Ledgers:
    """Make the ledgers that are damaged."""
    folder = tmp_path_factory.mktemp("ledgers")
    made, heads = folder / "made", []
    made.mkdir()
    book = open_book(made)
    for number in range(QUESTIONS):
        if number == QUESTIONS // 2:  # half of all is in the file then, and half in its log
            book.close()
            book = open_book(made)
        ask(book, number + 1)
        heads.append(next(seen for seen in book.heads() if seen.people == PEOPLE[0]))
        copy(made, folder / "copies" / f"{number:03}")
    copy(made, folder / "crashed")
    facts = facts_of(book)
    book.close()
    copy(made, folder / "closed")
    assert not (folder / "closed" / LOG).exists()
    assert (folder / "crashed" / LOG).stat().st_size > 50_000
    return Ledgers(folder / "closed", folder / "crashed", folder / "copies", facts, heads)


def judge(folder: Path, before: Facts) -> str:
    """Open, look, charge and verify; say how it ended. Only a LedgerError may come out of it."""
    try:
        book = open_book(folder)
    except LedgerError as error:
        return _refused("at opening", error)
    try:
        try:
            for (people, who), left in before.left.items():
                now = book.left(people, who)[0].nanos
                assert now <= left, f"{who} has {now} left of {people}, and had {left}"
            for people, entries in before.entries.items():
                _look(book, people, entries[-1])
        except LedgerError as error:
            return _refused("in use", error)
        try:
            verify(book)
        except LedgerError as error:
            return _refused("by verify", error)
        now_there = facts_of(book)
        for people, entries in before.entries.items():
            assert now_there.entries[people][: len(entries)] == entries
        assert before.bodies.items() <= now_there.bodies.items()
        return "unchanged"
    finally:
        book.close()


def _look(book: Ledger, people: str, last: Entry) -> None:
    """See what was spent, and charge: it must come on top of all that was spent before."""
    with book.store.read() as pages:
        found = pages.last(people)
    assert found is not None
    assert found.spent >= last.spent, f"{found.spent} is spent, and {last.spent} was"
    receipt = charge(book, people, "bob", "after the damage")
    with book.store.read() as pages:
        made = pages.entry(people, receipt.number)
        own = pages.last_of(people, "bob")
    assert made is not None
    assert own == made
    assert (made.number, made.spent) == (last.number + 1, last.spent + PRICE)


def _refused(when: str, error: LedgerError) -> str:
    told = str(error)
    assert told[0].islower() or told[0] in "'{", told
    assert len(told) > 20
    assert "Error" not in told, told
    return f"refused {when}"


def campaign(ledgers: Ledgers, folder: Path, seed: int, images: int) -> Counter[tuple[str, str]]:
    """Damage many copies; count how it ended for each way, and collect what must not be."""
    luck = dice(f"damage {seed}")
    ends: Counter[tuple[str, str]] = Counter()
    wrong = []
    for number in range(images):
        crashed = luck.random() < 0.5
        way, damage = luck.choice(list({**WAYS, **(CRASHED_WAYS if crashed else {})}.items()))
        shutil.rmtree(folder / "image", ignore_errors=True)
        copy(ledgers.crashed if crashed else ledgers.closed, folder / "image")
        damage(folder / "image", ledgers.copies, luck)
        try:
            ends[way, judge(folder / "image", ledgers.facts)] += 1
        except Exception as error:  # each is a finding
            wrong.append(f"seed {seed}, image {number}, {way}, crashed {crashed}: {error!r}")
    assert not wrong, "\n".join([f"{len(wrong)} of {images}", *wrong[:10]])
    return ends


def check(ledgers: Ledgers, folder: Path, seed: int, images: int) -> None:
    ends = campaign(ledgers, folder, seed, images)
    how = Counter(dict.fromkeys(ENDS, 0))
    for (_, end), many in ends.items():
        how[end] += many
    print("; ".join(f"{way} {end}: {many}" for (way, end), many in sorted(ends.items())))  # noqa: T201
    assert how["refused at opening"] + how["refused in use"] > images // 4
    assert how["unchanged"] > images // 50
    assert how.total() == images


@pytest.mark.parametrize("seed", range(PIECES))
def test_a_damaged_ledger_never_shows_less_than_was_spent(
    seed: int, ledgers: Ledgers, tmp_path: Path
) -> None:
    check(ledgers, tmp_path, seed, TESTED // PIECES)


@pytest.mark.parametrize("seed", range(PIECES))
def test_a_damaged_ledger_that_is_too_large_to_be_looked_through_never_does_either(
    seed: int, ledgers: Ledgers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_SMALL", 0)
    check(ledgers, tmp_path, 50 + seed, TESTED // PIECES)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 100 + LONG_PIECES))
def test_5000_damaged_ledgers_never_show_less_than_was_spent(
    seed: int, ledgers: Ledgers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:
        monkeypatch.setattr(sqlite_file, "_SMALL", 0)
    check(ledgers, tmp_path, seed, SOAKED // LONG_PIECES)


# Old files and cut tails. ------------------------------------------------------------------------


def refused(folder: Path, seen: Seen | None) -> bool:
    """Tell whether a ledger is refused: because of its anchor, or of a receipt and without one."""
    if seen is None:
        with pytest.raises(LedgerError, match="lacks entry"):
            open_book(folder)
        return True
    book = Ledger(SqliteStore(folder / NAME), terms_of(CATALOG))
    try:
        with pytest.raises(LedgerError, match="lacks entry"):
            book.hold_to(seen)
    finally:
        book.close()
    return True


@pytest.mark.parametrize("by", ["anchor", "receipt"])
def test_an_older_copy_is_refused_however_few_entries_it_lacks(
    by: str, ledgers: Ledgers, tmp_path: Path
) -> None:
    newest, lacking = ledgers.heads[-1], set()
    for number, head in enumerate(ledgers.heads[:-1]):
        folder = tmp_path / str(number)
        copy(ledgers.copies / f"{number:03}", folder)
        shutil.copy(ledgers.closed / HEADS, folder / HEADS)
        if head.number < newest.number:
            lacking.add(newest.number - head.number)
            assert refused(folder, newest if by == "receipt" else None)
    assert len(lacking) > 25
    assert max(lacking) >= BACK


@pytest.mark.parametrize("by", ["anchor", "receipt"])
def test_a_ledger_without_its_last_entries_is_refused(
    by: str, ledgers: Ledgers, tmp_path: Path
) -> None:
    for many in range(1, BACK + 1):
        folder = tmp_path / str(many)
        copy(ledgers.closed, folder)
        delete_last(folder / NAME, many)
        assert refused(folder, ledgers.heads[-1] if by == "receipt" else None)


def test_a_ledger_that_was_written_anew_with_right_hashes_is_refused(
    ledgers: Ledgers, tmp_path: Path
) -> None:
    folder = tmp_path / "forged"
    copy(ledgers.closed, folder)
    delete_last(folder / NAME, 6)
    (folder / HEADS).unlink()
    book = open_book(folder)
    while not any(seen.number > ledgers.heads[-1].number for seen in book.heads()):
        charge(book, PEOPLE[0], "bob", "cheap")
    verify(book)
    book.close()
    shutil.copy(ledgers.closed / HEADS, folder / HEADS)
    assert refused(folder, None)
    assert refused(folder, ledgers.heads[-1])


def test_a_copy_that_is_put_in_place_of_an_open_ledger_is_noticed(
    ledgers: Ledgers, tmp_path: Path
) -> None:
    copy(ledgers.closed, tmp_path / "one")
    book = open_book(tmp_path / "one")
    try:
        shutil.copy(ledgers.copies / "003" / NAME, tmp_path / "old")
        (tmp_path / "old").replace(tmp_path / "one" / NAME)
        time.sleep(2 * _LOOK_AGAIN)
        with pytest.raises(LedgerError, match="moved or exchanged"):
            charge(book, PEOPLE[0], "bob", "afterwards")
    finally:
        book.close()


@pytest.mark.parametrize("who", ANALYSTS)
def test_a_charge_that_is_put_on_another_name_is_noticed(
    who: str, ledgers: Ledgers, tmp_path: Path
) -> None:
    for other in ("zoe", who.upper(), *(one for one in ANALYSTS if one != who)):
        copy(ledgers.closed, tmp_path / other)
        rename_newest(tmp_path / other / NAME, who, other)
        assert judge(tmp_path / other, ledgers.facts).startswith("refused")
