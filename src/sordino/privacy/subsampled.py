# SPDX-License-Identifier: Apache-2.0
"""The loss of a mechanism that sees only a secret random sample of the units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, down, probability_or_zero, reading, up_as_printed
from sordino.privacy.grouped import Grouped
from sordino.privacy.leaf import (
    Curve,
    Floats,
    Leaf,
    Relation,
    as_key,
    both_signs,
    inverse,
    order_of,
    pure_rho,
    round_down,
    whole_size,
)

MOST_TERMS = 4096  # orders beyond this are bounded by the loss without sampling
_MARGIN = 1 + 1e-10  # more than the error of a sum of so many positive doubles
_GRID = 1 << 100
_LARGE = 1.0
_LONGEST = 700.0
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_NODES = 1 << 14
_NEAREST = 1e-14  # of the whole range: where the points begin to be close
_STEEPEST = 1.0  # largest change of the exponent inside a cell
_INTEGRAL_MARGIN = 1 + 2.0**-32  # more than the errors of profiles, quadrature and sums
_GAUSS = np.polynomial.legendre.leggauss(5)
_TAIL = 1e-80  # profiles are tabulated up to here
_HALF = 0.5
_TABLES: Shelf[Table] = Shelf(
    8 * MEGABYTE, weigh=lambda table: table.points.nbytes + table.values.nbytes
)


def check_rate(rate: object) -> None:
    """Refuse a sampling rate that is not a Fraction above 0 and at most 1."""
    if not isinstance(rate, Fraction) or not 0 < rate <= 1:
        raise ValueError("rate must be a Fraction above 0 and at most 1")


def amplified(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return ln(1 + rate (e^epsilon - 1)), rounded up.

    >>> float(amplified(Fraction(1), Fraction(1, 100)))
    0.01703686323617655

    Guarantee:
        Neighbours: add_remove for Poisson sampling, replace_one for samples of a fixed size.
        Loss: the pure loss of an epsilon-private mechanism on a secret sample.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/leaves.md, theorem 8 (Balle, Barthe, Gaboardi 2018).
    """

    def formula() -> Ball:
        return (ball(rate) * ball(epsilon).expm1()).log1p()

    return _fraction(round_up(formula))


def forward_delta(base: Leaf, rate: Fraction, epsilon: Fraction) -> float:
    """Return rate times the delta of the base at ln(1 + (e^epsilon - 1) / rate).

    Guarantee:
        Neighbours: as for ``amplified``.
        Loss: the delta that a secret sample leaves, for the order in which P has the unit.
        Numerics: rounded up: the epsilon of the base is rounded down.
        Proof: docs/proofs/leaves.md, theorem 8.
    """

    def formula() -> Ball:
        return (ball(epsilon).expm1() / ball(rate)).log1p()

    at = _rounded_down(formula, epsilon)
    return up_as_printed(rate * _fraction(base.delta(epsilon=at))) + 0.0


def backward_delta(base: Leaf, rate: Fraction, epsilon: Fraction) -> float:
    """Return the delta of Poisson sampling for the order in which Q has the unit.

    Guarantee:
        Neighbours: add_remove.
        Loss: w times the delta of the base at ln(1 + (e^epsilon - 1) / w), where w is
            1 - (1 - rate) e^epsilon, or 0 if that is not positive.
        Numerics: rounded up: the epsilon of the base is rounded down.
        Proof: docs/proofs/leaves.md, theorem 8.
    """

    def left() -> Ball:
        return ball(rate) - ball(1 - rate) * ball(epsilon).expm1()

    share = round_up(left)
    if share <= 0:
        return 0.0

    def formula() -> Ball:
        return (ball(epsilon).expm1() / left()).log1p()

    at = _rounded_down(formula, epsilon)
    return up_as_printed(_fraction(share) * _fraction(base.delta(epsilon=at))) + 0.0


def base_epsilons(epsilons: Floats, rate: float) -> Floats:
    """Return ln(1 + (e^epsilon - 1) / rate) for each epsilon that is not negative."""
    near = np.minimum(epsilons, _LARGE)
    far = np.maximum(epsilons, _LARGE)
    small = np.log1p(np.expm1(near) / rate)
    large = far - math.log(rate) + np.log1p(-(1 - rate) * np.exp(-far))
    return np.where(epsilons <= _LARGE, small, large)


