# SPDX-License-Identifier: Apache-2.0
"""A whole statement in plain Python: ordinary SQL, without noise and without limits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp

from sordino.catalog.model import Catalog
from tests.engine.reference.expressions import Env, Outputs, aggregate, evaluated, is_aggregate
from tests.engine.reference.relations import Context, source
from tests.engine.reference.rows import Stored

Group: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of values; ``ordered`` tells whether the statement says in which order."""

    rows: list[tuple[Any, ...]]
    ordered: bool


def evaluate(sql: str, stored: Stored, catalog: Catalog) -> Answer:
    """Return what a statement gives on the stored rows."""
    select = next(one for one in sqlglot.parse(sql, read="duckdb") if isinstance(one, exp.Select))
    relation, _ = source(select, Context(stored, catalog, {}))
    outputs: list[tuple[str, exp.Expression]] = [
        (one.alias.casefold(), one.this) if isinstance(one, exp.Alias) else ("", one)
        for one in select.expressions
    ]
    keys = [_resolved(e, outputs, relation.columns) for e in _clause(select, "group")]
    histogram = next((o for o in outputs if _histogram(o[1]) is not None), None)
    if histogram is not None:
        return _binned(relation.envs(), outputs, histogram[1], catalog)
    groups: dict[Group, list[Env]] = {}
    for env in relation.envs():
        groups.setdefault(tuple(evaluated(key, env) for key in keys), []).append(env)
    if not keys:
        groups = {(): relation.envs()}
    having = select.args.get("having")
    kept = [
        envs
        for envs in groups.values()
        if having is None or aggregate(having.this, envs, outputs) is True
    ]
    kept = _ordered(select, kept, outputs)
    limit = select.args.get("limit")
    if limit is not None:
        kept = kept[: int(limit.expression.name)]
    rows = [tuple(aggregate(e, envs, outputs) for _, e in outputs) for envs in kept]
    return Answer(rows, bool(_clause(select, "order")))


def _histogram(node: exp.Expression) -> exp.Anonymous | None:
    inner = node.this if isinstance(node, exp.Filter) else node
    if isinstance(inner, exp.Anonymous) and inner.name.casefold() == "histogram":
        return inner
    return None


def _binned(envs: list[Env], outputs: Outputs, node: exp.Expression, catalog: Catalog) -> Answer:
    """Return the counts of equal bins between the declared bounds of a column, and other keys."""
    inner = _histogram(node)
    assert inner is not None
    argument, count = inner.expressions[0], int(inner.expressions[1].name)
    bounds = next(c.bounds for t in catalog.tables if (c := t.column(argument.name)) is not None)
    assert bounds is not None
    width = (bounds.high - bounds.low) / count
    found: dict[tuple[Any, ...], int] = {}
    for env in envs:
        if isinstance(node, exp.Filter) and evaluated(node.expression.this, env) is not True:
            continue
        value = evaluated(argument, env)
        if value is None:
            continue
        place = min(count - 1, int((Fraction(value) - bounds.low) / width))
        others = tuple(evaluated(e, env) for _, e in outputs if e is not node)
        ends = (bounds.low + place * width, bounds.low + (place + 1) * width)
        key = (*others, *map(float, ends))
        found[key] = found.get(key, 0) + 1
    return Answer([(*key, n) for key, n in found.items()], ordered=False)


def _clause(select: exp.Select, name: str) -> list[exp.Expression]:
    clause = select.args.get(name)
    return [] if clause is None else list(clause.expressions)


def _resolved(
    node: exp.Expression, outputs: Outputs, columns: tuple[tuple[str, str], ...]
) -> exp.Expression:
    """Return what a position or an alias stands for."""
    if isinstance(node, exp.Literal) and not node.args["is_string"]:
        return outputs[int(node.name) - 1][1]
    if isinstance(node, exp.Column) and not node.table:
        name = node.name.casefold()
        if all(own != name for _, own in columns):
            return next((e for title, e in outputs if title == name), node)
    return node


def _ordered(select: exp.Select, groups: list[list[Env]], outputs: Outputs) -> list[list[Env]]:
    for one in reversed(_clause(select, "order")):
        node = _output(one.this, outputs)

        def place(envs: list[Env], node: exp.Expression = node) -> Any:
            return aggregate(node, envs, outputs)

        values = [(place(envs), envs) for envs in groups]
        there = [pair for pair in values if pair[0] is not None]
        there.sort(key=lambda pair: pair[0], reverse=bool(one.args.get("desc")))
        groups = [envs for _, envs in there] + [envs for v, envs in values if v is None]
    return groups


def _output(node: exp.Expression, outputs: Outputs) -> exp.Expression:
    if isinstance(node, exp.Literal) and not node.args["is_string"]:
        return outputs[int(node.name) - 1][1]
    if isinstance(node, exp.Column) and not node.table:
        name = node.name.casefold()
        return next((e for title, e in outputs if title == name), node)
    return node


def aggregates(sql: str) -> set[str]:
    """Return the kinds of aggregates in a statement, for choosing how to compare."""
    found = sqlglot.parse_one(sql, read="duckdb").find_all(exp.Expression)
    return {
        node.name.casefold() if isinstance(node, exp.Anonymous) else type(node).__name__.casefold()
        for node in found
        if is_aggregate(node)
    }
