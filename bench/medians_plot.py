# SPDX-License-Identifier: Apache-2.0
"""The picture of the errors of private medians."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

if TYPE_CHECKING:
    from bench.medians import Results

mpl.use("Agg")

COLOURS = ("#1b7f5c", "#2f6db5", "#7fb0e0", "#8a6bb8", "#b0b0b0")
LEAST, MOST = 1e-4, 1e8  # smaller errors are shown as 0
TICKS = [10.0**power for power in range(-4, 9, 2)]
BETWEEN = 0.14  # lines of one group are so far apart, and groups 1


def draw(results: Results, path: Path) -> None:
    """Draw the spread of the absolute errors, in units of the width of the middle half."""
    import matplotlib.pyplot as plt

    shapes = list(dict.fromkeys(shape for shape, _ in results))
    epsilons = list(dict.fromkeys(epsilon for _, epsilon in results))
    figure, panels = plt.subplots(
        1, len(epsilons), figsize=(11, 7), sharey=True, sharex=True, layout="constrained"
    )
    for axes, epsilon in zip(np.atleast_1d(panels), epsilons, strict=True):
        for place, shape in enumerate(shapes):
            _group(axes, results[shape, epsilon], place)
        _dress(axes, len(shapes))
        axes.set_title(f"epsilon {epsilon:g}", loc="left")
        axes.set_xlabel("absolute error / width of the middle half of the data")
        axes.set_xticks(TICKS, ["0", *(f"$10^{{{round(np.log10(x))}}}$" for x in TICKS[1:])])
    axes.set_yticks(range(len(shapes)), [shape.name for shape in shapes])
    axes.invert_yaxis()
    figure.suptitle(
        "each line holds 90 % of the draws; the tick is the middle one, the dot the mean",
        fontsize=10, color="#404040",
    )  # fmt: skip
    handles, labels = axes.get_legend_handles_labels()
    wanted = dict(zip(labels, handles, strict=True))
    figure.legend(
        list(wanted.values()), list(wanted), loc="outside lower center", ncols=5, frameon=False
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _group(axes: Any, errors: Any, place: int) -> None:
    """Draw one line for each way, from one draw in twenty to all but one, with the mean on it."""
    for number, (name, found) in enumerate(errors.items()):
        share = found.absolute / found.width[:, None]
        low, half, high = np.quantile(share, [0.05, 0.5, 0.95]).clip(LEAST, MOST)
        height = place + BETWEEN * (number - (len(errors) - 1) / 2)
        colour = COLOURS[number]
        axes.plot([low, high], [height, height], color=colour, linewidth=2.6, zorder=2,
                  solid_capstyle="butt")  # fmt: skip
        axes.plot(half, height, marker="|", markersize=9, markeredgewidth=2, color=colour, zorder=3)
        axes.plot(max(share.mean(), LEAST), height, marker="o", markersize=6, color=colour,
                  markeredgecolor="white", linestyle="none", label=name, zorder=4)  # fmt: skip


def _dress(axes: Any, groups: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(LEAST * 0.7, MOST * 3)
    axes.axvline(1, color="#404040", linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for place in range(groups - 1):
        axes.axhline(place + 0.5, color="#e6e6e6", linewidth=1, zorder=0)
    axes.grid(visible=True, axis="x", which="major", color="#efefef", zorder=0)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
