# SPDX-License-Identifier: Apache-2.0
"""Many triples from one seed: a schema, data with units that come and go, and questions."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any, TypeAlias

from sordino.catalog.model import Catalog, Limits
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import QueryError, SealedError
from tests.session.attack.neighbours.check import exact_faults, price_faults, public_faults
from tests.session.attack.neighbours.data import World, frames, make_world
from tests.session.attack.neighbours.dice import dice
from tests.session.attack.neighbours.queries import make_question
from tests.session.attack.neighbours.schemas import make_schema
from tests.support.trace import Exact, Prepared, look, prepare


@dataclass(slots=True)
class Tally:
    """What a campaign saw."""

    triples: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    constructs: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.triples += other.triples
        self.accepted += other.accepted
        self.refused.update(other.refused)
        self.constructs.update(other.constructs)
        self.faults += other.faults

    @property
    def share(self) -> float:
        """How much of the questions was accepted."""
        return self.accepted / max(1, self.accepted + self.refused.total())


@dataclass(frozen=True, slots=True)
class Fault:
    """A violation, with all that is needed to see it again."""

    kind: str
    seed: object
    sql: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a question is asked."""

    epsilon: Fraction
    limits: Limits | None
    diagnostics: bool
    salt: int


class Ear(logging.Handler):
    """Keeps why the engine failed, which is told to the owner alone."""

    cause: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.cause = record.exc_info[1] if record.exc_info else None


@contextmanager
def listening() -> Iterator[Ear]:
    """Hear what the owner is told, in place of a screen."""
    owner, ear = logging.getLogger("sordino.owner"), Ear()
    owner.addHandler(ear)
    before, owner.propagate = owner.propagate, False
    try:
        yield ear
    finally:
        owner.propagate = before
        owner.removeHandler(ear)


Opened: TypeAlias = "Callable[[int, Catalog], Any]"  # an engine, for each data set of a world


def _embedded(place: int, catalog: Catalog) -> DuckdbEngine:
    del place
    return DuckdbEngine(catalog, threads=1)


class Site:
    """The data sets of a world, each with its catalog and its engine."""

    def __init__(self, random: Random, world: World, opened: Opened | None = None) -> None:
        schema = world.schema
        self.sets = world.sets()
        self.rows = [world.rows(present, random) for present in self.sets]
        tables = [frames(schema, rows) for rows in self.rows]
        opened = opened or _embedded
        self.engines = [opened(place, schema.catalog(given)) for place, given in enumerate(tables)]
        for engine in self.engines[1:-1]:  # the first and the last are compared
            engine._compiled = self.engines[0]._compiled
        self.pairs = [
            (a, b)
            for a, fewer in enumerate(self.sets)
            for b, more in enumerate(self.sets)
            if fewer < more and len(more) == len(fewer) + 1
        ]

    def close(self) -> None:
        for engine in self.engines:
            engine.close()

    def ask(self, sql: str, settings: Settings, tally: Tally, seed: object) -> None:
        """Run a question on every data set and compare all neighbours."""
        last = len(self.sets) - 1
        try:
            first, second = self._prepared(0, sql, settings), self._prepared(last, sql, settings)
        except Exception as error:
            kind = f"preparing failed: {type(error).__name__}"
            tally.faults.append(Fault(kind, seed, sql, f"{error} {settings}"))
            return
        if isinstance(first, QueryError) or isinstance(second, QueryError):
            if repr(first) != repr(second) or str(first) != str(second):
                tally.faults.append(Fault("a refusal depends on the data", seed, sql))
            code = first.code if isinstance(first, QueryError) else "none"
            tally.refused[code] += 1
            return
        tally.accepted += 1
        purse = self.engines[0].catalog.purse(first.plan.people)
        for fault in [
            *public_faults(first, second),
            *price_faults(first, purse, epsilon=settings.epsilon),
        ]:
            tally.faults.append(Fault(fault, seed, sql))
        try:
            with listening() as heard:
                exact = [look(engine, first, salt=settings.salt) for engine in self.engines]
        except Exception as error:
            cause = heard.cause if isinstance(error, SealedError) else error
            kind = f"the engine failed: {type(cause).__name__}"
            tally.faults.append(Fault(kind, seed, sql, f"{cause}"))
            return
        self._compare(first, exact, Fault("", seed, sql), tally)

    def _prepared(self, place: int, sql: str, settings: Settings) -> Prepared | QueryError:
        try:
            return prepare(
                self.engines[place],
                sql,
                epsilon=settings.epsilon,
                salt=settings.salt,
                limits=settings.limits,
                diagnostics=settings.diagnostics,
            )
        except QueryError as error:
            return error

    def _compare(self, prepared: Prepared, exact: list[Exact], about: Fault, tally: Tally) -> None:
        for fewer, more in self.pairs:
            tally.triples += 1
            for fault in exact_faults(prepared, exact[fewer], exact[more]):
                tally.faults.append(Fault(fault, about.seed, about.sql, f"{fewer} {more}"))


def make_settings(random: Random) -> Settings:
    """Return a random way of asking."""
    limits = None
    if random.random() < 0.3:
        limits = Limits(
            rows=random.choice((None, 1, 2, 5)),
            groups=random.choice((None, 1, 2)),
            rows_per_group=random.choice((None, 1, 2)),
        )
    return Settings(
        epsilon=random.choice((Fraction(1, 2), Fraction(1), Fraction(3), Fraction(1, 50))),
        limits=limits,
        diagnostics=random.random() < 0.1,
        salt=random.getrandbits(62),
    )


def campaign(
    seed: int,
    *,
    triples: int,
    questions: int = 12,
    leaving: int = 4,
    opened: Opened | None = None,
) -> Tally:
    """Go on with new schemas until so many triples were compared."""
    tally = Tally()
    for world in worlds(seed, questions=questions, leaving=leaving, opened=opened):
        tally.add(world)
        if tally.triples >= triples:
            break
    return tally


def worlds(
    seed: int, *, questions: int, leaving: int = 3, opened: Opened | None = None
) -> Iterator[Tally]:
    """Go through what was seen in one schema after the other, without end."""
    number = 0
    while True:
        name = f"{seed}/{number}"
        yield one_world(dice(name), name, questions=questions, leaving=leaving, opened=opened)
        number += 1


def one_world(
    random: Random,
    name: Any,
    *,
    questions: int,
    leaving: int = 3,
    opened: Opened | None = None,
) -> Tally:
    """Return what was seen in one schema."""
    tally = Tally()
    schema = make_schema(random)
    site = Site(random, make_world(random, schema, leaving=leaving), opened)
    try:
        for _ in range(questions):
            question, settings = make_question(random, schema), make_settings(random)
            before = tally.accepted
            site.ask(question.sql, settings, tally, name)
            if tally.accepted > before:
                tally.constructs.update(question.tags)
    finally:
        site.close()
    return tally


def only_prepared(random: Random, *, questions: int) -> Tally:
    """Return which questions about one schema are accepted, without asking them."""
    tally = Tally()
    schema = make_schema(random)
    world = make_world(random, schema, leaving=0)
    engine = DuckdbEngine(schema.catalog(frames(schema, world.rows(frozenset(), random))))
    for _ in range(questions):
        question = make_question(random, schema)
        try:
            prepare(engine, question.sql, epsilon=Fraction(1))
        except QueryError as error:
            tally.refused[error.code] += 1
        else:
            tally.accepted += 1
            tally.constructs.update(question.tags)
    engine.close()
    return tally
