# SPDX-License-Identifier: Apache-2.0
import pytest

from sordino import dbapi
from sordino.dbapi.errors import translated
from sordino.errors import (
    BudgetExceeded,
    CatalogError,
    LedgerError,
    QuestionTooDear,
    SealedError,
    SyntaxFault,
    Unsupported,
)

SQL = "SELECT SUM(agee) FROM visits"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SyntaxFault("syntax", "no", hint="yes", span=(7, 10), sql=SQL), dbapi.ProgrammingError),
        (Unsupported("function", "no"), dbapi.ProgrammingError),
        (BudgetExceeded("epsilon 2", "epsilon 1", "ask less"), dbapi.OperationalError),
        (QuestionTooDear("epsilon 2", "epsilon 1"), dbapi.OperationalError),
        (LedgerError("it is gone"), dbapi.OperationalError),
        (CatalogError("it is wrong"), dbapi.OperationalError),
        (SealedError(), dbapi.DatabaseError),
        (TypeError("epsilon must be a number"), dbapi.ProgrammingError),
        (ValueError("epsilon must be positive"), dbapi.ProgrammingError),
    ],
)
def test_an_error_keeps_its_text_and_is_the_cause(
    ours: Exception, theirs: type[dbapi.Error]
) -> None:
    with pytest.raises(dbapi.Error) as raised, translated():
        raise ours
    assert type(raised.value) is theirs
    assert str(raised.value) == str(ours)
    assert raised.value.__cause__ is ours


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), dbapi.InterfaceError("no")])
def test_other_errors_pass(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised, translated():
        raise error
    assert raised.value is error


def test_the_errors_are_related_as_the_interface_wants() -> None:
    assert dbapi.Warning.__bases__ == dbapi.Error.__bases__ == (Exception,)
    assert dbapi.InterfaceError.__bases__ == dbapi.DatabaseError.__bases__ == (dbapi.Error,)
    for kind in (
        dbapi.DataError,
        dbapi.OperationalError,
        dbapi.IntegrityError,
        dbapi.InternalError,
        dbapi.ProgrammingError,
        dbapi.NotSupportedError,
    ):
        assert kind.__bases__ == (dbapi.DatabaseError,)
        assert getattr(dbapi.Connection, kind.__name__) is kind
    assert dbapi.Connection.Error is dbapi.Error
    assert dbapi.Connection.InterfaceError is dbapi.InterfaceError
    assert dbapi.Connection.DatabaseError is dbapi.DatabaseError
    assert dbapi.Connection.Warning is dbapi.Warning
