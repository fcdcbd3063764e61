# SPDX-License-Identifier: Apache-2.0
"""Subset selection: a set of categories, in which the true one is likelier than it should be."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.counting import Counts
from sordino.local.domain import Codes
from sordino.local.protocol import Channel, Protocol
from sordino.local.unary import are_rows, tally_rows
from sordino.numbers.rational import Number
from sordino.randomness.coins import Coins, below_many
from sordino.randomness.entropy import Bits, system

_AT_ONCE = 1 << 22  # places that are drawn together
_MOST_LISTED = 1 << 14  # reports


class Subset(Protocol):
    """A set of d of the k categories: each set with the true one has odds e^epsilon against others.

    d is the whole number for which the error is least, about k / (e^epsilon + 1). No other
    protocol here has a smaller error; reports have a bit for each category.

    >>> protocol = Subset(100, epsilon=1)
    >>> protocol.size, round(float(protocol.variance()), 4)
    (27, 3.5896)
    """

    words = "subset selection"

    def __init__(self, categories: object, *, epsilon: Number) -> None:
        super().__init__(categories, epsilon=epsilon)
        near = int(len(self.domain) / (self.odds + 1))
        sizes = {min(max(size, 1), len(self.domain) - 1) for size in (near, near + 1)}
        self.size = min(sizes, key=self._error)
        self.truth, self.other = self._chances(self.size)

    @property
    def report_bits(self) -> int:
        """One for each category."""
        return len(self.domain)

    @property
    def cells(self) -> int:
        """One for each category."""
        return len(self.domain)

    def draw(self, codes: Codes) -> npt.NDArray[Any]:
        """Return a row of bits for each code, eight in a byte."""
        bits, wide = system(), len(self.domain)
        out = np.empty((codes.size, -(-wide // 8)), dtype=np.uint8)
        holds = Coins(self.truth).many(codes.size, bits)
        rows = max(1, _AT_ONCE // wide)
        for start in range(0, codes.size, rows):
            piece = slice(start, start + rows)
            drawn = _others(codes[piece], self.size - holds[piece], wide, bits)
            drawn[np.arange(len(drawn)), codes[piece]] = holds[piece]
            out[piece] = np.packbits(drawn, axis=1)
        return out

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether all rows are sets of the right size."""
        if not are_rows(data, len(self.domain)):
            return False
        sizes = np.bitwise_count(data).sum(axis=1, dtype=np.int64)
        return bool((sizes == self.size).all())

    def tally(self, data: npt.NDArray[Any], counts: Counts) -> None:
        """Count the sets that hold each category."""
        tally_rows(data, counts)

    def fits(self, counts: Counts, people: int) -> bool:
        """Tell whether there are as many members as the sets have."""
        return bool(sum(counts.tolist()) == self.size * people)

    def channel(self) -> Channel:
        """Return, for every set, its chance given each category."""
        wide, size = len(self.domain), self.size
        if comb(wide, size) > _MOST_LISTED:
            raise ValueError(f"all reports can be listed if there are at most {_MOST_LISTED}")
        inside = self.truth / comb(wide - 1, size - 1)
        outside = (1 - self.truth) / comb(wide - 1, size)
        return {
            chosen: tuple(inside if x in chosen else outside for x in range(wide))
            for chosen in combinations(range(wide), size)
        }

    def _chances(self, size: int) -> tuple[Fraction, Fraction]:
        """Return the chances that a set of a size holds the true category, and another one."""
        wide = len(self.domain)
        truth = self.odds * size / (self.odds * size + wide - size)
        return truth, (size - truth) / (wide - 1)

    def _error(self, size: int) -> Fraction:
        truth, other = self._chances(size)
        own, others = truth * (1 - truth), other * (1 - other)
        return (own + (len(self.domain) - 1) * others) / (truth - other) ** 2


def _others(
    codes: Codes, sizes: npt.NDArray[np.int64], wide: int, bits: Bits
) -> npt.NDArray[np.bool_]:
    """Draw, for each code, a set of so many of the other categories, all such sets alike.

    Each category is first taken with one coin; that treats all of them alike, whatever the coin.
    Then one at a time, again treating all alike, is taken or left until the size is right.
    """
    rows = np.arange(codes.size)
    share = int(sizes.mean() / (wide - 1) * 256) if codes.size else 0
    words = np.empty((codes.size, wide), dtype=np.uint8)
    bits.fill(words)
    drawn: npt.NDArray[np.bool_] = words < share
    drawn[rows, codes] = False
    excess = np.add.reduce(drawn, axis=1, dtype=np.int64) - sizes
    while (active := np.flatnonzero(excess)).size:
        place = below_many(wide - 1, active.size, bits)
        place += place >= codes[active]
        taken = drawn[active, place]
        fits = taken == (excess[active] > 0)
        chosen = active[fits]
        drawn[chosen, place[fits]] = ~taken[fits]
        excess[chosen] -= np.sign(excess[chosen])
    return drawn
