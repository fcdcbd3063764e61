# SPDX-License-Identifier: Apache-2.0
"""FROM, WITH and inner queries: from syntax to rows that belong to one unit each.

Numbers are computed for each unit by itself: GROUP BY unit, OVER (PARTITION BY unit).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sordino.catalog.model import ROW, Catalog, Table
from sordino.query.operations import range_of
from sordino.query.tree import (
    Derive,
    Field,
    Literal,
    PerUnit,
    Scalar,
    Scan,
    UnitKind,
    UnitMeasure,
    Where,
    Window,
)
from sordino.query.types import Range, Type
from sordino.sql import domains
from sordino.sql.bind import joins
from sordino.sql.bind.measures import NUMERIC, argument, bounded, counted, number, unwrapped
from sordino.sql.bind.scalars import Hook, condition
from sordino.sql.bind.scope import (
    Columns,
    Inner,
    Named,
    Private,
    Public,
    Reading,
    Relation,
    Unit,
    aggregates,
    find,
    is_aggregate,
    named_anew,
    projected,
    row_hook,
    unit_refusal,
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
        return per_unit(select, relation, reading)
    if isinstance(relation, Private):
        relation, hook = windows(select, relation, reading)
    else:
        hook = row_hook(relation.columns, "an inner query over public tables")
    return projected(select, relation, hook, reading)


def check_unused(own: tuple[Inner, ...], reading: Reading) -> None:
    """Read queries of WITH that nobody uses, so that they too are refused if they must be."""
    for query in own:
        if id(query.select) not in reading.used:
            inner(query.select, query.known, reading)


# Numbers that are computed for each unit by itself. -----------------------------------------------

_WHY = "a row of the inner query would depend on the rows of other people"
_HINT = "group by the unit, with COUNT, SUM, AVG, MIN or MAX; ask for the rest outside"
_NAMES = {kind.value: kind for kind in UnitKind}
_KINDS = {node: _NAMES[kind.value] for node, kind in NUMERIC.items() if kind.value in _NAMES}


class Measured:
    """The measures of units that one SELECT needs, each once."""

    def __init__(self, relation: Private, hook: Hook, reading: Reading) -> None:
        self._relation = relation
        self._hook = hook
        self._reading = reading
        self._fields: dict[UnitMeasure, Field] = {}

    def field(self, node: exp.Expr) -> Field:
        """Return the field of an aggregate."""
        measure, kind = _measure(node, self._hook, self._relation.columns)
        if measure not in self._fields:
            range_ = _range(measure, self._relation.most)
            rows = measure.kind is UnitKind.COUNT and measure.argument is None
            title = "COUNT(*)" if rows else node.sql(dialect="duckdb", comments=False)[:60]
            self._fields[measure] = self._reading.fresh(kind, title, range_)
        return self._fields[measure]

    @property
    def fields(self) -> tuple[tuple[Field, UnitMeasure], ...]:
        """All fields so far, each with its measure."""
        return tuple((field, measure) for measure, field in self._fields.items())


def per_unit(select: exp.Select, relation: Relation, reading: Reading) -> Private:
    """Return one row for each unit: an inner query that is grouped by the unit."""
    group = select.args.get("group")
    keys = group.expressions if group is not None else []
    if (
        not isinstance(relation, Private)
        or len(keys) != 1
        or not _is_unit(_named_key(keys[0], select), relation.columns)
    ):
        raise refusal(
            "inner_query",
            group if group is not None else select,
            "an inner query that aggregates must group by the unit alone",
            why=_WHY,
            hint=_HINT,
        )
    measured = Measured(relation, row_hook(relation.columns, "an aggregate per person"), reading)
    hook = _per_unit_hook(measured, relation.columns)
    having = select.args.get("having")
    met = condition(having.this, hook) if having is not None else None
    units = tuple(c for c in relation.columns if isinstance(c.meaning, Unit))
    draft = replace(relation, columns=units)
    listed = projected(select, draft, hook, reading, always=True)
    rows = PerUnit(relation.rows, measured.fields)
    return _rebased(listed, rows if met is None else Where(rows, met))


def _rebased(listed: Relation, rows: PerUnit | Where) -> Private:
    """Return a projection with other rows below it; one row is left of each unit."""
    if not isinstance(listed, Private) or not isinstance(listed.rows, Derive):
        raise TypeError("the columns of an inner query per unit are computed ones")
    return replace(listed, rows=Derive(rows, listed.rows.fields), most=1)


def _named_key(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return what a position or an alias in GROUP BY stands for."""
    if isinstance(key, exp.Literal) and not key.is_string and str(key.this).isdigit():
        place = int(str(key.this)[:6])
        if 1 <= place <= len(select.expressions):
            return _plain(select.expressions[place - 1])
    if isinstance(key, exp.Column) and not key.table:
        for item in select.expressions:
            if isinstance(item, exp.Alias) and item.alias.casefold() == key.name.casefold():
                return _plain(item)
    return key


