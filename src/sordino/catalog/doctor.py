# SPDX-License-Identifier: Apache-2.0
"""What is wrong or doubtful about a catalog, from the declarations and the schemas alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from sordino.catalog.checks import among
from sordino.catalog.model import (
    DEFAULT_ROWS,
    Catalog,
    Column,
    CsvFile,
    DuckdbTable,
    ParquetFile,
    Purse,
    Table,
)
from sordino.catalog.schemas import Reader, Schema, SourceColumn, lacking, schema_of, separator_of
from sordino.catalog.toml import quoted
from sordino.catalog.values import CONVERSIONS
from sordino.errors import CatalogError
from sordino.numbers.rational import brief
from sordino.query.types import Type

LARGE_EPSILON = 10
LARGE_DELTA = Fraction(1, 10_000)
WIDE = 10**8  # bounds that are further apart than this are hardly meant

_FREE_TEXT = re.compile(
    r"(^|_)(name|surname|email|mail|phone|address|street|note|notes|comment|comments|"
    r"description|text|message|url|title)(_|$)"
)
_ID_LIKE = re.compile(r"(^|_)(id|uuid|guid|key|code|number|no|nr|ssn|zip|postcode|hash)(_|$)")


class Severity(StrEnum):
    """How bad it is: an error keeps questions from being answered."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know or to change: where it is, what is the matter, and what to do.

    Of rows and values it has the ``count``, which the message tells too, and the first ``lines``,
    each the name of a file and a number.
    """

    severity: Severity
    where: str
    message: str
    hint: str
    count: int | None = None
    lines: tuple[tuple[str, int], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return what a program needs; only what was counted has a count and lines."""
        told: dict[str, Any] = {
            "severity": str(self.severity),
            "where": self.where,
            "message": self.message,
            "hint": self.hint,
        }
        if self.count is not None:
            told["count"] = self.count
            told["lines"] = [{"file": file, "line": line} for file, line in self.lines]
        return told


def check(catalog: Catalog, reader: Reader | None = None) -> list[Finding]:
    """Return what there is to say about a catalog, the worst first; no row is read.

    DuckDB files are looked at if a ``reader`` for them is given.
    """
    found = [finding for name, purse in catalog.purses for finding in _purse(name, purse)]
    found += _spaces(catalog)
    for table in catalog.tables:
        found += _source(table, reader)
        found += _public(table, catalog) if table.public else _private(table, catalog)
    order = list(Severity)
    return sorted(found, key=lambda finding: order.index(finding.severity))


def sources_of(tables: Iterable[Table], reader: Reader | None = None) -> list[Finding]:
    """Return what is wrong with the sources of tables by themselves."""
    return [finding for table in tables for finding in _source(table, reader)]


def mistake(where: str, said: str, otherwise: str) -> Finding:
    """Return an error of which it is said what is wrong and, after a semicolon, what to do.

    >>> mistake("visits", "'v' is a view; store its rows", "correct the file").hint
    'store its rows'
    """
    message, semicolon, hint = said.rpartition("; ")
    if not semicolon:
        message, hint = said, otherwise
    return Finding(Severity.ERROR, where, message, hint)


def _purse(people: str, purse: Purse) -> Iterator[Finding]:
    where = f"budget of {people}"
    if purse.budget.epsilon > LARGE_EPSILON:
        yield Finding(
            Severity.WARNING,
            where,
            f"epsilon {purse.budget.epsilon:g} protects hardly anybody",
            "take an epsilon of about 1 to 3"
            if purse.budget.epsilon < math.inf
            else "state a delta, so that the rho of the budget means an epsilon",
        )
    if purse.slack + purse.budget.slack > LARGE_DELTA:
        yield Finding(
            Severity.WARNING,
            where,
            "the delta is large: it is the chance that a person's rare key is given away",
            "take a delta far below 1 / number of people, such as 1e-6",
        )


def _spaces(catalog: Catalog) -> Iterator[Finding]:
    names = [people for people, _ in catalog.purses]
    if len(names) > 1:
        yield Finding(
            Severity.NOTE,
            "budget",
            f"{among(names)} have budgets of their own; somebody who is among several of them is "
            "protected by the sum only",
            "give tables about the same people the same entry people",
        )


def _source(table: Table, reader: Reader | None) -> Iterator[Finding]:
    try:
        schema = schema_of(table.source, reader)
    except CatalogError as error:
        yield mistake(table.name, str(error), "correct where the table lies, or the file")
        return
    if schema is None:
        hint = "open the catalog to see"
        yield Finding(Severity.NOTE, table.name, "its database was not looked at", hint)
        return
    exact = not isinstance(table.source, DuckdbTable | ParquetFile)  # DuckDB knows no case
    held = {_folded(column.name, exact): column for column in schema}
    for column in table.columns:
        found = held.get(_folded(column.name, exact))
        if found is None:
            yield _absent(table, column, schema)
        elif not isinstance(table.source, CsvFile):
            yield from _fit(table, column, found)


def _folded(name: str, exact: bool) -> str:
    return name if exact else name.casefold()


def _absent(table: Table, column: Column, schema: Schema) -> Finding:
    what = "the header" if isinstance(table.source, CsvFile) else "the schema"
    if isinstance(table.source, CsvFile) and len(schema) == 1:
        sign = separator_of(schema[0].name)
        if sign in schema[0].name:
            return Finding(
                Severity.ERROR,
                f"{table.name}.{column.name}",
                f"the header is one name, in which there are signs that separate: {sign!r}",
                f"state separator = {quoted(sign)}",
            )
    if isinstance(table.source, CsvFile | ParquetFile):
        file = lacking(table.source).get(column.name)
        if file is not None:
            return Finding(
                Severity.ERROR,
                f"{table.name}.{column.name}",
                f"the file {file.name!r} has no such column, and other files have",
                "write that file anew with the column, or leave the column out of the catalog",
            )
    return Finding(
        Severity.ERROR,
        f"{table.name}.{column.name}",
        f"{what} has no such column",
        f"there are {among(found.name for found in schema)}",
    )


