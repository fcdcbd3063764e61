# SPDX-License-Identifier: Apache-2.0
"""Noise on exact integers, one for each group, and what the noisy numbers say about the exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.rounding import down, up
from sordino.plan.expect import accuracy_of
from sordino.plan.plan import Added
from sordino.release.groups import NOWHERE, Integers

if TYPE_CHECKING:
    import pyarrow as pa

Doubles: TypeAlias = npt.NDArray[np.float64]
_LARGEST = 2**62  # two integers below this do not overflow 64 bits together
_EXACT = 2**53  # integers up to this are exact as doubles


@dataclass(frozen=True, slots=True)
class Span:
    """For each group a value and an interval that holds the exact one with a confidence.

    Guarantee: post-processing of noisy numbers; intervals are rounded outwards.
    """

    value: Doubles
    low: Doubles
    high: Doubles

    def clip(self, low: float, high: float) -> Span:
        """Return the same numbers kept within public bounds, where the exact ones lie.

        Guarantee: post-processing of noisy numbers.
        """
        return Span(*(np.clip(x, low, high) for x in (self.value, self.low, self.high)))


@dataclass(frozen=True, slots=True)
class Noisy:
    """The noisy integers of one release, one for each group.

    Guarantee: that of the release.
    """

    release: Added
    steps: npt.NDArray[Any]  # int64, or objects where they may be larger

    def span(self, level: Fraction) -> Span:
        """Return values and the intervals that hold the exact ones with a confidence each.

        Guarantee: post-processing of noisy numbers.
        """
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
