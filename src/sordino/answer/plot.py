# SPDX-License-Identifier: Apache-2.0
"""An answer as a picture: bars with error bars, one panel for each noisy column."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from sordino.answer.column import Column
from sordino.answer.numbers import plain, printable

if TYPE_CHECKING:
    from sordino.answer.answer import Answer

_MOST_BARS = 40
_UPRIGHT = 8  # bars; more of them lie on their side, so that their names can be read
_LONGEST = 28  # characters of a name
_BAR, _ERROR, _GRID = "#79b7a0", "#26332e", "#e6e6e6"


def plot(answer: Answer, path: str | PathLike[str] | None = None) -> Any:
    """Draw the answer and return the figure; with a path, save it there as well.

    Guarantee: none needed; an answer is already private.
    """
    try:
        from matplotlib.figure import Figure  # an extra
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install 'sordino[plot]'") from None
    columns = [column for column in answer.columns if column.noisy and column.kind == "measure"]
    if not columns or not len(answer):
        raise ValueError("this answer has no noisy numbers to draw")
    names = _names(answer)[:_MOST_BARS]
    lying = len(names) > _UPRIGHT or max(map(len, names)) > 2 * _LONGEST // len(names)
    long = 0.9 + 0.27 * len(names) if lying else 3.6
    shape = (1, len(columns)) if lying else (len(columns), 1)
    size = (5.2 * shape[1] + 0.8, max(long, 1.8) * shape[0] + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(*shape, squeeze=False).ravel().tolist()
    for axes, column in zip(panels, columns, strict=True):
        _bars(axes, column, names, lying=lying)
    figure.supxlabel(_caption(answer, len(names)), fontsize=8, color="#6b6b6b", x=0.01, ha="left")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _bars(axes: Any, column: Column, names: list[str], *, lying: bool) -> None:
    cells = [column.cell(row) for row in range(len(names))]
    values = [float(c.value) if isinstance(c.value, int | float) else 0.0 for c in cells]
    ends = [
        (0.0, 0.0) if c.low is None or c.high is None else (value - c.low, c.high - value)
        for c, value in zip(cells, values, strict=True)
    ]
    errors = [[max(low, 0.0) for low, _ in ends], [max(high, 0.0) for _, high in ends]]
    places = list(range(len(names)))
    whiskers = {"ecolor": _ERROR, "capsize": 3, "error_kw": {"elinewidth": 1.1}}
    if lying:
        axes.barh(places, values, xerr=errors, color=_BAR, height=0.62, **whiskers)
        axes.set_yticks(places, names)
        axes.set_ylim(len(names) - 0.4, -0.6)  # the first on top
        axes.axvline(0, color=_ERROR, linewidth=0.8)
    else:
        axes.bar(places, values, yerr=errors, color=_BAR, width=0.62, **whiskers)
        axes.set_xticks(places, names)
        spare = max(0.6, 1.5 - len(names) / 2)  # so that one bar alone is not a wall
        axes.set_xlim(-spare, len(names) - 1 + spare)
        axes.axhline(0, color=_ERROR, linewidth=0.8)
    axes.set_title(_safe(column.title), loc="left", fontsize=11)
    axes.grid(visible=True, axis="x" if lying else "y", color=_GRID)
    axes.set_axisbelow(True)
    (axes.xaxis if lying else axes.yaxis).set_major_formatter("{x:,.6g}")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _names(answer: Answer) -> list[str]:
    """Return a name for each row, made from its keys."""
    keys = [column for column in answer.columns if column.kind == "key"]
    rows = range(len(answer))
    names = [", ".join(_name(column, row) for column in keys) for row in rows]
    return [_safe(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…") for name in names]


def _name(column: Column, row: int) -> str:
    value = column.values[row]
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole else plain(value)


def _safe(text: str) -> str:
    """Return a text in which matplotlib finds no formula."""
    return printable(text).replace("$", r"\$")


def _caption(answer: Answer, shown: int) -> str:
    many = len(answer)
    part = f"the first {shown} of {many:,} groups; " if shown < many else ""
    sure = f"{100 * float(answer.confidence):.6g} %"
    return f"{part}error bars hold with {sure} each; price {answer.price}"
