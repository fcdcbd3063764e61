# SPDX-License-Identifier: Apache-2.0
"""From a question to one whose every number moves by a known amount with one unit.

That is: how much of one unit counts, which exact integers are computed, how large an answer may be.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from sordino.catalog.model import DEFAULT_ROWS, LARGEST_LIMIT, Catalog, Limits, Table
from sordino.errors import MissingBound, UnknownName, Unsupported
from sordino.plan.aggregates import (
    Formula,
    Made,
    Tally,
    Target,
    Totals,
    made,
    part_of,
    target_of,
)
from sordino.plan.plan import (
    JOIN_ROWS,
    Bounded,
    Cells,
    Crowded,
    Part,
    RowCount,
    Shares,
    Statistic,
    Total,
    UnitCount,
    how_many_groups,
    is_discovered,
)
from sordino.plan.words import crowded_title, in_words, unclamped, written
from sordino.query import tree
from sordino.query.types import Range, Type, Value

MOST_MATCHES = 1_000  # rows that joins with public tables may make of one row
LARGEST_ANSWER = 64 * 10**6  # bytes of an answer that is kept for ever
_NUMBER = 64  # bytes: a number with both ends of its interval


def shares_of(query: tree.Query, catalog: Catalog, limits: Limits | None = None) -> Shares:
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


def needs_groups(query: tree.Query) -> bool:
    """Tell whether the number of groups of a unit must be limited."""
    discovers = any(map(is_discovered, query.keys))
    return discovers or any(measure.kind is tree.Kind.COUNT_UNITS for measure in query.measures)


def is_alone(rows: tree.Rows, catalog: Catalog) -> bool:
    """Tell whether, by its shape alone, a question has at most one row of each unit.

    No limit that was declared is trusted here.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; exact numbers.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 1.
    """
    match rows:
        case tree.Scan():
            return _table(rows.table, catalog).each_row
        case tree.PerUnit():
            return True
        case tree.Where() | tree.Derive() | tree.Window():
            return is_alone(rows.rows, catalog)
        case tree.JoinUnit():
            return is_alone(rows.rows, catalog) and is_alone(rows.other, catalog)
        case tree.JoinPublic():
            return False
        case _:
            assert_never(rows)


def has_ids(rows: tree.Rows, catalog: Catalog) -> bool:
    """Tell whether rows belong to units by ids, so that a row without one is left out."""
    return any(not table.each_row for table in scanned(rows, catalog))


def is_cut(join: tree.JoinUnit, catalog: Catalog) -> bool:
    """Tell whether at most ``JOIN_ROWS`` rows of each unit are joined: both sides may have many."""
    return not (is_alone(join.rows, catalog) or is_alone(join.other, catalog))


def cuts_joins(rows: tree.Rows, catalog: Catalog) -> bool:
    """Tell whether some join of a question is cut."""
    return any(is_cut(step, catalog) for step in tree.walk(rows) if isinstance(step, tree.JoinUnit))


def check_matches(rows: tree.Rows, matches: Callable[[tree.JoinPublic], int]) -> int:
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
        case tree.Scan():
            return 1
        case tree.PerUnit():
            check_matches(rows.rows, matches)
            return 1
        case tree.Where() | tree.Derive() | tree.Window():
            return check_matches(rows.rows, matches)
        case tree.JoinUnit():
            many = check_matches(rows.rows, matches) * check_matches(rows.other, matches)
            what = "the join of two tables"
        case tree.JoinPublic():
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


def scanned(rows: tree.Rows, catalog: Catalog) -> list[Table]:
    """Return the private tables that a question reads, each once."""
    return [_table(name, catalog) for name in tree.tables_in(rows)]


def people_of(rows: tree.Rows, catalog: Catalog) -> str:
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


def check_size(query: tree.Query) -> None:
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


def stored_size(query: tree.Query) -> int | None:
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
        isinstance(output.scalar, tree.MeasureRef) for output in query.post.outputs
    ):
        return rows * _NUMBER  # without a look at a million keys
    return math.ceil(rows * sum(_width(output.scalar, query) for output in query.post.outputs))


def _width(scalar: tree.PostScalar, query: tree.Query) -> Fraction:
    """Return how many bytes a value of a column takes on the average."""
    match scalar:
        case tree.KeyRef(index=index):
            return _of_key(query.keys[index])
        case tree.MeasureRef(index=index):
            return _of_measure(query.measures[index])
        case tree.Literal(value=value):
            return _average((value,))
        case _ if scalar.type is Type.TEXT:
            return sum((_width(one, query) for one in scalar.arguments), Fraction(0))
        case _:
            return Fraction(_NUMBER)


def _of_key(key: tree.Key) -> Fraction:
    if key.domain is None:
        return Fraction(_NUMBER)
    return _average(key.domain if key.other is None else (*key.domain, key.other))


def _of_measure(measure: tree.Measure) -> Fraction:
    if measure.domain is None:
        return Fraction(_NUMBER)
    return (measure.count or 1) * _average(measure.domain)


def _average(values: Iterable[Value]) -> Fraction:
    texts = [str(value) for value in values]
    # Each has a comma; two brackets are too many, and so are blanks after all commas but one.
    return Fraction(len(json.dumps(texts)) - len(texts), len(texts)) if texts else Fraction(0)


# What is computed. --------------------------------------------------------------------------------

_LARGEST = 2**63 - 1  # of the whole numbers that rows have


@dataclass(frozen=True, slots=True)
class Outline:
    """A plan before anything is said of noise.

    ``targets`` are what will be released, and ``formulas`` have places among them: one for each
    measure of the query. ``diagnostics`` are places of what is released besides, with a title each.
    ``by_id``: rows belong to units by ids, and one without an id is left out.
    """

    query: tree.Query
    bounded: Bounded
    people: str
    targets: tuple[Target, ...]
    formulas: tuple[Formula, ...]
    diagnostics: tuple[tuple[str, int], ...] = ()
    by_id: bool = False


def bound(
    query: tree.Query,
    catalog: Catalog,
    *,
    limits: Limits | None = None,
    epsilon: float = 1.0,
    diagnostics: bool = False,
) -> Outline:
    """Return what the engine is to compute for a question, and how measures are made from it.

    ``limits`` are the analyst's; what they leave open is as the owner declared. ``epsilon`` is
    about what will be spent, and decides how fine the grids are. Measures share what they can:
    AVG takes the total of a SUM or a VARIANCE of the same values, and all of them one count.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; exact integers, which move by no more than ``column_shift`` says.
        Numerics: exact integers.
        Proof: docs/proofs/queries.md, theorems 1 and 2.
    """
    _check_keys(query)
    shares, people = shares_of(query, catalog, limits), people_of(query.rows, catalog)
    totals = Totals(query, shares, epsilon)
    recipes = [made(measure, totals) for measure in query.measures]
    needs = list(dict.fromkeys(need for recipe in recipes for need in recipe.needs))
    columns: list[Statistic] = [s for s in needs if isinstance(s, RowCount | UnitCount | Total)]
    if any(map(is_discovered, query.keys)) and UnitCount() not in columns:
        columns.append(UnitCount())
    extra = clamped_rows(query, weighed=not shares.alone) if diagnostics else []
    columns += [count for _, count in extra if count not in columns]
    cells = Cells(tuple(columns))
    own = dict.fromkeys(part for need in needs if (part := part_of(need)) is not None)
    parts: list[Part] = [*([cells] if columns else []), *own]
    told = [(title, Tally(cells, columns.index(count))) for title, count in extra]
    if diagnostics and not shares.alone:
        told.append((crowded_title(people), Tally(Crowded(), 0)))
        parts.append(Crowded())
    targets = _targets(recipes, cells, [tally for _, tally in told])
    places = {target: at for at, target in enumerate(targets)}
    return Outline(
        query=query,
        bounded=Bounded(rows=query.rows, keys=query.keys, shares=shares, parts=tuple(parts)),
        people=people,
        targets=targets,
        formulas=tuple(
            recipe.formula(*(places[target_of(need, cells)] for need in recipe.needs))
            for recipe in recipes
        ),
        diagnostics=tuple((title, places[tally]) for title, tally in told),
        by_id=has_ids(query.rows, catalog),
    )


def _targets(recipes: list[Made], cells: Cells, told: list[Tally]) -> tuple[Target, ...]:
    """Return all that is released: tallies in the order in which they are paid for, then draws."""
    wanted: list[Target] = []
    for recipe in recipes:
        priced = recipe.formula(*range(len(recipe.needs))).errors
        wanted += [target_of(recipe.needs[at], cells) for at, _ in priced]
    tallies = [target for target in wanted if isinstance(target, Tally)]
    drawn = [target for target in wanted if not isinstance(target, Tally)]
    return tuple(dict.fromkeys([*tallies, *told, *drawn]))


def _check_keys(query: tree.Query) -> None:
    """Refuse keys that no row can have: they could not even be handed to the engine."""
    lists = [key.domain or () for key in query.keys]
    lists += [measure.domain or () for measure in query.measures]
    for value in (value for values in lists for value in values):
        if isinstance(value, int) and not ~_LARGEST <= value <= _LARGEST:
            raise MissingBound(
                "too_wide",
                "a value to group by or to choose from is a whole number beyond 64 bits",
                hint="keep it within bounds first, as in CAST(CLAMP(x, 0, 1000) AS BIGINT)",
            )


def clamped_rows(query: tree.Query, *, weighed: bool) -> list[tuple[str, RowCount]]:
    """Return for each argument with a range a count of the rows whose value lies outside.

    ``weighed`` says that a row of a unit with many counts as a part of one; the title says so.
    """
    found: dict[RowCount, str] = {}
    for measure in query.measures:
        if measure.argument is not None and measure.range is not None:
            outside = _outside(unclamped(measure.argument), measure.range)
            title = _title(unclamped(measure.argument), measure.range, weighed=weighed)
            found.setdefault(outside, title)
    return [(title, count) for count, title in found.items()]


def _title(value: tree.Scalar, public: Range, *, weighed: bool) -> str:
    rows = "rows, weighed," if weighed else "rows"
    return f"{rows} with {written(value)} outside {in_words(public)}"


def _outside(value: tree.Scalar, public: Range) -> RowCount:
    low = tree.Call("lt", (value, _literal(public.low, value)), Type.BOOLEAN)
    high = tree.Call("gt", (value, _literal(public.high, value)), Type.BOOLEAN)
    either = tree.Call("or", (low, high), Type.BOOLEAN)
    one, missing = tree.Literal(1, Type.INTEGER), tree.Literal(None, Type.INTEGER)
    known = Range(Fraction(1), Fraction(1))
    return RowCount(tree.Call("case", (either, one, missing), Type.INTEGER, known))


def _literal(end: Fraction, beside: tree.Scalar) -> tree.Literal:
    if beside.type is Type.INTEGER and end.denominator == 1:
        return tree.Literal(end.numerator, Type.INTEGER)
    return tree.Literal(float(end), Type.REAL)
