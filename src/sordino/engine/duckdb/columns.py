# SPDX-License-Identifier: Apache-2.0
"""The door: declared columns alone, each value in its declared type or missing.

What a column is turned into depends on the types that were declared and that its source has, never
on a value. No value raises, and on ids no two values become one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sordino.catalog.model import Column, Table
from sordino.catalog.values import CONVERSIONS
from sordino.engine.compile.dialect import Writer, known_time, longer, quoted, short_text
from sordino.engine.duckdb.dialect import DUCKDB
from sordino.errors import CatalogError
from sordino.query.types import Type

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
FLOATS = ("FLOAT", "DOUBLE")
BROKEN = (*FLOATS, "DECIMAL")
TEXTS = ("VARCHAR", "ENUM", "UUID")
ZONED, ZONED_NS = "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"
EXACT_MOMENTS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", ZONED)
MOMENTS = (*EXACT_MOMENTS, "TIMESTAMP_NS", ZONED_NS)
NOTHING = "NULL"  # a column without any type
LONGEST_NUMBER = 1_000  # bytes of text that may be a number

_HELD_AS: dict[Type, tuple[str, ...]] = {
    Type.INTEGER: (*WHOLE, *UNSIGNED),
    Type.REAL: BROKEN,
    Type.TEXT: ("VARCHAR",),
    Type.BOOLEAN: ("BOOLEAN",),
    Type.DATE: ("DATE",),
    Type.TIMESTAMP: MOMENTS,
}
_FITS: dict[Type, tuple[str, ...]] = {
    declared: tuple(
        name
        for held, names in _HELD_AS.items()
        if (held, declared) in CONVERSIONS
        for name in (TEXTS if held is declared is Type.TEXT else names)
    )
    for declared in Type
}
_FITS_IDS: dict[Type, tuple[str, ...]] = {  # where no two values of the source become one
    Type.INTEGER: _FITS[Type.INTEGER],
    Type.REAL: (),
    Type.TEXT: _FITS[Type.TEXT],
    Type.BOOLEAN: ("BOOLEAN",),
    Type.DATE: ("DATE", "VARCHAR"),
    Type.TIMESTAMP: ("DATE", *EXACT_MOMENTS),
}
_IN_UTC = {ZONED: "zoned", "TIMESTAMP_NS": "from_ns", ZONED_NS: "from_ns"}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\d+\)")
_WIDE = ("HUGEINT", "UHUGEINT")
_DIGITS = 18  # of decimals that are kept in 64 bits
_WHOLE_TEXT = "' *[+-]?[0-9]+ *'"
_REAL_TEXT = "' *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *'"
_DAY_TEXT = "'[0-9]{4}-[0-9]{2}-[0-9]{2}'"
_HOUR_TEXT = "([01][0-9]|2[0-3])"  # hour 24 would be one of the next day
_MOMENT_TEXT = f"{_DAY_TEXT[:-1]}[ T]{_HOUR_TEXT}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?'"
_ZONED_TEXT = f"{_MOMENT_TEXT[:-1]}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)'"
_YES, _NO = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_LONGEST_WORD = max(map(len, (*_YES, *_NO)))
_LONGEST_MOMENT = len("2024-05-01 12:30:00.123456+00:00")


@dataclass(frozen=True, slots=True)
class Base:
    """Where a table is read from, and which type each declared column has there.

    ``ids`` are the columns that say whose a row is, or lead there; see ``compile.rows.id_columns``.
    """

    source: str  # SQL that stands after FROM; made by us
    held: Mapping[str, str]  # names of engine types by column, with parameters for DECIMAL alone
    ids: frozenset[str] = frozenset()

    def value(self, writer: Writer, column: Column, *, whole: bool) -> str:
        """Return a column in its declared type; ``whole`` leaves text as it is."""
        name, kind = column.name, column.type
        return normal(writer, name, kind, self.held[name], is_id=name in self.ids, whole=whole)

    def is_raw(self, column: Column) -> bool:
        """Tell whether a column is text that is cut if it is too long, and may be cut later."""
        return self.held.get(column.name) == "VARCHAR" and column.type is Type.TEXT


def view_name(place: int) -> str:
    """Return the name under which a connection has the table at a place of the catalog."""
    return f"t{place}"


def check_fit(table: str, column: str, kind: Type, held: str, *, is_id: bool = False) -> None:
    """Refuse a column whose type in the source cannot be what is declared."""
    family = "DECIMAL" if _DECIMAL.fullmatch(held) else held
    if family == NOTHING:
        return
    if family not in _FITS[kind]:
        raise CatalogError(
            f"column {column!r} of table {table!r} is declared as {kind}, but its source has "
            f"{held}; declare what it holds, or leave the column out"
        )
    if is_id and family not in _FITS_IDS[kind]:
        raise CatalogError(
            f"column {column!r} of table {table!r} holds ids and is declared as {kind}, but its "
            f"source has {held}, of which several would become one id; declare what it holds"
        )


def normal(
    writer: Writer, column: str, kind: Type, held: str, *, is_id: bool = False, whole: bool = False
) -> str:
    """Return a column of a source as a value of its declared type, or missing; nothing is bound.

    ``whole`` keeps text as it is: two units must not become one because long ids begin alike.
    """
    text = quoted(column)
    match kind:
        case Type.INTEGER:
            return _integer(writer, text, held, is_id=is_id)
        case Type.REAL:
            return _real(writer, text, held)
        case Type.TEXT:
            text = text if held == "VARCHAR" else _as_type(text, kind)
            return text if whole or held not in TEXTS else short_text(writer, text)
        case Type.BOOLEAN:
            return _boolean(writer, text, held)
        case Type.DATE | Type.TIMESTAMP:
            return known_time(writer, _time(writer, text, kind, held), kind)


def typed(table: Table, held: Mapping[str, str], ids: frozenset[str]) -> list[str]:
    """Return the declared columns in their types; text that is an id stays whole."""
    writer = Writer(DUCKDB)
    columns = []
    for column in table.columns:
        name, kind = column.name, column.type
        text = normal(writer, name, kind, held[name], is_id=name in ids, whole=True)
        columns.append(f"{_as_type(text, kind)} AS {quoted(name)}")
    return columns


def _integer(writer: Writer, text: str, held: str, *, is_id: bool) -> str:
    if held == "BIGINT":
        return text
    cast = _as_type(text, Type.INTEGER)
    if held in FLOATS:  # 1.5 is no whole number, and is missing
        return f"CASE WHEN {text} = floor({text}) THEN {cast} END"
    if _DECIMAL.fullmatch(held):  # floor fails at its ends, and a cast there and back does not
        return f"CASE WHEN {_cast(cast, held)} = {text} THEN {cast} END"
    if held != "VARCHAR":
        return cast
    # What is written as we would write it is told by a cast there and back, and needs no pattern.
    canonical = f"{_as_type(cast, Type.TEXT)} = {text}"
    long = longer(writer, text, LONGEST_NUMBER)
    if is_id:
        return f"CASE WHEN {long} THEN NULL WHEN {canonical} THEN {cast} END"
    matches = writer.dialect.functions["matches"].format(text, _WHOLE_TEXT)
    return f"CASE WHEN {long} THEN NULL WHEN {canonical} OR {matches} THEN {cast} END"


def _real(writer: Writer, text: str, held: str) -> str:
    number = text if held == "DOUBLE" else _as_type(text, Type.REAL)
    decimal = _DECIMAL.fullmatch(held)
    if held in _WIDE or (decimal and int(decimal[1]) > _DIGITS):
        # Of 128 bits DuckDB may make a double beside the nearest one, and of text it does not.
        return _as_type(_as_type(text, Type.TEXT), Type.REAL)
    if held in (*WHOLE, *UNSIGNED, "BOOLEAN") or decimal:
        return number
    zero = _as_type("0", Type.REAL)
    if held == "VARCHAR":  # which may spell more than a double holds
        long = longer(writer, text, LONGEST_NUMBER)
        matches = writer.dialect.functions["matches"].format(text, _REAL_TEXT)
        finite = writer.dialect.functions["is_finite"].format(number)
        return (
            f"CASE WHEN {long} THEN NULL WHEN NOT {matches} THEN NULL WHEN {number} = {zero} "
            f"THEN {zero} WHEN {finite} THEN {number} END"
        )
    test = writer.dialect.is_nan.format(number)
    return f"CASE WHEN {test} THEN NULL WHEN {number} = {zero} THEN {zero} ELSE {number} END"


def _boolean(writer: Writer, text: str, held: str) -> str:
    if held == "BOOLEAN":
        return text
    if held != "VARCHAR":
        return _as_type(text, Type.BOOLEAN)
    word = writer.dialect.functions["lower"].format(text)
    long = longer(writer, text, _LONGEST_WORD)
    return (
        f"CASE WHEN {long} THEN NULL WHEN {word} IN {_YES} THEN TRUE WHEN {word} IN {_NO} "
        "THEN FALSE END"
    )


def _time(writer: Writer, text: str, kind: Type, held: str) -> str:
    """Return a day or a moment of any year; moments with a zone are turned into UTC."""
    functions = writer.dialect.functions
    if held == "VARCHAR":
        long = longer(writer, text, _LONGEST_MOMENT)
        if kind is Type.DATE:
            day = functions["matches"].format(text, _DAY_TEXT)
            return f"CASE WHEN {long} THEN NULL WHEN {day} THEN {_as_type(text, kind)} END"
        plain = functions["matches"].format(text, _MOMENT_TEXT)
        zoned = functions["matches"].format(text, _ZONED_TEXT)
        utc = functions["zoned"].format(_cast(text, ZONED))
        return (
            f"CASE WHEN {long} THEN NULL WHEN {plain} THEN {_as_type(text, kind)} "
            f"WHEN {zoned} THEN {utc} END"
        )
    if held in _IN_UTC:
        text, held = functions[_IN_UTC[held]].format(text), "TIMESTAMP"
    same = {"DATE": Type.DATE, "TIMESTAMP": Type.TIMESTAMP}
    return text if same.get(held) is kind else _as_type(text, kind)


def _cast(text: str, name: str) -> str:
    return DUCKDB.try_cast.format(text, name)


def _as_type(text: str, kind: Type) -> str:
    return _cast(text, DUCKDB.types[kind])


_NAMED = ("enum", "list", "array", "struct", "map", "union", "variant")


def held_of(kind: Any) -> str:
    """Return the name of a type of DuckDB; parameters are left out, but for those of DECIMAL.

    A type with others within it is named without them, for their names may hold values of rows.
    """
    if kind.id == "null":
        return NOTHING
    return str(kind.id).upper() if kind.id in _NAMED else str(kind)
