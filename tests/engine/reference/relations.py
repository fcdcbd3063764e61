# SPDX-License-Identifier: Apache-2.0
"""FROM, JOIN, WHERE and inner SELECTs of a statement as its text has them, in plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sordino.catalog.model import Catalog
from sordino.query.types import Type
from tests.engine.reference import scalars
from tests.engine.reference.expressions import AGGREGATES, Env, aggregate, evaluated
from tests.engine.reference.rows import Stored, owned


@dataclass(frozen=True, slots=True)
class Relation:
    """Columns in order, each with the alias it is known by, and rows of values."""

    columns: tuple[tuple[str, str], ...]
    rows: list[tuple[Any, ...]]

    def envs(self) -> list[Env]:
        return [Env(self.columns, row) for row in self.rows]

    def named(self, alias: str) -> Relation:
        return Relation(tuple((alias, name) for _, name in self.columns), self.rows)


@dataclass(frozen=True, slots=True)
class Context:
    """What names of tables mean: stored tables, and those of WITH."""

    stored: Stored
    catalog: Catalog
    common: Mapping[str, Relation]


def source(select: exp.Select, context: Context) -> tuple[Relation, Context]:
    """Return the rows of a SELECT after FROM, JOIN, WHERE and windows, and its WITH names."""
    common = dict(context.common)
    clause = select.args.get("with_")
    if clause is not None:
        for one in clause.expressions:
            inside = Context(context.stored, context.catalog, common)
            common[one.alias.casefold()] = inner(one.this, inside)
    context = Context(context.stored, context.catalog, common)
    rows = _table(select.args["from_"].this, context)
    for join in select.args.get("joins") or ():
        rows = _joined(rows, _table(join.this, context), join)
    where = select.args.get("where")
    if where is not None:
        kept = [r for r, env in zip(rows.rows, rows.envs(), strict=True)
                if evaluated(where.this, env) is True]  # fmt: skip
        rows = Relation(rows.columns, kept)
    return _windowed(select, rows), context


def inner(select: exp.Expression, context: Context) -> Relation:
    """Return the rows of an inner SELECT: a projection, or one row for each unit."""
    assert isinstance(select, exp.Select)
    rows, context = source(select, context)
    group = select.args.get("group")
    outputs = _outputs(select, rows)
    if group is None:
        made = [tuple(evaluated(e, env) for _, e in outputs) for env in rows.envs()]
        return Relation(tuple(("", name) for name, _ in outputs), made)
    found: dict[Any, list[Env]] = {}
    for env in rows.envs():
        found.setdefault(tuple(evaluated(e, env) for e in group.expressions), []).append(env)
    having = select.args.get("having")
    made = []
    for envs in found.values():
        if having is None or aggregate(having.this, envs, outputs) is True:
            made.append(tuple(aggregate(e, envs, outputs) for _, e in outputs))
    return Relation(tuple(("", name) for name, _ in outputs), made)


def _outputs(select: exp.Select, rows: Relation) -> list[tuple[str, exp.Expression]]:
    made: list[tuple[str, exp.Expression]] = []
    for one in select.expressions:
        if isinstance(one, exp.Star):
            made += [(name, exp.column(name, table=alias or None)) for alias, name in rows.columns]
        else:
            name = one.alias_or_name.casefold()
            made.append((name, one.this if isinstance(one, exp.Alias) else one))
    return made


def _table(node: exp.Expression, context: Context) -> Relation:
    if isinstance(node, exp.Subquery):
        return inner(node.this, context).named(node.alias.casefold())
    assert isinstance(node, exp.Table)
    name, alias = node.name.casefold(), node.alias_or_name.casefold()
    if name in context.common:
        return context.common[name].named(alias)
    table = context.catalog.table(name)
    assert table is not None
    columns = [c.name.casefold() for c in table.columns]
    if table.public:
        rows = [
            tuple(scalars.base(row.get(c.name), c.type) for c in table.columns)
            for row in context.stored[table.name]
        ]
        return Relation(tuple((alias, c) for c in columns), rows)
    extra = _unit_of_parents(table.parent.parent, context) if table.parent else None
    base = owned(table, context.stored, context.catalog)
    if extra is None or extra in columns:
        made = [tuple(row.values()) for _, row in base]
    else:
        columns.append(extra)
        made = [(*row.values(), unit) for unit, row in base]
    return Relation(tuple((alias, c) for c in columns), made)


def _unit_of_parents(name: str, context: Context) -> str:
    table = context.catalog.table(name)
    assert table is not None
    if table.parent is not None:
        return _unit_of_parents(table.parent.parent, context)
    assert table.unit is not None
    return table.unit.casefold()


def _joined(left: Relation, right: Relation, join: exp.Join) -> Relation:
    using = [one.name.casefold() for one in join.args.get("using") or ()]
    columns = left.columns + right.columns
    made = []
    for mine in left.rows:
        matched = False
        for theirs in right.rows:
            row = mine + theirs
            if using:
                first, second = Env(left.columns, mine), Env(right.columns, theirs)
                fits = all(_same(first.find("", n), second.find("", n)) for n in using)
            else:
                fits = evaluated(join.args["on"], Env(columns, row)) is True
            if fits:
                made.append(row)
                matched = True
        if not matched and join.side == "LEFT":
            made.append(mine + (None,) * len(right.columns))
    return Relation(columns, made)


def _same(a: Any, b: Any) -> bool:
    return scalars.call("eq", [a, b], Type.BOOLEAN) is True


def _windowed(select: exp.Select, rows: Relation) -> Relation:
    """Add a column for every window function, under a name that the expression prints as."""
    windows = [w for e in select.expressions for w in e.find_all(exp.Window)]
    for window in windows:
        envs = rows.envs()
        keys = [tuple(evaluated(e, env) for e in window.args["partition_by"]) for env in envs]
        found: dict[Any, list[Env]] = {}
        for key, env in zip(keys, envs, strict=True):
            found.setdefault(key, []).append(env)
        values = {key: aggregate(window.this, own, []) for key, own in found.items()}
        rows = Relation(
            (*rows.columns, ("#window", window.sql())),
            [(*row, values[key]) for row, key in zip(rows.rows, keys, strict=True)],
        )
    return rows


__all__ = ["AGGREGATES", "Context", "Relation", "inner", "source"]
