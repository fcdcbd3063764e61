# SPDX-License-Identifier: Apache-2.0
"""Mutants of what is decided before data is touched: shifts, shares, prices, refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.plan import allocate, bound, plan
from sordino.plan.plan import Bounded, Ranked, Total
from sordino.privacy import losses
from sordino.privacy.loss import Loss
from sordino.sql.bind import joins as bind_joins
from sordino.sql.bind import rows as bind_rows
from tests.support.rewrite import Mutant, mutant


@contextmanager
def _unsplit() -> Iterator[None]:
    """Give the whole price to everything."""
    plain = allocate.share_out

    def whole(outline: Any, total: Fraction, **options: Any) -> Mapping[Any, Fraction]:
        return dict.fromkeys(plain(outline, total, **options), total)

    with mock.patch.object(allocate, "share_out", whole):
        yield


@contextmanager
def _sized_statement() -> Iterator[None]:
    """Let the statement depend on how many rows there are."""
    plain = DuckdbEngine._compile

    def changed(engine: DuckdbEngine, bounded: Bounded) -> Any:
        found = next(t for t in engine.catalog.tables if t.name == "visits")
        rows = found.source.table.num_rows  # type: ignore[union-attr]  # a frame
        return plain(engine, replace(bounded, shares=replace(bounded.shares, rows=rows)))

    with mock.patch.object(DuckdbEngine, "_compile", changed):
        yield


def _loss_of_the_point(release: Ranked) -> Loss:
    draw = losses.pure if release.mechanism == "permute_and_flip" else losses.exponential
    return draw(epsilon=release.epsilon_value)


_ROWS = "catalog.tables[0].source.table.num_rows"

PUBLIC: dict[str, Mutant] = {
    "noise is a tenth too narrow": mutant(
        plan.weights,
        "return total * shares.steps, each * shares.steps",
        "return total * shares.steps * 9 // 10, each * shares.steps * 9 // 10",
    ),
    "the offset is forgotten in the shift": lambda: mock.patch.object(
        Total, "largest", property(lambda total: max(1, (total.high - total.low) // 2))
    ),
    "a declared limit is trusted": mutant(
        bound.is_alone,
        "return _table(rows.table, catalog).each_row",
        "return _table(rows.table, catalog).each_row "
        "or _table(rows.table, catalog).limits.rows == 1",
    ),
    "a public join is taken to keep rows alone": mutant(
        bound.is_alone,
        "case tree.JoinPublic():\n            return False",
        "case tree.JoinPublic():\n            return is_alone(rows.rows, catalog)",
    ),
    "units of several groups are counted as one": mutant(
        plan.shift, "most = _groups(shares) if grouped else 1", "most = 1"
    ),
    "Gaussian noise is made for one group": mutant(
        plan._sensitivity, "l2_squared=full * each * each + rest * rest", "l2_squared=each * each"
    ),
    "coarse weights are taken for rows": mutant(
        plan.coarse_weight, "* shares.coarse_steps", "* 1"
    ),
    "epsilon is not split": _unsplit,
    "equal noise is charged once": mutant(
        allocate.loss_of,
        "[release.loss for release in releases]",
        "list({repr(getattr(r, 'mechanism', r)): r.loss for r in releases}.values())",
    ),
    "selecting keys is not charged": mutant(allocate.loss_of, "if keys is not None:", "if False:"),
    "the slack is not charged": mutant(
        allocate.allocate,
        "slack=Fraction(0) if keys is None else slack_of_keys(keys)",
        "slack=Fraction(0)",
    ),
    "keys are selected for one group": mutant(
        allocate._Work.keys, "selection(share, slack, groups,", "selection(share, slack, 1,"
    ),
    "only the point of a quantile is charged": lambda: mock.patch.object(
        Ranked, "loss", property(_loss_of_the_point)
    ),
    "the price depends on the data": mutant(
        allocate.plan_question,
        "cost_of(ask.price, search.purse)",
        f"cost_of(Epsilon(ask.price.amount / (1 + {_ROWS})), search.purse)",
    ),
    "the statement depends on the data": _sized_statement,
    "the unit is a column like others": mutant(
        bind_rows._scan, "units = unit_names(table, reading.catalog)", "units = ()"
    ),
    "a public table keeps its rows": mutant(
        bind_joins.joined, "case Public(), Private() if not outer:", "case Public(), Private():"
    ),
    "private tables are joined on anything": mutant(
        bind_joins._with_unit, "if not pairs.units:", "if False:"
    ),
    "a window may be over anything": mutant(
        bind_rows._checked, "not _is_unit(partition[0], columns)", "False"
    ),
}  # fmt: skip
