# SPDX-License-Identifier: Apache-2.0
"""The loss of a mechanism that sees only a secret random sample of the units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.numbers.balls import ball, round_up
from sordino.numbers.rational import Number, probability_or_zero
from sordino.numbers.rounding import down, up_as_printed
from sordino.privacy.amplification import (
    MOST_TERMS,
    Table,
    amplified,
    backward_delta,
    base_epsilons,
    between_whole_orders,
    beyond,
    check_rate,
    forward_delta,
    log_moment,
    sampled_loss,
    tabulate,
    weighted,
)
from sordino.privacy.grouped import Grouped
from sordino.privacy.leaf import Floats, Leaf, Relation
from sordino.privacy.profiles import both_signs, inverse, order_of, pure_rho, round_down, whole_size

_TAIL = 1e-80  # profiles are tabulated up to here
_HALF = 0.5
_TABLES: Shelf[Table] = Shelf(
    8 * MEGABYTE, weigh=lambda table: table.points.nbytes + table.values.nbytes
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSubsampled(Leaf):
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

    base: Leaf
    rate: Fraction

    def __post_init__(self) -> None:
        check_rate(self.rate)
        self.check_neighbours(self.base.neighbours)

    @staticmethod
    def check_neighbours(held: Relation | None) -> None:
        """Refuse a base that holds for another relation than the one sampling is about."""
        if held not in (None, "add_remove"):
            raise ValueError(
                "Poisson sampling hides whether a unit is there (add_remove), "
                f"but the loss it is applied to holds for {held}"
            )

    @property
    def neighbours(self) -> Relation | None:
        """One unit added or removed."""
        return "add_remove"

    @property
    def symmetric(self) -> bool:
        """Whether both orders of the pair have one profile: only if there is no sampling."""
        return self.rate == 1 and self.base.symmetric

    @property
    def pure(self) -> Fraction | None:
        """The largest loss, rounded up."""
        return None if self.base.pure is None else amplified(self.base.pure, self.rate)

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
    def rho(self) -> float:
        """A rho for which the mechanism is rho-zCDP, from the largest loss; else infinity."""
        return math.inf if self.pure is None else pure_rho(self.pure)

    @property
    def kl(self) -> float:
        """A bound on the larger one of the two Kullback-Leibler divergences."""
        return min(max(self._integral(1.0, way) for way in (False, True)), self.base.kl)

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta."""
        return _epsilon(self, probability_or_zero("delta", delta))

    def renyi(self, *, order: float) -> float:
        """Return a bound on the larger one of the two Rényi divergences of this order."""
        at = order_of(order)
        if at is None:
            return math.inf if self.pure is None else up_as_printed(self.pure)
        with_unit = min(_by_moments(self, at, twice=False), self._by_integral(at, reverse=False))
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

    def group(self, size: int) -> PoissonSubsampled | Grouped:
        """Return a bound on the loss for neighbours that differ in ``size`` units."""
        return self if whole_size(size) == 1 else Grouped(base=self, size=size)

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
class FixedSizeSubsampled(Leaf):
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

    base: Leaf
    rate: Fraction

    def __post_init__(self) -> None:
        check_rate(self.rate)
        self.check_neighbours(self.base.neighbours)

    @staticmethod
    def check_neighbours(held: Relation | None) -> None:
        """Refuse a base that holds for another relation than the one sampling is about."""
        if held not in (None, "replace_one"):
            raise ValueError(
                "a sample of fixed size hides what a unit is, not whether it is there "
                f"(replace_one), but the loss it is applied to holds for {held}"
            )

    @property
    def neighbours(self) -> Relation | None:
        """One unit replaced."""
        return "replace_one"

    @property
    def pure(self) -> Fraction | None:
        """The largest loss, rounded up."""
        return None if self.base.pure is None else amplified(self.base.pure, self.rate)

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
    def rho(self) -> float:
        """A rho for which the mechanism is rho-zCDP, from the largest loss; else infinity."""
        return math.inf if self.pure is None else pure_rho(self.pure)

    @property
    def kl(self) -> float:
        """A bound on the Kullback-Leibler divergence."""
        return min(self._integral(1.0), self.base.kl)

    def epsilon(self, *, delta: Number) -> float:
        """Return an epsilon that goes with delta."""
        return _epsilon(self, probability_or_zero("delta", delta))

    def renyi(self, *, order: float) -> float:
        """Return a bound on the Rényi divergence of this order."""
        at = order_of(order)
        if at is None:
            return math.inf if self.pure is None else up_as_printed(self.pure)
        high = float(at)
        whole = math.log1p(high * (high - 1) * self._integral(high)) / (high - 1) * (1 + 1e-12)
        return min(whole, _by_moments(self, at, twice=True), self.base.renyi(order=order))

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""
        return both_signs(epsilons, self._ahead, self._ahead)

    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses beyond which the profile is below ``tail``."""
        rate = float(self.rate)
        left, right = self.base.reach(min(tail / rate, _HALF))
        far = sampled_loss(max(-left, right), rate)
        return -far, far

    def group(self, size: int) -> FixedSizeSubsampled | Grouped:
        """Return a bound on the loss for neighbours that differ in ``size`` units."""
        return self if whole_size(size) == 1 else Grouped(base=self, size=size)

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


def _epsilon(loss: PoissonSubsampled | FixedSizeSubsampled, target: Fraction) -> float:
    if target == 0:
        return math.inf if loss.pure is None else up_as_printed(loss.pure)
    if target < loss.rate * Fraction(loss.base.infinity):
        return math.inf

    def larger(at: Floats) -> Floats:
        found: Floats = np.maximum(loss.profile(at), loss.profile(at, reverse=True))
        return found

    left, right = loss.reach(float(target) / 2)
    return inverse(loss._delta, larger, target=target, high=max(-left, right))


def _by_moments(
    loss: PoissonSubsampled | FixedSizeSubsampled, order: Fraction, *, twice: bool
) -> float:
    if order > MOST_TERMS:
        return math.inf
    return between_whole_orders(
        lambda whole: log_moment(loss.base, loss.rate, whole, twice=twice), order
    )


@kept_on(_TABLES)
def _table(loss: PoissonSubsampled | FixedSizeSubsampled, reverse: bool) -> Table:
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
