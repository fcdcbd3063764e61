# SPDX-License-Identifier: Apache-2.0
"""Numbers computed from outputs, one for each run: what an event can look at."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from sordino.auditing.blackbox.outputs import Floats, Outputs

Pair: TypeAlias = tuple[Outputs, Outputs]
Sort: TypeAlias = Literal["number", "places", "whole", "kind", "words"]

_MAX_PAIRED_COORDINATES = 4


@dataclass(frozen=True)
class Column:
    """One number for each run, and what it is called.

    ``sort`` says how its cells are made and told: a number has ranges; places are binary places,
    each a cell; whole outputs, kinds and words are codes, each a cell.
    """

    words: str
    of: Callable[[Outputs], Floats]
    sort: Sort = "number"

    @property
    def axis(self) -> str:
        """What the numbers are, in words."""
        if self.sort == "places":
            return f"where the last binary digit of {self.words} stands, as a power of two"
        return self.words


def granularity(values: Floats) -> Floats:
    """Return the exponent of the largest power of two that divides each value; NaN if none does.

    Noise made of floats is rounded to a grid that depends on the size of the numbers added, and so
    on the data; the last binary digit shows the grid.

    >>> granularity(np.array([12.0, 0.75, 1.0, -2.5, 0.0]))
    array([ 2., -2.,  0., -1., nan])
    """
    usable = np.isfinite(values) & (values != 0)
    mantissa, exponent = np.frexp(np.where(usable, values, 1.0))
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    last = np.log2((digits & -digits).astype(np.float64))
    return np.where(usable, exponent - 53 + last, np.nan)


def columns(fit: Pair) -> Iterator[Column]:
    """Yield what there is to look at in the outputs of two inputs, the simplest first."""
    if _vary(*(outputs.kinds for outputs in fit)):
        yield Column("the kind of output", _kinds, "kind")
    width = max(outputs.width for outputs in fit)
    if not width:
        yield Column("the output", _whole, "whole")
    if _vary(*(outputs.lengths for outputs in fit)):
        yield Column("the length of the output", _lengths)
    names = _names(fit, width)
    for place in range(width):
        yield Column(names[place], _Coordinate(place))
    yield from _words_of(fit, width)
    if width > 1:
        yield from _summaries(names)
    if width:
        yield Column("the output", _whole, "whole")
    for place in range(width):
        yield Column(names[place], _Granularity(place), "places")
    if any(outputs.digits is not None for outputs in fit):
        yield from _last_digits(names)
    if fit[0].times is not None:
        yield Column("the time taken, in microseconds,", _times)


def coordinate(outputs: Outputs, place: int) -> Floats:
    """Return one coordinate; NaN where the outputs have no such coordinate."""
    if place >= outputs.width:
        return np.full(len(outputs), np.nan)
    return outputs.numbers[:, place]


def _words_of(fit: Pair, width: int) -> Iterator[Column]:
    """Yield the words of outputs that hold numbers, too, and each text of several parts."""
    if width and _vary(*(outputs.words for outputs in fit)):
        yield Column("the output without its numbers", _words, "words")
    texts = max(0 if outputs.texts is None else outputs.texts.shape[1] for outputs in fit)
    for place in range(texts):
        name = f"text {place} of the output" if place else "the form of the output"
        yield Column(name, _Text(place), "words")


def _summaries(names: list[str]) -> Iterator[Column]:
    yield Column("the sum of the coordinates", _sum)
    yield Column("the largest coordinate", _largest)
    yield Column("the least coordinate", _least)
    if len(names) <= _MAX_PAIRED_COORDINATES:
        for one, other in itertools.combinations(range(len(names)), 2):
            yield Column(f"{names[one]} minus {names[other]}", _Difference(one, other))


def _last_digits(names: list[str]) -> Iterator[Column]:
    for place, name in enumerate(names):
        yield Column(f"the number that the last 32 binary digits of {name} make", _Digits(place))
        yield Column(name, _LastDigit(place), "places")


def _names(fit: Pair, width: int) -> list[str]:
    """Return what the coordinates are called: by keys and fields where all outputs have them."""
    given = fit[0].names if fit[0].names == fit[1].names else ()
    if len(given) == width:
        return list(given)
    return ["the output"] if width == 1 else [f"coordinate {place + 1}" for place in range(width)]


def _vary(*codes: Floats | np.ndarray[tuple[int], np.dtype[np.int64]]) -> bool:
    return any(bool(np.any(part != codes[0][0])) for part in codes)


@dataclass(frozen=True)
class _Coordinate:
    place: int

    def __call__(self, outputs: Outputs) -> Floats:
        return coordinate(outputs, self.place)


@dataclass(frozen=True)
class _Granularity:
    place: int

    def __call__(self, outputs: Outputs) -> Floats:
        return granularity(coordinate(outputs, self.place))


@dataclass(frozen=True)
class _Digits:
    place: int

    def __call__(self, outputs: Outputs) -> Floats:
        if outputs.digits is None or self.place >= outputs.width:
            return np.full(len(outputs), np.nan)
        return outputs.digits[:, self.place]


@dataclass(frozen=True)
class _LastDigit:
    place: int

    def __call__(self, outputs: Outputs) -> Floats:
        return granularity(_Digits(self.place)(outputs))


@dataclass(frozen=True)
class _Text:
    place: int

    def __call__(self, outputs: Outputs) -> Floats:
        if outputs.texts is None or self.place >= outputs.texts.shape[1]:
            return np.zeros(len(outputs))
        return outputs.texts[:, self.place].astype(np.float64)


@dataclass(frozen=True)
class _Difference:
    one: int
    other: int

    def __call__(self, outputs: Outputs) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            return coordinate(outputs, self.one) - coordinate(outputs, self.other)


def _kinds(outputs: Outputs) -> Floats:
    return outputs.kinds.astype(np.float64)


def _words(outputs: Outputs) -> Floats:
    return outputs.words.astype(np.float64)


def _lengths(outputs: Outputs) -> Floats:
    return outputs.lengths.astype(np.float64)


def _whole(outputs: Outputs) -> Floats:
    return outputs.whole


def _times(outputs: Outputs) -> Floats:
    assert outputs.times is not None  # noqa: S101 - the column exists only where there are times
    return outputs.times


def _sum(outputs: Outputs) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.nansum(outputs.numbers, axis=1), dtype=np.float64)


def _largest(outputs: Outputs) -> Floats:
    filled = np.where(np.isnan(outputs.numbers), -np.inf, outputs.numbers)
    return np.asarray(filled.max(axis=1, initial=-np.inf), dtype=np.float64)


def _least(outputs: Outputs) -> Floats:
    filled = np.where(np.isnan(outputs.numbers), np.inf, outputs.numbers)
    return np.asarray(filled.min(axis=1, initial=np.inf), dtype=np.float64)


_RANGES = 24
_MOST_ROWS = 20_000
_STEPS = 12
_MAX_MULTIPLIED_COORDINATES = 6
_MOST_SQUARES = 64
_RIDGE = 1e-6
_CLIP = 1e150


@dataclass(frozen=True)
class Ratios:
    """The sum over the coordinates of the logarithm of how much likelier their ranges are.

    It orders outputs as their likelihood ratio does when the coordinates are independent.
    """

    edges: tuple[Floats, ...]
    logs: tuple[Floats, ...]

    def __call__(self, outputs: Outputs) -> Floats:
        total = np.zeros(len(outputs))
        for place, (edges, logs) in enumerate(zip(self.edges, self.logs, strict=True)):
            total += logs[_ranges(coordinate(outputs, place), edges)]
        return np.round(total, 9)


@dataclass(frozen=True)
class Logistic:
    """A weighted sum of the coordinates and, unless there are many, of their products.

    ``order`` is 1 for the coordinates alone, 2 for their squares, too, and 3 for all products.
    """

    centre: Floats
    spread: Floats
    weights: Floats
    order: int

    def __call__(self, outputs: Outputs) -> Floats:
        width = len(self.centre)
        numbers = np.stack([coordinate(outputs, place) for place in range(width)], axis=1)
        return _powers(_standard(numbers, self.centre, self.spread), self.order) @ self.weights


def score_columns(fit: Pair) -> Iterator[Column]:
    """Yield scores of outputs with several coordinates, learnt on the outputs of two inputs."""
    width = max(outputs.width for outputs in fit)
    if width < 2:
        return
    yield Column("the sum of the coordinates' scores", _ratios(fit, width))
    yield Column("the classifier's score", _logistic(fit, width))


def _ratios(fit: Pair, width: int) -> Ratios:
    edges, logs = [], []
    for place in range(width):
        sides = [coordinate(outputs, place) for outputs in fit]
        both = np.concatenate(sides)
        both = np.sort(both[~np.isnan(both)])
        cells = int(np.clip(len(both) // 50, 2, _RANGES))
        found = (
            both[np.linspace(0, len(both) - 1, cells + 1).astype(np.intp)] if len(both) else both
        )
        found = np.unique(found)[1:]
        counts = [
            np.bincount(_ranges(side, found), minlength=len(found) + 2) + 1.0 for side in sides
        ]
        edges.append(found)
        logs.append(np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum()))
    return Ratios(tuple(edges), tuple(logs))


def _ranges(values: Floats, edges: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    places = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), len(edges) + 1, places)


def _logistic(fit: Pair, width: int) -> Logistic:
    """Learn the weights by Newton's steps on standardised numbers."""
    sides = [
        np.stack([coordinate(outputs, place) for place in range(width)], axis=1)[:_MOST_ROWS]
        for outputs in fit
    ]
    both = np.clip(np.nan_to_num(np.concatenate(sides), nan=0.0), -_CLIP, _CLIP)
    centre = np.median(both, axis=0)
    spread = np.maximum(np.mean(np.abs(both - centre), axis=0), 1e-300)
    order = 3 if width <= _MAX_MULTIPLIED_COORDINATES else 2 if width <= _MOST_SQUARES else 1
    powers = _powers(_standard(np.concatenate(sides), centre, spread), order)
    wanted = np.repeat([1.0, 0.0], [len(side) for side in sides])
    weights = np.zeros(powers.shape[1])
    ridge = _RIDGE * len(powers) * np.eye(len(weights))
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(powers @ weights, -30, 30)))
        slope = powers.T @ (wanted - chance) - ridge @ weights
        curve = (powers * (chance * (1 - chance))[:, np.newaxis]).T @ powers + ridge
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.max(np.abs(step)) < 1e-4:
            break
    return Logistic(centre, spread, weights, order)


def _standard(numbers: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return numbers of about unit size; far outliers are pulled in, and missing ones are 0."""
    with np.errstate(invalid="ignore"):
        scaled = (np.clip(numbers, -_CLIP, _CLIP) - centre) / spread
    return np.nan_to_num(np.clip(scaled, -8.0, 8.0), nan=0.0)


def _powers(scaled: Floats, order: int) -> Floats:
    parts = [np.ones((len(scaled), 1)), scaled]
    if order == 2:
        parts.append(scaled**2)
    elif order == 3:
        one, other = np.triu_indices(scaled.shape[1])
        parts.append(scaled[:, one] * scaled[:, other])
    return np.concatenate(parts, axis=1)
