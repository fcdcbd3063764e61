# SPDX-License-Identifier: Apache-2.0
"""Columns of identifiers and of numbers, read into 64-bit integers.

An identifier is never numbered by its place among the others: the number of one unit must not
change because another one came or went. Codes serve to tell identifiers apart and to order them;
words, which depend on the identifier alone, are what is hashed. Nor is it decided by the data
whether numbers are whole: the public grid says that.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sordino.exact.hashing import Words
from sordino.sensitivity.identifiers import (
    NUMBER,
    Identity,
    column_of,
    given_back,
    identify,
    words_of,
    words_of_texts,
)
from sordino.sensitivity.lookup import factorise
from sordino.sensitivity.reading import (
    Array,
    as_int64,
    is_missing,
    kinds_of,
    number_of,
    read_entries,
)

Integers = npt.NDArray[np.int64]

LARGEST = 1 << 62  # numbers beyond so many steps of the grid count as this
_SPARE = 4  # so many times as many places as rows may a table have that is indexed by codes
_SMALL_TABLE = 1 << 20
_MOST_SHIFTED = 61  # bits that 64-bit integers can be shifted by
_KINDS = "{0} must be numbers, texts, bytes or dates, got {1}"


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Identifiers as integers: ``codes`` in the order of the identifiers, from 0 to ``span - 1``.

    ``distinct`` holds the identifiers by code, or is None where code + ``least`` is the identifier.
    ``present`` tells which rows have one, and is None if all have.

    Guarantee: none needed; a view of the data, which does not leave the program.
    """

    codes: Words
    span: int
    least: int
    distinct: Array | None
    kind: np.dtype[Any]
    present: npt.NDArray[np.bool_] | None
    _words: Words | None

    def identifiers(self, codes: Words) -> Array:
        """Return the identifiers that belong to codes.

        Guarantee: none needed; private, as the data is.
        """
        if self.distinct is not None:
            return self.distinct[codes.astype(np.intp)]
        return self._integers(codes).view(_wide(self.kind)).astype(self.kind)

    def words(self, codes: Words) -> Words:
        """Return what is hashed: the integer itself, or the digest of another identifier.

        Guarantee: none needed; private, as the data is.
        """
        if self._words is not None:
            return self._words[codes.astype(np.intp)]
        return self._integers(codes)

    def find(self, wanted: Identity) -> int | None:
        """Return the code of an identifier, or None if the column does not have it.

        Guarantee: none needed; private, as the data is.
        """
        if self.distinct is None:
            if wanted.kind != NUMBER or not isinstance(wanted.content, int):
                return None
            code: int = wanted.content - self.least
            return code if 0 <= code < self.span else None
        place = bisect_left(self.distinct, wanted, key=cast("Any", identify))  # none is missing
        found = place < self.distinct.size and identify(self.distinct[place]) == wanted
        return place if found else None

    def only(self, rows: npt.NDArray[np.bool_]) -> Column:
        """Return the column without the other rows.

        Guarantee: none needed; private, as the data is.
        """
        return replace(self, codes=self.codes[rows], present=None)

    def _integers(self, codes: Words) -> Words:
        return codes + np.uint64(self.least % (1 << 64))


def read_column(name: str, values: object, secret: bytes, *, dense: bool = False) -> Column:
    """Read a column of identifiers; ``dense`` asks for codes that a table can be indexed by.

    Guarantee: none needed; private, as the data is. Messages speak of types only.
    """
    array = read_entries(name, values)
    if array.dtype.kind == "O":
        array = _plain(array)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)  # True is 1, also where something is missing beside it
    if array.dtype.kind in "iu":
        return _of_integers(array, dense=dense)
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and _is_text(array)):
        distinct, inverse = np.unique(array, return_inverse=True)
        words, codes = words_of_texts(distinct, secret), inverse.astype(np.uint64)
        return Column(codes, distinct.size, 0, distinct, array.dtype, None, words)
    if array.dtype.kind not in "fMO":
        raise TypeError(_KINDS.format(name, array.dtype.type.__name__))
    return _of_any(array, secret)


def _of_integers(array: Array, *, dense: bool) -> Column:
    wide = array.astype(_wide(array.dtype), copy=False)
    least = int(wide.min()) if wide.size else 0
    span = int(wide.max()) - least + 1 if wide.size else 0
    if dense and span > max(_SPARE * wide.size, _SMALL_TABLE):
        distinct, inverse = factorise(np.ascontiguousarray(wide))
        words = distinct.view(np.uint64)
        known = distinct.astype(array.dtype)
        return Column(inverse.view(np.uint64), distinct.size, 0, known, array.dtype, None, words)
    codes = wide.view(np.uint64) - np.uint64(least % (1 << 64))
    return Column(codes, span, least, None, array.dtype, None, None)


