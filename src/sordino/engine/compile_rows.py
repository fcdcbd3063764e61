# SPDX-License-Identifier: Apache-2.0
"""Private rows as steps of a statement; the unit of every row goes with it, in a column ``u``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from sordino.engine.compile_tables import Relation, Tables
from sordino.engine.compile_units import measure_text
from sordino.engine.scalars import Scope, Term, common
from sordino.engine.select import inner, select
from sordino.plan.bounded import JOIN_ROWS
from sordino.plan.limits import is_cut
from sordino.query.tree import (
    Derive,
    JoinPublic,
    JoinUnit,
    PerUnit,
    Rows,
    Scan,
    Where,
    Window,
)


@dataclass(frozen=True, slots=True)
class Reader:
    """Turns rows into steps, the innermost first."""

    tables: Tables

    def rows(self, rows: Rows) -> Relation:
        """Return a step that gives the rows."""
        turn: dict[type, Callable[..., Relation]] = {
            Scan: self._scan,
            Where: self._where,
            Derive: self._derive,
            JoinPublic: self._join_public,
            JoinUnit: self._join_unit,
            PerUnit: self._per_unit,
            Window: self._window,
        }
        return turn[type(rows)](rows)

    def scope(self, relation: Relation) -> Scope:
        """Return where scalars on a relation are written."""
        return Scope(self.tables.writer, relation.columns)

    def _unit(self, prefix: str = "") -> list[str]:
        return [f"{prefix}u"] if self.tables.units else []

    def _step(self, name: str, text: str) -> str:
        return self.tables.writer.step(name, text)

    def _scan(self, scan: Scan) -> Relation:
        tables = self.tables
        columns = {made.name: tables.writer.column(made.name) for made, _ in scan.fields}
        wanted = [(columns[made.name], column) for made, column in scan.fields]
        table = tables.table(scan.table)
        raw: dict[str, str] = {}
        if not tables.units:  # with units, counting rows by unit takes longer than cutting text
            raw = {
                made.name: f"r_{columns[made.name]}"
                for made, column in scan.fields
                if tables.is_raw(table, column)
            }
        unread = [(raw[made.name], column) for made, column in scan.fields if made.name in raw]
        return Relation(tables.base(table, wanted, unread), columns, raw)

    def _where(self, where: Where) -> Relation:
        below = self.rows(where.rows)
        scope = self.scope(below)
        condition = scope.scalar(where.condition).text
        chosen = [*self._unit(), *below.columns.values(), *below.raw.values()]
        text = select(chosen, scope.source(below.step), where=[condition])
        return Relation(self._step("some", text), below.columns, below.raw)

    def _derive(self, derive: Derive) -> Relation:
        below = self.rows(derive.rows)
        scope, columns, chosen = self.scope(below), {}, self._unit()
        for made, scalar in derive.fields:
            columns[made.name] = self.tables.writer.column(made.name)
            chosen.append(
                f"{scope.into(scope.raw(scalar), made.type).text} AS {columns[made.name]}"
            )
        text = select(chosen, scope.source(below.step))
        return Relation(self._step("derived", text), columns)

    # Joins. ----------------------------------------------------------------------------------

    def _join_public(self, join: JoinPublic) -> Relation:
        below, tables = self.rows(join.rows), self.tables
        table = tables.table(join.table)
        if not table.public:
            raise ValueError(f"table {table.name!r} is not public")
        columns = {made.name: tables.writer.column(made.name) for made, _ in join.fields}
        names = {name: tables.inner_name(table, name) for _, name in (*join.fields, *join.on)}
        public = tables.base(table, [(inside, name) for name, inside in names.items()])
        left, right, keys = self.scope(below), self.scope(Relation(public, {})), []
        for scalar, name in join.on:
            there = left.scalar(scalar)
            other = Term(names[name], tables.column_type(table, name))
            kind = common(there.type, other.type)
            keys.append((left.into(there, kind).text, right.into(other, kind).text))
        taken = [f"{names[column]} AS {columns[made.name]}" for made, column in join.fields]
        return self._joined(
            (below.step, left, [*self._unit(), *below.columns.values()]),
            (public, right, taken),
            keys,
            outer=join.outer,
            columns={**below.columns, **columns},
        )

    def _join_unit(self, join: JoinUnit) -> Relation:
        one, two = self.rows(join.rows), self.rows(join.other)
        catalog = self.tables.catalog
        if is_cut(join, catalog):
            one = self._first_rows(one)
            if not join.outer:  # else a row that was cut off would pass for one without a match
                two = self._first_rows(two)
        left, right, keys = self.scope(one), self.scope(two), [("u", "u")]
        for here, there in join.on:
            a, b = left.scalar(here), right.scalar(there)
            kind = common(a.type, b.type)
            keys.append((left.into(a, kind).text, right.into(b, kind).text))
        return self._joined(
            (one.step, left, ["u", *one.columns.values()]),
            (two.step, right, list(two.columns.values())),
            keys,
            outer=join.outer,
            columns={**one.columns, **two.columns},
        )

    def _first_rows(self, side: Relation) -> Relation:
        """Return at most ``JOIN_ROWS`` rows of each unit, the first by a salted hash.

        The rest of the order is by all columns: rows that tie are the same, and any will do.
        """
        writer, columns = self.tables.writer, list(side.columns.values())
        h = writer.dialect.hash.format(", ".join([writer.salt(), *columns]))
        order = ", ".join([h, *columns])
        place = f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
        ranked = inner(select(["u", *columns, place], side.step))
        near = [f"place <= {writer.integer(JOIN_ROWS)}"]
        text = select(["u", *columns], ranked, where=near)
        return Relation(self._step("first", text), side.columns)

    def _joined(
        self,
        one: tuple[str, Scope, list[str]],
        two: tuple[str, Scope, list[str]],
        keys: list[tuple[str, str]],
        *,
        outer: bool,
        columns: dict[str, str],
    ) -> Relation:
        """Join two sides, each with columns of its own and with keys of one type."""
        sides = []
        for place, (step, scope, chosen) in enumerate((one, two)):
            named = [f"{key[place]} AS j{number}" for number, key in enumerate(keys)]
            sides.append(inner(select([*chosen, *named], scope.source(step))))
        on = " AND ".join(f"l.j{number} = r.j{number}" for number in range(len(keys)))
        how = "LEFT JOIN" if outer else "JOIN"
        chosen = [*self._unit("l."), *columns.values()]
        text = select(chosen, f"{sides[0]} AS l {how} {sides[1]} AS r ON {on}")
        return Relation(self._step("joined", text), columns)

    # What is computed for each unit. -----------------------------------------------------------

    def _per_unit(self, rows: PerUnit) -> Relation:
        below = self.rows(rows.rows)
        scope, columns, chosen = self.scope(below), {}, ["u"]
        for made, measure in rows.fields:
            columns[made.name] = self.tables.writer.column(made.name)
            text = measure_text(scope, measure, made.type, over="")
            chosen.append(f"{text} AS {columns[made.name]}")
        text = select(chosen, scope.source(below.step), by=["u"])
        return Relation(self._step("units", text), columns)

    def _window(self, rows: Window) -> Relation:
        below = self.rows(rows.rows)
        scope, columns = self.scope(below), dict(below.columns)
        chosen = ["u", *below.columns.values()]
        for made, measure in rows.fields:
            columns[made.name] = self.tables.writer.column(made.name)
            text = measure_text(scope, measure, made.type, over=" OVER (PARTITION BY u)")
            chosen.append(f"{text} AS {columns[made.name]}")
        text = select(chosen, scope.source(below.step))
        return Relation(self._step("windowed", text), columns)


def needs_units(rows: Rows) -> bool:
    """Tell whether some step on rows looks at the unit."""
    match rows:
        case Scan():
            return False
        case JoinUnit() | PerUnit() | Window():
            return True
        case Where() | Derive() | JoinPublic():
            return needs_units(rows.rows)
    assert_never(rows)


def is_costly(rows: Rows) -> bool:
    """Tell whether rows are worth keeping where they are needed more than once."""
    match rows:
        case Scan():
            return False
        case Where() | Derive():
            return is_costly(rows.rows)
        case JoinPublic() | JoinUnit() | PerUnit() | Window():
            return True
    assert_never(rows)
