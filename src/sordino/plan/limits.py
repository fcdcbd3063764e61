# SPDX-License-Identifier: Apache-2.0
"""How much of one unit counts in a question, and how large its answer may become."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import assert_never

from sordino.catalog.checks import LARGEST_LIMIT
from sordino.catalog.model import DEFAULT_ROWS, Catalog, Limits, Table
from sordino.errors import UnknownName, Unsupported
from sordino.plan.bounded import JOIN_ROWS, Shares, is_discovered
from sordino.query.tree import (
    Derive,
    JoinPublic,
    JoinUnit,
    Key,
    KeyRef,
    Kind,
    Literal,
    Measure,
    MeasureRef,
    PerUnit,
    PostScalar,
    Query,
    Rows,
    Scan,
    Where,
    Window,
    tables_in,
    walk,
)
from sordino.query.types import Type, Value

MOST_MATCHES = 1_000  # rows that joins with public tables may make of one row
LARGEST_ANSWER = 64 * 10**6  # bytes of an answer that is kept for ever
_NUMBER = 64  # bytes: a number with both ends of its interval


def shares_of(query: Query, catalog: Catalog, limits: Limits | None = None) -> Shares:
    """Return how much of one unit counts: the analyst's limits, else the owner's, else 10 rows.

    A limit trades bias for noise; what is proved holds for any. Groups are cut only if a limit was
    stated, if keys are discovered, or if units are counted by group.
    """
    joined = JOIN_ROWS if cuts_joins(query.rows, catalog) else None
    if is_alone(query.rows, catalog):
        return Shares(rows=1, alone=True, join_rows=joined)
    stated = _over(limits, _widest([table.limits for table in scanned(query.rows, catalog)]))
    rows = stated.rows or _rows_from(stated)
    if not query.keys:
        return Shares(rows=rows, join_rows=joined)
    groups = stated.groups
    if groups is None and needs_groups(query):
        groups = rows
    cells = how_many_groups(query.keys)
    if groups is not None and cells is not None:
        groups = min(groups, max(cells, 1))  # an empty public list has no group at all
    each = stated.rows_per_group
    return Shares(
        rows=rows,
        groups=groups,
        rows_per_group=None if each is None else min(each, rows),
        join_rows=joined,
    )


def needs_groups(query: Query) -> bool:
    """Tell whether the number of groups of a unit must be limited."""
    discovers = any(map(is_discovered, query.keys))
    return discovers or any(measure.kind is Kind.COUNT_UNITS for measure in query.measures)


def how_many_groups(keys: tuple[Key, ...]) -> int | None:
    """Return how many groups are answered when all keys are public, else None."""
    sizes = []
    for key in keys:
        if key.bins is not None:
            sizes.append(key.bins.count)
            continue
        if key.domain is None:
            return None
        extra = key.other is not None and key.other not in key.domain
        sizes.append(len(key.domain) + extra)
    return math.prod(sizes)


def is_alone(rows: Rows, catalog: Catalog) -> bool:
    """Tell whether, by its shape alone, a question has at most one row of each unit.

    No limit that was declared is trusted here.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; exact numbers.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 1.
    """
    match rows:
        case Scan():
            return _table(rows.table, catalog).each_row
        case PerUnit():
            return True
        case Where() | Derive() | Window():
            return is_alone(rows.rows, catalog)
        case JoinUnit():
            return is_alone(rows.rows, catalog) and is_alone(rows.other, catalog)
        case JoinPublic():
            return False
        case _:
            assert_never(rows)


def has_ids(rows: Rows, catalog: Catalog) -> bool:
    """Tell whether rows belong to units by ids, so that a row without one is left out."""
    return any(not table.each_row for table in scanned(rows, catalog))


def is_cut(join: JoinUnit, catalog: Catalog) -> bool:
    """Tell whether at most ``JOIN_ROWS`` rows of each unit are joined: both sides may have many."""
    return not (is_alone(join.rows, catalog) or is_alone(join.other, catalog))


def cuts_joins(rows: Rows, catalog: Catalog) -> bool:
    """Tell whether some join of a question is cut."""
    return any(is_cut(step, catalog) for step in walk(rows) if isinstance(step, JoinUnit))


def check_matches(rows: Rows, matches: Callable[[JoinPublic], int]) -> int:
    """Return how many rows joins with public tables make of one row, and refuse too many.

    ``matches`` says how many rows of the public table of a join have one key at most. Without this
    a question could be written that takes a long time, or fails, for one person's row alone.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; public inputs only.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 8.
    """
    match rows:
        case Scan():
            return 1
        case PerUnit():
            check_matches(rows.rows, matches)
            return 1
        case Where() | Derive() | Window():
            return check_matches(rows.rows, matches)
        case JoinUnit():
            many = check_matches(rows.rows, matches) * check_matches(rows.other, matches)
            what = "the join of two tables"
        case JoinPublic():
            many = check_matches(rows.rows, matches) * max(matches(rows), 1)
            what = f"the join with {rows.table!r}"
        case _:
            assert_never(rows)
    if many > MOST_MATCHES:
        raise Unsupported(
            "join",
            f"{what} makes up to {many:,} rows of one, and at most {MOST_MATCHES:,} are allowed",
            why="one person's row could make the question slow, or fail",
            hint="join on more columns, so that fewer rows of the public table match one key",
        )
    return many


def scanned(rows: Rows, catalog: Catalog) -> list[Table]:
    """Return the private tables that a question reads, each once."""
    return [_table(name, catalog) for name in tables_in(rows)]


def people_of(rows: Rows, catalog: Catalog) -> str:
    """Return the id space of the units."""
    spaces = {table.people for table in scanned(rows, catalog)}
    if len(spaces) != 1:
        raise ValueError("all tables of a question must be about the same people")
    return spaces.pop()


def _table(name: str, catalog: Catalog) -> Table:
    found = catalog.table(name)
    if found is None:
        raise UnknownName("unknown_table", f"there is no table {name!r}")
    return found


def _widest(limits: list[Limits]) -> Limits:
    """Return the largest of what was stated, each by itself."""

    def largest(name: str) -> int | None:
        stated = [getattr(one, name) for one in limits]
        return max((x for x in stated if x is not None), default=None)

    return Limits(
        rows=largest("rows"), groups=largest("groups"), rows_per_group=largest("rows_per_group")
    )


def _over(first: Limits | None, second: Limits) -> Limits:
    """Return the first limits where they are stated, else the second."""
    if first is None:
        return second
    for name in ("rows", "groups", "rows_per_group"):
        value = getattr(first, name)
        if value is not None and (not isinstance(value, int) or value < 1):
            raise ValueError(f"the limit {name} must be a positive whole number, got {value!r}")
    return Limits(
        rows=first.rows or second.rows,
        groups=first.groups or second.groups,
        rows_per_group=first.rows_per_group or second.rows_per_group,
    )


def _rows_from(stated: Limits) -> int:
    """Return a limit of rows where only others were stated."""
    if stated.groups is not None and stated.rows_per_group is not None:
        return min(stated.groups * stated.rows_per_group, LARGEST_LIMIT)
    return max(DEFAULT_ROWS, stated.rows_per_group or 0)


# The size of an answer in the ledger, which is known before it is paid for if keys are public. ----


def check_size(query: Query) -> None:
    """Refuse a question whose answer would be larger than an answer may be."""
    size = stored_size(query)
    if size is not None and size > LARGEST_ANSWER:
        raise Unsupported(
            "answer_too_large",
            f"the answer would take about {size // 10**6:,} MB, and "
            f"{LARGEST_ANSWER // 10**6} MB is the most",
            why="every answer is kept in the ledger for ever, at whatever price",
            hint="group by fewer or by coarser keys, ask for fewer columns, or add LIMIT",
            sql=query.sql,
        )


def stored_size(query: Query) -> int | None:
    """Return about how many bytes an answer takes, or None if its keys are discovered.

    How many keys are discovered depends on the data. Each needs as many units as the rule of
    selection asks for, so they are few where units are.
    """
    groups = how_many_groups(query.keys)
    if groups is None:
        return None
    limit = query.post.limit
    rows = groups if limit is None else min(groups, limit)
    if rows * _NUMBER > LARGEST_ANSWER and any(
        isinstance(output.scalar, MeasureRef) for output in query.post.outputs
    ):
        return rows * _NUMBER  # without a look at a million keys
    return math.ceil(rows * sum(_width(output.scalar, query) for output in query.post.outputs))


def _width(scalar: PostScalar, query: Query) -> Fraction:
    """Return how many bytes a value of a column takes on the average."""
    match scalar:
        case KeyRef(index=index):
            return _of_key(query.keys[index])
        case MeasureRef(index=index):
            return _of_measure(query.measures[index])
        case Literal(value=value):
            return _average((value,))
        case _ if scalar.type is Type.TEXT:
            return sum((_width(one, query) for one in scalar.arguments), Fraction(0))
        case _:
            return Fraction(_NUMBER)


def _of_key(key: Key) -> Fraction:
    if key.domain is None:
        return Fraction(_NUMBER)
    return _average(key.domain if key.other is None else (*key.domain, key.other))


def _of_measure(measure: Measure) -> Fraction:
    if measure.domain is None:
        return Fraction(_NUMBER)
    return (measure.count or 1) * _average(measure.domain)


def _average(values: Iterable[Value]) -> Fraction:
    texts = [str(value) for value in values]
    # Each has a comma; two brackets are too many, and so are blanks after all commas but one.
    return Fraction(len(json.dumps(texts)) - len(texts), len(texts)) if texts else Fraction(0)
