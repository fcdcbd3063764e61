# SPDX-License-Identifier: Apache-2.0
"""An answer as a picture: bars with error bars, one panel for each noisy column."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from sordino.answer.answer import Column
from sordino.answer.render import MARK, distinct, key_texts, places, plain, printable
from sordino.figures import new_figure, saved, without_formulas, without_frame

if TYPE_CHECKING:
    from sordino.answer.answer import Answer

_MOST_BARS = 40
_UPRIGHT = 8  # bars; more of them lie on their side, so that their names can be read
_LONGEST = 32  # places of a name
_ACROSS = 44  # places of all names side by side in a panel
_TICKS = 4  # along the values, about
_LARGE = 1e12  # numbers from here on are written with an exponent
_BAR, _ERROR = "#79b7a0", "#26332e"


def plot(answer: Answer, path: str | PathLike[str] | None = None) -> Any:
    """Draw the answer and return the figure; with a path, save it there as well."""
    columns = [column for column in answer.columns if column.noisy and column.kind == "measure"]
    if not columns or not len(answer):
        raise ValueError("this answer has no noisy numbers to draw")
    names = _names(answer)[:_MOST_BARS]
    longest = max(map(places, names))
    lying = len(names) > _UPRIGHT or (longest + 2) * len(names) > _ACROSS
    long = 0.9 + 0.27 * len(names) if lying else 3.0
    shape = (1, len(columns)) if lying else (len(columns), 1)
    wide = 4.4 * shape[1] + (0.4 + 0.075 * longest if lying else 1.6)
    figure = new_figure(figsize=(wide, max(long, 1.8) * shape[0] + 0.5))
    panels = figure.subplots(*shape, squeeze=False, sharey=lying, sharex=not lying).ravel().tolist()
    for axes, column in zip(panels, columns, strict=True):
        _bars(axes, column, [_safe(name) for name in names], lying=lying)
    figure.supxlabel(_caption(answer, len(names)), fontsize=8, color="#6b6b6b", x=0.01, ha="left")
    return saved(figure, path)


def _bars(axes: Any, column: Column, names: list[str], *, lying: bool) -> None:
    cells = [column.cell(row) for row in range(len(names))]
    values = [float(c.value) if isinstance(c.value, int | float) else 0.0 for c in cells]
    ends = [
        (0.0, 0.0) if c.low is None or c.high is None else (value - c.low, c.high - value)
        for c, value in zip(cells, values, strict=True)
    ]
    errors = [[max(low, 0.0) for low, _ in ends], [max(high, 0.0) for _, high in ends]]
    bars = list(range(len(names)))
    whiskers = {"ecolor": _ERROR, "capsize": 3, "error_kw": {"elinewidth": 1.1}}
    if lying:
        axes.barh(bars, values, xerr=errors, color=_BAR, height=0.62, **whiskers)
        axes.set_yticks(bars, names)
        axes.set_ylim(len(names) - 0.4, -0.6)  # the first on top
        axes.axvline(0, color=_ERROR, linewidth=0.8)
    else:
        axes.bar(bars, values, yerr=errors, color=_BAR, width=0.62, **whiskers)
        axes.set_xticks(bars, names)
        spare = max(0.6, 1.5 - len(names) / 2)  # so that one bar alone is not a wall
        axes.set_xlim(-spare, len(names) - 1 + spare)
        axes.axhline(0, color=_ERROR, linewidth=0.8)
    axes.set_title(_safe(column.title), loc="left", fontsize=11)
    without_frame(axes, grid="x" if lying else "y")
    along = axes.xaxis if lying else axes.yaxis
    along.get_major_locator().set_params(nbins=_TICKS)
    along.set_major_formatter(lambda x, _: f"{x:,.12g}" if abs(x) < _LARGE else f"{x:.3g}")


def _names(answer: Answer) -> list[str]:
    keys = [column for column in answer.columns if column.kind == "key"]
    parts, at = [], 0
    while at < len(keys):
        one, other = keys[at], keys[at + 1] if at + 1 < len(keys) else None
        bins = other is not None and _are_bins(one, other)
        if other is not None and bins:
            pairs = zip(one.values, other.values, strict=True)
            parts.append([f"{plain(low)} to {plain(high)}" for low, high in pairs])
        else:
            parts.append(key_texts(one, range(len(answer))))
        at += 2 if bins else 1
    rows = zip(*parts, strict=True) if parts else [()] * len(answer)
    return distinct([", ".join(row) for row in rows], _LONGEST)


def _are_bins(one: Column, other: Column) -> bool:
    """Tell whether two columns are the ends of the bins of a histogram."""
    stem = one.title.removesuffix("_from")
    numbers = one.type.is_number and other.type.is_number
    return numbers and one.title == f"{stem}_from" and other.title == f"{stem}_to"


def _safe(text: str) -> str:
    return without_formulas(printable(text))


def _caption(answer: Answer, shown: int) -> str:
    many = len(answer)
    part = f"the first {shown} of {many:,} groups; " if shown < many else ""
    sure = f"{100 * float(answer.confidence):.6g} %"
    mark = f"{MARK}; " if answer.rehearsed else ""
    return f"{mark}{part}error bars hold with {sure} each; price {answer.price}"
