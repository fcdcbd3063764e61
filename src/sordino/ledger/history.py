# SPDX-License-Identifier: Apache-2.0
"""What a ledger tells to whoever reads it: its entries, and how every id space stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from sordino.ledger import rules
from sordino.ledger.entry import Entry, read_currency
from sordino.ledger.ledger import Ledger
from sordino.ledger.left import Budgets, Left
from sordino.privacy.currency import ATTO, Currency, Price

_AT_ONCE = 1_000  # entries


@dataclass(frozen=True, slots=True)
class Sum:
    """An amount of the budget, and one of the delta for discovering keys."""

    price: Price
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Part:
    """How one analyst stands: what they have spent, may spend, and may still spend.

    ``most`` is None if they have no limit of their own, and ``kept`` is what nobody else may spend.
    """

    who: str
    spent: Sum
    left: Sum
    most: Sum | None
    kept: Sum


@dataclass(frozen=True, slots=True)
class Standing:
    """How an id space stands, by the limits on record, or by those declared if it is new.

    ``held`` is kept for analysts who have not spent it, ``question`` the most for one question, and
    ``others`` what an analyst without a share may spend.
    """

    people: str
    cap: Sum
    spent: Sum
    held: Sum
    question: Price | None
    others: Sum | None
    parts: tuple[Part, ...]

    @property
    def left(self) -> Sum:
        """What may still be spent by all together."""
        nanos = max(0, self.cap.price.nanos - self.spent.price.nanos)
        delta = max(Fraction(0), self.cap.delta - self.spent.delta)
        return Sum(Price(self.cap.price.currency, nanos), delta)

    def part(self, who: str) -> Part | None:
        """Return how an analyst stands, or None if neither named nor charged before."""
        return next((part for part in self.parts if part.who == who), None)


def entries(
    ledger: Ledger, *, people: str | None = None, who: str | None = None, last: int | None = None
) -> Iterator[Entry]:
    """Return entries by id space and in their order; of each id space at most the ``last`` ones.

    They are those there are at the beginning. They are read part by part, so that others may go on
    writing, and nothing that was read can change meanwhile.
    """
    for space in currencies(ledger):
        if people in (None, space):
            end = _newest(ledger, space)
            if last is None:
                yield from _from(ledger, space, 1, end, who)
            else:
                yield from _last(ledger, space, end, who, last)


def with_answers(ledger: Ledger) -> Iterator[tuple[Entry, bytes | None]]:
    """Return all entries, each with the bytes of the answer that it speaks of."""
    for entry in entries(ledger):
        if entry.kind != "answer":
            yield entry, None
            continue
        with ledger.store.read() as pages:
            body = pages.body(entry)
        yield entry, body


def currencies(ledger: Ledger) -> dict[str, Currency]:
    """Return what each id space of a ledger counts in, sorted by name."""
    with ledger.store.read() as pages:
        return {people: read_currency(kept) for people, kept in sorted(pages.spaces().items())}


def standing(ledger: Ledger, *, who: str | None = None) -> tuple[Standing, ...]:
    """Return how every id space stands, sorted by name; ``who`` is listed in any case."""
    found = []
    with ledger.store.read() as pages:
        spaces = pages.spaces()
        for people in sorted({*spaces, *ledger.terms}):
            last, terms = ledger.chain.last(pages, people), ledger.terms.get(people)
            if last is not None:
                own = {name: pages.last_of(people, name) for name in pages.analysts(people)}
                found.append(_standing(last, own, read_currency(spaces[people]), who))
            elif terms is not None:
                last, begun = rules.declared(people, terms)
                found.append(_standing(last, begun, terms.budget.currency, who))
    return tuple(found)


def _newest(ledger: Ledger, people: str) -> int:
    with ledger.store.read() as pages:
        last = ledger.chain.last(pages, people)
    return 0 if last is None else last.number


def _from(ledger: Ledger, people: str, first: int, end: int, who: str | None) -> Iterator[Entry]:
    while first <= end:
        many = min(_AT_ONCE, end - first + 1)
        with ledger.store.read() as pages:
            part = list(islice(pages.entries(people, first), many))
        yield from (entry for entry in part if who in (None, entry.who))
        first += many


def _last(ledger: Ledger, people: str, end: int, who: str | None, last: int) -> list[Entry]:
    found: list[Entry] = []
    while end and len(found) < last:
        first = max(1, end - _AT_ONCE + 1)
        found = [*_from(ledger, people, first, end, who), *found]
        end = first - 1
    return found[len(found) - min(last, len(found)) :]


def _standing(
    last: Entry, own: Mapping[str, Entry | None], currency: Currency, who: str | None
) -> Standing:
    def amount(nanos: int, slack: int) -> Sum:
        return Sum(Price(currency, nanos), Fraction(slack, ATTO))

    def limit(nanos: int | None, slack: int | None) -> Sum | None:
        return None if nanos is None else amount(nanos, slack or 0)

    def part(name: str) -> Part:
        about = own.get(name)
        room = rules.room(last, about)
        share = limit(last.others, last.others_slack)
        if about is None:
            nothing = amount(0, 0)
            return Part(name, nothing, amount(room.nanos, room.slack), share, nothing)
        return Part(
            who=name,
            spent=amount(about.used, about.used_slack),
            left=amount(room.nanos, room.slack),
            most=limit(about.share, about.share_slack) or share,
            kept=amount(about.kept, about.kept_slack),
        )

    names = {*own, who} - {None}
    return Standing(
        people=last.people,
        cap=amount(last.cap, last.cap_slack),
        spent=amount(last.spent, last.spent_slack),
        held=amount(last.held, last.held_slack),
        question=None if last.most is None else Price(currency, last.most),
        others=limit(last.others, last.others_slack),
        parts=tuple(part(name) for name in sorted(name for name in names if name)),
    )


def left_of(ledger: Ledger, spaces: Iterable[str], who: str) -> Budgets:
    """Return what is left of the budgets of id spaces, for an analyst and in all."""
    stands = {one.people: one for one in standing(ledger, who=who)}
    found = []
    for people in spaces:
        one = stands[people]
        own = one.part(who)
        left = one.left if own is None else own.left
        found.append(
            Left(people, who, left.price, left.delta, one.left.price, one.cap.price, one.question)
        )
    return Budgets(found)
