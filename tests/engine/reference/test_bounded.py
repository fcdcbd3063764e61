# SPDX-License-Identifier: Apache-2.0
"""The engine computes what ``plan.bounded`` says, on poisoned data and random questions."""

from __future__ import annotations

import pytest

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import QueryError
from sordino.query.tree import PerUnit, Rows, Scan, UnitKind, Window
from sordino.query.types import Type
from tests.engine.reference.bounded import Part_, bounded_reference
from tests.engine.reference.rows import Cut
from tests.session.attack.neighbours.campaign import make_settings
from tests.session.attack.neighbours.data import frames, make_world
from tests.session.attack.neighbours.dice import dice
from tests.session.attack.neighbours.queries import make_question
from tests.session.attack.neighbours.schemas import make_schema
from tests.support.trace import Exact, look, prepare

WORLDS, QUESTIONS = 30, 20


@pytest.mark.parametrize("seed", range(WORLDS))
def test_the_engine_agrees_with_plain_python(seed: int) -> None:
    random = dice(f"reference {seed}")
    schema = make_schema(random, odd=False)
    world = make_world(random, schema, leaving=1)
    rows = world.rows(frozenset({0}), random)
    engine = DuckdbEngine(schema.catalog(frames(schema, rows)), threads=1)
    compared = 0
    for _ in range(QUESTIONS):
        sql, settings = make_question(random, schema).sql, make_settings(random)
        try:
            prepared = prepare(
                engine,
                sql,
                epsilon=settings.epsilon,
                limits=settings.limits,
                diagnostics=settings.diagnostics,
            )
        except QueryError:
            continue
        bounded = prepared.plan.bounded
        if _adds_reals(bounded.rows):
            continue
        try:
            wanted = bounded_reference(bounded, rows, engine.catalog)
        except Cut:
            continue
        found = look(engine, prepared)
        assert _some(found) == _some(wanted), sql
        compared += 1
    engine.close()
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
