# SPDX-License-Identifier: Apache-2.0
"""A bounded question as one statement with bound values.

The text depends on the question and the catalog alone. Identifiers are our own and those of the
catalog, quoted; every literal is bound. Whole numbers that the plan computed stand as digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sordino.engine.bases import Base
from sordino.engine.compile_keys import keyed
from sordino.engine.compile_parts import PartMaker, weights_of
from sordino.engine.compile_rows import Reader, is_costly, needs_units
from sordino.engine.compile_tables import Tables
from sordino.engine.dialect import DUCKDB, Dialect
from sordino.engine.select import inner, select
from sordino.engine.writer import Bound, Writer
from sordino.plan.bounded import Bounded, Cells, Crowded, Distinct, Part, Ranks, Total, Votes
from sordino.query.catalog import Catalog
from sordino.query.tree import Rows, Scan
from sordino.query.types import Type


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL, the values bound to it, and the columns of each part.

    The rows of all parts come together: ``part`` says which one a row belongs to, and columns that
    a part does not have are missing there. ``wide`` are columns of 38 digits. ``salted`` is the
    place of the salt among the parameters.
    """

    sql: str
    parameters: tuple[Bound, ...]
    columns: tuple[tuple[str, ...], ...]
    wide: tuple[frozenset[str], ...]
    salted: int | None
    types: tuple[Type, ...]  # of the keys
    most: int | None  # rows that there can be at most, if that is public

    @property
    def every(self) -> list[str]:
        """The columns of all parts, in their order in the result."""
        return [*(["part"] if len(self.columns) > 1 else []), *_every(self.columns)]

    def with_salt(self, salt: int) -> Statement:
        """Return the same statement with another salt bound."""
        if self.salted is None:
            return self
        bound = list(self.parameters)
        bound[self.salted] = salt
        return replace(self, parameters=tuple(bound))


def compile_bounded(
    bounded: Bounded,
    catalog: Catalog,
    *,
    salt: int,
    bases: Mapping[str, Base],
    dialect: Dialect = DUCKDB,
) -> Statement:
    """Return the statement that computes all parts of a bounded question on one snapshot."""
    writer = Writer(dialect)
    alone = bounded.shares.alone
    units = not alone or needs_units(bounded.rows)
    reader = Reader(Tables(writer, catalog, bases, units))
    keep = is_costly(bounded.rows) and not (alone and len(bounded.parts) == 1)
    rows = keyed(reader, reader.rows(bounded.rows), bounded, keep=keep)
    unit = () if _each_row(bounded.rows, catalog) else ("u",)
    weights = weights_of(writer, bounded, rows, unit)
    maker = PartMaker(writer, bounded, rows, unit, weights)
    selects = [maker.select(part) for part in bounded.parts]
    columns = tuple(_columns(bounded, part) for part in bounded.parts)
    wide = tuple(_wide(part) for part in bounded.parts)
    sql, bound, salted = writer.statement(_together(writer, bounded, selects, columns, wide))
    types = tuple(key.type for key in bounded.keys)
    return Statement(sql, bound, columns, wide, salted, types, _most(bounded)).with_salt(salt)


def _each_row(rows: Rows, catalog: Catalog) -> bool:
    """Tell whether units are rows, which have no id that means anything."""
    while not isinstance(rows, Scan):
        rows = rows.rows
    table = catalog.table(rows.table)
    return table is not None and table.each_row


def _most(bounded: Bounded) -> int | None:
    """Return how many rows all parts have at most; None where keys are discovered."""
    groups = 1
    for key in bounded.keys:
        if key.domain is None:
            return None
        groups *= len(key.domain) + 1
    total = 0
    for part in bounded.parts:
        match part:
            case Ranks():
                total += groups * part.buckets
            case Votes():
                total += groups * len(part.domain)
            case _:
                total += groups
    return total


def _columns(bounded: Bounded, part: Part) -> tuple[str, ...]:
    keys = tuple(f"k{place}" for place in range(len(bounded.keys)))
    match part:
        case Cells():
            return (*keys, *(f"s{place}" for place in range(len(part.statistics))))
        case Distinct():
            return (*keys, "s0")
        case Crowded():
            return ("s0",)
        case _:
            return (*keys, "v", "s0")


def _every(columns: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return the columns that any part has: keys, then a value, then statistics."""
    found = {name for names in columns for name in names}
    return sorted(found, key=lambda name: ("kvs".index(name[0]), int(name[1:] or 0)))


def _wide(part: Part) -> frozenset[str]:
    if not isinstance(part, Cells):
        return frozenset()
    totals = [isinstance(statistic, Total) for statistic in part.statistics]
    return frozenset(f"s{place}" for place, total in enumerate(totals) if total)


def _together(
    writer: Writer,
    bounded: Bounded,
    selects: list[str],
    columns: tuple[tuple[str, ...], ...],
    wide: tuple[frozenset[str], ...],
) -> str:
    """Return all parts as one SELECT with the columns of all, each in one type."""
    every = _every(columns)
    large = frozenset[str]().union(*wide)
    types = {f"k{place}": writer.dialect.types[key.type] for place, key in enumerate(bounded.keys)}
    integer = writer.dialect.types[Type.INTEGER]
    types |= {
        name: writer.dialect.wide if name in large else integer for name in every if name[0] != "k"
    }
    texts = []
    for place, (part, names) in enumerate(zip(selects, columns, strict=True)):
        chosen = [f"{writer.integer(place)} AS part"] if len(selects) > 1 else []
        chosen += [
            f"{writer.cast(name if name in names else 'NULL', types[name])} AS {name}"
            for name in every
        ]
        texts.append(select(chosen, inner(part)))
    return "\nUNION ALL\n".join(texts)
