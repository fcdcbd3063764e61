# SPDX-License-Identifier: Apache-2.0
"""The errors that PEP 249 names, and which of them stands for which of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sordino.errors import (
    BudgetError,
    CatalogError,
    LedgerError,
    QueryError,
    ServerError,
    SordinoError,
)


class Warning(Exception):  # noqa: A001 - the name is the interface's
    """An important warning; none is given so far."""


class Error(Exception):
    """Every error of a connection or a cursor; ``__cause__`` is ours, where there is one."""


class InterfaceError(Error):
    """A connection or a cursor is used after it was closed."""


class DatabaseError(Error):
    """Something failed after the charge, or one of the errors below."""


class DataError(DatabaseError):
    """A value is at fault; nothing raises it, because no value of the data may show in an error."""


class OperationalError(DatabaseError):
    """The budget says no, or the ledger or the catalog cannot be used."""


class IntegrityError(DatabaseError):
    """The data contradict themselves; nothing raises it, because nothing is written."""


class InternalError(DatabaseError):
    """The database is confused; nothing raises it."""


class ProgrammingError(DatabaseError):
    """The question or an argument is at fault."""


class NotSupportedError(DatabaseError):
    """The interface has it, but it has no meaning here."""


_KINDS: tuple[tuple[type[Exception], type[Error]], ...] = (
    (QueryError, ProgrammingError),
    (BudgetError, OperationalError),
    (LedgerError, OperationalError),
    (CatalogError, OperationalError),
    (ServerError, OperationalError),
    (SordinoError, DatabaseError),
    (TypeError, ProgrammingError),
    (ValueError, ProgrammingError),
)


@contextmanager
def translated() -> Iterator[None]:
    """Raise our errors as those of the interface, with the same text and ours as the cause.

    >>> try:
    ...     with translated():
    ...         raise ValueError("epsilon must be positive")
    ... except Error as error:
    ...     print(type(error).__name__, "-", error)
    ProgrammingError - epsilon must be positive

    Guarantee: the text is that of the error; nothing is added.
    """
    try:
        yield
    except (SordinoError, TypeError, ValueError) as error:
        kind = next(kind for ours, kind in _KINDS if isinstance(error, ours))
        raise kind(str(error)) from error
