# SPDX-License-Identifier: Apache-2.0
"""The side of whoever asks for numbers: it counts reports and estimates a mean."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.exact.rational import Number, confidence_level
from sordino.exact.rounding import down, up
from sordino.local.reports import Reports

if TYPE_CHECKING:
    from sordino.local.numbers import NumberProtocol

_MARK = "sordino mean server 1"
_MOST_PEOPLE = 1 << 52
_OTHER = (
    "these {what} were made by another protocol, with another epsilon, range or grid; "
    "add them to a server of their own protocol"
)
_BROKEN = "these bytes are no whole counts; have them sent again"


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of the numbers of some people, with an interval that holds it.

    ``mean`` is unbiased and may lie beyond the range; ``low`` and ``high`` never do. The standard
    error is that for people drawn at random; for the mean of these people alone it is no larger.

    Guarantee: none needed; each report is already private.
    """

    people: int
    mean: float
    low: float
    high: float
    standard_error: float
    confidence: float

    def __str__(self) -> str:
        size = self.standard_error if self.standard_error > 0 else 1.0
        places = min(max(1 - math.floor(math.log10(size)), 0), 15)
        low, high = _outwards(self.low, -1, places), _outwards(self.high, 1, places)
        return (
            f"mean {self.mean:.{places}f}, from {low} to {high} "
            f"with confidence {self.confidence:g} ({self.people} people)"
        )


def _outwards(limit: float, side: int, places: int) -> str:
    """Write a limit with so many decimal places, so that it is no closer than it was."""
    text = f"{limit:.{places}f}"
    if (Fraction(text) - Fraction(limit)) * side < 0:
        text = f"{float(text) + side * 10.0**-places:.{places}f}"
    return text


class MeanServer:
    """Counts of each possible report: whole numbers, so that servers can be merged in any order.

    >>> from sordino.local.one_bit import OneBit
    >>> from sordino.local.reports import Reports
    >>> protocol = OneBit(0, 100, epsilon=1)
    >>> server = protocol.server()
    >>> server.add(Reports(protocol.fingerprint, np.array([0, 1, 0, 1, 1] * 200, dtype=np.uint8)))
    >>> print(server.estimate(confidence=0.95))
    mean 71.6, from 64.9 to 78.3 with confidence 0.95 (1000 people)

    Guarantee: none needed; each report is already private.
    """

    def __init__(self, protocol: NumberProtocol) -> None:
        self.protocol = protocol
        self.people = 0
        self._counts = np.zeros(protocol.outputs, dtype=np.int64)

    def __repr__(self) -> str:
        return f"<server of {self.protocol.words}: {self.people} reports>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeanServer) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def add(self, reports: Reports) -> None:
        """Count reports; none is counted if one of them is not of this protocol.

        Guarantee: none needed; each report is already private.
        """
        if not isinstance(reports, Reports):
            raise TypeError("a server takes the reports that a client encoded")
        if reports.protocol != self.protocol.fingerprint:
            raise ValueError(_OTHER.format(what="reports"))
        if not self.protocol.accepts(reports.data):
            raise ValueError(
                "these reports are damaged: some could not have come from a client of this protocol"
            )
        self._take(np.bincount(reports.data, minlength=self.protocol.outputs), len(reports))

    def merge(self, other: MeanServer) -> None:
        """Add what another server of the same protocol has counted.

        Guarantee: none needed; each report is already private.
        """
        if not isinstance(other, MeanServer):
            raise TypeError("only a server of numbers can be merged into a server of numbers")
        if other.protocol.fingerprint != self.protocol.fingerprint:
            raise ValueError(_OTHER.format(what="counts"))
        self._take(other._counts, other.people)

    def _take(self, counts: np.ndarray[Any, np.dtype[np.int64]], people: int) -> None:
        if self.people + people > _MOST_PEOPLE:
            raise ValueError("a server counts at most 2**52 reports; begin another one")
        self._counts += counts
        self.people += people

    def estimate(self, *, confidence: Number = 0.95) -> MeanEstimate:
        """Return the mean of the numbers of these people, with an interval.

        Numbers beyond an end of the range have counted as that end. The interval holds the mean
        of these people, and, if they were drawn at random from many, also the mean of the many.

        Guarantee:
            Neighbours: any two numbers of one person.
            Loss: none beyond that of the reports.
            Numerics: limits are rounded outwards.
            Proof: docs/proofs/local_numbers.md, theorems 4 and 5.
        """
        level = confidence_level(confidence)
        if self.people == 0:
            raise ValueError("no reports have been added yet; add some first")
        protocol, people = self.protocol, self.people
        heights = range(1 - protocol.outputs, protocol.outputs, 2)
        counts = self._counts.tolist()
        total = sum(count * y for count, y in zip(counts, heights, strict=True))
        squares = sum(count * y * y for count, y in zip(counts, heights, strict=True))
        t = Fraction(total, people) / protocol.gain
        spread = Fraction(squares, people) / protocol.gain**2 - t * t
        low, high = protocol.unit_limits(people, total, squares, level)
        scale = protocol.scale
        half, middle = scale.span / 2, (scale.low + scale.high) / 2
        return MeanEstimate(
            people=people,
            mean=float(middle + half * t),
            low=down(middle + half * Fraction(min(max(low, -1.0), 1.0))),
            high=up(middle + half * Fraction(min(max(high, -1.0), 1.0))),
            standard_error=float(half) * math.sqrt(spread / people),
            confidence=float(level),
        )

    def to_bytes(self) -> bytes:
        """Return the counts as bytes; equal counts give equal bytes.

        Guarantee: none needed; each report is already private.
        """
        state = {
            "kind": _MARK,
            "protocol": self.protocol.fingerprint,
            "people": self.people,
            "counts": self._counts.tolist(),
        }
        return json.dumps(state, separators=(",", ":")).encode()

    def load(self, data: bytes) -> None:
        """Add what ``to_bytes`` of a server of the same protocol wrote.

        Guarantee: none needed; each report is already private.
        """
        try:
            state = json.loads(data)
            if not isinstance(state, dict) or state.get("kind") != _MARK:
                raise ValueError
            people, counts = state["people"], state["counts"]
            if not isinstance(counts, list) or not all(type(n) is int for n in [people, *counts]):
                raise ValueError
            if min([people, *counts]) < 0 or sum(counts) != people or people > _MOST_PEOPLE:
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(_BROKEN) from None
        if state.get("protocol") != self.protocol.fingerprint:
            raise ValueError(_OTHER.format(what="counts"))
        if len(counts) != self.protocol.outputs:
            raise ValueError(_BROKEN)
        self._take(np.array(counts, dtype=np.int64), people)
