# SPDX-License-Identifier: Apache-2.0
"""The words of a question as they were written: where each stands, and that none was passed over.

The parser forgets how a function was written and where, and of some functions it drops arguments
that it does not know. Here the text is held against what was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB

from sordino.errors import QueryError, Span
from sordino.query.aggregates import FUNCTIONS
from sordino.query.operations import OPERATIONS
from sordino.sql.refusals import refusal

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
    taken = {part.meta["start"] for part in tree.walk() if "start" in part.meta}
    for node in reversed(list(tree.walk(bfs=True))):
        if "start" not in node.meta and _is_call(node):
            _place_call(node, written, taken)
    for kind, bare in _BARE.items():
        tokens = [t for t in written.tokens if t.token_type is kind and t.start not in taken]
        nodes: list[exp.Expr] = [n for n in tree.find_all(bare) if "start" not in n.meta]
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
    spans = [(n.meta["start"], n.meta["end"]) for n in tree.walk() if "start" in n.meta]
    placed = {at for start, end in spans for at in range(start, end + 1)}
    called = {written.tokens[call.place].start for call in written.calls}
    parts = Counter(_part(str(node.this)) for node in tree.find_all(exp.Var))
    counted = _counts(tree)
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


def _counts(tree: exp.Select) -> dict[TokenType, int]:
    """Return how often words without a place of their own may stand in the text."""
    truths = [bool(node.this) for node in tree.find_all(exp.Boolean)]
    return {
        TokenType.TRUE: sum(truths),
        TokenType.FALSE: len(truths) - sum(truths),
        TokenType.NULL: sum(1 for _ in tree.find_all(exp.Null)),
        TokenType.STAR: sum(1 for _ in tree.find_all(exp.Mul)),
        TokenType.CASE: sum(1 for _ in tree.find_all(exp.Case)),
        TokenType.FILTER: sum(1 for _ in tree.find_all(exp.Filter)),
        TokenType.OVER: sum(1 for _ in tree.find_all(exp.Window)),
        TokenType.FOR: sum(1 for node in tree.find_all(exp.Substring) if node.args.get("length")),
        TokenType.DISTINCT: sum(1 for _ in tree.find_all(exp.Distinct)),
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
