# SPDX-License-Identifier: Apache-2.0
"""Wrong words on the command line, told like every other error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperGroup

from sordino.cli.exits import WRONG

_JSON = "--json"
_AS_JSON = "sordino.as_json"  # in what contexts remember
_USAGE: Any = typer.BadParameter.__base__  # what all wrong words are, whoever defines it
_NO_ARGUMENTS = "NoArgsIsHelpError"  # shows the help


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
        if as_json:
            told = {"code": "argument", "message": message, "why": "", "hint": hint, "span": None}
            typer.echo(json.dumps(told), err=True)
        else:
            typer.echo(f"sordino: {message}\nhint: {hint}", err=True)
        raise typer.Exit(WRONG) from None
