# SPDX-License-Identifier: Apache-2.0
"""How well a crowd hides one report: sums over the reports of the others.

A report reaches the reader without its sender. What it still tells is a sign, plus or minus, known
with the odds e^bound to 1, among the signs of others. Let D be the expectation of this sign after
all has been seen, if both were equally likely. Then the profile is

    (1 + e^epsilon) tanh(bound / 2) E(D - 1 + gap)+,
    gap = 1 - tanh(epsilon / 2) / tanh(bound / 2).

The functions here return bounds on this expectation, the *excess*, at many gaps at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sordino.privacy.leaf import Floats

_MARGIN = 1 + 2.0**-28  # more than the error of a sum over crowds: see below
MOST_COUNTED = 10**6  # people up to whom the answers are counted
MOST_PEOPLE = 10**10  # more are treated like so many
ALL_LISTED = 10**4  # people up to whom every number of ones among the others is looked at
_REACH = 20.0  # standard deviations of the mean of fair signs; beyond, the excess is below 1e-86
_BACK = 20.0  # square roots of their mean that the number of clones may fall short
_AHEAD = 10.0  # and exceed it
_AROUND = 8.0  # square roots within which blocks are fine
_FINE = 2.0**-15  # of the number of clones: how many of them make a block
_LONG = 85.0  # exp(-85) is cut off either end of a law
_CUT = 1e-36  # more than what is cut off both laws
_SMALL = 1e-30  # probabilities below this are not told apart from what was cut off
_ROUNDING = 2.0**-49  # for each probability in the two laws that are convolved: see below
_TINY = 1e-86  # more than the probabilities of too few clones and of signs out of reach
_FEWEST = 48  # numbers of ones that are looked at in the largest crowds


def clones_excess(people: int, share: float, gaps: Floats) -> Floats:
    """Bound the excess if each of the others gives a fair sign with probability ``share``.

    D is the mean of K signs, where K - 1 is binomial. More signs hide more, so each of a block of
    numbers K may be replaced by its least one.

    Guarantee:
        Neighbours: one person's value replaced by another; ``people`` is public.
        Loss: at least the excess, and above it by a few 1e-4 of itself at most where people are
            more than 10^5; beyond 10^10 people that of 10^10.
        Numerics: sums of positive doubles, raised by a relative 2**-28. Probabilities are products
            of at most 2^21 quotients, with three roundings each; three sums have no more terms, and
            how far a gap is beyond a mean is known to 2**-52, which is 2**-31 of it in the largest
            crowd. All errors together are below 2**-29.
        Proof: docs/proofs/shuffling.md, theorem 3.
    """
    found = np.zeros(gaps.shape)
    for least, weight in _blocks(min(people, MOST_PEOPLE) - 1, share):
        found += weight * _mean_excess(least + 1, gaps)
    return found * _MARGIN + _TINY * gaps


def log_far_excess(people: int, share: float, gaps: Floats) -> Floats:
    """Bound the logarithm of the same excess by a formula, a good one where it is very small."""
    many = min(people, MOST_PEOPLE)
    at = np.maximum(1 - gaps, _TINY)
    half = at * at / 2
    left = -share * -np.expm1(-half)
    log_moment = (many - 1) * np.log1p(left) - half
    kept = share * np.exp(-half) / (1 + left)
    log_mean = np.log(at * many * kept)
    found: Floats = log_moment - np.maximum(1 + log_mean, 0.0)
    return found * (1 - 1e-12) + 1e-12


def _blocks(others: int, share: float) -> Iterator[tuple[int, float]]:
    """Give the least number of each block, and the probability of the block."""
    mean = others * share
    root = math.sqrt(mean)
    low = max(0, math.floor(mean - _BACK * root))
    high = min(others, math.ceil(mean + _AHEAD * root + 50))
    law = _binomial(others, share, low, high)
    width = max(1, math.floor(mean * _FINE))
    near = max(low, math.floor(mean - _AROUND * root))
    starts = np.unique(
        np.concatenate([np.arange(low, near, 8 * width), np.arange(near, high + 1, width)])
    )
    sums = np.add.reduceat(law, starts - low)
    yield from zip(starts.tolist(), sums.tolist(), strict=True)


def _mean_excess(signs: int, gaps: Floats) -> Floats:
    """Return the excess of the mean of so many fair signs: it is linear between their means."""
    middle = signs // 2
    first = max(0, middle - math.ceil(_REACH / 2 * math.sqrt(signs)) - 3)
    minus = np.arange(middle, first - 1, -1, dtype=np.float64)  # signs that are a minus
    falls = np.ones(minus.size)
    falls[1:] = minus[:-1] / (signs - minus[:-1] + 1)
    law = np.cumprod(falls)
    law /= 2 * law.sum() - (law[0] if signs % 2 == 0 else 0.0)
    law = law[::-1]
    below = np.cumsum(law)
    level = np.concatenate([[0.0], np.cumsum(below[:-1])]) * (2 / signs)
    place = np.ceil(gaps * (signs / 2)).astype(np.int64) - 1 - first
    at = np.clip(place, 0, law.size - 1)
    rest = np.maximum(gaps - (at + first) * (2 / signs), 0.0)
    found: Floats = np.where(place >= 0, level[at] + below[at] * rest, 0.0)
    return found


def answers_excess(people: int, odds: float, gaps: Floats) -> Floats:
    """Bound the excess of yes and no, each told with ``odds`` to 1, whatever the others hold.

    The number of others with a yes is not known, so the largest excess of all is taken. Beyond
    10^4 people some of the others, of whom nothing is then known, are left out: the fewer people,
    the less is hidden.

    Guarantee:
        Neighbours: one person's value replaced by the other one; ``people`` is public.
        Loss: the least excess that holds for all, if there are at most 10^4 people; beyond, a
            bound, that of at most a hundredth fewer people.
        Numerics: doubles; the errors of all probabilities and what is cut off the laws, less than
            1e-36, are counted against the analyst. Together they are below 1e-10 of the excess
            where it is above 1e-20, and an excess below 1e-30 is not resolved.
        Proof: docs/proofs/shuffling.md, theorem 4.
    """
    listed, others = _listed(people)
    found = np.zeros(gaps.shape)
    for ones in listed:
        first, second = _cut(others - ones, 1 / (1 + odds)), _cut(ones, odds / (1 + odds))
        law, error = np.convolve(first, second), _ROUNDING * (first.size + second.size)
        for way in (law, law[::-1]):
            np.maximum(found, _tail_excess(way, error, gaps), out=found)
    return found


def _listed(people: int) -> tuple[list[int], int]:
    """Return numbers of ones that stand for all, and how many others are kept."""
    dropped = 0
    if people > ALL_LISTED:
        dropped = people // (2 * max(_FEWEST, 3 * 10**7 // people))
    others = people - 1 - dropped
    half = others // 2
    return sorted({*range(0, half + 1, dropped + 1), half}), others


def _tail_excess(law: Floats, error: float, gaps: Floats) -> Floats:
    """Bound the excess of one more yes or no, from the law of the number of yes among the others.

    After seeing y, a yes of the one is as likely as the law at y - 1, a no as the law at y. So D
    grows with y, and the excess is a sum from some y on: the best one, or one next to it.

    A probability is a product of as many quotients as there are steps from the mode, with three
    roundings each; a convolution adds the errors of both laws, and one rounding for each term:
    2**-52 times both lengths in all. Eight times as much covers the choice of y as well.
    """
    kept = np.flatnonzero(law > _SMALL)
    law = law[kept[0] : kept[-1] + 1]
    after = np.append(law[1:], 0.0)
    tails = np.append(np.cumsum(law[::-1])[::-1][1:], 0.0)
    ends = 2 * after / (law + after)  # 1 - D, which falls
    at = np.minimum(np.searchsorted(-ends, -gaps, side="right"), law.size - 1)
    one = (law[at] * (1 + error) + _CUT) * (gaps / 2)
    found: Floats = np.maximum(one - (1 - gaps) * tails[at] * (1 - error), 0.0)
    return found


def _cut(count: int, chance: float) -> Floats:
    """Return a binomial law without ends of less than exp(-85), by Bernstein's inequality."""
    mean, variance = count * chance, count * chance * (1 - chance)
    away = _LONG / 3 + math.sqrt(_LONG * _LONG / 9 + 2 * _LONG * variance)
    return _binomial(
        count, chance, max(0, math.floor(mean - away)), min(count, math.ceil(mean + away))
    )


def _binomial(count: int, chance: float, low: int, high: int) -> Floats:
    """Return the probabilities of low, ..., high; what is outside is given to all of these."""
    middle = min(max(math.floor((count + 1) * chance), low), high)
    odds = chance / (1 - chance)
    right = np.arange(middle + 1, high + 1, dtype=np.float64)
    left = np.arange(middle, low, -1, dtype=np.float64)
    up = np.cumprod((count - right + 1) / right * odds)
    down = np.cumprod(left / (count - left + 1) / odds)
    law = np.concatenate([down[::-1], [1.0], up])
    law /= law.sum()
    return law