def sampled_loss(loss: float, rate: float) -> float:
    """Return ln(1 + rate (e^loss - 1)), in doubles."""
    if loss < _LONGEST:
        return math.log1p(rate * math.expm1(loss))
    return loss + math.log(rate)


def log_moment(base: Leaf, rate: Fraction, order: int, *, twice: bool) -> float:
    """Return a bound on ln E_Q (P/Q)**order for a whole order, P being the sampled mechanism.

    Guarantee:
        Neighbours: as for ``amplified``.
        Loss: the binomial expansion for Poisson sampling; with ``twice`` that of a sample of fixed
            size, for which all terms count twice, and the first of them once more.
        Numerics: a sum of positive doubles, raised by a relative 1e-10.
        Proof: docs/proofs/leaves.md, theorem 9.
    """
    if order == 1:
        return 0.0
    q = float(rate)
    log_q, log_rest = math.log(q), math.log1p(-q) if q < 1 else -math.inf
    logs = []
    for k in range(2, order + 1):
        more = (k - 1) * _renyi(as_key(base), k)
        if math.isinf(more):
            return math.inf
        rest = 0.0 if k == order else (order - k) * log_rest
        choose = math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
        logs.append(choose + rest + k * log_q + _log_expm1(more))
    if twice:
        logs.append(
            math.log(order * (order - 1) / 2) + 2 * log_q + _log_expm1(_renyi(as_key(base), 2))
        )
    top = max(logs)
    total = top + math.log(math.fsum(math.exp(log - top) for log in logs) * (2 if twice else 1))
    # lgamma is off by a few units in the last place of numbers below 4e4
    return _softplus(total + 1e-10) * _MARGIN


def between_whole_orders(log_moments: Callable[[int], float], order: Fraction) -> float:
    """Return a bound on the Rényi divergence of any order from moments of whole orders.

    The logarithm of a moment is a convex function of the order.
    """
    low = math.floor(order)
    share = float(order - low)
    log = log_moments(low)
    if share > 0:
        log = (1 - share) * log + share * log_moments(low + 1)
    return log / float(order - 1) * _MARGIN


def beyond(base: Leaf, rate: float, order: float, at: float) -> float:
    """Bound the integral of e^((order-1) a) times the sampled profile over a > ``at``.

    Guarantee:
        Neighbours: as for ``amplified``.
        Loss: a bound from above, by the Rényi divergences of the base at larger orders.
        Numerics: doubles, raised by a relative 1e-10.
        Proof: docs/proofs/leaves.md, theorem 9.
    """
    least = max(order, 2.0)
    loss = float(base_epsilons(np.array([at]), rate)[0])
    found = math.inf
    for step in _STEPS:
        higher = math.ceil(least) + step
        log = (
            (higher - 1) * _renyi(as_key(base), higher) - math.log(higher) + (least - higher) * loss
        )
        if log < _LONGEST:
            found = min(found, rate * rate * math.exp(log) / (higher - least))
    return found * _MARGIN


@lru_cache(maxsize=1 << 14)
def _renyi(base: Leaf, order: int) -> float:
    return base.renyi(order=order)


def _log_expm1(x: float) -> float:
    return x + math.log1p(-math.exp(-x)) if x > 1 else math.log(math.expm1(x))


def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def _rounded_down(formula: Callable[[], Ball], epsilon: Fraction) -> Fraction:
    """Return a short fraction a little below the value of a formula, which is zero at epsilon 0."""
    if epsilon == 0:
        return epsilon
    value = _fraction(-round_up(lambda: -formula()))
    return Fraction(math.floor(value * _GRID), _GRID)


def _fraction(x: float) -> Fraction:
    return Fraction(reading(x))


