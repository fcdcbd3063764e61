# SPDX-License-Identifier: Apache-2.0
"""The side of a person who holds a category: it goes in, and a randomized report comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sordino.local.counting import Counting
from sordino.local.domain import Codes
from sordino.local.estimate import Estimate
from sordino.local.randomizer import Encoder
from sordino.numbers.confidence import mean_limits
from sordino.numbers.rational import Number, confidence_level

if TYPE_CHECKING:
    from sordino.local.protocol import Protocol


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


_MARGIN = 1e-12  # of a chance: more than doubles are off


class Server(Counting):
    """Counts of reports about categories."""

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        self.protocol = protocol

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
        found = (hits / people - base) / scale
        shares = np.clip(found, 0, 1)
        own, others = float(protocol.variance(1)), float(protocol.variance(0))
        return Estimate(
            labels=protocol.labels,
            people=people,
            confidence=float(level),
            together=together,
            frequencies=found,
            # No interval is shorter than the noise at the end it was cut to.
            low=np.clip((low - base - _MARGIN) / scale, 0, max(0, 1 - common)),
            high=np.clip((high - base + _MARGIN) / scale, min(1, rare), 1),
            standard_errors=np.sqrt((shares * own + (1 - shares) * others) / people),
        )
