# SPDX-License-Identifier: Apache-2.0
"""Hadamard response: a number that has an even overlap with the code of the category."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.domain import Codes
from sordino.local.protocol import Channel, Protocol
from sordino.local.randomizer import Counts, number_of
from sordino.numbers.rational import Number
from sordino.randomness.coins import Coins, below_many
from sordino.randomness.entropy import system


class Hadamard(Protocol):
    """A number below K, the least power of 2 above k: it shares an even number of bits with c.

    Here c, from 1 to k, stands for the category. Half of all numbers do; one of them is reported
    with odds e^epsilon against the other half. Reports are as short as those of randomized
    response, and the error does not grow with the number of categories.

    >>> protocol = Hadamard(100, epsilon=1)
    >>> protocol.report_bits, round(float(protocol.variance()), 6)
    (7, 4.682694)
    """

    words = "Hadamard response"

    def __init__(self, categories: object, *, epsilon: Number) -> None:
        super().__init__(categories, epsilon=epsilon)
        self.truth, self.other = self.odds / (self.odds + 1), Fraction(1, 2)

    @property
    def report_bits(self) -> int:
        """As many as it takes to write k."""
        return len(self.domain).bit_length()

    @property
    def cells(self) -> int:
        """One for each number."""
        return 1 << self.report_bits

    def draw(self, codes: Codes) -> npt.NDArray[Any]:
        """Return a number for each code: any one, with its lowest common bit set to rights."""
        bits = system()
        marks = codes + 1
        drawn = below_many(self.cells, codes.size, bits)
        odd = Coins(1 - self.truth).many(codes.size, bits)
        wrong = (np.bitwise_count(drawn & marks) & 1) != odd
        drawn[wrong] ^= (marks & -marks)[wrong]
        return drawn.astype(number_of(self.cells))

    def supports(self, counts: Counts, people: int) -> Counts:
        """Return, for each category, how many numbers share an even number of bits with it."""
        signed = transformed(counts)
        return (people + signed[1 : len(self.domain) + 1]) // 2

    def channel(self) -> Channel:
        """Return, for every number, its chance given each category."""
        half = self.cells // 2

        def chance(number: int, mark: int) -> Fraction:
            even = (number & mark).bit_count() % 2 == 0
            return (self.truth if even else 1 - self.truth) / half

        marks = range(1, len(self.domain) + 1)
        return {y: tuple(chance(y, mark) for mark in marks) for y in range(self.cells)}


def transformed(counts: Counts) -> Counts:
    """Return the Walsh-Hadamard transform of whole numbers, which are a power of 2 in number."""
    transform, size = counts.copy(), 1
    while size < transform.size:
        first, second = transform.reshape(-1, 2, size).swapaxes(0, 1)
        transform = np.stack([first + second, first - second], axis=1).ravel()
        size *= 2
    return transform
