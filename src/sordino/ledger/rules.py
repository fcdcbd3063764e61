# SPDX-License-Identifier: Apache-2.0
"""The rules of a ledger: what its owner allows, which entry may follow which, the sums after it.

Pure functions on terms and entries. The stores hold to the same rules a second time, in SQL.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from sordino.catalog.model import EVERYBODY, Analyst, Catalog, Purse
from sordino.errors import BudgetExceeded, LedgerError, QuestionTooDear
from sordino.ledger.entry import Entry, EntryKind, plain
from sordino.numbers.rational import written
from sordino.privacy.budget import Budget
from sordino.privacy.currency import ATTO, Currency, Price


class Amount(NamedTuple):
    """Nano-units of a currency, and parts of 10**18 of a delta for keys and other failures."""

    nanos: int
    slack: int

    def part(self, share: Fraction) -> Amount:
        """Return a share of it, rounded down."""
        return Amount(math.floor(self.nanos * share), math.floor(self.slack * share))


NOTHING = Amount(0, 0)


@dataclass(frozen=True, slots=True)
class Caps:
    """What may be spent in all, on one question, and by who has no share; None: no limit."""

    cap: Amount
    most: int | None = None
    others: Amount | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """The most that an analyst may spend, and what is kept for them."""

    who: str
    most: Amount | None
    kept: Amount


@dataclass(frozen=True, slots=True)
class Terms:
    """What the owner allows for the people of one id space."""

    budget: Budget
    caps: Caps
    shares: tuple[Share, ...] = ()

    def price(self, nanos: int) -> Price:
        """Return so many nano-units as a price."""
        return Price(self.budget.currency, nanos)


def terms_of(catalog: Catalog) -> dict[str, Terms]:
    """Return the terms of every id space as the catalog states them; shares are rounded down."""
    return {plain(people): _terms(purse, catalog.analysts) for people, purse in catalog.purses}


def slack_up(slack: Fraction) -> int:
    """Return a delta in parts of 10**18, rounded up: what is charged."""
    return math.ceil(slack * ATTO) if slack else 0


def _terms(purse: Purse, analysts: tuple[Analyst, ...]) -> Terms:
    slack = math.floor((purse.slack + purse.budget.failures) * ATTO)
    cap = Amount(purse.budget.cap.nanos, slack)
    most = None if purse.question is None else cap.part(purse.question).nanos
    # Who names analysts means these; whoever else may ask is what "*" says.
    closed = bool(analysts) and all(analyst.name != EVERYBODY for analyst in analysts)
    shares, others = [], NOTHING if closed else None
    for analyst in analysts:
        whole = cap if closed else None
        part = whole if analyst.share is None else cap.part(analyst.share)
        if analyst.name == EVERYBODY:
            others = part
        else:
            shares.append(Share(plain(analyst.name), part, cap.part(analyst.reserved)))
    return Terms(purse.budget, Caps(cap, most, others), tuple(shares))


# Which entry may follow which. --------------------------------------------------------------------


class Note(NamedTuple):
    """When an entry was made, and, of a change of limits, by whom and why."""

    at: str
    by: str = ""
    why: str = ""


class Wanted(NamedTuple):
    """What somebody is to be charged for: a price, of what plan, on which version of the data."""

    who: str
    price: int
    slack: int
    plan: str
    data: str


class Own(NamedTuple):
    """What holds for one analyst: their share, what is kept for them, and what they have used."""

    share: int | None = None
    share_slack: int | None = None
    kept: int = 0
    kept_slack: int = 0
    used: int = 0
    used_slack: int = 0


_NOTHING = Own()


def own_of(entry: Entry | None) -> Own:
    """Return what the newest entry about an analyst says of them."""
    if entry is None:
        return _NOTHING
    return Own(
        entry.share,
        entry.share_slack,
        entry.kept,
        entry.kept_slack,
        entry.used,
        entry.used_slack,
    )


def opened(people: str, caps: Caps, note: Note) -> Entry:
    """Return the first entry of an id space."""
    others = caps.others
    return Entry(
        people=people,
        number=1,
        kind="open",
        at=note.at,
        who="",
        by=note.by,
        why=note.why,
        price=0,
        price_slack=0,
        plan="",
        data="",
        charge=0,
        body="",
        cap=caps.cap.nanos,
        cap_slack=caps.cap.slack,
        most=caps.most,
        others=None if others is None else others.nanos,
        others_slack=None if others is None else others.slack,
        spent=0,
        spent_slack=0,
        held=0,
        held_slack=0,
        share=None,
        share_slack=None,
        kept=0,
        kept_slack=0,
        used=0,
        used_slack=0,
        hash="",
    )


def limited(last: Entry, caps: Caps, note: Note) -> Entry:
    """Return the entry that changes what may be spent in all, on one question, and by others."""
    return opened(last.people, caps, note)._replace(
        number=last.number + 1,
        kind="limits",
        spent=last.spent,
        spent_slack=last.spent_slack,
        held=last.held,
        held_slack=last.held_slack,
    )


def shared(last: Entry, own: Entry | None, share: Share, note: Note) -> Entry:
    """Return the entry that changes what an analyst may spend and what is kept for them."""
    before, most = own_of(own), share.most
    after = Own(
        None if most is None else most.nanos,
        None if most is None else most.slack,
        share.kept.nanos,
        share.kept.slack,
        before.used,
        before.used_slack,
    )
    entry = _next(last, "share", note, Wanted(share.who, 0, 0, "", ""), after, before=before)
    more, more_slack = entry.held > last.held, entry.held_slack > last.held_slack
    if (more and entry.spent + entry.held > entry.cap) or (
        more_slack and entry.spent_slack + entry.held_slack > entry.cap_slack
    ):
        raise LedgerError(
            f"so much cannot be kept for {share.who!r}: with what is spent and what is kept for "
            "others it is more than the budget; keep less, or raise the budget first"
        )
    return entry


def charged(
    last: Entry, own: Entry | None, wanted: Wanted, currency: Currency, note: Note
) -> Entry:
    """Return the entry of a charge, or refuse what does not fit.

    Guarantee:
        Neighbours: those of the losses that are charged.
        Loss: the prices of all charges of an id space stay within its cap, those of an analyst
            within their share, and what is kept for an analyst is spent by nobody else.
        Numerics: integers.
        Proof: docs/proofs/budgets.md, theorem 1.
    """
    _check_fits(last, own, wanted, currency)
    before = own_of(own)
    after = Own(
        before.share,
        before.share_slack,
        before.kept,
        before.kept_slack,
        before.used + wanted.price,
        before.used_slack + wanted.slack,
    )
    return _next(last, "charge", note, wanted, after, before=before)


def answered(last: Entry, own: Entry | None, charge: Entry, body: str, note: Note) -> Entry:
    """Return the entry of the answer that a charge paid for."""
    paid = Wanted(charge.who, 0, 0, charge.plan, charge.data)
    return _next(last, "answer", note, paid, own_of(own), charge=charge.number, body=body)


def declared(people: str, terms: Terms) -> tuple[Entry, dict[str, Entry]]:
    """Return the entries that a new id space would begin with: the last, and those of analysts."""
    note, own = Note(""), dict[str, Entry]()
    last = opened(people, terms.caps, note)
    for share in terms.shares:
        last = own[share.who] = shared(last, None, share, note)
    return last, own


def room(last: Entry, own: Entry | None) -> Amount:
    """Return the most that an analyst may still spend."""
    share, share_slack, kept, kept_slack, used, used_slack = own_of(own)
    if share is None:
        share, share_slack = last.others, last.others_slack
    left = last.cap - last.spent - last.held
    left_slack = last.cap_slack - last.spent_slack - last.held_slack
    return Amount(
        _least(left, share, kept, used), _least(left_slack, share_slack, kept_slack, used_slack)
    )


def _least(left: int, share: int | None, kept: int, used: int) -> int:
    """Return what fits into what is left for all and for one, and is kept for nobody else."""
    if kept > used:
        left += kept - used
    if share is not None and share - used < left:
        left = share - used
    return max(0, left)


def _check_fits(last: Entry, own: Entry | None, wanted: Wanted, currency: Currency) -> None:
    if wanted.price <= 0 or wanted.slack < 0:
        raise ValueError("a charge must be positive, because nothing is ever refunded")
    if last.most is not None and wanted.price > last.most:
        raise QuestionTooDear(str(Price(currency, wanted.price)), str(Price(currency, last.most)))
    left = room(last, own)
    if wanted.price > left.nanos:
        asked, fits = Price(currency, wanted.price), Price(currency, left.nanos)
        hint = currency.what_fits(left.nanos)
        if left.nanos == max(0, last.cap - last.spent):
            raise BudgetExceeded(str(asked), str(fits), hint)
        if left.nanos == 0:
            kept = last.cap - last.spent - last.held <= 0
            hint = "the rest is kept for others" if kept else "their share is used up"
        raise BudgetExceeded(str(asked), f"{fits} for {wanted.who!r}", hint)
    if wanted.slack > left.slack:
        raise BudgetExceeded(
            f"delta {written(Fraction(wanted.slack, ATTO))} to discover keys or to fail",
            f"delta {written(Fraction(left.slack, ATTO))}",
            "ask for declared keys, or with a smaller delta",
        )


def _next(
    last: Entry,
    kind: EntryKind,
    note: Note,
    wanted: Wanted,
    after: Own,
    *,
    before: Own | None = None,
    charge: int = 0,
    body: str = "",
) -> Entry:
    """Return an entry about an analyst that follows the last one; it lacks its hash.

    ``after`` holds for the analyst from now on; without ``before`` it has held already.
    """
    who, price, slack, plan, data = wanted
    held, held_slack = last.held, last.held_slack
    if before is not None:
        held += _unspent(after.kept, after.used) - _unspent(before.kept, before.used)
        held_slack += _unspent(after.kept_slack, after.used_slack)
        held_slack -= _unspent(before.kept_slack, before.used_slack)
    # By position, because names take a twentieth of an answer beside its syncs.
    return Entry(
        last.people,
        last.number + 1,
        kind,
        note.at,
        who,
        note.by,
        note.why,
        price,
        slack,
        plan,
        data,
        charge,
        body,
        last.cap,
        last.cap_slack,
        last.most,
        last.others,
        last.others_slack,
        last.spent + price,
        last.spent_slack + slack,
        held,
        held_slack,
        after.share,
        after.share_slack,
        after.kept,
        after.kept_slack,
        after.used,
        after.used_slack,
        "",
    )


def _unspent(kept: int, used: int) -> int:
    return kept - used if kept > used else 0
