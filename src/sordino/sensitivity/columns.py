# SPDX-License-Identifier: Apache-2.0
"""Columns of identifiers and of numbers, read into 64-bit integers.

An identifier is never numbered by its place among the others: the number of one unit must not
change because another one came or went. Codes serve to tell identifiers apart and to order them;
words, which depend on the identifier alone, are what is hashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.exact.hashing import Words, digests

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

LARGEST = 1 << 62  # larger integers, and reals beyond so many steps of the grid, count as this
_SPARE = 4  # so many times as many places as rows may a table have that is indexed by codes
_SMALL_TABLE = 1 << 20
_MASKED = "{0} must not be a masked array; leave out the rows that have no value first"
_KINDS = (
    "{0} must be integers, booleans, dates or strings, got {1}; floats do not serve to tell "
    "groups apart"
)
_MISSING = "{0} has missing entries; leave out the rows without one"


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Identifiers as integers: ``codes`` in the order of the identifiers, from 0 to ``span - 1``.

    ``distinct`` holds the identifiers by code, or is None where code + ``least`` is the identifier.

    Guarantee: none needed; a view of the data, which does not leave the program.
    """

    codes: Words
    span: int
    least: int
    distinct: Array | None
    kind: np.dtype[Any]
    _digests: Words | None

    def identifiers(self, codes: Words) -> Array:
        """Return the identifiers that belong to codes.

        Guarantee: none needed; private, as the data is.
        """
        if self.distinct is not None:
            return self.distinct[codes.astype(np.intp)]
        return self._integers(codes).view(_wide(self.kind)).astype(self.kind)

    def words(self, codes: Words) -> Words:
        """Return what is hashed: the integer itself, or the digest of a text.

        Guarantee: none needed; private, as the data is.
        """
        if self._digests is not None:
            return self._digests[codes.astype(np.intp)]
        return self._integers(codes)

    def _integers(self, codes: Words) -> Words:
        return codes + np.uint64(self.least % (1 << 64))


def read_column(name: str, values: object, secret: bytes, *, dense: bool = False) -> Column:
    """Read a column of identifiers; ``dense`` asks for codes that a table can be indexed by.

    Guarantee: none needed; private, as the data is. Messages speak of types only.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(_MASKED.format(name))
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one column, got {array.ndim} dimensions")
    if array.dtype.kind in "OT" or not array.size:
        array = _plain(name, array)
    if array.dtype.kind in "USO":
        distinct, inverse = np.unique(array, return_inverse=True)
        codes = inverse.astype(np.uint64)
        return Column(
            codes, distinct.size, 0, distinct, array.dtype, digests(distinct.tolist(), secret)
        )
    if array.dtype.kind == "M" and np.isnat(array).any():
        raise ValueError(_MISSING.format(name))
    if array.dtype.kind not in "biuM":
        raise TypeError(_KINDS.format(name, array.dtype.type.__name__))
    return _of_integers(array, dense=dense)


def _of_integers(array: Array, *, dense: bool) -> Column:
    wide = array.astype(_wide(array.dtype), copy=False)
    least = int(wide.min()) if wide.size else 0
    span = int(wide.max()) - least + 1 if wide.size else 0
    if dense and span > max(_SPARE * wide.size, _SMALL_TABLE):
        distinct, inverse = np.unique(wide, return_inverse=True)
        words = distinct.view(np.uint64)
        known = distinct.astype(array.dtype)
        return Column(inverse.view(np.uint64), distinct.size, 0, known, array.dtype, words)
    codes = wide.view(np.uint64) - np.uint64(least % (1 << 64))
    return Column(codes, span, least, None, array.dtype, None)


def _wide(kind: np.dtype[Any]) -> np.dtype[Any]:
    unsigned = kind.kind == "u" and kind.itemsize == 8
    return np.dtype(np.uint64 if unsigned else np.int64)


def _plain(name: str, array: Array) -> Array:
    """Turn objects into an array of integers, or see that all are strings, or all bytes."""
    listed = array.tolist()
    kinds = set(map(type, listed))
    if any(kind is type(None) or kind.__name__ in {"NAType", "NaTType"} for kind in kinds):
        raise ValueError(_MISSING.format(name))
    if not kinds:
        return array if array.dtype.kind in "biuMUS" else array.astype(np.int64)
    # numpy's own strings would drop null characters at the end
    if any(all(issubclass(kind, text) for kind in kinds) for text in (str, bytes)):
        return array.astype(object)
    if all(issubclass(kind, int | np.integer) for kind in kinds) and bool not in kinds:
        try:
            return np.array([int(x) for x in listed], dtype=np.int64)
        except OverflowError:
            raise ValueError(f"{name} has integers beyond 64 bits") from None
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(_KINDS.format(name, names))


def read_numbers(values: object, *, exponent: int, nan: int) -> Integers:
    """Read a column of numbers as whole multiples of 2**exponent.

    Reals are rounded to the nearest multiple, ties to even; those beyond 2**62 steps, infinities
    among them, count as 2**62 steps, and NaN counts as ``nan``. Integers need an exponent of 0.

    Guarantee: none needed; each number is read by itself. Messages speak of types only.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(_MASKED.format("values"))
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"values must be one column, got {array.ndim} dimensions")
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        reals = array.astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            np.ldexp(reals, -exponent, out=reals)
        missing = np.isnan(reals)
        reals[missing] = 0.0
        np.rint(reals, out=reals)
        np.clip(reals, -float(LARGEST), float(LARGEST), out=reals)
        whole = reals.astype(np.int64)
        whole[missing] = nan
        return whole
    if array.dtype.kind not in "biu":
        raise TypeError(f"values must be integers or doubles, got {array.dtype.type.__name__}")
    if array.dtype.kind == "u":
        array = np.minimum(array, np.array(LARGEST, dtype=np.uint64))
    whole = array.astype(np.int64)
    return np.clip(whole, -LARGEST, LARGEST, out=whole)


def on_grid(x: Fraction, exponent: int) -> int:
    """Round a public bound to the grid as the values are rounded: to the nearest, ties to even.

    Guarantee: none needed; public inputs only.
    """
    return round(x / Fraction(2) ** exponent)
