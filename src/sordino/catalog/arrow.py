# SPDX-License-Identifier: Apache-2.0
"""Arrow columns as columns of the six types: decided by the schema, and never an error of a value.

What has no counterpart, such as a whole number beyond 64 bits, a day after the year 9999 or text
that is no Unicode, is missing afterwards. Each value is converted by itself, so a column may be
converted in one go or in pieces.

Python values one by one, as values of a declared type; what does not fit is missing.

Numbers are read by their exact value, whatever class they are of. As text a number, and an id of
class UUID, begins with NUL, which text of a person's own does not: so the number 1 and the text "1"
are two ids in one column. Where text is a value and no id, the engine takes NUL off.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import numpy as np

from sordino.catalog.values import (
    CONVERSIONS,
    LARGEST_INTEGER,
    LEAST_INTEGER,
    LONG_ARROW_TYPES,
)
from sordino.errors import CatalogError
from sordino.query.types import Type, Value

if TYPE_CHECKING:
    import pyarrow as pa


_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # years 1 to 9999
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_DAY = 86_400_000  # milliseconds
_WIDEST = 76  # digits of decimals
_SOME = 1024  # rows that are looked at one by one if one of them is no text
_DAMAGED = "its memory is damaged: offsets or indices lie outside; make it anew"


def type_of(arrow: pa.DataType) -> Type | None:
    """Return the type that an Arrow type stands for, or None if it stands for none of the six."""
    import pyarrow.types as t  # pyarrow is loaded only where Arrow data is

    if t.is_dictionary(arrow):
        return None if t.is_dictionary(arrow.value_type) else type_of(arrow.value_type)
    if t.is_decimal(arrow):  # tens and hundreds alone, with a scale below 0, are hardly supported
        return Type.REAL if arrow.scale >= 0 else None
    rules = (
        (t.is_boolean, Type.BOOLEAN),
        (t.is_integer, Type.INTEGER),
        (t.is_floating, Type.REAL),
        (t.is_string, Type.TEXT),
        (t.is_large_string, Type.TEXT),
        (t.is_string_view, Type.TEXT),
        (_is_uuid, Type.TEXT),
        (t.is_date, Type.DATE),
        (t.is_timestamp, Type.TIMESTAMP),
    )
    return next((kind for test, kind in rules if test(arrow)), None)


def _is_uuid(arrow: pa.DataType) -> bool:
    import pyarrow as pa

    return (
        isinstance(arrow, pa.BaseExtensionType)
        and arrow.extension_name == "arrow.uuid"
        and arrow.storage_type == pa.binary(16)
    )


def plain(column: Any, kind: Type) -> Any:
    """Return an Arrow column as one of the plain Arrow type that a declared type has.

    It is chunked if the column is. Raises CatalogError if the types do not fit, whatever the values
    are, or if the memory of the column is damaged.
    """
    import pyarrow as pa  # pyarrow is loaded only where Arrow data is

    if not pa.types.is_null(column.type):
        held = type_of(column.type)
        conversion = None if held is None else CONVERSIONS.get((held, kind))
        if conversion is None or not conversion.in_memory:
            raise CatalogError(
                f"it is declared as {kind} but holds {column.type}; declare what it holds, convert "
                "it before, or leave the column out"
            )
    if not isinstance(column, pa.ChunkedArray):
        return _converted(column, kind)
    chunks = column.chunks or [pa.array([], column.type)]
    return pa.chunked_array([_converted(chunk, kind) for chunk in chunks])


def _converted(array: Any, kind: Type) -> Any:
    import pyarrow as pa

    try:
        array.validate()
        if pa.types.is_null(array.type):
            return array.cast(LONG_ARROW_TYPES[kind])
        if pa.types.is_dictionary(array.type):
            return _long(plain(array.dictionary, kind)).take(array.indices)
    except (pa.ArrowInvalid, pa.ArrowIndexError):  # what they say may quote a value
        raise CatalogError(_DAMAGED) from None
    return _CONVERSIONS[kind](array, type_of(array.type))


def _long(array: Any) -> Any:
    """Return an array that can hold a text of its own many times over."""
    import pyarrow as pa

    return array.cast(pa.large_string()) if array.type == pa.string() else array


def _to_integer(array: Any, held: Type) -> Any:
    """Return whole numbers; those that are not, or do not fit, are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_decimal(array.type):
        return _whole_decimals(array)
    if held is Type.REAL:
        array = array.cast("float64", safe=False)
        whole = pc.equal(array, pc.floor(array))
        inside = pc.and_(pc.greater_equal(array, -(2.0**63)), pc.less(array, 2.0**63))
        array = _where(pc.and_(whole, inside), array)
    elif array.type == pa.uint64():
        array = _where(pc.less_equal(array, pa.scalar(LARGEST_INTEGER, pa.uint64())), array)
    return array.cast("int64", safe=False)


