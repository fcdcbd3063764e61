# SPDX-License-Identifier: Apache-2.0
"""What names mean inside a question: the columns in reach, and which of them is the unit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlglot import exp

from sordino.catalog.model import Catalog, Table
from sordino.errors import QueryError
from sordino.query.aggregates import FUNCTIONS
from sordino.query.operations import range_of
from sordino.query.tree import Derive, Field, Literal, Rows, Scalar
from sordino.query.types import Range, Type, Value
from sordino.sql.bind.scalars import Hook, bind
from sordino.sql.domains import Domain, Lists, PublicValues, TooMuchWork
from sordino.sql.refusals import as_sql, nearest, refusal

TABLES = 32  # that a question reads at most, each time it reads them


@dataclass(frozen=True, slots=True)
class Unit:
    """Stands in for the column that says whom a row belongs to; it is never a value.

    ``maybe`` says that it comes from the side of a LEFT JOIN that may have no row.
    """

    maybe: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """A column in reach: the name of its table or alias, its own name, and what it means.

    A ``merged`` column stands behind another one of a USING clause, and has to be named in full.
    """

    source: str
    name: str
    meaning: Scalar | Unit
    merged: bool = False


Columns: TypeAlias = "tuple[Named, ...]"


@dataclass(frozen=True, slots=True)
class Private:
    """Rows that belong to units. ``most`` is how many of them the owner expects one to have."""

    rows: Rows
    columns: Columns
    people: str
    each_row: bool
    most: int | None


@dataclass(frozen=True, slots=True)
class Public:
    """A public table, not read yet: its columns, what is computed from them, and conditions."""

    table: Table
    fields: tuple[tuple[Field, str], ...]
    columns: Columns
    conditions: tuple[Scalar, ...] = ()


Relation: TypeAlias = "Private | Public"


@dataclass(frozen=True, slots=True)
class Inner:
    """A query that WITH gives a name, and the names that were known where it stands."""

    select: exp.Select
    known: Mapping[str, Inner]


@dataclass(slots=True)
class Reading:
    """What one reading of a question shares: the catalog, and how many names were given."""

    catalog: Catalog
    public: PublicValues | None
    fields: int = 0
    tables: int = 0
    joins: int = 0
    unit_joins: int = 0  # of private rows with private rows
    used: set[int] = field(default_factory=set)  # queries of WITH that were read, by id
    lists: Lists = field(default_factory=Lists)

    def fresh(
        self,
        kind: Type,
        title: str,
        range_: Range | None = None,
        domain: Domain = None,
        other: Value = None,
    ) -> Field:
        """Return a new field; its name has no text of the analyst in it."""
        self.fields += 1
        return Field(f"f{self.fields - 1}", kind, title, range_, domain, other)

    def domain(self, scalar: Scalar, node: exp.Expr) -> Domain:
        """Return the public list of values of a scalar, or None."""
        try:
            return self.lists.of(scalar)
        except TooMuchWork:
            raise refusal(
                "too_deep",
                node,
                "the public values of so many expressions take too long to find",
                hint="ask for fewer keys and candidates at a time",
            ) from None

    def opened(self, node: exp.Expr) -> None:
        """Count a table that is read, and refuse a question that reads too many."""
        self.tables += 1
        if self.tables > TABLES:
            raise refusal(
                "too_deep",
                node,
                f"the question reads more than {TABLES} tables",
                hint="use each WITH query fewer times",
            )


def find(columns: Columns, node: exp.Column, others: Sequence[str] = ()) -> Named:
    """Return the column that a name means; names are the same in any case of letters.

    ``others`` are further names that would be understood here, for the hint.
    """
    if isinstance(node.this, exp.Star):
        raise refusal("star", node, "* names no single column", hint="name one")
    found = _named(columns, node)
    if len(found) == 1:
        return found[0]
    if found:
        sources = sorted({f"{column.source}.{column.name}" for column in found})
        hint = f"write {' or '.join(sources)}"
        if len(sources) == 1:
            hint = "give one of them another name with AS in the inner query"
        raise refusal("ambiguous", node, f"{node.name!r} means several columns", hint=hint)
    raise _unknown(columns, node, others)


def is_reached(columns: Columns, node: exp.Column) -> bool:
    """Tell whether a name means exactly one column, without a word about why not."""
    return not isinstance(node.this, exp.Star) and len(_named(columns, node)) == 1


def _named(columns: Columns, node: exp.Column) -> list[Named]:
    name, source = node.name.casefold(), node.table.casefold()
    return [
        column
        for column in columns
        if column.name.casefold() == name
        and (column.source.casefold() == source if source else not column.merged)
    ]


def _unknown(columns: Columns, node: exp.Column, others: Sequence[str]) -> QueryError:
    sources = list(dict.fromkeys(column.source for column in columns))
    wanted = node.table.casefold()
    if wanted and wanted not in {source.casefold() for source in sources}:
        return refusal(
            "unknown_table",
            node,
            f"there is no table {node.table!r} here",
            hint=nearest(node.table, sources),
        )
    within = [c for c in columns if not wanted or c.source.casefold() == wanted]
    where = node.table or (sources[0] if len(sources) == 1 else "")
    message = f"there is no column {node.name!r}" + (f" in {where}" if where else "")
    names = [*others, *(column.name for column in within)]
    hint = _quoted(node, names) or nearest(node.name, names, _text(node))
    return refusal("unknown_column", node, message, hint=hint)


def _quoted(node: exp.Column, names: Sequence[str]) -> str:
    """Return a hint for the beginning of a name that has to be quoted as a whole, or nothing."""
    for name in names:
        first = re.match(r"\w*", name)
        if name.isidentifier() or first is None or not first[0]:
            continue
        if first[0].casefold() == node.name.casefold():
            return f"write {as_sql(name)} in double quotes"
    return ""


def _text(node: exp.Column) -> str:
    """Return a hint for text without quotes or in double ones, or nothing."""
    if not node.table and _beside_text(node):
        return f"text stands in single quotes, as in '{node.name[:40]}'"
    return ""


def _beside_text(node: exp.Column) -> bool:
    """Tell whether a name stands where text would be compared with a column."""
    above = node.parent
    if isinstance(above, exp.In):
        return above.this is not node
    if isinstance(above, exp.Like | exp.ILike):
        return above.expression is node
    if not isinstance(above, exp.EQ | exp.NEQ):
        return False
    return isinstance(above.left, exp.Column) and isinstance(above.right, exp.Column)


def named_anew(columns: Columns, source: str) -> Columns:
    """Return the same columns under the name of another table."""
    return tuple(replace(column, source=source, merged=False) for column in columns)


def unit_refusal(node: exp.Expr, name: str) -> QueryError:
    """Return why the unit cannot stand where a value is needed."""
    return refusal(
        "unit_column",
        node,
        f"{name!r} says who a row belongs to and cannot be used as a value",
        why="an answer for one value of it would be an answer about one person",
        hint=f"count people with COUNT(DISTINCT {name}), or use it to join or to GROUP BY inside",
    )


_UNKNOWN = frozenset(function.name for function in FUNCTIONS if function.unknown)
AGGREGATES = (exp.AggFunc, exp.CountIf, exp.WithinGroup, exp.Filter, exp.Mode, exp.Quantile)


def is_aggregate(node: exp.Expr) -> bool:
    """Tell whether a node is computed from many rows."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).casefold() in _UNKNOWN
    return isinstance(node, AGGREGATES)


