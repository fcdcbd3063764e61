# SPDX-License-Identifier: Apache-2.0
"""Protocols whose reports have a bit for each category: unary encoding and subset selection."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.domain import Codes
from sordino.local.protocol import Channel, Protocol
from sordino.local.randomizer import Counts, odds_of
from sordino.numbers.rational import Number
from sordino.randomness.coins import Coins, below_many
from sordino.randomness.entropy import Bits, system

Rows = npt.NDArray[np.bool_]

BITS_AT_ONCE = 1 << 22
_MAX_LISTED_WIDTH = 12
_MAX_LISTED_SETS = 1 << 14


class BitRows(Protocol):
    """A protocol whose report is a row with a bit for each category, eight in a byte."""

    @property
    def report_bits(self) -> int:
        """One for each category."""
        return len(self.domain)

    def draw(self, codes: Codes) -> npt.NDArray[Any]:
        """Return a row of bits for each code."""
        bits, wide = system(), len(self.domain)
        out = np.empty((codes.size, -(-wide // 8)), dtype=np.uint8)
        size = max(1, BITS_AT_ONCE // wide)
        for start in range(0, codes.size, size):
            drawn = self._rows(codes[start : start + size], bits)
            out[start : start + size] = np.packbits(drawn, axis=1)
        return out

    @abstractmethod
    def _rows(self, codes: Codes, bits: Bits) -> Rows:
        """Draw a row for each code."""

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether all rows have the right length, and nothing beyond their last bit."""
        wide = len(self.domain)
        if data.ndim != 2 or data.dtype != np.uint8 or data.shape[1] != -(-wide // 8):
            return False
        beyond = (1 << (-wide % 8)) - 1
        return not (data[:, -1] & np.uint8(beyond)).any()

    def tally(self, data: npt.NDArray[Any], counts: Counts) -> None:
        """Count, for each category, the bits that are 1."""
        size = max(1, min(255, BITS_AT_ONCE // counts.size))
        for start in range(0, len(data), size):  # so few rows that a byte can hold the count
            piece = np.unpackbits(data[start : start + size], axis=1, count=counts.size)
            counts += np.add.reduce(piece, axis=0, dtype=np.uint8)

    def fits(self, counts: Counts, people: int) -> bool:  # noqa: ARG002 - some can tell
        """Tell whether the reports of so many people can have these counts."""
        return True


class Unary(BitRows):
    """A bit for each category: 1 for the true one with the chance p, for each other one with q.

    ``optimised``, the default, has p = 1/2 and q = 1/(e^epsilon + 1), which is best for rare
    categories; otherwise p + q = 1, as in RAPPOR.

    >>> round(float(Unary(4, epsilon=1).variance()), 12)
    3.682694376831
    """

    def __init__(self, categories: object, *, epsilon: Number, optimised: bool = True) -> None:
        super().__init__(categories, epsilon=epsilon)
        self.optimised = optimised
        if optimised:
            self.truth, self.other = Fraction(1, 2), 1 / (self.odds + 1)
        else:
            root = odds_of(self.epsilon, root=2)
            self.truth, self.other = root / (root + 1), 1 / (root + 1)

    @property
    def words(self) -> str:
        """The name of the protocol in words."""
        return "optimised unary encoding" if self.optimised else "symmetric unary encoding"

    def _rows(self, codes: Codes, bits: Bits) -> Rows:
        wide = len(self.domain)
        drawn = Coins(self.other).many(codes.size * wide, bits).reshape(codes.size, wide)
        drawn[np.arange(codes.size), codes] = Coins(self.truth).many(codes.size, bits)
        return drawn

    def channel(self) -> Channel:
        """Return, for every row of bits, its chance given each category."""
        wide = len(self.domain)
        if wide > _MAX_LISTED_WIDTH:
            raise ValueError(
                f"all reports can be listed for at most {_MAX_LISTED_WIDTH} categories"
            )

        def chance(row: tuple[int, ...], category: int) -> Fraction:
            ones = (self.truth if x == category else self.other for x in range(wide))
            return Fraction(1) * prod(p if bit else 1 - p for bit, p in zip(row, ones, strict=True))

        rows = product((0, 1), repeat=wide)
        return {row: tuple(chance(row, x) for x in range(wide)) for row in rows}

    def _details(self) -> list[Any]:
        return [*super()._details(), self.optimised]


class Subset(BitRows):
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

    def _rows(self, codes: Codes, bits: Bits) -> Rows:
        holds = Coins(self.truth).many(codes.size, bits)
        drawn = _others(codes, self.size - holds, len(self.domain), bits)
        drawn[np.arange(codes.size), codes] = holds
        return drawn

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether all rows are sets of the right size."""
        if not super().accepts(data):
            return False
        sizes = np.bitwise_count(data).sum(axis=1, dtype=np.int64)
        return bool((sizes == self.size).all())

    def fits(self, counts: Counts, people: int) -> bool:
        """Tell whether there are as many members as the sets have."""
        return bool(sum(counts.tolist()) == self.size * people)

    def channel(self) -> Channel:
        """Return, for every set, its chance given each category."""
        wide, size = len(self.domain), self.size
        if comb(wide, size) > _MAX_LISTED_SETS:
            raise ValueError(f"all reports can be listed if there are at most {_MAX_LISTED_SETS}")
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


def _others(codes: Codes, sizes: npt.NDArray[np.int64], wide: int, bits: Bits) -> Rows:
    """Draw, for each code, a set of so many of the other categories, all such sets alike.

    Each category is first taken with one coin; that treats all of them alike, whatever the coin.
    Then one at a time, again treating all alike, is taken or left until the size is right.
    """
    rows = np.arange(codes.size)
    share = int(sizes.mean() / (wide - 1) * 256) if codes.size else 0
    words = np.empty((codes.size, wide), dtype=np.uint8)
    bits.fill(words)
    drawn: Rows = words < share
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
