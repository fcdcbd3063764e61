# SPDX-License-Identifier: Apache-2.0
"""The side of whoever asks: it counts reports and estimates how frequent each category is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from sordino.exact.rational import Number, confidence_level
from sordino.local.estimate import Estimate
from sordino.local.reports import Reports
from sordino.theorems.counts import mean_limits

if TYPE_CHECKING:
    from sordino.local.protocol import Protocol

_MARK = "sordino server 1"
_MOST_PEOPLE = 1 << 52  # counts stay exact as doubles
_OTHER = (
    "these reports were made by another protocol, with another epsilon or with other categories; "
    "add them to a server of their own protocol"
)


class Server:
    """Counts of reports: whole numbers, so that servers can be merged in any order.

    Guarantee: none needed; each report is already private.
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.people = 0
        self._counts = np.zeros(protocol.cells, dtype=np.int64)

    def __repr__(self) -> str:
        return f"<server of {self.protocol.words}: {self.people} reports>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Server) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def add(self, reports: Reports) -> None:
        """Count reports; none is counted if one of them is not of this protocol.

        Guarantee: none needed; each report is already private.
        """
        if not isinstance(reports, Reports):
            raise TypeError("a server takes the reports that a client encoded")
        if reports.protocol != self.protocol.fingerprint:
            raise ValueError(_OTHER)
        if not self.protocol.accepts(reports.data):
            raise ValueError(
                "these reports are damaged: some could not have come from a client of this protocol"
            )
        if self.people + len(reports) > _MOST_PEOPLE:
            raise ValueError("a server counts at most 2**52 reports; begin another one")
        self.protocol.tally(reports.data, self._counts)
        self.people += len(reports)

    def merge(self, other: Server) -> None:
        """Add what another server of the same protocol has counted.

        Guarantee: none needed; each report is already private.
        """
        if not isinstance(other, Server):
            raise TypeError("only a server can be merged into a server")
        if other.protocol.fingerprint != self.protocol.fingerprint:
            raise ValueError(_OTHER.replace("reports", "counts"))
        if self.people + other.people > _MOST_PEOPLE:
            raise ValueError("a server counts at most 2**52 reports; keep these apart")
        self._counts += other._counts
        self.people += other.people

    def estimate(self, *, confidence: Number = 0.95, together: bool = False) -> Estimate:
        """Return how frequent each category is among the people, with intervals.

        With ``together`` all intervals hold at once with the confidence; else each does on its own.

        Guarantee:
            Neighbours: any two values of one person.
            Loss: none beyond that of the reports.
            Numerics: intervals are valid for people drawn at random and for any fixed people.
            Proof: docs/proofs/local.md, theorem 3.
        """
        level = float(confidence_level(confidence))
        if self.people == 0:
            raise ValueError("no reports have been added yet; add some first")
        protocol, people = self.protocol, self.people
        hits = protocol.supports(self._counts, people)
        each = 1 - (1 - level) / len(protocol.domain) if together else level
        low, high = mean_limits(hits, people, each)
        base, scale = float(protocol.other), float(protocol.truth - protocol.other)
        found = (hits / people - base) / scale
        shares = np.clip(found, 0, 1)
        own, others = float(protocol.variance(1)), float(protocol.variance(0))
        return Estimate(
            labels=protocol.labels,
            people=people,
            confidence=level,
            together=together,
            frequencies=found,
            low=np.clip((low - base) / scale, 0, 1),
            high=np.clip((high - base) / scale, 0, 1),
            standard_errors=np.sqrt((shares * own + (1 - shares) * others) / people),
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
            if not 0 <= people <= _MOST_PEOPLE or any(not 0 <= n <= people for n in counts):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError("these bytes are no whole counts; have them sent again") from None
        if state.get("protocol") != self.protocol.fingerprint:
            raise ValueError(_OTHER.replace("reports", "counts"))
        if len(counts) != self.protocol.cells:
            raise ValueError("these bytes are no whole counts; have them sent again")
        other = Server(self.protocol)
        other.people, other._counts = people, np.array(counts, dtype=np.int64)
        self.merge(other)
