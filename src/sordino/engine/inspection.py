# SPDX-License-Identifier: Apache-2.0
"""A look at all rows for the eyes of their owner: what was read, what was not, and why.

What is found is exact and has no noise: it is private, and is never shown to who asks questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import duckdb

from sordino.engine.compile_tables import Tables
from sordino.engine.dialect import DUCKDB
from sordino.engine.duckdb import DuckdbEngine
from sordino.engine.duckdb_sources import view_name
from sordino.engine.inspection_csv import CsvTally, read_through
from sordino.engine.select import inner, select
from sordino.engine.tables_read import upward
from sordino.engine.writer import Writer
from sordino.errors import CatalogError
from sordino.query.catalog import Catalog, Column, Limits, Table
from sordino.query.doctor import DEFAULT_ROWS, Finding, Severity
from sordino.query.types import Type, Value

Watch: TypeAlias = "Callable[[str, int], None]"  # told a table and how many of its rows were read


@dataclass(frozen=True, slots=True)
class Inspected:
    """What the owner is told of one table: its rows, the lines left out, and what is odd.

    ``rows`` is None if the table cannot be read.
    """

    table: str
    rows: int | None
    left_out: int
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what a program needs."""
        return {
            "table": self.table,
            "rows": self.rows,
            "left_out": self.left_out,
            "findings": [finding.as_json() for finding in self.findings],
        }


def inspect(catalog: Catalog, watch: Watch) -> Iterator[Inspected]:
    """Read all tables of a catalog, and tell what is odd about each of them."""
    engine = DuckdbEngine(catalog)
    try:
        unread: set[str] = set()
        tallies: dict[str, CsvTally] = {}
        for place, table in enumerate(catalog.tables):
            how = engine.database.loaded(view_name(place))
            if how is not None:
                with engine.database.connection() as connection:
                    told = partial(watch, table.name)
                    tallies[table.name] = read_through(connection, table, how, told)
                if not tallies[table.name].is_readable:
                    unread.add(table.name)
        for table in catalog.tables:
            watch(table.name, 0)
            yield _inspected(engine, table, tallies.get(table.name), unread)
    finally:
        engine.close()


def _inspected(
    engine: DuckdbEngine, table: Table, tally: CsvTally | None, unread: set[str]
) -> Inspected:
    findings = [] if tally is None else list(tally.findings)
    left_out = 0 if tally is None else tally.left_out
    above = upward(table.name, engine.catalog)
    if above & unread:
        if table.name not in unread:
            findings.append(_unread(table, "a table above it cannot be read", "correct that first"))
        return Inspected(table.name, None, left_out, tuple(findings))
    look = _Look(engine, table, findings)
    rows: int | None = None
    try:
        engine.read(above)
        rows = look.rows()
        look.keys()
        look.units()
    except (duckdb.Error, CatalogError) as error:
        # What DuckDB says may quote a value.
        what = str(error) if isinstance(error, CatalogError) else type(error).__name__
        findings.append(_unread(table, f"it cannot be read: {what}", "correct the file"))
    return Inspected(table.name, rows, left_out, tuple(findings))


def _unread(table: Table, message: str, hint: str) -> Finding:
    return Finding(Severity.ERROR, table.name, message, hint)


