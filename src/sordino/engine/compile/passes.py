# SPDX-License-Identifier: Apache-2.0
"""A bounded question in several passes over the data, each for some of the units.

A hash of its unit says to which pass a row belongs, so that all rows of a unit are in one. What a
unit adds to each part depends on the unit alone, and is computed within a pass; what is added up
over units is added up over passes, as the same whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sordino.catalog.model import Catalog
from sordino.engine.compile.dialect import Dialect, Writer, inner, select
from sordino.engine.compile.rows import Base, needs_units, tables_read
from sordino.engine.compile.statement import (
    Statement,
    columns_of,
    compile_bounded,
    left_column,
    together,
)
from sordino.plan.plan import Bounded, Distinct

COLLECTED = "collected"  # the table that has what all passes gave


@dataclass(frozen=True, slots=True)
class Passes:
    """What is computed in each pass, and how it is merged from the table ``COLLECTED``."""

    each: Statement
    merged: Statement


def can_be_split(bounded: Bounded, catalog: Catalog) -> bool:
    """Tell whether a question can be computed in passes.

    It can if something is computed for each unit, and every unit has an id. Rows that are units are
    numbered as they are read, and two passes could number them in two ways.
    """
    if bounded.shares.alone and not needs_units(bounded.rows):
        return False
    tables = [catalog.table(name) for name in tables_read(bounded.rows, catalog)]
    return not any(table is not None and table.each_row for table in tables)


def compile_passes(
    bounded: Bounded,
    catalog: Catalog,
    *,
    salt: int,
    bases: Mapping[str, Base],
    dialect: Dialect,
) -> Passes:
    """Return the statement of one pass, and the one that merges what all of them gave.

    The groups of a unit are ranked at once: a short cut to the first of them takes more memory.
    """
    if not can_be_split(bounded, catalog):
        raise ValueError("this question is computed in one pass")
    plain = replace(dialect, nth_least=None)
    each = compile_bounded(bounded, catalog, salt=salt, bases=bases, dialect=plain, split=True)
    selects = [_merged(bounded, place) for place in range(len(bounded.parts))]
    return Passes(each, together(Writer(dialect), bounded, selects))


def _merged(bounded: Bounded, place: int) -> str:
    """Return a SELECT of a part from the rows that all passes gave."""
    part = bounded.parts[place]
    columns = columns_of(bounded, part, split=True)
    where = [f"part = {place}"] if len(bounded.parts) > 1 else []
    if isinstance(part, Distinct):  # a value that units of two passes have is one value
        value, keys = left_column(bounded, part), columns[:-1]
        values = inner(select(columns, COLLECTED, where=where, distinct=True))
        return select([*keys, f"count({value}) AS s0"], values, by=keys)
    by = [name for name in columns if name[0] != "s"]
    sums = [f"sum({name}) AS {name}" for name in columns if name[0] == "s"]
    return select([*by, *sums], COLLECTED, where=where, by=by)
