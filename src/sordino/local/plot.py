# SPDX-License-Identifier: Apache-2.0
"""Pictures of the local model: frequencies with intervals, and errors against people."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.figures import new_figure, saved, without_formulas, without_frame
from sordino.local.estimate import Estimate, short_label

if TYPE_CHECKING:
    from sordino.local.protocol import Protocol

_MAX_BARS = 30
_MAX_LABEL_LENGTH = 28
_BAR, _ERROR, _QUIET = "#79b7a0", "#26332e", "#6b6b6b"
_LINES = ("#2f7f67", "#c2703d", "#4f6bb0", "#8a5a9e", "#9b8a2f")
_PEOPLE = (1_000, 10_000_000)
# Variances that are as near as this have lines that cannot be told apart.
_SAME_LINE = 0.03


def draw_estimate(estimate: Estimate, path: str | PathLike[str] | None = None) -> Any:
    """Draw frequencies with their intervals, the largest on top."""
    if len(estimate) == 0:
        raise ValueError("there is nothing to draw, as nothing was found; ask more people")
    figure = new_figure()
    order = np.argsort(-estimate.frequencies, kind="stable")[:_MAX_BARS]
    names = [
        without_formulas(short_label(estimate.labels[place], _MAX_LABEL_LENGTH))
        for place in order.tolist()
    ]
    shares = 100 * estimate.frequencies[order]
    ends = 100 * np.array([estimate.low[order], estimate.high[order]])
    longest = max(map(len, names))
    figure.set_size_inches(5.2 + 0.075 * longest, 1.3 + 0.3 * len(names))
    axes = figure.subplots()
    places = np.arange(len(names))
    axes.barh(places, shares, color=_BAR, height=0.62, zorder=2)
    middle, half = ends.sum(axis=0) / 2, (ends[1] - ends[0]) / 2
    axes.errorbar(
        middle, places, xerr=half, fmt="none", ecolor=_ERROR, capsize=3, zorder=3, clip_on=False
    )
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.4, -0.6)  # the first on top, and no wide margins
    axes.axvline(0, color=_ERROR, linewidth=0.8, zorder=1)
    axes.set_xlim(left=min(0.0, 1.05 * float(shares.min())))
    axes.set_xlabel("percent of the people")
    without_frame(axes, grid="x")
    left_out = len(estimate) - len(names)
    caption = estimate.words + (f"; {left_out} more categories are not shown" if left_out else "")
    figure.supxlabel(caption, fontsize=8, color=_QUIET, x=0.01, ha="left")
    return saved(figure, path)


def draw_errors(
    protocols: Sequence[Protocol],
    path: str | PathLike[str] | None = None,
    *,
    people: tuple[int, int] = _PEOPLE,
) -> Any:
    """Draw the standard error of a rare category against the number of people, by protocol."""
    figure = new_figure()
    figure.set_size_inches(6.4, 3.8)
    axes = figure.subplots()
    counts = np.geomspace(*people, 60)
    for (variance, names), colour in zip(_together(protocols), _LINES, strict=False):
        errors = 100 * np.sqrt(variance / counts)
        axes.loglog(counts, errors, color=colour, label="\n".join(names), linewidth=1.8)
    axes.set_xlabel("people")
    axes.set_ylabel("standard error of a rare category,\nin percentage points")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    without_frame(axes, grid="both")
    axes.legend(frameon=False, fontsize=9)
    return saved(figure, path)


def _together(protocols: Sequence[Protocol]) -> list[tuple[float, list[str]]]:
    """Put those protocols together whose lines would hide each other."""
    groups: list[tuple[float, list[str]]] = []
    for protocol in protocols:
        variance = float(protocol.variance())
        close = (names for other, names in groups if abs(variance / other - 1) < _SAME_LINE)
        names = next(close, None)
        if names is None:
            groups.append((variance, [protocol.words]))
        else:
            names.append(protocol.words)
    return groups
