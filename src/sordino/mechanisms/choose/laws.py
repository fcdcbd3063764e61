# SPDX-License-Identifier: Apache-2.0
"""The laws of the choices as doubles, for teaching and for tests."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.scores import Scores, best_of_array

Floats = npt.NDArray[np.float64]

_NODES, _PANELS = 32, 64
_NEVER = Fraction(10_000)  # exp of minus this is 0 as a double


def weights(scores: Scores, rate: Fraction) -> Floats:
    """Return exp(rate * (score - best)) for each score.

    Guarantee: none; the result is as private as the scores.
    """
    if isinstance(scores, list):
        best = max(scores)
        return np.exp([-float(min(rate * (best - score), _NEVER)) for score in scores])
    top = best_of_array(scores)
    if scores.dtype.kind == "f":
        halves = top * 0.5 - scores * 0.5  # which do not overflow
    else:
        gaps = np.uint64(int(top) % (1 << 64)) - scores.view(np.uint64)
        halves = gaps.astype(np.float64) * 0.5
    with np.errstate(over="ignore"):  # an infinite exponent is as good as a large one
        found: Floats = np.exp(-float(2 * rate) * halves)
    return found


def flips(chances: Floats, sizes: Floats | None = None) -> Floats:
    """Return the law of permute-and-flip for candidates whose coins have these chances.

    With ``sizes`` there are so many candidates of each chance, and the result is for one of them.

    A candidate with chance p wins with p times the integral, over t from 0 to 1, of the product of
    1 - q t over all other chances q: t is how early in the random order it comes. The integral is
    taken over panels that halve towards 0, where the product of many factors changes fastest.

    Guarantee: none; the result is as private as the scores.
    """
    values, places = np.unique(chances, return_inverse=True)
    counts = np.bincount(places, weights=sizes)
    nodes, shares = np.polynomial.legendre.leggauss(_NODES)
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-_PANELS, 1)])
    halves = np.diff(ends) / 2
    t = (ends[:-1, None] + halves[:, None] * (nodes + 1)).ravel()
    dt = (halves[:, None] * shares).ravel()
    product = np.zeros_like(t)
    for value, count in zip(values, counts, strict=True):
        product += count * np.log1p(-value * t)
    wins = [value * float(dt @ np.exp(product - np.log1p(-value * t))) for value in values]
    found: Floats = np.array(wins)[places]
    return found
