# SPDX-License-Identifier: Apache-2.0
"""The loss of reports that are shuffled: nobody can tell any more who sent which."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.numbers.balls import SMALLEST
from sordino.numbers.rational import (
    Number,
    down,
    is_integer,
    nonnegative,
    probability_or_zero,
    reading,
    up,
    up_as_printed,
    written,
)
from sordino.privacy.grouped import Grouped
from sordino.privacy.leaf import (
    Floats,
    Leaf,
    Relation,
    both_signs,
    check_positive,
    order_of,
    response,
    whole_size,
)
from sordino.privacy.orders import least_rho, pair_divergences
from sordino.privacy.pure import Pure
from sordino.privacy.search import least_double

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
_LEAST_BOUND, _LARGEST_BOUND = Fraction(1, 10**9), 30  # outside, shuffling hides nothing here
_NODES = 1 << 13
_WIDEST = 36.0  # the nodes reach so many standard deviations, in a crowd
_FAR = 1 << 10  # and so many more lie beyond
_LEAST_LOG = -700.0
_FINER = 64  # how much closer the points for a single use are
_COARSER = 8  # how much wider apart those for divergences
_CLOSE = 1e-5  # what the search for rho may miss, relatively
_RAISED = 1 + 2.0**-45  # more than the rounding of a few operations


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


@dataclass(frozen=True, slots=True)
class _Curve:
    """A profile at points from 0 to the largest loss; between them its chord in e^epsilon."""

    points: Floats
    values: Floats

    def at(self, epsilons: Floats) -> Floats:
        """Return the chord at each epsilon that is not negative."""
        place = np.searchsorted(self.points, epsilons, side="right")
        right = np.minimum(place, self.points.size - 1)
        left = np.maximum(right - 1, 0)
        back = np.minimum(epsilons - self.points[right], 0.0)
        share = np.expm1(back) / np.expm1(self.points[left] - self.points[right])
        found: Floats = self.values[right] + (self.values[left] - self.values[right]) * share
        return found


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Shuffled(Leaf):
    """The loss of the shuffled reports of ``people``, each from the same randomizer of ``bound``.

    Whatever the randomizer, the reports of the others hide that of one person like a crowd of fair
    coins, of which each other person throws one with probability 2/(e^bound + 1).

    >>> loss = Shuffled(epsilon=Fraction(1), people=10_000)
    >>> round(loss.epsilon(delta=1e-6), 4), loss.epsilon(delta=0)
    (0.0432, 1.0)

    Guarantee:
        Neighbours: one person's value replaced by another one (replace_one); how many people there
            are is public. All use one randomizer, fixed beforehand, and the order of the reports
            tells nothing, nor does anything else about who sent them.
        Loss: a profile that dominates both orders, for every randomizer, and bounds on rho and the
            Rényi divergences.
        Numerics: doubles, raised by a relative 2**-28; blocks and chords add about 1e-4 of delta.
            More than 10^10 people are treated like 10^10. For a bound above 30 or below 1e-9 the
            loss is that of a report by itself.
        Proof: docs/proofs/shuffling.md, theorems 1 to 3.
    """

    bound: Fraction
    people: int

    def __init__(self, *, epsilon: Fraction, people: int) -> None:
        if not is_integer(people) or people < 1:
            raise ValueError("people must be an int that is at least 1")
        object.__setattr__(self, "bound", check_positive("epsilon", epsilon, Fraction))
        object.__setattr__(self, "people", int(people))

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}(epsilon={written(self.bound)}, people={self.people})"

    @property
    def neighbours(self) -> Relation | None:
        """One person's value replaced."""
        return "replace_one"

    @property
    def pure(self) -> Fraction | None:
        """The largest loss, which is that of a report by itself."""
        return self.bound

    @property
    def rho(self) -> float:
        """A rho for which the reports are rho-zCDP."""
        return _rho(self) if self._alone is None else self._alone.rho

    @property
    def kl(self) -> float:
        """A bound on the Kullback-Leibler divergence."""
        return _kl(self) if self._alone is None else self._alone.kl

    def delta(self, *, epsilon: Number) -> float:
        """Return a delta that goes with epsilon."""
        if self._alone is not None:
            return self._alone.delta(epsilon=epsilon)
        return self._delta(nonnegative("epsilon", epsilon))

    def epsilon(self, *, delta: Number) -> float:
        """Return an epsilon that goes with delta; with delta 0 the bound."""
        if self._alone is not None:
            return self._alone.epsilon(delta=delta)
        target = probability_or_zero("delta", delta)
        whole = up_as_printed(self.bound)
        if target == 0:
            return whole
        level = max(float(target), SMALLEST)
        main = _curve(self)
        if main.values[0] <= level:
            return 0.0
        cell = int(np.flatnonzero(main.values > level)[-1])
        fine = _closer(self, cell)
        place = int(np.flatnonzero(fine.values > level)[-1]) if fine.values[0] > level else 0
        left, right = fine.points[place : place + 2].tolist()
        high, low = fine.values[place : place + 2].tolist()
        share = min(max((level - low) / (high - low), 0.0), 1.0)
        near = right + math.log1p(share * math.expm1(left - right))
        return least_double(lambda e: reading(self._delta(e)) <= target, near=near, high=whole)

    def renyi(self, *, order: float) -> float:
        """Return a bound on the Rényi divergence of this order."""
        at = order_of(order)
        if at is None or self._alone is not None:
            return Pure(epsilon=self.bound).renyi(order=order)
        found = float(_pair(self).divergences(np.array([float(at)]))[0]) * (1 + 1e-9)
        return min(found, Pure(epsilon=self.bound).renyi(order=order))

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""
        if self._alone is not None:
            return self._alone.profile(epsilons)
        ahead = _curve(self).at
        return both_signs(epsilons, ahead, ahead)

    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses beyond which the profile is below ``tail``."""
        if self._alone is not None:
            return self._alone.reach(tail)
        curve = _curve(self)
        far = float(curve.points[int(np.flatnonzero(curve.values <= tail)[0])])
        return -far, far

    def group(self, size: int) -> Shuffled | Grouped:
        """Return a bound on the loss for neighbours that differ in ``size`` people."""
        return self if whole_size(size) == 1 else Grouped(base=self, size=size)

    def _delta(self, epsilon: Fraction) -> float:
        if epsilon >= self.bound:
            return 0.0
        at = max(down(epsilon), 0.0)
        main = _curve(self)
        cell = int(np.searchsorted(main.points, at, side="right")) - 1
        return float(_closer(self, min(cell, main.points.size - 2)).at(np.array([at]))[0])

    def _excess(self, gaps: Floats) -> Floats:
        return clones_excess(self.people, self._share, gaps)

    @property
    def _alone(self) -> Pure | None:
        """The loss of a report by itself, where what shuffling adds is not computed."""
        usual = _LEAST_BOUND <= self.bound <= _LARGEST_BOUND
        return None if usual else Pure(epsilon=self.bound)

    @property
    def _share(self) -> float:
        """The probability that another person throws a fair coin, rounded down."""
        return 2 / (1 + math.exp(self.bound)) / _RAISED


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ShuffledResponse(Shuffled):
    """The loss of the shuffled answers of ``people``, yes or no by randomized response.

    What can be seen is the number of yes. How well it hides one answer depends on how many others
    hold a yes; the loss is the largest one of all these numbers.

    >>> loss = ShuffledResponse(epsilon=Fraction(1), people=50)
    >>> round(loss.delta(epsilon=0.3), 8)
    0.00235625

    Guarantee:
        Neighbours: one person's value replaced by the other one (replace_one); how many people
            there are is public.
        Loss: the least profile that dominates both orders, whatever the others hold, if there are
            at most 10^4 people; up to 10^6 a bound, that of at most a hundredth fewer people; from
            2 * 10^6 on that of Shuffled. rho and the Rényi divergences are bounds.
        Numerics: doubles rounded up, off by less than 1e-9 for a single use where delta is above
            1e-20; chords add about 1e-5 of delta in compositions.
        Proof: docs/proofs/shuffling.md, theorems 1 and 4.
    """

    def _excess(self, gaps: Floats) -> Floats:
        if self.people >= 2 * MOST_COUNTED:
            return clones_excess(self.people, self._share, gaps)
        return answers_excess(min(self.people, MOST_COUNTED), math.exp(self.bound), gaps)


@lru_cache(maxsize=32)
def _curve(loss: Shuffled) -> _Curve:
    """Return the profile at points whose distances suit a crowd of this size."""
    top, crowd = up(loss.bound), 1 + (min(loss.people, MOST_PEOPLE) - 1) * loss._share
    widest = min(1.0, _WIDEST / math.sqrt(crowd))
    far = np.geomspace(widest, 1.0, _FAR if widest < 1 else 1)[1:]
    shares = np.append(np.linspace(0.0, widest, _NODES), far)
    points = np.append(2 * np.arctanh(math.tanh(top / 2) * shares[:-1]), top)
    return _Curve(points, _values(loss, points))


@lru_cache(maxsize=256)
def _closer(loss: Shuffled, cell: int) -> _Curve:
    """Return the profile at close points of one cell of the curve."""
    curve = _curve(loss)
    points = np.linspace(curve.points[cell], curve.points[cell + 1], _FINER + 1)
    values = _values(loss, points)
    values[0], values[-1] = curve.values[cell], curve.values[cell + 1]
    return _Curve(points, np.minimum.accumulate(values))


def _values(loss: Shuffled, points: Floats) -> Floats:
    alone = np.minimum(response(loss.bound, 1.0, points) * _RAISED, 1.0)
    gaps, scale = _gaps(loss, points)
    far = np.exp(np.maximum(log_far_excess(loss.people, loss._share, gaps), _LEAST_LOG))
    found: Floats = np.minimum(np.minimum(loss._excess(gaps), far) * scale, alone)
    found[points >= up(loss.bound)] = 0.0
    return found


def _gaps(loss: Shuffled, points: Floats) -> tuple[Floats, Floats]:
    """Return the gaps that go with epsilons, and by what an excess is multiplied, both raised."""
    half = float(loss.bound) / 2
    short = np.maximum((up(loss.bound) - points) / 2, 0.0)
    gaps = np.sinh(short) / (math.sinh(half) * np.cosh(points / 2)) * _RAISED
    return np.minimum(gaps, 1.0), (1 + np.exp(points)) * math.tanh(half) * _RAISED


@dataclass(frozen=True, slots=True)
class _Pair:
    """A symmetric pair that dominates: losses with probabilities, and far ones with logarithms."""

    losses: Floats
    under_q: Floats
    far: Floats
    log_far: Floats  # of probabilities under P

    def kl(self) -> float:
        ahead = self.losses > 0
        near = (self.under_q * np.expm1(self.losses) * self.losses)[ahead].sum()
        return float(near + (np.exp(self.log_far) * self.far).sum())

    def divergences(self, orders: Floats) -> Floats:
        near = pair_divergences(orders, self.losses, self.under_q) * (orders - 1)
        if not self.far.size:
            return near / (orders - 1)
        exponents = (orders[:, None] - 1) * self.far + self.log_far
        exponents = np.logaddexp(exponents, np.log(orders)[:, None] + self.log_far)
        beyond = np.logaddexp.reduce(exponents, axis=1)
        found: Floats = np.logaddexp(near, beyond) / (orders - 1)
        return found


@lru_cache(maxsize=32)
def _pair(loss: Shuffled) -> _Pair:
    """Return the pair with this profile, at fewer points."""
    curve = _curve(loss)
    near = _NODES - 1
    kept = np.unique(np.append(np.arange(0, near, _COARSER), near))
    points, values = curve.points[kept], curve.values[kept]
    gaps, steps = np.diff(points), np.diff(values)
    ahead = np.append(steps[1:] / np.expm1(gaps[1:]), 0.0)
    mass = np.maximum(ahead - steps / -np.expm1(-gaps), 0.0)  # under P, of each but the first
    under_q = mass * np.exp(-points[1:])
    rest = max(1.0 - float(mass.sum() + under_q.sum()), 0.0)
    losses = np.concatenate([-points[:0:-1], [0.0], points[1:]])
    weights = np.concatenate([mass[::-1], [rest], under_q])
    some = weights > 0
    far = curve.points[near + 1 :]
    if not far.size:
        return _Pair(losses[some], weights[some], far, far)
    at, scale = _gaps(loss, curve.points[near:-1])
    logs = log_far_excess(loss.people, loss._share, at) + np.log(scale)
    back = -np.expm1(-np.diff(curve.points[near:]))
    return _Pair(losses[some], weights[some], far, logs - np.log(back))


@lru_cache(maxsize=1024)
def _kl(loss: Shuffled) -> float:
    return min(_pair(loss).kl() * (1 + 1e-9), Pure(epsilon=loss.bound).kl)


@lru_cache(maxsize=1024)
def _rho(loss: Shuffled) -> float:
    pure, kl = float(loss.bound), _kl(loss)
    found = least_rho(_pair(loss).divergences, pure=pure, order_one=kl, close=_CLOSE)
    return min(found, Pure(epsilon=loss.bound).rho)