def _plain(item: exp.Expr) -> exp.Expr:
    inside: exp.Expr = item.this if isinstance(item, exp.Alias) else item
    return inside


def _is_unit(node: exp.Expr, columns: Columns) -> bool:
    node = node.unnest()
    if not isinstance(node, exp.Column):
        return False
    meaning = find(columns, node).meaning
    return isinstance(meaning, Unit) and not meaning.maybe


def _per_unit_hook(measured: Measured, columns: Columns) -> Hook:
    def hook(node: exp.Expr) -> Scalar | None:
        if isinstance(node, exp.Window):
            raise refusal("window", node, "a window cannot stand beside GROUP BY", hint=_HINT)
        if is_aggregate(node):
            return measured.field(node)
        if isinstance(node, exp.Column):
            named = find(columns, node)
            if isinstance(named.meaning, Unit):
                raise unit_refusal(node, named.name)
            raise refusal(
                "row_level",
                node,
                f"{named.name!r} has many values for one person",
                hint=f"aggregate it, as in MAX({named.name})",
            )
        return None

    return hook


def windows(
    select: exp.Select, relation: Private, reading: Reading, clause: str = "an inner query"
) -> tuple[Private, Hook]:
    """Return the rows with the windows that a SELECT uses, and what names mean then."""
    plain = row_hook(relation.columns, clause)
    measured = Measured(relation, plain, reading)
    parts = [*select.expressions]
    parts += [select.args[name] for name in ("group", "having", "order") if select.args.get(name)]
    found = {
        id(node): measured.field(_checked(node, relation.columns))
        for part in parts
        for node in part.walk()
        if isinstance(node, exp.Window)
    }

    def hook(node: exp.Expr) -> Scalar | None:
        return found[id(node)] if id(node) in found else plain(node)

    if not found:
        return relation, plain
    return replace(relation, rows=Window(relation.rows, measured.fields)), hook


def _checked(node: exp.Window, columns: Columns) -> exp.Expr:
    """Return the aggregate of a window over the rows of one unit."""
    partition = node.args.get("partition_by") or []
    plain = str(node.args.get("over") or "").upper() == "OVER"
    if not plain or len(partition) != 1 or not _is_unit(partition[0], columns):
        raise refusal(
            "window",
            node,
            "a window must be over the rows of one person",
            why="over more rows, one person would change the numbers of others",
            hint="write OVER (PARTITION BY unit), with the unit column of the table",
        )
    inside: exp.Expr = node.this
    if not is_aggregate(inside):
        raise refusal("window", node, "only COUNT, SUM, AVG, MIN and MAX have a window", hint=_HINT)
    return inside


def _measure(node: exp.Expr, hook: Hook, columns: Columns) -> tuple[UnitMeasure, Type]:
    aggregate = unwrapped(node, hook)
    function = aggregate.function
    if isinstance(function, exp.CountIf) or (
        isinstance(function, exp.Count) and not isinstance(function.this, exp.Distinct)
    ):
        return UnitMeasure(UnitKind.COUNT, counted(aggregate, hook, columns)), Type.INTEGER
    kind = _KINDS.get(type(function))
    if kind is None:
        raise refusal("inner_query", node, "this is not computed per person", hint=_HINT)
    if kind in (UnitKind.MIN, UnitKind.MAX):
        value = argument(aggregate, function.this, hook)
        if value.type is Type.BOOLEAN:
            value = number(aggregate, function.this, hook)
        return UnitMeasure(kind, value, range_of(value)), value.type
    value, range_ = bounded(number(aggregate, function.this, hook), function.this)
    result = value.type if kind is UnitKind.SUM else Type.REAL
    return UnitMeasure(kind, value, range_), result


def _range(measure: UnitMeasure, most: int | None) -> Range | None:
    """Return where the numbers of units are expected to lie, given how many rows one has."""
    if measure.kind is UnitKind.COUNT:
        fewest = Fraction(1 if measure.argument is None else 0)
        return None if most is None else Range(fewest, Fraction(max(most, 1)))
    if measure.kind is not UnitKind.SUM or measure.range is None:
        return measure.range
    if most is None:
        return None
    low, high = measure.range.low, measure.range.high
    return Range(min(low, low * most), max(high, high * most))
