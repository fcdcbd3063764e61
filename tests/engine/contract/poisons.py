# SPDX-License-Identifier: Apache-2.0
"""Values that break careless readers, as raw values of every type with what each of them means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pandas as pd

from tests.privacy.contract.law import Cell, Day, Junk, Moment

Pair: TypeAlias = "tuple[Any, Cell]"  # a raw value, and what it means
Maker: TypeAlias = Callable[[Random, int], list[Pair]]  # poison, and so many more at random

WORDS = ["a", "A", "b", "\u00e9", "e\u0301", "1", "2", "x"]
TEXTS = [
    "", " ", "a", "A", "a ", " a", "\u00e9", "e\u0301", "E\u0301", "\u00c9", "\u0130", "\u0131",
    "I", "i", "\u00df", "ss", "SS", "\U0001f600", "\ufffd", "?", "??", "\ufeff", "\u00a0", "0",
    "-0", "+0", "00", "1", "+1", "-1", "01", "1 ", " 1", "1.0", "1.", ".5", "12.1", "12.2", "007",
    "0x1F", "1_000", "1e3", "1E3", "1e400", "-1e400", "1e-400", "0.1", "9007199254740993",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "9" * 30, "0" * 30 + "1", "\u0661", "\uff11", "\u00b2", "nan", "NaN", "inf", "Infinity",
    "-infinity", "true", "TRUE", "tRuE", "t", "T", "f", "yes", "No", "y", "N", "on", "off",
    "false ", "2020-02-29", "2020-02-30", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01",
    "2020-1-1", "2020-01-01 ", "20200101", "2020/01/01", "epoch", "infinity", "today",
    "2020-01-01 (BC)", "2020-01-01 00:00", "2020-01-01T00:00:00", "2020-01-01 23:59:59.999999",
    "2020-01-01 23:59:59.9999999", "2020-01-01 24:00:00", "2020-01-01 23:59:60",
    "2020-01-01 00:00:00Z", "2020-01-01 00:00:00+02", "2020-01-01T00:00:00-0930",
    "2020-01-01 00:00:00+05:30", "0001-01-01 00:00:00+02:00", "9999-12-31 23:59:59-02:00",
    "2020-01-01 00:00:00 UTC", "2020-01-01 00:00:00 Europe/Berlin", "2020-01-01 1:00:00", "NULL",
    "null", "None", "''", '"', '""', "'", ",", ";", "a,b", "a\tb", "a\nb", "a\r\nb", "\\N", "\\",
    "%", "$1", "--", "x" * 9_999, "x" * 10_000, "x" * 10_001, "x" * 10_000 + "y",
    "x" * 10_000 + "z", "\u00e9" * 10_001, "=1+1", "{}", "[1]", "1/2", "1,5", "1'000",
]  # fmt: skip
NUL_TEXTS = ["\0", "a\0", "\0a", "\x001", "a\0b", "\0\x001", "1\0"]
BROKEN = [
    b"\xff", b"\xfe", b"\xc3", b"\xc3\x28", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80",
    b"\xc0\xaf", b"a\xff", b"a\xfe", b"1\xff", b"\x80", b"ok\xe2\x82", b"\xf8\x88\x80\x80\x80",
    b"x" * 10_000 + b"\xff",
]  # fmt: skip


def texts(random: Random, more: int) -> list[Pair]:
    """Return texts that look like values of any type, and like each other."""
    pairs: list[Pair] = [(None, None), *((text, text) for text in TEXTS)]
    return pairs + [(text, text) for text in (_text(random) for _ in range(more))]


def nul_texts(random: Random, more: int) -> list[Pair]:
    """Return texts with NUL among them."""
    return texts(random, more) + [(text, text) for text in NUL_TEXTS]


def _text(random: Random) -> str:
    kind = random.randrange(6)
    if kind == 0:
        return str(random.randint(-(2**64), 2**64))
    if kind == 1:
        return f"{random.uniform(-1e6, 1e6):.{random.randrange(8)}{random.choice('fe')}}"
    if kind == 2:
        day = date.fromordinal(random.randint(1, date.max.toordinal()))
        return f"{day.isoformat()}{random.choice(('', ' 12:30', 'T01:02:03.5', ' 00:00:00+01'))}"
    if kind == 3:
        return random.choice((" ", "+", "0", "")) + random.choice(TEXTS) + random.choice((" ", "0"))
    characters = "aAbB01 .-+eE_xX\u00e9\u0301\u00df\u0130\u0131\U0001f600\u00a0\ufffd?"
    return "".join(random.choices(characters, k=random.randrange(9)))


def raw_texts(random: Random, more: int) -> list[Pair]:
    """Return bytes of text, also of such as are none."""
    pairs: list[Pair] = [
        (None if raw is None else raw.encode(), cell) for raw, cell in nul_texts(random, more)
    ]
    broken = [*BROKEN, *(_broken(random) for _ in range(more // 4))]
    return pairs + [(raw, _decoded(raw)) for raw in broken]


def _broken(random: Random) -> bytes:
    return bytes(random.choices(b"a1\xc3\xa9\xff\xed\xa0\x80\xe2\x82", k=random.randrange(1, 7)))


def _decoded(raw: bytes) -> Cell:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return Junk(raw)


def integers(bits: int, *, signed: bool = True) -> Maker:
    """Return whole numbers of a size."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    known = {
        low, low + 1, high, high - 1, 0, 1, -1, 2, 7, 37, 2**31, 2**53, 2**53 + 1, 2**63,
        2**63 - 1, -(2**63), 2**64, 10**18 + 1, 719_163,
    }  # fmt: skip

    def make(random: Random, more: int) -> list[Pair]:
        inside = sorted(value for value in known if low <= value <= high)
        every = [
            *inside,
            *(random.randint(low, high) >> random.randrange(bits) for _ in range(more)),
        ]
        return [(None, None), *((value, Fraction(value)) for value in every)]

    return make


