# SPDX-License-Identifier: Apache-2.0
"""Parts as the last steps of a statement: exact integers by group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from sordino.engine.compile_keys import Keyed, mapped_keys
from sordino.engine.compile_shares import Groups, Weights, by_unit, crowded, least_rows, weight
from sordino.engine.select import inner, select
from sordino.engine.writer import Writer
from sordino.plan.bounded import (
    Bounded,
    Cells,
    Crowded,
    Distinct,
    Part,
    Ranks,
    RowCount,
    Statistic,
    Total,
    UnitCount,
    Votes,
)


@dataclass(frozen=True, slots=True)
class PartMaker:
    """What parts are compiled with; without weights every row counts as one step."""

    writer: Writer
    bounded: Bounded
    rows: Keyed
    unit: tuple[str, ...]  # what is hashed of a unit
    weights: Weights | None

    def select(self, part: Part) -> str:
        """Return a SELECT of the part's columns."""
        match part:
            case Cells():
                return self._cells(part)
            case Distinct():
                return self._distinct(part)
            case Ranks():
                return self._ranks(part)
            case Votes():
                return self._votes(part)
            case Crowded():
                if self.weights is None:
                    return "SELECT 0 AS s0"
                rows = self.rows
                return crowded(self.writer, rows.step, rows.keys, self.bounded.shares)
        assert_never(part)

    def _grouped(self, sums: list[str], source: str, *, by: tuple[str, ...] = ()) -> str:
        """Return sums by key, for the groups that are on the public lists."""
        named = [f"{text} AS s{place}" for place, text in enumerate(sums)]
        keys = [*self.rows.keys, *by]
        having = [*self.rows.listed, *(f"{key} IS NOT NULL" for key in by)]
        return select([*keys, *named], source, by=keys, having=having)

    # Cells. ----------------------------------------------------------------------------------

    def _cells(self, cells: Cells) -> str:
        weights, shares = self.weights, self.bounded.shares
        if weights is None:
            sums = [self._alone(statistic) for statistic in cells.statistics]
            return self._late(sums) if self.rows.late else self._grouped(sums, self.rows.step)
        turn: Callable[[Statistic], str] = self._of_rows
        source = self._weighed(weights, shares.steps)
        if weights.by_group:
            turn = self._of_pairs
            w = weight(self.writer, weights, shares, shares.steps)
            source = inner(select(["*", f"{w} AS w"], weights.step))
        return self._grouped([turn(statistic) for statistic in cells.statistics], source)

    def _late(self, sums: list[str]) -> str:
        """Group rows by raw keys, and the few groups by what the keys become."""
        raw = [name for name, _ in self.rows.late]
        named = [f"{text} AS s{place}" for place, text in enumerate(sums)]
        groups = inner(select([*raw, *named], self.rows.step, by=raw))
        made = [
            f"{text} AS {k}" for k, (_, text) in zip(self.rows.keys, self.rows.late, strict=True)
        ]
        places = [f"s{place}" for place in range(len(sums))]
        groups = inner(select([*made, *places], groups))
        groups = inner(select([*mapped_keys(self.writer, self.bounded), *places], groups))
        return self._grouped([f"sum({name})" for name in places], groups)

    def _weighed(self, weights: Weights, steps: int) -> str:
        """Return the rows, each with its weight w."""
        w = weight(self.writer, weights, self.bounded.shares, steps)
        keys = self.rows.keys if weights.by_group else ()
        units = inner(select(["u", *keys, f"{w} AS w"], weights.step))
        on = " AND ".join(["r.u = a.u", *(f"r.{k} IS NOT DISTINCT FROM a.{k}" for k in keys)])
        return inner(select(["r.*", "a.w"], f"{self.rows.step} AS r JOIN {units} AS a ON {on}"))

    def _alone(self, statistic: Statistic) -> str:
        match statistic:
            case RowCount(argument=None) | UnitCount():
                return "count(*)"
            case RowCount():
                return f"count(CASE WHEN {self.rows.prepared[statistic]} THEN 1 END)"
            case Total():
                return f"COALESCE(sum({self.rows.prepared[statistic]}), 0)"
        assert_never(statistic)

    def _of_rows(self, statistic: Statistic) -> str:
        match statistic:
            case RowCount(argument=None):
                return "COALESCE(sum(w), 0)"
            case RowCount():
                return f"COALESCE(sum(CASE WHEN {self.rows.prepared[statistic]} THEN w END), 0)"
            case Total():
                return f"COALESCE(sum(w * {self.rows.prepared[statistic]}), 0)"
            case UnitCount():
                return "count(DISTINCT u)" if self.rows.keys else self._every_unit()
        assert_never(statistic)

    def _every_unit(self) -> str:
        """Return how many units there are, as an aggregate; they have been counted before."""
        counted = self.weights.step if self.weights else self.rows.step
        return f"COALESCE(max({inner(select(['count(*)'], counted))}), 0)"

    def _of_pairs(self, statistic: Statistic) -> str:
        match statistic:
            case RowCount(argument=None):
                return "COALESCE(sum(w * n), 0)"
            case RowCount() | Total():
                return f"COALESCE(sum(w * {_partial(self.rows, statistic)}), 0)"
            case UnitCount():
                return "count(*)"
        assert_never(statistic)

    # The others. -------------------------------------------------------------------------------

    def _by_value(self, value: str) -> str:
        """Return the coarse weight of each value of a column by key."""
        if self.weights is None:
            return self._grouped(["count(*)"], self.rows.step, by=(value,))
        source = self._weighed(self.weights, self.bounded.shares.coarse_steps)
        return self._grouped(["sum(w)"], source, by=(value,))

    def _ranks(self, ranks: Ranks) -> str:
        value = self.rows.prepared[ranks]
        return select([*self.rows.keys, f"{value} AS v", "s0"], inner(self._by_value(value)))

    def _votes(self, votes: Votes) -> str:
        value = self.rows.prepared[votes]
        places = self.writer.values(votes.domain, votes.argument.type)
        keys = [f"g.{key}" for key in self.rows.keys]
        grouped = inner(self._by_value(value))
        source = f"{grouped} AS g JOIN {places} AS d ON g.{value} = d.c"
        return select([*keys, "d.v", "g.s0"], source)

    def _distinct(self, distinct: Distinct) -> str:
        value = self.rows.prepared[distinct]
        source = self.rows.step
        if self.weights is not None:
            there = inner(select(["*"], source, where=[f"{value} IS NOT NULL"]))
            columns = (*self.rows.keys, value)
            groups = Groups(self.writer, there, columns, distinct.most, "n", {}, self.unit)
            source = groups.weights().step
        return self._grouped([f"count(DISTINCT {value})"], source)


