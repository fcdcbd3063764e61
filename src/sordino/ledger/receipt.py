# SPDX-License-Identifier: Apache-2.0
"""Receipts: what a ledger gives for a charge, and what it can later be held to."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from sordino.privacy.currency import Price

_WRITTEN = re.compile(r"(.+):([1-9][0-9]{0,17}):([0-9a-f]{64})")


class Receipt(NamedTuple):
    """Proof that a charge was made; an engine looks at data for nothing less.

    ``number`` is the place of the charge among the entries of its id space, and ``head`` the hash
    of the chain there. ``left`` and ``slack_left`` are what remains of the budget and of the delta
    for failures, for the one who was charged. ``plan`` and ``data`` say what was asked of which
    data.
    """

    people: str
    number: int
    head: str
    who: str
    price: Price
    slack: Fraction
    left: Price
    slack_left: Fraction
    plan: str = ""
    data: str = ""

    @property
    def seen(self) -> Seen:
        """What the ledger can be held to."""
        return Seen(self.people, self.number, self.head)


class Seen(NamedTuple):
    """An entry that somebody has seen: a ledger without it has been cut, exchanged or restored.

    >>> seen = Seen("people", 7, "ab" * 32)
    >>> str(seen)[:19], read_seen(str(seen)) == seen
    ('people:7:ababababab', True)
    """

    people: str
    number: int
    head: str

    def __str__(self) -> str:
        return f"{self.people}:{self.number}:{self.head}"


def read_seen(text: str) -> Seen:
    """Read what ``str`` of a Seen wrote."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"a receipt is written as people:number:hash, got {text[:100]!r}")
    return Seen(found[1], int(found[2]), found[3])