def aggregates(node: exp.Expr) -> bool:
    """Tell whether an expression is computed from many rows, other than by a window."""
    parts = node.walk(prune=lambda part: isinstance(part, exp.Window))
    return any(is_aggregate(part) for part in parts)


def is_unit(node: exp.Expr, columns: Columns) -> bool:
    """Tell whether a node names the unit; refuse one that a LEFT JOIN may leave out."""
    node = node.unnest()
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return False
    meaning = find(columns, node).meaning
    if not isinstance(meaning, Unit):
        return False
    if meaning.maybe:
        raise refusal(
            "unit_column",
            node,
            "this unit comes from a LEFT JOIN and may be missing",
            hint="count the unit of the first table, or use JOIN",
        )
    return True


def row_hook(columns: Columns, clause: str) -> Hook:
    """Return what names mean in a clause that looks at one row at a time."""

    def hook(node: exp.Expr) -> Scalar | None:
        if isinstance(node, exp.Column):
            named = find(columns, node)
            if isinstance(named.meaning, Unit):
                raise unit_refusal(node, named.name)
            return named.meaning
        if isinstance(node, exp.EQ) and same_unit(node, columns):
            return Literal(True, Type.BOOLEAN)
        if isinstance(node, exp.Window):
            raise refusal(
                "aggregate_place",
                node,
                f"a window cannot stand in {clause}",
                hint="compute it in an inner query, and compare its column",
            )
        if is_aggregate(node):
            raise refusal(
                "aggregate_place",
                node,
                f"an aggregate cannot stand in {clause}",
                why="whether a row counts would depend on the rows of other people",
                hint="use HAVING, which looks at noisy numbers",
            )
        return None

    return hook


