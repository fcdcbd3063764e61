# SPDX-License-Identifier: Apache-2.0
"""A session: an analyst's questions, one after the other, against one catalog and one ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from sys import getsizeof
from threading import Lock, RLock, get_ident
from time import monotonic, sleep
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeAlias, TypeVar, Unpack
from weakref import WeakValueDictionary

from sordino.answer.answer import from_bytes, is_readable, to_bytes
from sordino.cache import MEGABYTE, Shelf
from sordino.catalog.model import Catalog
from sordino.engine.protocol import Engine, Progress
from sordino.errors import AnsweredError, SealedError, SordinoError
from sordino.gate import Visits
from sordino.ledger.history import left_of
from sordino.ledger.ledger import Ledger, Purchase, check_name
from sordino.ledger.left import Budgets
from sordino.plan.allocate import plan_question
from sordino.plan.ask import Ask, Options, Respondent, Terms, read_ask
from sordino.plan.bound import check_size
from sordino.plan.encoding import digest
from sordino.plan.explain import Explanation, explain
from sordino.plan.plan import Plan, Votes
from sordino.query.tree import Query, tables_in
from sordino.query.types import Value
from sordino.randomness.entropy import system
from sordino.release import release
from sordino.session.first_identity import first_identity
from sordino.session.owner_log import OwnerLog, writing
from sordino.sql.domains import PublicValues
from sordino.sql.parse import parse

if TYPE_CHECKING:
    from sordino.answer import Answer
    from sordino.engine.inspection import Inspection
    from sordino.ledger.entry import Entry, Receipt
    from sordino.session.rehearsals import Rehearsal

P = ParamSpec("P")
T = TypeVar("T")

OWNER = "owner"  # who is charged if nobody is named
_SALT_BITS = 48  # the keystream is read in units of 16

Hold: TypeAlias = "Callable[[], object]"
Watch: TypeAlias = "Callable[[], AbstractContextManager[Progress | None]]"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a charge is made and its answer handed over; see ``Session.answer``."""

    due: float | None = None  # the moment of the clock at which it is too late
    why: str = ""
    hold: Hold | None = None
    only_paid: bool = False

    @staticmethod
    def until(deadline: float | None) -> float | None:
        """Return the moment that is so many seconds away."""
        return None if deadline is None else monotonic() + deadline


_PLAINLY = Manner()


class Unpaid(Exception):
    """What was to be carried out only if it was paid for is not paid for; nothing was charged."""


def logged(
    method: Callable[Concatenate[Session, P], T],
) -> Callable[Concatenate[Session, P], T]:
    """Let what a method tells the logger go to the log of its own session, and to no other."""

    @wraps(method)
    def with_log(self: Session, /, *args: P.args, **kwargs: P.kwargs) -> T:
        token = writing.set(self.owner_log)
        try:
            return method(self, *args, **kwargs)
        finally:
            writing.reset(token)

    return with_log


