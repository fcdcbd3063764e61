# SPDX-License-Identifier: Apache-2.0
"""Plans made by hand, so that a release can be tested without a planner and without an engine."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from sordino.engine.sealed import Sealed
from sordino.ledger.entry import Receipt
from sordino.mechanisms import Laplace
from sordino.mechanisms.keys.selection import KeySelection
from sordino.plan.aggregates import Direct, Formula
from sordino.plan.plan import (
    Added,
    Bounded,
    Cells,
    Part,
    Plan,
    Release,
    RowCount,
    Shares,
    Statistic,
)
from sordino.privacy import losses
from sordino.privacy.currency import PURE, Price
from sordino.query import tree
from sordino.query.types import Range, Type, Value

DISEASE = tree.Field("f0", Type.TEXT, "disease")
COST = tree.Field("f1", Type.REAL, "cost")
AGE = tree.Field("f2", Type.INTEGER, "age")
WIDE = Range(Fraction(0), Fraction(120))
CONFIDENCE = Fraction(95, 100)
ALONE = Shares(rows=1, alone=True)
ROWS = Cells((RowCount(),))

RECEIPT = Receipt(
    number=7,
    people="people",
    price=Price(PURE, 500_000_000),
    slack=Fraction(0),
    left=Price(PURE, 500_000_000),
    slack_left=Fraction(1, 10**6),
    plan="f" * 64,
    head="0" * 64,
    who="owner",
)


def key(
    *domain: Value,
    title: str = "disease",
    other: Value = None,
    type: Type = Type.TEXT,  # noqa: A002
) -> tree.Key:
    scalar = tree.Field(f"k_{title}", type, title)
    return tree.Key(scalar, title, tuple(domain) or None, other)


def make(
    *,
    keys: tuple[tree.Key, ...] = (),
    measures: tuple[tree.Measure, ...] = (tree.Measure(tree.Kind.COUNT),),
    outputs: tuple[tree.Output, ...] | None = None,
    parts: tuple[Part, ...] = (ROWS,),
    releases: tuple[Release, ...] | None = None,
    formulas: tuple[Formula, ...] = (Direct(0),),
    shares: Shares = ALONE,
    selection: KeySelection | None = None,
    diagnostics: tuple[tuple[str, int], ...] = (),
    **post: Any,
) -> Plan:
    """Return a plan: by default, how many rows each group has, with noise of scale 2."""
    if outputs is None:
        outputs = (
            *(tree.Output(k.title, tree.KeyRef(i, k.type)) for i, k in enumerate(keys)),
            *(tree.Output(f"m{i}", tree.MeasureRef(i, _type(m))) for i, m in enumerate(measures)),
        )
    if releases is None:
        releases = (added(0),)
    first: Any = parts[0]  # of which a column is meant, unless another part is named
    releases = tuple(r if r.part in parts else replace(r, part=first) for r in releases)
    query = tree.Query(
        tree.Scan("visits", ()), keys, measures, tree.Post(outputs, **post), "SELECT ..."
    )
    return Plan(
        query=query,
        bounded=Bounded(query.rows, keys, shares, parts),
        people="people",
        releases=releases,
        formulas=formulas,
        keys=selection,
        diagnostics=diagnostics,
        loss=losses.pure(epsilon=Fraction(1, 2)).under("add_remove"),
        slack=Fraction(0),
        confidence=CONFIDENCE,
        epsilon=Fraction(1, 2),
        fingerprint="f" * 64,
    )


def added(column: int, *, step: Fraction = Fraction(1), scale: int = 2) -> Added:
    return Added(ROWS, column, Laplace(sensitivity=1, epsilon=Fraction(1, scale)), step)


def sealed(*tables: dict[str, Any] | pa.Table) -> Sealed[tuple[pa.Table, ...]]:
    return Sealed(tuple(pa.table(t) if isinstance(t, dict) else t for t in tables))


def titled(plan: Plan, scalar: tree.PostScalar, title: str = "x") -> Plan:
    """Return the plan with one more output."""
    post = plan.query.post
    outputs = (*post.outputs, tree.Output(title, scalar))
    query = replace(plan.query, post=replace(post, outputs=outputs))
    return replace(plan, query=query)


def statistics(*found: Statistic) -> tuple[Part, ...]:
    return (Cells(found),)


def _type(measure: tree.Measure) -> Type:
    if measure.kind in (tree.Kind.COUNT, tree.Kind.COUNT_UNITS, tree.Kind.COUNT_DISTINCT):
        return Type.INTEGER
    if measure.kind in (tree.Kind.MODE, tree.Kind.TOP):
        return Type.TEXT
    return Type.REAL
