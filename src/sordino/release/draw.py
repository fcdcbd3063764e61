# SPDX-License-Identifier: Apache-2.0
"""Noise on exact integers, one for each group, and what the noisy numbers say about the exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.keys.selection import KeySelection, Selected, place
from sordino.numbers.rounding import down, up
from sordino.plan.bounded import Bounded, Cells, UnitCount
from sordino.plan.intervals import accuracy_of
from sordino.plan.plan import Added
from sordino.query.tree import Key
from sordino.query.types import Value

if TYPE_CHECKING:
    import pyarrow as pa


Keys: TypeAlias = "tuple[Value, ...]"
Integers: TypeAlias = npt.NDArray[np.int64]

NOWHERE = -1  # the place of a row whose group is not answered


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups in the order of the answer, which never comes from an engine.

    Guarantee: none by itself; declared groups are public, discovered ones went through selection.
    """

    keys: tuple[Keys, ...]
    places: dict[Keys, int]

    def find(self, table: pa.Table) -> Integers:
        """Return for each row of a part the place of its group; -1 if it is not answered.

        Guarantee: none by itself; private, as the rows are.
        """
        width = len(self.keys[0]) if self.keys else 0
        if not width:
            return np.full(table.num_rows, 0 if self.keys else NOWHERE, dtype=np.int64)
        rows = _keys_of(table, width)
        get = self.places.get
        return np.fromiter((get(key, NOWHERE) for key in rows), np.int64, count=len(rows))


def declared(bounded: Bounded) -> Groups:
    """Return all combinations of public keys, in the order in which they were declared."""
    keys = tuple(product(*map(_domain, bounded.keys)))
    return Groups(keys, {key: at for at, key in enumerate(keys)})


def discovered(bounded: Bounded, tables: tuple[pa.Table, ...], rule: KeySelection) -> Groups:
    """Return the keys that enough units have, in their own order.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: that of the rule; keys that are not kept leave no trace.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 5; docs/proofs/partitions.md, theorems 2 to 4.
    """
    part, column = _unit_count(bounded)
    table = tables[part]
    counts = table.column(f"s{column}").to_pylist()
    found = rule.release(np.array([int(n or 0) for n in counts], dtype=np.int64))
    kept = np.flatnonzero(found.kept if isinstance(found, Selected) else found)
    # From here on only kept keys are looked at: what follows is a function of the result.
    keys = sorted(_keys_of(table.take(kept), len(bounded.keys)), key=place)
    return Groups(tuple(keys), {key: at for at, key in enumerate(keys)})


def _domain(key: Key) -> tuple[Value, ...]:
    if key.bins is not None:
        return tuple(range(key.bins.count))
    if key.domain is None:
        raise ValueError("only declared keys can be listed")
    named = dict.fromkeys(key.domain)
    if key.other is not None:
        named[key.other] = None
    return tuple(named)


def _keys_of(table: pa.Table, width: int) -> list[Keys]:
    columns = [table.column(f"k{at}").to_pylist() for at in range(width)]
    return list(zip(*columns, strict=True))


def _unit_count(bounded: Bounded) -> tuple[int, int]:
    """Return the part and the column that say how many units have each key."""
    for part, cells in enumerate(bounded.parts):
        if isinstance(cells, Cells) and UnitCount() in cells.statistics:
            return part, cells.statistics.index(UnitCount())
    raise ValueError("keys are selected by how many units have them, and nothing counts that")


Doubles: TypeAlias = npt.NDArray[np.float64]
_LARGEST = 2**62  # two integers below this do not overflow 64 bits together
_EXACT = 2**53  # integers up to this are exact as doubles


@dataclass(frozen=True, slots=True)
class Span:
    """For each group a value and an interval that holds the exact one with a confidence."""

    value: Doubles
    low: Doubles
    high: Doubles

    def clip(self, low: float, high: float) -> Span:
        """Return the same numbers kept within public bounds, where the exact ones lie."""
        return Span(*(np.clip(x, low, high) for x in (self.value, self.low, self.high)))


