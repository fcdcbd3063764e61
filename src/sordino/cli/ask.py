# SPDX-License-Identifier: Apache-2.0
"""`sordino ask`: the answer with its error bars, what it cost, and what is left."""

from __future__ import annotations

import csv
import importlib.util
import json
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

import sordino as so
from sordino.answer import Answer, Column
from sordino.answer.codec import columns_to_json
from sordino.answer.frames import safe_cell
from sordino.catalog.toml import read_catalog
from sordino.cli.analysts import check_who, note_stranger
from sordino.cli.exits import INTERRUPTED
from sordino.cli.history import SHORT
from sordino.cli.question import Wish, read_sql
from sordino.cli.reading import check_target
from sordino.cli.shown import (
    and_delta,
    console_for,
    left_in_words,
    more_like,
    notes_of,
    plain,
    show_facts,
    table_of,
)
from sordino.errors import BudgetExceeded, SordinoError
from sordino.release import Options
from sordino.session import Left
from sordino.session.identity import asked_of
from sordino.session.session import Asked

_THREE_DIGITS = Context(prec=3, rounding=ROUND_UP)
_PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, slots=True)
class Request:
    """What was typed."""

    sql: str
    wish: Wish
    catalog: Path
    who: str
    fresh: bool
    receipt: str | None
    options: Options
    plot: Path | None
    csv: Path | None
    as_json: bool


def ask(request: Request) -> None:
    """Ask, and print the answer; what can be checked beforehand is checked before the charge."""
    asked = request.wish.asked()
    catalog = read_catalog(request.catalog)
    _check_plot(request.plot)
    for path in (request.plot, request.csv):
        check_target(path, catalog)
    who = check_who(request.who)
    if not request.as_json:
        note_stranger(catalog, who, refused=True)
    try:
        with so.open(catalog, who=who, receipt=request.receipt) as session:
            sql = read_sql(request.sql)
            plan = session.plan(sql, **asked)
            before = {seen.people: seen.number for seen in session.ledger.heads()}
            try:
                answer = session.answer(plan, request.options, fresh=request.fresh)
            except BudgetExceeded as error:
                hint = error.hint + _affordable(session, sql, asked, plan.people)
                raise BudgetExceeded(error.asked, error.left, hint) from None
            left = next(one for one in session.budget if one.people == plan.people)
    except KeyboardInterrupt:
        _show_interrupt(as_json=request.as_json)
        raise typer.Exit(INTERRUPTED) from None
    taken_up = not answer.again and answer.charge.number <= before.get(plan.people, 0)
    if request.as_json:
        number = asked_of(plan, request.options)[:SHORT]
        told = {**answer_as_json(answer, left), "plan": number, "taken_up": taken_up}
        typer.echo(json.dumps(told, indent=2))
    else:
        show_answer(console_for(), answer, left, taken_up=taken_up)
    if request.csv is not None:
        _write_csv(answer, request.csv)
        typer.echo(f"wrote {request.csv}", err=True)
    if request.plot is not None:
        answer.plot(request.plot)
        typer.echo(f"wrote {request.plot}", err=True)


def _affordable(session: so.Session, sql: str, asked: Asked, people: str) -> str:
    """Say which width would fit what is left of epsilon, where one was asked for all columns."""
    left = next(one for one in session.budget if one.people == people).left
    if not isinstance(asked.get("within"), Decimal) or left.currency.kind != "epsilon":
        return ""
    priced: Asked = {**asked, "within": None, "epsilon": left.value}
    try:
        columns = session.explain(sql, **priced).columns
    except (SordinoError, ValueError):  # so little is left that no question can be asked
        return ""
    widths = [expected.half_width or 0 for _, expected in columns]
    return f", and so would --within {_THREE_DIGITS.create_decimal(max(widths)):f}"


def show_answer(console: Console, answer: Answer, left: Left, *, taken_up: bool = False) -> None:
    """Print an answer: its table, the price, what is left, and what the error bars do not cover.

    ``taken_up`` says that it was charged before, by a question that was not answered then.
    """
    charge = answer.charge
    price = and_delta(charge.price, charge.slack)
    sure = f"each ± holds with {100 * float(answer.confidence):.6g} %, by itself"
    console.print(table_of(answer, console))
    console.print()
    paid = price
    if answer.again:
        paid = f"answered before: nothing was charged ({price} then)"
    elif taken_up:
        paid = f"paid before, and not answered: nothing more was charged ({price} then)"
    show_facts(
        console,
        [
            ("price", paid),
            ("left", left_in_words(left, charge.price, charge.slack)),
            ("error bars", plain(sure, console)),
        ],
        whole=("receipt", answer.receipt),
    )
    if answer.notes:
        console.print(notes_of(plain(note, console) for note in answer.notes))


def _show_interrupt(*, as_json: bool) -> None:
    hint = (
        "if a charge was made, 'sordino history' shows it, and asking the same again is answered "
        "without paying again"
    )
    told = {"code": "interrupted", "message": "interrupted", "why": "", "hint": hint, "span": None}
    typer.echo(json.dumps(told) if as_json else f"sordino: interrupted; {hint}", err=True)


def answer_as_json(answer: Answer, left: Left) -> dict[str, Any]:
    """Return an answer for programs: its rows by title, the price, what is left, the receipt."""
    charge = answer.charge
    columns = [
        (column.title, _cells(column, kept["values"]))
        for column, kept in zip(answer.columns, columns_to_json(answer.columns), strict=True)
    ]
    return {
        "columns": [
            {"title": column.title, "type": column.type.value, "kind": column.kind}
            for column in answer.columns
        ],
        "rows": [{title: cells[row] for title, cells in columns} for row in range(len(answer))],
        "confidence": float(answer.confidence),
        "notes": list(answer.notes),
        "again": answer.again,
        "people": charge.people,
        "who": charge.who,
        "price": str(charge.price),
        "price_nanos": charge.price.nanos,
        "delta": float(charge.slack),
        "left": str(left.left),
        "left_nanos": left.left.nanos,
        "delta_left": float(left.delta),
        "more_like_this": more_like(charge.price, charge.slack, left.left, left.delta),
        "receipt": answer.receipt,
    }


def _cells(column: Column, values: list[Any]) -> list[Any]:
    """Return the values of a column as JSON; those with error bars as objects."""
    if column.low is None or column.high is None:
        return values
    ends = zip(values, column.half_widths, column.low, column.high, strict=True)
    return [
        {"value": value, "half_width": half_width, "low": low, "high": high}
        for value, half_width, low, high in ends
    ]


def _check_plot(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix not in _PICTURES:
        raise ValueError(f"a picture is written to a file ending in {', '.join(_PICTURES)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError("--plot needs matplotlib: pip install 'sordino[plot]'")


def _write_csv(answer: Answer, path: Path) -> None:
    """Write each noisy column followed by its half-widths and both ends."""
    table = answer.to_arrow()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(safe_cell, table.column_names))
        columns = ([safe_cell(cell) for cell in column.to_pylist()] for column in table.columns)
        writer.writerows(zip(*columns, strict=True))
