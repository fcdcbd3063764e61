# SPDX-License-Identifier: Apache-2.0
"""Unary encoding: one bit for each category, each bit told with a coin of its own."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.counting import Counts
from sordino.local.domain import Codes
from sordino.local.protocol import Channel, Protocol
from sordino.local.randomizer import odds_of
from sordino.numbers.rational import Number
from sordino.randomness.coins import Coins
from sordino.randomness.entropy import system

_AT_ONCE = 1 << 22  # bits that are drawn together
_MOST_LISTED = 12  # categories of which all reports are listed


class Unary(Protocol):
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
        own, other = Coins(self.truth), Coins(self.other)
        rows = max(1, _AT_ONCE // wide)
        for start in range(0, codes.size, rows):
            piece = codes[start : start + rows]
            drawn = other.many(piece.size * wide, bits).reshape(piece.size, wide)
            drawn[np.arange(piece.size), piece] = own.many(piece.size, bits)
            out[start : start + rows] = np.packbits(drawn, axis=1)
        return out

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether all rows have the right length, and nothing beyond their last bit."""
        return are_rows(data, len(self.domain))

    def tally(self, data: npt.NDArray[Any], counts: Counts) -> None:
        """Count, for each category, the bits that are 1."""
        tally_rows(data, counts)

    def channel(self) -> Channel:
        """Return, for every row of bits, its chance given each category."""
        wide = len(self.domain)
        if wide > _MOST_LISTED:
            raise ValueError(f"all reports can be listed for at most {_MOST_LISTED} categories")

        def chance(row: tuple[int, ...], category: int) -> Fraction:
            ones = (self.truth if x == category else self.other for x in range(wide))
            return Fraction(1) * prod(p if bit else 1 - p for bit, p in zip(row, ones, strict=True))

        rows = product((0, 1), repeat=wide)
        return {row: tuple(chance(row, x) for x in range(wide)) for row in rows}

    def _details(self) -> list[Any]:
        return [*super()._details(), self.optimised]


def are_rows(data: npt.NDArray[Any], wide: int) -> bool:
    """Tell whether an array holds rows of so many bits, eight in a byte, with zeros after them."""
    if data.ndim != 2 or data.dtype != np.uint8 or data.shape[1] != -(-wide // 8):
        return False
    beyond = (1 << (-wide % 8)) - 1
    return not (data[:, -1] & np.uint8(beyond)).any()


def tally_rows(data: npt.NDArray[Any], counts: Counts) -> None:
    """Count the ones in each column of rows of bits."""
    rows = max(1, min(255, _AT_ONCE // counts.size))
    for start in range(0, len(data), rows):  # so few rows that a byte can hold the count
        piece = np.unpackbits(data[start : start + rows], axis=1, count=counts.size)
        counts += np.add.reduce(piece, axis=0, dtype=np.uint8)
