# SPDX-License-Identifier: Apache-2.0
"""Random catalogs: private tables, a child, a public table, a table of rows; odd names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa

from sordino.catalog.model import (
    Catalog,
    Column,
    ForeignKey,
    Frame,
    Limits,
    Purse,
    Table,
)
from sordino.privacy.budget import Budget
from sordino.query.types import ARROW_TYPES, Range, Type, Value

ARROW = {kind: pa.type_for_alias(name) for kind, name in ARROW_TYPES.items()}
WORDS = ("red", "green", "blue", "", " Red ", "naïve", "π", "x'y", 'q"t', "50%", "a_b", "null")
UNIT = "uid"
ROW_ID = "rid"
_BUDGETS = (
    Budget(epsilon=1000),
    Budget(epsilon=1000, delta=1e-6),
    Budget(epsilon=1000, delta=1e-6, currency="gdp"),
)


@dataclass(frozen=True, slots=True)
class Schema:
    """The declared tables by what they are for; a name is None where there is no such table."""

    tables: tuple[Table, ...]
    main: str
    second: str | None
    child: str | None
    public: str | None
    alone: str | None
    purses: tuple[tuple[str, Purse], ...]
    held: tuple[tuple[str, str, Type], ...] = ()  # columns whose source has another type

    def table(self, name: str) -> Table:
        return next(t for t in self.tables if t.name == name)

    def catalog(self, frames: dict[str, Any]) -> Catalog:
        """Return the catalog over given Arrow tables."""
        tables = tuple(replace(t, source=Frame(frames[t.name])) for t in self.tables)
        return Catalog(tables=tables, purses=self.purses)


def make_schema(random: Random, *, odd: bool = True) -> Schema:
    """Return a random schema; ``odd`` lets sources hold other types than are declared."""
    unit_type = random.choice((Type.INTEGER, Type.INTEGER, Type.TEXT))
    unit = Column(UNIT, unit_type)
    main_name = random.choice(("visits", "Log", "a b"))
    main = Table(
        name=main_name,
        source=Frame(None),
        columns=(unit, Column(ROW_ID, Type.INTEGER), *_columns(random, "m", least=4)),
        unit=UNIT,
        limits=_limits(random),
    )
    tables = [main]
    second = child = public = alone = None
    if random.random() < 0.65:
        second = "people_more"
        tables.append(
            Table(
                name=second,
                source=Frame(None),
                columns=(unit, *_columns(random, "s", least=2)),
                unit=UNIT,
                limits=_limits(random),
            )
        )
    if random.random() < 0.55:
        child = "items"
        tables.append(
            Table(
                name=child,
                source=Frame(None),
                columns=(Column(ROW_ID, Type.INTEGER), *_columns(random, "c", least=2)),
                parent=ForeignKey(ROW_ID, main_name, ROW_ID),
                limits=_limits(random),
            )
        )
    if random.random() < 0.75:
        public = "places"
        tables.append(Table(public, Frame(None), _public_columns(random), public=True))
    if random.random() < 0.45:
        alone = "survey"
        tables.append(
            Table(
                name=alone,
                source=Frame(None),
                columns=_columns(random, "r", least=3),
                unit="row",
                people="rows",
                limits=_limits(random) if random.random() < 0.3 else Limits(),
            )
        )
    purse = Purse(random.choice(_BUDGETS), Fraction(1, 1000))
    if public is not None and random.random() < 0.4:
        tables[0] = _keys_from(tables[0], public)
    return Schema(
        tuple(tables), main_name, second, child, public, alone,
        (("people", purse), ("rows", purse)), _held(random, tables) if odd else (),
    )  # fmt: skip


def _keys_from(table: Table, public: str) -> Table:
    """Let the keys of the last text column be those of the public table."""
    texts = [c.name for c in table.columns if c.type is Type.TEXT and c.name != UNIT]
    columns = tuple(
        replace(c, keys=None, keys_from=(public, "word")) if c.name == texts[-1] else c
        for c in table.columns
    )
    return replace(table, columns=columns)


_OTHERWISE = {
    Type.INTEGER: (Type.REAL, Type.TEXT),
    Type.REAL: (Type.TEXT, Type.TEXT),
    Type.TEXT: (Type.TEXT,),
    Type.BOOLEAN: (Type.TEXT, Type.INTEGER),
    Type.DATE: (Type.TEXT,),
    Type.TIMESTAMP: (Type.TEXT, Type.DATE),
}


def _held(random: Random, tables: list[Table]) -> tuple[tuple[str, str, Type], ...]:
    return tuple(
        (table.name, column.name, random.choice(_OTHERWISE[column.type]))
        for table in tables
        for column in table.columns
        if column.name not in (UNIT, ROW_ID) and random.random() < 0.06
    )


def _limits(random: Random) -> Limits:
    return Limits(
        rows=random.choice((None, 1, 1, 2, 3, 4, 7)),
        groups=random.choice((None, None, None, 1, 2, 3)),
        rows_per_group=random.choice((None, None, None, 1, 2, 3)),
    )


def _columns(random: Random, prefix: str, least: int) -> tuple[Column, ...]:
    """Return a bounded number, a text and others of random types."""
    made = [_number(random, f"{prefix}1"), _text(random, f"{prefix}2")]
    kinds = (_number, _text, _boolean, _date, _moment, _number)
    places = range(3, random.randint(least, least + 3) + 1)
    return (*made, *(random.choice(kinds)(random, f"{prefix}{place}") for place in places))


def _number(random: Random, name: str) -> Column:
    if random.random() < 0.5:
        low, high = random.choice(
            ((0, 1), (1, 5), (-3, 3), (0, 120), (-7, -2), (0, 10**6), (-(2**40), 2**40), (3, 3))
        )
        bounds = None if random.random() < 0.1 else Range(Fraction(low), Fraction(high))
        return Column(name, Type.INTEGER, bounds=bounds)
    ends = random.choice(
        (("0", "1"), ("-1", "1"), ("0", "5000"), ("0.1", "0.7"), ("-1e9", "3"), ("5", "1e12"))
    )
    return Column(name, Type.REAL, bounds=Range(Fraction(ends[0]), Fraction(ends[1])))


def _text(random: Random, name: str) -> Column:
    keys: tuple[Value, ...] | None = None
    other: Value = None
    if random.random() < 0.6:
        keys = tuple(random.sample(WORDS, random.randint(1, 5)))
        if random.random() < 0.3:
            keys = (*keys, None)
        if random.random() < 0.4:
            other = random.choice(("other", "rest"))
    return Column(name, Type.TEXT, keys=keys, other=other)


def _boolean(random: Random, name: str) -> Column:
    del random
    return Column(name, Type.BOOLEAN)


def _date(random: Random, name: str) -> Column:
    years = random.choice(((2023, 2024), (2000, 2000), (1990, 2030)))
    return Column(name, Type.DATE, bounds=Range(Fraction(years[0]), Fraction(years[1])))


def _moment(random: Random, name: str) -> Column:
    return replace(_date(random, name), type=Type.TIMESTAMP)


def _public_columns(random: Random) -> tuple[Column, ...]:
    region = Column("region", Type.TEXT, keys=("north", "south"))
    if random.random() < 0.4:
        region = Column("region", Type.TEXT)
    return (
        Column("word", Type.TEXT),
        Column("code", Type.INTEGER, bounds=Range(Fraction(0), Fraction(6))),
        region,
        Column("factor", Type.REAL, bounds=Range(Fraction(-2), Fraction(50))),
    )
