# SPDX-License-Identifier: Apache-2.0
"""A connection: a session, and what its questions usually cost."""

from __future__ import annotations

from os import PathLike
from typing import NoReturn, Unpack

from sordino.catalog.model import Catalog
from sordino.dbapi import errors
from sordino.dbapi.cursor import Cursor
from sordino.dbapi.errors import InterfaceError, NotSupportedError, translated
from sordino.ledger.ledger import Ledger
from sordino.plan.ask import Terms, merged
from sordino.session import Session, open_catalog
from sordino.session.session import OWNER


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

    def __init__(self, session: Session, *, owned: bool, intervals: bool, terms: Terms) -> None:
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


def connect(
    catalog: str | PathLike[str] | Catalog | Session = "sordino.toml",
    *,
    who: str | None = None,
    ledger: str | PathLike[str] | Ledger | None = None,
    receipt: str | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    intervals: bool = False,
    **stated: Unpack[Terms],
) -> Connection:
    """Open a catalog, or take a session, and return a connection to it.

    The first arguments are those of ``so.open``. With ``intervals`` each noisy column ``n`` is
    followed by ``n_low`` and ``n_high``. All others are those of ``Session.ask``: the price of each
    question, by ``epsilon``, ``rho`` or ``within``, and how it is answered. For a single question
    they can be said anew in ``Cursor.execute``.
    """
    with translated():
        terms = merged({}, stated)
        if not isinstance(catalog, Session):
            session = open_catalog(
                catalog,
                who=OWNER if who is None else who,
                ledger=ledger,
                receipt=receipt,
                threads=threads,
                memory_limit=memory_limit,
            )
            return Connection(session, owned=True, intervals=intervals, terms=terms)
        if any(given is not None for given in (who, ledger, receipt, threads, memory_limit)):
            raise TypeError(
                "a session that is open has its analyst and its ledger already; "
                "give these to so.open or so.table"
            )
        return Connection(catalog, owned=False, intervals=intervals, terms=terms)
