# SPDX-License-Identifier: Apache-2.0
"""A whole statement in plain Python: ordinary SQL, without noise and without limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp

from sordino.query.catalog import Catalog
from tests.reference.expressions import Env, Outputs, aggregate, evaluated, is_aggregate
from tests.reference.relations import Context, source
from tests.reference.rows import Stored

Group: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of values; ``ordered`` tells whether the statement says in which order."""

    rows: list[tuple[Any, ...]]
    ordered: bool


def evaluate(sql: str, stored: Stored, catalog: Catalog) -> Answer:
    """Return what a statement gives on the stored rows."""
    select = sqlglot.parse_one(sql, read="duckdb")
    assert isinstance(select, exp.Select)
    relation, _ = source(select, Context(stored, catalog, {}))
    outputs: list[tuple[str, exp.Expression]] = [
        (one.alias.casefold(), one.this) if isinstance(one, exp.Alias) else ("", one)
        for one in select.expressions
    ]
    keys = [_resolved(e, outputs, relation.columns) for e in _clause(select, "group")]
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
