# SPDX-License-Identifier: Apache-2.0
"""Poisoned tables, and units that come and go with all their rows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

import pyarrow as pa

from sordino.query.types import Type
from tests.session.attack.neighbours.schemas import ARROW, ROW_ID, UNIT, WORDS, Schema

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = dict[str, list[Row]]  # table -> rows

_DAY = 86_400_000_000
_POISON: dict[Type, tuple[Any, ...]] = {
    Type.INTEGER: (2**63 - 1, -(2**63), 2**53 + 1, -1, 0, 2**31, 10**18, 7, -(2**40) - 1),
    Type.REAL: (
        float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 5e-324, -0.0, 1e16 + 2, 0.5,
        2.5, 1 / 3, -1e-9, 4999.999999999999,
    ),
    Type.TEXT: ("", "\0", "a\0b", "🙂" * 3, "x" * 12_000, "NaN", "1e999", "  ", "DROP", "İ", "ß"),
    Type.BOOLEAN: (True, False),
    Type.DATE: (-(2**31), 2**31 - 1, -719_162, -719_163, 2_932_896, 2_932_897, 0, -1, 20_000),
    Type.TIMESTAMP: (
        -(2**63), 2**63 - 1, -719_162 * _DAY, -719_162 * _DAY - 1, 2_932_897 * _DAY - 1,
        2_932_897 * _DAY, 0, -1,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class World:
    """Rows that stay, and the rows of each unit that comes and goes."""

    schema: Schema
    staying: Rows
    leaving: tuple[Rows, ...]

    def rows(self, present: frozenset[int], random: Random) -> Rows:
        """Return all rows with the units that are present, in random order."""
        made: Rows = {}
        for table in self.schema.tables:
            rows = list(self.staying[table.name])
            for place in sorted(present):
                rows += self.leaving[place].get(table.name, [])
            if not table.public:
                random.shuffle(rows)
            made[table.name] = rows
        return made

    def sets(self) -> tuple[frozenset[int], ...]:
        """Return every choice of units that are present."""
        units = range(len(self.leaving))
        return tuple(
            frozenset(chosen)
            for many in range(len(self.leaving) + 1)
            for chosen in itertools.combinations(units, many)
        )


def frames(schema: Schema, rows: Rows) -> dict[str, Any]:
    """Return an Arrow table for each table."""
    held = {(table, column): type_ for table, column, type_ in schema.held}
    return {
        table.name: pa.table(
            {
                c.name: _column(
                    [row.get(c.name) for row in rows[table.name]],
                    c.type,
                    held.get((table.name, c.name), c.type),
                )
                for c in table.columns
            }
        )
        for table in schema.tables
    }


def _column(values: list[Any], declared: Type, type_: Type) -> Any:
    if declared is not type_:
        values = [None if v is None else _turned(v, type_) for v in values]
    if type_ is Type.DATE:
        return pa.array(values, pa.int32()).cast(pa.date32())
    if type_ is Type.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(pa.timestamp("us"))
    return pa.array(values, ARROW[type_])


def _turned(value: Any, type_: Type) -> Any:
    """Return a value as a source of another type would hold it."""
    if type_ is Type.TEXT:
        return str(value)
    if type_ is Type.DATE:
        return max(-(2**31), min(2**31 - 1, value // _DAY))
    return float(value) if type_ is Type.REAL else int(value)


def make_world(random: Random, schema: Schema, *, leaving: int = 3) -> World:
    """Return rows of a few calm units, and hostile units that come and go."""
    maker = _Maker(random, schema, shared=random.random() < 0.2)
    staying = maker.public()
    for number in range(random.randint(0, 7)):
        _add(staying, maker.unit(number, hostile=random.random() < 0.2))
    _add(staying, maker.nobody())
    for table in schema.tables:
        staying.setdefault(table.name, [])
    gone = []
    for number in range(leaving):
        rows = maker.unit(100 + number, hostile=random.random() < 0.8)
        if random.random() < 0.2:
            _add(rows, maker.nobody())
        if maker.shared and schema.child is not None:  # they may belong to others as well
            staying[schema.child] += rows.pop(schema.child)
        gone.append(rows)
    return World(schema, staying, tuple(gone))


def _add(all_rows: Rows, more: Rows) -> None:
    for name, rows in more.items():
        all_rows.setdefault(name, []).extend(rows)


class _Maker:
    """Makes rows. With ``shared``, rows of different units have the same few row ids."""

    def __init__(self, random: Random, schema: Schema, *, shared: bool) -> None:
        self.random = random
        self.schema = schema
        self.shared = shared
        self.text_units = schema.table(schema.main).columns[0].type is Type.TEXT
        self.next_id = 0

    def unit(self, number: int, *, hostile: bool) -> Rows:
        """Return all rows of one unit, and one row of the table of rows."""
        random, schema = self.random, self.schema
        who: Any = f"u{number}" if self.text_units else _IDS.get(number, number)
        made: Rows = {}
        ids: list[Any] = []
        for name in (schema.main, schema.second):
            if name is None:
                continue
            rows = self._many(name, hostile)
            for row in rows:
                row[UNIT] = who
                if name == schema.main:
                    row[ROW_ID] = self._fresh_id(ids)
            made[name] = rows
        if schema.child is not None:
            made[schema.child] = self._many(schema.child, hostile)
            for row in made[schema.child]:
                row[ROW_ID] = random.choice(ids) if ids and random.random() < 0.9 else None
        if schema.alone is not None:
            made[schema.alone] = [self._row(schema.alone, hostile)]
        return made

    def nobody(self) -> Rows:
        """Return rows that belong to nobody."""
        random, schema = self.random, self.schema
        made: Rows = {}
        for name in (schema.main, schema.second):
            if name is not None:
                made[name] = [self._row(name, True) for _ in range(random.randint(0, 3))]
                for row in made[name]:
                    row[UNIT] = None
        if schema.child is not None:
            made[schema.child] = [
                self._row(schema.child, True) for _ in range(random.randint(0, 2))
            ]
            for row in made[schema.child]:
                row[ROW_ID] = random.choice((None, -5))
        return made

    def public(self) -> Rows:
        """Return the rows of the public table; keys may repeat, so that joins multiply rows."""
        if self.schema.public is None:
            return {}
        random = self.random
        many = random.choice((0, 3, 8, 20))
        return {
            self.schema.public: [
                {
                    "word": random.choice((*WORDS, None)),
                    "code": random.choice((*range(7), None)),
                    "region": random.choice(("north", "south", "west", None)),
                    "factor": random.choice((0.0, 1.0, -2.0, 50.0, float("inf"), None)),
                }
                for _ in range(many)
            ]
        }

    def _many(self, name: str, hostile: bool) -> list[Row]:
        random = self.random
        if not hostile:
            return [self._row(name, False) for _ in range(random.randint(0, 3))]
        many = random.choice((0, 1, 2, 5, 5, 9, 9, 9, 9, 9, 40))
        same = random.random() < 0.3
        if same and many:
            row = self._row(name, random.random() < 0.5)
            return [dict(row) for _ in range(many)]
        poison = random.random() < 0.6
        return [self._row(name, poison) for _ in range(many)]

    def _fresh_id(self, own: list[Any]) -> Any:
        """Return a row id that no other unit has, if none is shared; seldom an own one again."""
        if self.shared:
            own.append(self.random.randint(1, 5))
            return own[-1]
        if self.random.random() < 0.1:
            return self.random.choice((None, *own))
        self.next_id += 1
        own.append(self.next_id)
        return self.next_id

    def _row(self, name: str, poison: bool) -> Row:
        return {
            c.name: self._value(c, poison)
            for c in self.schema.table(name).columns
            if c.name not in (UNIT, ROW_ID)
        }

    def _value(self, column: Any, poison: bool) -> Any:
        random = self.random
        chance = random.random()
        if chance < 0.07:
            return None
        if poison and chance < 0.5:
            return random.choice(_POISON[column.type])
        match column.type:
            case Type.INTEGER | Type.REAL:
                return self._number(column)
            case Type.TEXT:
                return random.choice(WORDS)
            case Type.BOOLEAN:
                return random.random() < 0.5
            case Type.DATE:
                return random.randint(18_000, 20_500)
            case _:
                return random.randint(18_000, 20_500) * _DAY + random.randint(0, _DAY - 1)

    def _number(self, column: Any) -> Any:
        random = self.random
        if column.bounds is None:
            return random.randint(-5, 5)
        low, high = column.bounds.low, column.bounds.high
        place = random.choice((0, 1, 0.5, random.random()))
        value = float(low) + place * (float(high) - float(low))
        return round(value) if column.type is Type.INTEGER else value


_IDS = {100: -(2**63), 101: 2**63 - 1, 3: 0}