def _whole_decimals(array: Any) -> Any:
    """Return decimals that are whole numbers of 64 bits, without any rounding on the way."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = _decimals(array)
    whole = wide.cast(pa.decimal256(_WIDEST, 0), safe=False)  # toward zero, so it always fits
    fits = pc.equal(whole.cast(wide.type, safe=False), wide)
    low, high = (pa.scalar(Decimal(end), whole.type) for end in (LEAST_INTEGER, LARGEST_INTEGER))
    inside = pc.and_(pc.greater_equal(whole, low), pc.less_equal(whole, high))
    return _where(pc.and_(fits, inside), whole).cast("int64")


def _decimals(array: Any) -> Any:
    """Return decimals in their widest form; those with more digits than declared are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = array.cast(pa.decimal256(_WIDEST, array.type.scale), safe=False)
    digits = Decimal((0, (9,) * array.type.precision, -array.type.scale))
    low, high = (pa.scalar(end, wide.type) for end in (digits.copy_negate(), digits))
    return _where(pc.and_(pc.greater_equal(wide, low), pc.less_equal(wide, high)), wide)


def _to_real(array: Any, held: Type) -> Any:
    import pyarrow as pa

    del held
    if pa.types.is_decimal(array.type):  # by way of text the double is the nearest one
        array = _decimals(array).cast(pa.string())
    return array.cast("float64", safe=False)


def _to_text(array: Any, held: Type) -> Any:
    import pyarrow as pa

    if held is not Type.TEXT:
        return array.cast(pa.large_string())
    if isinstance(array, pa.ExtensionArray):
        ids = array.storage.to_pylist()
        texts = [None if entry is None else str(UUID(bytes=entry)) for entry in ids]
        return pa.array(texts, pa.large_string())
    return _texts(array)


def _texts(array: Any) -> Any:
    """Return text; what is not valid UTF-8 is missing."""
    import pyarrow as pa

    if array.type == pa.string_view():  # few functions take it
        if not _is_valid(array.cast(pa.binary_view())):
            raise CatalogError(_DAMAGED)
        array = array.cast(pa.large_string())
    if _is_valid(array):
        return array
    short = array.type == pa.string()
    if not _is_valid(array.cast(pa.binary() if short else pa.large_binary())):
        raise CatalogError(_DAMAGED)
    slices = (array.slice(start, _SOME) for start in range(0, len(array), _SOME))
    return pa.concat_arrays([part if _is_valid(part) else _decoded(part) for part in slices])


def _is_valid(array: Any) -> bool:
    import pyarrow as pa

    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _decoded(array: Any) -> Any:
    """Return the texts that are valid among some that are not all."""
    import pyarrow as pa

    entries = array.cast(pa.large_binary()).to_pylist()
    return pa.array([None if entry is None else _text(entry) for entry in entries], array.type)


def _text(entry: bytes) -> str | None:
    try:
        return entry.decode()
    except UnicodeDecodeError:
        return None


def _to_boolean(array: Any, held: Type) -> Any:
    del held
    return array


def _to_date(array: Any, held: Type) -> Any:
    """Return days; the days of moments are those of UTC."""
    import pyarrow as pa

    if held is Type.TIMESTAMP:
        return _to_timestamp(array, held).cast("date32", safe=False)
    days = array.cast("int64" if array.type == pa.date64() else "int32").cast("int64")
    if array.type == pa.date64():
        days = _floor(days, _DAY)
    return _between(days, _FIRST_DAY, _LAST_DAY).cast("int32").cast("date32")


