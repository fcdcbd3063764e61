# SPDX-License-Identifier: Apache-2.0
"""`sordino account`: what a list of mechanisms costs together."""

from __future__ import annotations

import json
import math
from pathlib import Path

import typer
from rich.table import Table

from sordino.cli.expression import read_losses
from sordino.cli.shown import console_for
from sordino.numbers.rational import decimal_of
from sordino.privacy.loss import Loss, compose
from sordino.privacy.theorems.explain import Explanation, explain_composition


def account(text: str, *, delta: str, as_json: bool, plot: Path | None) -> None:
    """Print the total, the bracket and what each theorem gives; draw them if asked."""
    terms = read_losses(text)
    loss = compose(times * one for one, times in terms)
    found = explain_composition(loss, delta=decimal_of("delta", delta))
    if plot is not None:
        from sordino.cli.account_plot import draw  # matplotlib is an extra

        draw(loss, found, plot)
    if as_json:
        typer.echo(json.dumps(_record(loss, found), indent=2))
    else:
        _show(loss, found, plot)


def _record(loss: Loss, found: Explanation) -> dict[str, object]:
    def number(x: float) -> float | str:
        return x if math.isfinite(x) else "inf"

    return {
        "uses": loss.uses,
        "delta": found.delta,
        "epsilon": number(found.epsilon),
        "theorem": found.used.theorem,
        "bracket": [number(found.bracket.lower), number(found.bracket.upper)],
        "rho": number(loss.rho),
        "theorems": [
            {"theorem": row.theorem, "epsilon": number(row.epsilon), "note": row.note}
            for row in found.rows
        ],
    }


def _show(loss: Loss, found: Explanation, plot: Path | None) -> None:
    console = console_for()
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    for heading in ("theorem", "epsilon", "remark"):
        table.add_column(heading, justify="right" if heading == "epsilon" else "left")
    for row in found.rows:
        style = "bold green" if row is found.used else ""
        mark = "  <- used" if row is found.used else ""
        epsilon = f"{row.epsilon:.4f}" if math.isfinite(row.epsilon) else "none"
        table.add_row(row.theorem, epsilon, f"{row.note}{mark}", style=style)
    console.print(f"{loss.uses:,} uses of {len(loss.parts)} mechanism(s)\n")
    console.print(table)
    low, high = found.bracket.lower, found.bracket.upper
    console.print(
        f"\nTogether: [bold]epsilon {found.epsilon:.4f}[/] at delta {found.delta:g}",
        highlight=False,
    )
    console.print(f"Certain:  {low:.6g} <= epsilon <= {high:.6g}", highlight=False)
    if math.isfinite(loss.rho):
        console.print(f"As zCDP:  rho {loss.rho:.6g}", highlight=False)
    if plot is not None:
        console.print(f"Drawn:    {plot}", highlight=False, markup=False)
