# SPDX-License-Identifier: Apache-2.0
"""The rules of a ledger: which entry may follow which, and what the sums are after it.

Pure functions on entries. The stores hold to the same rules a second time, in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sordino.errors import BudgetExceeded, LedgerError, QuestionTooDear
from sordino.exact.rational import written
from sordino.ledger.entry import ATTO, Entry
from sordino.ledger.terms import Amount, Caps, Share
from sordino.privacy.currency import Currency, Price


@dataclass(frozen=True, slots=True)
class Note:
    """When an entry was made, and, of a change of limits, by whom and why.

    Guarantee: none needed; public inputs only.
    """

    at: str
    by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants to be charged for: a price, of what plan, on which version of the data.

    Guarantee: none needed; public inputs only.
    """

    who: str
    price: int
    slack: int
    plan: str
    data: str


def opened(people: str, caps: Caps, note: Note) -> Entry:
    """Return the first entry of an id space.

    Guarantee: none needed; public inputs only.
    """
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
    """Return the entry that changes what may be spent in all, on one question, and by others.

    Guarantee: none needed; public inputs only.
    """
    fresh = opened(last.people, caps, note)
    return fresh._replace(
        number=last.number + 1,
        kind="limits",
        spent=last.spent,
        spent_slack=last.spent_slack,
        held=last.held,
        held_slack=last.held_slack,
    )


def shared(last: Entry, own: Entry | None, share: Share, note: Note) -> Entry:
    """Return the entry that changes what an analyst may spend and what is kept for them.

    Guarantee: none needed; public inputs only.
    """
    most, kept = share.most, share.kept
    draft = _of(last, own, share.who)._replace(
        kind="share",
        at=note.at,
        by=note.by,
        why=note.why,
        share=None if most is None else most.nanos,
        share_slack=None if most is None else most.slack,
        kept=kept.nanos,
        kept_slack=kept.slack,
    )
    before, after = _unspent(own), _unspent(draft)
    held = Amount(
        last.held - before.nanos + after.nanos, last.held_slack - before.slack + after.slack
    )
    if last.spent + held.nanos > last.cap or last.spent_slack + held.slack > last.cap_slack:
        raise LedgerError(
            f"so much cannot be kept for {share.who!r}: with what is spent and what is kept for "
            "others it is more than the budget; keep less, or raise the budget first"
        )
    return draft._replace(held=held.nanos, held_slack=held.slack)


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
    draft = _of(last, own, wanted.who)
    draft = draft._replace(
        kind="charge",
        at=note.at,
        price=wanted.price,
        price_slack=wanted.slack,
        plan=wanted.plan,
        data=wanted.data,
        spent=last.spent + wanted.price,
        spent_slack=last.spent_slack + wanted.slack,
        used=draft.used + wanted.price,
        used_slack=draft.used_slack + wanted.slack,
    )
    before, after = _unspent(own), _unspent(draft)
    return draft._replace(
        held=last.held - before.nanos + after.nanos,
        held_slack=last.held_slack - before.slack + after.slack,
    )


def answered(last: Entry, own: Entry | None, charge: Entry, body: str, note: Note) -> Entry:
    """Return the entry of the answer that a charge paid for.

    Guarantee: none needed; an answer is already private.
    """
    return _of(last, own, charge.who)._replace(
        kind="answer",
        at=note.at,
        plan=charge.plan,
        data=charge.data,
        charge=charge.number,
        body=body,
    )


def room(last: Entry, own: Entry | None) -> Amount:
    """Return the most that an analyst may still spend.

    Guarantee: none needed; it depends on what was spent alone.
    """
    unspent = _unspent(own)
    share, share_slack = last.others, last.others_slack
    if own is not None and own.share is not None:
        share, share_slack = own.share, own.share_slack
    used = Amount(0, 0) if own is None else Amount(own.used, own.used_slack)
    return Amount(
        _least(last.cap - last.spent - last.held + unspent.nanos, share, used.nanos),
        _least(
            last.cap_slack - last.spent_slack - last.held_slack + unspent.slack,
            share_slack,
            used.slack,
        ),
    )


def _least(left: int, share: int | None, used: int) -> int:
    return max(0, left if share is None else min(left, share - used))


def _check_fits(last: Entry, own: Entry | None, wanted: Wanted, currency: Currency) -> None:
    if wanted.price <= 0 or wanted.slack < 0:
        raise ValueError("a charge must be positive, because nothing is ever refunded")
    if last.most is not None and wanted.price > last.most:
        raise QuestionTooDear(str(Price(currency, wanted.price)), str(Price(currency, last.most)))
    left = room(last, own)
    if wanted.price > left.nanos:
        raise BudgetExceeded(
            str(Price(currency, wanted.price)),
            _whose(str(Price(currency, left.nanos)), last, left.nanos, wanted.who),
            currency.what_fits(left.nanos),
        )
    if wanted.slack > left.slack:
        raise BudgetExceeded(
            f"delta {written(Fraction(wanted.slack, ATTO))} to discover keys",
            f"delta {written(Fraction(left.slack, ATTO))}",
            "ask for declared keys, or with a smaller delta",
        )


def _whose(left: str, last: Entry, nanos: int, who: str) -> str:
    """Say what is left, and for whom, if it is less than what is left for all."""
    return left if nanos == last.cap - last.spent else f"{left} for {who!r}"


def _of(last: Entry, own: Entry | None, who: str) -> Entry:
    """Return an empty entry about an analyst that follows the last one."""
    return last._replace(
        number=last.number + 1,
        who=who,
        by="",
        why="",
        price=0,
        price_slack=0,
        plan="",
        data="",
        charge=0,
        body="",
        share=None if own is None else own.share,
        share_slack=None if own is None else own.share_slack,
        kept=0 if own is None else own.kept,
        kept_slack=0 if own is None else own.kept_slack,
        used=0 if own is None else own.used,
        used_slack=0 if own is None else own.used_slack,
        hash="",
    )


def _unspent(own: Entry | None) -> Amount:
    """Return what is kept for an analyst and not spent by them."""
    if own is None:
        return Amount(0, 0)
    return Amount(max(0, own.kept - own.used), max(0, own.kept_slack - own.used_slack))
