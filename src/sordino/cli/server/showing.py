# SPDX-License-Identifier: Apache-2.0
"""How commands show what a server has replied: a sentence or a table, or all of it as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import typer


def day(seconds: float) -> str:
    """Return a time in words, to the minute.

    >>> day(0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def say(made: object, said: str, *, as_json: bool) -> None:
    """Print what was done."""
    typer.echo(json.dumps(made, indent=2) if as_json else said)


def show(
    made: object, titles: tuple[str, ...], rows: list[tuple[str, ...]], *, as_json: bool
) -> None:
    """Print a table."""
    if as_json:
        typer.echo(json.dumps(made, indent=2))
        return
    from rich.text import Text  # this and the following load rich

    from sordino.answer.render import printable
    from sordino.cli.terminal import console_for, table_with

    shown = table_with(*titles)
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    console_for().print(shown)
