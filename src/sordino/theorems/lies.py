# SPDX-License-Identifier: Apache-2.0
"""How many answers of a repeated randomized response are lies, in doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import Ball, ball, round_up

Floats: TypeAlias = npt.NDArray[np.float64]

_BEYOND = 40.0  # what is left out is less likely by this, as a logarithm
_LEAST_LOG = -700.0


@dataclass(frozen=True, slots=True)
class Lies:
    """Probabilities of ``first`` lies, of one more, and so on; and of fewer than ``first``.

    More lies than are listed count as the largest number listed, which is a larger loss.
    """

    first: int
    masses: Floats
    fewer: float

    def places(self) -> range:
        return range(self.first, self.first + len(self.masses))


def count_lies(epsilon: Fraction, times: int, reach: float) -> Lies:
    """Return the law of the number of lies; each probability is off by a few roundings a place."""
    odds = math.exp(-epsilon)
    mode = min(math.floor((times + 1) * odds / (1 + odds)), times)
    limit = 16 + int(4 * (math.sqrt(times * (reach + _BEYOND)) + reach + _BEYOND))
    down = np.arange(mode, max(mode - limit, 0), -1)
    up = np.arange(mode, min(mode + limit, times))
    # Ratios of neighbours, which fall on both sides; so a geometric series bounds what is left out.
    falling = down / (times - down + 1) / odds if mode else np.zeros(0)
    rising = (times - up) / (up + 1) * odds
    lower, upper = _run(falling, reach), _run(rising, reach)
    first, last = mode - len(lower), mode + len(upper)

    def height() -> Ball:
        ways = ball(Fraction(times + 1)).lgamma() - ball(Fraction(mode + 1)).lgamma()
        ways -= ball(Fraction(times - mode + 1)).lgamma()
        return (ways - ball(mode * epsilon) - times * (-ball(epsilon)).exp().log1p()).exp()

    masses = round_up(height) * np.concatenate([lower[::-1], [1.0], upper])
    fewer = _rest(masses[0], first / (times - first + 1) / odds) if first > 0 else 0.0
    if last < times:
        masses[-1] += _rest(masses[-1], (times - last) / (last + 1) * odds)
    return Lies(first, masses, fewer)


def _run(ratios: Floats, reach: float) -> Floats:
    """Return products of the first ratios, the first two, and so on, until they are negligible."""
    products = np.cumprod(ratios, dtype=np.float64)
    least = math.exp(max(-reach - _BEYOND, _LEAST_LOG))
    return products[: int(np.searchsorted(-products, -least)) + 1]


def _rest(mass: float, ratio: float) -> float:
    """Bound all that comes after a mass, when each is at most ``ratio`` times the one before."""
    return float(mass) * ratio / (1 - ratio) if ratio < 1 else 1.0
