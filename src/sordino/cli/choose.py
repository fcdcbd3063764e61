# SPDX-License-Identifier: Apache-2.0
"""`sordino choose`: one candidate out of a public list, by the rows of a private file."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any, TextIO

import typer
from rich.console import Console

import sordino as so
from sordino.exact.rational import written
from sordino.mechanisms.choose.candidates import check_distinct

_RELATIONS = ("add_remove", "replace_one")
_CONFIDENCE = Decimal("0.95")


@dataclass(frozen=True, slots=True)
class Request:
    """What the command was asked for."""

    file: Path
    column: str
    scores: str | None
    candidates: str
    epsilon: str
    sensitivity: str
    neighbours: str
    as_json: bool


def choose(request: Request) -> None:
    """Read the file, choose, and print the candidate with its accuracy and its price."""
    names = _names(request.candidates)
    mechanism = _mechanism(request)
    with _opened(request.file) as file:
        found = _scores(file, request, set(names))
    chosen = names[mechanism.release([found[name] for name in names])]
    behind = mechanism.accuracy(confidence=_CONFIDENCE, candidates=len(names))
    if request.as_json:
        record = {
            "chosen": chosen,
            "candidates": len(names),
            "mechanism": type(mechanism).__name__,
            "neighbours": request.neighbours,
            "epsilon": written(mechanism.epsilon),
            "confidence": float(_CONFIDENCE),
            "gap": behind.gap,
        }
        typer.echo(json.dumps(record, indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print("chosen:   ", end="")
    console.print(chosen, style="bold green", markup=False)
    console.print(
        f"accuracy: with {float(_CONFIDENCE):.0%} confidence less than {behind.gap:,.1f} behind "
        f"the best of {len(names):,}"
    )
    console.print(
        f"price:    epsilon {written(mechanism.epsilon)}, hiding one row "
        + ("more or less" if request.neighbours == "add_remove" else "replaced by another")
    )


def _mechanism(request: Request) -> so.PermuteAndFlip:
    if request.neighbours not in _RELATIONS:
        raise ValueError(f"neighbours must be add_remove or replace_one, got {request.neighbours}")
    # A sum of what each row adds rises or falls as a whole when a row comes or goes.
    return so.PermuteAndFlip(
        sensitivity=Fraction(_number("sensitivity", request.sensitivity)),
        epsilon=_number("epsilon", request.epsilon),
        monotone=request.neighbours == "add_remove",
    )


def _number(name: str, text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal("nan")
    if not found.is_finite():
        raise ValueError(f"{name} must be a number, got {text!r}")
    return found


def _names(text: str) -> list[str]:
    """Read the candidates: a file with one in each line after @, or a list with commas."""
    if text.startswith("@"):
        names = Path(text[1:]).read_text("utf-8").splitlines()
    else:
        names = text.split(",")
    kept = [name.strip() for name in names if name.strip()]
    if not kept:
        raise ValueError("there is no candidate to choose: the list is empty")
    check_distinct(kept)
    return kept


def _opened(path: Path) -> Any:
    return sys.stdin if str(path) == "-" else path.open(encoding="utf-8", newline="")


def _scores(file: TextIO, request: Request, known: set[str]) -> Counter[str]:
    """Add up what each row gives its candidate, at most the sensitivity and at least 0."""
    most = Fraction(_number("sensitivity", request.sensitivity))
    totals: Counter[str] = Counter()
    for name, value in _rows(file, request):
        if name in known:
            totals[name] += min(max(value, Fraction(0)), most)  # type: ignore[assignment]  # exact
    return totals


def _rows(file: TextIO, request: Request) -> Iterator[tuple[str, Fraction]]:
    rows = csv.DictReader(file)
    for wanted in (request.column, request.scores):
        if wanted is not None and wanted not in (rows.fieldnames or ()):
            have = ", ".join(rows.fieldnames or ()) or "none"
            raise ValueError(f"the file has no column {wanted!r}; its columns are {have}")
    for row in rows:
        name = (row[request.column] or "").strip()
        if request.scores is None:
            yield name, Fraction(1)
            continue
        try:
            yield name, Fraction(_number("score", row[request.scores] or "0"))
        except ValueError:
            raise ValueError(f"column {request.scores!r} must hold numbers only") from None
