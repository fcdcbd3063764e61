# SPDX-License-Identifier: Apache-2.0
"""Adding integer noise to whatever number or array a user hands over.

What a value is, is decided by its type, and messages speak of types only, never of contents. Values
that are missing, NaN or infinite are refused with a constant sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.samplers import Sampler
from sordino.mechanisms.grid import from_grid, to_grid

Array: TypeAlias = npt.NDArray[Any]
Integers: TypeAlias = npt.NDArray[np.int64]

LOWEST, HIGHEST = -(2**63), 2**63 - 1
_HALF = 2**62
_SAFE = 2.0**62  # two numbers below this do not overflow 64 bits together
_EXACT = 2**53  # integers up to this are exact as doubles

REALS = (
    "this mechanism releases whole numbers because its sensitivity is the integer {0}; "
    "convert counts with int(...) or .astype(int), or give the sensitivity of the real value as a "
    "float, such as {0}.0"
)
BOOLEANS = (
    "release takes numbers, not booleans; turn them into 0 and 1 with int(...) or .astype(int)"
)
MISSING = "some values are missing; fill them in or leave them out before the release"
NOT_FINITE = "some values are NaN or infinite; replace or clip them before the release"
MASKED = "masked arrays are not released; fill them with .filled(...) first"
EXTENDED = (
    "release takes doubles, not extended precision; convert with float(...) or .astype(float)"
)
OTHERS = "release takes numbers or arrays of numbers, not {0}"
KEYS = OTHERS + "; list its values in an order fixed beforehand: [counts[key] for key in KEYS]"
UNEVEN = OTHERS.format("rows of unequal length") + "; make them alike or release them one by one"
COLUMNS = "release takes one column of a table at a time, such as table['name']; not a whole table"

_FAR = 1000  # a Decimal below 10**-_FAR is rounded to 0 on every grid
_FARTHEST: int = 10**_FAR  # exact numbers beyond are clamped, so that none is written out in full


def release_integers(value: object, sampler: Sampler, *, sensitivity: int, most: int | None) -> Any:
    """Return integers with noise: an int for a number, an int64 array for an array.

    Guarantee:
        Neighbours: any change that moves the integers by no more than the sampler was made for.
        Loss: that of the noise, drawn afresh for each coordinate.
        Numerics: exact. In an array, a result beyond 64 bits becomes the nearest 64-bit integer,
            which is post-processing; nothing wraps.
        Proof: docs/proofs/laplace.md, theorem 1; docs/proofs/gaussian.md, theorem 3.
    """
    array = as_array(value)
    if array is None:
        if isinstance(value, float | np.floating | Fraction | Decimal):
            raise TypeError(REALS.format(sensitivity))
        return int(_integer(value)) + sampler.one()
    _check_size(array, most)
    if array.dtype.kind == "f":
        raise TypeError(REALS.format(sensitivity))
    if array.dtype.kind == "O":
        if not all(issubclass(kind, int | np.integer) for kind in _kinds(array)):
            raise TypeError(REALS.format(sensitivity))
        return _add_exactly(array, sampler.many(array.size))
    noisy = np.empty(array.size, dtype=np.int64)
    for start, piece, beyond in sampler.fill(noisy):
        values = _flat(array, start, piece.size)
        _add_into(piece, values)
        for at, large in beyond.items():
            piece[at] = _saturated(int(values[at]) + large)
    return noisy.reshape(array.shape)


def release_reals(value: object, sampler: Sampler, *, exponent: int, most: int) -> Any:
    """Return reals on the grid with noise: a float for a number, a float64 array for an array.

    Guarantee:
        Neighbours: any change that moves the rounded values by no more than the sampler was made
            for; the grid says how far that is.
        Loss: that of the noise, drawn afresh for each coordinate.
        Numerics: rounding to the grid and adding noise are exact, for Fractions and Decimals too;
            turning the result into the nearest double is post-processing.
        Proof: docs/proofs/laplace.md, theorem 5; docs/proofs/gaussian.md, theorem 7.
    """
    array = as_array(value)
    if array is None:
        return from_grid(to_grid(_real(value), exponent) + sampler.one(), exponent)
    _check_size(array, most)
    reals = _as_doubles(array)
    noise = sampler.many(array.size)
    if reals is None or noise.dtype == object:
        exact = [to_grid(_real(x), exponent) for x in array.reshape(-1).tolist()]
        noisy = [from_grid(x + int(y), exponent) for x, y in zip(exact, noise, strict=True)]
        return np.array(noisy, dtype=np.float64).reshape(array.shape)
    return _add_on_grid(reals, noise, exponent).reshape(array.shape)


def as_array(value: object) -> Array | None:
    """Return an array of numbers, or None for anything that is not array-like; refuse booleans.

    Guarantee: none needed; what it returns is as private as what it takes.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(MASKED)
    if isinstance(value, np.generic | str | bytes):
        return None
    if hasattr(value, "columns"):  # joining columns may turn large integers into doubles
        raise TypeError(COLUMNS)
    if isinstance(value, Sequence):
        array = _rows(value)
    elif hasattr(value, "__array__"):
        array = np.asarray(value)
        declared = str(getattr(value, "dtype", array.dtype)).lower()
        if array.dtype.kind == "f" and declared.startswith(("int", "uint")):
            raise ValueError(MISSING)  # a column of integers with gaps turns into doubles
    else:
        return None
    _check_dtype(array)
    return array


