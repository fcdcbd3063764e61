# SPDX-License-Identifier: Apache-2.0
"""Everything a question does before noise is drawn, laid open. For tests only.

An exact answer is not private. Nothing in the package imports this, and no server may.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sordino.auditing.opened import (
    Exact,
    Group,
    Prepared,
    Shift,
    by_group,
    described,
    look,
    prepare,
)
from sordino.engine.duckdb import DuckdbEngine
from sordino.query.catalog import Catalog

__all__ = [
    "Exact",
    "Group",
    "Prepared",
    "Shift",
    "Trace",
    "by_group",
    "described",
    "look",
    "prepare",
    "trace",
]


@dataclass(frozen=True, slots=True)
class Trace:
    """A question laid open: what was known beforehand, and the exact integers of every part."""

    prepared: Prepared
    exact: Exact


def trace(catalog: Catalog, sql: str, *, epsilon: Fraction | float, salt: int = 0) -> Trace:
    """Return all that happens to a question before noise."""
    engine = DuckdbEngine(catalog)
    try:
        prepared = prepare(engine, sql, epsilon=epsilon, salt=salt)
        return Trace(prepared, look(engine, prepared, salt=salt))
    finally:
        engine.close()
