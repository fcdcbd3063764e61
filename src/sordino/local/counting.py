# SPDX-License-Identifier: Apache-2.0
"""Counts of reports: whole numbers, so that servers can be merged in any order."""

from __future__ import annotations

import json
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sordino.local.reports import Reports

Counts = npt.NDArray[np.int64]

_MARK = "sordino server 1"
_MOST_PEOPLE = 1 << 46  # limits are certain up to so many
_OTHER = (
    "these {what} were made by another protocol, with another epsilon, or with other categories or "
    "another range; add them to a server of their own protocol"
)
_BROKEN = "these bytes are no whole counts; have them sent again"


class Reported(Protocol):
    """What a server must know of a protocol to take its reports."""

    @property
    def fingerprint(self) -> str:
        """A name that no other protocol has."""
        ...

    @property
    def words(self) -> str:
        """The name of the protocol in words."""
        ...

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether an array can be one of reports of this protocol."""
        ...


class Counted(Reported, Protocol):
    """What a server must know of a protocol to count its reports."""

    @property
    def cells(self) -> int:
        """How many counts a server keeps."""
        ...

    def tally(self, data: npt.NDArray[Any], counts: Counts) -> None:
        """Add reports to the counts of a server."""
        ...

    def fits(self, counts: Counts, people: int) -> bool:
        """Tell whether the reports of so many people can have these counts."""
        ...


def check_reports(protocol: Reported, reports: object) -> Reports:
    """Return reports of a protocol; anything else is refused."""
    if not isinstance(reports, Reports) or type(reports.data) is not np.ndarray:
        raise TypeError("a server takes the reports that a client encoded")
    if reports.protocol != protocol.fingerprint:
        raise ValueError(_OTHER.format(what="reports"))
    if not protocol.accepts(reports.data):
        raise ValueError(
            "these reports are damaged: some could not have come from a client of this protocol"
        )
    return reports


class Counting:
    """A server that counts: reports go in, whole numbers are kept."""

    def __init__(self, protocol: Counted) -> None:
        self._protocol = protocol
        self.people = 0
        self.counts = np.zeros(protocol.cells, dtype=np.int64)

    def __repr__(self) -> str:
        return f"<server of {self._protocol.words}: {self.people} reports>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counting) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def add(self, reports: Reports) -> None:
        """Count reports; none is counted if one of them is not of this protocol."""
        data = check_reports(self._protocol, reports).data
        fresh = np.zeros_like(self.counts)
        self._protocol.tally(data, fresh)
        self._take(fresh, len(data))

    def merge(self, other: Counting) -> None:
        """Add what another server of the same protocol has counted."""
        if not isinstance(other, Counting):
            raise TypeError("only a server that counts can be merged into a server that counts")
        if other is self:
            raise ValueError("a server cannot be merged into itself: that would count all twice")
        if other._protocol.fingerprint != self._protocol.fingerprint:
            raise ValueError(_OTHER.format(what="counts"))
        self._take(other.counts, other.people)

    def to_bytes(self) -> bytes:
        """Return the counts as bytes; equal counts give equal bytes."""
        state = {
            "kind": _MARK,
            "protocol": self._protocol.fingerprint,
            "people": self.people,
            "counts": self.counts.tolist(),
        }
        return json.dumps(state, separators=(",", ":")).encode()

    def load(self, data: bytes) -> None:
        """Add what ``to_bytes`` of a server of the same protocol wrote."""
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
            raise ValueError(_BROKEN) from None
        if state.get("protocol") != self._protocol.fingerprint:
            raise ValueError(_OTHER.format(what="counts"))
        found = np.array(counts, dtype=np.int64)
        if found.size != self.counts.size or not self._protocol.fits(found, people):
            raise ValueError(_BROKEN)
        self._take(found, people)

    def _take(self, counts: Counts, people: int) -> None:
        if self.people + people > _MOST_PEOPLE:
            raise ValueError("a server counts at most 2**46 reports; begin another one")
        self.counts += counts
        self.people += people
