# SPDX-License-Identifier: Apache-2.0
"""The search behind the smooth sensitivity of order statistics and trimmed means.

Both are a maximum over windows of sorted data, of the length of a window times exp(-beta k), where
k grows by one with each further value in it. For a fixed right end that is a straight line in the
value at the left end, and the line of a farther right end falls more slowly: so the best right end
moves to the right with the left one, and divide and conquer finds them all in O(n log n). One level
of it is a few operations on whole arrays.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

MOST_HALVINGS = 100  # how far below the whole range a floor may lie, as a power of two
_SPARE = 3  # windows beyond those that might matter, for the rounding of logarithms


def reach(beta: float, span: float, least: float) -> int:
    """Return how many values a window must have at least to be worth no more than ``least``.

    ``span`` is the length of the longest window.

    Guarantee: none needed; a reach from public numbers is public, any other stays inside.
    """
    if span <= least:
        return 1
    return math.ceil((math.log(span) - math.log(least)) / beta) + _SPARE


def largest_window(below: Floats, above: Floats, beta: float, least: float) -> float:
    """Return the largest (above[q] - below[p]) * exp(-beta * (p + q - 1)), or ``least`` if larger.

    ``below`` descends and ``above`` ascends, from the places where the windows begin to grow; p and
    q are not both 0, and ``least`` is positive.

    Guarantee:
        Neighbours: those of the caller.
        Loss: none by itself; the result is private.
        Numerics: a relative error below 1e-12, for beta from 1e-9 to 64, fewer than 2**39 values,
            and ``least`` at least 2**-100 of the longest window.
        Proof: docs/proofs/smooth.md, theorem 4.
    """
    best = least
    for dense in (False, True):  # a few windows that grow to one side only, then all of them
        for ends, start in ((above, float(below[0])), (below, float(above[0]))):
            best = max(best, _one_sided(ends, start, beta, dense=dense))
        for _ in range(2):  # a shorter reach makes for a shorter span, and that for a shorter reach
            width = reach(beta, float(above[-1] - below[-1]), best)
            below, above = below[: width + 1], above[: width + 1]
    left, right = below[1:], above
    if not left.size:
        return best
    fading = np.exp(-beta * np.arange(max(left.size, right.size), dtype=np.float64))
    fading_left, fading_right = fading[: left.size], fading[: right.size]
    kept = _upper((right - left[0]) * fading_right, (right - left[-1]) * fading_right)
    right, fading_right = right[kept], fading_right[kept]
    kept = _upper((right[0] - left) * fading_left, (right[-1] - left) * fading_left)
    left, fading_left = left[kept], fading_left[kept]
    return max(best, _divide(left, fading_left, right, fading_right))


def _one_sided(ends: Floats, start: float, beta: float, *, dense: bool) -> float:
    """Return the best of the windows from a start to all ends but the first, or to a few."""
    if ends.size < 2:
        return 0.0
    if dense:
        lengths, fading = ends[1:] - start, np.arange(ends.size - 1, dtype=np.float64)
    else:
        places = 1 << np.arange((ends.size - 1).bit_length())
        lengths, fading = ends[places] - start, (places - 1).astype(np.float64)
    fading *= -beta
    np.exp(fading, out=fading)
    lengths *= fading
    return max(float(lengths.max()), -float(lengths.min()))


def _upper(near: Floats, far: Floats) -> Places:
    """Return the lines that may be the highest somewhere, from their heights at two places.

    Lines are sorted so that each falls more slowly from ``far`` to ``near`` than the one before: a
    line that is no higher at ``near`` than an earlier one, or at ``far`` than a later one, lies
    below that one in between.
    """
    kept = np.flatnonzero(_rises(near))
    far = far[kept]
    return kept[np.flatnonzero(_rises(far[::-1])[::-1])]


def _rises(heights: Floats) -> npt.NDArray[np.bool_]:
    """Tell which numbers are larger than all before them."""
    found = np.ones(heights.size, dtype=np.bool_)
    highest = np.maximum.accumulate(heights)
    np.greater(heights[1:], highest[:-1], out=found[1:])
    return found


def _divide(left: Floats, fading_left: Floats, right: Floats, fading_right: Floats) -> float:
    """Return the maximum of (right[q] - left[p]) * fading_right[q] * fading_left[p]."""
    first, last = np.array([0]), np.array([left.size - 1])  # the rows of each part
    low, high = np.array([0]), np.array([right.size - 1])  # and where their best columns may be
    best = 0.0
    while first.size:
        middle = (first + last) >> 1
        sizes = high - low + 1
        ends = np.cumsum(sizes)
        starts = ends - sizes
        columns = np.arange(ends[-1]) - np.repeat(starts - low, sizes)
        lengths = right[columns]
        lengths -= np.repeat(left[middle], sizes)
        lengths *= fading_right[columns]
        highest = np.maximum.reduceat(lengths, starts)
        best = max(best, float((highest * fading_left[middle]).max()))
        hits = np.flatnonzero(lengths == np.repeat(highest, sizes))
        chosen = columns[hits[np.searchsorted(hits, starts)]]
        # Rows are sorted by falling left ends: later rows have their best columns further left.
        before, after = first < middle, middle < last
        first, last = (
            np.concatenate([first[before], middle[after] + 1]),
            np.concatenate([middle[before] - 1, last[after]]),
        )
        low, high = (
            np.concatenate([chosen[before], low[after]]),
            np.concatenate([high[before], chosen[after]]),
        )
    return best
