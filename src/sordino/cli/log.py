# SPDX-License-Identifier: Apache-2.0
"""`sordino log`: why questions failed after their charge, for the owner."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from sordino.answer.render import printable
from sordino.catalog.toml import read_catalog
from sordino.cli.shown import console_for
from sordino.session.owner_log import OLDER, check_log


def log(catalog: Path, *, last: int, as_json: bool) -> None:
    """Print the newest lines, the last one last; raises ValueError if there is no log."""
    declared = read_catalog(catalog)
    path = check_log(declared, declared.book)
    if path is None:
        raise ValueError("this catalog keeps no log; state a file under [log] to have one")
    lines = _lines(path, last)
    if as_json:
        typer.echo(json.dumps(lines, indent=2))
        return
    console = console_for()
    if not lines:
        console.print("nothing has failed after its charge")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("at", "process", "charge", "what"):
        table.add_column(title, overflow="fold", no_wrap=title != "what")
    for line in lines:
        told = [_shown(line.get(name, "")) for name in ("at", "pid", "charge", "what")]
        failure = _shown(line.get("failure", ""))
        if failure and failure not in told[-1]:
            told[-1] += f": {failure}"
        table.add_row(*map(Text, told))
    console.print(table)


def _lines(path: Path, last: int) -> list[dict[str, Any]]:
    """Return the newest lines, those that were put aside first."""
    kept: deque[bytes] = deque(maxlen=last)
    there = False
    for one in (path.with_name(path.name + OLDER), path):
        try:
            with one.open("rb") as file:
                kept.extend(file)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ValueError(f"the log {str(one)!r} cannot be read: {error.strerror}") from None
        there = True
    if not there:
        raise ValueError(f"there is no log {str(path)!r} yet; the first session makes it")
    return [_read(line) for line in kept]


def _read(line: bytes) -> dict[str, Any]:
    """Return what a line tells; one that was cut short is shown as it is."""
    text = line.decode("utf-8", "replace").rstrip("\n")
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    return told if isinstance(told, dict) else {"what": text}


def _shown(value: object) -> str:
    return printable(str(value))
