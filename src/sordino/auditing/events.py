# SPDX-License-Identifier: Apache-2.0
"""Events: sets of outputs made of cells, and how they are told in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.auditing.features import Column, Pair
from sordino.auditing.looking import PLACE
from sordino.auditing.outputs import Floats, Outputs
from sordino.auditing.reading import Reader

Cells: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]

_MOST_RANGES = 256  # for each of the two inputs
_PER_RANGE = 12  # runs, about
_MOST_VALUES = 4096
_SHOWN = 4
_FINE = -20  # binary places that only the rounding of floats makes


class Coding(Protocol):
    """A way to put every output into one of several cells."""

    @property
    def column(self) -> Column: ...
    @property
    def cells(self) -> int: ...
    @property
    def line(self) -> int: ...  # how many cells, from the first on, lie in a natural order
    def codes(self, outputs: Outputs) -> Cells: ...
    def event(self, mask: Mask) -> Event: ...


@dataclass(frozen=True)
class Event:
    """A set of outputs: some cells of a coding, told in words.

    ``edges`` and ``inside`` say where it lies if it is a set of numbers: the numbers from one edge
    to the next are inside or not.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    words: str
    coding: Coding
    mask: Mask
    edges: Floats | None = None
    inside: Mask | None = None

    def holds(self, outputs: Outputs) -> Mask:
        """Return for each output whether it is in the set."""
        return self.mask[self.coding.codes(outputs)]


@dataclass(frozen=True)
class Ranges:
    """Cells that are ranges of a number: below the first edge, from edge to edge, and no number.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    column: Column
    edges: Floats

    @property
    def cells(self) -> int:
        return len(self.edges) + 2

    @property
    def line(self) -> int:
        return len(self.edges) + 1

    def codes(self, outputs: Outputs) -> Cells:
        values = self.column.of(outputs)
        places = np.searchsorted(self.edges, values, side="right")
        places[np.isnan(values)] = len(self.edges) + 1
        return places

    def event(self, mask: Mask) -> Event:
        """Return some of the cells as an event, with edges that separate nothing left out."""
        needed = np.flatnonzero(mask[:-2] != mask[1:-1])
        edges = self.edges[needed]
        kept = np.append(mask[np.append(needed, len(self.edges))], mask[-1])
        outer = np.concatenate([[-np.inf], edges, [np.inf]])
        inside = kept[:-1]
        words = _told_ranges(self.column, outer, inside, missing=bool(kept[-1]))
        return Event(words, Ranges(self.column, edges), kept, outer, inside)


@dataclass(frozen=True)
class Values:
    """Cells that are single values; all other values share the first cell.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    column: Column
    values: Floats  # sorted
    tell: Callable[[int], str]  # what a value is called, by its place among the values
    line: int = 0

    @property
    def cells(self) -> int:
        return len(self.values) + 1

    def codes(self, outputs: Outputs) -> Cells:
        wanted = self.column.of(outputs)
        places = np.minimum(np.searchsorted(self.values, wanted), len(self.values) - 1)
        return np.where(self.values[places] == wanted, places + 1, 0)

    def event(self, mask: Mask) -> Event:
        """Return some of the cells as an event; what nobody chose is told by what is left out."""
        inverted = bool(mask[0])
        chosen = np.flatnonzero(mask[1:] != inverted)
        if not len(chosen):
            return Event(f"{self.column.words} is anything", self, mask)
        names = [self.tell(place) for place in chosen[:_SHOWN].tolist()]
        told = _one_of(names, len(chosen))
        words = f"{self.column.words} is {'not ' if inverted else ''}{told}"
        fewer = Values(self.column, self.values[chosen], str)
        kept = np.full(len(chosen) + 1, not inverted)
        kept[0] = inverted
        return Event(words, fewer, kept)


def anything() -> Event:
    """Return the event that always happens, for outputs that hold nothing else to look at.

    Guarantee: none needed; it sees nothing.
    """
    coding = Values(Column("the output", _nothing), np.zeros(1), str)
    return coding.event(np.ones(2, dtype=bool))


