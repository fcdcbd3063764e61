# SPDX-License-Identifier: Apache-2.0
"""Why a question is refused: the closed list of codes, and where in the text the reason stands."""

from __future__ import annotations

from difflib import get_close_matches

from sqlglot import exp

from sordino.errors import MissingBound, QueryError, Span, SyntaxFault, UnknownName, Unsupported

CODES: dict[str, type[QueryError]] = {
    "aggregate_place": Unsupported,
    "ambiguous": UnknownName,
    "character": SyntaxFault,
    "construct": Unsupported,
    "distinct": Unsupported,
    "function": Unsupported,
    "group_type": Unsupported,
    "histogram": Unsupported,
    "in_list": Unsupported,
    "inner_query": Unsupported,
    "join": Unsupported,
    "like": Unsupported,
    "limit": Unsupported,
    "literal": Unsupported,
    "nested_aggregate": Unsupported,
    "no_bounds": MissingBound,
    "no_from": Unsupported,
    "no_groups": Unsupported,
    "no_keys": MissingBound,
    "no_measure": Unsupported,
    "not_select": Unsupported,
    "one_statement": SyntaxFault,
    "parameter": Unsupported,
    "position": Unsupported,
    "public_only": Unsupported,
    "row_level": Unsupported,
    "star": Unsupported,
    "subquery": Unsupported,
    "syntax": SyntaxFault,
    "too_deep": SyntaxFault,
    "too_long": SyntaxFault,
    "too_many_groups": Unsupported,
    "type": Unsupported,
    "unit_column": Unsupported,
    "unknown_column": UnknownName,
    "unknown_table": UnknownName,
    "window": Unsupported,
}


def refusal(
    code: str,
    node: exp.Expr | Span | None,
    message: str,
    *,
    why: str = "",
    hint: str = "",
) -> QueryError:
    """Return the error of a code; the span is that of the node, as far as it is known."""
    span = span_of(node) if isinstance(node, exp.Expr) else node
    return CODES[code](code, message, why=why, hint=hint, span=span)


def located(error: QueryError, sql: str) -> QueryError:
    """Complete an error with the text it is about, and let its span hold whole parentheses."""
    error.sql = sql
    if error.span is None:
        error.span = (0, len(sql.rstrip())) if sql.strip() else None
    else:
        start, stop = error.span
        error.span = (start, _closed(sql, start, min(stop, len(sql))))
    return error


def span_of(node: exp.Expr) -> Span | None:
    """Return where a node stands in the text; of nodes above it, the nearest that says so."""
    at: exp.Expr | None = node
    while at is not None:
        marks = [part.meta for part in at.walk() if "start" in part.meta]
        if marks:
            return min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1
        at = at.parent
    return None


def nearest(name: str, names: list[str], instead: str = "") -> str:
    """Return a hint that names what exists: one close name, or all of them, or another hint."""
    close = get_close_matches(name.casefold(), [known.casefold() for known in names], n=1)
    if close:
        meant = next(known for known in names if known.casefold() == close[0])
        found = f"did you mean {as_sql(meant)}?"
        return f"{found} or {instead}" if instead else found
    if instead:
        return instead
    return f"there are {', '.join(map(as_sql, names))}" if names else ""


def as_sql(name: str) -> str:
    """Return a name as it is written in a question: in double quotes, unless it is one word.

    >>> as_sql("age"), as_sql(" patient id")
    ('age', '" patient id"')
    """
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _closed(sql: str, start: int, stop: int) -> int:
    """Return where a span ends once its open parentheses are closed, if they are."""
    open_ = sql.count("(", start, stop) - sql.count(")", start, stop)
    quoted = False
    for place in range(stop, len(sql)):
        if open_ <= 0:
            return place
        if sql[place] == "'":
            quoted = not quoted
        elif not quoted:
            open_ += (sql[place] == "(") - (sql[place] == ")")
    return len(sql) if open_ <= 0 else stop
