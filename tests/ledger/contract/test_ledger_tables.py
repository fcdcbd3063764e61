# SPDX-License-Identifier: Apache-2.0
"""The databases hold to the rules by themselves, whoever writes to their tables."""

import hashlib
import sqlite3
from collections.abc import Iterator

import psycopg
import pytest

from sordino.errors import LedgerError
from sordino.ledger import rules
from sordino.ledger.entry import Entry, hash_of
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Amount, Caps, Note, Share, Wanted
from sordino.privacy.currency import PURE
from tests.ledger.contract import ledgers

REFUSED = (sqlite3.IntegrityError, psycopg.errors.RaiseException, psycopg.IntegrityError)
SUMS = ("spent", "spent_slack", "held", "held_slack", "used", "used_slack", "kept", "kept_slack")
LIMITS = ("cap", "cap_slack", "most", "others", "others_slack", "share", "share_slack")
TABLES = {"about": "identity = 'x'", "spaces": "currency = 'rho'", "entries": "price = 1"}
APART = {"answers": "charge = 7"}  # where answers are not kept with their entries
NOTE = Note("2026-01-01T00:00:00Z", "mallory", "because")
PART = 10**7


@pytest.fixture
def ledger(kept: ledgers.Place) -> Ledger:
    """A ledger with every kind of entry: something is kept, limited, charged and answered."""
    analysts = ledgers.shares(ann=("0.5", "0.25"), bob=(None, "0.1"), others=("0.4", 0))
    found = kept.ledger(ledgers.allowed(1, slack="1e-6", question="0.2", analysts=analysts))
    found.record(ledgers.charge(found, "0.2", who="eve", plan="first"), b"answer")
    found.record(ledgers.charge(found, "0.1", slack="1e-7", who="ann", plan="first"), b"answer")
    ledgers.charge(found, "0.1", who="ann", slack="1e-7", plan="open")
    return found


def drafts(ledger: Ledger) -> Iterator[Entry]:
    """Yield one entry of each kind that may follow."""
    newest = ledgers.last(ledger)
    with ledger.store.read() as pages:
        own = pages.last_of("people", "ann")
        paid = pages.entry("people", newest.number)
    assert paid is not None
    assert paid.kind == "charge"
    body = hashlib.sha256(b"answer").hexdigest()
    caps = Caps(Amount(2 * 10**9, 2 * 10**12), 10**8, Amount(10**8, 10**11))
    share = Share("ann", Amount(6 * 10**8, 6 * 10**11), Amount(3 * 10**8, 3 * 10**11))
    yield rules.charged(newest, own, Wanted("ann", PART, 10**10, "p", "d"), PURE, NOTE)
    yield rules.charged(newest, None, Wanted("new", PART, 0, "p", "d"), PURE, NOTE)
    yield rules.answered(newest, own, paid, body, NOTE)
    yield rules.shared(newest, own, share, NOTE)
    yield rules.shared(newest, None, Share("kim", None, Amount(PART, 0)), NOTE)
    yield rules.limited(newest, caps, NOTE)


def hashed(ledger: Ledger, entry: Entry) -> Entry:
    """Give an entry the hash that fits, so that nothing but the rules can refuse it."""
    return entry._replace(hash=hash_of(entry, ledgers.last(ledger).hash, ledger.chain.digest))


def tables(kept: ledgers.Place) -> dict[str, str]:
    """Return the tables of a place, each with a change of it."""
    return TABLES if kept.kind == "sqlite" else TABLES | APART


def test_nothing_is_changed_or_deleted(kept: ledgers.Place, ledger: Ledger) -> None:
    before = ledger.heads()
    for table, change in tables(kept).items():
        with pytest.raises(REFUSED, match="only added to"):
            kept.execute(f"UPDATE {table} SET {change}")  # noqa: S608
        with pytest.raises(REFUSED, match="only added to"):
            kept.execute(f"DELETE FROM {table}")  # noqa: S608
        if kept.kind == "postgres":
            with pytest.raises(REFUSED, match="only added to"):
                kept.execute(f"TRUNCATE {table} CASCADE")
    assert kept.ledger({}).heads() == before