FLOATS = [
    0.0, -0.0, 0.5, 1.0, -1.0, 1.5, -2.5, 2.0**24, 2.0**24 + 2, 2.0**53, -(2.0**53), 2.0**62,
    2.0**63, -(2.0**63), 9.3e18, 1e30, 1e300, -1e300, 5e-324, 1e-10, 0.1, float("nan"),
    float("inf"), float("-inf"), 2.0**63 - 1024,
]  # fmt: skip


def floats(dtype: Any) -> Maker:
    """Return floating numbers of a numpy dtype, which are what they are after rounding to it."""

    def make(random: Random, more: int) -> list[Pair]:
        every = [*FLOATS, *(_float(random) for _ in range(more))]
        with np.errstate(over="ignore"):
            held = [np.dtype(dtype).type(value) for value in every]
        if np.dtype(dtype) == np.longdouble:  # which a double would round
            held += [np.longdouble(2) ** 62 + 1, np.longdouble(2) ** 53 + 1, np.longdouble("0.1")]
        return [(None, None), *((value, _float_cell(value)) for value in held)]

    return make


def _float(random: Random) -> float:
    if random.random() < 0.5:
        return float(random.randint(-(2**64), 2**64) >> random.randrange(64))
    return random.uniform(-1, 1) * 2.0 ** random.randint(-300, 300)


def _float_cell(value: Any) -> Cell:
    return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else float(value)


def decimals(precision: int, scale: int) -> Maker:
    """Return unscaled whole numbers of decimals."""

    def make(random: Random, more: int) -> list[Pair]:
        most, one = 10**precision - 1, 10**scale
        wanted = [
            0, 1, -1, one, -one, one + 1, 7 * one, most, -most, most - most % one,
            (2**53 + 1) * one, (2**63 - 1) * one, -(2**63) * one, 2**63 * one, one // 2,
            (10**17 + 1) * one,
        ]  # fmt: skip
        wanted += [
            random.randint(-most, most) // 10 ** random.randrange(precision) for _ in range(more)
        ]
        inside = [value for value in wanted if abs(value) <= most]
        return [(None, None), *((value, Fraction(value, one)) for value in inside)]

    return make