@dataclass(frozen=True, slots=True)
class Table:
    """A profile at points from 0 to the largest loss, close to each other near 0.

    With H the profile of (P, Q) and G that of (Q, P), as functions of epsilon,

        E_Q (P/Q)**t - 1 = t (t - 1) times the integral of e^((t-1) a) H(a) + e^(-t a) G(a)

    over a >= 0, and this integral at t = 1 is the Kullback-Leibler divergence. Between the points
    of a table a profile lies below its chord in e^a, so the integral of the chords is a bound.

    Guarantee: none by itself; ``weighted`` says what it bounds.
    """

    points: Floats
    values: Floats

    @property
    def top(self) -> float:
        """The last point."""
        return float(self.points[-1])

    @property
    def rest(self) -> float:
        """The profile at the last point."""
        return float(self.values[-1])


def tabulate(profile: Curve, top: float) -> Table:
    """Return a profile at many points from 0 to ``top``."""
    points = np.concatenate([[0.0], np.geomspace(_NEAREST * top, top, _NODES)])
    return Table(points, profile(points))


def weighted(table: Table, rate: float) -> float:
    """Return a bound on the integral of e^(rate a) times the profile, over the table.

    Guarantee:
        Neighbours: those of the profile.
        Loss: a bound from above, infinite where ``rate`` is too large for the table.
        Numerics: doubles, raised by a relative 2**-32, which is more than their error.
        Proof: docs/proofs/leaves.md, theorem 9.
    """
    points, values = table.points, table.values
    gaps = np.diff(points)
    if rate * float(gaps.max()) > _STEEPEST or rate * table.top > 700:
        return math.inf
    total = 0.0
    for at, weight in zip(*(side.tolist() for side in _GAUSS), strict=True):
        share = (1 + at) / 2
        chord = np.expm1(-share * gaps) / np.expm1(-gaps)  # how far back from the right, in e^a
        inside = values[1:] + (values[:-1] - values[1:]) * chord
        total += weight / 2 * float((gaps * np.exp(rate * (points[1:] - share * gaps))) @ inside)
    return total * _INTEGRAL_MARGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Subsampled(Leaf):
    """The loss of ``base`` on a secret sample of the units, at this ``rate``.

    Guarantee: each leaf states its own.
    """

    base: Leaf
    rate: Fraction

    _hidden: ClassVar[Relation]  # the relation that the sampling is about
    _why: ClassVar[str]  # what it hides, for those whose base holds for another relation

    def __post_init__(self) -> None:
        check_rate(self.rate)
        self.check_neighbours(self.base.neighbours)

    @classmethod
    def check_neighbours(cls, held: Relation | None) -> None:
        """Refuse a base that holds for another relation than the one sampling is about."""
        if held not in (None, cls._hidden):
            raise ValueError(f"{cls._why}, but the loss it is applied to holds for {held}")

    @property
    def neighbours(self) -> Relation | None:
        """The relation that the sampling is about."""
        return self._hidden

    @property
    def pure(self) -> Fraction | None:
        """The largest loss, rounded up."""
        return None if self.base.pure is None else amplified(self.base.pure, self.rate)

    @property
    def rho(self) -> float:
        """A rho for which the mechanism is rho-zCDP, from the largest loss; else infinity."""
        return math.inf if self.pure is None else pure_rho(self.pure)

    def epsilon(self, *, delta: Number) -> float:
        """Return an epsilon that goes with delta."""
        target = probability_or_zero("delta", delta)
        if target == 0:
            return math.inf if self.pure is None else up_as_printed(self.pure)
        if target < self.rate * Fraction(self.base.infinity):
            return math.inf

        def larger(at: Floats) -> Floats:
            found: Floats = np.maximum(self.profile(at), self.profile(at, reverse=True))
            return found

        left, right = self.reach(float(target) / 2)
        high = max(-left, right)
        if self.base.infinity > 0 and reading(self._delta(2 * Fraction(high) + 1)) > target:
            return math.inf  # the failures were rounded down above, and are a little more
        return inverse(self._delta, larger, target=target, high=high)

    def group(self, size: int) -> Subsampled | Grouped:
        """Return a bound on the loss for neighbours that differ in ``size`` units."""
        return self if whole_size(size) == 1 else Grouped(base=self, size=size)

    def _by_moments(self, order: Fraction, *, twice: bool) -> float:
        if order > MOST_TERMS:
            return math.inf
        return between_whole_orders(
            lambda whole: log_moment(self.base, self.rate, whole, twice=twice), order
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSubsampled(Subsampled):
    """The loss of ``base`` on a secret sample that each unit enters alone, with chance ``rate``.

    P is the law of the outcome with the unit, Q without it; the base takes them in this order too.

    >>> from sordino.privacy.pure import Pure
    >>> loss = PoissonSubsampled(base=Pure(epsilon=Fraction(1)), rate=Fraction(1, 100))
    >>> loss.epsilon(delta=0)
    0.01703686323617655

    Guarantee:
        Neighbours: one unit added or removed (add_remove). The base must hold for them, and the
            sample, its size included, must not be seen.
        Loss: both profiles, exactly, if the base's are exact; bounds on the Rényi divergences. The
            two orders differ, and losses of one order must not be mixed with those of the other.
        Numerics: doubles rounded up.
        Proof: docs/proofs/leaves.md, theorems 8 and 9 (Zhu, Dong, Wang 2022).
    """

    _hidden: ClassVar[Relation] = "add_remove"
    _why: ClassVar[str] = "Poisson sampling hides whether a unit is there (add_remove)"

    @property
    def symmetric(self) -> bool:
        """Whether both orders of the pair have one profile: only if there is no sampling."""
        return self.rate == 1 and self.base.symmetric

    @property
    def infinity(self) -> float:
        """The probability of an unbounded loss: with the unit in Q there is none."""
        return self.base.infinity if self.rate == 1 else 0.0

    @property
    def summit(self) -> float:
        """The probability of the largest loss: with the unit in Q it is not reached."""
        return self.base.summit if self.rate == 1 else 0.0

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """No loss worth meeting: those of the two orders have no common measure."""
        return self.base.atoms if self.rate == 1 else ()

    @property
    def kl(self) -> float:
        """A bound on the larger one of the two Kullback-Leibler divergences."""
        return min(max(self._integral(1.0, way) for way in (False, True)), self.base.kl)

    def renyi(self, *, order: float) -> float:
        """Return a bound on the larger one of the two Rényi divergences of this order."""
        at = order_of(order)
        if at is None:
            return math.inf if self.pure is None else up_as_printed(self.pure)
        with_unit = min(self._by_moments(at, twice=False), self._by_integral(at, reverse=False))
        found = max(with_unit, self._by_integral(at, reverse=True))
        return min(found, self.base.renyi(order=order))

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:
        """Return delta at each epsilon."""
        curves = self._with_unit, self._without_unit
        return both_signs(epsilons, *(curves[::-1] if reverse else curves))

    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses beyond which both profiles are below ``tail``."""
        rate = float(self.rate)
        right = sampled_loss(self.base.reach(min(tail / rate, _HALF))[1], rate)
        left = -math.log1p(-rate) if rate < 1 else math.inf
        if rate == 1 or self.base.infinity == 0:
            back = -self.base.reach(tail)[0]
            left = min(left, -math.log1p(rate * math.expm1(-back)) if rate < 1 else back)
        return -left, right

    def _delta(self, epsilon: Fraction) -> float:
        return max(
            forward_delta(self.base, self.rate, epsilon),
            backward_delta(self.base, self.rate, epsilon),
        )

    def _with_unit(self, epsilons: Floats) -> Floats:
        rate = float(self.rate)
        return rate * self.base.profile(base_epsilons(epsilons, rate))

    def _without_unit(self, epsilons: Floats) -> Floats:
        if self.rate == 1:
            return self.base.profile(epsilons, reverse=True)
        near, rest = _largest_without(self.rate)
        gap = np.maximum((near - epsilons) + rest, 0.0)
        share = -np.expm1(-gap)
        inside = share > 0
        found = np.zeros(epsilons.shape)
        at = np.log1p(np.expm1(epsilons[inside]) / share[inside])
        found[inside] = share[inside] * self.base.profile(at, reverse=True)
        return found

    def _by_integral(self, order: Fraction, *, reverse: bool) -> float:
        at = float(order)
        return math.log1p(at * (at - 1) * self._integral(at, reverse)) / (at - 1) * (1 + 1e-12)

    def _integral(self, order: float, reverse: bool) -> float:
        one, other = _table(self, reverse), _table(self, not reverse)
        found = weighted(one, order - 1) + weighted(other, -order)
        if other.rest > 0:
            found += other.rest * math.exp(-order * other.top) / order
        if one.rest > 0:
            rate = float(self.rate)
            found += math.inf if reverse else beyond(self.base, rate, order, one.top)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSizeSubsampled(Subsampled):
    """The loss of ``base`` on a secret sample of fixed size; ``rate`` is size / number of units.

    The sample is drawn without replacement, every subset of that size being equally likely.

    >>> from sordino.privacy.pure import Pure
    >>> loss = FixedSizeSubsampled(base=Pure(epsilon=Fraction(2)), rate=Fraction(1, 10))
    >>> loss.epsilon(delta=0)
    0.4940287080441788

    Guarantee:
        Neighbours: one unit replaced by another (replace_one); how many there are is public. The
            base must hold for them, and the sample must not be seen.
        Loss: a profile that dominates both orders, and bounds on the Rényi divergences.
        Numerics: doubles rounded up.
        Proof: docs/proofs/leaves.md, theorems 8 and 9 (Balle, Barthe, Gaboardi 2018).
    """

    _hidden: ClassVar[Relation] = "replace_one"
    _why: ClassVar[str] = (
        "a sample of fixed size hides what a unit is, not whether it is there (replace_one)"
    )

    @property
    def infinity(self) -> float:
        """The probability of an unbounded loss."""
        return down(self.rate * Fraction(self.base.infinity)) + 0.0

    @property
    def summit(self) -> float:
        """The probability of the largest loss, rounded down."""
        top, low = self.base.pure, Fraction(self.base.summit)
        if top is None:
            return 0.0
        shrunk = round_down(lambda: (1 + ball(self.rate) * ball(top).expm1()) * (-ball(top)).exp())
        return max(down(low * Fraction(shrunk)), 0.0)

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """The largest and the least loss, if the base has no others but zero."""
        pure = self.pure
        few = {abs(atom) for atom in self.base.atoms} - {0} == {self.base.pure}
        return (pure, -pure) if pure is not None and few else ()

    @property
    def kl(self) -> float:
        """A bound on the Kullback-Leibler divergence."""
        return min(self._integral(1.0), self.base.kl)

    def renyi(self, *, order: float) -> float:
        """Return a bound on the Rényi divergence of this order."""
        at = order_of(order)
        if at is None:
            return math.inf if self.pure is None else up_as_printed(self.pure)
        high = float(at)
        whole = math.log1p(high * (high - 1) * self._integral(high)) / (high - 1) * (1 + 1e-12)
        return min(whole, self._by_moments(at, twice=True), self.base.renyi(order=order))

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""
        return both_signs(epsilons, self._ahead, self._ahead)

    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses beyond which the profile is below ``tail``."""
        rate = float(self.rate)
        left, right = self.base.reach(min(tail / rate, _HALF))
        far = sampled_loss(max(-left, right), rate)
        return -far, far

    def _delta(self, epsilon: Fraction) -> float:
        return forward_delta(self.base, self.rate, epsilon)

    def _ahead(self, epsilons: Floats) -> Floats:
        rate = float(self.rate)
        at = base_epsilons(epsilons, rate)
        found = self.base.profile(at)
        if not self.base.symmetric:
            found = np.maximum(found, self.base.profile(at, reverse=True))
        return rate * found

    def _integral(self, order: float) -> float:
        table = _table(self, False)
        found = weighted(table, order - 1) + weighted(table, -order)
        if table.rest > 0:
            found += table.rest * math.exp(-order * table.top) / order
            found += beyond(self.base, float(self.rate), order, table.top)
        return found


@kept_on(_TABLES)
def _table(loss: Subsampled, reverse: bool) -> Table:
    left, right = loss.reach(_TAIL)
    top = right
    if reverse:
        top = -left if loss.rate == 1 else math.fsum(_largest_without(loss.rate))
    return tabulate(lambda at: loss.profile(at, reverse=reverse), top * (1 + 1e-15))


@lru_cache(maxsize=1024)
def _largest_without(rate: Fraction) -> tuple[float, float]:
    """Return -ln(1 - rate) as the sum of two doubles."""
    near = round_up(lambda: -(-ball(rate)).log1p())
    return near, round_up(lambda: -(-ball(rate)).log1p() - ball(Fraction(near)))
