# SPDX-License-Identifier: Apache-2.0
"""Connections and cursors: a session, what its questions usually cost, and the rows of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import NoReturn, TypeAlias, Unpack

from sordino.answer import Answer
from sordino.answer.frames import fitting, free_name
from sordino.catalog.model import Catalog
from sordino.dbapi import errors
from sordino.dbapi.errors import InterfaceError, NotSupportedError, ProgrammingError, translated
from sordino.dbapi.types import bound, type_code
from sordino.ledger.ledger import Ledger
from sordino.plan.ask import Terms, merged, read_ask
from sordino.query.types import Type
from sordino.remote import RemoteSession
from sordino.remote import connect as connect_to
from sordino.session import Session, open_catalog
from sordino.session.session import OWNER

_SCHEMES = ("https://", "http://")

Row: TypeAlias = tuple[object, ...]
Described: TypeAlias = tuple[str, str, None, None, None, None, None]


def connect(
    catalog: str | PathLike[str] | Catalog | Session | RemoteSession = "sordino.toml",
    *,
    who: str | None = None,
    ledger: str | PathLike[str] | Ledger | None = None,
    receipt: str | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    token: str | None = None,
    intervals: bool = False,
    **stated: Unpack[Terms],
) -> Connection:
    """Open a catalog, or take a session, and return a connection to it.

    An address such as ``https://study.example`` asks a server, by a ``token`` or by the one that
    ``sordino login`` has kept. Otherwise the first arguments are those of ``so.open``. With
    ``intervals`` each noisy column ``n`` is followed by ``n_low`` and ``n_high``. All others are
    those of ``Session.ask``: the price of each question, by ``epsilon``, ``rho`` or ``within``, and
    how it is answered. For a single question they can be said anew in ``Cursor.execute``.
    """
    with translated():
        terms = merged({}, stated)
        local = (who, ledger, receipt, threads, memory_limit)
        if isinstance(catalog, str) and catalog.startswith(_SCHEMES):
            _check_none(local, "a server knows these by itself; give a token")
            remote = connect_to(catalog, token=token)
            return Connection(remote, owned=True, intervals=intervals, terms=terms)
        if token is not None:
            raise TypeError("a token is for a server; name one, such as 'https://study.example'")
        if not isinstance(catalog, Session | RemoteSession):
            session = open_catalog(
                catalog,
                who=OWNER if who is None else who,
                ledger=ledger,
                receipt=receipt,
                threads=threads,
                memory_limit=memory_limit,
            )
            return Connection(session, owned=True, intervals=intervals, terms=terms)
        _check_none(
            local,
            "a session that is open has its analyst and its ledger already; "
            "give these to so.open or so.table",
        )
        return Connection(catalog, owned=False, intervals=intervals, terms=terms)


def _check_none(stated: Sequence[object], why: str) -> None:
    if any(one is not None for one in stated):
        raise TypeError(why)


class Connection:
    """A session behind the interface of PEP 249; made by ``connect``.

    ``session`` is the session itself, to ask for ``session.budget`` or ``session.explain``.
    Threads may share a connection, each with cursors of its own.
    """

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(
        self, session: Session | RemoteSession, *, owned: bool, intervals: bool, terms: Terms
    ) -> None:
        self.session = session
        self.intervals = intervals
        self.terms = terms
        self._owned = owned
        self._closed = False

    def cursor(self) -> Cursor:
        """Return a new cursor."""
        self.check_open()
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing: every charge and every answer is durable before it is seen."""
        self.check_open()

    def rollback(self) -> NoReturn:
        """Refuse: an answer that was seen cannot be unseen, so no charge is taken back."""
        self.check_open()
        raise NotSupportedError("there are no transactions here: no charge is ever taken back")

    def close(self) -> None:
        """Close the session, unless it was given; the connection cannot be used any more."""
        if self._owned and not self._closed:
            self.session.close()
        self._closed = True

    def check_open(self) -> None:
        """Raise InterfaceError if the connection was closed."""
        if self._closed:
            raise InterfaceError("this connection is closed; connect again")

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class Cursor:
    """Asks questions and hands out the rows of the last answer; made by ``Connection.cursor``.

    ``answer`` is the whole answer, with error bars, price and receipt.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._closed = False
        self._forget()

    def execute(
        self, operation: str, parameters: Sequence[object] | None = None, **stated: Unpack[Terms]
    ) -> Cursor:
        """Ask a question: it is priced, charged and answered.

        Each ``?`` stands for one of the parameters. What is said by keywords, such as
        ``epsilon=0.2``, holds for this question in place of what the connection says.
        """
        self._check_open()
        self._forget()
        with translated():
            terms = merged(self.connection.terms, stated)
            ask = read_ask(bound(operation, parameters), **terms)
            answer = self.connection.session.answer_ask(ask)
        self._keep(answer)
        return self

    def executemany(self, operation: str, seq_of_parameters: object) -> NoReturn:
        """Refuse: a question is asked once, and each one is paid for by itself."""
        del operation, seq_of_parameters
        raise NotSupportedError(
            "executemany would pay for many questions and keep no answer; call execute for each"
        )

    @property
    def answer(self) -> Answer:
        """The whole answer to the last question."""
        return self._answered()

    @property
    def description(self) -> tuple[Described, ...] | None:
        """The name and the type of each column, as PEP 249 wants them; None before an answer."""
        return self._description

    @property
    def rowcount(self) -> int:
        """How many rows the last answer has; -1 before an answer."""
        return -1 if self._answer is None else len(self._answer)

    def fetchone(self) -> Row | None:
        """Return the next row of the answer, or None after the last one."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Return the next rows of the answer, ``arraysize`` of them if no size is given."""
        self._check_open()
        self._answered()
        count = self.arraysize if size is None else size
        if count < 0:
            raise ProgrammingError(f"size must be at least 0, not {count}")
        rows = self._rows[self._next : self._next + count]
        self._next += len(rows)
        return rows

    def fetchall(self) -> list[Row]:
        """Return the rows of the answer that were not fetched yet."""
        return self.fetchmany(len(self._rows))

    def setinputsizes(self, sizes: object) -> None:
        """Do nothing; the interface asks for it."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing; the interface asks for it."""

    def close(self) -> None:
        """Let go of the answer; the cursor cannot be used any more."""
        self._closed = True
        self._forget()

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _forget(self) -> None:
        self._answer: Answer | None = None
        self._description: tuple[Described, ...] | None = None
        self._rows: list[Row] = []
        self._next = 0

    def _keep(self, answer: Answer) -> None:
        columns = list(_columns(answer, intervals=self.connection.intervals))
        self._description = tuple(
            (name, code, None, None, None, None, None) for name, code, _ in columns
        )
        self._rows = list(zip(*(values for _, _, values in columns), strict=True))
        self._answer = answer

    def _answered(self) -> Answer:
        if self._answer is None:
            raise ProgrammingError("there is no answer; call execute first")
        return self._answer

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("this cursor is closed; ask the connection for another")
        self.connection.check_open()


def _columns(answer: Answer, *, intervals: bool) -> Iterator[tuple[str, str, list[object]]]:
    """Yield the name, the type and the values of each column that the rows have."""
    names = set(answer.titles)
    for column in answer.columns:
        code = type_code(column.type, listed=column.listed)
        yield column.title, code, [fitting(value) for value in column.values]
        if intervals and column.low is not None and column.high is not None:
            for name, ends in (("low", column.low), ("high", column.high)):
                yield (
                    free_name(f"{column.title}_{name}", names),
                    type_code(Type.REAL),
                    list(ends),
                )
