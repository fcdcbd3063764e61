# SPDX-License-Identifier: Apache-2.0
"""How commands end: one message that says what is wrong, and a number that says of what kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperGroup

from sordino.errors import (
    BudgetError,
    LedgerError,
    SealedError,
    SordinoError,
    error_json,
)

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
        show_error(error, as_json=as_json)
        raise typer.Exit(code_of(error)) from None


def show_error(error: Exception, *, as_json: bool) -> None:
    """Print an error on standard error."""
    if as_json:
        from sordino.session.service import error_to_json  # loads what a wrong option does not need

        typer.echo(json.dumps(error_to_json(error)), err=True)
    else:
        typer.echo(f"sordino: {words_of(error)}", err=True)


def show_fault(code: str, message: str, hint: str, *, as_json: bool, between: str = "; ") -> None:
    """Print on standard error what is no exception of ours: wrong options, an interrupt."""
    if as_json:
        typer.echo(json.dumps(error_json(code, message, hint=hint)), err=True)
    else:
        typer.echo(f"sordino: {message}{between}{hint}", err=True)


_JSON = "--json"
_AS_JSON = "sordino.as_json"  # its place in the memory of a context
_USAGE: Any = typer.BadParameter.__base__  # the error about all wrong words, whoever defines it
_NO_ARGUMENTS = "NoArgsIsHelpError"  # the error that shows the help


class Commands(TyperGroup):
    """A group of commands that tells what is wrong in one sentence, or in one line of JSON."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Read the words that are for the group itself."""
        as_json = _JSON in args
        with _told(as_json=as_json):
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[_AS_JSON] = as_json
        return context

    def invoke(self, ctx: Any) -> Any:
        """Read the words that are for a command, and carry it out."""
        with _told(as_json=ctx.meta[_AS_JSON]):
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command, and refuse an option that would swallow the next one as its value."""
        name, command, words = super().resolve_command(ctx, args)
        options = {word: one for one in getattr(command, "params", ()) for word in one.opts}
        for word, after in pairwise(words):
            if word == "--":
                break
            if word in options and after in options and not getattr(options[word], "is_flag", True):
                _refuse(f"{word} needs a value, and {after} follows it", ctx, name)
        return name, command, words


def _refuse(message: str, ctx: Any, name: str | None) -> None:
    raise _USAGE(message, ctx if name is None else type(ctx)(ctx.command, ctx, name))


@contextmanager
def _told(*, as_json: bool) -> Iterator[None]:
    """Show what is wrong with the words as one message on standard error."""
    try:
        yield
    except _USAGE as error:
        if type(error).__name__ == _NO_ARGUMENTS:
            raise
        said = error.format_message().rstrip(".")
        message = f"{said[:1].lower()}{said[1:]}"
        path = "sordino" if error.ctx is None else error.ctx.command_path
        hint = f"see '{path} --help'"
        show_fault("argument", message, hint, as_json=as_json, between="\nhint: ")
        raise typer.Exit(WRONG) from None
