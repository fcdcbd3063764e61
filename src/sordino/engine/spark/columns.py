# SPDX-License-Identifier: Apache-2.0
"""The door of tables that Spark reads: declared columns alone, in their declared types or missing.

What a column is turned into depends on the types that were declared and that Spark has for it,
never on a value. No value raises, and on ids no two values become one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sordino.catalog.model import Column, Table
from sordino.catalog.values import CONVERSIONS
from sordino.engine.compile.dialect import Writer, known_time, longer, short_text
from sordino.errors import CatalogError
from sordino.query.types import Type

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_HELD: dict[str, Type] = {
    **dict.fromkeys(_WHOLE, Type.INTEGER),
    **dict.fromkeys((*_FLOATS, "decimal"), Type.REAL),
    **dict.fromkeys(("string", "varchar", "char"), Type.TEXT),
    "boolean": Type.BOOLEAN,
    "date": Type.DATE,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), Type.TIMESTAMP),
}
# Moments with a zone may be cut off from 96 bits, and several would become one.
_IDS: dict[Type, tuple[str, ...]] = {
    Type.INTEGER: (*_WHOLE, *_FLOATS, "decimal", "string", "varchar", "boolean"),
    Type.REAL: (),
    Type.TEXT: (*_WHOLE, "string", "varchar", "boolean", "date"),
    Type.BOOLEAN: ("boolean",),
    Type.DATE: ("date", "string", "varchar"),
    Type.TIMESTAMP: ("date", "timestamp_ntz"),
}
_NOTHING = "void"
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_SIZED = re.compile(r"(decimal|char|varchar)\(.*\)")
LONGEST_NUMBER = 1_000  # bytes of text that may be a number
_WHOLE_TEXT = " *[+-]?[0-9]+ *"
_REAL_TEXT = " *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *"
_DAY_TEXT = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT_TEXT = f"{_DAY_TEXT}[ T]([01][0-9]|2[0-3]):[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?"
_ZONED_TEXT = f"{_MOMENT_TEXT}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)"
_YES, _NO = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_LONGEST_WORD = max(map(len, (*_YES, *_NO)))
_LONGEST_MOMENT = len("2024-05-01 12:30:00.123456+00:00")
_LARGEST = "1.7976931348623157E308D"
_ENDS = {
    "date": ("DATE '0001-01-01'", "DATE '9999-12-31'"),
    "timestamp": (
        "TIMESTAMP_LTZ '0001-01-01 00:00:00Z'",
        "TIMESTAMP_LTZ '9999-12-31 23:59:59.999999Z'",
    ),
    "timestamp_ntz": (
        "TIMESTAMP_NTZ '0001-01-01 00:00:00'",
        "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'",
    ),
}


def family(held: str) -> str:
    """Return a type without its size.

    >>> family("decimal(38,2)"), family("bigint")
    ('decimal', 'bigint')
    """
    sized = _SIZED.fullmatch(held)
    return sized[1] if sized else held


def type_of(held: str) -> Type | None:
    """Return the type in which a column of Spark is declared by itself, or None if there is none.

    >>> type_of("smallint"), type_of("array<int>")
    (<Type.INTEGER: 'integer'>, None)
    """
    return _HELD.get(family(held))


def check_fit(table: str, column: str, kind: Type, held: str, *, is_id: bool = False) -> None:
    """Refuse a column whose type in Spark cannot be what is declared."""
    name = family(held)
    if name == _NOTHING:
        return
    stored = _HELD.get(name)
    if stored is None or (stored, kind) not in CONVERSIONS:
        raise CatalogError(
            f"column {column!r} of table {table!r} is declared as {kind}, but Spark has "
            f"{held} there; declare what it holds, or leave the column out"
        )
    if is_id and name not in _IDS[kind]:
        raise CatalogError(
            f"column {column!r} of table {table!r} holds ids and is declared as {kind}, but Spark "
            f"has {held} there, of which several would become one id; declare what it holds"
        )


@dataclass(frozen=True, slots=True)
class SparkBase:
    """A view of a table with its declared columns as c0, c1, ... and which types they have."""

    source: str
    columns: tuple[str, ...]
    held: Mapping[str, str]
    ids: frozenset[str] = frozenset()

    def value(self, writer: Writer, column: Column, *, whole: bool) -> str:
        """Return a column as a value of its declared type, or missing."""
        text = f"c{self.columns.index(column.name)}"
        held, is_id = family(self.held[column.name]), column.name in self.ids
        if held == _NOTHING:
            return writer.missing(writer.dialect.types[column.type])
        match column.type:
            case Type.INTEGER:
                return _integer(writer, text, self.held[column.name], is_id=is_id)
            case Type.REAL:
                return _real(writer, text, held)
            case Type.TEXT:
                return _text(writer, text, held, whole=whole)
            case Type.BOOLEAN:
                return _boolean(writer, text, held)
            case Type.DATE | Type.TIMESTAMP:
                return _time(writer, text, column.type, held)

    def is_raw(self, _column: Column) -> bool:
        """Tell that no text is cut later: whether it is text at all has to be seen first."""
        return False


def base_of(table: Table, source: str, held: Mapping[str, str], ids: frozenset[str]) -> SparkBase:
    """Return how a table is read, or refuse columns that do not fit."""
    for column in table.columns:
        is_id = column.name in ids
        check_fit(table.name, column.name, column.type, held[column.name], is_id=is_id)
    return SparkBase(source, tuple(column.name for column in table.columns), held, ids)


def _cast(text: str, kind: str) -> str:
    return f"try_cast({text} AS {kind})"


def _matches(text: str, pattern: str) -> str:
    """Return whether text is of a pattern from its first byte to its last."""
    return f"regexp_like({text}, '^(?:{pattern})\\\\z')"


def _integer(writer: Writer, text: str, held: str, *, is_id: bool) -> str:
    name = family(held)
    cast = _cast(text, "BIGINT")
    if name == "bigint":
        return text
    if name in _FLOATS:  # 1.5 is no whole number, and is missing
        real = text if name == "double" else f"CAST({text} AS DOUBLE)"
        whole = writer.convert(real, Type.REAL, Type.INTEGER)
        return f"CASE WHEN rint({real}) = {real} THEN {whole} END"
    if name == "decimal":
        return f"CASE WHEN {_cast(cast, held)} = {text} THEN {cast} END"
    if _HELD[name] is not Type.TEXT:
        return cast
    long = longer(writer, text, LONGEST_NUMBER)
    canonical = f"CAST({cast} AS STRING) = {text}"
    if is_id:
        return f"CASE WHEN {long} THEN NULL WHEN {canonical} THEN {cast} END"
    matches = _matches(text, _WHOLE_TEXT)
    return f"CASE WHEN {long} THEN NULL WHEN {matches} THEN {cast} END"


def _real(writer: Writer, text: str, held: str) -> str:
    if held in (*_WHOLE, "boolean", "decimal"):
        return f"CAST({text} AS DOUBLE)"
    if held in _FLOATS:
        number = text if held == "double" else f"CAST({text} AS DOUBLE)"
        return f"CASE WHEN isnan({number}) THEN NULL WHEN {number} = 0D THEN 0D ELSE {number} END"
    long = longer(writer, text, LONGEST_NUMBER)
    number, matches = _cast(text, "DOUBLE"), _matches(text, _REAL_TEXT)
    return (
        f"CASE WHEN {long} THEN NULL WHEN NOT {matches} THEN NULL WHEN {number} = 0D THEN 0D "
        f"WHEN abs({number}) <= {_LARGEST} THEN {number} END"
    )


def _text(writer: Writer, text: str, held: str, *, whole: bool) -> str:
    if _HELD[held] is Type.DATE:
        return f"CAST({known_time(writer, text, Type.DATE)} AS STRING)"
    if _HELD[held] is not Type.TEXT:
        return f"CAST({text} AS STRING)"
    return text if whole else short_text(writer, text)


def _boolean(writer: Writer, text: str, held: str) -> str:
    if held == "boolean":
        return text
    if _HELD[held] is not Type.TEXT:
        return f"({text} <> 0)"
    long, word = longer(writer, text, _LONGEST_WORD), f"lower({text})"
    return (
        f"CASE WHEN {long} THEN NULL WHEN {word} IN {_YES} THEN TRUE WHEN {word} IN {_NO} "
        "THEN FALSE END"
    )


def _time(writer: Writer, text: str, kind: Type, held: str) -> str:
    """Return a day or a moment between the years 1 and 9999; those with a zone are in UTC."""
    name = writer.dialect.types[kind]
    if _HELD[held] is Type.TEXT:
        return known_time(writer, _spelt(writer, text, kind), kind)
    first, last = _ENDS[held]
    moment = f"CAST({text} AS TIMESTAMP_NTZ)" if held == "timestamp" else text
    return f"CASE WHEN {text} BETWEEN {first} AND {last} THEN CAST({moment} AS {name}) END"


def _spelt(writer: Writer, text: str, kind: Type) -> str:
    long = longer(writer, text, _LONGEST_MOMENT)
    if kind is Type.DATE:
        day = _matches(text, _DAY_TEXT)
        return f"CASE WHEN {long} THEN NULL WHEN {day} THEN {_cast(text, 'DATE')} END"
    plain, zoned = _matches(text, _MOMENT_TEXT), _matches(text, _ZONED_TEXT)
    utc = f"CAST({_cast(text, 'TIMESTAMP_LTZ')} AS TIMESTAMP_NTZ)"
    return (
        f"CASE WHEN {long} THEN NULL WHEN {plain} THEN {_cast(text, 'TIMESTAMP_NTZ')} "
        f"WHEN {zoned} THEN {utc} END"
    )
