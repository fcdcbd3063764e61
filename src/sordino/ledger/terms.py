# SPDX-License-Identifier: Apache-2.0
"""Terms: what the owner allows to be spent on the people of an id space, in whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from sordino.catalog.model import EVERYBODY, Analyst, Catalog, Purse
from sordino.ledger.entry import plain
from sordino.privacy.budget import Budget
from sordino.privacy.currency import ATTO, Price


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
