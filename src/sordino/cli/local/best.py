# SPDX-License-Identifier: Apache-2.0
"""`sordino local best`: what each protocol would give, before anything is collected."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.table import Table

from sordino.cli.local.commands import Answers, BestRequest
from sordino.cli.local.protocols import (
    AnyProtocol,
    all_protocols,
    as_text,
    choose_protocol,
    name_of,
    percentage,
)
from sordino.cli.outputs import check_picture, draw
from sordino.cli.terminal import console_for
from sordino.local.plot import draw_errors
from sordino.local.protocol import Protocol

_USELESS_HALF_WIDTH = 0.5
_DRAWN_FACTOR = 100  # So many times fewer and more people are drawn.


def best(asked: Answers, request: BestRequest) -> None:
    """Print the protocols with their errors and the bits of a report, and which one is best."""
    people, plot = request.people, request.plot
    check_picture(plot, force=request.force)
    found = all_protocols(asked)
    chosen = name_of(choose_protocol(asked, "best"))
    categories = [protocol for protocol in found if isinstance(protocol, Protocol)]
    if plot is not None and not categories:
        raise ValueError("--plot is for categories; numbers have no picture")
    around = (max(people // _DRAWN_FACTOR, 1), people * _DRAWN_FACTOR)
    draw(plot, lambda path: draw_errors(categories, path, people=around))
    rows = [_row(protocol, people) for protocol in found]
    by_name = {row["protocol"]: row for row in rows}
    why = _why(by_name, chosen)
    if request.as_json:
        record = {
            "epsilon": as_text(found[0].epsilon),
            "people": people,
            "best": chosen,
            "why": why,
            "protocols": rows,
        }
        typer.echo(json.dumps(record, indent=2))
        return
    console = console_for()
    console.print(_table(rows, chosen))
    console.print(f"\n{people:,} people, epsilon {as_text(found[0].epsilon)} for each report")
    console.print(f"[bold]{chosen}[/] is best: {why}")
    if categories:
        console.print(_MEANING, style="dim")
        if by_name[chosen]["half_width"] > _USELESS_HALF_WIDTH:
            console.print("An interval may say nothing at all: ask more people.", style="yellow")
    if plot is not None:
        console.print(f"drawn to {plot}", markup=False)


_MEANING = (
    "error: the standard error of a category that hardly anybody holds, in percentage points\n"
    "interval: the longest there can be with 95 % confidence, in percentage points\n"
    "total: the expected sum of squared errors over all categories"
)


def _row(protocol: AnyProtocol, people: int) -> dict[str, Any]:
    row = {
        "protocol": name_of(protocol),
        "words": protocol.words,
        "standard_error": protocol.standard_error(people),
    }
    if isinstance(protocol, Protocol):
        row["half_width"] = protocol.half_width(people)
        row["total_error"] = protocol.total_error(people)
    return {**row, "report_bits": protocol.report_bits}


def _table(rows: list[dict[str, Any]], chosen: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    categories = "total_error" in rows[0]
    table.add_column("protocol", no_wrap=True)
    errors = ("error", "interval", "total") if categories else ("standard error",)
    for heading in (*errors, "bits"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        error, is_best = row["standard_error"], row["protocol"] == chosen
        cells = [row["protocol"], percentage(error) if categories else f"{error:.3g}"]
        if categories:
            cells += [f"± {percentage(row['half_width'])}", f"{row['total_error']:.3g}"]
        mark = "<- best" if is_best else ""
        table.add_row(*cells, f"{row['report_bits']:,}", mark, style="bold green" * is_best)
    return table


def _why(rows: dict[str, dict[str, Any]], chosen: str) -> str:
    """Say why a protocol was taken: no other has a smaller error, or only just."""
    error = "total_error" if "total_error" in rows[chosen] else "standard_error"
    least = min(rows.values(), key=lambda row: row[error])
    if rows[chosen][error] <= least[error]:
        return f"no other has a smaller {error.replace('_', ' ')}"
    more = 100 * (rows[chosen][error] / least[error] - 1)
    return (
        f"its total error is within {max(more, 0.1):.1f} % of the least, that of "
        f"{least['protocol']}, and its reports are shorter"
    )
