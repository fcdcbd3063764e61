# SPDX-License-Identifier: Apache-2.0
"""What an identifier is: a kind and a content, which no other row has a part in.

Identifiers are one and the same if they are the same number, the same text, the same bytes or the
same moment, whatever types they have: 1, 1.0 and True are, 1 and "1" are not.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.exact.hashing import Words, digests
from sordino.sensitivity.reading import Array, Exact, is_missing, number_of

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

    Guarantee: none needed; private, as the data is.
    """

    kind: int
    content: Any


def identify(x: object) -> Identity | None:
    """Return the identity of an entry, or None if it is missing.

    Moments that numpy has no name for, such as 2**63 days after 1970, count as missing.

    >>> identify("a"), identify(True) == identify(1.0), identify(1) == identify("1"), identify(None)
    (Identity(kind=2, content='a'), True, False, None)

    Guarantee: none needed; private, as the data is. Messages speak of types only.
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

    Guarantee: none needed; private, as the data is.
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
    """Return what is hashed for each identity: a whole number itself, or else a keyed digest.

    Guarantee: none needed; private, as the data is.
    """
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
    """Return what is hashed for an array of texts, or of bytes.

    Guarantee: none needed; private, as the data is.
    """
    return digests(map(_written_text, texts.tolist()), secret)


def column_of(entries: Iterable[object]) -> tuple[npt.NDArray[np.int64], list[Identity]]:
    """Return the code of each entry, -1 if it is missing, and the identities in their order.

    Guarantee: none needed; private, as the data is.
    """
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