class Session(Respondent[Explanation]):
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
        watch: Watch = nullcontext,
    ) -> None:
        self.catalog = catalog
        self.public = public
        self.owner_log = log
        self._engine = engine
        self._ledger = ledger
        self._watch = watch
        self.who = check_name(who)
        self._planner = Planner(catalog, engine, public)
        self._flights = Flights()
        self._rehearsals: list[Rehearsal] = []  # one at most, which siblings share
        self._inventing = Lock()
        self._older: dict[str, bool] = {}  # id spaces whose entries version 1 may have written
        self._drawn: dict[str, Answer] = {}  # and not yet recorded, by the head of its charge
        self._owed: dict[str, Receipt] = {}  # those of them that could not be recorded

    def of(self, who: str) -> Session:
        """Return a session of another analyst with the same engine, ledger and plans.

        Closing one of them closes all.
        """
        sibling = copy(self)
        sibling.who = check_name(who)
        return sibling

    def plan(self, sql: str, **terms: Unpack[Terms]) -> Plan:
        """Return the plan of a question: all that is known of an answer before it is paid for."""
        return self.plan_ask(read_ask(sql, **terms))

    def answer_ask(self, ask: Ask) -> Answer:
        """Answer what was asked; see ``ask``."""
        with self._flights.asking():
            return self._answer(self._plan(ask), ask.options, fresh=ask.fresh)

    def explain_ask(self, ask: Ask) -> Explanation:
        """Say what the answer to an ask would cost; see ``explain``."""
        plan = self.plan_ask(ask)
        return explain(plan, self.catalog.purse(plan.people), expected_rows=ask.expected_rows)

    def plan_ask(self, ask: Ask) -> Plan:
        """Return the plan of what was asked; see ``plan``."""
        with self._flights.asking():
            return self._plan(ask)

    def rehearse(self, sql: str, **terms: Unpack[Terms]) -> Answer:
        """Answer a question on invented rows: the price is the true one, and nothing is charged.

        The arguments are those of ``ask``. The rows are made from the catalog alone, the same for
        everybody, and the answer says first that it is a rehearsal. See ``so.rehearse``.
        """
        return self.rehearse_ask(read_ask(sql, **terms))

    def rehearse_ask(self, ask: Ask) -> Answer:
        """Answer what was asked on invented rows; see ``rehearse``."""
        with self._flights.asking():
            self._check_open()
            plan = self._plan(ask)
            return self._stage().answer(plan, ask.options, who=self.who)

    def _stage(self) -> Rehearsal:
        """Return the tables with invented rows, made when they are first asked for."""
        from sordino.session.rehearsals import Rehearsal  # which itself plans, and invents rows

        with self._inventing:
            if not self._rehearsals:
                self._rehearsals.append(Rehearsal(self.catalog))
            return self._rehearsals[0]

    @logged
    def _plan(self, ask: Ask) -> Plan:
        return self._planner.plan(ask)

    def answer(
        self,
        plan: Plan,
        options: Options | None = None,
        *,
        fresh: bool = False,
        deadline: float | None = None,
        why: str = "",
        hold: Hold | None = None,
        only_paid: bool = False,
    ) -> Answer:
        """Charge a plan and carry it out; the charge stays, whatever happens.

        What is not computed within ``deadline`` seconds is ended, and is a SealedError. ``why``
        stands in the entry of the charge. ``hold`` is called when the answer has been drawn and
        before it is recorded: nobody sees that there is one before ``hold`` returns.
        With ``only_paid`` nothing is charged, and what would have to be is Unpaid: such as what was
        paid for about rows that have been written since.
        """
        if fresh and only_paid:
            raise ValueError("what is fresh is always charged")
        manner = Manner(Manner.until(deadline), why, hold, only_paid)
        with self._flights.asking():
            return self._answer(plan, options or Options(), fresh=fresh, manner=manner)

    @logged
    def _answer(
        self, plan: Plan, options: Options, *, fresh: bool, manner: Manner = _PLAINLY
    ) -> Answer:
        self._check_open()
        check_size(plan.query)
        self._settle()
        asked, data = asked_of(plan, options), self._engine.version(tables_of(plan, self.catalog))
        if not fresh:
            flight = self._flights.of((self.who, plan.people, asked, data))
            with flight.turn:
                return self._answered(plan, options, asked, data, manner)
        self._make_ready(plan)
        purchase = self._purchase(plan, asked, data)
        receipt = self._ledger.charge(plan.people, plan.loss, why=manner.why, **purchase)
        return self._carry_out(plan, options, receipt, manner)

    def _answered(
        self, plan: Plan, options: Options, asked: str, data: str, manner: Manner
    ) -> Answer:
        """Return the answer on record, or the one that a charge pays for, made now or before."""
        stored = self._find(plan.people, asked, data)
        if stored is not None:
            self._drawn.pop(stored.charge.head, None)  # where an interrupt came after the record
            return stored
        bought = self._bought_first(plan, options, data)
        if bought is None and manner.only_paid:
            bought = self._bought(plan, asked, data)
            if bought is None:
                raise Unpaid
        if bought is None or not isinstance(bought, bytes):
            self._make_ready(plan)
        if bought is None:
            purchase = self._purchase(plan, asked, data)
            bought = self._ledger.obtain(
                plan.people, plan.loss, why=manner.why, readable=is_readable, **purchase
            )
        if isinstance(bought, bytes):  # by version 1, or another process has just recorded it
            return _again(bought)
        return self._carry_out(plan, options, bought, manner)

    def _purchase(self, plan: Plan, asked: str, data: str) -> Purchase:
        return Purchase(slack=plan.slack, plan=asked, who=self.who, data=data)

    def _bought_first(self, plan: Plan, options: Options, data: str) -> Receipt | bytes | None:
        """Return the answer, or the charge without one, of a ledger that version 1 wrote."""
        asked = self._first_identity(plan, options)
        if asked is None:
            return None
        return self._bought(plan, asked, data)

    def _bought(self, plan: Plan, asked: str, data: str) -> Receipt | bytes | None:
        """Return the answer, or the charge without one, of one identity; None if there is none."""
        purchase = self._purchase(plan, asked, data)
        return self._ledger.bought(plan.people, plan.loss, readable=is_readable, **purchase)

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

    def _carry_out(self, plan: Plan, options: Options, receipt: Receipt, manner: Manner) -> Answer:
        """Return the one answer that a charge pays for: recorded first, by us or by who was faster.

        What was drawn is kept until it is recorded: no second draw depends on what became of the
        first.
        """
        answer = self._drawn.get(receipt.head)
        if answer is None:
            salt = system().integer(_SALT_BITS)
            with self._watch() as progress:
                try:
                    sealed = self._engine.run(
                        plan.bounded,
                        receipt,
                        salt=salt,
                        progress=progress,
                        deadline=None if manner.due is None else manner.due - monotonic(),
                    )
                except SordinoError:  # a refusal that comes so late could tell something of rows
                    raise SealedError from None
            answer = self._drawn.setdefault(receipt.head, release(plan, sealed, receipt, options))
        if manner.hold is not None:
            manner.hold()
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

    def is_paid(self, plan: Plan, options: Options | None = None) -> bool:
        """Tell whether a charge for a plan waits for its answer, so that it is made for nothing.

        What has its answer, too, is paid.
        """
        shown = options or Options()
        with self._flights.asking():
            data = self._engine.version(tables_of(plan, self.catalog))
            digests = asked_of(plan, shown), self._first_identity(plan, shown)
            return any(
                self._bought(plan, asked, data) is not None
                for asked in digests
                if asked is not None
            )

    def check_fits(self, plan: Plan, options: Options | None = None) -> None:
        """Refuse a plan that the budget has no room for now, before any file is read for it."""
        with self._flights.asking():
            self._check_open()
            purchase = self._purchase(plan, asked_of(plan, options or Options()), "")
            self._ledger.check_fits(plan.people, plan.loss, **purchase)

    def resume(
        self,
        charge: Entry,
        plan: Plan,
        options: Options | None = None,
        *,
        deadline: float | None = None,
        hold: Hold | None = None,
    ) -> Answer:
        """Answer a charge that has no answer, as after a crash; nothing is charged.

        It must be a charge of this analyst for this plan, of the rows as they are now; raises
        ValueError otherwise.
        """
        manner = Manner(Manner.until(deadline), hold=hold)
        with self._flights.asking():
            return self._resume(charge, plan, options or Options(), manner)

    @logged
    def _resume(self, charge: Entry, plan: Plan, options: Options, manner: Manner) -> Answer:
        self._check_open()
        asked, data = asked_of(plan, options), self._engine.version(tables_of(plan, self.catalog))
        receipt = self._ledger.receipt_for(charge)
        if (receipt.people, receipt.who, receipt.plan) != (plan.people, self.who, asked):
            raise ValueError("this charge is for another question, or of another analyst")
        if receipt.data != data:
            raise ValueError("the rows were written since this charge was made; it has no answer")
        self._settle()
        with self._flights.of((self.who, plan.people, asked, data)).turn:
            recorded = self._ledger.recorded(receipt)
            if recorded is not None and is_readable(recorded):
                return _again(recorded)
            self._make_ready(plan)
            return self._carry_out(plan, options, receipt, manner)

    def _find(self, people: str, asked: str, data: str) -> Answer | None:
        body = self._ledger.find(people, who=self.who, plan=asked, data=data)
        if body is None or not is_readable(body):
            return None  # an answer of a version that this one cannot read is paid for again
        return _again(body)

    def time_of(self, plan: Plan, *, deadline: float) -> float:
        """Return how many seconds the engine takes for a plan; for the owner's eyes alone.

        What it returns is dropped under its seal, so nothing is paid for it. SealedError for what
        takes longer than ``deadline`` seconds.

        Guarantee: none; how long it takes may tell something of the data.
        """
        from sordino.ledger.opening import open_ledger  # which a session has open already

        with self._flights.asking():
            self._check_open()
            self._make_ready(plan)
            with closing(open_ledger(self.catalog, None)) as ledger:  # and forgotten with its entry
                receipt = ledger.charge(
                    plan.people,
                    plan.loss,
                    slack=plan.slack,
                    plan=asked_of(plan, Options()),
                    who=self.who,
                )
            begun = monotonic()
            salt = system().integer(_SALT_BITS)
            self._engine.run(plan.bounded, receipt, salt=salt, deadline=deadline)
            return monotonic() - begun

    def inspect(self) -> Inspection:
        """Read all rows for their owner's eyes: what is left out or cut, which ids are doubtful.

        Nothing is charged. Print what is returned, before the first question, and do not pass it
        on: analysts must not see it, and what is declared must not be chosen by it.

        Guarantee: none; what it tells is exact, and for the owner of the data alone.
        """
        from sordino.engine.inspection import inspect  # loaded only where all rows are read

        self._check_open()
        return inspect(self.catalog)

    def _check_open(self) -> None:
        if self._flights.closed:
            raise ValueError("this session is closed; open it again")

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
            self._flights.closed = True
            self._flights.wait_for_others()
            for rehearsal in self._rehearsals:
                rehearsal.close()
            self._engine.close()
            self._ledger.close()

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.catalog.tables)
        return f"<Session of {tables}; {'; '.join(map(str, self.budget))}>"


