# SPDX-License-Identifier: Apache-2.0
"""`sordino account`: what a sum of losses costs, theorem by theorem, as a table and as pictures."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sordino.cli.options import AsJson
from sordino.cli.usage import refusals

if TYPE_CHECKING:
    from sordino.privacy.loss import Loss
    from sordino.privacy.theorems.explain import Explanation

_POINTS = 12
_COLOURS = ["#b0b0b0", "#d98c3f", "#5b8fc7", "#8a6bb8", "#c75b7a", "#6b8e3f", "#1b7f5c"]


def account(
    losses: Annotated[
        str,
        typer.Argument(
            help="A sum of losses, such as 'laplace(epsilon=0.1) * 50 + gaussian(sigma=20) * 200' "
            "or 'shuffled(epsilon=1, people=10000)' for local reports without their senders."
        ),
    ],
    *,
    delta: Annotated[
        str, typer.Option(help="The delta that the total epsilon goes with.")
    ] = "1e-6",
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the theorems into this file (.png, .svg, .pdf).")
    ] = None,
) -> None:
    """Tell what mechanisms cost together, theorem by theorem."""
    with refusals(as_json=as_json):
        from sordino.numbers.rational import decimal_of  # this and the following load scipy
        from sordino.privacy.loss import compose
        from sordino.privacy.theorems.explain import explain_composition

        loss = compose(times * one for one, times in read_losses(losses))
        found = explain_composition(loss, delta=decimal_of("delta", delta))
        if plot is not None:
            _draw(loss, found, plot)
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
    from rich.table import Table  # this and the following load rich

    from sordino.cli.terminal import console_for

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


def _draw(loss: Loss, found: Explanation, path: Path) -> None:
    """Draw both pictures for each theorem and save them."""
    try:
        import matplotlib as mpl  # an extra
    except ImportError:
        raise ValueError("a plot needs matplotlib: pip install 'sordino[plot]'") from None
    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    from sordino.privacy.theorems.explain import explain_composition

    deltas = np.logspace(-12, -2, _POINTS + 1)
    against_delta = [explain_composition(loss, delta=float(f"{d:.3g}")) for d in deltas]
    scales = sorted({max(1, round(loss.uses ** (i / _POINTS))) for i in range(_POINTS + 1)})
    smaller = [_scaled(loss, count) for count in scales]
    against_uses = [explain_composition(part, delta=found.delta) for part in smaller]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), constrained_layout=True)
    for axes, runs, places in (
        (left, against_delta, deltas.tolist()),
        (right, against_uses, [part.uses for part in smaller]),
    ):
        names = [row.theorem for row in runs[-1].rows]
        for name, colour in zip(names, _COLOURS, strict=False):
            points = [
                (place, row.epsilon)
                for place, run in zip(places, runs, strict=True)
                for row in run.rows
                if row.theorem == name and math.isfinite(row.epsilon)
            ]
            if points:
                best = name == "loss distribution"
                axes.plot(*zip(*points, strict=True), color=_COLOURS[-1] if best else colour,
                          linewidth=2.4 if best else 1.3, label=name,
                          zorder=3 if best else 2)  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylabel("epsilon")
        axes.grid(visible=True, which="major", color="#e6e6e6")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    left.set_xlabel("delta")
    left.set_title(f"{loss.uses:,} uses", loc="left")
    right.set_xlabel("number of uses")
    right.set_title(f"delta {found.delta:g}", loc="left")
    left.legend(frameon=False, fontsize=9)
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise ValueError(f"the plot could not be written to {path}: {error}") from None
    finally:
        plt.close(figure)


def _scaled(loss: Loss, uses: int) -> Loss:
    """Return about so many uses, in the proportions of the whole."""
    parts = [(leaf, max(1, round(times * uses / loss.uses))) for leaf, times in loss.parts]
    return replace(loss, parts=tuple(parts))


class ExpressionError(ValueError):
    """The text is no sum of losses; the message points at the place."""

    def __init__(self, message: str, text: str, column: int) -> None:
        super().__init__(f"{message}\n  {text}\n  {' ' * column}^")


def read_losses(text: str) -> list[tuple[Loss, int]]:
    """Read a sum of losses, each with how often it is used, in the order they stand."""
    flat = " ".join(text.split())
    try:
        tree = ast.parse(flat, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = max(0, (getattr(error, "offset", None) or 1) - 1)
        message = "this is not a sum such as laplace(epsilon=0.1) * 50 + gaussian(sigma=20)"
        raise ExpressionError(message, flat[:200], min(column, 200)) from None
    return _Reader(flat).terms(tree)


class _Reader:
    def __init__(self, text: str) -> None:
        from sordino.privacy import losses  # numpy is loaded only here

        self._text = text
        self._known: dict[str, Callable[..., Loss]] = {
            name: getattr(losses, name) for name in losses.__all__ if name != "pmfs"
        }

    def _refuse(self, message: str, node: ast.AST) -> ExpressionError:
        column = len(self._text.encode()[: getattr(node, "col_offset", 0)].decode())
        return ExpressionError(message, self._text, column)

    def terms(self, node: ast.expr) -> list[tuple[Loss, int]]:
        found: list[tuple[Loss, int]] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            found.append(self._term(node.right))
            node = node.left
        found.append(self._term(node))
        return found[::-1]

    def _term(self, node: ast.expr) -> tuple[Loss, int]:
        times = 1
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left_is_number = isinstance(node.left, ast.Constant)
            number, node = (node.left, node.right) if left_is_number else (node.right, node.left)
            if not (isinstance(number, ast.Constant) and type(number.value) is int):
                raise self._refuse("a loss is repeated a whole number of times", number)
            self._check_plain(number)
            if number.value < 1:
                raise self._refuse("a loss is repeated at least once", number)
            times *= number.value
        return self._loss(node), times

    def _loss(self, node: ast.expr) -> Loss:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise self._refuse("a loss looks like laplace(epsilon=0.1)", node)
        name = node.func.id
        if name not in self._known:
            near = get_close_matches(name, self._known, n=1)
            known = ", ".join(sorted(self._known))
            hint = f"did you mean {near[0]}?" if near else f"known are {known}"
            raise self._refuse(f"there is no loss called {name}; {hint}", node)
        positional = [self._loss(argument) for argument in node.args]
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self._refuse("arguments are written name=value", keyword.value)
            named[keyword.arg] = self._value(keyword.value)
        try:
            return self._known[name](*positional, **named)
        except (TypeError, ValueError) as error:
            message = str(error).replace(f"{name}()", name)
            raise self._refuse(message, node) from None

    def _check_plain(self, node: ast.Constant) -> Decimal:
        """Return a number as it was typed, whatever its length; refuse 1_0 and 0x10."""
        from sordino.numbers.rational import decimal_of  # numpy is loaded only here

        try:
            return decimal_of("a value", ast.get_source_segment(self._text, node) or "")
        except ValueError as error:
            raise self._refuse(str(error), node) from None

    def _value(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
            if isinstance(node.value, str | bool):
                return node.value
            typed = self._check_plain(node)
            return typed if isinstance(node.value, float) else node.value
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            above, below = self._value(node.left), self._value(node.right)
            if isinstance(above, int) and isinstance(below, int) and below:
                return Fraction(above, below)
        raise self._refuse("a value is a number, such as 0.1 or 1/3, of whole numbers", node)
