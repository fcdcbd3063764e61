# SPDX-License-Identifier: Apache-2.0
"""Invented private tables: units with a few rows each, some with too many, some rows of nobody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sordino.catalog.model import DEFAULT_ROWS, Catalog, Column, Frame, Table
from sordino.mock.draws import Draws, Shares
from sordino.mock.values import identifiers, invent
from sordino.query.types import Value

if TYPE_CHECKING:
    from sordino.sql.domains import PublicValues

UNITS = 1000
CROWDED = 0.03  # of the units have more rows than their limit
NOBODYS = 0.01  # of the rows have no id
LOST = 0.02  # of the rows below others have no parent, and as many one that is not there

_ROWS_BY_THEMSELVES = 3 * UNITS
_USUAL = 12  # rows of a unit, at most, whatever the limit
_MOST = 300  # rows of a unit that is to have too many


def tables(catalog: Catalog, public: PublicValues | None = None) -> dict[str, Any]:
    """Return an invented Arrow table for each private table of a catalog.

    Who is whose, bounds, keys and limits are those of the catalog. On purpose some values lie
    outside their bounds, some are missing, some keys are not declared, and some units have too many
    rows. ``public`` gives the values of a column of a public table, for keys that come from there.
    The rows depend on what the catalog declares of its tables and on nothing else.

    Guarantee: none is needed; nothing here is about anybody.
    """
    return _Invention(catalog, public).all()


def invented(catalog: Catalog, public: PublicValues | None = None) -> Catalog:
    """Return the catalog with invented rows in its private tables, and with no ledger and no log.

    Public tables stay where they are.

    Guarantee: none is needed; nothing here is about anybody.
    """
    made = tables(catalog, public)
    return replace(
        catalog,
        tables=tuple(
            table if table.public else replace(table, source=Frame(made[table.name]))
            for table in catalog.tables
        ),
        analysts=(),
        book=None,
        log=None,
    )


@dataclass(frozen=True, slots=True)
class _Ids:
    """What a column holds that names units or rows: a word, and a number for each row.

    No unit and no row has the number ``beyond``.
    """

    word: str
    numbers: npt.NDArray[np.int64]
    beyond: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """An invented table, and its columns of ids, by their names in small letters."""

    table: Any
    ids: dict[str, _Ids]


class _Invention:
    """Invents the tables of one catalog, those above others first."""

    def __init__(self, catalog: Catalog, public: PublicValues | None) -> None:
        self._catalog, self._public = catalog, public
        self._text = "\n".join(repr(replace(table, source=Frame(None))) for table in catalog.tables)
        self._made: dict[str, _Rows] = {}

    def all(self) -> dict[str, Any]:
        """Return all private tables by name."""
        private = [table for table in self._catalog.tables if not table.public]
        return {table.name: self._rows(table).table for table in private}

    def _rows(self, table: Table) -> _Rows:
        if table.name not in self._made:
            self._made[table.name] = self._invent(table)
        return self._made[table.name]

    def _invent(self, table: Table) -> _Rows:
        import pyarrow as pa  # takes long to import

        owners = self._owners(table)
        size = owners.numbers.size
        by_row = _all(table.name, size)
        ids = dict.fromkeys(self._named_below(table), by_row)
        path = table.unit if table.parent is None else table.parent.column
        if path is not None and not table.each_row:
            ids[path.casefold()] = owners
        columns = {}
        for column in table.columns:
            draws = Draws(self._text, table.name, column.name, size)
            columns[column.name] = self._column(table, column, draws, ids)
        return _Rows(pa.table(columns), ids)

    def _owners(self, table: Table) -> _Ids:
        """Return the unit, or the row above, that each row belongs to."""
        if table.each_row:
            return _all(table.name, _ROWS_BY_THEMSELVES)
        above = _all(table.people, UNITS)
        if table.parent is not None:
            parent = self._catalog.table(table.parent.parent)
            if parent is None:
                raise AssertionError("a catalog has the tables that its paths lead to")
            above = self._rows(parent).ids[table.parent.parent_column.casefold()]
        most = DEFAULT_ROWS if table.limits.rows is None else table.limits.rows
        draws = Draws(self._text, table.name, above.numbers.size)
        many = _how_many(draws, most, below=table.parent is not None)
        return replace(above, numbers=np.repeat(above.numbers, many))

    def _column(self, table: Table, column: Column, draws: Draws, ids: dict[str, _Ids]) -> Any:
        name = column.name.casefold()
        if name not in ids:
            return invent(column, draws, self._keys(column))
        held, numbers = ids[name], ids[name].numbers
        nobodys = np.zeros(draws.size, dtype=np.bool_)
        if table.parent is not None and name == table.parent.column.casefold():
            numbers = np.where(draws.rare("dangling", LOST), held.beyond, numbers)
            nobodys = draws.rare("lost", LOST)
        elif table.unit is not None and name == table.unit.casefold():
            nobodys = draws.rare("nobody", NOBODYS)
        return identifiers(column.type, held.word, numbers, nobodys)

    def _named_below(self, table: Table) -> set[str]:
        """Return the columns of a table by which rows below name its rows."""
        paths = [one.parent for one in self._catalog.tables if one.parent is not None]
        below = [path for path in paths if path.parent.casefold() == table.name.casefold()]
        return {path.parent_column.casefold() for path in below}

    def _keys(self, column: Column) -> tuple[Value, ...] | None:
        if column.keys_from is not None and self._public is not None:
            return self._public(*column.keys_from)
        return column.keys


def _all(word: str, size: int) -> _Ids:
    return _Ids(word, np.arange(1, size + 1), size + 1)


def _how_many(draws: Draws, most: int, *, below: bool) -> npt.NDArray[np.int64]:
    """Return how many rows each unit, or each row above, has: few, or more than its limit."""
    usual: Shares = draws.share("rows") ** 2 * min(most, 2 if below else _USUAL)
    many = usual.astype(np.int64) + (0 if below else 1)
    if most >= _MOST:
        return many
    crowd = most + 1 + (draws.share("crowd") * min(most, _MOST - most)).astype(np.int64)
    return np.where(draws.rare("crowded", CROWDED), crowd, many)
