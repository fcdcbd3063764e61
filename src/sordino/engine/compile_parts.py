# SPDX-License-Identifier: Apache-2.0
"""Parts as the last steps of a statement: exact integers by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from sordino.engine.compile_keys import Keyed
from sordino.engine.compile_shares import Weights, crowded, weight
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
    weights: Weights | None
    hashed_unit: bool

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
                return crowded(self.writer, self.bounded, self.weights)
        assert_never(part)

    # Cells. ----------------------------------------------------------------------------------

    def _cells(self, cells: Cells) -> str:
        weights = self.weights
        if weights is None:
            source, sums = self.rows.step, [self._alone(s) for s in cells.statistics]
        elif weights.by_group:
            w = weight(self.writer, weights, self.bounded.shares, self.bounded.shares.steps)
            source = f"(SELECT *, {w} AS w FROM {weights.step})"
            sums = [self._of_pairs(s) for s in cells.statistics]
        else:
            source = self._weighed(self.bounded.shares.steps)
            sums = [self._of_rows(s) for s in cells.statistics]
        named = [f"{text} AS s{place}" for place, text in enumerate(sums)]
        return self._grouped(named, source)

    def _grouped(self, named: list[str], source: str, *, by: tuple[str, ...] = ()) -> str:
        keys = [*self.rows.keys, *by]
        text = f"SELECT {', '.join([*keys, *named])} FROM {source}"
        tests = [self.rows.listed] if self.rows.listed else []
        tests += [f"{key} IS NOT NULL" for key in by]
        if keys:
            text += f" GROUP BY {', '.join(keys)}"
        return f"{text} HAVING {' AND '.join(tests)}" if tests else text

    def _weighed(self, steps: int) -> str:
        """Return the rows, each with its weight w."""
        weights = self.weights
        if weights is None:
            return f"(SELECT *, 1 AS w FROM {self.rows.step})"
        w = weight(self.writer, weights, self.bounded.shares, steps)
        keys = self.rows.keys if weights.by_group else ()
        units = f"SELECT u{''.join(f', {key}' for key in keys)}, {w} AS w FROM {weights.step}"
        on = " AND ".join(["r.u = n.u", *(f"r.{k} IS NOT DISTINCT FROM n.{k}" for k in keys)])
        return f"(SELECT r.*, n.w FROM {self.rows.step} AS r JOIN ({units}) AS n ON {on})"

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
                if self.rows.keys or self.weights is None:
                    return "count(DISTINCT u)"
                return f"(SELECT count(*) FROM {self.weights.every})"
        assert_never(statistic)

    def _of_pairs(self, statistic: Statistic) -> str:
        match statistic:
            case RowCount(argument=None):
                return "COALESCE(sum(w * n), 0)"
            case RowCount() | Total():
                return f"COALESCE(sum(w * {partial(self.rows, statistic)}), 0)"
            case UnitCount():
                return "count(*)"
        assert_never(statistic)

    # The others. -------------------------------------------------------------------------------

    def _ranks(self, ranks: Ranks) -> str:
        source = self._weighed(self.bounded.shares.coarse_steps)
        value = self.rows.prepared[ranks]
        grouped = self._grouped(["sum(w) AS s0"], source, by=(value,))
        return self._columns(f"(\n{grouped}\n)", value)

    def _columns(self, source: str, value: str) -> str:
        return f"SELECT {', '.join([*self.rows.keys, f'{value} AS v', 's0'])} FROM {source}"

    def _votes(self, votes: Votes) -> str:
        source = self._weighed(self.bounded.shares.coarse_steps)
        value, writer = self.rows.prepared[votes], self.writer
        there = [candidate for candidate in votes.domain if candidate is not None]
        grouped = self._grouped(["sum(w) AS s0"], source, by=(value,))
        places = writer.dialect.listed.format(writer.values(there, votes.argument.type))
        keys = [f"g.{key}" for key in self.rows.keys]
        return (
            f"SELECT {', '.join([*keys, 'd.v', 'g.s0'])} FROM (\n{grouped}\n) AS g "
            f"JOIN ({places}) AS d ON g.{value} = d.c"
        )

    def _distinct(self, distinct: Distinct) -> str:
        value, writer = self.rows.prepared[distinct], self.writer
        count = [f"count(DISTINCT {value}) AS s0"]
        if self.weights is None:
            return self._grouped(count, self.rows.step)
        keys = [*self.rows.keys, value]
        pairs = (
            f"SELECT DISTINCT u, {', '.join(keys)} FROM {self.rows.step} WHERE {value} IS NOT NULL"
        )
        hashed = [writer.salt(), *(["u"] if self.hashed_unit else []), *keys]
        order = writer.dialect.hash.format(", ".join(hashed))
        ranked = (
            f"SELECT {', '.join(keys)}, row_number() OVER (PARTITION BY u ORDER BY {order}, "
            f"{', '.join(keys)}) AS place FROM (\n{pairs}\n)"
        )
        most = writer.integer(distinct.most)
        kept = f"(SELECT * FROM (\n{ranked}\n) WHERE place <= {most})"
        return self._grouped(count, kept)


def partial(rows: Keyed, statistic: Statistic) -> str:
    """Return the name of what is added up of a statistic for each unit and group."""
    return f"a_{rows.prepared[statistic]}"


def partial_sums(rows: Keyed, bounded: Bounded) -> dict[str, str]:
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
            sums[partial(rows, statistic)] = text
    return sums
