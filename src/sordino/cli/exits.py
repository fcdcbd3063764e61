# SPDX-License-Identifier: Apache-2.0
"""How commands end: one message that says what is wrong, and a number that says of what kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from sordino.errors import BudgetError, LedgerError, QueryError, SealedError, SordinoError

FAILED = 1  # after the charge, or output could not be written, or a check or audit found something
WRONG = 2  # the question, an argument, or the catalog
REFUSED = 3  # by the budget
UNUSABLE = 4  # the ledger
INTERRUPTED = 130

MEANINGS = (
    "Exit codes: 0 all is well; 1 it failed; 2 the request is wrong; 3 the budget says no; "
    "4 the ledger cannot be used; 130 interrupted."
)


def code_of(error: Exception) -> int:
    """Return the exit code of an error."""
    match error:
        case BudgetError():
            return REFUSED
        case LedgerError():
            return UNUSABLE
        case SealedError():
            return FAILED
        case _:
            return WRONG


def error_as_json(error: Exception) -> dict[str, object]:
    """Return an error in the one shape that all errors have."""
    if isinstance(error, QueryError):
        return error.as_json()
    code = error.code if isinstance(error, SordinoError) else "argument"
    hint = getattr(error, "hint", "")
    message = str(error).removesuffix(f"; {hint}") if hint else str(error)
    return {"code": code, "message": message, "why": "", "hint": hint, "span": None}


def words_of(error: Exception) -> str:
    """Return what an error says, a part of the question with it, so that no terminal obeys it."""
    from sordino.answer.render import printable  # answers load numpy, which help does not need

    return "\n".join(printable(line.replace("\t", " ")) for line in str(error).split("\n"))


@contextmanager
def refusals(*, as_json: bool = False) -> Iterator[None]:
    """Show an error as one message on standard error, and leave with its code."""
    try:
        yield
    except (SordinoError, ValueError, TypeError) as error:
        said = json.dumps(error_as_json(error)) if as_json else f"sordino: {words_of(error)}"
        typer.echo(said, err=True)
        raise typer.Exit(code_of(error)) from None
