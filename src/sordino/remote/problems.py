# SPDX-License-Identifier: Apache-2.0
"""From the problem document of a server to the exception that a session here would raise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sordino import errors
from sordino.errors import (
    BudgetError,
    BudgetExceeded,
    LedgerError,
    QueryError,
    QuestionTooDear,
    SealedError,
    ServerError,
    SordinoError,
    UnknownAnalyst,
)

PREFIX = "urn:sordino:"
_HINTS = {
    401: "get a token with 'sordino login', or from the owner of the data",
    403: "ask the owner of the data what this token is for",
    412: "look at the price again, and ask at that one",
}


def kebab(kind: type[SordinoError]) -> str:
    """Return the name of a class of errors as it stands in a problem document.

    >>> kebab(BudgetExceeded)
    'budget-exceeded'
    """
    letters = (f"-{x.lower()}" if x.isupper() else x for x in kind.__name__)
    return "".join(letters).removeprefix("-")


def _all(kind: type[SordinoError]) -> list[type[SordinoError]]:
    return [kind, *(below for one in kind.__subclasses__() for below in _all(one))]


_QUERY = {kebab(kind): kind for kind in _all(QueryError)}
_PYTHONS = {"value-error": ValueError, "type-error": TypeError}


def error_of(problem: Any, status: int, *, sql: str = "") -> Exception:
    """Return the exception that a problem document stands for; ``sql`` is what was asked.

    What a server says is text for a person: nothing of it is carried out, and a document of
    another form becomes a ServerError.
    """
    told: Mapping[str, Any] = problem if isinstance(problem, dict) else {}
    kind = _text(told, "type").removeprefix(PREFIX)
    message = _text(told, "detail") or f"the server refused with status {status}"
    if kind in _QUERY:
        return _query_error(_QUERY[kind], told, message, sql)
    if kind in _PYTHONS:
        return _PYTHONS[kind](message)
    if kind == kebab(SealedError):
        return SealedError()
    if kind == kebab(LedgerError):
        return LedgerError(message)
    budget = _budget_error(kind, told.get("arguments"))
    if budget is not None:
        return budget
    hint = _text(told, "hint") or _HINTS.get(status, "")
    return ServerError(_text(told, "code") or "server", message, hint=hint, status=status)


def _query_error(
    kind: type[SordinoError], told: Mapping[str, Any], message: str, sql: str
) -> Exception:
    make: type[QueryError] = getattr(errors, kind.__name__)
    span = told.get("span")
    ends = span if isinstance(span, list) and all(type(end) is int for end in span) else []
    return make(
        _text(told, "code"),
        message,
        why=_text(told, "why"),
        hint=_text(told, "hint"),
        span=(ends[0], ends[1]) if len(ends) == 2 else None,
        sql=sql,
    )


def _budget_error(kind: str, arguments: Any) -> BudgetError | None:
    match kind, arguments:
        case "budget-exceeded", [str(asked), str(left), str(hint)]:
            return BudgetExceeded(asked, left, hint)
        case "question-too-dear", [str(asked), str(most)]:
            return QuestionTooDear(asked, most)
        case "unknown-analyst", [str(who), [*named]] if all(isinstance(n, str) for n in named):
            return UnknownAnalyst(who, tuple(named))
        case _:
            return None


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""
