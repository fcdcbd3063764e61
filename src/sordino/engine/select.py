# SPDX-License-Identifier: Apache-2.0
"""SELECT as a function: the one place where its clauses are put together."""

from __future__ import annotations

from collections.abc import Iterable


def select(
    columns: Iterable[str],
    source: str,
    *,
    where: Iterable[str] = (),
    by: Iterable[str] = (),
    having: Iterable[str] = (),
    distinct: bool = False,
) -> str:
    """Return a SELECT; conditions are joined by AND, and without columns there is one of NULL.

    >>> select(["u", "count(*) AS n"], "rows", where=["u IS NOT NULL"], by=["u"])
    'SELECT u, count(*) AS n FROM rows WHERE u IS NOT NULL GROUP BY u'
    """
    clauses = ["SELECT DISTINCT" if distinct else "SELECT", ", ".join(columns) or "NULL AS c"]
    clauses += ["FROM", source]
    for word, joint, parts in (
        ("WHERE", " AND ", where),
        ("GROUP BY", ", ", by),
        ("HAVING", " AND ", having),
    ):
        text = joint.join(parts)
        clauses += [word, text] if text else []
    return " ".join(clauses)


def inner(text: str) -> str:
    """Return a SELECT as what another selects from."""
    return f"(\n{text}\n)"
