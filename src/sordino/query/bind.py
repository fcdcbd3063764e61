# SPDX-License-Identifier: Apache-2.0
"""The question itself: keys, measures, and what becomes of the noisy numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sqlglot import exp

from sordino.query import bind_rows, bind_units, literals
from sordino.query.bind_columns import aggregates
from sordino.query.bind_histogram import histogram, histogram_of
from sordino.query.bind_measures import Measures
from sordino.query.bind_post import Selected, post, text_of
from sordino.query.bind_scalar import Hook, bind
from sordino.query.narrow import narrowed
from sordino.query.refusals import refusal
from sordino.query.scope import Private, Reading
from sordino.query.tree import Call, Field, Key, Literal, Query, Scalar
from sordino.query.types import Type

GROUPS = 1_000_000  # that an answer with public keys has at most


@dataclass(frozen=True, slots=True)
class _Item:
    """An entry of SELECT: its expression and the name it was given, if any."""

    node: exp.Expr
    alias: str


def question(select: exp.Select, reading: Reading, sql: str) -> Query:
    """Return the question that a checked SELECT asks."""
    names, own = bind_rows.defined(select, {})
    relation = bind_rows.source(select, names, reading)
    bind_rows.check_unused(own, reading)
    if not isinstance(relation, Private):
        raise refusal(
            "public_only",
            select.args["from_"],
            "this question is about public tables alone",
            hint="read them directly; there is nothing to protect",
        )
    relation, hook = bind_units.windows(select, relation, reading, "this place")
    items = tuple(_item(node) for node in select.expressions)
    keys = _keys(select, items, hook, relation, reading)
    measures = Measures(relation.columns, hook, reading)
    found = histogram_of([item.node for item in items])
    if found is not None:
        return replace(histogram(select, found, relation, keys, hook), sql=sql)
    selected = Selected(
        items=tuple((item.node, item.alias) for item in items),
        keys=keys,
        measures=measures,
        hook=hook,
        columns=relation.columns,
    )
    after = post(select, selected)
    if not measures.found:
        raise refusal(
            "no_measure" if keys else "row_level",
            select.expressions[0],
            "the question has no aggregate",
            why="rows themselves are never shown",
            hint="add COUNT(*)",
        )
    found_measures = tuple(measure for measure, _ in measures.found)
    return Query(relation.rows, keys, found_measures, after, sql)


def _item(node: exp.Expr) -> _Item:
    if isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    ):
        raise refusal(
            "star",
            node,
            "* would show rows",
            why="rows themselves are never shown",
            hint="name aggregates, as in COUNT(*)",
        )
    if isinstance(node, exp.Alias):
        return _Item(node.this, node.alias)
    return _Item(node, "")


def _keys(
    select: exp.Select,
    items: tuple[_Item, ...],
    hook: Hook,
    relation: Private,
    reading: Reading,
) -> tuple[Key, ...]:
    group = select.args.get("group")
    keys: list[Key] = []
    for node in group.expressions if group is not None else []:
        meant, alias = _meant(node, items, relation)
        full = _key(meant, alias, hook, reading)
        key = narrowed(full, relation.rows, reading.lists)
        if full.domain and not key.domain:
            raise refusal(
                "no_groups",
                node,
                f"no public value of {key.title} meets the conditions",
                why="the answer would have no rows, whatever the data",
                hint=_values(full),
            )
        if all(key.scalar != known.scalar for known in keys):
            keys.append(key)
    sizes = [len(key.domain) for key in keys if key.domain is not None]
    if math.prod(sizes) > GROUPS and len(sizes) == len(keys):
        raise refusal(
            "too_many_groups",
            group,
            f"the public keys make {math.prod(sizes)} groups, and {GROUPS} is the most",
            hint="group by fewer or by coarser keys",
        )
    return tuple(keys)


def _values(key: Key) -> str:
    """Return a hint with the first public values of a key."""
    values = [str(value) for value in key.domain or ()]
    more = ", ..." if len(values) > 8 else ""
    return f"its values are {', '.join(values[:8])}{more}"


def _meant(node: exp.Expr, items: tuple[_Item, ...], relation: Private) -> tuple[exp.Expr, str]:
    """Return what an entry of GROUP BY stands for: itself, a position, or a name of SELECT."""
    if isinstance(node, exp.Literal):
        place = literals.whole(node, 1, len(items), code="position", what="a position")
        return items[place - 1].node, items[place - 1].alias
    if isinstance(node, exp.Column) and not node.table and not isinstance(node.this, exp.Star):
        name = node.name.casefold()
        if all(column.name.casefold() != name for column in relation.columns):
            for item in items:
                if item.alias.casefold() == name:
                    return item.node, item.alias
    return node, ""


def _key(node: exp.Expr, alias: str, hook: Hook, reading: Reading) -> Key:
    if aggregates(node):
        raise refusal(
            "aggregate_place",
            node,
            "an aggregate cannot be grouped by",
            why="the group of a row would depend on the rows of other people",
            hint="group by a column",
        )
    scalar = bind(node, hook)
    _check_key(scalar, node, reading)
    title = alias or text_of(node)
    other = scalar.other if isinstance(scalar, Field) else None
    return Key(scalar, title, reading.domain(scalar, node), other)


def _check_key(scalar: Scalar, node: exp.Expr, reading: Reading) -> None:
    if isinstance(scalar, Literal):
        raise refusal("group_type", node, "a constant makes no groups", hint="leave it out")
    if scalar.type is Type.REAL:
        text = text_of(node)
        raise refusal(
            "group_type",
            node,
            "real numbers cannot be grouped by",
            why="nearly every row would be a group by itself",
            hint=f"group by FLOOR({text}), or ask for HISTOGRAM({text}, 10) alone",
        )
    cut = isinstance(scalar, Call) and scalar.operation.startswith("trunc_")
    if scalar.type is Type.TIMESTAMP and not cut and reading.domain(scalar, node) is None:
        raise refusal(
            "group_type",
            node,
            "moments cannot be grouped by as they are",
            why="nearly every row would be a group by itself",
            hint="cut them, as in DATE_TRUNC('day', x)",
        )
