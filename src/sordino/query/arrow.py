# SPDX-License-Identifier: Apache-2.0
"""Arrow columns as columns of the six types: decided by the schema, and never an error of a value.

What has no counterpart, such as a whole number beyond 64 bits or a day after the year 9999, is
missing afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sordino.errors import CatalogError
from sordino.query.types import Type
from sordino.query.values import LARGEST_INTEGER

if TYPE_CHECKING:
    import pyarrow as pa

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # years 1 to 9999
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896


def type_of(arrow: pa.DataType) -> Type | None:
    """Return the type that an Arrow type stands for, or None if it stands for none of the six."""
    import pyarrow.types as t  # pyarrow is loaded only where Arrow data is

    if t.is_dictionary(arrow):
        return type_of(arrow.value_type)
    rules = (
        (t.is_boolean, Type.BOOLEAN),
        (t.is_integer, Type.INTEGER),
        (t.is_floating, Type.REAL),
        (t.is_decimal, Type.REAL),
        (t.is_string, Type.TEXT),
        (t.is_large_string, Type.TEXT),
        (t.is_string_view, Type.TEXT),
        (t.is_date, Type.DATE),
        (t.is_timestamp, Type.TIMESTAMP),
    )
    return next((kind for test, kind in rules if test(arrow)), None)


def plain(column: Any, kind: Type) -> Any:
    """Return an Arrow column as one of the plain Arrow type that a declared type has.

    Raises CatalogError if the types do not fit, whatever the values are.
    """
    import pyarrow as pa  # pyarrow is loaded only where Arrow data is

    if pa.types.is_dictionary(column.type):
        column = _decoded(column)
    if pa.types.is_null(column.type):
        return column.cast(_ARROW[kind])
    held = type_of(column.type)
    if held is None or kind not in _FITS[held]:
        raise CatalogError(
            f"it is declared as {kind} but holds {column.type}; declare what it holds, convert "
            "it before, or leave the column out"
        )
    return _CONVERSIONS[kind](column, held)


def _decoded(column: Any) -> Any:
    """Return the values of a column that has them in a dictionary."""
    import pyarrow as pa

    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    views = pa.types.is_string_view(column.type.value_type)  # which few functions can take
    kind = pa.large_string() if views else column.type.value_type
    decoded = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(kind)).cast(kind)
        for chunk in chunks
    ]
    return pa.chunked_array(decoded, kind)


_ARROW = {
    Type.INTEGER: "int64",
    Type.REAL: "float64",
    Type.TEXT: "large_string",
    Type.BOOLEAN: "bool",
    Type.DATE: "date32",
    Type.TIMESTAMP: "timestamp[us]",
}
_FITS = {  # what a column of each type may be declared as
    Type.INTEGER: (Type.INTEGER, Type.REAL, Type.TEXT),
    Type.REAL: (Type.REAL, Type.INTEGER),
    Type.TEXT: (Type.TEXT,),
    Type.BOOLEAN: (Type.BOOLEAN,),
    Type.DATE: (Type.DATE, Type.TIMESTAMP),
    Type.TIMESTAMP: (Type.TIMESTAMP, Type.DATE),
}


def _to_integer(column: Any, held: Type) -> Any:
    """Return whole numbers; those that are not, or do not fit, are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if held is Type.REAL:
        column = column.cast("float64", safe=False)
        fits = pc.and_(
            pc.equal(column, pc.floor(column)),
            pc.and_(pc.greater_equal(column, -(2.0**63)), pc.less(column, 2.0**63)),
        )
        column = pc.if_else(fits, column, pa.scalar(None, pa.float64()))
    elif column.type == pa.uint64():
        largest = pa.scalar(LARGEST_INTEGER, pa.uint64())
        fits = pc.less_equal(column, largest)
        column = pc.if_else(fits, column, pa.scalar(None, pa.uint64()))
    return column.cast("int64", safe=False)


def _to_real(column: Any, held: Type) -> Any:
    del held
    return column.cast("float64", safe=False)


def _to_text(column: Any, held: Type) -> Any:
    import pyarrow as pa

    if held is Type.TEXT and column.type == pa.string():
        return column
    return column.cast("large_string")


def _to_boolean(column: Any, held: Type) -> Any:
    del held
    return column


def _to_date(column: Any, held: Type) -> Any:
    """Return days; the days of moments are those of UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if held is Type.TIMESTAMP:
        return _to_timestamp(column, held).cast("date32", safe=False)
    if column.type == pa.date64():
        column = column.cast("int64")
        first, last = _FIRST_DAY * 86_400_000, (_LAST_DAY + 1) * 86_400_000 - 1
        return _between(column, first, last).cast("date64").cast("date32", safe=False)
    days = column.cast("int32")
    fits = pc.and_(pc.greater_equal(days, _FIRST_DAY), pc.less_equal(days, _LAST_DAY))
    return pc.if_else(fits, column, pa.scalar(None, pa.date32()))


def _to_timestamp(column: Any, held: Type) -> Any:
    """Return moments in microseconds without a zone; those with a zone are turned into UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if held is Type.DATE:
        return _to_date(column, held).cast("timestamp[us]")
    rate = _PER_SECOND[column.type.unit]
    ticks = column.cast("int64")
    last = min((_LAST_SECOND + 1) * rate - 1, LARGEST_INTEGER)
    ticks = _between(ticks, max(_FIRST_SECOND * rate, -LARGEST_INTEGER), last)
    if rate <= 10**6:
        ticks = pc.multiply(ticks, pa.scalar(10**6 // rate, pa.int64()))
    else:
        ticks = pc.divide(ticks, pa.scalar(rate // 10**6, pa.int64()))
    return ticks.cast("timestamp[us]")


def _between(column: Any, low: int, high: int) -> Any:
    """Return whole numbers, those outside of two ends as missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    low, high = pa.scalar(low, pa.int64()), pa.scalar(high, pa.int64())
    fits = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
    return pc.if_else(fits, column, pa.scalar(None, pa.int64()))


_CONVERSIONS = {
    Type.INTEGER: _to_integer,
    Type.REAL: _to_real,
    Type.TEXT: _to_text,
    Type.BOOLEAN: _to_boolean,
    Type.DATE: _to_date,
    Type.TIMESTAMP: _to_timestamp,
}
