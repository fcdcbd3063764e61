# SPDX-License-Identifier: Apache-2.0
"""Errors as documents: one shape for all, and the same bytes where nothing may be told apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sordino.channel.frames import Reply
from sordino.errors import (
    BudgetError,
    BudgetExceeded,
    QueryError,
    QuestionTooDear,
    SealedError,
    SordinoError,
    UnknownAnalyst,
)

MEDIA = "application/problem+json"
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Refusal(SordinoError):
    """The keeper does not do what a request asks for; the text is for whoever has sent it."""

    def __init__(
        self,
        code: str,
        status: int,
        message: str,
        *,
        hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.message = message
        self.hint = hint
        self.headers = dict(headers or {})


class WrongArgument(SordinoError):
    """An argument is wrong, as one of Python's own errors says of what was sent alone."""

    code: str = "argument"

    def __init__(self, error: TypeError | ValueError) -> None:
        super().__init__(str(error))
        self.error = error


class InternalError(SordinoError):
    """Something failed that should not; the text is always the same."""

    code: str = "internal"

    def __init__(self) -> None:
        super().__init__(
            "the server could not do this, and nothing was charged for it; the owner's log says why"
        )


@contextmanager
def arguments() -> Iterator[None]:
    """Let what Python says of arguments be told, where nothing else can raise it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise WrongArgument(error) from None


def unknown_token() -> Refusal:
    """Say that nobody is known by a credential; the same, whatever is wrong with it."""
    return Refusal(
        "unauthenticated",
        401,
        "this needs a token that is known, not expired and not revoked",
        hint="get one with 'sordino login', or from the owner of the data",
        headers={"WWW-Authenticate": "Bearer"},
    )


def forbidden() -> Refusal:
    """Say that a token may not do this; the same, whether its person or the token may not."""
    return Refusal("forbidden", 403, "this token may not do that")


def not_there() -> Refusal:
    """Say that there is no such thing; the same where there is one that is somebody else's."""
    return Refusal("not_there", 404, "there is no such thing here, or it is not yours to see")


def busy() -> Refusal:
    """Say that there was no place for a question, or too late; nothing was charged for it."""
    return Refusal(
        "busy",
        503,
        "too many questions are being answered; nothing was charged for this one",
        headers={"Retry-After": "5"},
    )


def wrong_body(message: str) -> Refusal:
    """Say that a body does not have the form that it should have."""
    return Refusal("body", 400, message)


def too_many(message: str, seconds: int) -> Refusal:
    """Say that somebody has done something so often that it is another day's."""
    return Refusal("too_many", 429, message, headers={"Retry-After": str(seconds)})


def document(error: Exception) -> dict[str, Any]:
    """Return the problem document of an error whose text whoever asked may read.

    >>> document(SealedError())["status"]
    500
    """
    match error:
        case Refusal():
            kind, status = error.code.replace("_", "-"), error.status
            told: dict[str, Any] = {"hint": error.hint}
        case QueryError():
            kind, status = kebab(error), 422
            told = {"why": error.why, "hint": error.hint, "span": _span(error)}
        case BudgetError():
            kind, status = kebab(error), 409
            told = {"hint": error.hint, "arguments": _arguments(error)}
        case SealedError():
            kind, status, told = kebab(error), 500, {}
        case InternalError():
            kind, status, told = error.code, 500, {}
        case WrongArgument():
            kind = "type-error" if isinstance(error.error, TypeError) else "value-error"
            status, told = 400, {"arguments": [str(error)]}
        case _:
            return dict(INTERNAL)
    message = getattr(error, "message", None) or str(error)
    return _document(kind, status, error.code, message, **told)


def _document(
    kind: str,
    status: int,
    code: str,
    message: str,
    *,
    why: str = "",
    hint: str = "",
    span: list[int] | None = None,
    arguments: list[Any] | None = None,
) -> dict[str, Any]:
    return {
        "type": f"urn:sordino:{kind}",
        "title": kind.replace("-", " "),
        "status": status,
        "detail": message,
        "code": code,
        "why": why,
        "hint": hint,
        "span": span,
        "arguments": arguments or [],
    }


def _span(error: QueryError) -> list[int] | None:
    return None if error.span is None else list(error.span)


def _arguments(error: BudgetError) -> list[Any]:
    match error:
        case BudgetExceeded():
            return [error.asked, error.left, error.hint]
        case QuestionTooDear():
            return [error.asked, error.most]
        case UnknownAnalyst():
            return [error.who, list(error.named)]
        case _:
            return []


def kebab(error: Exception) -> str:
    """Return the name of a class of errors as it stands in the type of a problem.

    >>> kebab(BudgetExceeded("a", "b", "c"))
    'budget-exceeded'
    """
    return _WORD.sub("-", type(error).__name__).lower()


def problem(found: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Reply:
    """Return the reply that carries a problem document."""
    body = json.dumps(found, separators=(",", ":")).encode()
    return Reply(int(found["status"]), MEDIA, body, dict(headers or {}))


def reply_of(error: Exception) -> Reply:
    """Return the reply to a request that ended in an error which may be told."""
    return problem(document(error), error.headers if isinstance(error, Refusal) else None)


# What says nothing of its cause: the owner's log does. ------------------------------------------

INTERNAL = document(InternalError())
_UNUSABLE = _document(
    "ledger-error",
    503,
    "ledger",
    "no question can be answered now; the owner's log says why",
)
SEALED = problem(document(SealedError()))
UNUSABLE = problem(_UNUSABLE, {"Retry-After": "60"})
BROKEN = problem(INTERNAL)
