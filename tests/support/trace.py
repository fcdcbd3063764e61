# SPDX-License-Identifier: Apache-2.0
"""Everything a question does before noise is drawn, laid open. For tests only.

An exact answer is not private. Tests hold the key to sealed values; nothing else outside of the
release does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from sordino.catalog.model import Catalog
from sordino.engine.protocol import OpenEngine
from sordino.engine.sealed import Sealed
from sordino.release.key import KEY
from sordino.release.rehearsal import (
    Exact,
    Group,
    Prepared,
    Shift,
    by_group,
    prepare,
    rehearse,
    unpaid,
)

__all__ = [
    "Exact",
    "Group",
    "Prepared",
    "Shift",
    "Trace",
    "by_group",
    "look",
    "prepare",
    "trace",
    "unsealed",
]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trace:
    """A question laid open: what was known beforehand, and the exact integers of every part."""

    prepared: Prepared
    exact: Exact


def unsealed(sealed: Sealed[T]) -> T:
    """Return what is sealed."""
    return sealed.open(KEY)


def look(engine: OpenEngine, prepared: Prepared, *, salt: int = 0) -> Exact:
    """Return the exact integers of every part, by group; for ranks and votes by place besides."""
    tables = unsealed(engine.run(prepared.plan.bounded, unpaid(prepared), salt=salt))
    return tuple(map(by_group, tables))


def trace(catalog: Catalog, sql: str, *, epsilon: Fraction | float, salt: int = 0) -> Trace:
    """Return all that happens to a question before noise."""
    return Trace(*rehearse(catalog, {}, sql, epsilon=epsilon, salt=salt))
