# SPDX-License-Identifier: Apache-2.0
"""An audit as a picture: two histograms, the promised envelope, and the worst event shaded."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sordino.figures import new_figure, saved, without_formulas, without_frame

if TYPE_CHECKING:
    from sordino.auditing.report import Report

Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = tuple[Array, Array]
Mask: TypeAlias = NDArray[np.bool_]

_MAX_CELLS = 60
_MAX_BARS = 16  # Of outcomes without an order; the rarest share one more.
_MAX_BARS_OF_NUMBERS = 8
_TAIL = 0.001  # This share of the outputs may lie beyond the picture, on either side.
_MAX_NAME_LENGTH = 22
_MAX_NAMES_LENGTH = 76  # With more letters than this, names side by side are slanted.
_MAX_LINE_LENGTH = 92
_LEAST_HEIGHT = 40  # As a factor between top and floor.
_LINES = {"x": "#1b7f5c", "y": "#d98c3f"}
_BANDS = {"x": "#c3e0d5", "y": "#f3d9bd"}
_WORST = "#c75b7a"


@dataclass(frozen=True, slots=True)
class Colours:
    """Those of the likelier input, of the other one, and of the band around that."""

    first: str
    other: str
    band: str


@dataclass(frozen=True, slots=True)
class Cells:
    """Where the outputs of both inputs lie: the ends of cells, or the names of outcomes."""

    edges: Array  # one more than there are cells
    names: tuple[str, ...] | None
    shares: tuple[Array, Array]
    worst: tuple[tuple[float, float], ...]  # where the worst event lies


def plot(report: Report, path: str | PathLike[str] | None = None) -> Any:
    """Draw an audit and return the figure; with a path, save it there as well."""
    figure = new_figure(figsize=(7.6, 4.4))
    draw(report, figure.subplots())
    return saved(figure, path)


def svg(report: Report) -> str:
    """Draw an audit as a piece of SVG, to be put into a page."""
    drawn = io.StringIO()
    saved(plot(report), drawn, format="svg", metadata={"Date": None})
    text = drawn.getvalue()
    return text[text.index("<svg") :]


def draw(report: Report, axes: Any) -> None:
    """Draw an audit on axes of matplotlib."""
    cells = cells_of(report)
    first, other = cells.shares
    least = _least(cells)
    factor = math.exp(min(report.epsilon, 700))
    top = min(1.0, float(max(first.max(), other.max())) * 1.6) * 1.05
    floor = min(least / 2, top / _LEAST_HEIGHT)
    low = np.maximum(other / factor - report.delta, floor)
    high = np.clip(other * factor + report.delta, floor, 1)
    x, y = (_short(repr(report.of(side))) for side in report.order)
    between = f"promised: within a factor e^{report.epsilon:.4g} of that for {y}"
    if report.delta:
        between += f", and {report.delta:.3g}"
    likelier, rarer = report.order
    colours = Colours(_LINES[likelier], _LINES[rarer], _BANDS[rarer])
    paint = _steps if cells.names is None else _bars
    paint(axes, cells, (np.maximum(first, floor), np.maximum(other, floor)), (low, high), colours)
    axes.set_yscale("log")
    axes.set_ylim(floor, top)
    axes.set_xlabel(without_formulas(_short(report.axis, _MAX_LINE_LENGTH)))
    axes.set_ylabel("share of the runs")
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.10g} %")
    axes.yaxis.set_minor_formatter(lambda *_: "")
    axes.set_title(_title(report), loc="left", fontsize=10)
    without_frame(axes, grid="y")
    names = (f"output for {x}", f"output for {y}", between)
    _legend(axes, names, colours, shaded=bool(cells.worst))


def cells_of(report: Report) -> Cells:
    """Sort the outputs that a report kept into cells."""
    if report.sample is None or not all(len(side) for side in report.sample):
        raise ValueError("this audit kept no outputs to draw")
    turned = 1 if report.order[0] == "x" else -1
    first, other = map(np.asarray, report.sample[::turned])
    inside = None if report.members is None else np.concatenate(report.members[::turned])
    both = np.concatenate([first, other])
    if both.dtype.kind not in "fiub":
        return _named(first.astype(str), other.astype(str), inside)
    first, other = first.astype(float), other.astype(float)
    finite = np.isfinite(both.astype(float))
    if not finite.any():
        return _named(first.astype(str), other.astype(str), inside)
    distinct = np.unique(both[finite])
    if len(distinct) <= _MAX_BARS_OF_NUMBERS and finite.all():
        return _few(distinct, first, other, inside)
    edges = _edges(both.astype(float)[finite], min(_MAX_CELLS, max(8, math.isqrt(len(first)) // 2)))
    shares = (_shares(first, edges), _shares(other, edges))
    return Cells(edges, None, shares, _worst(report, edges, distinct))


def _few(values: Array, first: Array, other: Array, inside: Mask | None) -> Cells:
    """Count a few numbers one by one."""
    is_float = values.dtype.kind == "f"
    names = tuple(_short(f"{one:.10g}" if is_float else str(one)) for one in values)
    p, q = (np.array([np.mean(side == one) for one in values]) for side in (first, other))
    edges = np.arange(len(values) + 1) - 0.5
    worst = _marked(values, np.concatenate([first, other]), inside)
    return Cells(edges, names, (p, q), _places(worst, edges))


def _named(first: Array, other: Array, inside: Mask | None) -> Cells:
    """Count outcomes without an order; the most frequent come first."""
    names, counts = np.unique(np.concatenate([first, other]), return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")][:_MAX_BARS]
    shares = [np.array([np.mean(side == name) for name in kept]) for side in (first, other)]
    shown = tuple(_short(str(name)) for name in kept)
    if len(names) > _MAX_BARS:
        shown = (*shown, f"{len(names) - _MAX_BARS:,} more")
        shares = [np.append(share, max(0.0, 1 - share.sum())) for share in shares]
    edges = np.arange(len(shown) + 1) - 0.5
    worst = _marked(kept, np.concatenate([first, other]), inside)
    return Cells(edges, shown, (shares[0], shares[1]), _places(worst, edges))


def _marked(values: Array, outputs: Array, inside: Mask | None) -> Mask:
    """Tell which values belong to the worst event, as their outputs do."""
    if inside is None:
        return np.zeros(len(values), dtype=bool)
    return np.array([bool(inside[outputs == value].any()) for value in values], dtype=bool)


def _edges(values: Array, most: int) -> Array:
    """Return the ends of cells: one for each value if there are few, equally wide ones if not."""
    distinct = np.unique(values)
    if len(distinct) == 1:
        return np.array([distinct[0] - 0.5, distinct[0] + 0.5])
    if len(distinct) <= _MAX_CELLS:
        step = float(np.diff(distinct).min())
        if (distinct[-1] - distinct[0]) / step <= _MAX_CELLS:
            return np.arange(distinct[0] - step / 2, distinct[-1] + step, step)
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    if low == high:
        low, high = distinct[0], distinct[-1]
    if np.array_equal(distinct, np.round(distinct)):  # whole numbers: as many in each cell
        low, high = math.floor(low), math.ceil(high)
        width = math.ceil((high - low + 1) / most)
        return np.arange(low - 0.5, high + width, width)
    return np.linspace(low, high, most + 1)


def _shares(values: Array, edges: Array) -> Array:
    counts, _ = np.histogram(values[np.isfinite(values)], bins=edges)
    return counts / len(values)


def _worst(report: Report, edges: Array, distinct: Array) -> tuple[tuple[float, float], ...]:
    """Return where the worst event lies in the picture; it ends between values, not on them."""
    if report.edges is None or report.mask is None:
        return ()
    ends = np.asarray(report.edges, dtype=float)
    whole = np.array_equal(distinct, np.round(distinct))
    if whole or len(edges) > len(distinct):  # each value has a cell, or each is a whole number
        half = 0.5 if whole else (edges[1] - edges[0]) / 2
        values = np.append(distinct.astype(float), np.inf)
        ends = values[np.searchsorted(distinct, ends)] - half
    return _places(np.asarray(report.mask, dtype=bool), np.clip(ends, edges[0], edges[-1]))


def _least(cells: Cells) -> float:
    shares = np.concatenate(cells.shares)
    return float(shares[shares > 0].min(initial=1.0))


def _steps(axes: Any, cells: Cells, shares: Arrays, band: Arrays, colours: Colours) -> None:
    """Draw histograms of numbers."""
    first, other = shares
    edges = cells.edges
    for start, end in cells.worst:
        axes.axvspan(start, end, color=_WORST, alpha=0.16, linewidth=0)
    low, high = (np.append(one, one[-1]) for one in band)
    axes.fill_between(edges, low, high, step="post", color=colours.band, alpha=0.8, linewidth=0)
    axes.stairs(other, edges, baseline=None, color=colours.other, linewidth=1.6)
    axes.stairs(first, edges, baseline=None, color=colours.first, linewidth=1.6)
    axes.set_xlim(edges[0], edges[-1])


def _bars(axes: Any, cells: Cells, shares: Arrays, band: Arrays, colours: Colours) -> None:
    """Draw how frequent outcomes without an order are."""
    first, other = shares
    places = np.arange(len(first))
    for start, end in cells.worst:
        axes.axvspan(start, end, color=_WORST, alpha=0.16, linewidth=0)
    axes.bar(places, band[1] - band[0], 0.86, bottom=band[0], color=colours.band)
    axes.bar(places - 0.18, first, 0.3, color=colours.first)
    axes.bar(places + 0.18, other, 0.3, color=colours.other)
    names = [without_formulas(name) for name in cells.names or ()]
    slanted = sum(len(name) + 2 for name in names) > _MAX_NAMES_LENGTH
    axes.set_xticks(places, names)
    axes.set_xlim(-0.6, len(names) - 0.4)
    if slanted:
        axes.tick_params(axis="x", labelrotation=30, labelsize=8)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")


def _places(mask: Mask, edges: Array) -> tuple[tuple[float, float], ...]:
    """Return the stretches of an axis that are marked.

    >>> _places(np.array([True, True, False, True]), np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    ((0.0, 2.0), (3.0, 4.0))
    """
    turns = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    ends = np.asarray(edges, dtype=float)[turns].reshape(-1, 2).tolist()
    return tuple((start, end) for start, end in ends if start < end)


def _legend(axes: Any, words: tuple[str, str, str], colours: Colours, *, shaded: bool) -> None:
    """Explain the colours below the picture, where they cover nothing."""
    from matplotlib.patches import Patch  # an extra, which is there since something was drawn

    marks = [Patch(color=colour) for colour in (colours.first, colours.other, colours.band)]
    names = [without_formulas(word) for word in words]
    if shaded:
        marks.append(Patch(color=_WORST, alpha=0.3))
        names.append("worst event")
    axes.figure.legend(marks, names, loc="outside lower left", ncols=2, frameon=False, fontsize=9)


def _title(report: Report) -> str:
    found = f"epsilon is at least {report.lower_bound:.4g}"
    sure = f"with {100 * report.confidence:.7g} % confidence"
    promised = f"promised {report.epsilon:.4g}"
    words = without_formulas(_short(report.event, _MAX_LINE_LENGTH - 13))
    return f"{report.verdict}: {found} {sure}, {promised}\nworst event: {words}"


def _short(text: str, most: int = _MAX_NAME_LENGTH) -> str:
    """Return a text that is not too long, in which every letter can be drawn.

    >>> _short("a long way to say nothing at all", 12)
    'a long wa...'
    """
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."
