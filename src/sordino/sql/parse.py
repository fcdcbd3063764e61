# SPDX-License-Identifier: Apache-2.0
"""SQL text becomes a question, or is refused with a reason that depends on public things alone.

The text is parsed and then forgotten: no engine ever sees a character of it but in literals, which
travel as parameters.
"""

from __future__ import annotations

import logging
import unicodedata
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from sordino.catalog.model import Catalog
from sordino.errors import QueryError, Span
from sordino.query.tree import Query
from sordino.sql import whitelist
from sordino.sql.bind.question import question
from sordino.sql.bind.scope import Reading
from sordino.sql.domains import PublicValues
from sordino.sql.refusals import located, refusal
from sordino.sql.whitelist import Words

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
