# SPDX-License-Identifier: Apache-2.0
"""`sordino explain`: the price of a question, before anybody pays it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import sordino as so
from sordino.plan.explain import COLUMNS, RELEASES, Explanation


@dataclass(frozen=True, slots=True)
class Request:
    """What was typed."""

    sql: str
    catalog: Path
    epsilon: str | None
    rho: str | None
    within: str | None
    confidence: str
    delta: str | None
    rows: int | None
    groups: int | None
    diagnostics: bool
    expected_rows: str | None
    picture: Path | None
    as_json: bool


def explain(request: Request) -> None:
    """Print what an answer would cost and how far off it would be."""
    if sum(price is not None for price in (request.epsilon, request.rho, request.within)) != 1:
        raise ValueError(
            "say what the answer may cost, such as --epsilon 0.5, or how far off it may be, such "
            "as --within 50; one of the two"
        )
    if request.picture is not None and request.picture.suffix not in (".svg", ".dot"):
        raise ValueError("the picture of a plan is written to a file ending in .svg or .dot")
    with so.open(request.catalog) as session:
        found = session.explain(
            request.sql,
            epsilon=_number("epsilon", request.epsilon),
            rho=_number("rho", request.rho),
            within=_width(request.within),
            confidence=_number("confidence", request.confidence) or 0.95,
            delta=_number("delta", request.delta),
            rows=request.rows,
            groups=request.groups,
            diagnostics=request.diagnostics,
            expected_rows=_number("expected-rows", request.expected_rows),
        )
    if request.as_json:
        typer.echo(json.dumps(_as_json(found), indent=2))
    else:
        _show(found)
    if request.picture is not None:
        drawn = found.svg() if request.picture.suffix == ".svg" else found.dot()
        request.picture.write_text(drawn, "utf-8")
        typer.echo(f"wrote {request.picture}", err=True)


def _number(name: str, text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"--{name} must be a number, got {text!r}") from None


def _width(text: str | None) -> Decimal | str | None:
    return text if text is not None and text.endswith("%") else _number("within", text)


def _as_json(found: Explanation) -> dict[str, object]:
    return {
        "price": str(found.price),
        "facts": dict(found.facts),
        "columns": [dict(zip(COLUMNS, row, strict=True)) for row in found.widths()],
        "releases": [dict(zip(RELEASES, row, strict=True)) for row in found.rows()],
        "warnings": list(found.warnings),
    }


def _show(found: Explanation) -> None:
    console = Console(highlight=False)
    facts = Table.grid(padding=(0, 2, 0, 0))
    for name, text in found.facts:
        facts.add_row(f"[dim]{escape(name)}[/]", escape(text))
    console.print(facts)
    for titles, rows in ((COLUMNS, found.widths()), (RELEASES, found.rows())):
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        for title in titles:
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*map(escape, row))
        console.print()
        console.print(table)
    for warning in found.warnings:
        console.print(f"\n[yellow]warning:[/] {escape(warning)}")
