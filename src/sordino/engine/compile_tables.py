# SPDX-License-Identifier: Apache-2.0
"""Tables of the catalog as steps: declared columns in declared types, and the unit of every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sordino.engine.bases import Base, normal
from sordino.engine.dialect import quoted
from sordino.engine.select import inner, select
from sordino.engine.writer import Writer
from sordino.query.catalog import Catalog, Column, Table
from sordino.query.types import Type


@dataclass(frozen=True, slots=True)
class Relation:
    """A step that gives rows: its name, and the columns of its fields by name.

    ``raw`` are columns in which text of some fields stands as its source has it.
    """

    step: str
    columns: Mapping[str, str]
    raw: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a catalog. With ``units``, rows of private tables carry their unit."""

    writer: Writer
    catalog: Catalog
    bases: Mapping[str, Base]
    units: bool
    numbered: dict[str, str] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        """Return a table that is declared."""
        table = self.catalog.table(name)
        if table is None:
            raise ValueError(f"there is no table {name!r}")
        return table

    def inner_name(self, table: Table, name: str) -> str:
        """Return what a column is called in steps; names of the catalog could be taken for ours."""
        return f"d{table.columns.index(self._declared(table, name))}"

    def column_type(self, table: Table, name: str) -> Type:
        """Return the declared type of a column."""
        return self._declared(table, name).type

    def is_raw(self, table: Table, name: str) -> bool:
        """Tell whether a column is text that is cut if it is too long, and may be cut later."""
        held = self.bases[table.name].held.get(name)
        return held == "VARCHAR" and self.column_type(table, name) is Type.TEXT

    def base(
        self,
        table: Table,
        wanted: Iterable[tuple[str, str]],
        raw: Iterable[tuple[str, str]] = (),
    ) -> str:
        """Return a step with wanted columns, each under a given name, and the unit as ``u``.

        ``raw`` are columns as the source has them, for tables without units in their rows.
        """
        pairs = list(wanted)
        source = self.bases[table.name].source
        chosen = [f"{self._column(table, column)} AS {name}" for name, column in pairs]
        chosen += [f"{quoted(column)} AS {name}" for name, column in raw]
        if table.public or (table.each_row and not self.units):
            return self.writer.step("base", select(chosen, source))
        if table.each_row:
            named = [f"{self.inner_name(table, column)} AS {name}" for name, column in pairs]
            return self.writer.step("base", select(["u", *named], self._numbered(table)))
        if table.parent is not None:
            return self._child(table, chosen, [name for name, _ in pairs])
        unit = self._column(table, str(table.unit), whole=True)
        text = select([f"{unit} AS u", *chosen], source, where=[f"{unit} IS NOT NULL"])
        return self.writer.step("base", text)

    def _numbered(self, table: Table) -> str:
        """Return a table with numbered rows: one step, so that a row has one number everywhere."""
        if table.name not in self.numbered:
            chosen = [
                f"{self._column(table, column.name)} AS {self.inner_name(table, column.name)}"
                for column in table.columns
            ]
            text = select(["row_number() OVER () AS u", *chosen], self.bases[table.name].source)
            self.numbered[table.name] = self.writer.step("numbered", text, keep=True)
        return self.numbered[table.name]

    def _child(self, table: Table, chosen: list[str], names: list[str]) -> str:
        """Return rows with the units of their parents' rows; without a parent they are nobody's."""
        key = table.parent
        if key is None:
            raise ValueError(f"table {table.name!r} leads to no unit")
        via = f"{self._column(table, key.column, whole=True)} AS via"
        rows = inner(select([via, *chosen], self.bases[table.name].source))
        parents = self._units(self.table(key.parent), key.parent_column)
        source = f"{rows} AS t JOIN {inner(parents)} AS p ON t.via = p.via"
        text = select(["p.u", *(f"t.{name}" for name in names)], source)
        return self.writer.step("base", text)

    def _units(self, table: Table, column: str) -> str:
        """Return the units of a table by the value of a column, uncut like the unit itself.

        Each pair is there once, however many rows a unit has: a row below is one row for each unit.
        """
        if table.each_row:
            name = self.inner_name(table, column)
            return select(["u", f"{name} AS via"], self._numbered(table))
        via = self._column(table, column, whole=True)
        source = self.bases[table.name].source
        if table.parent is None:
            unit = self._column(table, str(table.unit), whole=True)
            there = [f"{unit} IS NOT NULL"]
            if via == unit:
                units = select([f"{unit} AS u"], source, where=there, distinct=True)
                return select(["u", "u AS via"], inner(units))
            there.append(f"{via} IS NOT NULL")
            return select([f"{unit} AS u", f"{via} AS via"], source, where=there, distinct=True)
        up = self._column(table, table.parent.column, whole=True)
        rows = inner(select([f"{up} AS up", f"{via} AS via"], source))
        above = inner(self._units(self.table(table.parent.parent), table.parent.parent_column))
        joined = f"{rows} AS t JOIN {above} AS p ON t.up = p.via"
        return select(["p.u", "t.via"], joined, where=["t.via IS NOT NULL"], distinct=True)

    def _declared(self, table: Table, name: str) -> Column:
        column = table.column(name)
        if column is None:
            raise ValueError(f"table {table.name!r} has no column {name!r}")
        return column

    def _column(self, table: Table, name: str, *, whole: bool = False) -> str:
        """Return a column in its declared type; ``whole`` is for ids.

        Ids that are no text are opaque: where a file says that they are smaller than they are, an
        engine could pack them in fewer bits, and make two of them one. Of text an opaque expression
        would take twice the time, and the engine is told to pack nothing.
        """
        column = self._declared(table, name)
        base = self.bases[table.name]
        held, is_id = base.held[column.name], column.name in base.ids
        text = normal(self.writer, column.name, column.type, held, is_id=is_id, whole=whole)
        packed = whole and column.type is not Type.TEXT
        return self.writer.dialect.opaque.format(text) if packed else text
