# SPDX-License-Identifier: Apache-2.0
"""The engine computes what ``plan.bounded`` says, on poisoned data and random questions."""

from __future__ import annotations

import pytest

from sordino.query.tree import PerUnit, Rows, Scan, UnitKind, Window
from sordino.query.types import Type
from tests.engine.engines import ENGINES
from tests.engine.reference.bounded import Part_, bounded_reference
from tests.engine.reference.rows import Cut
from tests.session.attack.neighbours.asked import asked
from tests.support.trace import Exact, look

WORLDS, QUESTIONS = 30, 20


@pytest.mark.parametrize("seed", range(WORLDS))
def test_the_engine_agrees_with_plain_python(seed: int) -> None:
    compared = 0
    # A database takes longer to open, and most of what a fault could lie in is the same.
    name = "postgres" if seed % 5 == 4 else "duckdb"
    with asked(f"reference {seed}", ENGINES[name]) as world:
        for sql, prepared in world.questions(QUESTIONS):
            bounded = prepared.plan.bounded
            if _adds_reals(bounded.rows):
                continue
            try:
                wanted = bounded_reference(bounded, world.rows, world.engine.catalog)
            except Cut:
                continue
            found = look(world.engine, prepared)
            assert _some(found) == _some(wanted), sql
            compared += 1
    assert compared >= QUESTIONS // 4


def _some(parts: Exact | tuple[Part_, ...]) -> list[Part_]:
    """Return what is not 0: a group without anything may be left out or not."""
    return [{group: n for group, n in part.items() if any(n)} for part in parts]


def _adds_reals(rows: Rows) -> bool:
    """Tell whether reals are added up for each unit, which the engine does on a grid of its own."""
    if isinstance(rows, Scan):
        return False
    if isinstance(rows, PerUnit | Window):
        for _, measure in rows.fields:
            real = measure.argument is not None and measure.argument.type is Type.REAL
            if measure.kind is UnitKind.AVG or (measure.kind is UnitKind.SUM and real):
                return True
    below = [rows.rows, getattr(rows, "other", None)]
    return any(_adds_reals(one) for one in below if one is not None and not isinstance(one, tuple))
