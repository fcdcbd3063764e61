# SPDX-License-Identifier: Apache-2.0
"""`sordino choose`: one candidate out of a public list, by the rows of a private file."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TextIO

import typer

import sordino as so
from sordino.cli.options import AsJson, argument, option, takes_records
from sordino.cli.usage import refusals

_RELATIONS = ("add_remove", "replace_one")
_CONFIDENCE = Decimal("0.95")
_FAR = 200  # digits: further than any sensitivity that is accepted
_NOT_UTF8 = "{0} is not UTF-8; save it as {1}"
_UNREADABLE = "the file {0} cannot be read: {1}"
_OWN_ROWS = "the candidates are read from the private file itself; list them in a file of their own"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What the choice depends on, as it was typed, and how it is shown."""

    file: Path = argument("A CSV file of private rows, - for standard input.")
    column: str = option("The column that names a candidate.")
    candidates: str = option(
        "The public candidates: 'a,b,c', or @file with one in each line. "
        "Rows that name anything else are ignored."
    )
    epsilon: str = option("The privacy to spend.")
    neighbours: str = option("What is hidden of a row: add_remove or replace_one.")
    scores: str | None = option(
        "A column that says how much a row adds, clamped to 0..sensitivity; an empty "
        "field counts 0. Without it each row counts 1.",
        default=None,
    )
    sensitivity: str | None = option(
        "The most that one row may add; needed with --scores.", default=None
    )
    as_json: AsJson = False


@takes_records
def choose(request: _Request) -> None:
    """Choose the candidate that most rows name."""
    with refusals(as_json=request.as_json):
        mechanism, count, chosen = _chosen(request)
        gap = mechanism.accuracy(confidence=_CONFIDENCE, candidates=count).gap
        if request.as_json:
            _print_json(request, mechanism, count, chosen, gap)
        else:
            _show(request, mechanism, count, chosen, gap)


def _chosen(request: _Request) -> tuple[so.PermuteAndFlip, int, str]:
    """Read the file and choose; return the mechanism and how many candidates there were too."""
    mechanism = _mechanism(request)
    names = _names(request)
    try:
        with _opened(request.file) as file:
            found = _scores(file, request, mechanism.sensitivity, set(names))
    except UnicodeDecodeError:
        raise ValueError(_NOT_UTF8.format("the file", "CSV UTF-8")) from None
    except csv.Error:
        raise ValueError("the file is not a CSV file; save it as CSV UTF-8") from None
    chosen = names[mechanism.release([found[name] for name in names])]
    return mechanism, len(names), chosen


def _print_json(
    request: _Request, mechanism: so.PermuteAndFlip, count: int, chosen: str, gap: float
) -> None:
    from sordino.numbers.rational import written  # numpy is loaded only here

    record = {
        "chosen": chosen,
        "candidates": count,
        "mechanism": type(mechanism).__name__,
        "neighbours": request.neighbours,
        "epsilon": written(mechanism.epsilon),
        "confidence": float(_CONFIDENCE),
        "gap": gap,
    }
    typer.echo(json.dumps(record, indent=2))


def _show(
    request: _Request, mechanism: so.PermuteAndFlip, count: int, chosen: str, gap: float
) -> None:
    from rich.console import Console  # this and the following load rich and numpy
    from rich.text import Text

    from sordino.answer.render import printable
    from sordino.numbers.rational import written

    console = Console(highlight=False, soft_wrap=True)
    console.print("chosen:   ", end="")
    console.print(Text(printable(chosen), "bold green"))
    console.print(
        f"accuracy: with {float(_CONFIDENCE):.0%} confidence less than {gap:,.1f} behind "
        f"the best of {count:,}"
        if count > 1
        else "accuracy: there was only one to choose"
    )
    console.print(
        f"price:    epsilon {written(mechanism.epsilon)}, hiding one row "
        + ("more or less" if request.neighbours == "add_remove" else "replaced by another")
    )