def codings(column: Column, fit: Pair, reader: Reader) -> list[Coding]:
    """Return ways to put a column into cells, made for the outputs of two inputs.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
    sides = [column.of(outputs) for outputs in fit]
    if column.sort in ("number", "places"):
        edges = _edges(sides)
        return [Ranges(column, edges)] if len(edges) else []
    values, first, counts = np.unique(np.concatenate(sides), return_index=True, return_counts=True)
    seen = np.flatnonzero(counts > 1)
    if not len(seen):
        return []
    seen = np.sort(seen[np.argsort(-counts[seen], kind="stable")[:_MOST_VALUES]])
    places = first[seen]

    def tell(place: int) -> str:
        return _named(column, int(places[place]), fit, reader)

    return [Values(column, values[seen], tell)]


def _nothing(outputs: Outputs) -> Floats:
    return np.zeros(len(outputs))


def _edges(sides: list[Floats]) -> Floats:
    """Return edges of ranges: every value if there are few, else quantiles of both inputs.

    A value that is several quantiles at once has a range of its own, and the tails are cut finer.
    """
    found, single = [], []
    for side in sides:
        values = np.sort(side[~np.isnan(side)])
        if not len(values):
            continue
        cells = int(np.clip(2 * len(values) // _PER_RANGE, 2, _MOST_RANGES))
        steps = np.linspace(0, len(values) - 1, cells + 1).astype(np.intp)
        tail = 1 << np.arange(max(int(np.log2(len(values) // cells + 1)), 0))
        picked = values[np.concatenate([steps, tail, len(values) - 1 - tail])]
        changes = np.flatnonzero(values[1:] != values[:-1]) + 1
        if len(changes) < _MOST_RANGES:
            picked = values[np.append(0, changes)]
        else:
            again, times = np.unique(values[steps], return_counts=True)
            single.append(np.nextafter(again[times > 1], np.inf))
        found.append(picked)
    if not found:
        return np.empty(0)
    edges = np.unique(np.concatenate(found + single))
    return edges if np.isfinite(edges[0]) or len(edges) == 1 else edges[1:]


def _named(column: Column, place: int, fit: Pair, reader: Reader) -> str:
    outputs = fit[0]
    if place >= len(outputs):
        outputs, place = fit[1], place - len(outputs)
    if column.sort == "kind":
        return reader.kinds.word(int(outputs.kinds[place]))
    if column.sort == "words":
        word = int(column.of(outputs.part(slice(place, place + 1)))[0])
        return reader.words.word(word).replace(PLACE, "...") if word else "nothing"
    return reader.shown(outputs, place)


def _one_of(names: list[str], number: int) -> str:
    if number == 1:
        return names[0]
    return f"one of {number} values: {', '.join(names)}{', ...' if number > _SHOWN else ''}"


def _told_ranges(column: Column, edges: Floats, inside: Mask, *, missing: bool) -> str:
    parts = []
    for low, high in zip(edges[:-1][inside].tolist(), edges[1:][inside].tolist(), strict=True):
        if low == -np.inf:
            parts.append("any number" if high == np.inf else f"less than {high:.6g}")
        elif high == np.inf:
            parts.append(f"at least {low:.6g}")
        elif high == np.nextafter(low, np.inf):
            parts.append(f"{low:.6g}")
        else:
            parts.append(f"from {low:.6g} to below {high:.6g}")
    if missing:
        parts.append("no number")
    told = " or ".join(parts[:_SHOWN])
    if len(parts) > _SHOWN:
        told = f"in one of {len(parts)} ranges: {', '.join(parts[:_SHOWN])}, ..."
    if column.sort == "places":
        told = told.replace("no number", "nowhere")
        told = f"the last binary digit of {column.words} stands at two to the power {told}"
        fine = np.any(edges[np.isfinite(edges)] < _FINE)
        hint = " (the last bits of the floating-point number give the input away)"
        return told + (hint if fine else "")
    return f"{column.words} is {told}"