def _to_timestamp(array: Any, held: Type) -> Any:
    """Return moments in microseconds without a zone; those with a zone are turned into UTC.

    Nanoseconds are cut off, toward the past: the second before 1970 stays before it.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if held is Type.DATE:
        return _to_date(array, held).cast("timestamp[us]")
    rate = _PER_SECOND[array.type.unit]
    ticks = array.cast("int64")
    last = min((_LAST_SECOND + 1) * rate - 1, LARGEST_INTEGER)
    ticks = _between(ticks, max(_FIRST_SECOND * rate, LEAST_INTEGER), last)
    if rate <= 10**6:
        ticks = pc.multiply(ticks, pa.scalar(10**6 // rate, pa.int64()))
    else:
        ticks = _floor(ticks, rate // 10**6)
    return ticks.cast("timestamp[us]")


def _floor(array: Any, size: int) -> Any:
    """Return whole numbers divided by a size, rounded down; Arrow itself rounds toward zero."""
    import pyarrow as pa
    import pyarrow.compute as pc

    step = pa.scalar(size, pa.int64())
    cut = pc.divide(array, step)
    left = pc.subtract(array, pc.multiply(cut, step))
    return pc.subtract(cut, pc.less(left, pa.scalar(0, pa.int64())).cast("int64"))


def _between(array: Any, low: int, high: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    low, high = pa.scalar(low, pa.int64()), pa.scalar(high, pa.int64())
    return _where(pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high)), array)


def _where(fits: Any, array: Any) -> Any:
    """Return the values that fit, and the others as missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(fits, array, pa.scalar(None, array.type))


_CONVERSIONS: dict[Type, Callable[[Any, Any], Any]] = {
    Type.INTEGER: _to_integer,
    Type.REAL: _to_real,
    Type.TEXT: _to_text,
    Type.BOOLEAN: _to_boolean,
    Type.DATE: _to_date,
    Type.TIMESTAMP: _to_timestamp,
}


_Number: TypeAlias = "int | float | Decimal | Fraction | np.longdouble"

_NUL = "\0"
_MOST_BITS = 4096  # of a number that is an id: all doubles have fewer
_MOST_DIGITS = 1200
# years 1 to 9999, from 1970
_IN_A_DAY = {"D": 1, "h": 24, "m": 1440} | {
    unit: 86_400 * rate for unit, rate in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9))
}


def read_entries(kind: Type, values: Iterable[object]) -> list[Value]:
    r"""Return values of a type; it never fails, whatever the values are.

    >>> read_entries(Type.INTEGER, [1, 2.0, 2.5, "3", None, 2**70])
    [1, 2, None, None, None, None]
    >>> read_entries(Type.TEXT, ["1", 1, 1.0, Decimal("0.5")])
    ['1', '\x001', '\x001', '\x001/2']
    """
    read = _READERS[kind]
    return [_entry(read, value) for value in values]


