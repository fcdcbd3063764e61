# SPDX-License-Identifier: Apache-2.0
"""Which SQL is looked at at all: a list of syntax nodes, and for each the arguments it may have.

A node is allowed by its exact class, and only if every argument that says anything is on the list
too; POSITIONAL and ASOF joins, for example, differ from others by an argument alone. What a node
that passes means is decided later, by the binder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from sqlglot import exp

from sordino.errors import QueryError, Span
from sordino.query.aggregates import AGGREGATES, FUNCTIONS
from sordino.query.operations import OPERATIONS
from sordino.sql.refusals import refusal, span_of
from sordino.sql.tokens import Words

DEEPEST = 60
NODES = 2_000

NodeType: TypeAlias = "type[exp.Expr]"

# Functions that the parser has no node for.
_FUNCTIONS = [function for row in OPERATIONS.values() for function in row.sql.functions]
ANONYMOUS = frozenset(f.name for f in (*_FUNCTIONS, *FUNCTIONS) if f.unknown)

_THIS = ("this",)
_PAIR = ("this", "expression")
_MANY = ("this", "expressions")

ALLOWED: dict[NodeType, tuple[str, ...]] = {
    exp.Select: (
        *("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_"),
    ),
    exp.With: ("expressions",),
    exp.CTE: ("this", "alias"),
    exp.Subquery: ("this", "alias"),
    exp.TableAlias: _THIS,
    exp.From: _THIS,
    exp.Table: ("this", "alias"),
    exp.Identifier: ("this", "quoted"),
    exp.Column: ("this", "table"),
    exp.Alias: ("this", "alias"),
    exp.Star: (),
    exp.Join: ("this", "on", "using", "kind", "side"),
    exp.Where: _THIS,
    exp.Having: _THIS,
    exp.Group: ("expressions",),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc"),
    exp.Limit: ("expression",),
    exp.Literal: ("this", "is_string"),
    exp.Boolean: _THIS,
    exp.Null: (),
    exp.Paren: _THIS,
    exp.Between: ("this", "low", "high"),
    exp.Var: _THIS,
    exp.DataType: ("this",),
    exp.Anonymous: _MANY,
    exp.Filter: _PAIR,
    exp.Window: ("this", "partition_by", "over"),
    **{
        getattr(exp, node): arguments
        for nodes in (
            *(row.sql.nodes for row in OPERATIONS.values()),
            *(row.nodes for row in AGGREGATES.values()),
        )
        for node, arguments in nodes.items()
    },
}

_SUBQUERIES = (exp.Exists, exp.Any, exp.All, exp.Select, exp.Subquery)
_FIELDS = ("db", "catalog")

_NOW = "write the moment, as in TIMESTAMP '2024-05-01 12:00:00'"
_NAMED = {"now": _NOW, "get_current_timestamp": _NOW}
_ONE = "rows have no order here; MIN(x) OVER (PARTITION BY unit) and the like look at one person"
_HINTS: dict[NodeType, str] = {
    exp.IntDiv: "write FLOOR(a / b)",
    exp.DPipe: "group by both columns instead of joining their text",
    exp.ApproxDistinct: "use COUNT(DISTINCT x); it is private and needs no sketch",
    exp.ApproxQuantile: "use QUANTILE(x, 0.5)",
    exp.PercentileDisc: "use PERCENTILE_CONT or QUANTILE",
    exp.First: "use MODE(x)",
    exp.AnyValue: "use MODE(x)",
    exp.ArrayAgg: "use TOP(10, x)",
    exp.GroupConcat: "use TOP(10, x)",
    exp.ArgMax: "use MAX(x) or MODE(x)",
    exp.ArgMin: "use MIN(x) or MODE(x)",
    exp.NullSafeEQ: "write x = y OR (x IS NULL AND y IS NULL)",
    exp.NullSafeNEQ: "write x <> y",
    exp.Array: "write one QUANTILE for each share, or IN (...) for a list",
    exp.Mod: "write x - 10 * FLOOR(x / 10)",
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead), _ONE),
    **dict.fromkeys((exp.FirstValue, exp.LastValue), _ONE),
    exp.CurrentDate: "write the day, as in DATE '2024-05-01'",
    exp.CurrentTimestamp: _NOW,
    exp.TimeToStr: "use DATE_TRUNC('month', x), or parts such as year(x)",
}


def check(tree: exp.Select, written: Words) -> None:
    """Refuse a tree that has a node or an argument that is not listed."""
    for node in tree.walk():
        _refuse_subqueries(node)
        if isinstance(node, exp.Window) and type(node.this) not in ALLOWED:
            raise _unlisted(node.this, written)
        if isinstance(node, exp.Select) and not node.expressions:
            raise refusal("syntax", node, "SELECT lists no column", hint="add COUNT(*)")
        allowed = ALLOWED.get(type(node))
        if allowed is None:
            raise _unlisted(node, written)
        for name in _arguments(node):
            if name not in allowed:
                raise _argument(node, name, written)
        if isinstance(node, exp.Anonymous) and _function(node).lower() not in ANONYMOUS:
            raise _unlisted(node, written)


def measure(tree: exp.Expr) -> None:
    """Refuse a tree of too many nodes or levels, without recursion."""
    waiting, count = [(tree, 1)], 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if depth > DEEPEST or count > NODES:
            raise refusal(
                "too_deep",
                node,
                f"the question has more than {DEEPEST} levels or {NODES} parts",
                hint="ask a simpler question; a long OR can be written as IN (...)",
            )
        waiting += [(child, depth + 1) for child in node.iter_expressions()]


def _arguments(node: exp.Expr) -> Iterator[str]:
    """Yield the names of all arguments that say anything."""
    for name, value in node.args.items():
        if value is not None and value is not False and value not in ([], ""):
            yield name


def _refuse_subqueries(node: exp.Expr) -> None:
    """Refuse queries anywhere but in FROM, JOIN and WITH."""
    if type(node) not in _SUBQUERIES or node.parent is None:
        return
    above = type(node.parent)
    if isinstance(node, exp.Select) and above in (exp.Subquery, exp.CTE):
        return
    if isinstance(node, exp.Subquery) and above in (exp.From, exp.Join):
        return
    if isinstance(node, exp.Any | exp.All) and node.find(exp.Select) is None:
        raise refusal("construct", node, "ANY and ALL are not answered", hint="use IN (...)")
    exists = isinstance(node, exp.Exists)
    raise refusal(
        "subquery",
        node,
        "a question inside a condition or a column is not answered",
        why="each row would then depend on the rows of other people",
        hint="join on the unit, as in JOIN (SELECT unit FROM ... GROUP BY unit) AS q USING (unit)"
        if exists
        else "ask for that number first, and write it in its place",
    )


def _membership(node: exp.In) -> QueryError:
    """Return why IN (SELECT ...) is refused, and the join that says the same about people."""
    unit = node.this.name if isinstance(node.this, exp.Column) else "unit"
    hint = "JOIN (SELECT {} FROM ... GROUP BY {}) AS q USING ({})"
    if isinstance(node.parent, exp.Not):
        hint = (
            "LEFT JOIN (SELECT {}, COUNT(*) AS n FROM ... GROUP BY {}) AS q USING ({}) "
            "and WHERE q.n IS NULL"
        )
    return refusal(
        "subquery",
        node,
        "IN (SELECT ...) is not answered",
        why="each row would then depend on the rows of other people",
        hint=f"if {unit} is the unit, {hint.format(unit, unit, unit)}; otherwise list the values",
    )


def _function(node: exp.Expr) -> str:
    return str(node.this) if isinstance(node, exp.Anonymous) else str(node.key)


def _unlisted(node: exp.Expr, written: Words) -> QueryError:
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        node = node.this
    hint = _HINTS.get(type(node), "")
    if isinstance(node, exp.Anonymous):
        hint = _NAMED.get(str(node.this).casefold(), "")
    if isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
        return refusal(
            "parameter", node, "a question has no parameters", hint="write the value in its place"
        )
    if isinstance(node, exp.SetOperation):
        return refusal(
            "inner_query",
            node,
            f"{node.key.upper()} is not answered",
            why="rows of several queries cannot be told apart by person any more",
            hint="ask one question for each part",
        )
    if isinstance(node, exp.Escape):
        return refusal("like", node, "LIKE has no ESCAPE here", hint="use % and _ alone")
    sign = isinstance(node, exp.Connector | exp.Array | exp.Mod)
    if isinstance(node, exp.Anonymous | exp.Func) and not sign:
        return refusal(
            "function",
            node,
            f"the function {_named(node, written)} is not allowed",
            why="only functions that never fail and look at one row are allowed",
            hint=hint or "docs/sql.md lists the functions",
        )
    return refusal(
        "construct",
        node,
        f"{_spaced(type(node).__name__)} is not allowed",
        why="only what is known to keep people apart is allowed",
        hint=hint or "docs/sql.md lists what can be asked",
    )


def _named(node: exp.Expr, written: Words) -> str:
    """Return the name of a function as the analyst wrote it, or else as the parser calls it."""
    if "start" in node.meta:
        return written.text[node.meta["start"] : node.meta["end"] + 1][:40]
    if isinstance(node, exp.Anonymous):
        return str(node.this)[:40]
    return node.sql_name() if isinstance(node, exp.Func) else node.key


_SIGNS = {
    "DPipe": "||",
    "Mod": "%",
    "IntDiv": "//",
    "Pow": "^",
    "Bracket": "[...]",
    "Array": "[...]",
}


def _spaced(name: str) -> str:
    """Return the name of a node as it is read aloud, or as it is written."""
    if name in _SIGNS:
        return _SIGNS[name]
    return "".join(f" {c}" if c.isupper() else c for c in name).strip().upper()


_CODES: dict[tuple[NodeType, str], tuple[str, str, str]] = {
    (exp.Select, "distinct"): (
        "distinct",
        "SELECT DISTINCT is not answered",
        "group by the columns and add COUNT(*)",
    ),
    (exp.Select, "offset"): ("limit", "OFFSET is not answered", "use LIMIT alone"),
    (exp.Select, "qualify"): ("window", "QUALIFY is not answered", "use HAVING"),
    (exp.Select, "windows"): ("window", "WINDOW is not answered", "write OVER (PARTITION BY unit)"),
    (exp.Limit, "offset"): ("limit", "OFFSET is not answered", "use LIMIT alone"),
    (exp.Window, "order"): (
        "window",
        "a window has no order here",
        "write OVER (PARTITION BY unit) alone",
    ),
    (exp.Window, "spec"): (
        "window",
        "a window has no frame here",
        "write OVER (PARTITION BY unit) alone",
    ),
    (exp.Table, "joins"): ("join", "a list of tables is not answered", "use JOIN ... ON"),
    (exp.Column, "db"): ("unknown_column", "a column is table.column here", "leave the rest out"),
    (exp.Group, "all"): ("construct", "GROUP BY ALL is not answered", "list the keys"),
    (exp.With, "recursive"): ("inner_query", "WITH RECURSIVE is not answered", "leave it out"),
    (exp.DataType, "expressions"): ("type", "a type has no parameters here", "write DOUBLE"),
    (exp.Ordered, "nulls_first"): (
        "construct",
        "missing values always come last",
        "leave NULLS FIRST out",
    ),
}


def _argument(node: exp.Expr, name: str, written: Words) -> QueryError:
    if isinstance(node, exp.Join):
        return refusal(
            "join",
            node,
            f"this kind of join is not answered: {node.args.get(name)}",
            why="it would pair rows of different people",
            hint="use JOIN or LEFT JOIN with ON",
        )
    at = _marked(node, name, written)
    if isinstance(node, exp.In) and name == "query":
        return _membership(node)
    if isinstance(node, exp.Table) and name == "db":
        return refusal(
            "unknown_table", node, "a table has one name here", hint=f"write {node.name} alone"
        )
    found = _CODES.get((type(node), name))
    if found is not None:
        code, message, hint = found
        return refusal(code, at, message, hint=hint)
    part = name.strip("_").replace("_", " ")
    return refusal(
        "construct",
        at,
        f"{_spaced(type(node).__name__)} with {part} is not allowed",
        why="only what is known to keep people apart is allowed",
        hint="docs/sql.md lists what can be asked",
    )


# The word that an argument is written with, where the argument itself says no place.
_WORDS = {
    "distinct": "distinct",
    "offset": "offset",
    "qualify": "qualify",
    "windows": "window",
    "locks": "for",
    "sample": "sample",
    "all": "all",
    "nulls_first": "nulls",
    "recursive": "recursive",
    "materialized": "materialized",
    "symmetric": "symmetric",
    "ordinality": "ordinality",
}


def _marked(node: exp.Expr, name: str, written: Words) -> Span | None:
    """Return where an argument stands: from its word, if it has one, to its own end."""
    known = span_of(node)
    value = node.args.get(name)
    inside = isinstance(value, exp.Expr) and any("start" in part.meta for part in value.walk())
    own = span_of(value) if inside and isinstance(value, exp.Expr) else None
    before = known[0] if known is not None and not isinstance(node, exp.Select | exp.With) else 0
    token = written.find(_WORDS[name], before) if name in _WORDS else None
    if token is None:
        return known
    return token.start, max(token.end + 1, own[1] if own is not None else 0)


_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def check_chains(tree: exp.Select) -> None:
    """Refuse a comparison that is compared as it is, as in ``a = b = c`` and ``a < b < c``."""
    for node in tree.find_all(*_COMPARISONS):
        if isinstance(node.left, _COMPARISONS) or isinstance(node.right, _COMPARISONS):
            raise refusal(
                "construct",
                node,
                "comparisons follow each other without parentheses",
                why="they could be meant in several ways",
                hint="write (a = b) = c, or a < b AND b < c",
            )