def _mechanism(request: _Request) -> so.PermuteAndFlip:
    if request.neighbours not in _RELATIONS:
        raise ValueError(f"neighbours must be add_remove or replace_one, got {request.neighbours}")
    if request.scores is not None and request.sensitivity is None:
        raise ValueError(
            "--scores needs --sensitivity, the most that one row may add; more is cut off"
        )
    if request.scores is None and request.sensitivity is not None:
        raise ValueError(
            "--sensitivity goes with --scores; without a column of scores each row counts 1"
        )
    from sordino.numbers.rational import decimal_of  # as above

    most = "1" if request.sensitivity is None else request.sensitivity
    # A sum of what each row adds rises or falls as a whole when a row comes or goes.
    return so.PermuteAndFlip(
        sensitivity=decimal_of("sensitivity", most),
        epsilon=decimal_of("epsilon", request.epsilon),
        monotone=request.neighbours == "add_remove",
    )


def _names(request: _Request) -> list[str]:
    """Read the candidates: a file with one in each line after @, or a list with commas."""
    from sordino.mechanisms.choose.candidates import check_distinct  # as above

    text, listed = request.candidates, request.candidates.startswith("@")
    names = _lines(Path(text[1:]), request.file) if listed else text.split(",")
    kept = [name.strip() for name in names if name.strip()]
    if not kept:
        raise ValueError("there is no candidate to choose: the list is empty")
    if len(kept) == 1 and not listed and _is_file(kept[0]):
        raise ValueError(f"the only candidate is the name of a file; did you mean @{kept[0]}?")
    check_distinct(kept)
    return kept


def _lines(path: Path, rows: Path) -> list[str]:
    try:
        if _is_same(path, rows):
            raise ValueError(_OWN_ROWS)
        return path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(_NOT_UTF8.format("the list of candidates", "UTF-8")) from None
    except OSError as error:
        raise ValueError(_UNREADABLE.format(path, error.strerror)) from None


def _is_file(name: str) -> bool:
    return os.path.isfile(name)  # noqa: PTH113 - not an error where no file could be named so


def _is_same(path: Path, rows: Path) -> bool:
    """Tell whether two names mean one file, be it a link or what standard input comes from."""
    try:
        source = os.fstat(sys.stdin.fileno()) if str(rows) == "-" else rows.stat()
    except OSError:  # there is none, as the one who opens it is going to say
        return False
    return os.path.samestat(path.stat(), source)


def _opened(path: Path) -> TextIO:
    """Open the rows; programs that write tables like to put a byte order mark first."""
    if str(path) == "-":
        return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
    try:
        return path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise ValueError(_UNREADABLE.format(path, error.strerror)) from None


def _scores(file: TextIO, request: _Request, most: Fraction, known: set[str]) -> Counter[str]:
    """Add up what each row gives its candidate, at most the sensitivity and at least 0."""
    totals: Counter[str] = Counter()
    for name, value in _rows(file, request):
        if name in known:
            totals[name] += _clamped(value, most)  # type: ignore[assignment]  # exact
    return totals


def _clamped(value: Decimal, most: Fraction) -> Fraction:
    """Clamp to 0..most, and write out no number of a million digits to do so."""
    if value <= 0 or value.adjusted() < -_FAR:
        return Fraction(0)
    return most if value.adjusted() > _FAR else min(Fraction(value), most)


def _rows(file: TextIO, request: _Request) -> Iterator[tuple[str, Decimal]]:
    from sordino.numbers.rational import decimal_of  # as above

    rows = csv.DictReader(file)
    for wanted in (request.column, request.scores):
        if wanted is not None and wanted not in (rows.fieldnames or ()):
            have = ", ".join(rows.fieldnames or ()) or "none"
            raise ValueError(
                f"the file has no column {wanted!r}; its columns are {have}"
                + "; the columns must be separated by commas" * (len(rows.fieldnames or ()) == 1)
            )
    for row in rows:
        name = (row[request.column] or "").strip()
        if request.scores is None:
            yield name, Decimal(1)
            continue
        try:
            yield name, decimal_of("score", (row[request.scores] or "").strip() or "0")
        except ValueError:
            raise ValueError(f"column {request.scores!r} must hold numbers only") from None
