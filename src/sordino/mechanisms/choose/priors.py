# SPDX-License-Identifier: Apache-2.0
"""Public weights that candidates have before any score is looked at."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sordino.exact.levels import Levels
from sordino.exact.rational import nonnegative
from sordino.mechanisms.choose.labels import each_of, in_row
from sordino.mechanisms.choose.laws import Floats, weights
from sordino.mechanisms.choose.scores import ExactLevels, Scores, one_by_one

_LONGEST = 1 << 12  # bits of a weight once all have one denominator


def read_base(base: object, candidates: int) -> list[Fraction]:
    """Read one weight for each candidate, none negative and not all 0, as the decimals they print.

    They come in the order of the candidates: what has names is refused, because names are not
    looked at here.

    Guarantee: none needed; public inputs only.
    """
    given = in_row("base", base)
    if len(given) != candidates:
        raise ValueError(f"base must have one number for {each_of(candidates)}, got {len(given)}")
    found = [nonnegative("a weight of base", weight) for weight in given]
    if not any(found):
        raise ValueError("base must give some candidate a weight above 0")
    return found


def with_base(scores: Scores, base: list[Fraction], rate: Fraction) -> Levels:
    """Sort candidates into levels of their own, each as often as its weight says.

    Guarantee: none needed; the result stays inside a mechanism.
    """
    exact = one_by_one(scores)
    unit = math.lcm(*(weight.denominator for weight in base))
    counts = [int(weight * unit) for weight in base]
    if max(counts).bit_length() > _LONGEST:
        raise ValueError("the weights of base have no common denominator that can be worked with")
    best = max(exact)
    return ExactLevels([rate * (best - score) for score in exact], counts)


def weights_with_base(scores: Scores, base: list[Fraction], rate: Fraction) -> Floats:
    """Return each candidate's weight as a double; the best one that has a weight in base has that.

    Guarantee: none; the result is as private as the scores.
    """
    exact = one_by_one(scores)
    used = [index for index, weight in enumerate(base) if weight]
    found: Floats = np.zeros(len(exact))
    found[used] = weights([exact[index] for index in used], rate)
    found[used] *= [float(base[index]) for index in used]
    return found