def _again(body: bytes) -> Answer:
    return replace(from_bytes(body), again=True)


# Plans, and the identity of what is asked. --------------------------------------------------------

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


# Single flight: of those who ask the same at once, one asks, and the others wait for it. ----------

_STEP = 0.001  # seconds between two looks


class Flight:
    """The turn of one thread to ask a question.

    ``turn`` is taken by ``with`` and nothing in between, so no interrupt leaves it taken.
    """

    def __init__(self) -> None:
        self.turn = Lock()


class _Asking:
    """What a thread does with a session, as a context: one thing at a time."""

    __slots__ = ("__weakref__", "_visits")

    def __init__(self, visits: Visits[_Asking]) -> None:
        self._visits = visits

    def __enter__(self) -> None:
        if get_ident() in self._visits:
            raise RuntimeError(
                "this thread is asking a question already, as when a handler of a signal uses the "
                "session that it has interrupted; wait until it has been answered"
            )
        self._visits.begin(self)

    def __exit__(self, *failure: object) -> None:
        self._visits.end()


class Flights:
    """A turn for each question that is being asked; it is gone when nobody asks it any more.

    ``closed`` tells whoever shares them that no more questions are answered.
    """

    def __init__(self) -> None:
        self.closed = False
        self._begin()

    def asking(self) -> _Asking:
        """Use the session in this thread, as a context.

        A handler of a signal runs in the middle of what its thread does, and would wait for itself
        for ever, or find the ledger within a transaction. So that is refused.
        """
        self._check_process()
        return _Asking(self._visits)

    def closing(self) -> RLock:
        """Return what one thread takes to close the session, before it uses the session for it."""
        self._check_process()
        return self._closing

    def wait_for_others(self) -> None:
        """Wait until no other thread uses the session; what was charged is answered first."""
        while self._visits.others():
            sleep(_STEP)

    def of(self, question: Hashable) -> Flight:
        """Return the turn that whoever asks this question takes."""
        self._check_process()
        with self._guard:
            flight = self._flights.get(question)
            if flight is None:
                flight = self._flights[question] = Flight()
        return flight

    def _check_process(self) -> None:
        if self._process != os.getpid():  # locks of threads that are not in this process
            self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._guard = Lock()
        self._closing = RLock()  # a handler of a signal that closes, too, is refused and not stuck
        self._flights: WeakValueDictionary[Hashable, Flight] = WeakValueDictionary()
        self._visits: Visits[_Asking] = Visits()
