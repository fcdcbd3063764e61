# SPDX-License-Identifier: Apache-2.0
"""How the commands of the local model look: a bar, pictures, numbers and their limits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sordino.cli.local_targets import check_target, unwritable
from sordino.cli.terminal import console_for
from sordino.cli.usage import INTERRUPTED

_PICTURES = (".png", ".svg", ".pdf")
_EXACT = Context(prec=1000)  # digits, more than any number here has
_MOST_PLACES = 30


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


def check_picture(path: Path | None, *, force: bool) -> None:
    """Refuse a picture that could not be drawn, before the work is done."""
    if path is not None:
        check_target("--plot", path, _PICTURES, force=force)


def draw(path: Path | None, picture: Callable[[Path], Any]) -> None:
    """Draw a picture if one is wanted."""
    if path is None:
        return
    try:
        picture(path)
    except ImportError as error:  # matplotlib is an extra
        raise ValueError(str(error)) from None
    except OSError as error:
        raise unwritable("--plot", error) from None


def percentage(share: float) -> str:
    """Write a share in percentage points, with two digits that tell.

    >>> percentage(0.0192), percentage(0.04), percentage(0.0000334), percentage(12.5)
    ('1.9', '4.0', '0.0033', '1250')
    """
    text = f"{100 * share:#.2g}".rstrip(".")
    return f"{100 * share:.0f}" if "e+" in text else text


def rounded(
    number: float, limits: tuple[float, float], ends: tuple[Fraction, Fraction], error: float
) -> tuple[str, str, str]:
    """Write a number and its limits with as many places as its standard error gives a meaning to.

    Limits are rounded outwards, and are no farther than the ends of the range. Without an error
    the length of the range tells how many places.

    >>> rounded(53.49871, (52.996, 54.001), (Fraction(0), Fraction(80)), 0.55)
    ('53.50', '52.99', '54.01')
    >>> rounded(0.173, (-0.0, 0.05), (Fraction(0), Fraction(1, 20)), 0.0)
    ('0.173', '0.000', '0.050')
    """
    size = error if error > 0 else ends[1] - ends[0]
    places = min(max(1 - math.floor(math.log10(size)), 0), _MOST_PLACES)
    low, high = max(Fraction(limits[0]), ends[0]), min(Fraction(limits[1]), ends[1])
    return (
        _fixed(Fraction(number), places, round),
        _fixed(low, places, math.floor),
        _fixed(high, places, math.ceil),
    )


def percent(share: float) -> str:
    """Write a share as a percentage with two places.

    >>> percent(0.123456), percent(-0.00001)
    ('12.35 %', '0.00 %')
    """
    return f"{_fixed(100 * Fraction(share), 2, round)} %"


def percents(low: float, high: float) -> str:
    """Write the limits of a share as percentages, rounded outwards.

    >>> percents(0.12345, 0.12341), percents(0.0, 1.0)
    ('12.34 % to 12.35 %', '0.00 % to 100.00 %')
    """
    first = _fixed(100 * Fraction(low), 2, math.floor)
    last = _fixed(100 * Fraction(high), 2, math.ceil)
    return f"{first} % to {last} %"


def sure(confidence: Decimal) -> str:
    """Write a confidence as a percentage with all of its digits, so that it is never 100 %.

    >>> sure(Decimal("0.950")), sure(Decimal("0.9999999999999999999999999999999999"))
    ('95 %', '99.99999999999999999999999999999999 %')
    """
    return f"{_EXACT.multiply(confidence, Decimal(100)).normalize(_EXACT):f} %"


def _fixed(number: Fraction, places: int, rounding: Callable[[Fraction], int]) -> str:
    """Write a number with so many places, and 0 without a sign."""
    return f"{Decimal(rounding(number * 10**places)).scaleb(-places, _EXACT):f}"
