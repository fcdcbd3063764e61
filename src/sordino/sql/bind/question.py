# SPDX-License-Identifier: Apache-2.0
"""The question itself: keys, measures, and what becomes of the noisy numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from sordino.errors import QueryError
from sordino.query.aggregates import AGGREGATES
from sordino.query.tree import (
    Bins,
    Call,
    Field,
    Key,
    KeyRef,
    Kind,
    Literal,
    Measure,
    MeasureRef,
    Ordered,
    Output,
    Post,
    PostCall,
    PostScalar,
    Query,
    Scalar,
    measures_in,
)
from sordino.query.types import Type
from sordino.sql.bind import rows, scalars
from sordino.sql.bind.measures import Measures, bounded, number, unwrapped
from sordino.sql.bind.scalars import Hook, bind, condition
from sordino.sql.bind.scope import (
    Columns,
    Private,
    Reading,
    Unit,
    aggregates,
    find,
    is_aggregate,
    is_reached,
    unit_refusal,
)
from sordino.sql.domains import narrowed
from sordino.sql.refusals import refusal

BINS = 10_000
LONGEST = 10_000  # rows that LIMIT leaves at most

_KEY = "k"
_MEASURE = "m"


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
    bins = scalars.whole(many, 1, BINS, code="histogram", what="the number of bins")
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


GROUPS = 1_000_000  # that an answer with public keys has at most


@dataclass(frozen=True, slots=True)
class _Item:
    """An entry of SELECT: its expression and the name it was given, if any."""

    node: exp.Expr
    alias: str


def question(select: exp.Select, reading: Reading, sql: str) -> Query:
    """Return the question that a checked SELECT asks."""
    names, own = rows.defined(select, {})
    relation = rows.source(select, names, reading)
    rows.check_unused(own, reading)
    if not isinstance(relation, Private):
        raise refusal(
            "public_only",
            select.args["from_"],
            "this question is about public tables alone",
            hint="read them directly; there is nothing to protect",
        )
    relation, hook = rows.windows(select, relation, reading, "this place")
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
        place = scalars.whole(node, 1, len(items), code="position", what="a position")
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


# SELECT, HAVING, ORDER BY and LIMIT: what becomes of keys and noisy numbers. ---------------------


@dataclass(frozen=True, slots=True)
class Selected:
    """What the clauses after GROUP BY can refer to."""

    items: tuple[tuple[exp.Expr, str], ...]  # of SELECT: expression and name
    keys: tuple[Key, ...]
    measures: Measures
    hook: Hook  # what names mean in a row
    columns: Columns


def post(select: exp.Select, selected: Selected) -> Post:
    """Return what SELECT, HAVING, ORDER BY and LIMIT do with the noisy numbers."""
    hook = _post_hook(selected)
    scalars = [bind(node, hook) for node, _ in selected.items]
    outputs = tuple(
        Output(title, _released(scalar))
        for title, scalar in zip(titles(selected.items), scalars, strict=True)
    )
    having = select.args.get("having")
    order = select.args.get("order")
    met = condition(having.this, _post_hook(selected, aliases=True)) if having else None
    result = Post(
        outputs=outputs,
        having=None if met is None else _released(met),
        order=tuple(
            _ordered(part, selected, outputs) for part in (order.expressions if order else [])
        ),
        limit=limit(select),
    )
    _refuse_lists(result, selected.measures)
    return result


def limit(select: exp.Select) -> int | None:
    """Return how many rows LIMIT leaves, or None."""
    node = select.args.get("limit")
    if node is None:
        return None
    return scalars.whole(node.args.get("expression"), 1, LONGEST, code="limit", what="LIMIT")


def titles(items: Iterable[tuple[exp.Expr, str]]) -> tuple[str, ...]:
    """Return a name for each column of the answer: the given one, or its text; each once."""
    return unique(alias or text_of(node) for node, alias in items)


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return names that differ; one that comes again has a number.

    >>> unique(["n", "n", "x"])
    ('n', 'n_2', 'x')
    """
    given: list[str] = []
    for name in names:
        title, count = name, 1
        while title in given:
            count += 1
            title = f"{name}_{count}"
        given.append(title)
    return tuple(given)


def text_of(node: exp.Expr) -> str:
    """Return the short text of an expression, which names its column in the answer."""
    written = str(node.meta.get("text", ""))
    node = node.unnest()
    if isinstance(node, exp.Column):
        return str(node.name)
    return (written or node.sql(dialect="duckdb", comments=False))[:60]


