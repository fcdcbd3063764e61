# SPDX-License-Identifier: Apache-2.0
"""Columns of identifiers and of numbers, read into 64-bit integers.

Identifiers are one and the same if they are the same number, the same text, the same bytes or the
same moment, whatever types they have: 1, 1.0 and True are, 1 and "1" are not. Each is read by
itself, so that no other row decides what it is.

Codes are numbered by a hash table with four times as many slots as distinct codes, which is faster
than sorting places. The hash only decides how long that takes.
"""

from __future__ import annotations

import datetime
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from sordino.numbers import columns
from sordino.numbers.columns import (
    Array,
    Exact,
    as_int64,
    clamping_door,
    is_missing,
    kinds_of,
    number_of,
    read_entries,
)
from sordino.randomness.hashing import Words, digests

Codes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]

_BLOCK = 1 << 18
_MOST_TRIES = 40  # more than this many slots are tried only for codes chosen to have one hash
_GOLDEN, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


def factorise(codes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Places]:
    """Return the distinct 64-bit integers in their order, and each entry's place among them."""
    ordered = np.sort(codes)
    new = np.ones(codes.size, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    distinct = ordered[new]
    places = places_of(codes.view(np.uint64), distinct.view(np.uint64))
    if places is None:
        places = np.searchsorted(distinct, codes)
    return distinct, places


def places_of(codes: Codes, distinct: Codes) -> Places | None:
    """Return the place of each code among the distinct ones, or None if hashes are too alike."""
    bits = max((4 * distinct.size - 1).bit_length(), 1)
    table = _fill(distinct, bits)
    if table is None:
        return None
    found = np.empty(codes.size, dtype=np.intp)
    for start in range(0, codes.size, _BLOCK):
        block = codes[start : start + _BLOCK]
        places = table[_slots(block, 0, bits)]
        missed = np.flatnonzero(distinct[places] != block)
        tries = 1
        while missed.size:
            places[missed] = table[_slots(block[missed], tries, bits)]
            missed = missed[distinct[places[missed]] != block[missed]]
            tries += 1
        found[start : start + _BLOCK] = places
    return found


def _fill(distinct: Codes, bits: int) -> Places | None:
    """Put each place into the first slot of its code that is free; None after too many tries."""
    table = np.full(1 << bits, -1, dtype=np.intp)
    left = np.arange(distinct.size, dtype=np.intp)
    for tries in range(_MOST_TRIES):
        slots = _slots(distinct[left], tries, bits)
        free = table[slots] < 0
        table[slots[free]] = left[free]
        left = left[table[slots] != left]
        if left.size == 0:
            return table
    return None


def _slots(codes: Codes, tries: int, bits: int) -> Places:
    """Return the slot that each code tries after so many others."""
    mixed = codes * _GOLDEN
    if tries:
        mixed += np.uint64(tries) * ((codes ^ (codes >> np.uint64(32))) * _OTHER | np.uint64(1))
    return (mixed >> np.uint64(64 - bits)).astype(np.intp)


NUMBER, BYTES, TEXT, MOMENT = range(4)
_TICKS = {  # in attoseconds, the finest that numpy has
    "W": 7 * 86_400 * 10**18,
    "D": 86_400 * 10**18,
    "h": 3_600 * 10**18,
    "m": 60 * 10**18,
    "s": 10**18,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}
_SHOWN = list(_TICKS)[1:]  # the coarsest first, in which a moment is handed back
_DAYS_TO_1970 = 719_163
_WORD = 1 << 64
_LARGEST = 1 << 63


class Identity(NamedTuple):
    """An identifier that can be compared with every other one; by kind, then by content.

    ``content`` is a number, bytes, a text or the attoseconds since 1970.
    """

    kind: int
    content: Any


def identify(x: object) -> Identity | None:
    """Return the identity of an entry, or None if it is missing.

    Moments that numpy has no name for, such as 2**63 days after 1970, count as missing.

    >>> identify("a"), identify(True) == identify(1.0), identify(1) == identify("1"), identify(None)
    (Identity(kind=2, content='a'), True, False, None)

    Messages speak of types only.
    """
    if isinstance(x, str):
        return Identity(TEXT, str.__str__(x))
    if isinstance(x, bytes):
        return Identity(BYTES, bytes(x))
    if is_missing(x):
        return None
    number = number_of(x)
    if number is not None:
        return Identity(NUMBER, number)
    moment = _moment(x)
    return None if _shown(moment) is None else Identity(MOMENT, moment)


def given_back(identity: Identity) -> object:
    """Return the identifier as it is handed back: of a type that its identity decides.

    >>> given_back(identify(1.0)), given_back(identify(np.datetime64("2020-01-01T00", "h")))
    (1, np.datetime64('2020-01-01'))
    """
    content = identity.content
    if identity.kind == MOMENT:
        return _shown(content)
    if isinstance(content, Fraction):
        try:
            return float(content) if Fraction(float(content)) == content else content
        except OverflowError:
            return content
    return content


def words_of(identities: Iterable[Identity], secret: bytes) -> Words:
    """Return what is hashed for each identity: a whole number itself, or else a keyed digest."""
    listed = list(identities)
    words = np.zeros(len(listed), dtype=np.uint64)
    others = []
    for place, (kind, content) in enumerate(listed):
        if kind == NUMBER and isinstance(content, int) and -_LARGEST <= content < _WORD:
            words[place] = content % _WORD
        else:
            others.append(place)
    words[others] = digests((_written(listed[place]) for place in others), secret)
    return words


def words_of_texts(texts: Array, secret: bytes) -> Words:
    """Return what is hashed for an array of texts, or of bytes."""
    return digests(map(_written_text, texts.tolist()), secret)


def column_of(entries: Iterable[object]) -> tuple[npt.NDArray[np.int64], list[Identity]]:
    """Return the code of each entry, -1 if it is missing, and the identities in their order."""
    found = [identify(x) for x in entries]
    ordered = sorted({identity for identity in found if identity is not None})
    code: dict[Identity | None, int] = {x: place for place, x in enumerate(ordered)}
    code[None] = -1
    return np.fromiter((code[x] for x in found), dtype=np.int64, count=len(found)), ordered


def _written(identity: Identity) -> bytes:
    """Write an identity such that different ones are written differently."""
    kind, content = identity
    if kind in (TEXT, BYTES):
        return _written_text(content)
    return (b"t" if kind == MOMENT else b"n") + _digits(content).encode()


def _digits(x: Exact) -> str:
    if isinstance(x, float):
        return str(x)  # an infinity
    return f"{x:x}" if isinstance(x, int) else f"{x.numerator:x}/{x.denominator:x}"


def _written_text(text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return b"b" + text
    return b"s" + text.encode("utf-8", "surrogatepass")


def _moment(x: object) -> int:
    """Return the attoseconds from the beginning of 1970 to a date or a time."""
    if isinstance(x, np.datetime64):
        unit, multiple = np.datetime_data(x.dtype)
        count = int(x.astype(np.int64)) * multiple
        if unit in ("Y", "M"):
            years, months = divmod(count * (12 if unit == "Y" else 1), 12)
            return _days(1970 + years, months + 1) * _TICKS["D"]
        return count * _TICKS[unit]
    if not isinstance(x, datetime.date):
        raise TypeError(
            f"identifiers must be numbers, texts, bytes or dates, got {type(x).__name__}"
        )
    seconds, rest = (x.toordinal() - _DAYS_TO_1970) * 86_400, 0
    if isinstance(x, datetime.datetime):
        if x.tzinfo is not None:
            raise TypeError("identifiers must be times without a time zone; turn them into UTC")
        seconds += x.hour * 3_600 + x.minute * 60 + x.second
        rest = x.microsecond * _TICKS["us"] + getattr(x, "nanosecond", 0) * _TICKS["ns"]
    return seconds * _TICKS["s"] + rest


def _shown(moment: int) -> Any:
    """Return a moment in the coarsest unit that fits, which depends on it alone, or None."""
    for unit in _SHOWN:
        count, rest = divmod(moment, _TICKS[unit])
        if rest == 0 and -_LARGEST < count < _LARGEST:
            return np.dtype(f"M8[{unit}]").type(count, unit)
    return None


def _days(year: int, month: int) -> int:
    """Return the days from 1970 to the first of a month, for years of any size."""
    cycles, year_of_cycle = divmod(year - 1, 400)
    start = datetime.date(year_of_cycle + 1, month, 1).toordinal()
    return cycles * 146_097 + start - _DAYS_TO_1970


Integers = npt.NDArray[np.int64]

LARGEST = 1 << 62  # numbers beyond so many steps of the grid count as this
_SPARE = 4  # so many times as many places as rows may a table have that is indexed by codes
_SMALL_TABLE = 1 << 20
_MOST_SHIFTED = 61  # bits that 64-bit integers can be shifted by
_VALUES = clamping_door("values")
_KINDS = "{0} must be numbers, texts, bytes or dates, got {1}"


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Identifiers as integers: ``codes`` in the order of the identifiers, from 0 to ``span - 1``.

    ``distinct`` holds the identifiers by code, or is None where code + ``least`` is the identifier.
    ``present`` tells which rows have one, and is None if all have.
    """

    codes: Words
    span: int
    least: int
    distinct: Array | None
    kind: np.dtype[Any]
    present: npt.NDArray[np.bool_] | None
    _words: Words | None

    def identifiers(self, codes: Words) -> Array:
        """Return the identifiers that belong to codes."""
        if self.distinct is not None:
            return self.distinct[codes.astype(np.intp)]
        return self._integers(codes).view(_wide(self.kind)).astype(self.kind)

    def words(self, codes: Words) -> Words:
        """Return what is hashed: the integer itself, or the digest of another identifier."""
        if self._words is not None:
            return self._words[codes.astype(np.intp)]
        return self._integers(codes)

    def find(self, wanted: Identity) -> int | None:
        """Return the code of an identifier, or None if the column does not have it."""
        if self.distinct is None:
            if wanted.kind != NUMBER or not isinstance(wanted.content, int):
                return None
            code: int = wanted.content - self.least
            return code if 0 <= code < self.span else None
        place = bisect_left(self.distinct, wanted, key=cast("Any", identify))  # none is missing
        found = place < self.distinct.size and identify(self.distinct[place]) == wanted
        return place if found else None

    def only(self, rows: npt.NDArray[np.bool_]) -> Column:
        """Return the column without the other rows."""
        return replace(self, codes=self.codes[rows], present=None)

    def _integers(self, codes: Words) -> Words:
        return codes + np.uint64(self.least % (1 << 64))


def read_column(name: str, values: object, secret: bytes, *, dense: bool = False) -> Column:
    """Read a column of identifiers; ``dense`` asks for codes that a table can be indexed by.

    Messages speak of types only.
    """
    array = read_entries(clamping_door(name), values)
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

    Messages speak of types only.
    """
    array = columns.read_numbers(_VALUES, values)
    if array.dtype.kind == "O" or array.dtype.itemsize > 8:
        return _of_objects(array, exponent, missing)
    if array.dtype.kind == "f":
        return _of_reals(array, exponent, missing)
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
        return missing
    if isinstance(number, float):
        return LARGEST if number > 0 else -LARGEST
    return min(max(round(number / Fraction(2) ** exponent), -LARGEST), LARGEST)


def on_grid(low: Fraction, high: Fraction, exponent: int) -> tuple[int, int]:
    """Return public bounds in steps of the grid, such that nothing between them is beyond them.

    Between bounds without a multiple of the grid it is the next one towards 0.

    >>> on_grid(Fraction(-3, 2), Fraction(3, 2), 0), on_grid(Fraction(1, 3), Fraction(1, 3), 0)
    ((-1, 1), (0, 0))
    """
    step = Fraction(2) ** exponent
    first, last = -(-low // step), high // step
    if first > last:
        first = last = last if high > 0 else first
    return int(first), int(last)
