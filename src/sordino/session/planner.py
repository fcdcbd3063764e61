# SPDX-License-Identifier: Apache-2.0
"""From what is asked to a plan, of which the latest are kept, and to the identity of its answer."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from sys import getsizeof

from sordino.cache import MEGABYTE, Shelf
from sordino.catalog.model import Catalog
from sordino.engine.protocol import Engine
from sordino.plan.ask import Ask, Options
from sordino.plan.bounded import Votes
from sordino.plan.encoding import digest
from sordino.plan.limits import check_size
from sordino.plan.plan import Plan
from sordino.plan.planning import plan_question
from sordino.query.tree import Query, tables_in
from sordino.query.types import Value
from sordino.sql.domains import PublicValues
from sordino.sql.parse import parse

MAX_BYTES_OF_PLANS = 8 * MEGABYTE
MAX_BYTES_OF_QUESTIONS = 4 * MEGABYTE
# About how many bytes things take, lists of values aside.
_BYTES_OF_QUESTION, _BYTES_OF_PLAN, _BYTES_OF_REFERENCE = 10_000, 20_000, 8
_BYTES_OF_TIME = getsizeof(datetime(1, 1, 1))  # no other value but text is larger


class Planner:
    """Plans questions; everything it looks at is public."""

    def __init__(self, catalog: Catalog, engine: Engine, public: PublicValues | None) -> None:
        self._catalog, self._engine, self._public = catalog, engine, public
        self._plans: Shelf[Plan] = Shelf(MAX_BYTES_OF_PLANS, weigh=_bytes_of_plan)
        self._questions: Shelf[Query] = Shelf(MAX_BYTES_OF_QUESTIONS, weigh=_bytes_of_question)

    def plan(self, ask: Ask) -> Plan:
        """Return the plan of a question; what the engine cannot carry out is refused here."""
        return self._plans.take(ask, lambda: self._made(ask))

    def _made(self, ask: Ask) -> Plan:
        query = self._parsed(ask.sql)
        check_size(query)
        plan = plan_question(query, self._catalog, ask)
        self._engine.prepare(plan.bounded)  # so that it is refused before it is explained, too
        return plan

    def _parsed(self, sql: str) -> Query:
        """Return the question that a text asks, which is the same at every price.

        Where keys may be the values of a public table, that is looked at again: it may have others.
        """
        if any(table.public for table in self._catalog.tables):
            return parse(sql, self._catalog, public=self._public)
        return self._questions.take(sql, lambda: parse(sql, self._catalog, public=self._public))


def asked_of(plan: Plan, options: Options) -> str:
    """Return a digest of a plan and of how its numbers are shown."""
    return digest("answer", plan.fingerprint, options)


def tables_of(plan: Plan, catalog: Catalog) -> set[str]:
    """Return the tables an answer depends on: its own, those above them, and all public ones."""
    names = {table.name for table in catalog.tables if table.public}
    above = list(tables_in(plan.query.rows))
    while above:
        name = above.pop()
        names.add(name)
        table = catalog.table(name)
        if table is not None and table.parent is not None:
            above.append(table.parent.parent)
    return names


def _bytes_of_question(query: Query) -> int:
    lists = (key.domain or () for key in query.keys)
    return _BYTES_OF_QUESTION + 2 * len(query.sql) + sum(map(_bytes_of_values, lists))


def _bytes_of_plan(plan: Plan) -> int:
    lists = (part.domain for part in plan.bounded.parts if isinstance(part, Votes))
    return _BYTES_OF_PLAN + _bytes_of_question(plan.query) + sum(map(_bytes_of_values, lists))


def _bytes_of_values(values: Iterable[Value]) -> int:
    return sum(
        _BYTES_OF_REFERENCE + (getsizeof(value) if isinstance(value, str) else _BYTES_OF_TIME)
        for value in values
    )
