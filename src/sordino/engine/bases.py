# SPDX-License-Identifier: Apache-2.0
"""Base tables: declared columns alone, each value in its declared type or missing.

What a column is turned into depends on the types that were declared and that its source has, never
on a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sordino.engine.dialect import quoted
from sordino.engine.scalars import known_time
from sordino.engine.writer import Writer
from sordino.errors import CatalogError
from sordino.query.types import Type
from sordino.query.values import LONGEST_TEXT

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
BROKEN = ("FLOAT", "DOUBLE", "DECIMAL")
TEXTS = ("VARCHAR", "ENUM", "UUID")
MOMENTS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
ZONED = "TIMESTAMP WITH TIME ZONE"
NOTHING = "NULL"  # a column without any type

_FITS: dict[Type, tuple[str, ...]] = {
    Type.INTEGER: (*WHOLE, *UNSIGNED, *BROKEN, "BOOLEAN", "VARCHAR"),
    Type.REAL: (*WHOLE, *UNSIGNED, *BROKEN, "BOOLEAN", "VARCHAR"),
    Type.TEXT: (*WHOLE, *UNSIGNED, "BOOLEAN", "DATE", *TEXTS),
    Type.BOOLEAN: ("BOOLEAN", *WHOLE, *UNSIGNED, "VARCHAR"),
    Type.DATE: ("DATE", *MOMENTS, "VARCHAR"),
    Type.TIMESTAMP: ("DATE", *MOMENTS, "VARCHAR"),
}


@dataclass(frozen=True, slots=True)
class Base:
    """Where a table is read from, and which type each declared column has there."""

    source: str  # SQL that stands after FROM; made by us
    held: Mapping[str, str]  # names of engine types, without parameters, by column


def check_fit(table: str, column: str, kind: Type, held: str) -> None:
    """Refuse a column whose type in the source cannot be what is declared."""
    if held != NOTHING and held not in _FITS[kind]:
        raise CatalogError(
            f"column {column!r} of table {table!r} is declared as {kind}, but its source has "
            f"{held}; declare what it holds, or leave the column out"
        )


def normal(writer: Writer, column: str, kind: Type, held: str, *, whole: bool = False) -> str:
    """Return a column of a source as a value of its declared type, or missing.

    ``whole`` keeps text as it is: two units must not become one because long ids begin alike.
    """
    text = quoted(column)
    match kind:
        case Type.INTEGER:
            return _integer(writer, text, held)
        case Type.REAL:
            return _real(writer, text, held)
        case Type.TEXT:
            text = text if held == "VARCHAR" else writer.as_type(text, kind)
            return text if whole or held not in TEXTS else short_text(writer, text)
        case Type.BOOLEAN:
            return text if held == "BOOLEAN" else writer.as_type(text, kind)
        case Type.DATE | Type.TIMESTAMP:
            if held == ZONED:
                text = writer.dialect.functions["zoned"].format(text)
            held_kind = {"DATE": Type.DATE, "TIMESTAMP": Type.TIMESTAMP, ZONED: Type.TIMESTAMP}
            same = held_kind.get(held) is kind
            return known_time(text if same else writer.as_type(text, kind), kind)


def _integer(writer: Writer, text: str, held: str) -> str:
    if held == "BIGINT":
        return text
    cast = writer.as_type(text, Type.INTEGER)
    if held in BROKEN:  # 1.5 is no whole number, and is missing
        return f"CASE WHEN {text} = floor({text}) THEN {cast} END"
    return cast


def _real(writer: Writer, text: str, held: str) -> str:
    if held != "DOUBLE":
        text = writer.as_type(text, Type.REAL)
    if held in (*WHOLE, *UNSIGNED, "BOOLEAN"):
        return text
    test = writer.dialect.is_nan.format(text)
    zero = writer.value(0.0, Type.REAL)
    return f"CASE WHEN {test} THEN NULL WHEN {text} = {zero} THEN {zero} ELSE {text} END"


def short_text(writer: Writer, text: str) -> str:
    """Return text without NUL, and cut where it is too long; a cheap test comes first."""
    longest = writer.integer(LONGEST_TEXT)
    odd = writer.dialect.functions["odd_text"].format(text, longest)
    cut = writer.dialect.functions["cut_text"].format(text, longest)
    return f"CASE WHEN {odd} THEN {cut} ELSE {text} END"