class _Look:
    """Statements on all rows of one table."""

    def __init__(self, engine: DuckdbEngine, table: Table, findings: list[Finding]) -> None:
        self._engine = engine
        self._table = table
        self._alone = _alone(table)
        self._findings = findings

    def rows(self) -> int:
        """Count rows, and values that do not fit or lie outside of their bounds."""
        writer, tables = self._begun()
        columns = self._table.columns
        wanted = [(f"v{place}", column.name) for place, column in enumerate(columns)]
        raw = [(f"r{place}", column.name) for place, column in enumerate(columns)]
        base = tables.base(self._alone, wanted, raw)
        counts = ["count(*)"]
        for place, column in enumerate(columns):
            v, r = f"v{place}", f"r{place}"
            odd = f"{v} IS NULL AND {r} IS NOT NULL AND TRY_CAST({r} AS VARCHAR) <> 'nan'"
            counts += [_count_where(odd), _count_where(_outside(writer, column, v))]
        (rows, *counted), *_ = self._fetched(writer, select(counts, base))
        for place, column in enumerate(columns):
            unfit, outside = counted[2 * place : 2 * place + 2]
            self._note(
                Severity.WARNING,
                column.name,
                unfit,
                f"values that do not fit the type {column.type}, and are missing",
                "correct the values or the type",
            )
            self._note(
                Severity.NOTE,
                column.name,
                outside,
                "values that lie outside of the bounds, and are clamped",
                "state bounds that nearly all values keep to, from what is publicly known",
            )
        return int(rows)

    def keys(self) -> None:
        """Count values that are not among the declared keys."""
        for column in self._table.columns:
            keys = self._keys_of(column)
            if keys is None:
                continue
            writer, tables = self._begun()
            base = tables.base(self._alone, [("v", column.name)])
            listed = writer.values([key for key in keys if key is not None], column.type)
            among = inner(select(["c"], listed))
            text = select(["count(*)"], base, where=["v IS NOT NULL", f"v NOT IN {among}"])
            end = (
                "are left out where rows are grouped by it"
                if column.other is None
                else (f"are counted as {column.other!r} where rows are grouped by it")
            )
            self._note(
                Severity.NOTE,
                column.name,
                self._number(writer, text),
                f"values that are not among its keys, and {end}",
                "correct them, or add keys that are publicly known",
            )

    def units(self) -> None:
        """Count rows of nobody, keys that lead to several rows, and people with many rows."""
        table = self._table
        if table.public or table.each_row:
            return
        if table.unit is not None:
            self._without(table.unit, "rows without an id, which are left out")
        if table.parent is not None:
            self._without(table.parent.column, "rows without an id of a parent, which are left out")
            self._orphans()
            self._several()
        writer, tables = self._begun(units=True)
        base = tables.base(table, [])
        limit = table.limits.rows or DEFAULT_ROWS
        crowded = select(["u"], base, by=["u"], having=[f"count(*) > {limit}"])
        self._note(
            Severity.NOTE,
            "",
            self._number(writer, select(["count(*)"], inner(crowded))),
            f"people with more than {limit:,} rows, which then count in part",
            "state limits = { rows = ... } that most people stay below",
        )

    def _without(self, name: str, message: str) -> None:
        writer, tables = self._begun()
        base = tables.base(self._alone, [("v", name)])
        count = self._number(writer, select(["count(*)"], base, where=["v IS NULL"]))
        hint = "add the ids, or leave the rows out of the file"
        self._note(Severity.WARNING, name, count, message, hint)

    def _orphans(self) -> None:
        key = self._table.parent
        parent = None if key is None else self._engine.catalog.table(key.parent)
        if key is None or parent is None:
            return
        writer, tables = self._begun()
        above = select(
            ["p"], tables.base(_alone(parent), [("p", key.parent_column)]), where=["p IS NOT NULL"]
        )
        base = tables.base(self._alone, [("v", key.column)])
        where = ["v IS NOT NULL", f"v NOT IN {inner(above)}"]
        count = self._number(writer, select(["count(*)"], base, where=where))
        message = f"rows with an id that {key.parent} does not have, which are left out"
        hint = f"add the rows to {key.parent}, or correct the ids"
        self._note(Severity.WARNING, key.column, count, message, hint)

    def _several(self) -> None:
        key = self._table.parent
        parent = None if key is None else self._engine.catalog.table(key.parent)
        if key is None or parent is None:
            return
        writer, tables = self._begun()
        base = tables.base(_alone(parent), [("p", key.parent_column)])
        twice = select(["p"], base, where=["p IS NOT NULL"], by=["p"], having=["count(*) > 1"])
        self._note(
            Severity.WARNING,
            key.column,
            self._number(writer, select(["count(*)"], inner(twice))),
            f"ids that stand in several rows of {key.parent}, so that rows count several times",
            f"make {key.parent}.{key.parent_column} different in each row",
        )

    def _keys_of(self, column: Column) -> tuple[Value, ...] | None:
        if column.keys_from is not None:
            return self._engine.public_values(*column.keys_from)
        return column.keys

    def _begun(self, *, units: bool = False) -> tuple[Writer, Tables]:
        writer = Writer(DUCKDB)
        return writer, Tables(writer, self._engine.catalog, self._engine.bases, units=units)

    def _fetched(self, writer: Writer, text: str) -> list[Any]:
        sql, bound, _ = writer.statement(text)
        with self._engine.database.connection() as connection:
            return connection.execute(sql, list(bound)).fetchall()

    def _number(self, writer: Writer, text: str) -> int:
        return int(self._fetched(writer, text)[0][0])

    def _note(
        self,
        severity: Severity,
        column: str,
        count: int,
        message: str,
        hint: str,
    ) -> None:
        if count:
            where = f"{self._table.name}.{column}" if column else self._table.name
            self._findings.append(Finding(severity, where, f"{message}: {count:,}", hint))


def _alone(table: Table) -> Table:
    """Return a table as if it were public, so that rows without an id are there too."""
    return replace(table, public=True, unit=None, parent=None, limits=Limits())


def _count_where(condition: str) -> str:
    return f"count(CASE WHEN {condition} THEN 1 END)"


def _outside(writer: Writer, column: Column, v: str) -> str:
    bounds = column.bounds
    if bounds is None:
        return "FALSE"
    if column.type.is_time:
        v = DUCKDB.functions["year"].format(v)
    kind = Type.REAL if column.type is Type.REAL else Type.INTEGER
    low, high = (writer.value(_plain(end, kind), kind) for end in (bounds.low, bounds.high))
    return f"{v} < {low} OR {v} > {high}"


def _plain(end: Fraction, kind: Type) -> int | float:
    return float(end) if kind is Type.REAL else int(end)
