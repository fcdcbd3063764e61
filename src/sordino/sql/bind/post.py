# SPDX-License-Identifier: Apache-2.0
"""SELECT, HAVING, ORDER BY and LIMIT: what becomes of keys and noisy numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from sordino.errors import QueryError
from sordino.query.aggregates import AGGREGATES
from sordino.query.tree import (
    Call,
    Field,
    Key,
    KeyRef,
    Literal,
    MeasureRef,
    Ordered,
    Output,
    Post,
    PostCall,
    PostScalar,
    Scalar,
)
from sordino.sql.bind import scalars
from sordino.sql.bind.measures import Measures
from sordino.sql.bind.scalars import Hook, bind, condition
from sordino.sql.bind.scope import Columns, Unit, aggregates, find, is_aggregate, unit_refusal
from sordino.sql.refusals import refusal

LONGEST = 10_000  # rows that LIMIT leaves at most

_KEY = "k"
_MEASURE = "m"


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
    while isinstance(node, exp.Paren):
        node = node.this
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
        found = _key(node, selected)
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


def _key(node: exp.Expr, selected: Selected) -> Scalar | None:
    """Return the key that an expression equals, if it does."""
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
    node = part.this
    while isinstance(node, exp.Paren):
        node = node.this
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
    if any(lists & _measures(scalar) for scalar in others):
        raise refusal(
            "type", None, "TOP gives a list, and can only be a column by itself", hint="use MODE"
        )


def _measures(scalar: PostScalar) -> set[int]:
    match scalar:
        case MeasureRef(index=index):
            return {index}
        case PostCall(arguments=arguments):
            return {index for argument in arguments for index in _measures(argument)}
        case KeyRef() | Literal():
            return set()
