# SPDX-License-Identifier: Apache-2.0
"""Local sensitivity within k changes, as a function A(k) that can be asked for any k.

All of these are private: they tell about the data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.numbers.rational import Integer, is_integer, positive_whole
from sordino.sensitivity import order_statistics as ranks
from sordino.sensitivity.check import Function, Space, answers, listed
from sordino.sensitivity.norms import Neighbours, read_bounds, read_neighbours

_NEARLY = 1 - 2.0**-48  # a difference of doubles is off by far less


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Within:
    """The largest local sensitivity within k changes, for any k, from a list of the first ones.

    ``values`` are A(0), A(1), ... up to where it does not grow any more.

    Guarantee:
        Neighbours: those that it was made for.
        Loss: not private; it tells about the data.
        Numerics: exact, for the numbers that the function returned.
        Proof: docs/proofs/smooth.md, theorems 1 and A.
    """

    values: tuple[Fraction, ...]
    largest: Fraction

    def __repr__(self) -> str:  # the data stays inside
        return "<local sensitivity within k changes>"

    def __call__(self, changes: Integer, /) -> Fraction:
        return self.values[min(read_changes(changes), len(self.values) - 1)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Windows:
    """The longest window of sorted data that has k + 1 steps more than its start, for any k.

    ``below`` descends and ``above`` ascends from the places where windows begin; lengths are in
    multiples of ``unit``.

    Guarantee:
        Neighbours: replace_one, with a public number of records.
        Loss: not private; it tells about the data.
        Numerics: exact, for values that were read as doubles and clamped.
        Proof: docs/proofs/smooth.md, theorems 2 and 3.
    """

    below: ranks.Floats
    above: ranks.Floats
    unit: Fraction

    def __repr__(self) -> str:  # the data stays inside
        return "<local sensitivity within k changes>"

    def __call__(self, changes: Integer, /) -> Fraction:
        steps = min(read_changes(changes) + 1, self.below.size + self.above.size)
        down = np.arange(steps + 1)
        start = self.below[np.minimum(down, self.below.size - 1)]
        end = self.above[np.minimum(steps - down, self.above.size - 1)]
        lengths = end - start
        longest = np.flatnonzero(lengths >= lengths.max() * _NEARLY)
        return self.unit * max(Fraction(end[p]) - Fraction(start[p]) for p in longest.tolist())


def within(
    f: Function,
    dataset: Iterable[object],
    universe: Iterable[object],
    neighbours: str,
    *,
    size: Integer | None,
    least: Integer,
    ordered: bool,
) -> Within:
    """Return A(k) of any function by brute force over all data sets of a small universe."""
    relation, records = read_neighbours(neighbours), listed("universe", universe)
    here = _places(list(dataset), records)
    space = _space(len(records), len(here), relation, size=size, least=least, ordered=ordered)
    space.refuse_too_many(relation)
    data = list(space.all())
    table, _ = answers(f, [tuple(records[p] for p in places) for places in data])
    start = data.index(tuple(here) if ordered else tuple(sorted(here)))
    ones, others = space.neighbours(data, relation)
    unit = table.unit
    moved = np.zeros(len(data), dtype=table.integers.dtype)
    for one, other in zip(ones, others, strict=True):
        moves = np.abs(table.integers[other] - table.integers[one]).sum(axis=1)
        np.maximum.at(moved, one, moves)
        np.maximum.at(moved, other, moves)
    steps = _steps(start, len(data), ones, others)
    reached = range(int(steps.max()) + 1)
    most, values = 0, []
    for k in reached:
        most = max(most, int(moved[steps == k].max()))
        values.append(Fraction(most, unit))
    while len(values) > 1 and values[-1] == values[-2]:
        values.pop()
    return Within(tuple(values), Fraction(int(moved.max()), unit))


def of_rank(values: object, rank: ranks.Rank, bounds: object) -> Windows:
    """Return A(k) of an order statistic of clamped values."""
    low, high = _range(bounds)
    doubles = np.sort(ranks.read_values(values, low).clip(low, high))
    place = rank(doubles.size) - 1
    below, above = doubles[place::-1], doubles[place:]
    return Windows(np.append(below, low), np.append(above, high), Fraction(1))


def of_trimmed_mean(values: object, trim: object, bounds: object) -> Windows:
    """Return A(k) of a trimmed mean of clamped and rounded values."""
    low, high = _range(bounds)
    doubles = ranks.read_values(values, low)
    cut = ranks.read_trim(trim, doubles.size)
    grid = ranks.in_steps(doubles, low, high)
    steps = np.sort(grid.steps)
    below, above = steps[cut::-1], steps[steps.size - 1 - cut :]
    unit = Fraction(2) ** grid.exponent / (steps.size - 2 * cut)
    return Windows(np.append(below, float(grid.low)), np.append(above, float(grid.high)), unit)


def read_changes(changes: object) -> int:
    """Read a number of changes, which is public."""
    if not is_integer(changes):
        raise TypeError(f"changes must be a whole number, not {type(changes).__name__}")
    if changes < 0:
        raise ValueError("changes must not be negative")
    return int(changes)


def _space(
    kinds: int,
    here: int,
    relation: Neighbours,
    *,
    size: Integer | None,
    least: Integer,
    ordered: bool,
) -> Space:
    """Return the data sets that can be reached: all of the sizes that there may be."""
    if relation is Neighbours.replace_one:
        if size is not None:
            raise TypeError("size is for add_remove; with replace_one it is that of the data set")
        if here == 0:
            raise ValueError("a data set without records has none that could be replaced")
        return Space(kinds, here, here, ordered)
    if size is None:
        raise TypeError("add_remove needs size, the largest number of records that there can be")
    most, fewest = positive_whole("size", size), read_changes(least)
    if not fewest < most:
        raise ValueError("no two data sets of these sizes are neighbours; lower least")
    if not fewest <= here <= most:
        raise ValueError("the data set must have least to size records")
    return Space(kinds, fewest, most, ordered)


def _steps(
    start: int, size: int, ones: list[npt.NDArray[Any]], others: list[npt.NDArray[Any]]
) -> npt.NDArray[np.int64]:
    """Return how many steps lead from one data set to each of all."""
    one = np.concatenate([*ones, *others])
    other = np.concatenate([*others, *ones])
    steps = np.full(size, -1, dtype=np.int64)
    steps[start] = level = 0
    while (steps < 0).any():
        new = other[(steps[one] == level) & (steps[other] < 0)]
        if not new.size:
            break
        level += 1
        steps[new] = level
    return steps


def _places(dataset: list[object], universe: list[object]) -> list[int]:
    """Return where the records of a data set are in the universe."""
    places = []
    for record in dataset:
        place = next((p for p, other in enumerate(universe) if other is record), None)
        if place is None:
            place = next((p for p, other in enumerate(universe) if _same(record, other)), None)
        if place is None:
            raise ValueError("the universe must hold every record that there can be in the data")
        places.append(place)
    return places


def _same(one: object, other: object) -> bool:
    equal = one == other
    return bool(equal) if isinstance(equal, bool | np.bool_) else bool(np.all(equal))


def _range(bounds: object) -> tuple[float, float]:
    ends = read_bounds(bounds)
    low, high = float(ends.low), float(ends.high)
    if not low < high:
        raise ValueError("bounds must be (low, high) with low below high")
    return low, high
