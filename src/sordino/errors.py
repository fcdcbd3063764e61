# SPDX-License-Identifier: Apache-2.0
"""Errors of our own, sorted by what their text may reveal; wrong arguments raise Python's own."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]  # first character of a clause, and the one after its last


def error_json(
    code: str, message: str, *, why: str = "", hint: str = "", span: Span | None = None
) -> dict[str, object]:
    """Return the one shape that all errors have for programs.

    >>> error_json("argument", "epsilon must be a positive number, got 0")["hint"]
    ''
    """
    where = None if span is None else list(span)
    return {"code": code, "message": message, "why": why, "hint": hint, "span": where}


class SordinoError(Exception):
    """What every error of our own is, so that one clause catches them all."""

    code: str = "sordino"


class CodedError(SordinoError):
    """An error whose code, sentence and hint are given where it is raised."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.hint = hint


class QueryError(CodedError):
    """A question cannot be answered; the text depends on the question and the catalog alone.

    ``message`` says what is wrong in one sentence, ``why`` what would leak or break, ``hint`` the
    smallest edit that would be accepted, and ``span`` where in ``sql`` the clause stands.

    >>> sql = "SELECT SUM(agee) FROM visits"
    >>> text, hint = "visits has no column 'agee'", "did you mean age?"
    >>> error = UnknownName("unknown_column", text, hint=hint, span=(11, 15), sql=sql)
    >>> print(error)
    visits has no column 'agee'
      SELECT SUM(agee) FROM visits
                 ^^^^
    hint: did you mean age?
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        why: str = "",
        hint: str = "",
        span: Span | None = None,
        sql: str = "",
    ) -> None:
        super().__init__(code, message, hint=hint)
        self.why = why
        self.span = span
        self.sql = sql

    def __str__(self) -> str:
        lines = [self.message]
        if self.span is not None and self.sql:
            lines += _underlined(self.sql, self.span)
        if self.why:
            lines.append(f"why: {self.why}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        """Return what a program needs, in the one shape that all errors have."""
        return error_json(self.code, self.message, why=self.why, hint=self.hint, span=self.span)


class SyntaxFault(QueryError):
    """The text is not SQL, or not one statement of it."""


class Unsupported(QueryError):
    """The question is SQL, but it is not answered: it would leak, or nobody has built it."""


class UnknownName(QueryError):
    """A table or a column is not in the catalog."""


class MissingBound(QueryError):
    """The catalog does not say what is needed to bound how far one person moves the answer."""


class CatalogError(SordinoError):
    """What the owner declared is wrong; the text is for the owner alone."""

    code: str = "catalog"


class HeaderError(CatalogError):
    """The header of a file lacks a declared column.

    A file without a header has a row in its place. So what stands there is for those alone who may
    open the file; ``message`` is the text without it.

    >>> str(HeaderError("the file has no column 'age'", ["id", "ward"]))
    "the file has no column 'age'; its header has id, ward"
    """

    def __init__(self, message: str, header: Sequence[str]) -> None:
        super().__init__(message, tuple(header))
        self.message = message
        self.header = tuple(header)

    def __str__(self) -> str:
        return f"{self.message}; its header has {', '.join(self.header)}"


class LedgerError(SordinoError):
    """The ledger cannot be used; the text is for the owner alone."""

    code: str = "ledger"


class AnsweredError(LedgerError):
    """A charge has its answer on record, and pays for no second one."""


class SealedError(SordinoError):
    """Something failed after the charge; the text is always the same, whatever the data holds."""

    code: str = "sealed"

    def __init__(self) -> None:
        super().__init__(
            "the question could not be answered; the charge stays, and the owner's log says why: "
            "'sordino log' shows it to the owner"
        )


class BudgetError(SordinoError):
    """A budget says no; the text depends on what was spent, never on the data.

    ``message`` says what is wrong, and ``hint`` what to do.
    """

    code: str = "budget"
    hint: str

    @property
    def message(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}"


class BudgetExceeded(BudgetError):
    """What was asked for costs more than is left; nothing was charged.

    >>> str(BudgetExceeded("epsilon 0.5", "epsilon 0.25", "epsilon 0.25 or less would fit"))
    'this asks for epsilon 0.5, but epsilon 0.25 is left; epsilon 0.25 or less would fit'
    """

    code: str = "budget_exceeded"

    def __init__(self, asked: str, left: str, hint: str) -> None:
        super().__init__(asked, left, hint)
        self.asked = asked
        self.left = left
        self.hint = hint

    @property
    def message(self) -> str:
        return f"this asks for {self.asked}, but {self.left} is left"


class QuestionTooDear(BudgetError):
    """One question costs more than the owner allows for one; nothing was charged.

    >>> str(QuestionTooDear("epsilon 2", "epsilon 0.5"))
    'this asks for epsilon 2, but one question may cost at most epsilon 0.5; ask for less'
    """

    code: str = "question_too_dear"

    def __init__(self, asked: str, most: str) -> None:
        super().__init__(asked, most)
        self.asked = asked
        self.most = most
        self.hint = "ask for less"

    @property
    def message(self) -> str:
        return f"this asks for {self.asked}, but one question may cost at most {self.most}"


class UnknownAnalyst(BudgetError):
    """The catalog says who may ask, and this is somebody else; nothing was charged.

    >>> print(UnknownAnalyst("alcie", ("alice", "bob")).hint)
    ask as one of them, or add [analysts.alcie], or [analysts."*"] for everybody
    """

    code: str = "unknown_analyst"

    def __init__(self, who: str, named: tuple[str, ...]) -> None:
        super().__init__(who, named)
        self.who = who
        self.named = named
        self.hint = f'ask as one of them, or add [analysts.{who}], or [analysts."*"] for everybody'

    @property
    def message(self) -> str:
        names = ", ".join(map(repr, self.named))
        return f"{self.who!r} is not among the analysts that the catalog names, who are {names}"


class ServerError(CodedError):
    """A server did not do what it was asked for, or could not be asked.

    ``message`` says what is wrong, ``hint`` what to do, and ``status`` is that of HTTP, None where
    no reply came. The text never holds a token.

    >>> str(ServerError("forbidden", "this token may not do that", status=403))
    'this token may not do that'
    """

    code: str = "server"

    def __init__(
        self, code: str, message: str, *, hint: str = "", status: int | None = None
    ) -> None:
        super().__init__(code, message, hint=hint)
        self.status = status

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class NotConnected(ServerError):
    """A server cannot be reached, or went away; whether a question was charged is not known.

    Asking the same again is answered without paying again.
    """

    code: str = "not_connected"


class ApprovalNeeded(ServerError):
    """A question costs so much that somebody has to approve it first; nothing was charged.

    ``request`` is the number of the request that was made for it. Ask again once it is approved.
    """

    code: str = "approval_needed"

    def __init__(self, request: str) -> None:
        super().__init__(
            self.code,
            f"this costs more than may be asked without approval; request {request} was made for "
            "it, and nothing was charged",
            hint="ask the same again once it is approved",
            status=202,
        )
        self.request = request


def _underlined(sql: str, span: Span) -> list[str]:
    """Return the line a clause begins on, and a line that marks the clause."""
    start, stop = span
    first = sql.rfind("\n", 0, start) + 1
    last = sql.find("\n", start)
    line = sql[first:] if last < 0 else sql[first:last]
    width = max(1, min(stop, first + len(line)) - start)
    return [f"  {line}", "  " + " " * (start - first) + "^" * width]