def moments(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return moments as microseconds; those outside the years 1 to 9999 are missing.

    That is tested in the unit that they are in, because numpy wraps around when it leaves one.
    Units may be multiples, such as three days; of the fine ones there must be at most 10**9 in a
    second.
    """
    unit, size = np.datetime_data(values.dtype)
    if unit in _IN_A_DAY:
        low, high = _FIRST_DAY * _IN_A_DAY[unit], (_LAST_DAY + 1) * _IN_A_DAY[unit] - 1
    else:
        ends = (np.datetime64(day).astype(f"M8[{unit}]") for day in ("0001-01-01", "9999-12-31"))
        low, high = (int(end.astype(np.int64)) for end in ends)
    first = -(-max(low, LEAST_INTEGER + 1) // size)
    last = min(high, LARGEST_INTEGER) // size
    plain = values.astype(values.dtype.newbyteorder("="))
    ticks = plain.view(np.int64)
    inside = (ticks >= first) & (ticks <= last)
    return np.where(inside, plain, np.datetime64("NaT")).astype("M8[us]")


def _entry(read: Callable[[Any], Value], value: object) -> Value:
    """Return a value as it is read; a zone, or a changed Fraction, can answer with any error."""
    try:
        return read(value)
    except Exception:  # whatever it is, the value is none of the type
        return None


def _number(value: object) -> _Number | None:
    """Return a number as one of a plain class with the same value; a truth value is no number.

    Classes are those that values really have, because what ``__class__`` says may be a lie, and
    methods are those of the plain classes, because a derived class may have changed its own.
    """
    kind = type(value)
    if kind is bool:
        return None
    rules = (plain for family, plain in _PLAIN if issubclass(kind, family))
    rule = next(rules, None)
    return None if rule is None else rule(value)


def _fraction(value: Fraction) -> Fraction | None:
    """Return a fraction; of a derived class, or with changed parts, it is no number."""
    whole = type(value) is Fraction and type(value.numerator) is type(value.denominator) is int
    return value if whole and value.denominator > 0 else None


_PLAIN: tuple[tuple[Any, Callable[[Any], _Number | None]], ...] = (
    (int, int.__index__),
    (float, float.__pos__),
    (Decimal, Decimal),
    (Fraction, _fraction),
    ((np.integer, np.floating), np.generic.item),  # a long double stays one
)


def _ratio(value: object) -> tuple[int, int] | None:
    """Return the exact value of a number in lowest terms, if it is finite and not too long."""
    number = _number(value)
    if number is None:
        return None
    if isinstance(number, Decimal):
        return _decimal_ratio(number)
    if isinstance(number, float | np.longdouble) and not np.isfinite(number):
        return None
    above, below = number.as_integer_ratio()
    return (above, below) if max(above.bit_length(), below.bit_length()) <= _MOST_BITS else None


def _decimal_ratio(number: Decimal) -> tuple[int, int] | None:
    """Return the exact value of a Decimal; a long exponent is not written out."""
    if not number:
        return 0, 1
    sign, digits, exponent = number.as_tuple()
    if isinstance(exponent, str) or max(len(digits), abs(exponent)) > _MOST_DIGITS:
        return None
    above = int("".join(map(str, digits))) * (-1 if sign else 1)
    power = 10 ** abs(exponent)
    return (Fraction(above, power) if exponent < 0 else Fraction(above * power)).as_integer_ratio()


def _real(value: object) -> float | None:
    """Return the nearest double; a number beyond the largest one is infinite."""
    number = _number(value)
    if number is None:
        return None
    try:
        with np.errstate(over="ignore"):
            real = float(number)
    except OverflowError:
        real = math.inf if number > 0 else -math.inf
    return None if math.isnan(real) else real


def _integer(value: object) -> int | None:
    ratio = _ratio(value)
    if ratio is None or ratio[1] != 1:
        return None
    return ratio[0] if LEAST_INTEGER <= ratio[0] <= LARGEST_INTEGER else None


def _written_text(value: object) -> str | None:
    kind = type(value)
    if issubclass(kind, str):
        return _unicode(str.__str__(value))
    if kind is UUID:
        return f"{_NUL}{value}"
    ratio = _ratio(value)
    if ratio is None:
        return None
    above, below = ratio
    return f"{_NUL}{above}" if below == 1 else f"{_NUL}{above}/{below}"


def _unicode(text: str) -> str | None:
    """Return text that is valid Unicode; what begins with NUL itself gets a second one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return _NUL + text if text.startswith(_NUL) else text


def _boolean(value: object) -> bool | None:
    return bool(value) if type(value) in (bool, np.bool_) else None


def _moment(value: object) -> datetime | None:
    """Return a moment without a zone, in UTC if it had one; what is no date is missing."""
    kind = type(value)
    if issubclass(kind, np.datetime64):
        return _numpy_moment(value)
    if kind.__module__.partition(".")[0] == "pandas":  # a Timestamp may be after the year 9999
        return _numpy_moment(value.to_datetime64()) if _is_timestamp(kind) else None  # type: ignore[attr-defined]
    if not issubclass(kind, date):
        return None
    day = (part.__get__(value) for part in (date.year, date.month, date.day))
    if not issubclass(kind, datetime):
        return datetime(*day)
    parts = (datetime.hour, datetime.minute, datetime.second, datetime.microsecond)
    moment = datetime(*day, *(part.__get__(value) for part in parts))
    offset = datetime.utcoffset(value)  # type: ignore[arg-type]
    return moment - (offset or timedelta(0))


def _is_timestamp(kind: type) -> bool:
    return kind is getattr(sys.modules.get("pandas"), "Timestamp", None)


def _numpy_moment(value: Any) -> datetime | None:
    array = np.array([value])
    if np.datetime_data(array.dtype)[0] == "generic":
        return None
    moment: datetime | None = moments(array).tolist()[0]
    return moment


def _day(value: object) -> date | None:
    moment = _moment(value)
    return None if moment is None else moment.date()


_READERS: dict[Type, Callable[[Any], Value]] = {
    Type.INTEGER: _integer,
    Type.REAL: _real,
    Type.TEXT: _written_text,
    Type.BOOLEAN: _boolean,
    Type.DATE: _day,
    Type.TIMESTAMP: _moment,
}
