# SPDX-License-Identifier: Apache-2.0
"""Which SQL is looked at at all: words that are read as they were written, and listed syntax nodes.

A node is allowed by its exact class, and only if every argument that says anything is on the list
too; POSITIONAL and ASOF joins, for example, differ from others by an argument alone. What a node
that passes means is decided later, by the binder.

The parser forgets how a function was written and where, and of some functions it drops arguments
that it does not know. So the text is held against what was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB

from sordino.errors import QueryError, Span
from sordino.query.aggregates import AGGREGATES, FUNCTIONS
from sordino.query.operations import OPERATIONS
from sordino.sql.refusals import refusal, span_of

_OPEN = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSE = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)

# Words and signs that are syntax: what they say is in the shape of what was read.
_SYNTAX = frozenset(
    TokenType[name]
    for name in (
        *("ALIAS", "ALL", "AND", "ASC", "BETWEEN", "BIGINT", "BOOLEAN", "CASE", "COMMA"),
        *("DATE", "DATETIME", "DCOLON", "DESC", "DISTINCT", "DOT", "DOUBLE", "ELSE", "END"),
        *("FALSE", "FILTER", "FLOAT", "FROM", "GROUP_BY", "HAVING", "ILIKE", "IN"),
        *("INNER", "INT", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "L_PAREN"),
        *("NOT", "NULL", "ON", "OR", "ORDER_BY", "OUTER", "OVER", "PARTITION_BY"),
        *("R_PAREN", "SELECT", "SEMICOLON", "SMALLINT", "STAR", "TEXT", "THEN"),
        *("TIMESTAMP", "TIMESTAMPNTZ", "TINYINT", "TRUE", "USING", "VARCHAR", "WHEN", "WHERE"),
        "WITH",
    )
) | frozenset(
    token.token_type
    for row in OPERATIONS.values()
    for token in sqlglot.tokenize(row.sql.sign, read="duckdb")
)
RESERVED = (
    frozenset(TokenType)
    - {*DuckDB.Parser.ID_VAR_TOKENS, TokenType.VAR}
    - {*(TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)}
)
_PHRASES = (("within", "group"), ("nulls", "last"))
_END_OF_LIST = (
    *(TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING),
    *(TokenType.ORDER_BY, TokenType.LIMIT, TokenType.SEMICOLON),
)

# How many values a function takes, where the parser would not say, or would say it badly.
_FUNCTIONS = [function for row in OPERATIONS.values() for function in row.sql.functions]
_FUNCTIONS += FUNCTIONS
_TAKES = {function.name: function.takes for function in _FUNCTIONS if function.takes}
_WRITE = {function.name: f"write {function.example}" for function in _FUNCTIONS if function.example}
_NUMBERS = ("no value", "one value", "two values", "three values")


@dataclass(frozen=True, slots=True)
class Call:
    """A word with parentheses: its place among the tokens, that of their end, and the values."""

    place: int
    closing: int
    values: int


@dataclass(frozen=True, slots=True)
class Words:
    """The tokens of a text, in order, and the words among them that parentheses follow."""

    text: str
    tokens: Sequence[Token]
    calls: tuple[Call, ...]

    def span(self, first: Token, last: Token | None = None) -> Span:
        """Return where a token stands, or all from one to another."""
        return first.start, (last or first).end + 1

    def find(self, word: str, start: int = 0) -> Token | None:
        """Return the first token after a place that is written so."""
        found = (t for t in self.tokens if t.start >= start and t.text.casefold() == word)
        return next(found, None)

    def parts(self, first: int, last: int, ends: tuple[TokenType, ...] = ()) -> list[str]:
        """Return what stands between the commas of a range of tokens, each with single spaces."""
        parts: list[list[Token]] = [[]]
        depth = 0
        for token in self.tokens[first:last]:
            depth += (token.token_type in _OPEN) - (token.token_type in _CLOSE)
            if depth == 0 and token.token_type in ends:
                break
            if depth == 0 and token.token_type is TokenType.COMMA:
                parts.append([])
            else:
                parts[-1].append(token)
        return [self._joined(part) for part in parts if part]

    def _joined(self, tokens: list[Token]) -> str:
        text = ""
        for index, token in enumerate(tokens):
            gap = " " if index and tokens[index - 1].end + 1 < token.start else ""
            text += gap + self.text[token.start : token.end + 1]
        return " ".join(text.split())


def words(text: str) -> Words:
    """Return the words of a text; raises what the parser raises."""
    tokens = sqlglot.tokenize(text, read="duckdb")
    return Words(text, tokens, tuple(sorted(_calls(tokens), key=lambda call: call.place)))


def _calls(tokens: Sequence[Token]) -> Iterator[Call]:
    """Yield all calls in one pass; those that are never closed are left out."""
    opened: list[tuple[int, int]] = []  # where, and how many commas so far
    for index, token in enumerate(tokens):
        if token.token_type in _OPEN:
            opened.append((index, 0))
        elif token.token_type is TokenType.COMMA and opened:
            opened[-1] = (opened[-1][0], opened[-1][1] + 1)
        elif token.token_type in _CLOSE and opened:
            start, commas = opened.pop()
            if start and token.token_type is TokenType.R_PAREN and _is_word(tokens[start - 1]):
                yield Call(start - 1, index, 0 if index == start + 1 else commas + 1)


def _is_word(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or token.text[:1].isidentifier()


# Before the text is read. ------------------------------------------------------------------------


def check_calls(written: Words) -> None:
    """Refuse a function that has too many or too few values; the parser may drop some silently."""
    for call in written.calls:
        token, following = written.tokens[call.place], written.tokens[call.place + 2]
        takes = _TAKES.get(token.text.casefold())
        distinct = following.token_type is TokenType.DISTINCT
        if takes is not None and call.values not in takes and not distinct:
            wanted = " or ".join(_NUMBERS[number] for number in takes)
            raise refusal(
                "function",
                written.span(token, written.tokens[call.closing]),
                f"{token.text} takes {wanted}, not {call.values}",
                hint=_WRITE.get(token.text.casefold(), f"write {token.text.upper()}(x)"),
            )


# Once it is read. --------------------------------------------------------------------------------


def place(tree: exp.Select, written: Words) -> None:
    """Note in the tree where functions stand that the parser did not place, and what titles say."""
    # The tree is walked once: a walk for each kind of node takes a fifth of the time of parsing.
    all_nodes = list(tree.walk(bfs=True))
    taken = {part.meta["start"] for part in all_nodes if "start" in part.meta}
    for node in reversed(all_nodes):
        if "start" not in node.meta and _is_call(node):
            _place_call(node, written, taken)
    for kind, bare in _BARE.items():
        tokens = [t for t in written.tokens if t.token_type is kind and t.start not in taken]
        nodes = [n for n in all_nodes if isinstance(n, bare) and "start" not in n.meta]
        if len(tokens) == len(nodes):
            for node, token in zip(nodes, tokens, strict=True):
                node.update_positions(token)
    _place_fractions(tree, written, taken)
    _title(tree, written)


_BARE: dict[TokenType, type[exp.Expr]] = {
    kind: node for kind, node in DuckDB.Parser.NO_PAREN_FUNCTIONS.items() if isinstance(node, type)
}


def _is_call(node: exp.Expr) -> bool:
    """Tell whether a node may be written as a word with parentheses."""
    if isinstance(node, exp.Array | exp.Case | exp.Connector | exp.Binary):
        return False
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
        return False
    return isinstance(node, exp.Func)


def _place_call(node: exp.Expr, written: Words, taken: set[int]) -> None:
    """Place a function at the innermost free word with parentheses around all its parts."""
    marks = [part.meta for part in node.walk() if "start" in part.meta]
    if not marks:
        return
    start, end = min(mark["start"] for mark in marks), max(mark["end"] for mark in marks)
    for call in reversed(written.calls):
        token = written.tokens[call.place]
        around = token.start < start and end < written.tokens[call.closing].start
        if not around or token.token_type in (TokenType.IN, TokenType.AND, TokenType.OR):
            continue
        if token.start in taken:
            return
        cast = token.text.casefold() in ("cast", "try_cast")
        if cast is isinstance(node, exp.Cast):
            node.update_positions(token)
            taken.add(token.start)
        return


def _place_fractions(tree: exp.Select, written: Words, taken: set[int]) -> None:
    """Place numbers such as .5, which the parser puts together from a point and the digits."""
    waiting = [n for n in tree.find_all(exp.Literal) if "start" not in n.meta and n.is_number]
    for point, digits in pairwise(written.tokens):
        number = point.token_type is TokenType.DOT and digits.token_type is TokenType.NUMBER
        if not number or digits.start in taken or point.end + 1 != digits.start:
            continue
        node = next((n for n in waiting if str(n.this) == f"0.{digits.text}"), None)
        if node is not None:
            waiting.remove(node)
            node.update_positions(digits)
            node.meta["start"] = point.start


def _title(tree: exp.Select, written: Words) -> None:
    """Give each entry of SELECT the text that it was written with."""
    depth = 0
    for index, token in enumerate(written.tokens):
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSE)
        if depth == 0 and token.token_type is TokenType.SELECT:
            parts = written.parts(index + 1, len(written.tokens), _END_OF_LIST)
            if len(parts) == len(tree.expressions):
                for node, text in zip(tree.expressions, parts, strict=True):
                    node.meta["text"] = text
            return


def check_complete(tree: exp.Select, written: Words) -> None:
    """Refuse a text of which something is not in the tree: it would be passed over in silence."""
    nodes = list(tree.walk())
    spans = [(n.meta["start"], n.meta["end"]) for n in nodes if "start" in n.meta]
    placed = {at for start, end in spans for at in range(start, end + 1)}
    called = {written.tokens[call.place].start for call in written.calls}
    parts = Counter(_part(str(node.this)) for node in nodes if isinstance(node, exp.Var))
    counted = _counts(nodes)
    for index, token in enumerate(written.tokens):
        if token.start in placed:
            continue
        kind = token.token_type
        if kind in counted:
            counted[kind] -= 1
            if counted[kind] < 0:
                raise _passed_over(written, token)
        elif kind in _SYNTAX or token.start in called or _in_phrase(written.tokens, index):
            continue
        else:
            parts[_part(token.text)] -= 1
            if parts[_part(token.text)] < 0:
                raise _passed_over(written, token)


def _part(name: str) -> str:
    """Return the name that a part of a day has among all its names."""
    return str(DuckDB.DATE_PART_MAPPING.get(name.upper(), name.upper()))


def _counts(nodes: Sequence[exp.Expr]) -> dict[TokenType, int]:
    """Return how often words without a place of their own may stand in the text."""
    truths = [bool(node.this) for node in nodes if isinstance(node, exp.Boolean)]
    substrings = [node for node in nodes if isinstance(node, exp.Substring)]
    return {
        TokenType.TRUE: sum(truths),
        TokenType.FALSE: len(truths) - sum(truths),
        TokenType.NULL: sum(isinstance(node, exp.Null) for node in nodes),
        TokenType.STAR: sum(isinstance(node, exp.Mul) for node in nodes),
        TokenType.CASE: sum(isinstance(node, exp.Case) for node in nodes),
        TokenType.FILTER: sum(isinstance(node, exp.Filter) for node in nodes),
        TokenType.OVER: sum(isinstance(node, exp.Window) for node in nodes),
        TokenType.FOR: sum(bool(node.args.get("length")) for node in substrings),
        TokenType.DISTINCT: sum(isinstance(node, exp.Distinct) for node in nodes),
    }


def _in_phrase(tokens: Sequence[Token], index: int) -> bool:
    """Tell whether a word belongs to a phrase of syntax, such as NULLS LAST."""
    around = [token.text.casefold() for token in tokens[max(0, index - 1) : index + 2]]
    word = tokens[index].text.casefold()
    return any(word in pair and pair in pairwise(around) for pair in _PHRASES)


def _passed_over(written: Words, token: Token) -> QueryError:
    return refusal(
        "construct",
        written.span(token),
        f"{written.text[token.start : token.end + 1][:40]} would be passed over here",
        why="an answer must be to the whole question",
        hint="leave it out, or write it in another way; docs/sql.md lists what can be asked",
    )


# Syntax nodes. ------------------------------------------------------------------------------------

DEEPEST = 60
NODES = 2_000

NodeType: TypeAlias = "type[exp.Expr]"

# Functions that the parser has no node for.
ANONYMOUS = frozenset(function.name for function in _FUNCTIONS if function.unknown)

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


_BY_UNIT = "write OVER (PARTITION BY unit) alone"
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
    (exp.Window, "order"): ("window", "a window has no order here", _BY_UNIT),
    (exp.Window, "spec"): ("window", "a window has no frame here", _BY_UNIT),
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
