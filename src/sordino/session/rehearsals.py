# SPDX-License-Identifier: Apache-2.0
"""Rehearsals: priced as in earnest, answered on invented rows for nothing, and marked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from sordino.answer.answer import rehearsed
from sordino.catalog.model import Catalog, Frame, PostgresTable, SparkTable
from sordino.catalog.toml import read_catalog
from sordino.engine.opening import open_engine
from sordino.ledger.entry import Receipt
from sordino.mock import invented
from sordino.plan.ask import Ask, Options, Respondent, Terms, read_ask
from sordino.plan.bound import check_size
from sordino.plan.explain import Explanation, explain
from sordino.plan.plan import Plan
from sordino.randomness.entropy import system
from sordino.release import release
from sordino.session.session import Planner

if TYPE_CHECKING:
    from sordino.answer import Answer
    from sordino.sql.domains import PublicValues

NOBODY = "rehearsal"  # who asks where no ledger is asked
_SALT_BITS = 48  # the keystream is read in units of 16
_NO_ENTRY = "0" * 64  # the head of an entry that no ledger has


class Rehearsal(Respondent[Explanation]):
    """A session on invented rows; made by ``rehearse``.

    ``ask``, ``explain`` and ``plan`` are those of a session and state the same prices. Nothing is
    charged and no private row is looked at, so that whoever has the catalog can rehearse without
    the data. Every answer says first that it is a rehearsal.

    Guarantee: none is needed; the rows are about nobody, and nothing else is looked at but what is
    public.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = invented(_brought(catalog), _public_values(catalog))
        self._engine = open_engine(self.catalog)
        self._planner = Planner(self.catalog, self._engine, self._engine.public_values)

    def answer_ask(self, ask: Ask) -> Answer:
        """Answer what was asked on the invented rows; see ``ask``."""
        return self.answer(self._planner.plan(ask), ask.options)

    def explain_ask(self, ask: Ask) -> Explanation:
        """Say what the answer to an ask would cost in earnest; see ``explain``."""
        plan = self._planner.plan(ask)
        return explain(plan, self.catalog.purse(plan.people), expected_rows=ask.expected_rows)

    def plan(self, sql: str, **terms: Unpack[Terms]) -> Plan:
        """Return the plan of a question, which is that of a session in earnest."""
        return self._planner.plan(read_ask(sql, **terms))

    def answer(self, plan: Plan, options: Options | None = None, *, who: str = NOBODY) -> Answer:
        """Carry out a plan on the invented rows and mark the answer; nothing is charged."""
        check_size(plan.query)
        self._engine.prepare(plan.bounded)
        receipt = self._unpaid(plan, who)
        sealed = self._engine.run(plan.bounded, receipt, salt=system().integer(_SALT_BITS))
        return rehearsed(release(plan, sealed, receipt, options or Options()))

    def _unpaid(self, plan: Plan, who: str) -> Receipt:
        """Return a receipt that no ledger has made, with all of the budget left."""
        purse = self.catalog.purse(plan.people)
        return Receipt(
            people=plan.people,
            number=0,
            head=_NO_ENTRY,
            who=who,
            price=purse.budget.price(plan.loss),
            slack=plan.slack,
            left=purse.budget.cap,
            slack_left=Fraction(purse.slack),
        )

    def close(self) -> None:
        """Let go of the invented rows."""
        self._engine.close()

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.catalog.tables)
        return f"<rehearsal on invented rows of {tables}>"


def _public_values(catalog: Catalog) -> PublicValues | None:
    """Return the values of public tables that keys are declared to come from."""
    wanted = {c.keys_from for table in catalog.tables for c in table.columns if c.keys_from}
    if not wanted:
        return None
    public = tuple(table for table in catalog.tables if table.public)
    engine = open_engine(replace(catalog, tables=public))
    try:
        values = {place: engine.public_values(*place) for place in wanted}
    finally:
        engine.close()
    return lambda table, column: values[table, column]


def _brought(catalog: Catalog) -> Catalog:
    """Return the catalog with public tables of servers in memory, where invented rows are."""
    far = tuple(
        table
        for table in catalog.tables
        if table.public and isinstance(table.source, PostgresTable | SparkTable)
    )
    if not far:
        return catalog
    engine = open_engine(replace(catalog, tables=far))
    try:
        held = {table.name: Frame(engine.public_table(table.name)) for table in far}
    finally:
        engine.close()
    return replace(
        catalog,
        tables=tuple(
            replace(table, source=held[table.name]) if table.name in held else table
            for table in catalog.tables
        ),
    )


def rehearse(catalog: str | PathLike[str] | Catalog = "sordino.toml") -> Rehearsal:
    """Open the tables of a catalog with invented rows in them, to try out questions for nothing.

    The files of private tables need not be there; those of public tables are read. The rows are
    the same for everybody: see ``sordino.mock``.

    Guarantee: none is needed; the rows are about nobody, and nothing else is looked at but what is
    public.
    """
    return Rehearsal(catalog if isinstance(catalog, Catalog) else read_catalog(Path(catalog)))
