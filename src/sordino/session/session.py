# SPDX-License-Identifier: Apache-2.0
"""A session: an analyst's questions, one after the other, against one catalog and one ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from sys import getsizeof
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Unpack

from sordino.answer.codec import from_bytes, is_readable, to_bytes
from sordino.cache import MEGABYTE, Shelf
from sordino.catalog.checks import limits
from sordino.catalog.model import Catalog
from sordino.engine.protocol import Engine
from sordino.errors import AnsweredError, CatalogError
from sordino.ledger.ledger import Ledger, check_name
from sordino.numbers.rational import Number, confidence_level, positive
from sordino.plan.allocate import plan_question
from sordino.plan.bounded import Votes
from sordino.plan.explain import Explanation, explain
from sordino.plan.limits import check_size
from sordino.plan.plan import Plan
from sordino.plan.within import plan_within
from sordino.query.tree import Query
from sordino.query.types import Value
from sordino.randomness.entropy import system
from sordino.release import Options, release
from sordino.session.budgets import Budgets, left_of
from sordino.session.first_identity import first_identity
from sordino.session.flights import Flights
from sordino.session.identity import asked_of, tables_of
from sordino.session.owner_log import OwnerLog, logged
from sordino.session.progress import ProgressBar, is_watched
from sordino.sql.domains import PublicValues
from sordino.sql.parse import parse

if TYPE_CHECKING:
    from sordino.answer import Answer
    from sordino.engine.inspection import Inspection
    from sordino.ledger.receipt import Receipt


_QUESTION = 10_000  # bytes, without the lists of values that it speaks of
_PLAN = 20_000
_PLACE = 8  # bytes of a place in a list
_TIME = getsizeof(datetime(1, 1, 1))  # no other value but text is larger


def weight_of_question(query: Query) -> int:
    """Return about how many bytes a question takes."""
    lists = (key.domain or () for key in query.keys)
    return _QUESTION + 2 * len(query.sql) + sum(map(_listed, lists))


def weight_of_plan(plan: Plan) -> int:
    """Return about how many bytes a plan takes, with its question and all lists of values."""
    lists = (part.domain for part in plan.bounded.parts if isinstance(part, Votes))
    return _PLAN + weight_of_question(plan.query) + sum(map(_listed, lists))


def _listed(values: Iterable[Value]) -> int:
    return sum(_PLACE + (getsizeof(v) if isinstance(v, str) else _TIME) for v in values)


OWNER = "owner"  # who is charged if nobody is named
Width: TypeAlias = "Number | str"
_SALT_BITS = 48  # the keystream is read in units of 16
_KEPT_PLANS, _KEPT_QUESTIONS = 8 * MEGABYTE, 4 * MEGABYTE
_SUREST = 1 - Fraction(1, 10**9)  # of error bars


class Asked(TypedDict, total=False):
    """What may be said besides the SQL; see ``Session.ask``."""

    epsilon: Number | None
    rho: Number | None
    within: Width | Mapping[str, Width] | None
    confidence: Number
    delta: Number | None
    rows: int | None
    groups: int | None
    rows_per_group: int | None
    expected_rows: Number | None
    diagnostics: bool


class Session:
    """Answers questions in SQL, each charged before the data is looked at.

    ``ask`` answers, ``explain`` says what an answer would cost and how accurate it would be, and
    ``budget`` what is left. Questions may be chosen after seeing earlier answers. A session may be
    shared by threads; they share its budget.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: all answers together keep to the budget of the catalog.
        Numerics: sums of integers, prices rounded up.
        Proof: docs/proofs/queries.md, theorem 6.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        engine: Engine,
        ledger: Ledger,
        public: PublicValues | None = None,
        who: str = OWNER,
        log: OwnerLog | None = None,
    ) -> None:
        self.catalog = catalog
        self.owner_log = log
        self._engine = engine
        self._ledger = ledger
        self._public = public
        self.who = check_name(who)
        self._plans: Shelf[Plan] = Shelf(_KEPT_PLANS, weigh=weight_of_plan)
        self._questions: Shelf[Query] = Shelf(_KEPT_QUESTIONS, weigh=weight_of_question)
        self._flights = Flights()
        self._older: dict[str, bool] = {}  # id spaces whose entries version 1 may have written
        self._drawn: dict[str, Answer] = {}  # and not yet recorded, by the head of its charge
        self._owed: dict[str, Receipt] = {}  # those of them that could not be recorded
        self._closed = False

    def ask(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Width | Mapping[str, Width] | None = None,
        confidence: Number = 0.95,
        delta: Number | None = None,
        rows: int | None = None,
        groups: int | None = None,
        rows_per_group: int | None = None,
        expected_rows: Number | None = None,
        diagnostics: bool = False,
        nonnegative: bool = False,
        integer: bool = True,
        consistent: bool = False,
        fresh: bool = False,
    ) -> Answer:
        """Answer a question: charge it, compute, add noise, record the answer, return it.

        The same question of the same data again gives the same answer, for nothing; with ``fresh``
        it is paid for again and gets new noise. Whoever asks it at once, in other threads or
        processes, gets that same answer. If it was paid for and failed, asking again is free.

        Say how much it may cost by ``epsilon`` (or ``rho``, where the budget counts that), or how
        far off it may be by ``within``. ``delta`` is for discovering keys. ``rows``, ``groups`` and
        ``rows_per_group`` say how much of one unit counts, in place of the declared limits: less
        of each makes the noise smaller and cuts more off. ``diagnostics`` spends a tenth on saying
        how much was clamped and cut. The last three say how noisy counts are shown.

        The charge stays whatever happens afterwards, also if the question is interrupted, and is
        taken up by who asks the same of the same data again.
        """
        if not isinstance(fresh, bool):
            raise TypeError("fresh must be True or False")
        shown = Options(nonnegative, integer, consistent)
        asked = Asked(
            epsilon=epsilon,
            rho=rho,
            within=within,
            confidence=confidence,
            delta=delta,
            rows=rows,
            groups=groups,
            rows_per_group=rows_per_group,
            expected_rows=expected_rows,
            diagnostics=diagnostics,
        )
        with self._flights.asking():
            return self._answer(self._plan(sql, asked), shown, fresh=fresh)

    def explain(self, sql: str, **asked: Unpack[Asked]) -> Explanation:
        """Say what an answer would cost and how far off it would be; nothing is charged or read.

        The arguments are those of ``ask``, but for the last three.
        """
        plan = self.plan(sql, **asked)
        purse = self.catalog.purse(plan.people)
        return explain(plan, purse, expected_rows=asked.get("expected_rows"))

    def plan(self, sql: str, **asked: Unpack[Asked]) -> Plan:
        """Return the plan of a question: all that is known of an answer before it is paid for."""
        with self._flights.asking():
            return self._plan(sql, asked)

    @logged
    def _plan(self, sql: str, asked: Asked) -> Plan:
        key = sql, tuple(sorted((name, _hashable(value)) for name, value in asked.items()))
        return self._plans.take(key, lambda: self._prepared(sql, asked))

    def _prepared(self, sql: str, asked: Asked) -> Plan:
        plan = self._make(sql, asked)
        self._engine.prepare(plan.bounded)  # so that it is refused before it is explained, too
        return plan

    def _make(self, sql: str, asked: Asked) -> Plan:
        epsilon, rho, within = asked.get("epsilon"), asked.get("rho"), asked.get("within")
        if sum(price is not None for price in (epsilon, rho, within)) != 1:
            raise TypeError(
                "say what the answer may cost, such as epsilon=0.5, or how far off it may be, such "
                "as within=50; one of the two"
            )
        query = self._parsed(sql)
        try:
            cut = limits(
                rows=asked.get("rows"),
                groups=asked.get("groups"),
                rows_per_group=asked.get("rows_per_group"),
            )
        except CatalogError as error:  # here it is an argument that is wrong
            raise ValueError(str(error)) from None
        confidence, delta = asked.get("confidence", 0.95), asked.get("delta")
        if confidence_level(confidence) > _SUREST:
            raise ValueError(f"confidence must be at most {float(_SUREST)}")
        diagnostics = asked.get("diagnostics", False)
        if not isinstance(diagnostics, bool):
            raise TypeError("diagnostics must be True or False")
        expected_rows = asked.get("expected_rows")
        if expected_rows is not None:
            positive("expected_rows", expected_rows)
        check_size(query)
        if within is None:
            return plan_question(
                query,
                self.catalog,
                epsilon=epsilon,
                rho=rho,
                delta=delta,
                confidence=confidence,
                limits=cut,
                diagnostics=diagnostics,
            )
        return plan_within(
            query,
            self.catalog,
            within,
            expected_rows=expected_rows,
            delta=delta,
            confidence=confidence,
            limits=cut,
            diagnostics=diagnostics,
        )

    def _parsed(self, sql: str) -> Query:
        """Return the question that a text asks, which is the same at every price.

        Where keys may be the values of a public table, that is looked at again: it may have others.
        """
        if any(table.public for table in self.catalog.tables):
            return parse(sql, self.catalog, public=self._public)
        return self._questions.take(sql, lambda: parse(sql, self.catalog, public=self._public))

    def answer(self, plan: Plan, options: Options | None = None, *, fresh: bool = False) -> Answer:
        """Charge a plan and carry it out; the charge stays, whatever happens."""
        with self._flights.asking():
            return self._answer(plan, options or Options(), fresh=fresh)

    @logged
    def _answer(self, plan: Plan, options: Options, *, fresh: bool) -> Answer:
        if self._closed:
            raise ValueError("this session is closed; open it again")
        check_size(plan.query)
        self._settle()
        asked, data = asked_of(plan, options), self._engine.version(tables_of(plan, self.catalog))
        if not fresh:
            flight = self._flights.of((plan.people, asked, data))
            with flight.turn:
                return self._answered(plan, options, asked, data)
        self._make_ready(plan)
        receipt = self._ledger.charge(
            plan.people, plan.loss, slack=plan.slack, plan=asked, who=self.who, data=data
        )
        return self._carry_out(plan, options, receipt)

    def _answered(self, plan: Plan, options: Options, asked: str, data: str) -> Answer:
        """Return the answer on record, or the one that a charge pays for, made now or before."""
        stored = self._find(plan.people, asked, data)
        if stored is not None:
            self._drawn.pop(stored.charge.head, None)  # where an interrupt came after the record
            return stored
        bought = self._bought_first(plan, options, data)
        if bought is None or not isinstance(bought, bytes):
            self._make_ready(plan)
        if bought is None:
            bought = self._ledger.obtain(
                plan.people,
                plan.loss,
                slack=plan.slack,
                plan=asked,
                who=self.who,
                data=data,
                readable=is_readable,
            )
        if isinstance(bought, bytes):  # by version 1, or another process has just recorded it
            return _again(bought)
        return self._carry_out(plan, options, bought)

    def _bought_first(self, plan: Plan, options: Options, data: str) -> Receipt | bytes | None:
        """Return the answer, or the charge without one, of a ledger that version 1 wrote."""
        asked = self._first_identity(plan, options)
        if asked is None:
            return None
        return self._ledger.bought(
            plan.people,
            plan.loss,
            slack=plan.slack,
            plan=asked,
            who=self.who,
            data=data,
            readable=is_readable,
        )

    def _first_identity(self, plan: Plan, options: Options) -> str | None:
        """Return the identity of version 1, if the ledger had entries when it was first used."""
        older = self._older.get(plan.people)
        if older is None:
            with self._ledger.store.read() as pages:
                older = self._ledger.chain.last(pages, plan.people) is not None
            self._older[plan.people] = older
        return first_identity(plan, options) if older else None

    def _make_ready(self, plan: Plan) -> None:
        """Refuse, before the charge, what could not be carried out afterwards."""
        self._engine.prepare(plan.bounded)
        self._engine.load(plan.bounded)

    def _carry_out(self, plan: Plan, options: Options, receipt: Receipt) -> Answer:
        """Return the one answer that a charge pays for: recorded first, by us or by who was faster.

        What was drawn is kept until it is recorded: no second draw depends on what became of the
        first.
        """
        answer = self._drawn.get(receipt.head)
        if answer is None:
            salt = system().integer(_SALT_BITS)
            if is_watched():
                with ProgressBar() as bar:
                    sealed = self._engine.run(plan.bounded, receipt, salt=salt, progress=bar)
            else:
                sealed = self._engine.run(plan.bounded, receipt, salt=salt)
            answer = self._drawn.setdefault(receipt.head, release(plan, sealed, receipt, options))
        return self._record(receipt, answer)

    def _record(self, receipt: Receipt, answer: Answer) -> Answer:
        """Record an answer and return it, or the one that somebody else has recorded."""
        try:
            self._ledger.record(receipt, to_bytes(answer))
        except AnsweredError:
            self._forget(receipt)
            recorded = self._ledger.recorded(receipt)
            if recorded is None or not is_readable(recorded):
                raise
            return _again(recorded)
        except BaseException:
            self._owed[receipt.head] = receipt
            raise
        self._forget(receipt)
        return answer

    def _forget(self, receipt: Receipt) -> None:
        self._owed.pop(receipt.head, None)
        self._drawn.pop(receipt.head, None)

    def _settle(self) -> None:
        """Record what could not be recorded before; nothing else is charged until that is done.

        So answers that were drawn and not recorded are few, and none is ever dropped.
        """
        for receipt in list(self._owed.values()):
            answer = self._drawn.get(receipt.head)
            if answer is not None:  # another thread may just have done it
                with suppress(AnsweredError):  # then there is an answer on record
                    self._record(receipt, answer)

    def stored(self, plan: Plan, options: Options | None = None) -> Answer | None:
        """Return the answer that was given to a plan before, for nothing; None if there is none."""
        shown = options or Options()
        with self._flights.asking():
            data = self._engine.version(tables_of(plan, self.catalog))
            found = self._find(plan.people, asked_of(plan, shown), data)
            if found is not None:
                return found
            first = self._first_identity(plan, shown)
            return None if first is None else self._find(plan.people, first, data)

    def _find(self, people: str, asked: str, data: str) -> Answer | None:
        body = self._ledger.find(people, who=self.who, plan=asked, data=data)
        if body is None or not is_readable(body):
            return None  # an answer of a version that this one cannot read is paid for again
        return _again(body)

    def inspect(self) -> Inspection:
        """Read all rows for their owner's eyes: what is left out or cut, which ids are doubtful.

        Nothing is charged. Print what is returned, before the first question, and do not pass it
        on: analysts must not see it, and what is declared must not be chosen by it.

        Guarantee: none; what it tells is exact, and for the owner of the data alone.
        """
        from sordino.engine.inspection import inspect  # loaded only where all rows are read

        if self._closed:
            raise ValueError("this session is closed; open it again")
        return inspect(self.catalog)

    @property
    def ledger(self) -> Ledger:
        """The ledger that counts what is spent."""
        return self._ledger

    @property
    def budget(self) -> Budgets:
        """What may still be spent, for each id space: by this analyst, and in all."""
        with self._flights.asking():
            return left_of(self._ledger, (people for people, _ in self.catalog.purses), self.who)

    def close(self) -> None:
        """Let go of the engine and the ledger, once questions of other threads are answered."""
        with self._flights.closing(), self._flights.asking():
            self._closed = True
            self._flights.wait_for_others()
            self._engine.close()
            self._ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.catalog.tables)
        return f"<Session of {tables}; {'; '.join(map(str, self.budget))}>"


def _again(body: bytes) -> Answer:
    return replace(from_bytes(body), again=True)


def _hashable(value: object) -> object:
    """Return what stands for a value in the key of a plan; numbers of different types differ."""
    if isinstance(value, Mapping):
        return tuple(sorted((name, _hashable(width)) for name, width in value.items()))
    return type(value).__name__, str(value)
