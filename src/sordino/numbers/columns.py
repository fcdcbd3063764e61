# SPDX-License-Identifier: Apache-2.0
"""Columns and their entries, each entry read by itself.

Numpy finds one type for all entries of a list, so that a single text or a single real among
integers would change how everybody's entries are read. Lists are read as objects here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Exact: TypeAlias = "int | Fraction | float"

_FARTHEST = 10_000  # decimals with more digits than this are infinite, or 0
_MASKED = "{0} must not be a masked array; leave out the rows that have no value first"
_WHOLE = int | np.integer | np.bool_
_NOTHING = {"NoneType", "NAType", "NaTType"}


def read_entries(name: str, values: object) -> Array:
    """Return a column as an array: of its own type if it has one, of objects otherwise.

    Messages speak of types only.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(_MASKED.format(name))
    if isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray):
        return np.fromiter(values, dtype=object, count=len(values))
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one column, got {array.ndim} dimensions")
    if array.dtype.kind == "f" and not _holds_reals(values):
        # A missing entry has turned a column of integers into doubles, which merge large ones.
        return np.fromiter(_one_by_one(values), dtype=object, count=array.size)
    return array.astype(object) if array.dtype.kind == "T" else array


def _holds_reals(values: Any) -> bool:
    """Tell whether a column was made for reals, by the type that it states."""
    stated = getattr(values, "dtype", None) or getattr(values, "type", None)
    return str(stated).lower().startswith(("float", "double", "halffloat"))


def _one_by_one(values: Any) -> Iterable[Any]:
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, way):
            return cast("Iterable[Any]", getattr(values, way)())
    return cast("Iterable[Any]", values)


def kinds_of(array: Array) -> set[type]:
    """Return the types of the objects in an array."""
    return set(map(type, array.tolist()))


def as_int64(array: Array) -> npt.NDArray[np.int64] | None:
    """Return objects as 64-bit integers, if that is what all of them are."""
    if not all(issubclass(kind, _WHOLE) and not _is_time(kind) for kind in kinds_of(array)):
        return None
    try:
        return array.astype(np.int64)
    except OverflowError:
        return None


def is_missing(x: object) -> bool:
    """Tell whether an entry stands for nothing: None, NaN and what other libraries have for it.

    >>> [is_missing(x) for x in (None, float("nan"), Decimal("nan"), 0, "")]
    [True, True, True, False, False]
    """
    if isinstance(x, np.datetime64 | np.timedelta64):
        return bool(np.isnat(x))
    if isinstance(x, Decimal):
        return x.is_nan()
    if isinstance(x, float | np.floating):
        return bool(np.isnan(x))
    return type(x).__name__ in _NOTHING


def number_of(x: object) -> Exact | None:
    """Return the number that an entry is, exactly; None if it is not a number.

    Whole numbers are int, whatever their type was, infinities are float, all others Fraction.
    Decimals from 10**10000 on count as infinite, those of 10**-10000 and less as 0.

    >>> number_of(2.0), number_of(True), number_of(Decimal("0.1")), number_of("2")
    (2, 1, Fraction(1, 10), None)
    """
    if isinstance(x, _WHOLE) and not _is_time(type(x)):
        return int(x)
    if is_missing(x) or not isinstance(x, float | np.floating | Decimal | Fraction):
        return None
    if isinstance(x, Decimal) and x and x.is_finite() and abs(x.adjusted()) >= _FARTHEST:
        x = 0.0 if x.adjusted() < 0 else math.copysign(math.inf, x)
    if abs(x) == math.inf:
        return math.inf if x > 0 else -math.inf
    above, below = x.as_integer_ratio()
    exact = Fraction(int(above), int(below))
    return exact.numerator if exact.denominator == 1 else exact


def _is_time(kind: type) -> bool:
    return issubclass(kind, np.timedelta64)  # which numpy counts among the integers
