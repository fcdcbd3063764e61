# SPDX-License-Identifier: Apache-2.0
"""The ledger: charged before anything is looked at, never overspent, never refunded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from time import time
from typing import NotRequired, TypedDict, Unpack, overload

from sordino.errors import AnsweredError, BudgetError, LedgerError, UnknownAnalyst
from sordino.ledger import rules
from sordino.ledger.chain import Anchor, Chain
from sordino.ledger.entry import Entry, Receipt, Seen, digest_with, plain, write_currency
from sordino.ledger.rules import NOTHING, Amount, Note, Share, Terms, Wanted, slack_up
from sordino.ledger.stores.protocol import Pages, Store
from sordino.privacy.currency import ATTO, Price
from sordino.privacy.loss import Loss

_LONGEST_NAME = 100
_AT_ONCE = 1_000  # entries that are read in one transaction
_PRICES = 256  # that are kept, because a plan may be asked again
_NO_SLACK = Fraction(0)
_OWNER = "owner"
_CLOSED = (
    "the share of all others, who get nothing now because analysts are named and '*' is not (an "
    'entry [analysts."*"] in the catalog lets everybody ask as before)'
)


def now() -> str:
    """Return the time in UTC, to the second."""
    return _written(int(time()))


@lru_cache(1)
def _written(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Purchase(TypedDict):
    """What is bought for a loss: a plan, on a version of the data, with a delta of its own."""

    slack: Fraction
    plan: str
    who: str
    data: NotRequired[str]


class Ledger:
    """Charges losses against the terms of id spaces and keeps the answers.

    ``charge`` is durable when it returns, and pays for one answer. ``record`` keeps that answer,
    and ``find`` gives it again for nothing. Entries are chained by hashes; a ledger that lacks an
    entry that was seen before, by this process, by the anchor or by whoever shows a receipt, has
    been cut or restored and is used no more.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: what is granted for the people of an id space keeps to their terms, in all processes
            together, also if every question was chosen after seeing the earlier answers.
        Numerics: sums of integers, prices and deltas rounded up.
        Proof: docs/proofs/queries.md, theorem 6, and docs/proofs/budgets.md, theorem 6.
    """

    def __init__(
        self,
        store: Store,
        terms: Mapping[str, Terms],
        *,
        key: bytes | None = None,
        anchor: Anchor | None = None,
        clock: Callable[[], str] = now,
    ) -> None:
        if store.keyed != (key is not None):
            raise LedgerError(
                "this ledger was made with a key; state its file"
                if store.keyed
                else "this ledger was made without a key; state none"
            )
        self.store = store
        self.terms = dict(terms)
        self.chain = Chain(store.identity, digest_with(key), anchor)
        self._clock = clock
        self._unchecked: set[str] = set()  # id spaces that were not opened when terms were checked
        self._compared: set[str] = set()  # id spaces whose terms were compared in a charge
        self._price = lru_cache(_PRICES)(
            lambda people, loss: self._terms(people).budget.price(loss)
        )
        with store.read() as pages:
            for people in {*self.terms, *pages.spaces(), *self.chain.anchored}:
                last = self.chain.last(pages, people)
                if last is not None:
                    self._check_used(pages, last)
                elif pages.currency(people) is not None:
                    raise LedgerError(
                        f"the ledger has lost all entries of {people!r}; put the newest copy back"
                    )

    def charge(
        self, people: str, loss: Loss, *, why: str = "", **purchase: Unpack[Purchase]
    ) -> Receipt:
        """Charge a loss and a slack together, durably, or raise BudgetExceeded and charge nothing.

        What a loss has of delta itself is added to the slack. ``why`` stands in the entry.
        """
        wanted = self._wanted(people, loss, **purchase)
        return self._charge_anew(plain(people), wanted, None, _text(why))

    def obtain(
        self,
        people: str,
        loss: Loss,
        *,
        readable: Callable[[bytes], bool],
        why: str = "",
        **purchase: Unpack[Purchase],
    ) -> Receipt | bytes:
        """Return the answer on record to the same question, or the receipt of what pays for one.

        That is the analyst's newest charge for the same plan on the same version of the data, if it
        has no answer yet and costs the same; only else is something charged, as ``charge`` does.
        An answer that is not ``readable`` is paid for again. However many processes ask at once,
        they are given the same receipt, and ``record`` takes one answer for it. ``why`` stands in
        the entry of a new charge.
        """
        wanted = self._wanted(people, loss, **purchase)
        return self._charge_anew(plain(people), wanted, readable, _text(why))

    def bought(
        self,
        people: str,
        loss: Loss,
        *,
        readable: Callable[[bytes], bool],
        **purchase: Unpack[Purchase],
    ) -> Receipt | bytes | None:
        """Return what ``obtain`` has without a new charge, or None where it would charge."""
        wanted = self._wanted(people, loss, **purchase)
        with self.store.read() as pages:
            self.chain.last(pages, people)
            return self._made(pages, plain(people), wanted, readable)

    def check_fits(self, people: str, loss: Loss, **purchase: Unpack[Purchase]) -> None:
        """Refuse what ``charge`` would refuse now; nothing is charged, and no row is looked at."""
        wanted, terms = self._wanted(people, loss, **purchase), self._terms(people)
        with self.store.read() as pages:
            self._charged(pages, self.chain.last(pages, people), wanted, terms, Note(""))

    def _wanted(
        self, people: str, loss: Loss, *, slack: Fraction, plan: str, who: str, data: str = ""
    ) -> Wanted:
        self._terms(people)
        who, plan, data = check_name(who), _text(plan), _text(data)
        price = self._price(plain(people), loss)
        deltas = slack_up(slack) + price.attos
        return Wanted(who, int(price.nanos), int(deltas), plan, data)

    @overload
    def _charge_anew(self, people: str, wanted: Wanted, readable: None, why: str) -> Receipt: ...

    @overload
    def _charge_anew(
        self, people: str, wanted: Wanted, readable: Callable[[bytes], bool], why: str
    ) -> Receipt | bytes: ...

    def _charge_anew(
        self, people: str, wanted: Wanted, readable: Callable[[bytes], bool] | None, why: str
    ) -> Receipt | bytes:
        """Charge what is wanted, unless ``readable`` is given and it was charged for before."""
        terms, note = self._terms(people), Note(self._clock(), why=why)
        known, own = self.chain.known(people, wanted.who)
        if readable is not None:
            with self.store.read() as pages:
                known = self.chain.last(pages, people)  # what is added at once must follow this one
                made = self._made(pages, people, wanted, readable)
            if made is not None:
                return made
        entry = self._charge_at_once(people, wanted, terms, note, known)
        if entry is None:
            if known is None or wanted.price > rules.room(known, own).nanos:
                with self.store.read() as pages:  # who is refused need not wait for writers
                    self._charged(pages, self.chain.last(pages, people), wanted, terms, note)
            if known is None:
                self._open_others(people)
            with self._writing(people) as pages:
                if readable is not None:
                    made = self._made(pages, people, wanted, readable)
                    if made is not None:  # somebody else was faster
                        return made
                last = self.chain.last(pages, people) or self._open(pages, people, terms)
                draft = self._charged(pages, last, wanted, terms, note)
                entry = self.chain.append(pages, draft, last)
            self._unchecked.discard(people)  # now that it is durable who has opened it
            self._compared.add(people)
        self.chain.saw(entry, self.store)
        return self._receipt(entry)

    def _made(
        self, pages: Pages, people: str, wanted: Wanted, readable: Callable[[bytes], bool]
    ) -> Receipt | bytes | None:
        """Return what there is already of what is wanted: an answer, or a charge without one."""
        who, price, slack, plan, data = wanted
        self._check_currency(pages, people, self._terms(people))
        answer = pages.answer_to(people, who, plan, data)
        if answer is not None:
            body = self._body(pages, answer)
            if readable(body):
                return body
        charge = pages.charge_for(people, who, plan, data)
        if charge is None or (charge.price, charge.price_slack) != (price, slack):
            return None
        if pages.answer_of(charge) is not None:
            return None
        self.chain.check_hash(pages, charge)
        return self._receipt(charge)

    def _receipt(self, charge: Entry) -> Receipt:
        currency, left = self._terms(charge.people).budget.currency, rules.room(charge, charge)
        return Receipt(
            charge.people,
            charge.number,
            charge.hash,
            charge.who,
            Price(currency, charge.price),
            _slack(charge.price_slack),
            Price(currency, left.nanos),
            _slack(left.slack),
            charge.plan,
            charge.data,
        )

    def record(self, receipt: Receipt, body: bytes) -> None:
        """Keep the answer of a charge, durably; a second one raises AnsweredError."""
        if not isinstance(body, bytes):
            raise TypeError(f"an answer is recorded as bytes, not as {type(body).__name__}")
        entry = self._record_at_once(receipt, body)
        if entry is None:
            people = receipt.people
            with self._writing(people) as pages:
                last = self.chain.last(pages, people)
                charge = self._charge_of(pages, last, receipt)
                if last is None or charge is None:
                    raise LedgerError("there is no charge that this receipt is for")
                paid = charge is not last and pages.answer_of(charge) is not None
                if charge.kind != "charge" or paid:
                    raise AnsweredError(
                        "a charge pays for one answer, and this one has been recorded"
                    )
                own = self.chain.own(pages, last, charge.who)
                draft = self._answered(last, own, charge, body)
                entry = self.chain.append(pages, draft, last, body)
        self.chain.saw(entry, self.store)

    def recorded(self, receipt: Receipt) -> bytes | None:
        """Return the answer of a charge, or None if none was recorded."""
        with self.store.read() as pages:
            charge = self._charge_of(pages, self.chain.last(pages, receipt.people), receipt)
            answer = None if charge is None else pages.answer_of(charge)
            return None if answer is None else self._body(pages, answer)

    def unanswered(self) -> list[Entry]:
        """Return the charges that have no answer, by id space and in their order."""
        with self.store.read() as pages:
            spaces = sorted(pages.spaces())
        return [charge for people in spaces for charge in self._unanswered(people)]

    def _unanswered(self, people: str) -> list[Entry]:
        """Return those of one id space, read part by part so that others may go on writing."""
        waiting: dict[int, Entry] = {}
        number = 1
        while True:
            with self.store.read() as pages:
                part = list(islice(pages.entries(people, number), _AT_ONCE))
            for entry in part:
                if entry.kind == "charge":
                    waiting[entry.number] = entry
                elif entry.kind == "answer":
                    waiting.pop(entry.charge, None)
            if len(part) < _AT_ONCE:
                return list(waiting.values())
            number += len(part)

    def receipt_for(self, charge: Entry) -> Receipt:
        """Return the receipt of a charge on record, as it was given when it was made."""
        with self.store.read() as pages:
            self.chain.last(pages, charge.people)
            entry = pages.entry(charge.people, charge.number)
            if entry is None or entry.kind != "charge" or entry.hash != charge.hash:
                raise LedgerError("there is no such charge on record")
            self.chain.check_hash(pages, entry)
        return self._receipt(entry)

    def find(self, people: str, *, who: str, plan: str, data: str) -> bytes | None:
        """Return the stored answer of an analyst to a plan on a version of the data, or None."""
        with self.store.read() as pages:
            self.chain.last(pages, people)
            answer = pages.answer_to(people, who, plan, data)
            return None if answer is None else self._body(pages, answer)

    def _body(self, pages: Pages, answer: Entry) -> bytes:
        """Return the bytes of an answer, or refuse what is not what was recorded."""
        body = pages.body(answer)
        self.chain.check_hash(pages, answer)
        if not isinstance(body, bytes) or hashlib.sha256(body).hexdigest() != answer.body:
            raise LedgerError(
                f"the answer to charge {answer.charge} of {answer.people!r} is not the one that "
                "was recorded; see 'sordino ledger verify'"
            )
        return body

    def _charge_of(self, pages: Pages, last: Entry | None, receipt: Receipt) -> Entry | None:
        charge = last
        if last is not None and last.number != receipt.number:
            charge = pages.entry(receipt.people, receipt.number)
        return charge if charge is not None and charge.hash == receipt.head else None

    def left(self, people: str, who: str) -> tuple[Price, Fraction]:
        """Return what an analyst may still spend: of the budget, and of the delta for failures."""
        terms = self._terms(people)
        with self.store.read() as pages:
            last = self.chain.last(pages, people)
            own = None if last is None else self.chain.own(pages, last, who)
            self._check_currency(pages, people, terms)
        if last is None:
            last, analysts = rules.declared(people, terms)
            own = analysts.get(who)
        left = rules.room(last, own)
        return terms.price(left.nanos), _slack(left.slack)

    def hold_to(self, seen: Seen) -> None:
        """Refuse to go on if an entry that somebody has seen is not there."""
        with self.store.read() as pages:
            self.chain.check(pages, seen)

    def heads(self) -> tuple[Seen, ...]:
        """Return the newest entry of every id space."""
        with self.store.read() as pages:
            found = [self.chain.last(pages, people) for people in sorted(pages.spaces())]
        return tuple(Seen(last.people, last.number, last.hash) for last in found if last)

    def check_terms(self) -> None:
        """Refuse terms that are not those on record."""
        with self.store.read() as pages:
            for people, terms in self.terms.items():
                last = self.chain.last(pages, people)
                if last is None:
                    self._check_new(pages, people)
                    self._unchecked.add(people)
                else:
                    self._check_limits(pages, last, terms)

    def amend(self, *, by: str, why: str) -> list[Entry]:
        """Put the terms on record as they are stated now: raised, lowered or shared out anew.

        Guarantee:
            Neighbours: one unit with all its rows, added or removed.
            Loss: from now on as the new terms say; what was spent stays spent.
            Numerics: integers.
            Proof: docs/proofs/queries.md, theorem 6.
        """
        by, why = _text(by), _text(why)
        if not by.strip() or not why.strip():
            raise ValueError("a change of limits needs a name and a reason")
        note, made = Note(self._clock(), by, why), []
        for people, terms in self.terms.items():
            with self._writing(people) as pages:
                last = self.chain.last(pages, people)
                if last is None:
                    added = open_space(self.chain, pages, people, terms, note)
                else:
                    self._check_currency(pages, people, terms)
                    added = amend_space(self.chain, pages, last, terms, note)
            for entry in added:
                self.chain.saw(entry, self.store)
            made += added
        return made

    def close(self) -> None:
        """Let go of files and connections."""
        self.store.close()
        self.chain.close()

    def _writing(self, people: str) -> AbstractContextManager[Pages]:
        self.chain.ready()
        return self.store.write(people)

    # If the newest entry that this process knows is about the same analyst, the next one follows
    # from it alone, and the store adds it by one statement if that one is still the newest, which
    # is what a transaction would look at. Where more has to be looked at, or others were faster,
    # these two return None, and nothing was added. An answer by transactions alone takes a fifth
    # more of the time beside its syncs, of which ``make bench`` allows 0.15 ms.

    def _charge_at_once(
        self, people: str, wanted: Wanted, terms: Terms, note: Note, last: Entry | None
    ) -> Entry | None:
        if last is None or last.who != wanted.who or people not in self._compared:
            return None
        try:
            draft = rules.charged(last, last, wanted, terms.budget.currency, note)
        except BudgetError:  # the limits may have been raised meanwhile
            return None
        return self.chain.follow(self.store, draft, last)

    def _record_at_once(self, receipt: Receipt, body: bytes) -> Entry | None:
        last, _ = self.chain.known(receipt.people, receipt.who)
        if last is None or (last.number, last.hash) != (receipt.number, receipt.head):
            return None
        if last.kind != "charge":
            return None
        draft = self._answered(last, last, last, body)
        return self.chain.follow(self.store, draft, last, body)

    def _answered(self, last: Entry, own: Entry | None, charge: Entry, body: bytes) -> Entry:
        told = hashlib.sha256(body).hexdigest()
        return rules.answered(last, own, charge, told, Note(self._clock()))

    def _charged(
        self, pages: Pages, last: Entry | None, wanted: Wanted, terms: Terms, note: Note
    ) -> Entry:
        if last is None:
            last, analysts = rules.declared("", terms)
            own = analysts.get(wanted.who)
        else:
            self._check_currency(pages, last.people, terms)
            if last.people in self._unchecked:  # somebody else has opened it meanwhile
                self._check_limits(pages, last, terms)
            own = self.chain.own(pages, last, wanted.who)
        if last.others == 0 and (own is None or own.share is None):
            raise UnknownAnalyst(wanted.who, tuple(share.who for share in terms.shares))
        return rules.charged(last, own, wanted, terms.budget.currency, note)

    def _open(self, pages: Pages, people: str, terms: Terms) -> Entry:
        self._check_new(pages, people)
        note = Note(self._clock(), _OWNER, "as declared in the catalog")
        return open_space(self.chain, pages, people, terms, note)[-1]

    def _open_others(self, people: str) -> None:
        """Open what else is declared with the first charge; what is declared later is new then."""
        for other, terms in sorted(self.terms.items()):
            if other != people:
                with self._writing(other) as pages:
                    opened = self.chain.last(pages, other)
                    entry = opened or self._open(pages, other, terms)
                if opened is None:
                    self._unchecked.discard(other)
                    self.chain.saw(entry, self.store)

    def _check_new(self, pages: Pages, people: str) -> None:
        """Refuse an id space that the ledger does not know, once something was spent on others.

        It would begin with a full budget, and may be one that was renamed.
        """
        for other in sorted(pages.spaces()):
            last = self.chain.last(pages, other)
            if last is not None and last.spent:
                raise LedgerError(
                    f"the ledger does not know the people {people!r}, and counts what was spent on "
                    f"{other!r}: another name begins with a full budget; set the name back in the "
                    "catalog, or put the new one on record with 'sordino ledger amend' (a ledger "
                    "of version 0.1 knows an id space only once it was charged, so one that was "
                    "declared then and never asked about is new to it)"
                )

    def _check_used(self, pages: Pages, last: Entry) -> None:
        """Refuse a ledger that has lost sight of what an analyst has used.

        Each of their newest entries has the right hash, so it can only be too old and its sum too
        small; if the sums add up, none of them is.
        """
        found = (self.chain.own(pages, last, who) for who in pages.analysts(last.people))
        own = [entry for entry in found if entry is not None]
        used = sum(entry.used for entry in own), sum(entry.used_slack for entry in own)
        if used != (last.spent, last.spent_slack):
            raise LedgerError(
                f"what the analysts have used does not add up to what is spent on {last.people!r}: "
                "the ledger was changed or damaged; see 'sordino ledger verify'"
            )

    def _terms(self, people: str) -> Terms:
        try:
            return self.terms[people]
        except KeyError:
            raise LedgerError(f"no budget is declared for {people!r}") from None

    def _check_limits(self, pages: Pages, last: Entry, terms: Terms) -> None:
        self._check_currency(pages, last.people, terms)
        found = differences(pages, last, terms)
        if found:
            raise LedgerError(
                f"the catalog and the ledger differ on the limits of {last.people!r}: "
                f"{', '.join(found)}; set them back in the catalog, or put the change on record "
                "with 'sordino ledger amend'"
            )

    def _check_currency(self, pages: Pages, people: str, terms: Terms) -> None:
        counted = self.chain.currency(pages, people)
        stated = write_currency(terms.budget.currency)
        if counted not in ("", stated):
            raise LedgerError(
                f"the ledger counts {counted} for {people!r} and the catalog {stated}; that is "
                "fixed when an id space is opened: state the budget as it was"
            )


def _slack(parts: int) -> Fraction:
    return Fraction(parts, ATTO) if parts else _NO_SLACK


def _text(text: str) -> str:
    """Return a text as plain text, or refuse what a store could not keep as it is."""
    if not isinstance(text, str):
        raise TypeError(f"this must be text, got {type(text).__name__}")
    if not text.isprintable() and not text.replace("\n", "").isprintable():
        raise ValueError(f"this must be printable text, got {text[:100]!r}")
    return plain(text)


def check_name(who: str) -> str:
    """Return the name of an analyst as plain text, if it can be one."""
    good = isinstance(who, str) and who.strip() == who and who.isprintable()
    if not good or not 0 < len(who) <= _LONGEST_NAME:
        raise ValueError(f"an analyst has a name of 1 to {_LONGEST_NAME} letters, got {who!r}")
    return plain(who)


def open_space(chain: Chain, pages: Pages, people: str, terms: Terms, note: Note) -> list[Entry]:
    """Begin an id space: its limits, and a share for each analyst that has one."""
    pages.add_space(people, write_currency(terms.budget.currency))
    made = [chain.append(pages, rules.opened(people, terms.caps, note), None)]
    return made + _share_out(chain, pages, made[0], terms, note)


def amend_space(chain: Chain, pages: Pages, last: Entry, terms: Terms, note: Note) -> list[Entry]:
    """Add the entries that make the ledger state the same limits as the terms; maybe none."""
    made = []
    if last.limits != rules.opened(last.people, terms.caps, note).limits:
        last = chain.append(pages, rules.limited(last, terms.caps, note), last)
        made.append(last)
    return made + _share_out(chain, pages, last, terms, note)


def differences(pages: Pages, last: Entry, terms: Terms) -> list[str]:
    """Say which limits the ledger and the terms state differently."""
    stated = rules.opened(last.people, terms.caps, Note(""))
    found = []
    if (last.cap, last.cap_slack) != (stated.cap, stated.cap_slack):
        found.append(f"{terms.price(last.cap)} on record and {terms.price(stated.cap)} stated")
    if last.most != stated.most:
        found.append("the most for one question")
    if (last.others, last.others_slack) != (stated.others, stated.others_slack):
        closed = last.others is None and terms.caps.others == NOTHING
        found.append(_CLOSED if closed else "the share of all others")
    changed = _changed(pages, last, terms)
    return found + [f"the share of {share.who!r}" for _, share in changed]


def _share_out(chain: Chain, pages: Pages, last: Entry, terms: Terms, note: Note) -> list[Entry]:
    made = []
    changed = _changed(pages, last, terms)
    lowered = [
        Share(share.who, share.most, _lower(own, share))
        for own, share in changed
        if _lower(own, share) != _on_record(share.who, own).kept
    ]
    for share in lowered + [share for _, share in changed]:  # what frees something goes first
        own = pages.last_of(last.people, share.who)
        if _on_record(share.who, own) != share:
            last = chain.append(pages, rules.shared(last, own, share, note), last)
            made.append(last)
    return made


def _changed(pages: Pages, last: Entry, terms: Terms) -> list[tuple[Entry | None, Share]]:
    """Return the shares that have changed, with what is on record."""
    stated = {share.who: share for share in terms.shares}
    found = []
    for who in dict.fromkeys([*stated, *pages.analysts(last.people)]):
        share, own = stated.get(who, Share(who, None, NOTHING)), pages.last_of(last.people, who)
        if _on_record(who, own) != share:
            found.append((own, share))
    return found


def _lower(own: Entry | None, share: Share) -> Amount:
    """Return what is kept before and after, whichever is less."""
    before = _on_record(share.who, own).kept
    return Amount(min(before.nanos, share.kept.nanos), min(before.slack, share.kept.slack))


def _on_record(who: str, own: Entry | None) -> Share:
    if own is None:
        return Share(who, None, NOTHING)
    most = None if own.share is None else Amount(own.share, own.share_slack or 0)
    return Share(who, most, Amount(own.kept, own.kept_slack))
