# SPDX-License-Identifier: Apache-2.0
"""Events: sets of outputs made of cells, and how they are told in words."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.auditing.blackbox.features import Column, Pair, columns, score_columns
from sordino.auditing.blackbox.outputs import PLACE, Floats, Outputs, Reader
from sordino.numbers.confidence import highest, lowest

Cells: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]

_MAX_RANGES = 256  # For each of the two inputs.
_RUNS_PER_RANGE = 12
_MOST_VALUES = 4096
_SHOWN = 4
_ROUNDING_PLACE = -20  # Only the rounding of floats makes binary places below it.


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
    """Cells that are ranges of a number: below the first edge, from edge to edge, and no number."""

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
    """Cells that are single values; all other values share the first cell."""

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
    """Return the event that always happens, for outputs that hold nothing else to look at."""
    coding = Values(Column("the output", _nothing), np.zeros(1), str)
    return coding.event(np.ones(2, dtype=bool))


def codings(column: Column, fit: Pair, reader: Reader) -> list[Coding]:
    """Return ways to put a column into cells, made for the outputs of two inputs."""
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
        cells = int(np.clip(2 * len(values) // _RUNS_PER_RANGE, 2, _MAX_RANGES))
        steps = np.linspace(0, len(values) - 1, cells + 1).astype(np.intp)
        tail = 1 << np.arange(max(int(np.log2(len(values) // cells + 1)), 0))
        picked = values[np.concatenate([steps, tail, len(values) - 1 - tail])]
        changes = np.flatnonzero(values[1:] != values[:-1]) + 1
        if len(changes) < _MAX_RANGES:
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
        parts.append("nowhere" if column.sort == "places" else "no number")
    told = " or ".join(parts[:_SHOWN])
    if len(parts) > _SHOWN:
        told = f"in one of {len(parts)} ranges: {', '.join(parts[:_SHOWN])}, ..."
    if column.sort == "places":
        told = f"the last binary digit of {column.words} stands at two to the power {told}"
        fine = np.any(edges[np.isfinite(edges)] < _ROUNDING_PLACE)
        hint = " (the last bits of the floating-point number give the input away)"
        return told + (hint if fine else "")
    return f"{column.words} is {told}"


_RARE_HITS = 64


def least_epsilon(
    hits: tuple[int, int], runs: tuple[int, int], *, delta: float = 0.0, alpha: float
) -> float:
    """Return an epsilon that two counts of one event prove, wrong with chance at most alpha.

    The event is hit ``hits[0]`` times in ``runs[0]`` runs on one input and ``hits[1]`` times in
    ``runs[1]`` runs on the other. A mechanism with a smaller epsilon at this delta would have to
    break one of two bounds, each of which fails with chance alpha / 2.

    >>> round(least_epsilon((600, 200), (1000, 1000), alpha=0.05), 12)
    0.922426843593
    """
    low = float(lowest(hits[0], runs[0], alpha / 2)) - delta
    high = float(highest(hits[1], runs[1], alpha / 2))
    return math.log(low / high) if low > 0 else -math.inf


def guessed_epsilon(
    hits: Floats, others: Floats, runs: tuple[int, int], *, delta: float, alpha: float
) -> Floats:
    """Return about what `least_epsilon` would give, for whole arrays of counts at once.

    Rare events are bounded by Poisson's law, the others as Wilson does. That chooses an event and
    proves nothing.
    """
    lows, highs, deviations = _rare(alpha / 2)
    low = _guess(hits, runs[0], lows, -deviations) - delta
    high = _guess(others, runs[1], highs, deviations)
    return np.where(low > 0, np.log(np.maximum(low, 1e-300)) - np.log(high), -np.inf)


def shares(alpha: float, rounds: int) -> list[float]:
    """Split the chance of a false alarm over rounds: half for the last, the rest for the others.

    >>> shares(0.01, 3)
    [0.0025, 0.0025, 0.005]
    """
    if rounds == 1:
        return [alpha]
    return [alpha / 2 / (rounds - 1)] * (rounds - 1) + [alpha / 2]


@functools.cache
def _rare(tail: float) -> tuple[Floats, Floats, float]:
    """Return bounds of the mean of a Poisson law for few hits, and normal deviations for many."""
    from scipy.special import gammaincinv, ndtri  # slow to load, and only an audit needs it

    hits = np.arange(_RARE_HITS)
    lows = np.where(hits > 0, gammaincinv(np.maximum(hits, 1), tail), 0.0)
    return lows, gammaincinv(hits + 1.0, 1.0 - tail), float(-ndtri(tail))


def _guess(hits: Floats, runs: int, rare: Floats, deviations: float) -> Floats:
    share, square = hits / runs, deviations**2
    spread = np.sqrt(share * (1 - share) / runs + square / (4 * runs * runs))
    wilson = (share + square / (2 * runs) + deviations * spread) / (1 + square / runs)
    few = rare[np.minimum(hits, _RARE_HITS - 1).astype(np.intp)] / runs
    return np.where(hits < _RARE_HITS, np.minimum(few, 1.0), wilson)


_MIN_GAIN = 0.01  # In epsilon, for a set that takes more words.


@dataclass(frozen=True)
class Choice:
    """An event, the input that makes it likelier (0 is x, 1 is y), and about what it shows."""

    event: Event
    likelier: int
    guess: float


class _Found(NamedTuple):
    guess: float
    mask: Mask
    likelier: int


def choose(kept: Pair, reader: Reader, *, delta: float, alpha: float) -> Choice:
    """Return the most promising event on some runs of both inputs.

    Cells are made and put in order on every other run; which of them to take is chosen on the
    rest, so that chance in the order is not taken for a loss.
    """
    fit: Pair = (kept[0].part(slice(0, None, 2)), kept[1].part(slice(0, None, 2)))
    score: Pair = (kept[0].part(slice(1, None, 2)), kept[1].part(slice(1, None, 2)))
    best: _Found | None = None
    winner: Coding | None = None
    for coding in _all_codings(fit, reader):
        found = _best(coding, fit, score, delta=delta, alpha=alpha)
        if best is None or found.guess > best.guess + _MIN_GAIN:
            best, winner = found, coding
    if best is None or winner is None:
        return Choice(anything(), 0, -np.inf)
    return Choice(winner.event(best.mask), best.likelier, best.guess)


def _all_codings(fit: Pair, reader: Reader) -> Iterator[Coding]:
    for column in columns(fit):
        yield from codings(column, fit, reader)
    for column in score_columns(fit):
        yield from codings(column, fit, reader)


def _best(coding: Coding, fit: Pair, score: Pair, *, delta: float, alpha: float) -> _Found:
    """Return the best set of cells: a run of them in their order, or those of largest ratio."""
    fitted, counts = (
        [np.bincount(coding.codes(side), minlength=coding.cells).astype(float) for side in pair]
        for pair in (fit, score)
    )
    runs = (len(score[0]), len(score[1]))
    best: _Found | None = None
    line = np.arange(coding.line)
    orders = [line, line[::-1]] if coding.line else []
    for likelier in (0, 1):
        ratio = np.argsort(-_ratio(fitted[likelier], fitted[1 - likelier]), kind="stable")
        for number, order in enumerate([*orders, ratio]):
            guesses = guessed_epsilon(
                np.cumsum(counts[likelier][order]),
                np.cumsum(counts[1 - likelier][order]),
                (runs[likelier], runs[1 - likelier]),
                delta=delta,
                alpha=alpha,
            )
            ranked = number == len(orders)
            needed = _MIN_GAIN if ranked else 0.0
            place = int(np.argmax(guesses >= guesses.max() - needed))
            if best is None or guesses[place] > best.guess + needed:
                mask = np.zeros(coding.cells, dtype=bool)
                mask[order[: place + 1]] = True
                best = _Found(float(guesses[place]), mask, likelier)
    assert best is not None  # noqa: S101 - there are always two orders
    return best


def _ratio(hits: Floats, others: Floats) -> Floats:
    """Return the logarithm of the ratio of two counts, less one deviation of it."""
    return np.log((hits + 0.5) / (others + 0.5)) - np.sqrt(1 / (hits + 0.5) + 1 / (others + 0.5))