def test_no_row_is_put_in_the_place_of_another(kept: ledgers.Place, ledger: Ledger) -> None:
    newest = ledgers.last(ledger)
    for draft in (newest, newest._replace(price=1), newest._replace(plan="another")):
        with pytest.raises(REFUSED):
            kept.insert(draft)
    again = "OR REPLACE INTO" if kept.kind == "sqlite" else "INTO"
    for table in tables(kept):
        with pytest.raises(REFUSED):
            kept.execute(f"INSERT {again} {table} SELECT * FROM {table}")  # noqa: S608
    assert kept.ledger({}).heads() == ledger.heads()


def test_what_follows_the_rules_is_let_in(kept: ledgers.Place, ledger: Ledger) -> None:
    tried = [hashed(ledger, draft) for draft in drafts(ledger)]
    for entry in tried:
        with pytest.raises(ledgers.Undone):
            ledgers.add_and_undo(ledger, entry)
    kept.insert(tried[0])
    assert ledgers.last(ledger) == tried[0]


def test_no_sum_is_forged(kept: ledgers.Place, ledger: Ledger) -> None:
    tried = 0
    for draft in drafts(ledger):
        for name in SUMS:
            for step in (-PART, -1, 1, PART):
                value = getattr(draft, name) + step
                if (draft.kind == "share" and name.startswith("kept")) or value < 0:
                    continue  # a share may keep what it likes, and its other sums are tried
                with pytest.raises(REFUSED):
                    kept.insert(hashed(ledger, ledgers.changed(draft, **{name: value})))
                tried += 1
    assert tried > 100
    assert kept.ledger({}).heads() == ledger.heads()


def test_only_entries_of_their_own_change_limits(kept: ledgers.Place, ledger: Ledger) -> None:
    for draft in drafts(ledger):
        for name in LIMITS:
            own = name.startswith("share")
            if draft.kind == ("share" if own else "limits"):
                continue
            for value in (getattr(draft, name), None):
                other = value if value is None else value + 1
                if other == getattr(draft, name) or (other is None and name.startswith("cap")):
                    continue
                with pytest.raises(REFUSED):
                    kept.insert(hashed(ledger, ledgers.changed(draft, **{name: other})))
    assert kept.ledger({}).heads() == ledger.heads()


@pytest.mark.parametrize(
    ("who", "price", "slack"),
    [
        ("ann", 3 * 10**8 + 1, 0),  # above her share
        ("eve", 2 * 10**8 + 1, 0),  # above what others may spend
        ("bob", 2 * 10**8 + 1, 0),  # above one question
        ("bob", 10**8, 9 * 10**11),  # above the delta
        ("ann", PART, 4 * 10**11),  # above her share of the delta
    ],
)
def test_nothing_is_overspent(
    kept: ledgers.Place, ledger: Ledger, who: str, price: int, slack: int
) -> None:
    with ledger.store.read() as pages:
        own = pages.last_of("people", who)
    forged = overspent(ledgers.last(ledger), own, Wanted(who, price, slack, "p", "d"))
    with pytest.raises(REFUSED, match="fits the budget"):
        kept.insert(hashed(ledger, forged))


def overspent(newest: Entry, own: Entry | None, wanted: Wanted) -> Entry:
    """Return a charge whose sums are right, whatever it costs."""
    open_to_all = newest._replace(
        cap=10**18, cap_slack=10**18, most=None, others=None, others_slack=None
    )
    mine = None if own is None else own._replace(share=None, share_slack=None)
    entry = rules.charged(open_to_all, mine, wanted, PURE, NOTE)
    limits = {name: getattr(newest, name) for name in LIMITS[:5]}
    if own is not None:
        limits |= {"share": own.share, "share_slack": own.share_slack}
    return ledgers.changed(entry, **limits)


