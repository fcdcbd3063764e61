# SPDX-License-Identifier: Apache-2.0
"""Verifying a ledger: every hash, every sum and every answer, from the first entry to the last."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

from sordino.errors import BudgetError, LedgerError
from sordino.ledger import rules
from sordino.ledger.entry import (
    Digest,
    Entry,
    EntryKind,
    Seen,
    first_hash,
    hash_of,
    read_currency,
)
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Amount, Caps, Note, Share, Wanted
from sordino.ledger.stores.protocol import Pages
from sordino.privacy.currency import ATTO, Currency, Price

OnProgress = Callable[[int, int], None]  # how many entries are done, of how many


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found to hold for an id space: all of its entries fit together."""

    people: str
    entries: int
    charges: int
    answers: int
    spent: Price
    cap: Price
    slack: Fraction
    head: Seen


def verify(ledger: Ledger, *, progress: OnProgress | None = None) -> tuple[Verified, ...]:
    """Check a whole ledger, or raise LedgerError that says where it is wrong.

    All hashes are computed anew, all sums added up anew by the rules, and every answer is compared
    with its hash. What the anchor has seen was checked when the ledger was opened.
    """
    ledger.store.check()
    with ledger.store.read() as pages:
        spaces = pages.spaces()
        for people in {*spaces, *ledger.terms, *ledger.chain.anchored}:
            ledger.chain.last(pages, people)  # what was seen must be there
        total, done, found = pages.total(), 0, []
        for people, currency in spaces.items():
            first = first_hash(ledger.chain.identity, people, currency, ledger.chain.digest)
            walk = _Walk(pages, first, ledger.chain.digest, read_currency(currency))
            for entry in pages.entries(people):
                walk.step(entry)
                done += 1
                if progress is not None:
                    progress(done, total[0])
            found.append(walk.end(people))
    if total != (done, sum(one.answers for one in found)):
        raise LedgerError(
            "the ledger has entries or answers that belong to no id space; it was changed or "
            "damaged: put the newest copy back"
        )
    return tuple(found)


class _Walk:
    """Goes through the entries of an id space and holds each to the rules."""

    def __init__(self, pages: Pages, first: str, digest: Digest, currency: Currency) -> None:
        self.pages = pages
        self.digest = digest
        self.currency = currency
        self.before = first
        self.last: Entry | None = None
        self.own: dict[str, Entry] = {}
        self.open: dict[int, Entry] = {}  # charges without an answer
        self.charges = self.answers = 0

    def step(self, entry: Entry) -> None:
        """Hold the next entry to the rules."""
        number = 1 if self.last is None else self.last.number + 1
        if entry.number != number:
            raise _wrong(entry.people, number, "is missing")
        try:
            told = hash_of(entry, self.before, self.digest)
        except TypeError:  # bytes where there was text
            told = ""
        if told != entry.hash:
            raise _wrong(entry.people, number, "does not have the hash of what it says")
        try:
            follows = self._follows(entry)._replace(hash=entry.hash)
        except (BudgetError, LedgerError, ValueError) as error:
            raise _wrong(entry.people, number, f"breaks a rule: {error}") from None
        if follows != entry:
            raise _wrong(entry.people, number, "has sums that do not follow from the one before")
        self.last, self.before = entry, entry.hash
        if entry.who:
            self.own[entry.who] = entry

    def end(self, people: str) -> Verified:
        """Return what was found, after the last entry."""
        last = self.last
        if last is None:
            raise _wrong(people, 1, "is missing")
        for who, own in self.own.items():
            found = self.pages.last_of(people, who)
            if found is None or found.who != who or found.used != own.used:
                raise LedgerError(
                    f"the ledger has lost sight of what {who!r} has used of {people!r}; it was "
                    "changed or damaged: put the newest copy back"
                )
        if self.pages.bodies(people) != self.answers:
            raise LedgerError(f"{people!r} has answers that no entry speaks of")
        return Verified(
            people=people,
            entries=last.number,
            charges=self.charges,
            answers=self.answers,
            spent=Price(self.currency, last.spent),
            cap=Price(self.currency, last.cap),
            slack=Fraction(last.spent_slack, ATTO),
            head=Seen(people, last.number, last.hash),
        )

    def _follows(self, entry: Entry) -> Entry:
        """Return the entry that the rules make of what this one says."""
        note, last, own = Note(entry.at, entry.by, entry.why), self.last, self.own.get(entry.who)
        if last is None:
            return rules.opened(entry.people, _caps(entry), note)
        if entry.kind not in get_args(EntryKind):
            raise ValueError("there is no such kind of entry")
        match entry.kind:
            case "open":
                raise ValueError("it is the first of its kind only at the beginning")
            case "limits":
                return rules.limited(last, _caps(entry), note)
            case "share":
                most = _amount(entry.share, entry.share_slack)
                kept = Amount(entry.kept, entry.kept_slack)
                return rules.shared(last, own, Share(entry.who, most, kept), note)
            case "charge":
                self.charges += 1
                self.open[entry.number] = entry
                wanted = Wanted(entry.who, entry.price, entry.price_slack, entry.plan, entry.data)
                return rules.charged(last, own, wanted, self.currency, note)
            case "answer":
                self.answers += 1
                charge = self.open.pop(entry.charge, None)
                if charge is None:
                    raise ValueError("there is no charge that it could be paid by")
                body = self.pages.body(entry)
                told = hashlib.sha256(body).hexdigest() if isinstance(body, bytes) else ""
                return rules.answered(last, own, charge, told, note)


def _caps(entry: Entry) -> Caps:
    others = _amount(entry.others, entry.others_slack)
    return Caps(Amount(entry.cap, entry.cap_slack), entry.most, others)


def _amount(nanos: int | None, slack: int | None) -> Amount | None:
    return None if nanos is None or slack is None else Amount(nanos, slack)


def _wrong(people: str, number: int, what: str) -> LedgerError:
    return LedgerError(
        f"entry {number} of {people!r} {what}; the ledger was changed or damaged: put the newest "
        "copy back"
    )
