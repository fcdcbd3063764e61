# SPDX-License-Identifier: Apache-2.0
"""What every protocol has: an epsilon, a loss, a fingerprint, and clients that randomize."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy.typing as npt

from sordino.local.reports import Reports
from sordino.numbers.interval import exp_neg
from sordino.numbers.rational import Integer, Number, positive, positive_whole, written
from sordino.privacy import losses
from sordino.privacy.loss import Loss

SMALLEST, LARGEST = Fraction(1, 1 << 20), Fraction(40)
_PLACES = 64  # of odds minus 1: the loss that is given away is below 2**-62 of epsilon


def read_epsilon(value: object) -> Fraction:
    """Read the epsilon of a local protocol."""
    epsilon = positive("epsilon", value)
    if not SMALLEST <= epsilon <= LARGEST:
        raise ValueError(
            f"epsilon must lie between 2**-20 and {LARGEST} in the local model, got "
            f"{written(epsilon)}; beyond that answers are all noise, or all but true"
        )
    return epsilon


def odds_of(epsilon: Fraction, *, root: int = 1) -> Fraction:
    """Return a fraction that is at most e^(epsilon / root), and less by next to nothing.

    >>> (
    ...     float(odds_of(Fraction(1))),
    ...     odds_of(Fraction(1)) ** 2 <= odds_of(Fraction(2)) * (1 + 2**-60),
    ... )
    (2.718281828459045, True)
    """
    exponent = epsilon / root
    places = _PLACES + max(0, int(1 / exponent).bit_length())
    precision = places + 4 * int(exponent) + 16
    _, above = exp_neg(exponent, precision)  # e^-x is at most above / 2**precision
    return Fraction((1 << (precision + places)) // above, 1 << places)


AT_ONCE = 1 << 16  # people


class Randomizer(ABC):
    """A way to answer so that nobody, not even who asks, learns what is true of a person.

    Guarantee:
        Neighbours: any two values of one person.
        Loss: every report is epsilon-private, whatever is done with it.
        Numerics: every probability is a fraction, and drawn exactly.
        Proof: docs/proofs/local.md, docs/proofs/local_numbers.md and docs/proofs/heavy_hitters.md.
    """

    def __init__(self, *, epsilon: Number) -> None:
        self.epsilon = read_epsilon(epsilon)
        self.odds = odds_of(self.epsilon)

    @property
    @abstractmethod
    def words(self) -> str:
        """The name of the protocol in words."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """How many bits one report has."""

    @abstractmethod
    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether an array can be one of reports of this protocol."""

    @abstractmethod
    def _details(self) -> list[Any]:
        """Return what tells one protocol of this kind and epsilon from another."""

    @property
    def loss(self) -> Loss:
        """What one report can reveal."""
        return losses.pure(epsilon=self.epsilon)

    def shuffled(self, people: Integer) -> Loss:
        """Return what is revealed if a shuffler takes names and order away from all reports.

        Guarantee:
            Neighbours: one person's value replaced by another; how many people there are is public.
            Loss: as for losses.shuffled.
            Numerics: as for losses.shuffled.
            Proof: docs/proofs/shuffling.md, theorem 2.
        """
        return losses.shuffled(epsilon=self.epsilon, people=people)

    @cached_property
    def fingerprint(self) -> str:
        """A name that no protocol has of another kind, with another epsilon or question."""
        about = ["sordino local 1", type(self).__name__, str(self.epsilon), *self._details()]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]


class Encoder(ABC):
    """What runs where the truth is known, and lets only randomized reports out.

    Guarantee:
        Neighbours: any two values of one person.
        Loss: ``loss`` for each report; whoever reports twice loses twice, unless the reports are
            kept (see Memoised).
        Numerics: as for the protocol.
        Proof: that of the protocol.
    """

    protocol: Randomizer

    def __repr__(self) -> str:
        return f"<client of {self.protocol.words}, epsilon {written(self.protocol.epsilon)}>"

    @property
    def loss(self) -> Loss:
        """What one report can reveal."""
        return self.protocol.loss

    def encode(self, values: object) -> Reports:
        """Return a fresh report for a value, or for each value of a column."""
        return Reports(self.protocol.fingerprint, self._drawn(self._read(values)))

    def stream(self, values: object, *, at_once: Integer = AT_ONCE) -> Iterator[Reports]:
        """Give the reports of a column piece by piece, so that they need little memory."""
        size = positive_whole("at_once", at_once)
        column = self._read(values)
        for start in range(0, len(column), size):
            yield Reports(self.protocol.fingerprint, self._drawn(column[start : start + size]))

    @abstractmethod
    def _read(self, values: object) -> npt.NDArray[Any]:
        """Return what stands for the values, one row for each person."""

    @abstractmethod
    def _drawn(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return one report for each row."""
