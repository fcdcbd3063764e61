# SPDX-License-Identifier: Apache-2.0
"""What all protocols for categories share: two chances, from which everything else follows.

A report supports some of the categories: its own category with the chance ``truth``, each other
one with the chance ``other``. A server counts, for each category, the reports that support it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.domain import Codes, Domain, Label, read_domain
from sordino.local.estimate import Estimate
from sordino.local.randomizer import Counted, Counting, Counts, Encoder
from sordino.numbers.confidence import mean_limits
from sordino.numbers.rational import (
    Integer,
    Number,
    confidence_level,
    finite,
    positive_whole,
    written,
)

MARGIN = 1e-12  # More than doubles are off in a chance.

Channel = dict[Any, tuple[Fraction, ...]]


class Protocol(Counted):
    """A way in which people answer so that nobody, not even who asks, learns what is true of them.

    Guarantee:
        Neighbours: any two values of one person.
        Loss: every report is epsilon-private, whatever is done with it.
        Numerics: every probability is a fraction, and drawn exactly.
        Proof: docs/proofs/local.md, theorem 1.
    """

    truth: Fraction  # the chance that a report supports the category of its person
    other: Fraction  # the chance that it supports any other category

    def __init__(self, categories: object, *, epsilon: Number) -> None:
        super().__init__(epsilon=epsilon)
        self.domain: Domain = read_domain(categories)

    def __repr__(self) -> str:
        return f"<{self.words}: {len(self.domain)} categories, epsilon {written(self.epsilon)}>"

    @property
    def cells(self) -> int:
        """One for each category."""
        return len(self.domain)

    @abstractmethod
    def draw(self, codes: Codes) -> npt.NDArray[Any]:
        """Return one report for each code."""

    def supports(self, counts: Counts, people: int) -> Counts:  # noqa: ARG002 - some need it
        """Return how many reports support each category."""
        return counts

    @abstractmethod
    def channel(self) -> Channel:
        """Return, for every report there can be, its chance given each category."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The categories, in their order."""
        return tuple(self.domain.labels)

    def _details(self) -> list[Any]:
        labels = self.domain.labels
        return [len(labels) if isinstance(labels, range) else list(labels)]

    def client(self) -> Client:
        """Return what runs on the device of a person."""
        return Client(self)

    def server(self) -> Server:
        """Return what counts reports."""
        return Server(self)

    def variance(self, frequency: Number = 0) -> Fraction:
        """Return the variance of an estimated frequency, times the number of people.

        It is that of the coins alone: who the people are is taken as given.
        """
        share = self._share(frequency)
        own, others = self.truth * (1 - self.truth), self.other * (1 - self.other)
        return (share * own + (1 - share) * others) / (self.truth - self.other) ** 2

    def standard_error(self, people: Integer, *, frequency: Number = 0) -> float:
        """Return the standard error of an estimated frequency, before anything is collected."""
        return math.sqrt(self.variance(frequency) / positive_whole("people", people))

    def half_width(
        self, people: Integer, *, frequency: Number | None = None, confidence: Number = 0.95
    ) -> float:
        """Return half the length that an interval will have, before anything is collected.

        An interval covers the luck of who was asked as well as the coins, so it is longer than the
        standard error alone tells. Without a frequency it is the longest that there is for any.

        >>> from sordino.local import Response
        >>> round(Response(["no", "yes"], epsilon=1).half_width(1_600), 3)
        0.054
        """
        many = positive_whole("people", people)
        mean = min(max(Fraction(1, 2), self.other), self.truth)
        if frequency is not None:
            mean = self.other + self._share(frequency) * (self.truth - self.other)
        alpha = float(1 - confidence_level(confidence))
        low, high = mean_limits(round(many * mean), many, alpha)
        return float(high - low) / 2 / float(self.truth - self.other)

    def total_error(self, people: Integer) -> float:
        """Return the expected sum of squared errors over all categories, whatever is true."""
        rest = (len(self.domain) - 1) * self.variance(0)
        return float((self.variance(1) + rest) / positive_whole("people", people))

    def _share(self, frequency: Number) -> Fraction:
        share = finite("frequency", frequency)
        if not 0 <= share <= 1:
            raise ValueError(f"frequency must lie between 0 and 1, got {written(share)}")
        return share


class Client(Encoder):
    """What runs where the truth is known, and lets only randomized reports out.

    >>> from sordino.local import Response
    >>> client = Response(["no", "yes"], epsilon=1).client()
    >>> len(client.encode("yes")), len(client.encode(["yes", "no", "no"]))
    (1, 3)
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol: Protocol = protocol

    def _read(self, values: object) -> Codes:
        codes, _ = self.protocol.domain.codes(values)
        return codes

    def _drawn(self, column: Codes) -> npt.NDArray[Any]:
        return self.protocol.draw(self.protocol.domain.check(column))


class Server(Counting[Protocol]):
    """Counts of reports about categories."""

    def estimate(self, *, confidence: Number = 0.95, together: bool = False) -> Estimate:
        """Return how frequent each category is among the people, with intervals.

        With ``together`` all intervals hold at once with the confidence; else each does on its own.

        Guarantee:
            Neighbours: any two values of one person.
            Loss: none beyond that of the reports.
            Numerics: intervals are valid for people drawn at random and for any fixed people.
            Proof: docs/proofs/local.md, theorem 3.
        """
        level = confidence_level(confidence)
        if self.people == 0:
            raise ValueError("no reports have been added yet; add some first")
        protocol, people = self.protocol, self.people
        hits = protocol.supports(self.counts, people)
        alpha = float((1 - level) / (len(protocol.domain) if together else 1))
        low, high = mean_limits(hits, people, alpha)
        rare, common = (protocol.standard_error(people, frequency=share) for share in (0, 1))
        base, scale = float(protocol.other), float(protocol.truth - protocol.other)
        frequencies = (hits / people - base) / scale
        shares = np.clip(frequencies, 0, 1)
        own, others = float(protocol.variance(1)), float(protocol.variance(0))
        return Estimate(
            labels=protocol.labels,
            people=people,
            confidence=float(level),
            together=together,
            frequencies=frequencies,
            # No interval is shorter than the noise at the end it was cut to.
            low=np.clip((low - base - MARGIN) / scale, 0, max(0, 1 - common)),
            high=np.clip((high - base + MARGIN) / scale, min(1, rare), 1),
            standard_errors=np.sqrt((shares * own + (1 - shares) * others) / people),
        )
