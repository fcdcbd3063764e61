# SPDX-License-Identifier: Apache-2.0
"""HISTOGRAM(x, bins): a key of equal bins, and the count of each."""

from __future__ import annotations

from sqlglot import exp

from sordino.query import literals
from sordino.query.bind_arguments import bounded, number, unwrapped
from sordino.query.bind_columns import aggregates
from sordino.query.bind_post import limit, unique
from sordino.query.bind_scalar import Hook, bind
from sordino.query.refusals import refusal
from sordino.query.scope import Private
from sordino.query.tree import (
    Bins,
    Field,
    Key,
    KeyRef,
    Kind,
    Measure,
    MeasureRef,
    Ordered,
    Output,
    Post,
    PostCall,
    Query,
    Scalar,
)
from sordino.query.types import Type

BINS = 10_000


def histogram_of(items: list[exp.Expr]) -> exp.Anonymous | None:
    """Return the HISTOGRAM among the entries of SELECT, if there is one."""
    for item in items:
        node = item.this if isinstance(item, exp.Filter) else item
        if isinstance(node, exp.Anonymous) and str(node.this).casefold() == "histogram":
            return node
    return None


def histogram(
    select: exp.Select, node: exp.Anonymous, relation: Private, keys: tuple[Key, ...], hook: Hook
) -> Query:
    """Return the question that a HISTOGRAM asks: its bins are one more key, after the others."""
    if len(node.expressions) != 2:
        raise refusal(
            "histogram",
            node,
            "HISTOGRAM takes a value and a number of bins",
            hint="HISTOGRAM(x, 10)",
        )
    for clause in ("having", "order"):
        if select.args.get(clause) is not None:
            raise refusal(
                "histogram",
                select.args[clause],
                "the rows of a histogram are its bins, in their order",
                hint=f"leave {clause.upper()} out",
            )
    value, many = node.expressions
    bins = literals.whole(many, 1, BINS, code="histogram", what="the number of bins")
    aggregate = unwrapped(node.parent if isinstance(node.parent, exp.Filter) else node, hook)
    scalar, range_ = bounded(number(aggregate, value, hook), value)
    name = _name(select, node, scalar)
    key = Key(scalar, name, tuple(range(bins)), bins=Bins(range_, bins))
    place = KeyRef(len(keys), Type.INTEGER)
    outputs: list[Output] = []
    for item in select.expressions:
        if item.find(exp.Anonymous) is node:
            outputs += [
                Output(f"{name}_from", PostCall("bin_from", (place,), Type.REAL)),
                Output(f"{name}_to", PostCall("bin_to", (place,), Type.REAL)),
                Output("count", MeasureRef(0, Type.REAL)),
            ]
        else:
            outputs.append(_beside(item, keys, hook))
    titles = unique(output.title for output in outputs)
    named = tuple(Output(t, o.scalar) for t, o in zip(titles, outputs, strict=True))
    order = tuple(Ordered(KeyRef(i, known.type)) for i, known in enumerate((*keys, key)))
    after = Post(named, order=order, limit=limit(select))
    return Query(relation.rows, (*keys, key), (Measure(Kind.COUNT),), after, "")


def _beside(item: exp.Expr, keys: tuple[Key, ...], hook: Hook) -> Output:
    """Return a key of GROUP BY that stands beside a histogram, and refuse anything else there."""
    node = item.this if isinstance(item, exp.Alias) else item
    scalar = None if aggregates(node) else bind(node, hook)
    for index, key in enumerate(keys):
        if key.scalar == scalar:
            return Output(item.alias or key.title, KeyRef(index, key.type))
    raise refusal(
        "histogram",
        item,
        "only keys of GROUP BY stand beside HISTOGRAM",
        why="its bins become rows of the answer",
        hint="write SELECT HISTOGRAM(x, 10) FROM ...",
    )


def _name(select: exp.Select, node: exp.Expr, scalar: Scalar) -> str:
    for item in select.expressions:
        if isinstance(item, exp.Alias) and item.find(exp.Anonymous) is node:
            return item.alias
    return scalar.title if isinstance(scalar, Field) else "x"
