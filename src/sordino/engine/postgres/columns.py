# SPDX-License-Identifier: Apache-2.0
"""The door of PostgreSQL: declared columns alone, each value in its declared type or missing.

The types are those of PostgreSQL itself, by their numbers: an extension or a user may make others,
with casts and operators of their own, and nothing is known of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sordino.catalog.model import Column
from sordino.catalog.values import CONVERSIONS
from sordino.engine.compile.dialect import Writer, known_time, longer, quoted, short_text
from sordino.engine.postgres.dialect import (
    DAY,
    LARGEST,
    LEAST,
    LONG,
    MOMENT,
    POSTGRES,
    SHORT_WHOLE,
    WHOLE,
    ZONED,
    double_of,
    read_real,
)
from sordino.errors import CatalogError
from sordino.query.types import Type


class Held(StrEnum):
    """What a column holds, as far as reading it goes."""

    WHOLE = "whole"
    WIDE = "bigint"
    NUMERIC = "numeric"
    REAL = "real"
    TEXT = "text"
    PADDED = "char"
    WORD = "word"  # a UUID or a value of an enum
    BOOLEAN = "boolean"
    DATE = "date"
    MOMENT = "timestamp"
    ZONED = "timestamptz"


OF_TYPE = {  # by the number that the type has in every PostgreSQL
    16: Held.BOOLEAN, 20: Held.WIDE, 21: Held.WHOLE, 23: Held.WHOLE, 25: Held.TEXT,
    700: Held.REAL, 701: Held.REAL, 1042: Held.PADDED, 1043: Held.TEXT, 1082: Held.DATE,
    1114: Held.MOMENT, 1184: Held.ZONED, 1700: Held.NUMERIC, 2950: Held.WORD,
}  # fmt: skip
TYPE_OF = {
    Held.WHOLE: Type.INTEGER, Held.WIDE: Type.INTEGER, Held.NUMERIC: Type.REAL,
    Held.REAL: Type.REAL, Held.TEXT: Type.TEXT, Held.PADDED: Type.TEXT, Held.WORD: Type.TEXT,
    Held.BOOLEAN: Type.BOOLEAN, Held.DATE: Type.DATE, Held.MOMENT: Type.TIMESTAMP,
    Held.ZONED: Type.TIMESTAMP,
}  # fmt: skip
# As what else a word may be declared: nothing; it is compared, and not read.
_WORDS = (Held.PADDED, Held.WORD)
_NOT_IDS = {  # several values would become one id
    (Type.DATE, Type.TIMESTAMP), (Type.DATE, Type.REAL), (Type.BOOLEAN, Type.INTEGER),
    (Type.BOOLEAN, Type.REAL), (Type.BOOLEAN, Type.TEXT), (Type.TIMESTAMP, Type.TEXT),
}  # fmt: skip
_YES, _NO = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_LONGEST_WORD = max(map(len, (*_YES, *_NO)))
_LONGEST_MOMENT = len("2024-05-01 12:30:00.123456+00:00")
_CANONICAL = "'^(0|-?[1-9][0-9]{0,18})$'"


def check_fit(table: str, column: str, kind: Type, held: Held, *, is_id: bool) -> None:
    """Refuse a column whose type in the database cannot be what is declared."""
    own = TYPE_OF[held]
    if (own, kind) not in CONVERSIONS or (held in _WORDS and kind is not Type.TEXT):
        raise CatalogError(
            f"column {column!r} of table {table!r} is declared as {kind}, but its source has "
            f"{held}; declare what it holds, or leave the column out"
        )
    if is_id and (kind is Type.REAL or (kind, own) in _NOT_IDS):
        raise CatalogError(
            f"column {column!r} of table {table!r} holds ids and is declared as {kind}, but its "
            f"source has {held}, of which several would become one id; declare what it holds"
        )


@dataclass(frozen=True, slots=True)
class PostgresBase:
    """Where a table is read from, and what each declared column holds; ``ids`` say whose rows."""

    source: str  # SQL that stands after FROM; made by us
    held: Mapping[str, Held]
    ids: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()  # columns whose texts are equal only if their bytes are

    def value(self, writer: Writer, column: Column, *, whole: bool) -> str:
        """Return a column in its declared type, or missing; it never fails."""
        text, held = quoted(column.name), self.held[column.name]
        match column.type:
            case Type.INTEGER:
                return _integer(text, held, is_id=column.name in self.ids)
            case Type.REAL:
                return _real(text, held)
            case Type.TEXT:
                text = _text(text, held)
                return text if whole or held is not Held.TEXT else short_text(writer, text)
            case Type.BOOLEAN:
                return _boolean(writer, text, held)
            case Type.DATE | Type.TIMESTAMP:
                return _time(writer, text, column.type, held)

    def is_raw(self, column: Column) -> bool:
        """Tell whether a column is text that may be grouped as it is, and be cut later.

        Not if a collation makes texts equal that differ.
        """
        text = column.type is Type.TEXT and self.held[column.name] is Held.TEXT
        return text and column.name in self.plain


def _integer(text: str, held: Held, *, is_id: bool) -> str:
    match held:
        case Held.REAL:  # 1.5 is no whole number, and is missing
            text = f"CAST({text} AS float8)"
            cast = POSTGRES.casts[Type.REAL, Type.INTEGER].format(text)
            return f"CASE WHEN {text} = floor({text}) THEN {cast} END"
        case Held.NUMERIC:
            return (
                f"CASE WHEN {text} BETWEEN {LEAST} AND {LARGEST} AND {text} = trunc({text}) "
                f"THEN CAST({text} AS bigint) END"
            )
        case Held.BOOLEAN:
            return POSTGRES.casts[Type.BOOLEAN, Type.INTEGER].format(text)
        case Held.TEXT:
            return _written(_text(text, held), is_id=is_id)
        case _:
            return text if held is Held.WIDE else f"CAST({text} AS bigint)"


def _written(text: str, *, is_id: bool) -> str:
    """Return text as a whole number; an id must be written as we would write it."""
    fits = f"CAST({text} AS numeric) BETWEEN {LEAST} AND {LARGEST}"
    cast = f"CASE WHEN {fits} THEN CAST({text} AS bigint) END"
    if is_id:  # which one text is for each number
        return f"CASE WHEN {text} ~ {_CANONICAL} THEN {cast} END"
    return (
        f"CASE WHEN {LONG.format(text)} THEN NULL "
        f"WHEN {text} ~ {SHORT_WHOLE} THEN CAST({text} AS bigint) "
        f"WHEN {text} ~ {WHOLE} THEN {cast} END"
    )


def _real(text: str, held: Held) -> str:
    match held:
        case Held.REAL:
            text = f"CAST({text} AS float8)"
            return (
                f"CASE WHEN {text} = float8 'NaN' THEN NULL WHEN {text} = 0 THEN 0 ELSE {text} END"
            )
        case Held.NUMERIC:
            infinite = (  # which is the nearest double of all that lie beyond
                f"CASE WHEN {text} = numeric 'NaN' THEN NULL WHEN {text} > 0 "
                "THEN float8 'Infinity' ELSE float8 '-Infinity' END"
            )
            return double_of(text, infinite)
        case Held.TEXT:
            return read_real("NULL").format(_text(text, held))
        case Held.BOOLEAN:
            return POSTGRES.casts[Type.BOOLEAN, Type.REAL].format(text)
        case _:
            return f"CAST({text} AS float8)"


def _text(text: str, held: Held) -> str:
    return f'({text} COLLATE "C")' if held is Held.TEXT else f'(CAST({text} AS text) COLLATE "C")'


def _boolean(writer: Writer, text: str, held: Held) -> str:
    if held is Held.BOOLEAN:
        return text
    if held is not Held.TEXT:
        return f"({text} <> 0)"
    text = _text(text, held)
    long = longer(writer, text, _LONGEST_WORD)
    return (
        f"CASE WHEN {long} THEN NULL WHEN lower({text}) IN {_YES} THEN TRUE "
        f"WHEN lower({text}) IN {_NO} THEN FALSE END"
    )


def _time(writer: Writer, text: str, kind: Type, held: Held) -> str:
    """Return a day or a moment between the years 1 and 9999; those with a zone are in UTC.

    Whether the year is one of these is looked at first: what lies beyond may be in no other type.
    """
    name = POSTGRES.types[kind]
    if held is Held.TEXT:
        text = _text(text, held)
        long = longer(writer, text, _LONGEST_MOMENT)
        if kind is Type.DATE:
            return f"CASE WHEN {long} THEN NULL WHEN {text} ~ {DAY} THEN CAST({text} AS date) END"
        utc = f"(CAST({text} AS timestamptz) AT TIME ZONE 'UTC')"
        return (
            f"CASE WHEN {long} THEN NULL WHEN {text} ~ {MOMENT} THEN CAST({text} AS timestamp) "
            f"WHEN {text} ~ {ZONED} THEN {known_time(writer, utc, kind)} END"
        )
    own = Type.DATE if held is Held.DATE else Type.TIMESTAMP
    if held is Held.ZONED:
        text = f"({text} AT TIME ZONE 'UTC')"
    known = known_time(writer, text, own)
    return known if own is kind else f"CAST({known} AS {name})"
