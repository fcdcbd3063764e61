# SPDX-License-Identifier: Apache-2.0
"""The loss of a group of units, from the loss of one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.numbers.rational import Number, down, probability_or_zero, up_as_printed
from sordino.privacy.leaf import (
    Floats,
    Leaf,
    Relation,
    as_key,
    both_signs,
    inverse,
    order_of,
    pure_rho,
    whole_size,
)
from sordino.privacy.pure import Pure

_NODES = 1 << 15
_NEAREST = 1e-8  # of the range: where the points begin to be close
_TAIL = 1e-280
_RAISED = 1 + 2.0**-35  # more than the error of the base's profile
_ROUNDING = 1 + 1e-12
_LARGEST_ORDER = 1e6
_CHAIN_ORDERS = (1.4, 1.6, 2.0)

_PROFILES: Shelf[tuple[Floats, Floats]] = Shelf(
    16 * MEGABYTE, weigh=lambda corners: sum(side.nbytes for side in corners)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped(Leaf):
    """A bound on the loss for neighbours that differ in ``size`` units, for any ``base``.

    It is for losses that have no formula of their own for groups. If one unit costs delta at
    epsilon, then k units cost at most delta (e^(k epsilon) - 1) / (e^epsilon - 1) at k epsilon; the
    profile is the largest convex function below all these bounds, taken at many points.

    >>> one = Pure(epsilon=Fraction(1, 2))
    >>> Grouped(base=one, size=2).epsilon(delta=0), one.group(2).epsilon(delta=0)
    (1.0, 1.0)

    Guarantee:
        Neighbours: any ``size`` steps of the relation of the base, in either direction.
        Loss: a profile that dominates both orders, and bounds on rho and the Rényi divergences.
        Numerics: doubles, raised by a relative 2**-35; the points add about 1e-5 of delta.
        Proof: docs/proofs/leaves.md, theorem 10.
    """

    base: Leaf
    size: int

    def __post_init__(self) -> None:
        whole_size(self.size)
        if _corners(self.base, self.size)[1][-1] >= 1:
            raise ValueError(f"a group of {self.size} is not protected: its delta would be 1")

    @property
    def neighbours(self) -> Relation | None:
        """Those of the base, so many times."""
        return self.base.neighbours

    @property
    def pure(self) -> Fraction | None:
        """The largest loss, or None."""
        return None if self.base.pure is None else self.size * self.base.pure

    @property
    def infinity(self) -> float:
        """What is left of delta at the largest epsilon that was looked at."""
        return float(_corners(self.base, self.size)[1][-1]) * (1 - 2.0**-40)

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """The largest loss and its negative, if there is one."""
        pure = self.pure
        return () if pure is None else (pure, -pure)

    @property
    def rho(self) -> float:
        """A rho for which the mechanism is rho-zCDP, or infinity."""
        whole = self.size**2 * self.base.rho * _ROUNDING
        return whole if self.pure is None else min(whole, pure_rho(self.pure))

    @property
    def kl(self) -> float:
        """A bound on the Kullback-Leibler divergence."""
        return min(self.rho, self.renyi(order=_CHAIN_ORDERS[0]))

    def epsilon(self, *, delta: Number) -> float:
        """Return an epsilon that goes with delta; infinite if it is below all that are known."""
        target = probability_or_zero("delta", delta)
        if target == 0 and self.pure is not None:
            return up_as_printed(self.pure)
        points, values = _corners(self.base, self.size)
        if target < Fraction(float(values[-1])) * Fraction(_ROUNDING):
            return math.inf
        return inverse(self._delta, self._ahead, target=target, high=float(points[-1]))

    def renyi(self, *, order: float) -> float:
        """Return a bound on the Rényi divergence of this order."""
        at = order_of(order)
        pure = self.pure
        if at is None:
            return math.inf if pure is None else up_as_printed(pure)
        # Divergences grow with the order, and close to order 1 the chain is a poor bound.
        higher = {max(float(at), least) for least in (1.0, *_CHAIN_ORDERS)}
        bounds = [float(at) * self.rho * _ROUNDING]
        bounds += [_chain(self.base, self.size, other) for other in higher]
        if pure is not None:
            bounds.append(Pure(epsilon=pure).renyi(order=order))
        return min(bounds)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return a delta at each epsilon."""
        return both_signs(epsilons, self._ahead, self._ahead)

    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses beyond which the profile is below ``tail``, or as low as it gets."""
        points, values = _corners(self.base, self.size)
        far = float(points[int(np.argmax(values <= max(tail, values[-1])))])
        return -far, far

    def group(self, size: int) -> Grouped:
        """Return a bound on the loss of so many groups."""
        return Grouped(base=self.base, size=self.size * whole_size(size))

    def _ahead(self, epsilons: Floats) -> Floats:
        points, values = _corners(self.base, self.size)
        place = np.clip(np.searchsorted(points, epsilons, side="right"), 1, points.size - 1)
        right = np.maximum(points[place] - epsilons, 0.0)
        share = np.expm1(-right) / np.expm1(points[place - 1] - points[place])
        found: Floats = values[place] + (values[place - 1] - values[place]) * share
        return found

    def _delta(self, epsilon: Fraction) -> float:
        if self.pure is not None and epsilon >= self.pure:
            return 0.0
        value = float(self._ahead(np.array([down(epsilon)]))[0])
        return min(value * _ROUNDING, 1.0)


@kept_on(_PROFILES)
def _corners(base: Leaf, size: int) -> tuple[Floats, Floats]:
    """Return the corners of the profile: epsilons from 0 on, and deltas."""
    left, right = base.reach(_TAIL)
    top = max(-left, right)
    if base.pure is not None:
        top = float(base.pure) * (1 + 1e-15)
    steps = np.union1d(np.linspace(0, top, _NODES), np.geomspace(_NEAREST * top, top, _NODES))
    one = np.maximum(base.profile(steps), base.profile(steps, reverse=True))
    with np.errstate(divide="ignore"):
        logs = np.log(one) + (size - 1) * steps
    times = np.full(steps.size, float(size))
    times[1:] = np.expm1(-size * steps[1:]) / np.expm1(-steps[1:])
    values = np.minimum(np.exp(np.minimum(logs, 1.0)) * times * _RAISED, 1.0)
    last = int(np.argmin(values)) + 1
    points, values = size * steps[:last], values[:last]
    # Each point and its mirror image, of the other order, are joined by a chord. The lowest chord
    # at epsilon = 0 is the profile as far as the point it belongs to.
    middle = values + (1 - values) * np.tanh(points / 2)
    first = int(np.argmin(middle))
    if first > 0:
        points = np.concatenate([[0.0], points[first:]])
        values = np.concatenate([[min(middle[first] * _ROUNDING, 1.0)], values[first:]])
    kept = _hull(points, values)
    return points[kept], values[kept]


def _hull(points: Floats, values: Floats) -> list[int]:
    """Return the places of the lower convex hull, in e^epsilon, from left to right."""
    at, height = points.tolist(), values.tolist()
    hull: list[int] = []
    for new in range(len(at)):
        while len(hull) > 1:
            before, middle = hull[-2], hull[-1]
            falls = (height[middle] - height[before]) / -math.expm1(at[before] - at[middle])
            rises = (height[new] - height[middle]) / math.expm1(at[new] - at[middle])
            if rises > falls:
                break
            hull.pop()
        hull.append(new)
    return hull


def _chain(base: Leaf, size: int, order: float) -> float:
    """Bound the divergence across ``size`` steps by divergences of higher orders across half."""
    if size == 1:
        return base.renyi(order=order)
    if order > _LARGEST_ORDER:
        return math.inf
    half = size // 2
    first = _chain_cached(as_key(base), half, 2 * order) * (order - 0.5) / (order - 1)
    return (first + _chain_cached(as_key(base), size - half, 2 * order - 1)) * _ROUNDING


@lru_cache(maxsize=1 << 12)
def _chain_cached(base: Leaf, size: int, order: float) -> float:
    return _chain(base, size, order)
