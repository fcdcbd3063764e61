# SPDX-License-Identifier: Apache-2.0
"""`sordino explain`: the price of a question, before anybody pays it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import sordino as so
from sordino.catalog.model import Catalog
from sordino.catalog.toml import read_catalog
from sordino.cli.analysts import check_who, note_stranger
from sordino.cli.history import SHORT
from sordino.cli.question import Wish, read_sql
from sordino.cli.reading import check_target, ledger_of, refusal_of
from sordino.cli.shown import console_for, facts_of, left_in_words, plain
from sordino.errors import LedgerError
from sordino.plan.explain import COLUMNS, RELEASES, Explanation
from sordino.release import Options
from sordino.session.budgets import left_of
from sordino.session.identity import asked_of


@dataclass(frozen=True, slots=True)
class Request:
    """What was typed."""

    sql: str
    wish: Wish
    catalog: Path
    who: str
    picture: Path | None
    as_json: bool


def explain(request: Request) -> None:
    """Print what an answer would cost and how far off it would be; no ledger is made."""
    asked = request.wish.asked()
    if request.picture is not None and request.picture.suffix not in (".svg", ".dot"):
        raise ValueError("the picture of a plan is written to a file ending in .svg or .dot")
    catalog = read_catalog(request.catalog)
    check_target(request.picture, catalog)
    who = check_who(request.who)
    if not request.as_json:
        note_stranger(catalog, who)
    with so.open(catalog, ledger="memory") as session:
        found = session.explain(read_sql(request.sql), **asked)
    left = _left(found, catalog, who)
    refusal = refusal_of(catalog)
    number = asked_of(found.plan, Options())[:SHORT]
    warnings = [*found.warnings, *([f"no question is answered: {refusal}"] if refusal else [])]
    if request.as_json:
        told = {**_as_json(found), "warnings": warnings, "left": left, "plan": number}
        typer.echo(json.dumps(told, indent=2))
    else:
        _show(found, [("left", left), ("plan", number)], warnings)
    if request.picture is not None:
        drawn = found.svg() if request.picture.suffix == ".svg" else found.dot()
        request.picture.write_text(drawn, "utf-8")
        typer.echo(f"wrote {request.picture}", err=True)


def _left(found: Explanation, catalog: Catalog, who: str) -> str:
    """Say what is left before the question, and for how many questions like it that is enough."""
    plan = found.plan
    try:
        with ledger_of(catalog) as ledger:
            (left,) = left_of(ledger, [plan.people], who)
    except LedgerError:
        return "not known: the ledger cannot be used"
    return left_in_words(left, found.price, plan.slack, more="")


def _as_json(found: Explanation) -> dict[str, object]:
    return {
        "price": str(found.price),
        "facts": dict(found.facts),
        "columns": [dict(zip(COLUMNS, row, strict=True)) for row in found.widths()],
        "releases": [dict(zip(RELEASES, row, strict=True)) for row in found.rows()],
    }


def _show(found: Explanation, more: list[tuple[str, str]], warnings: list[str]) -> None:
    console = console_for()
    (first, *others) = found.facts
    console.print(facts_of([first, *more, *others]))
    for titles, rows in ((COLUMNS, found.widths()), (RELEASES, found.rows())):
        console.print()
        console.print(_table(titles, rows, console))
    for warning in warnings:
        console.print(f"\n[yellow]warning:[/] {escape(warning)}")


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]], console: Console) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*(escape(plain(text, console)) for text in row))
    return table