def crowded_decimals(precision: int, scale: int) -> Maker:
    """Return decimals, and some of more digits that in few bits would be others of them."""

    def make(random: Random, more: int) -> list[Pair]:
        one = 10**scale
        far = [2**16 + one, 2**17 + 7 * one, one - 2**16, 2**31 - 1, -(2**31), 10**9 + one]
        far += [random.randint(10**precision, 2**31 - 1) for _ in range(more // 4)]
        return decimals(precision, scale)(random, more) + [(value, Junk(value)) for value in far]

    return make


def days(random: Random, more: int) -> list[Pair]:
    """Return days as numbers from 1970 on, of 32 bits."""
    every = [0, -1, 1, 18_321, -719_162, -719_163, 2_932_896, 2_932_897, 2**31 - 1, -(2**31), 10**8]
    every += [random.randint(-(10**6), 4 * 10**6) for _ in range(more)]
    return [(None, None), *((day, Day(day)) for day in every)]


def far_days(random: Random, more: int) -> list[Pair]:
    """Return days of 64 bits."""
    far = [2**32, 2**32 + 7, 2**40, 2**62, -(2**62), 2**63 - 1]
    return days(random, more) + [(day, Day(day)) for day in far]


def far_days_of(size: int) -> Maker:
    """Return multiples of some days, of 64 bits, of which some wrap around to days of our time."""

    def make(random: Random, more: int) -> list[Pair]:
        wrapped = [2**64 // size + near for near in (0, 1, 6_000)]
        every = [tick for tick in wrapped if tick < 2**63]
        every += [raw for raw, _ in far_days(random, more) if raw is not None]
        return [(tick, Moment(tick * size * 86_400 * 10**9)) for tick in every]

    return make


def day_ticks(random: Random, more: int) -> list[Pair]:
    """Return days in milliseconds, also of such as are not whole."""
    every = [0, -1, 86_400_000, -86_400_000, 5, 2**62, 2**63 - 1, -(2**63), 253_402_300_799_999,
             253_402_300_800_000, -62_135_596_800_000, -62_135_596_800_001]  # fmt: skip
    every += [random.randint(-(10**14), 10**14) for _ in range(more)]
    return [(None, None), *((tick, Day(tick // 86_400_000)) for tick in every)]


def ticks(rate: int, *, least: int = -(2**63)) -> Maker:
    """Return moments as numbers of ticks from 1970 on, so many of them a second."""

    def make(random: Random, more: int) -> list[Pair]:
        first, last = -62_135_596_800 * rate, 253_402_300_800 * rate - 1
        wanted = [
            0, -1, 1, -999, -1000, -1001, 86_400 * rate, -86_400 * rate - 1, first, first - 1,
            last, last + 1, 2**62, -(2**62), 2**63 - 2, least + 2, 1_582_934_400 * rate,
        ]  # fmt: skip
        wanted += [random.randint(-(2**63), 2**63 - 1) >> random.randrange(50) for _ in range(more)]
        inside = [tick for tick in wanted if least < tick < 2**63]
        return [(None, None), *((tick, Moment(tick * 10**9 // rate)) for tick in inside)]

    return make


def truths(random: Random, more: int) -> list[Pair]:
    """Return truth values."""
    return [
        (None, None),
        (True, True),
        (False, False),
        *((b, b) for b in random.choices((True, False), k=more)),
    ]


def uuids(random: Random, more: int) -> list[Pair]:
    """Return UUIDs."""
    every = [UUID(int=value) for value in (0, 1, 2**128 - 1)]
    every += [UUID(int=random.getrandbits(128)) for _ in range(more)]
    return [(None, None), *((value, value) for value in every)]


def words(random: Random, more: int) -> list[Pair]:
    """Return words of a fixed list, as enumerations have."""
    return [
        (None, None),
        *((w, w) for w in WORDS),
        *((w, w) for w in random.choices(WORDS, k=more)),
    ]


class Sly(str):
    """Text that says it is something else."""

    __slots__ = ()

    def __str__(self) -> str:
        return "same"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Rude:
    """An object that answers everything with an error."""

    def _fail(self, *_: object) -> Any:
        raise RuntimeError

    __eq__ = __hash__ = __float__ = __index__ = __bool__ = __str__ = _fail
    __class__ = property(_fail)


class Lost(tzinfo):
    """A zone that cannot say where it is."""

    utcoffset = dst = tzname = Rude._fail


def objects(random: Random, more: int) -> list[Pair]:
    """Return Python objects of many classes."""
    half = datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    pairs: list[
        Pair] = [ (None, None), (pd.NA, None), (pd.NaT, None), (True, True), (np.False_, False),
        (Rude(), Junk("rude")), (Sly("1"), "1"), (b"1", Junk(b"1")), (1j, Junk(1j)),
        ([1], Junk("list")), (object(), Junk("object")), (UUID(int=1), UUID(int=1)),
        (str(UUID(int=1)), str(UUID(int=1))), (np.str_("q"), "q"), (10**5000, Fraction(10**5000)),
        (Fraction(1, 10**5000), Fraction(1, 10**5000)), (Decimal("sNaN"), Junk("snan")),
        (Decimal("NaN"), Junk("nan")), (Decimal("Infinity"), float("inf")),
        (Decimal("0E+999999999"), Fraction(0)), (date(2020, 1, 1), Day(18_262)),
        (half, Moment(1_577_829_600 * 10**9)),
        (half.astimezone(UTC), Moment(1_577_829_600 * 10**9)), (pd.Timestamp(-1), Moment(-1)),
        (np.datetime64("2020-01-01"), Moment(18_262 * 86_400 * 10**9)),
        (np.datetime64(2**62, "s"), Moment(2**62 * 10**9)),
        (pd.Timestamp(np.datetime64(2**38, "s")), Moment(2**38 * 10**9)),
        (timedelta(1), Junk("delta")), ("\ud800", Junk("half")), ("a\udfff", Junk("other half")),
    ]  # fmt: skip
    pairs.append((datetime(2020, 1, 1, tzinfo=Lost()), Junk("lost")))
    pairs += [(text, text) for text in (*TEXTS, *NUL_TEXTS)]
    numbers: list[
        Any] = [0, 1, -1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, 0.0, -0.0, 1.0, 0.1,
        1e300, 2.0**63, Decimal("1.00"), Decimal("0.1"), Decimal("1E+2"), Decimal(2**63 - 1),
        Fraction(1, 3), Fraction(1, 10), np.int8(1), np.uint64(2**64 - 1), np.float32(0.1),
        np.float16(0.1), np.longdouble(2**53) + np.longdouble(1) / 1024, np.longdouble("0.1"),
        np.longdouble(2) ** 63,
    ]  # fmt: skip
    numbers += [_number(random) for _ in range(more)]
    pairs += [(number, Fraction(*_ratio(number))) for number in numbers]
    return pairs + [
        (value, float(value)) for value in (float("nan"), np.longdouble("inf"), -np.float64("inf"))
    ]


def _number(random: Random) -> Any:
    whole = random.randint(-(2**66), 2**66) >> random.randrange(66)
    kind = random.randrange(6)
    if kind == 0:
        return whole
    if kind == 1:
        return Decimal(whole).scaleb(-random.randrange(5))
    if kind == 2:
        return Fraction(whole, random.randint(1, 9))
    if kind == 3:
        return np.longdouble(whole) / 8
    return float(whole) / random.choice((1, 2, 10))


def _ratio(number: Any) -> tuple[int, int]:
    found: tuple[int, int] = (
        (int(number), 1) if isinstance(number, np.integer) else number.as_integer_ratio()
    )
    return found


def without_missing(make: Maker) -> Maker:
    """Return poison for types that have no missing values."""
    return lambda random, more: [pair for pair in make(random, more) if pair[0] is not None]


def only(make: Maker, test: Callable[[Any], bool]) -> Maker:
    """Return the poison that a source can hold."""
    return lambda random, more: [pair for pair in make(random, more) if test(pair[0])]


def raws(pairs: Iterable[Pair]) -> list[Any]:
    """Return the raw values of poison."""
    return [raw for raw, _ in pairs]
