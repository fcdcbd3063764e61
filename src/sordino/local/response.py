# SPDX-License-Identifier: Apache-2.0
"""Randomized response: the true category with some odds, else any other one."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.domain import Codes
from sordino.local.protocol import Channel, Protocol
from sordino.local.randomizer import number_of
from sordino.numbers.rational import Integer, Number
from sordino.privacy import losses
from sordino.privacy.loss import Loss
from sordino.randomness.coins import Coins, Finite, below_many
from sordino.randomness.entropy import system
from sordino.randomness.tables import BLOCK, Scratch, Table

MAX_TABULATED = 1 << 12  # Categories; for more a coin is tossed first.


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
        if len(self.domain) > MAX_TABULATED:
            out[:] = respond(codes, self.odds, len(self.domain))
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

    def channel(self) -> Channel:
        """Return, for every category that may be reported, its chance given each category."""
        codes = range(len(self.domain))
        return {y: tuple(self.truth if x == y else self.other for x in codes) for y in codes}

    @cached_property
    def _table(self) -> Table:
        """The law of how far a report is from the truth, counted round the circle of codes."""
        own, other = self.odds.numerator, self.odds.denominator
        return Table(Finite((own, *[other] * (len(self.domain) - 1))))


def respond(codes: Codes, odds: Fraction, categories: int) -> Codes:
    """Return each code with these odds against each other one, else another one."""
    bits = system()
    moves = Coins((categories - 1) / (odds + categories - 1)).many(codes.size, bits)
    steps = below_many(categories - 1, int(moves.sum()), bits) + 1
    moved = codes.copy()
    moved[moves] = (codes[moves] + steps) % categories
    return moved