def weights_of(
    writer: Writer, bounded: Bounded, rows: Keyed, unit: tuple[str, ...]
) -> Weights | None:
    """Return what rows are weighed by, or None if each is all that there is of its unit."""
    shares = bounded.shares
    if shares.alone:
        return None
    cut = shares.groups is not None or shares.rows_per_group is not None
    if not (rows.keys and cut):
        return by_unit(writer, rows.step)
    sums = _partial_sums(rows, bounded)
    least = least_rows(writer, shares)
    return Groups(writer, rows.step, rows.keys, shares.groups, least, sums, unit).weights()


def _partial(rows: Keyed, statistic: Statistic) -> str:
    """Return the name of what is added up of a statistic for each unit and group."""
    return f"a_{rows.prepared[statistic]}"


def _partial_sums(rows: Keyed, bounded: Bounded) -> dict[str, str]:
    """Return what is added up for each unit and group, by the names that it gets."""
    sums: dict[str, str] = {}
    for part in bounded.parts:
        for statistic in part.statistics if isinstance(part, Cells) else ():
            match statistic:
                case RowCount(argument=None) | UnitCount():
                    continue
                case RowCount():
                    text = f"count(CASE WHEN {rows.prepared[statistic]} THEN 1 END)"
                case Total():
                    text = f"COALESCE(sum({rows.prepared[statistic]}), 0)"
            sums[_partial(rows, statistic)] = text
    return sums
