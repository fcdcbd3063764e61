# SPDX-License-Identifier: Apache-2.0
"""How the commands of the local model look: a bar, pictures, errors in points."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sordino.cli.exits import INTERRUPTED
from sordino.cli.shown import console_for

_PICTURES = (".png", ".svg", ".pdf")


@contextmanager
def bar(doing: str, total: int, *, as_json: bool, nothing: str) -> Iterator[Callable[[int], None]]:
    """Give a way to say that so many more are done: a bar on a terminal, nothing elsewhere."""
    console = console_for(errors=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} reports"),
        TimeElapsedColumn(),
    )
    shown = Progress(
        *columns, console=console, transient=True, disable=as_json or not console.is_terminal
    )
    task = shown.add_task(doing, total=total)
    try:
        with shown:
            yield lambda many: shown.advance(task, many)
    except KeyboardInterrupt:
        told = {"code": "interrupted", "message": "stopped", "why": "", "hint": nothing}
        said = json.dumps({**told, "span": None}) if as_json else f"sordino: stopped; {nothing}"
        typer.echo(said, err=True)
        raise typer.Exit(INTERRUPTED) from None


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn, before the work is done."""
    if path is None:
        return
    if path.suffix.lower() not in _PICTURES:
        raise ValueError(
            f"--plot must name a file that ends in {' or '.join(_PICTURES)}, got {path}"
        )
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")


def draw(path: Path | None, picture: Callable[[Path], Any]) -> None:
    """Draw a picture if one is wanted."""
    if path is None:
        return
    try:
        picture(path)
    except ImportError as error:  # matplotlib is an extra
        raise ValueError(str(error)) from None
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror or error}") from None


def points(share: float) -> str:
    """Write a share in points of a percentage, with two digits that tell.

    >>> points(0.0192), points(0.0000334), points(12.5)
    ('1.9 points', '0.0033 points', '1250 points')
    """
    text = f"{100 * share:.2g}"
    return f"{100 * share:.0f} points" if "e+" in text else f"{text} points"


def rounded(numbers: tuple[float, ...], error: float) -> list[str]:
    """Write numbers with as many places as a standard error gives a meaning to.

    >>> rounded((53.49871, -2.0), 0.55), rounded((53_498.71,), 100.0)
    (['53.50', '-2.00'], ['53499'])
    """
    places = min(max(1 - math.floor(math.log10(error)), 0), 15) if error > 0 else 2
    return [f"{number:.{places}f}" for number in numbers]
