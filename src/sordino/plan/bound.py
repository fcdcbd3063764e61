# SPDX-License-Identifier: Apache-2.0
"""From a question to one whose every number moves by a known amount with one unit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sordino.catalog.model import Catalog, Limits
from sordino.errors import MissingBound
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
from sordino.plan.bounded import (
    Bounded,
    Cells,
    Crowded,
    Part,
    RowCount,
    Statistic,
    Total,
    UnitCount,
    is_discovered,
)
from sordino.plan.limits import has_ids, people_of, shares_of
from sordino.plan.words import crowded_title, in_words, unclamped, written
from sordino.query.tree import Call, Literal, Query, Scalar
from sordino.query.types import Range, Type

_LARGEST = 2**63 - 1  # of the whole numbers that rows have


@dataclass(frozen=True, slots=True)
class Outline:
    """A plan before anything is said of noise.

    ``targets`` are what will be released, and ``formulas`` have places among them: one for each
    measure of the query. ``diagnostics`` are places of what is released besides, with a title each.
    ``by_id``: rows belong to units by ids, and one without an id is left out.
    """

    query: Query
    bounded: Bounded
    people: str
    targets: tuple[Target, ...]
    formulas: tuple[Formula, ...]
    diagnostics: tuple[tuple[str, int], ...] = ()
    by_id: bool = False


def bound(
    query: Query,
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


def _check_keys(query: Query) -> None:
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


def clamped_rows(query: Query, *, weighed: bool) -> list[tuple[str, RowCount]]:
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


def _title(value: Scalar, public: Range, *, weighed: bool) -> str:
    rows = "rows, weighed," if weighed else "rows"
    return f"{rows} with {written(value)} outside {in_words(public)}"


def _outside(value: Scalar, public: Range) -> RowCount:
    low = Call("lt", (value, _literal(public.low, value)), Type.BOOLEAN)
    high = Call("gt", (value, _literal(public.high, value)), Type.BOOLEAN)
    either = Call("or", (low, high), Type.BOOLEAN)
    one, missing = Literal(1, Type.INTEGER), Literal(None, Type.INTEGER)
    known = Range(Fraction(1), Fraction(1))
    return RowCount(Call("case", (either, one, missing), Type.INTEGER, known))


def _literal(end: Fraction, beside: Scalar) -> Literal:
    if beside.type is Type.INTEGER and end.denominator == 1:
        return Literal(end.numerator, Type.INTEGER)
    return Literal(float(end), Type.REAL)