@dataclass(frozen=True, slots=True)
class Noisy:
    """The noisy integers of one release, one for each group.

    Guarantee: that of the release.
    """

    release: Added
    steps: npt.NDArray[Any]  # int64, or objects where they may be larger

    def span(self, level: Fraction) -> Span:
        """Return values and the intervals that hold the exact ones with a confidence each."""
        far = int(accuracy_of(self.release.mechanism, level))
        step = self.release.step
        return Span(
            _scaled(self.steps, step, 0),
            _scaled(self.steps - far, step, -1),
            _scaled(self.steps + far, step, 1),
        )


def add_noise(release: Added, exact: npt.NDArray[Any]) -> Noisy:
    """Return exact integers with noise, whatever their size.

    Noise is drawn on zeros and added here, because sums may be larger than 64 bits; the law of the
    noise does not depend on what it is added to.

    Guarantee:
        Neighbours: any change that moves the integers by at most the sensitivity of the mechanism.
        Loss: that of the mechanism.
        Numerics: exact integers.
        Proof: docs/proofs/queries.md, theorem 3.
    """
    noise = release.mechanism.release(np.zeros(exact.size, dtype=np.int64))
    if exact.dtype == np.int64 and _is_small(exact) and _is_small(noise):
        return Noisy(release, exact + noise)
    return Noisy(release, exact.astype(object) + noise.astype(object))


def gather(column: pa.ChunkedArray, places: Integers, groups: int) -> npt.NDArray[Any]:
    """Return the exact integer of each group: 0 for those that no row belongs to.

    Guarantee: none by itself; private, as the data is.
    """
    values = read_integers(column)
    there = places != NOWHERE
    if values.dtype == np.int64 and float(np.abs(values.astype(np.float64)).sum()) < _LARGEST:
        total = np.zeros(groups, dtype=np.int64)
        np.add.at(total, places[there], values[there])
        return total
    large: npt.NDArray[Any] = np.zeros(groups, dtype=object)
    for at, value in zip(places[there].tolist(), values[there].tolist(), strict=True):
        large[at] += value
    return large


def read_integers(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return a column of integers as int64, or as objects if its type may hold larger ones.

    Guarantee: none by itself; private, as the data is.
    """
    import pyarrow as pa  # takes long to import

    if pa.types.is_integer(column.type) and column.type.bit_width <= 64:
        filled = column.fill_null(0) if column.null_count else column
        return np.asarray(filled.to_numpy()).astype(np.int64)
    if not pa.types.is_decimal(column.type) or column.type.scale:
        raise TypeError("only exact integers are released")
    numbers = [0 if x is None else int(x) for x in column.to_pylist()]
    if all(-_LARGEST < x < _LARGEST for x in numbers):
        return np.array(numbers, dtype=np.int64)
    return np.array([*numbers, None], dtype=object)[:-1]


def _is_small(values: Integers) -> bool:
    return bool(values.max(initial=0) < _LARGEST and values.min(initial=0) > -_LARGEST)


def _scaled(steps: npt.NDArray[Any], step: Fraction, direction: int) -> Doubles:
    """Return doubles next to step * steps: the nearest, or on the side of the direction."""
    over, under = step.numerator, step.denominator
    binary = steps.dtype == np.int64 and not under & (under - 1)
    if (
        binary
        and max(map(abs, (int(steps.max(initial=0)), int(steps.min(initial=0))))) * over < _EXACT
    ):
        return steps.astype(np.float64) * (over / under)
    numbers: Sequence[int] = steps.tolist()
    if direction == 0:
        return np.array([_nearest(n * over, under) for n in numbers], dtype=np.float64)
    side = up if direction > 0 else down
    return np.array([side(Fraction(n * over, under)) for n in numbers], dtype=np.float64)


def _nearest(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return (
            down(Fraction(numerator, denominator))
            if numerator > 0
            else -_nearest(-numerator, denominator)
        )