def same_unit(node: exp.EQ, columns: Columns) -> bool:
    """Tell whether an equality compares the unit with itself, which holds in every row."""
    sides = [side.unnest() for side in (node.left, node.right)]
    if not all(isinstance(side, exp.Column) and not side.is_star for side in sides):
        return False
    meanings = [find(columns, side).meaning for side in sides if isinstance(side, exp.Column)]
    return all(isinstance(meaning, Unit) and not meaning.maybe for meaning in meanings)


def projected(
    select: exp.Select,
    relation: Relation,
    hook: Hook,
    reading: Reading,
    *,
    always: bool = False,
) -> Relation:
    """Return the relation with the columns that an inner SELECT lists; ``always`` as new fields."""
    columns: list[Named] = []
    for item in select.expressions:
        for column in _listed(item, relation.columns, hook):
            unit = isinstance(column.meaning, Unit)
            if not (unit and any(_same(column, other) for other in columns)):
                columns.append(column)
    plain = not always and all(isinstance(c.meaning, Field | Unit) for c in columns)
    if plain:
        return replace(relation, columns=tuple(columns))
    if isinstance(relation, Public):
        raise refusal(
            "inner_query",
            select,
            "an inner query over a public table lists its columns as they are",
            hint="compute after the join with the private table",
        )
    fields: list[tuple[Field, Scalar]] = []
    renamed: list[Named] = []
    for column in columns:
        meaning = column.meaning
        if not isinstance(meaning, Unit):
            new = derived(meaning, column.name, reading)
            fields.append((new, meaning))
            meaning = new
        renamed.append(replace(column, meaning=meaning))
    return replace(relation, rows=Derive(relation.rows, tuple(fields)), columns=tuple(renamed))


def derived(scalar: Scalar, title: str, reading: Reading) -> Field:
    """Return a new field for a scalar, with what is publicly known about it."""
    other = scalar.other if isinstance(scalar, Field) else None
    domain = scalar.domain if isinstance(scalar, Field) else None
    new = reading.fresh(scalar.type, title, range_of(scalar), domain, other)
    reading.lists.meanings[new.name] = scalar
    return new


def _listed(item: exp.Expr, columns: Columns, hook: Hook) -> list[Named]:
    """Return the columns that one entry of an inner SELECT stands for."""
    if isinstance(item, exp.Star):
        return [replace(c, source="") for c in columns if not c.merged]
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        wanted = item.table.casefold()
        found = [replace(c, source="") for c in columns if c.source.casefold() == wanted]
        if not found:
            raise refusal(
                "unknown_table", item, f"there is no table {item.table!r} here", hint="use *"
            )
        return found
    node = item.this if isinstance(item, exp.Alias) else item
    node = node.unnest()
    name = item.alias or item.output_name or item.sql(dialect="duckdb")
    if isinstance(node, exp.Column):
        named = find(columns, node)
        if isinstance(named.meaning, Unit):
            return [Named("", item.alias or named.name, named.meaning)]
    return [Named("", name, bind(node, hook))]


def _same(column: Named, other: Named) -> bool:
    """Tell whether another column is the unit under the same name."""
    return isinstance(other.meaning, Unit) and column.name.casefold() == other.name.casefold()
