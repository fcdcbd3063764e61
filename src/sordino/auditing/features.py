# SPDX-License-Identifier: Apache-2.0
"""Numbers computed from outputs, one for each run: what an event can look at."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from sordino.auditing.outputs import Floats, Outputs

Pair: TypeAlias = tuple[Outputs, Outputs]
Sort: TypeAlias = Literal["number", "places", "whole", "kind", "words"]

_MOST_PAIRED = 4  # coordinates looked at two by two


@dataclass(frozen=True)
class Column:
    """One number for each run, and what it is called.

    ``sort`` says how its cells are made and told: a number has ranges; places are binary places,
    each a cell; whole outputs, kinds and words are codes, each a cell.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    words: str
    of: Callable[[Outputs], Floats]
    sort: Sort = "number"


def granularity(values: Floats) -> Floats:
    """Return the exponent of the largest power of two that divides each value; NaN if none does.

    Noise made of floats is rounded to a grid that depends on the size of the numbers added, and so
    on the data; the last binary digit shows the grid.

    >>> granularity(np.array([12.0, 0.75, 1.0, -2.5, 0.0]))
    array([ 2., -2.,  0., -1., nan])

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
    usable = np.isfinite(values) & (values != 0)
    mantissa, exponent = np.frexp(np.where(usable, values, 1.0))
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    last = np.log2((digits & -digits).astype(np.float64))
    return np.where(usable, exponent - 53 + last, np.nan)


def columns(fit: Pair) -> Iterator[Column]:
    """Yield what there is to look at in the outputs of two inputs, the simplest first.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
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
    """Return one coordinate; NaN where the outputs have no such coordinate.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
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
    if len(names) <= _MOST_PAIRED:
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
