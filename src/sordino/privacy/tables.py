# SPDX-License-Identifier: Apache-2.0
"""The loss of a mechanism given as two tables of probabilities."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256

import numpy as np

from sordino.cache import Shelf
from sordino.numbers.balls import Ball, ball, is_positive, round_up
from sordino.numbers.rational import Number, down, probability_or_zero, reading, up_as_printed
from sordino.privacy.leaf import Floats, Leaf, both_signs, order_of, pure_rho, whole_size
from sordino.privacy.orders import CLOSE, least_rho, pair_divergences
from sordino.privacy.pure import Pure

MOST_OUTCOMES = 1 << 16
_MOST_SEARCHED = 2048  # different losses beyond which rho is taken from the largest one alone
_FEW = 128  # losses up to which the search for rho is a fine one
_LESS_CLOSE = 1e-5
_SHARP = 256  # largest losses that are known to twice the digits of a double


@dataclass(frozen=True, slots=True, kw_only=True)
class PmfPair(Leaf):
    """The loss of a mechanism whose outcomes have probabilities p or q, depending on one unit.

    The pair is (p, q) itself: ``p[i]`` and ``q[i]`` belong to the same outcome.

    >>> third = Fraction(1, 3)
    >>> loss = PmfPair(p=(2 * third, third), q=(third, 2 * third))
    >>> loss.epsilon(delta=0), loss.total_variation
    (0.6931471805599454, 0.33333333333333337)

    Guarantee:
        Neighbours: two data sets that give p and q, in either order, and all others that are no
            easier to tell apart.
        Loss: the profile, the Rényi divergences and the Kullback-Leibler divergence of the pair,
            exactly, the larger one of both orders. For a group only the pure loss is known.
        Numerics: sums of fractions, rounded up. rho is found by a search, at most 2e-5 above;
            for more than 2048 different losses it is that of the largest loss.
        Proof: docs/proofs/leaves.md, theorem 7.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    _ahead: _Side = field(init=False, repr=False, compare=False)
    _behind: _Side = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, law in (("p", self.p), ("q", self.q)):
            fractions = isinstance(law, tuple) and all(isinstance(x, Fraction) for x in law)
            if not fractions or min(law, default=Fraction(-1)) < 0 or sum(law) != 1:
                raise ValueError(f"{name} must be a tuple of Fractions that add up to 1")
        if len(self.p) != len(self.q):
            raise ValueError("p and q must have the same number of outcomes")
        if len(self.p) > MOST_OUTCOMES:
            raise ValueError(f"at most {MOST_OUTCOMES} outcomes can be listed, got {len(self.p)}")
        if all(p * q == 0 for p, q in zip(self.p, self.q, strict=True)):
            raise ValueError("p and q have no outcome in common, so nothing is hidden")
        object.__setattr__(self, "_ahead", _side(self.p, self.q))
        object.__setattr__(self, "_behind", _side(self.q, self.p))

    @property
    def symmetric(self) -> bool:
        """Whether both orders of the pair have one profile."""
        return self._ahead == self._behind

    @property
    def pure(self) -> Fraction | None:
        """The largest loss of both orders, rounded up, or None if one is unbounded."""
        if self._ahead.unbounded or self._behind.unbounded:
            return None
        largest = max(self._ahead.ratios[0], self._behind.ratios[0])
        return Fraction(reading(round_up(lambda: ball(largest).log())))

    @property
    def infinity(self) -> float:
        """The probability of an unbounded loss, the smaller one of both orders."""
        return down(min(self._ahead.unbounded, self._behind.unbounded)) + 0.0

    def unbounded(self, *, reverse: bool) -> float:
        """Return the probability of an unbounded loss in one of both orders, rounded down."""
        return down((self._behind if reverse else self._ahead).unbounded) + 0.0

    @property
    def failure(self) -> Fraction:
        """The probability of an unbounded loss, the larger one of both orders."""
        return max(self._ahead.unbounded, self._behind.unbounded)

    @property
    def summit(self) -> float:
        """The probability of the largest loss, the smaller one of both orders."""
        if self.pure is None or self._ahead.ratios[0] != self._behind.ratios[0]:
            return 0.0
        return down(min(side.weights[0] * side.ratios[0] for side in self._sides()))

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """The losses, if they are one number and its negative, and possibly zero."""
        sizes = {max(ratio, 1 / ratio) for ratio in self._ahead.ratios} - {1}
        pure = self.pure
        return (pure, -pure) if pure is not None and len(sizes) == 1 else ()

    @property
    def rho(self) -> float:
        """A rho for which the mechanism is rho-zCDP, or infinity."""
        return _rho(self)

    @property
    def kl(self) -> float:
        """The larger one of the two Kullback-Leibler divergences."""
        return max(side.kl() for side in self._sides())

    @property
    def total_variation(self) -> float:
        """The total variation distance."""
        pairs = zip(self.p, self.q, strict=True)
        return up_as_printed(sum((p - q for p, q in pairs if p > q), Fraction(0)))

    def _delta(self, epsilon: Fraction) -> float:
        return max(side.delta(epsilon) for side in self._sides())

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta."""
        target = probability_or_zero("delta", delta)
        return max(side.epsilon(target) for side in self._sides())

    def renyi(self, *, order: float) -> float:
        """Return the larger one of the two Rényi divergences of this order."""
        at = order_of(order)
        if self._ahead.unbounded or self._behind.unbounded:
            return math.inf
        if at is None:
            return self.epsilon(delta=0)
        return max(side.renyi(at) for side in self._sides())

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:
        """Return delta at each epsilon."""
        ahead, behind = self._sides()[:: -1 if reverse else 1]
        return both_signs(epsilons, ahead.profile, behind.profile)

    def reach(self, tail: float) -> tuple[float, float]:  # noqa: ARG002 - nothing finite lies beyond
        """Return the least and the largest of the losses that are not infinite."""
        return min(-float(self._behind.losses[0]), 0.0), max(float(self._ahead.losses[0]), 0.0)

    def group(self, size: int) -> PmfPair | Pure:
        """Return the loss for neighbours that differ in ``size`` units, if it can be known."""
        if whole_size(size) == 1:
            return self
        pure = self.pure
        if pure is None:
            raise ValueError(
                "two tables with an unbounded loss say nothing about groups: "
                "give the tables of neighbours that differ in the whole group"
            )
        return Pure(epsilon=size * pure) if pure else self

    def _sides(self) -> tuple[_Side, _Side]:
        return self._ahead, self._behind


# By digests, because a pair may list many thousands of outcomes.
_RHOS: Shelf[float] = Shelf(1024, weigh=lambda _: 1)


def _rho(pair: PmfPair) -> float:
    digest = sha256(repr((pair.p, pair.q)).encode()).digest()
    return _RHOS.take(digest, lambda: _searched_rho(pair))


def _searched_rho(pair: PmfPair) -> float:
    pure = pair.pure
    if not pure:
        return math.inf if pure is None else 0.0
    sides = [(side.all_losses, side.all_weights) for side in pair._sides()]
    many = len(sides[0][0])
    if many > _MOST_SEARCHED:
        return pure_rho(pure)

    def divergences(orders: Floats) -> Floats:
        found: Floats = np.maximum(*(pair_divergences(orders, *side) for side in sides))
        return found

    close = CLOSE if many <= _FEW else _LESS_CLOSE
    return least_rho(divergences, pure=float(pure), order_one=pair.kl, close=close)


@dataclass(frozen=True, slots=True)
class _Side:
    """One order of the pair, by falling likelihood ratio.

    ``weights`` are probabilities under Q. ``values`` is the profile at each ratio, ``under_q`` the
    probability under Q of this ratio and all larger ones.
    """

    ratios: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    unbounded: Fraction
    values: tuple[Fraction, ...] = field(compare=False)
    under_q: tuple[Fraction, ...] = field(compare=False)
    losses: Floats = field(compare=False)  # of all that are positive, and the first in any case
    rests: Floats = field(compare=False)  # what is missing in the losses
    levels: Floats = field(compare=False)  # the values, and how steeply the profile rises from them
    rises: Floats = field(compare=False)

    @property
    def all_losses(self) -> Floats:
        return np.array([_log(ratio) for ratio in self.ratios])

    @property
    def all_weights(self) -> Floats:
        return np.array([float(weight) for weight in self.weights])

    def kl(self) -> float:
        if self.unbounded:
            return math.inf

        def formula() -> Ball:
            total = ball(0)
            for ratio, weight in zip(self.ratios, self.weights, strict=True):
                total += ball(ratio * weight) * ball(ratio).log()
            return total

        return round_up(formula)

    def renyi(self, order: Fraction) -> float:
        def formula() -> Ball:
            total = ball(0)
            for ratio, weight in zip(self.ratios, self.weights, strict=True):
                total += ball(weight) * (ball(order) * ball(ratio).log()).exp()
            return total.log() / ball(order - 1)

        return round_up(formula)

    def delta(self, epsilon: Fraction) -> float:
        place = int(np.searchsorted(-self.losses, -float(epsilon)))

        def beyond(at: int) -> bool:
            return is_positive(lambda: ball(self.ratios[at]) - ball(epsilon).exp())

        while place < len(self.ratios) and beyond(place):
            place += 1
        while place > 0 and not beyond(place - 1):
            place -= 1
        if place == 0:
            return up_as_printed(self.unbounded)
        under_q = self.under_q[place - 1]
        under_p = self.values[place - 1] + self.ratios[place - 1] * under_q
        return min(round_up(lambda: ball(under_p) - ball(epsilon).exp() * ball(under_q)), 1.0)

    def epsilon(self, target: Fraction) -> float:
        if target < self.unbounded:
            return math.inf
        place = bisect_right(self.values, target) - 1  # the last ratio with no more than that
        ratio = self.ratios[place] - (target - self.values[place]) / self.under_q[place]
        return round_up(lambda: ball(ratio).log()) if ratio > 1 else 0.0

    def profile(self, epsilons: Floats) -> Floats:
        place = np.searchsorted(-self.losses, -epsilons) - 1  # the least loss above epsilon
        place = np.maximum(place, 0)
        gap = np.maximum((self.losses[place] - epsilons) + self.rests[place], 0.0)
        found: Floats = self.levels[place] - self.rises[place] * np.expm1(-gap)
        return found


def _side(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> _Side:
    weights: dict[Fraction, Fraction] = {}
    unbounded = Fraction(0)
    for one, other in zip(p, q, strict=True):
        if other == 0:
            unbounded += one
        elif one > 0:
            weights[one / other] = weights.get(one / other, Fraction(0)) + other
    ratios = sorted(weights, reverse=True)
    values, under_q, under_p, before = [], [], unbounded, Fraction(0)
    for ratio in ratios:
        values.append(under_p - ratio * before)
        before += weights[ratio]
        under_p += ratio * weights[ratio]
        under_q.append(before)
    ahead = max(bisect_left([-ratio for ratio in ratios], Fraction(-1)), 1)
    losses = np.array([_log(ratio) for ratio in ratios[:ahead]])
    rests = np.zeros(ahead)
    sharp = min(ahead, _SHARP)
    rests[:sharp] = [_rest(*pair) for pair in zip(ratios[:sharp], losses[:sharp], strict=True)]
    return _Side(
        ratios=tuple(ratios),
        weights=tuple(weights[ratio] for ratio in ratios),
        unbounded=unbounded,
        values=tuple(values),
        under_q=tuple(under_q),
        losses=losses,
        rests=rests,
        levels=np.array([float(value) for value in values[:ahead]]),
        rises=np.array(
            [float(r * u) for r, u in zip(ratios[:ahead], under_q[:ahead], strict=True)]
        ),
    )


def _log(ratio: Fraction) -> float:
    return math.log1p(ratio - 1) if ratio > Fraction(1, 2) else math.log(ratio)


def _rest(ratio: Fraction, near: float) -> float:
    return round_up(lambda: ball(ratio).log() - ball(Fraction(near)))
