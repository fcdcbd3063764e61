# SPDX-License-Identifier: Apache-2.0
"""What could be typed next: words of SQL, tables, columns, and commands of the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sordino.catalog.model import Catalog, Table
from sordino.query.aggregates import AGGREGATES
from sordino.query.operations import OPERATIONS

DELIMITERS = " \t\n,()=<>+-*/'\";"
_CLAUSES = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN"),
    *("ON", "USING", "AS", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "IS NULL", "CASE"),
    *("WHEN", "THEN", "ELSE", "END", "DISTINCT", "DESC", "ASC", "WITH", "FILTER", "OVER"),
    *("PARTITION BY", "TRUE", "FALSE", "NULL", "DATE", "TIMESTAMP"),
)
_FUNCTIONS = (
    *(function.name.upper() for row in AGGREGATES.values() for function in row.functions),
    *("EXTRACT", "CAST", "TRY_CAST"),
    *(row.sql.functions[0].name.upper() for row in OPERATIONS.values() if row.sql.functions),
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TABLE_NEXT = re.compile(r"\b(from|join)\s+\S*$", re.IGNORECASE)
_DOTTED = re.compile(r"(.+)\.([^.]*)")


def candidates(catalog: Catalog, commands: Sequence[str], before: str, text: str) -> list[str]:
    """Return what a word may become, given all that stands before it.

    After FROM and JOIN these are tables, and columns are those of the tables that are named.
    """
    if text.startswith("\\"):
        return [name for name in commands if name.startswith(text)]
    if _TABLE_NEXT.search(before + text):
        return _matching([_name(table.name) for table in catalog.tables], text)
    dotted = _DOTTED.fullmatch(text)
    if dotted is not None:
        table = catalog.table(dotted[1])
        columns = [] if table is None else [f"{dotted[1]}.{_name(c.name)}" for c in table.columns]
        return _matching(columns, text)
    named = [table for table in catalog.tables if _is_named(table, before)]
    columns = [_name(c.name) for table in named or catalog.tables for c in table.columns]
    words = [word if text.isupper() or not text else word.lower() for word in _CLAUSES]
    called = [f"{name if text.isupper() else name.lower()}(" for name in _FUNCTIONS]
    names = [*dict.fromkeys(columns), *(_name(table.name) for table in catalog.tables)]
    return _matching([*names, *words, *called], text)


def completer(
    catalog: Catalog, commands: Sequence[str], before: Callable[[], str]
) -> Callable[[str, int], str | None]:
    """Return what readline asks for the first, second ... candidate, until there is none."""

    def complete(text: str, state: int) -> str | None:
        found = candidates(catalog, commands, before(), text)
        return found[state] if state < len(found) else None

    return complete


def _matching(words: list[str], text: str) -> list[str]:
    start = text.casefold()
    return list(dict.fromkeys(word for word in words if word.casefold().startswith(start)))


def _name(name: str) -> str:
    """Return a name as it is written in SQL."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _is_named(table: Table, text: str) -> bool:
    return re.search(rf"\b{re.escape(table.name)}\b", text, re.IGNORECASE) is not None
