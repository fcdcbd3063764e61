# SPDX-License-Identifier: Apache-2.0
"""FROM, WITH and inner queries: from syntax to rows that belong to one unit each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from sordino.catalog.model import ROW, Catalog, Table
from sordino.query.tree import Field, Literal, Scan, Where
from sordino.query.types import Type
from sordino.sql import domains
from sordino.sql.bind import joins, units
from sordino.sql.bind.scalars import condition
from sordino.sql.bind.scope import (
    Inner,
    Named,
    Private,
    Public,
    Reading,
    Relation,
    Unit,
    aggregates,
    named_anew,
    projected,
    row_hook,
)
from sordino.sql.refusals import nearest, refusal


def source(select: exp.Select, known: Mapping[str, Inner], reading: Reading) -> Relation:
    """Return the rows of FROM and its joins that meet WHERE."""
    from_ = select.args.get("from_")
    if from_ is None:
        raise refusal("no_from", select, "the question names no table", hint="add FROM table")
    relation = _item(from_.this, known, reading)
    for join in select.args.get("joins") or []:
        relation = joins.joined(relation, _item(join.this, known, reading), join, reading)
    where = select.args.get("where")
    if where is None:
        return relation
    met = condition(where.this, row_hook(relation.columns, "WHERE"))
    if met == Literal(True, Type.BOOLEAN):
        return relation
    match relation:
        case Private():
            return replace(relation, rows=Where(relation.rows, met))
        case Public():
            return replace(relation, conditions=(*relation.conditions, met))


def defined(
    select: exp.Select, known: Mapping[str, Inner]
) -> tuple[Mapping[str, Inner], tuple[Inner, ...]]:
    """Return the names that are known inside a query, and the queries that it defines itself."""
    with_ = select.args.get("with_")
    names, own = dict(known), []
    for cte in with_.expressions if with_ is not None else []:
        inner = Inner(_select(cte.this, cte), dict(names))
        names[cte.alias.casefold()] = inner
        own.append(inner)
    return names, tuple(own)


def _item(node: exp.Expr, known: Mapping[str, Inner], reading: Reading) -> Relation:
    """Return what one entry of FROM or JOIN means."""
    if isinstance(node, exp.Subquery):
        relation = inner(_select(node.this, node), known, reading)
        return replace(relation, columns=named_anew(relation.columns, node.alias))
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise refusal(
            "unknown_table",
            node,
            "only tables of the catalog can be read",
            why="functions and files would be read without any protection",
            hint=nearest("", [table.name for table in reading.catalog.tables]),
        )
    name = node.alias or node.name
    found = known.get(node.name.casefold())
    if found is not None:
        reading.used.add(id(found.select))
        relation = inner(found.select, found.known, reading)
        return replace(relation, columns=named_anew(relation.columns, name))
    table = reading.catalog.table(node.name)
    if table is None:
        tables = [table.name for table in reading.catalog.tables]
        raise refusal(
            "unknown_table",
            node,
            f"there is no table {node.name!r}",
            hint=nearest(node.name, tables),
        )
    reading.opened(node)
    return _scan(table, name, reading)


def _scan(table: Table, alias: str, reading: Reading) -> Relation:
    units = unit_names(table, reading.catalog)
    hidden = {unit.casefold() for unit in units}
    fields: list[tuple[Field, str]] = []
    columns: list[Named] = []
    for column in table.columns:
        if not table.public and column.name.casefold() in hidden:
            continue
        domain = domains.of_column(column, reading.public)
        bounds = column.bounds
        if column.type is Type.BOOLEAN or column.type is Type.TEXT:
            bounds = None
        field = reading.fresh(column.type, column.name, bounds, domain, column.other)
        fields.append((field, column.name))
        columns.append(Named(alias, column.name, field))
    if table.public:
        return Public(table, tuple(fields), tuple(columns))
    return Private(
        rows=Scan(table.name, tuple(fields)),
        columns=(*(Named(alias, unit, Unit()) for unit in units), *columns),
        people=table.people,
        each_row=table.each_row,
        most=table.limits.rows,
    )


def unit_names(table: Table, catalog: Catalog) -> tuple[str, ...]:
    """Return the names under which a table has the unit; the first is the one to show.

    A table that leads to its unit through a parent calls it by the parent's name. If it does so by
    a column that holds the unit itself, that column is the unit too.
    """
    if table.unit is not None or table.parent is None:
        return (table.unit,) if table.unit not in (None, ROW) else ()
    link = table.parent
    parent = catalog.table(link.parent)
    above = unit_names(parent, catalog) if parent is not None else ()
    if link.parent_column.casefold() in {name.casefold() for name in above}:
        above = (*above, link.column)
    return tuple({name.casefold(): name for name in reversed(above)}.values())[::-1]


def _select(node: exp.Expr, above: exp.Expr) -> exp.Select:
    if isinstance(node, exp.Select):
        return node
    raise refusal("inner_query", above, "an inner query must be a SELECT", hint="write SELECT")


def inner(select: exp.Select, known: Mapping[str, Inner], reading: Reading) -> Relation:
    """Return the rows of an inner query: projections, conditions, joins, or one row for each unit.

    The columns have no source; whoever names the query gives them one.
    """
    for clause in ("order", "limit"):
        if select.args.get(clause) is not None:
            raise refusal(
                "inner_query",
                select.args[clause],
                f"{clause.upper()} cannot stand in an inner query",
                why="which rows are kept would depend on the rows of other people",
                hint="move it to the end of the question, where it looks at noisy numbers",
            )
    names, own = defined(select, known)
    relation = source(select, names, reading)
    check_unused(own, reading)
    grouped = select.args.get("group") is not None or select.args.get("having") is not None
    if grouped or any(aggregates(item) for item in select.expressions):
        return units.per_unit(select, relation, reading)
    if isinstance(relation, Private):
        relation, hook = units.windows(select, relation, reading)
    else:
        hook = row_hook(relation.columns, "an inner query over public tables")
    return projected(select, relation, hook, reading)


def check_unused(own: tuple[Inner, ...], reading: Reading) -> None:
    """Read queries of WITH that nobody uses, so that they too are refused if they must be."""
    for query in own:
        if id(query.select) not in reading.used:
            inner(query.select, query.known, reading)
