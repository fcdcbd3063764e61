# SPDX-License-Identifier: Apache-2.0
"""Two pictures of a composition: epsilon against delta, and against the number of uses."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from sordino.privacy.loss import Loss
from sordino.privacy.theorems.explain import Explanation, explain_composition

_POINTS = 12
_COLOURS = ["#b0b0b0", "#d98c3f", "#5b8fc7", "#8a6bb8", "#c75b7a", "#6b8e3f", "#1b7f5c"]


def draw(loss: Loss, found: Explanation, path: Path) -> None:
    """Draw both pictures for each theorem and save them."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise ValueError("a plot needs matplotlib: pip install 'sordino[plot]'") from None
    mpl.use("Agg")
    import matplotlib.pyplot as plt

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
    return Loss(tuple(parts))