def _check_dtype(array: Array) -> None:
    """Refuse arrays of what is not an integer or a double, by their type."""
    if array.dtype.kind == "b":
        raise TypeError(BOOLEANS)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise TypeError(EXTENDED)
    if array.dtype.kind not in "iufO":
        raise TypeError(f"release takes numbers, not an array of {array.dtype.type.__name__}")
    for kind in _kinds(array) if array.dtype.kind == "O" else ():
        _check_kind(kind)


def _rows(value: Sequence[object]) -> Array:
    """Return the objects of a sequence, so that large integers are not made into doubles."""
    try:
        array = np.array(value, dtype=object)
    except ValueError:
        raise TypeError(UNEVEN) from None
    if any(issubclass(kind, list | tuple | np.ndarray) for kind in _kinds(array)):
        raise TypeError(UNEVEN)
    return array


def _kinds(array: Array) -> set[type]:
    return set(map(type, array.reshape(-1).tolist()))


def _check_kind(kind: type, others: str = OTHERS) -> None:
    """Refuse whatever is not an integer, a double, a Fraction or a Decimal, by its type."""
    if issubclass(kind, bool | np.bool_):
        raise TypeError(BOOLEANS)
    if kind is type(None) or kind.__name__ in {"NAType", "NaTType"}:
        raise ValueError(MISSING)
    if issubclass(kind, np.longdouble):
        raise TypeError(EXTENDED)
    if issubclass(kind, Mapping):
        raise TypeError(KEYS.format(kind.__name__))
    number = issubclass(kind, int | float | Fraction | Decimal | np.integer | np.floating)
    if not number or issubclass(kind, np.timedelta64):  # which numpy counts among the integers
        raise TypeError(others.format(kind.__name__))


def _integer(value: object) -> int:
    _check_kind(type(value))
    return int(value)  # type: ignore[call-overload, no-any-return]  # its kind was just checked


def _real(value: object) -> int | float | Fraction | Decimal:
    """Return a finite double as it is, any other number exactly, from -10**1000 to 10**1000.

    Clamping moves no two numbers further apart, whatever their types are.
    """
    _check_kind(type(value))
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, Fraction):
        return min(max(value, Fraction(-_FARTHEST)), Fraction(_FARTHEST))
    if isinstance(value, int | np.integer):
        return min(max(int(value), -_FARTHEST), _FARTHEST)
    real = float(value)  # type: ignore[arg-type]  # its kind was just checked
    if not np.isfinite(real):
        raise ValueError(NOT_FINITE)
    return real