def _fit(table: Table, column: Column, found: SourceColumn) -> Iterator[Finding]:
    where = f"{table.name}.{column.name}"
    if found.held == "uint64" and column.name == table.unit:
        yield Finding(
            Severity.ERROR,
            where,
            "the ids are of type uint64, and those beyond 2**63 would be missing",
            "convert the ids to int64 or to text",
        )
    if found.type is Type.REAL and column.name == table.unit:
        yield Finding(
            Severity.ERROR,
            where,
            f"the ids are real numbers ({found.held}), which may print alike and differ",
            "convert the ids to integers or to text",
        )
        return
    conversion = None if found.type is None else CONVERSIONS.get((found.type, column.type))
    easy = conversion is not None and not conversion.doubtful
    # Text of some of several files may be anything, and no other type takes in what they hold.
    mixed = column.type is not Type.TEXT and found.is_partly_text
    if easy and not mixed:
        return
    hint = f"declare it as {found.type}" if found.type else "convert it, or leave it out"
    if mixed and conversion is not None:
        hint = "write the files anew, so that all of them hold it alike"
    yield Finding(
        Severity.ERROR if conversion is None else Severity.WARNING,
        where,
        f"it is declared as {column.type} and held as {found.held}; values that do not fit are "
        "missing in every answer",
        hint,
    )


def _public(table: Table, catalog: Catalog) -> Iterator[Finding]:
    units = {t.unit.casefold() for t in catalog.tables if t.unit and not t.each_row}
    for column in table.columns:
        if column.name.casefold() in units:
            yield Finding(
                Severity.WARNING,
                f"{table.name}.{column.name}",
                "a public table has a column named like the unit; people in it are not protected",
                "make sure that the table is about nobody, or give it a unit",
            )


def _private(table: Table, catalog: Catalog) -> Iterator[Finding]:
    yield from _unit(table)
    ids = {table.unit, table.parent.column if table.parent else None}
    slack = next((p.slack for name, p in catalog.purses if name == table.people), 0)
    for column in table.columns:
        if column.name not in ids and not _is_led_to(table, column, catalog):
            yield from _bounds(table, column)
            yield from _keys(table, column, discovers=slack > 0)


def _is_led_to(table: Table, column: Column, catalog: Catalog) -> bool:
    """Tell whether a foreign key of another table leads to a column."""
    return any(
        other.parent is not None
        and (other.parent.parent, other.parent.parent_column) == (table.name, column.name)
        for other in catalog.tables
    )


def _unit(table: Table) -> Iterator[Finding]:
    if table.each_row:
        yield Finding(
            Severity.NOTE,
            table.name,
            "every row is protected by itself; somebody with several rows is protected less",
            "if people may have several rows, state the column with their ids as the unit",
        )
        return
    if table.limits.rows is None:
        yield Finding(
            Severity.NOTE,
            table.name,
            f"no limit of rows is stated, so {DEFAULT_ROWS} rows of one person count in full",
            "state what most people stay below, as in limits = { rows = 5 }; fewer mean less noise",
        )
    unit = table.column(table.unit) if table.unit else None
    if unit is not None and unit.type is Type.TEXT and _FREE_TEXT.search(_words(unit)):
        yield Finding(
            Severity.WARNING,
            f"{table.name}.{unit.name}",
            "the unit looks like free text; somebody who is written in two ways counts as two",
            "use a column with ids",
        )


def _bounds(table: Table, column: Column) -> Iterator[Finding]:
    where = f"{table.name}.{column.name}"
    if column.type.is_number and column.bounds is None and column.keys is None:
        yield Finding(
            Severity.WARNING,
            where,
            "it has no bounds, so that SUM, AVG and quantiles of it need CLAMP in every question",
            "state public bounds, as in bounds = [0, 100]",
        )
    bounds = column.bounds
    if column.type.is_number and bounds is not None and bounds.high - bounds.low > WIDE:
        yield Finding(
            Severity.WARNING,
            where,
            f"its bounds are {brief(bounds.high - bounds.low)} apart, and noise grows with that",
            "state bounds that nearly all values keep to; what lies outside is clamped",
        )


def _keys(table: Table, column: Column, *, discovers: bool) -> Iterator[Finding]:
    if column.type is not Type.TEXT or column.keys is not None or column.keys_from:
        return
    where = f"{table.name}.{column.name}"
    endless = _FREE_TEXT.search(_words(column)) or _ID_LIKE.search(_words(column))
    if endless:
        yield Finding(
            Severity.WARNING,
            where,
            "its values look unbounded, and grouping by it would find next to no key",
            "leave the column out if nobody needs it",
        )
    if not discovers:
        yield Finding(
            Severity.NOTE,
            where,
            "it has no keys and there is no delta to discover them, so nobody can group by it",
            "state public keys, or a delta in the budget",
        )
    elif not endless:
        yield Finding(
            Severity.NOTE,
            where,
            "it has no keys, so grouping by it costs a delta and withholds small groups",
            "state public keys if they are known",
        )


def _words(column: Column) -> str:
    """Return a name in small letters with underscores between its words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", column.name).lower()