def test_the_whole_cap_is_not_overspent(kept: ledgers.Place) -> None:
    ledger = kept.ledger(
        ledgers.allowed(1, analysts=ledgers.shares(bob=(None, "0.25"), others=(None, 0)))
    )
    ledgers.charge(ledger, "0.5", who="eve")
    forged = overspent(
        ledgers.last(ledger), ledgers.last(ledger), Wanted("eve", 250_000_001, 0, "p", "d")
    )
    with pytest.raises(REFUSED, match="fits the budget"):
        kept.insert(hashed(ledger, forged))
    ledgers.charge(ledger, "0.25", who="eve")


def test_no_more_is_kept_for_analysts_than_there_is(kept: ledgers.Place) -> None:
    ledger = kept.ledger()
    ledgers.charge(ledger, "0.75")
    newest = ledgers.last(ledger)
    greedy = ledgers.changed(
        newest, kind="share", who="bob", number=newest.number + 1, price=0, plan=""
    )
    for held, refused in ((250_000_001, True), (250_000_000, False)):
        forged = ledgers.changed(greedy, data="", used=0, kept=held, held=held)
        with pytest.raises(LedgerError if refused else ledgers.Undone):
            ledgers.add_and_undo(ledger, forged)


def test_an_answer_is_paid_for_once_and_by_its_own_charge(
    kept: ledgers.Place, ledger: Ledger
) -> None:
    answer = next(one for one in drafts(ledger) if one.kind == "answer")
    for change in (
        {"charge": answer.charge - 1},
        {"charge": answer.number},
        {"charge": answer.charge + 100},
        {"plan": "another"},
        {"data": "another"},
    ):
        with pytest.raises(REFUSED, match="paid for by a charge"):
            kept.insert(hashed(ledger, ledgers.changed(answer, **change)))
    receipt = ledgers.charge(ledger, "0.01", who="ann")
    ledger.record(receipt, b"answer")
    newest = ledgers.last(ledger)
    second = newest._replace(number=newest.number + 1)
    with pytest.raises(REFUSED):
        kept.insert(hashed(ledger, second))


def test_a_body_has_its_entry(kept: ledgers.Place, ledger: Ledger) -> None:
    newest = ledgers.last(ledger)  # a charge without an answer
    entry = hashed(ledger, next(drafts(ledger)))
    told = "CHECK constraint" if kept.kind == "sqlite" else "an answer has an entry"
    with pytest.raises(LedgerError, match=told), ledger.store.write("people") as pages:
        pages.append(entry, b"answer")
    if kept.kind == "postgres":
        with pytest.raises(REFUSED, match="entry"):
            kept.execute("INSERT INTO answers VALUES ('people', ?, 'x')", (newest.number,))
    assert kept.ledger({}).heads() == ledger.heads()


def test_entries_have_no_gap_and_begin_once(kept: ledgers.Place, ledger: Ledger) -> None:
    newest, draft = ledgers.last(ledger), next(drafts(ledger))
    for number in (0, 1, 2, newest.number, newest.number + 2):
        with pytest.raises(REFUSED):
            kept.insert(hashed(ledger, draft._replace(number=number)))
    opening = rules.opened("people", Caps(Amount(10**18, 0)), NOTE)
    for number in (1, newest.number + 1):
        with pytest.raises(REFUSED):
            kept.insert(hashed(ledger, opening._replace(number=number)))
    with pytest.raises((*REFUSED, TypeError)):  # there is no such id space
        kept.insert(opening._replace(people="nobody", hash="0" * 64))


@pytest.mark.parametrize("name", SUMS)
def test_an_id_space_begins_with_nothing_spent(kept: ledgers.Place, name: str) -> None:
    ledger = kept.ledger()
    opening = rules.opened("people", Caps(Amount(10**9, 10**9)), NOTE)._replace(hash="0" * 64)
    with pytest.raises(ledgers.Undone):
        ledgers.add_and_undo(ledger, opening)
    with pytest.raises(LedgerError):
        ledgers.add_and_undo(ledger, ledgers.changed(opening, **{name: 1}))
    assert ledger.heads() == ()