def _decimal(value: Decimal) -> int | Decimal:
    if not value.is_finite():
        raise ValueError(NOT_FINITE)
    if not value or value.adjusted() < -_FAR:
        return 0
    if value.adjusted() >= _FAR:
        return _FARTHEST if value > 0 else -_FARTHEST
    return value


def _check_size(array: Array, most: int | None) -> None:
    if most is not None and array.size > most:
        raise ValueError(f"this mechanism releases at most {most} values at a time")


def _flat(array: Array, at: int, size: int) -> Array:
    """Return one block of an array, in reading order, without copying all of it."""
    if array.flags.c_contiguous:
        return array.reshape(-1)[at : at + size]
    block: Array = array.flat[at : at + size]
    return block


def _add_into(noise: Integers, values: Array) -> None:
    """Add values to noise in place; results beyond 64 bits become the nearest 64-bit integer."""
    if _is_small(noise) and _is_small(values):
        # No sum is beyond 64 bits. Without dtype numpy would add int64 and uint64 as doubles, and
        # rounding large values could move neighbours far apart.
        np.add(noise, values, out=noise, dtype=np.int64, casting="unsafe")
        return
    signed = values.astype(np.int64)
    total = signed + noise
    beyond = ((signed ^ total) & (noise ^ total)) < 0
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        # A value v >= 2**63 appears as v - 2**64. Its sum fits if noise < 2**63 - v.
        large = values > HIGHEST
        beyond = np.where(large, noise >= -(signed ^ LOWEST), beyond)
        total[beyond & large] = HIGHEST
        beyond &= ~large
    if beyond.any():
        total[beyond] = np.where(noise[beyond] < 0, LOWEST, HIGHEST)
    noise[:] = total


def _is_small(values: Array) -> bool:
    """Tell whether all numbers are so small that two of them cannot overflow together."""
    return bool(values.max(initial=0) < _HALF and values.min(initial=0) > -_HALF)


def _add_exactly(array: Array, noise: Array) -> Integers:
    pairs = zip(array.reshape(-1).tolist(), noise.tolist(), strict=True)
    exact = [_saturated(int(x) + y) for x, y in pairs]
    return np.array(exact, dtype=np.int64).reshape(array.shape)


def _saturated(x: int) -> int:
    return min(max(x, LOWEST), HIGHEST)


def _as_doubles(array: Array) -> npt.NDArray[np.float64] | None:
    """Return the doubles that an array holds exactly, or None if it holds others as well."""
    flat = array.reshape(-1)
    kinds = _kinds(array) if array.dtype.kind == "O" else set()
    if array.dtype.kind == "f" or (kinds and all(issubclass(kind, float) for kind in kinds)):
        doubles: npt.NDArray[np.float64] = flat.astype(np.float64)
        if not np.isfinite(doubles).all():
            raise ValueError(NOT_FINITE)
        return doubles
    if array.dtype.kind in "iu" and ((flat <= _EXACT) & (flat >= -_EXACT)).all():
        return flat.astype(np.float64)
    return None


def _add_on_grid(
    reals: npt.NDArray[np.float64], noise: Integers, exponent: int
) -> npt.NDArray[np.float64]:
    with np.errstate(over="ignore", under="ignore"):
        steps = np.ldexp(reals, -exponent)
    easy = (np.abs(steps) < _SAFE) & (np.abs(noise.astype(np.float64)) < _SAFE)
    rounded = np.rint(np.where(easy, steps, 0.0)).astype(np.int64)
    noisy = np.ldexp((rounded + np.where(easy, noise, 0)).astype(np.float64), exponent)
    for i in np.flatnonzero(~easy):
        noisy[i] = from_grid(to_grid(float(reals[i]), exponent) + int(noise[i]), exponent)
    return noisy