def _post_hook(selected: Selected, *, aliases: bool = False) -> Hook:
    """Return what names mean after GROUP BY: keys, aggregates, and nothing else of a row.

    Keys and measures stand in as fields until the whole expression is typed.
    """

    def hook(node: exp.Expr) -> Scalar | None:
        if is_aggregate(node):
            ref = selected.measures.ref(node)
            return Field(f"{_MEASURE}{ref.index}", ref.type, "")
        if not _may_be_key(node):
            return None
        found = _equal_key(node, selected)
        if found is not None:
            return found
        if isinstance(node, exp.Column | exp.Window):
            meant = _alias(node, selected) if aliases else None
            if meant is not None:
                return bind(meant, _post_hook(selected))
            raise _row_level(node, selected, aliases=aliases)
        return None

    return hook


def _may_be_key(node: exp.Expr) -> bool:
    """Tell whether a node looks at a row, and at no aggregate outside of windows."""
    return node.find(exp.Column) is not None and not aggregates(node)


def _equal_key(node: exp.Expr, selected: Selected) -> Scalar | None:
    """Return the key that an expression equals, if it does."""
    if not all(is_reached(selected.columns, column) for column in node.find_all(exp.Column)):
        return None  # such as a name that SELECT gives, which no key has in it
    try:
        scalar = bind(node, selected.hook)
    except QueryError:
        return None
    for index, key in enumerate(selected.keys):
        if key.scalar == scalar:
            return Field(f"{_KEY}{index}", key.type, "")
    return None


def _alias(node: exp.Expr, selected: Selected) -> exp.Expr | None:
    if isinstance(node, exp.Column) and not node.table and not isinstance(node.this, exp.Star):
        for meant, alias in selected.items:
            if alias and alias.casefold() == node.name.casefold():
                return meant
    return None


def _row_level(node: exp.Expr, selected: Selected, *, aliases: bool) -> QueryError:
    name = "this"
    if isinstance(node, exp.Column):
        given = [alias for _, alias in selected.items if alias] if aliases else []
        named = find(selected.columns, node, given)
        if isinstance(named.meaning, Unit):
            return unit_refusal(node, named.name)
        name = named.name
    return refusal(
        "row_level",
        node,
        f"{name} is neither grouped by nor inside an aggregate",
        why="rows themselves are never shown",
        hint=f"add {name} to GROUP BY, or aggregate it, as in AVG({name})",
    )


def _released(scalar: Scalar) -> PostScalar:
    """Return an expression over rows' stand-ins as one over keys and noisy numbers."""
    match scalar:
        case Literal():
            return scalar
        case Field(name=name, type=kind):
            index = int(name[1:])
            return MeasureRef(index, kind) if name[0] == _MEASURE else KeyRef(index, kind)
        case Call(operation=operation, arguments=arguments, type=kind):
            return PostCall(operation, tuple(map(_released, arguments)), kind)


def _ordered(part: exp.Expr, selected: Selected, outputs: tuple[Output, ...]) -> Ordered:
    descending = bool(part.args.get("desc"))
    node = part.this.unnest()
    if isinstance(node, exp.Literal):
        place = scalars.whole(node, 1, len(outputs), code="position", what="a position")
        return Ordered(outputs[place - 1].scalar, descending)
    if isinstance(node, exp.Column) and not node.table:
        for (_, alias), output in zip(selected.items, outputs, strict=True):
            if alias and alias.casefold() == node.name.casefold():
                return Ordered(output.scalar, descending)
    hook = _post_hook(selected, aliases=True)
    return Ordered(_released(bind(node, hook)), descending)


def _refuse_lists(post: Post, measures: Measures) -> None:
    """Refuse TOP anywhere but as a column by itself: it is a list, not a value."""
    lists = {i for i, (measure, _) in enumerate(measures.found) if AGGREGATES[measure.kind].lists}
    inside = [output.scalar for output in post.outputs if isinstance(output.scalar, PostCall)]
    others = [*inside, *(part.scalar for part in post.order)]
    others += [post.having] if post.having is not None else []
    if any(lists & measures_in(scalar) for scalar in others):
        raise refusal(
            "type", None, "TOP gives a list, and can only be a column by itself", hint="use MODE"
        )