def _of_any(array: Array, secret: bytes) -> Column:
    """Read reals, dates or objects of any kinds, the distinct ones one by one."""
    rows: Any = slice(None)
    entries: Array = array
    if array.dtype.kind != "O":
        entries, rows = np.unique(array, return_inverse=True)
    codes, identities = column_of(entries)
    distinct = np.empty(len(identities), dtype=object)
    distinct[:] = [given_back(identity) for identity in identities]
    if array.dtype.kind == "M":  # sorted as the identities are
        distinct = entries[codes >= 0]
    codes = codes[rows]
    return Column(
        codes=np.maximum(codes, 0).view(np.uint64),
        span=len(identities),
        least=0,
        distinct=distinct,
        kind=distinct.dtype,
        present=None if (codes >= 0).all() else codes >= 0,
        _words=words_of(identities, secret),
    )


def _wide(kind: np.dtype[Any]) -> np.dtype[Any]:
    unsigned = kind.kind == "u" and kind.itemsize == 8
    return np.dtype(np.uint64 if unsigned else np.int64)


def _plain(array: Array) -> Array:
    """Turn objects into integers, if all of them are; this is faster, and changes nothing else."""
    whole = as_int64(array)
    return array if whole is None else whole


def _is_text(array: Array) -> bool:
    """Tell whether all objects are texts, or all bytes; numpy would drop zeros at their ends."""
    return kinds_of(array) in ({str}, {bytes})


def read_numbers(values: object, *, exponent: int, missing: int) -> Integers:
    """Read a column of numbers as whole multiples of 2**exponent.

    Each is rounded to the nearest multiple, ties to even; those beyond 2**62 steps, infinities
    among them, count as 2**62 steps, and what is missing, NaN too, counts as ``missing``. A number
    is read alike whatever its type is and whatever stands beside it.

    Guarantee: none needed; each number is read by itself. Messages speak of types only.
    """
    array = read_entries("values", values)
    if array.dtype.kind == "O" or array.dtype.itemsize > 8:
        return _of_objects(array, exponent, missing)
    if array.dtype.kind == "f":
        return _of_reals(array, exponent, missing)
    if array.dtype.kind not in "biu":
        raise TypeError(f"values must be numbers, got {array.dtype.type.__name__}")
    if array.dtype.kind == "u":
        if exponent > 0:
            return _of_objects(array, exponent, missing)
        array = np.minimum(array, np.array(LARGEST, dtype=np.uint64))
    return _of_whole(array.astype(np.int64), exponent)


def _of_reals(array: Array, exponent: int, missing: int) -> Integers:
    reals = array.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        np.ldexp(reals, -exponent, out=reals)
    gaps = np.isnan(reals)
    reals[gaps] = 0.0
    np.rint(reals, out=reals)
    np.clip(reals, -float(LARGEST), float(LARGEST), out=reals)
    whole = reals.astype(np.int64)
    whole[gaps] = missing
    return whole


def _of_whole(whole: Integers, exponent: int) -> Integers:
    """Bring 64-bit integers to the grid; the array is used up."""
    if exponent > _MOST_SHIFTED:
        return _of_objects(whole, exponent, 0)
    if exponent > 0:
        steps = whole >> exponent
        rests, half = whole - (steps << exponent), 1 << (exponent - 1)
        steps += (rests > half) | ((rests == half) & (steps % 2 == 1))
        return steps
    most = LARGEST >> -exponent
    high, low = whole > most, whole < -most
    np.clip(whole, -most, most, out=whole)
    whole <<= min(-exponent, _MOST_SHIFTED + 1)
    whole[high], whole[low] = LARGEST, -LARGEST
    return whole


def _of_objects(array: Array, exponent: int, missing: int) -> Integers:
    whole = as_int64(array) if array.dtype.kind == "O" else None
    if whole is not None and exponent <= _MOST_SHIFTED:
        return _of_whole(whole, exponent)
    if kinds_of(array) == {float}:
        return _of_reals(array, exponent, missing)
    return np.fromiter(
        (_steps(x, exponent, missing) for x in array), dtype=np.int64, count=array.size
    )


def _steps(x: object, exponent: int, missing: int) -> int:
    number = number_of(x)
    if number is None:
        if is_missing(x):
            return missing
        raise TypeError(f"values must be numbers, got {type(x).__name__}")
    if isinstance(number, float):
        return LARGEST if number > 0 else -LARGEST
    return min(max(round(number / Fraction(2) ** exponent), -LARGEST), LARGEST)


def on_grid(low: Fraction, high: Fraction, exponent: int) -> tuple[int, int]:
    """Return public bounds in steps of the grid, such that nothing between them is beyond them.

    Between bounds without a multiple of the grid it is the next one towards 0.

    >>> on_grid(Fraction(-3, 2), Fraction(3, 2), 0), on_grid(Fraction(1, 3), Fraction(1, 3), 0)
    ((-1, 1), (0, 0))

    Guarantee: none needed; public inputs only.
    """
    step = Fraction(2) ** exponent
    first, last = -(-low // step), high // step
    if first > last:
        first = last = last if high > 0 else first
    return int(first), int(last)
