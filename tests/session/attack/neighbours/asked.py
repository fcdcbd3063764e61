# SPDX-License-Identifier: Apache-2.0
"""Random questions to an engine that holds a random world, laid open before they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.protocol import OpenEngine
from sordino.errors import QueryError
from tests.session.attack.neighbours.campaign import make_settings
from tests.session.attack.neighbours.data import Rows, frames, make_world
from tests.session.attack.neighbours.dice import dice
from tests.session.attack.neighbours.queries import make_question
from tests.session.attack.neighbours.schemas import Schema, make_schema
from tests.support.trace import Prepared, prepare


@dataclass(frozen=True, slots=True)
class Asked:
    """A random world without odd schemas, in which one unit has come."""

    random: Random
    schema: Schema
    rows: Rows
    engine: OpenEngine

    def questions(self, many: int) -> Iterator[tuple[str, Prepared]]:
        """Ask so many questions, and return those that are not refused."""
        for _ in range(many):
            sql, settings = make_question(self.random, self.schema).sql, make_settings(self.random)
            try:
                prepared = prepare(
                    self.engine,
                    sql,
                    epsilon=settings.epsilon,
                    limits=settings.limits,
                    diagnostics=settings.diagnostics,
                )
            except QueryError:
                continue
            yield sql, prepared


@contextmanager
def asked(seed: str, opened: Callable[..., Any] = DuckdbEngine) -> Iterator[Asked]:
    """Make the world that follows from some words, and an engine that holds its rows."""
    random = dice(seed)
    schema = make_schema(random, odd=False)
    rows = make_world(random, schema, leaving=1).rows(frozenset({0}), random)
    engine = opened(schema.catalog(frames(schema, rows)), threads=1)
    try:
        yield Asked(random, schema, rows, engine)
    finally:
        engine.close()
