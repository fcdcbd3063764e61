# SPDX-License-Identifier: Apache-2.0
"""Randomized response: the true category with some odds, else any other one."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.counting import Counts
from sordino.local.domain import Codes
from sordino.local.protocol import Channel, Protocol
from sordino.numbers.rational import Integer, Number
from sordino.privacy import losses
from sordino.privacy.loss import Loss
from sordino.randomness.coins import Coins, Finite, below_many
from sordino.randomness.entropy import system
from sordino.randomness.tables import BLOCK, Scratch, Table

_LARGEST_TABLE = 1 << 12  # categories; for more a coin is tossed first


class Response(Protocol):
    """k-ary randomized response; with two categories it is Warner's.

    A report is a category: that of the person with odds e^epsilon against each other one. It is
    the best there is for few categories or a large epsilon.

    >>> protocol = Response(["no", "yes"], epsilon=1)
    >>> round(float(protocol.truth), 11), round(float(protocol.variance()), 14)
    (0.73105857863, 0.92067359420779)
    """

    words = "randomized response"

    def __init__(self, categories: object, *, epsilon: Number) -> None:
        super().__init__(categories, epsilon=epsilon)
        whole = self.odds + len(self.domain) - 1
        self.truth, self.other = self.odds / whole, 1 / whole

    @property
    def report_bits(self) -> int:
        """As many as it takes to name a category."""
        return (len(self.domain) - 1).bit_length()

    @property
    def cells(self) -> int:
        """One for each category."""
        return len(self.domain)

    @property
    def loss(self) -> Loss:
        """That of randomized response with so many categories."""
        return losses.randomized_response(epsilon=self.epsilon, categories=len(self.domain))

    def shuffled(self, people: Integer) -> Loss:
        """Return what is revealed if a shuffler takes names and order away from all reports.

        Guarantee:
            Neighbours: one person's value replaced by another; how many people there are is public.
            Loss: as for losses.shuffled_response with two categories, else for losses.shuffled.
            Numerics: the same.
            Proof: docs/proofs/shuffling.md, theorems 2 and 4.
        """
        kind = losses.shuffled_response if len(self.domain) == 2 else losses.shuffled
        return kind(epsilon=self.epsilon, people=people)

    def draw(self, codes: Codes) -> npt.NDArray[Any]:
        """Return a category for each code: how far it is from the code does not depend on it."""
        out = np.empty(codes.size, dtype=number_of(len(self.domain)))
        if len(self.domain) > _LARGEST_TABLE:
            out[:] = self._moved(codes)
            return out
        bits, scratch = system(), Scratch(min(codes.size, BLOCK))
        size = np.uint16(len(self.domain))
        moved, turned = (np.empty(scratch.size, dtype=np.uint16) for _ in range(2))
        for start in range(0, codes.size, BLOCK):
            piece = codes[start : start + BLOCK]
            if piece.size != scratch.size:
                scratch = Scratch(piece.size)
                moved, turned = moved[: piece.size], turned[: piece.size]
            steps, _ = self._table.draw(scratch, bits)
            np.copyto(moved, piece, casting="unsafe")
            moved += steps.view(np.uint16)
            np.subtract(moved, size, out=turned)  # what is below zero wraps round to a large number
            np.minimum(moved, turned, out=moved)
            np.copyto(out[start : start + BLOCK], moved, casting="unsafe")
        return out

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether all reports are categories."""
        return is_below(data, len(self.domain))

    def tally(self, data: npt.NDArray[Any], counts: Counts) -> None:
        """Count how often each category was reported."""
        tally_numbers(data, counts)

    def fits(self, counts: Counts, people: int) -> bool:
        """Tell whether there is one report for each person."""
        return bool(sum(counts.tolist()) == people)

    def channel(self) -> Channel:
        """Return, for every category that may be reported, its chance given each category."""
        codes = range(len(self.domain))
        return {y: tuple(self.truth if x == y else self.other for x in codes) for y in codes}

    @cached_property
    def _table(self) -> Table:
        """The law of how far a report is from the truth, counted round the circle of codes."""
        own, other = self.odds.numerator, self.odds.denominator
        return Table(Finite((own, *[other] * (len(self.domain) - 1))))

    def _moved(self, codes: Codes) -> Codes:
        bits, size = system(), len(self.domain)
        moves = Coins(Fraction(1) - self.truth).many(codes.size, bits)
        moved = codes.copy()
        steps = below_many(size - 1, int(moves.sum()), bits) + 1
        moved[moves] = (codes[moves] + steps) % size
        return moved


def number_of(bound: int) -> np.dtype[Any]:
    """Return the narrowest unsigned type for numbers below a bound."""
    return np.min_scalar_type(bound - 1)


def is_below(data: npt.NDArray[Any], bound: int) -> bool:
    """Tell whether an array is a column of the numbers below a bound in their narrowest type."""
    kind = number_of(bound)
    fits = data.ndim == 1 and data.dtype.kind == "u" and data.dtype.itemsize == kind.itemsize
    if not fits or data.size == 0 or bound > np.iinfo(kind).max:
        return fits
    return int(data.max()) < bound


def tally_numbers(data: npt.NDArray[Any], counts: Counts) -> None:
    """Count how often each number occurs, in pieces that stay in the processor's cache."""
    for start in range(0, data.size, BLOCK):
        counts += np.bincount(data[start : start + BLOCK], minlength=counts.size)
