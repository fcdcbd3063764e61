# SPDX-License-Identifier: Apache-2.0
"""What all pictures share: figures of matplotlib, which is an extra, and how they are saved."""

from __future__ import annotations

import warnings
from typing import Any

GRID_COLOUR = "#e6e6e6"
_DOTS_PER_INCH = 150


def new_figure(**options: Any) -> Any:
    """Return an empty figure; without matplotlib, say how to get it."""
    try:
        from matplotlib.figure import Figure  # an extra
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install 'sordino[plot]'") from None
    return Figure(layout="constrained", **options)


def saved(figure: Any, target: Any, **options: Any) -> Any:
    """Save a figure, if there is a file to save it to, and return it."""
    if target is not None:
        with warnings.catch_warnings():
            # A letter that the font lacks is drawn as a box; there is nothing to be done about it.
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            figure.savefig(target, dpi=_DOTS_PER_INCH, **options)
    return figure


def without_frame(axes: Any, *, grid: str) -> None:
    """Take the frame away but for two sides, and draw grid lines behind all else."""
    axes.grid(visible=True, axis=grid, color=GRID_COLOUR)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def without_formulas(text: str) -> str:
    r"""Return a text in which matplotlib finds no formula.

    >>> print(without_formulas("from $5 to $9"))
    from \$5 to \$9
    """
    return text.replace("$", r"\$")
