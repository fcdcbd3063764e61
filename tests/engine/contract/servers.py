# SPDX-License-Identifier: Apache-2.0
"""Columns of a real PostgreSQL database, with every type that is read and some that are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import psycopg
from psycopg import sql

from sordino.catalog.model import PostgresTable
from sordino.query.types import Type
from tests.engine.contract.poisons import (
    WORDS,
    Maker,
    Pair,
    days,
    decimals,
    floats,
    integers,
    only,
    texts,
    ticks,
    truths,
    uuids,
    words,
)
from tests.engine.stored import DAY, MOMENT, numbered, owner

NUMBERS = (Type.INTEGER, Type.REAL)
TIMES = (Type.DATE, Type.TIMESTAMP)
_WIDE = Context(prec=80)
PADDED = 12  # letters of a text that is filled up with spaces
_FIRST, _LAST = -210_866_803_200_000_000, 9_224_318_015_999_999_999  # of its moments
# One for which texts are equal that differ in case, where the server was built with such ones. That
# of a wheel was not, and has another one, which is not that of the database either.
_NOCASE = "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
_OTHER = "(provider = builtin, locale = 'C.UTF-8')"
_MADE = (
    "DROP SCHEMA IF EXISTS odd CASCADE",
    "CREATE SCHEMA odd",
    f"CREATE TYPE odd.word AS ENUM ({', '.join(repr(word) for word in WORDS)})",
    "CREATE DOMAIN odd.whole AS bigint",
    "CREATE DOMAIN odd.deep AS odd.whole",
    "CREATE DOMAIN odd.label AS text COLLATE odd.nocase NOT NULL DEFAULT 'x' CHECK (VALUE <> '?!')",
    "CREATE TYPE odd.pair AS (a integer, b integer)",
)


@dataclass(frozen=True, slots=True)
class Column:
    """A type of column: how its values are carried there, and how they are made of that."""

    name: str
    poison: Maker
    fits: tuple[Type, ...] = ()
    carried: str = ""
    template: str = "{0}"


def _numerics(random: Random, more: int) -> list[Pair]:
    """Return numbers of any length."""
    every = [
        "0", "1", "-1", "1.5", "0.1", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "-9223372036854775808.5", "1.0000", "1e30",
        "1e300", "1e308", "-1e308", "1e309", "-1e400", "1e-320", "1e-400", "-1e-400",
        "2.00000000000000000000000000000001",
    ]  # fmt: skip
    every += [str(random.randint(-(2**70), 2**70) >> random.randrange(70)) for _ in range(more)]
    pairs: list[Pair] = [(None, None), *((Decimal(text), Fraction(text)) for text in every)]
    return [*pairs, *((Decimal(odd), float(odd)) for odd in ("NaN", "Infinity", "-Infinity"))]


def _of_places(precision: int, scale: int) -> Maker:
    """Return decimals of so many digits, as Python has them."""
    make = decimals(precision, scale)

    def made(random: Random, more: int) -> list[Pair]:
        return [
            (None if raw is None else Decimal(raw).scaleb(-scale, _WIDE), cell)
            for raw, cell in make(random, more)
        ]

    return made


def _plain_floats(dtype: str) -> Maker:
    make = floats(dtype)
    return lambda random, more: [
        (None if raw is None else float(raw), cell) for raw, cell in make(random, more)
    ]


def _padded(random: Random, more: int) -> list[Pair]:
    """Return short texts, whose last spaces are what they are filled up with."""
    return [
        (text, None if text is None else str(cell).rstrip(" "))
        for text, cell in texts(random, more)
        if text is None or len(text) <= PADDED
    ]


def _there(random: Random, more: int) -> list[Pair]:
    return [pair for pair in texts(random, more) if pair[0] is not None]


def _few(random: Random, more: int) -> list[Pair]:
    del random, more
    return [(None, None)] * 2


_MOMENTS = only(ticks(10**6), lambda raw: raw is None or _FIRST <= raw <= _LAST)
_DAYS = only(days, lambda raw: raw is None or -2_440_588 <= raw <= 2_145_031_948)
COLUMNS = (
    Column("smallint", integers(16), NUMBERS),
    Column("integer", integers(32), NUMBERS),
    Column("bigint", integers(64), NUMBERS),
    Column("odd.deep", integers(64), NUMBERS),
    Column("real", _plain_floats("f4"), NUMBERS),
    Column("float8", _plain_floats("f8"), NUMBERS),
    Column("numeric", _numerics, NUMBERS),
    Column("numeric(38, 10)", _of_places(38, 10), NUMBERS),
    Column("numeric(4, 1)", _of_places(4, 1), NUMBERS),
    Column("text", texts, (Type.TEXT,)),
    Column("text COLLATE odd.nocase", texts, (Type.TEXT,)),
    Column("varchar", texts, (Type.TEXT,)),
    Column("odd.label", _there, (Type.TEXT,)),
    Column(f"char({PADDED})", _padded, (Type.TEXT,)),
    Column("odd.word", words, (Type.TEXT,), "text", "CAST({0} AS odd.word)"),
    Column("uuid", uuids, (Type.TEXT,)),
    Column("boolean", truths, (Type.BOOLEAN,)),
    Column("date", _DAYS, TIMES, "bigint", DAY),
    Column("timestamp", _MOMENTS, TIMES, "bigint", MOMENT),
    Column("timestamptz", _MOMENTS, TIMES, "bigint", f"({MOMENT}) AT TIME ZONE 'UTC'"),
    *(
        Column(name, _few)
        for name in (
            "bytea", "json", "jsonb", "integer[]", "text[]", "time", "timetz", "interval", "money",
            "bit(3)", "int4range", "odd.pair", "inet", "point", "xml", '"char"', "oid", "tsvector",
        )
    ),
)  # fmt: skip
BY_NAME: Mapping[str, Column] = {column.name: column for column in COLUMNS}
PLACES = {"empty": 60, "poisoned": 61, "fewer": 62}  # a database for each of what is written


@cache
def address(stem: str) -> str:
    """Return the address of a database in which the odd types are there."""
    at = numbered(PLACES[stem])
    first, second, *others = _MADE
    for statement in (first, second):
        owner(at).execute(statement)
    try:
        owner(at).execute(f"CREATE COLLATION odd.nocase {_NOCASE}")
    except psycopg.errors.FeatureNotSupported:
        owner(at).execute(f"CREATE COLLATION odd.nocase {_OTHER}")
    for statement in others:
        owner(at).execute(statement)
    return at


def write(
    tables: list[tuple[str, Mapping[str, list[Any]], Mapping[str, list[Any]]]], stem: str
) -> Iterator[PostgresTable]:
    """Write tables, each of the name of a type, of plain columns and of poisoned ones."""
    at = address(stem)
    connection = owner(at)
    with connection.transaction():
        connection.execute("DROP SCHEMA IF EXISTS held CASCADE")
        connection.execute("CREATE SCHEMA held")
        for place, (name, plain, poison) in enumerate(tables):
            column = BY_NAME[name]
            _write_one(connection, place, column, plain, poison)
    for place in range(len(tables)):
        yield PostgresTable(at, f"held.d{place}")


def _write_one(
    connection: psycopg.Connection[Any],
    place: int,
    column: Column,
    plain: Mapping[str, list[Any]],
    poison: Mapping[str, list[Any]],
) -> None:
    columns = [*(f"{name} bigint" for name in plain), *(f"{name} {column.name}" for name in poison)]
    carried = column.carried or column.name
    through = [*(f"{name} bigint" for name in plain), *(f"{name} {carried}" for name in poison)]
    turned = [*plain, *(column.template.format(name) for name in poison)]
    table = sql.Identifier("held", f"d{place}")
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ".join(columns))))
    connection.execute(f"CREATE TEMP TABLE carried ({', '.join(through)})")
    with connection.cursor().copy("COPY carried FROM STDIN") as copy:
        for row in zip(*plain.values(), *poison.values(), strict=True):
            copy.write_row(row)
    rows = f"SELECT {', '.join(turned)} FROM carried"  # noqa: S608 - names of our own
    connection.execute(sql.SQL("INSERT INTO {} ").format(table) + sql.SQL(rows))
    connection.execute("DROP TABLE carried")
