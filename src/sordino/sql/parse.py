# SPDX-License-Identifier: Apache-2.0
"""SQL text becomes a question, or is refused with a reason that depends on public things alone.

The text is parsed and then forgotten: no engine ever sees a character of it but in literals, which
travel as parameters. First comes the question itself: keys, measures, and what becomes of the noisy
numbers; rows, scalars and measures are read by their own files in ``bind``.
"""

from __future__ import annotations

import logging
import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from sordino.catalog.model import Catalog
from sordino.errors import QueryError, Span
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
from sordino.sql import whitelist
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
from sordino.sql.domains import PublicValues, narrowed
from sordino.sql.refusals import located, refusal
from sordino.sql.whitelist import Words

BINS = 10_000
MOST_ROWS = 10_000  # that LIMIT leaves

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
    return scalars.whole(node.args.get("expression"), 1, MOST_ROWS, code="limit", what="LIMIT")


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


# From the text to a tree of the parser. -----------------------------------------------------------

LONGEST = 20_000  # bytes

_SPACES = "\t\n\r"
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")

# The parser's own warnings would quote the analyst's text on somebody's screen.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())


def parse(text: str, catalog: Catalog, public: PublicValues | None = None) -> Query:
    """Return the question that a text asks of a catalog.

    ``public`` reads the values of a column of a public table, for columns whose keys are declared
    to be those; without it such columns have no keys.

    Raises:
        QueryError: for every text that is not such a question; no other error is raised.
    """
    try:
        return _parsed(text, catalog, public)
    except QueryError as error:
        raise located(error, text) from None
    except RecursionError:
        deep = refusal(
            "too_deep", None, "the question has too many levels", hint="ask a simpler one"
        )
        raise located(deep, "") from None


def _parsed(text: str, catalog: Catalog, public: PublicValues | None) -> Query:
    _check_text(text)
    written, select = _statement(text, catalog)
    whitelist.measure(select)
    whitelist.place(select, written)
    whitelist.check(select, written)
    whitelist.check_chains(select)
    asked = question(select, Reading(catalog, public), text)
    whitelist.check_complete(select, written)
    return asked


def _check_text(text: str) -> None:
    for place, character in enumerate(text[: LONGEST + 1]):
        odd = unicodedata.category(character) in ("Cc", "Cs") and character not in _SPACES
        if odd or character in _TURNING:
            raise refusal(
                "character",
                (place, place + 1),
                f"the character U+{ord(character):04X} is not allowed",
                hint="remove it",
            )
    if len(text) > LONGEST or len(text.encode()) > LONGEST:
        raise refusal(
            "too_long", (0, 1), f"a question has at most {LONGEST} bytes", hint="ask a shorter one"
        )


def _statement(text: str, catalog: Catalog) -> tuple[Words, exp.Select]:
    written, trees = _trees(text, catalog)
    statements = [part for part in trees if part is not None]
    statements = [part for part in statements if not isinstance(part, exp.Semicolon)]
    if len(statements) != 1:
        message = "there is no question here" if not statements else "ask one question at a time"
        raise refusal("one_statement", None, message, hint="write one SELECT")
    statement = statements[0]
    if type(statement) is not exp.Select:
        raise refusal(
            "not_select",
            None,
            "only SELECT is answered",
            why="a question reads, and is answered with noise",
            hint="write one SELECT, without UNION and the like",
        )
    return written, statement


def _trees(text: str, catalog: Catalog) -> tuple[Words, list[exp.Expr | None]]:
    """Return what the parser makes of a text, and refuse it on any error of the parser."""
    try:
        written = whitelist.words(text)
        _check_numbers(written)
        whitelist.check_calls(written)
        return written, list(sqlglot.parse(text, read="duckdb"))
    except ParseError as error:
        raise refusal(
            "syntax",
            _place(error, text),
            "this is not SQL that can be read",
            hint=_reserved(written, catalog)
            or "check commas, parentheses and quotes near the mark",
        ) from None
    except (RecursionError, QueryError):
        raise
    except Exception as error:  # a parser that fails in its own ways must not show them
        known = isinstance(error, SqlglotError)
        hint = "check quotes and comments" if known else "ask in a simpler way"
        raise refusal("syntax", None, "this is not SQL that can be read", hint=hint) from None


def _reserved(written: Words, catalog: Catalog) -> str:
    """Return a hint if a column is named by a word of SQL, which has to be quoted then."""
    names = {column.name.casefold() for table in catalog.tables for column in table.columns}
    for token in written.tokens:
        if token.text.casefold() in names and token.token_type in whitelist.RESERVED:
            return f'if you mean the column, write "{token.text}" in double quotes'
    return ""


def _check_numbers(written: Words) -> None:
    """Refuse a number that runs into a word, such as 0x1F: readers disagree on what it means."""
    for token, following in pairwise(written.tokens):
        number = token.token_type is sqlglot.TokenType.NUMBER
        if number and following.start == token.end + 1 and following.text[:1].isidentifier():
            raise refusal(
                "literal",
                (token.start, following.end + 1),
                "a number runs into a word",
                hint="write the number in decimal digits",
            )


def _place(error: ParseError, text: str) -> Span | None:
    if not error.errors:
        return None
    first = error.errors[0]
    line, column = first.get("line"), first.get("col")
    word = str(first.get("highlight") or "")
    if not line or not column:
        return None
    start = sum(len(part) + 1 for part in text.split("\n")[: line - 1])
    stop = min(start + column, len(text))
    return (max(0, stop - max(1, len(word))), max(stop, 1))
