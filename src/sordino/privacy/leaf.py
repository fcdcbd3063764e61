# SPDX-License-Identifier: Apache-2.0
"""What one mechanism must say about its loss, and the small steps that all losses share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import (
    Number,
    nonnegative,
    probability_or_zero,
    reading,
    up_as_printed,
    written,
)
from sordino.privacy.search import least_double

N = TypeVar("N", int, Fraction)
Floats: TypeAlias = npt.NDArray[np.float64]
Relation: TypeAlias = Literal["add_remove", "replace_one"]
RELATIONS: tuple[Relation, ...] = ("add_remove", "replace_one")

# Vectorised profiles are off by less than this, relatively; accounting adds it back.
PROFILE_ERROR = 2.0**-36
Curve: TypeAlias = Callable[[Floats], Floats]
LARGEST = 1.7976931348623157e308
_POINTS = 64
_ROUNDS = 14


class Leaf(ABC):
    """The loss of one use of one mechanism: a frozen record that stands for a dominating pair.

    A pair (P, Q) dominates when no two neighbours are easier to tell apart. ``profile`` is its
    hockey-stick divergence: delta as a function of epsilon. What is usual is said here: a pair that
    is the same both ways round, with no largest loss and none that has a probability of its own,
    for whatever neighbours the caller means. A leaf says what is special about it.

    Guarantee: each leaf states its own; every number it returns is an upper bound.
    """

    __slots__ = ()

    @property
    def neighbours(self) -> Relation | None:
        """The relation the loss holds for, or None if that was the caller's business."""
        return None

    @property
    def symmetric(self) -> bool:
        """Whether the profile is the same with P and Q exchanged."""
        return True

    @property
    def pure(self) -> Fraction | None:
        """The largest loss there is, or None if there is none."""
        return None

    @property
    def infinity(self) -> float:
        """The probability of an unbounded loss, a bound from below; 0.0 for most."""
        return 0.0

    def unbounded(self, *, reverse: bool) -> float:  # noqa: ARG002 - most leaves are alike both ways
        """Return the probability of an unbounded loss in one of both orders, from below."""
        return self.infinity

    @property
    @abstractmethod
    def rho(self) -> float:
        """A rho for which the mechanism is rho-zCDP, or infinity."""

    @property
    def summit(self) -> float:
        """The probability of the largest loss, a bound from below; 0.0 if it has none."""
        return 0.0

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """Losses that have a probability of their own, for the grid to meet where it can."""
        return ()

    @property
    def kl(self) -> float:
        """A bound on the Kullback-Leibler divergence, either way round, or infinity."""
        return self.rho

    @property
    def total_variation(self) -> float:
        """A bound on the total variation distance."""
        return self.delta(epsilon=0)

    def delta(self, *, epsilon: Number) -> float:
        """Return the delta of a single use, rounded up."""
        return self._delta(nonnegative("epsilon", epsilon))

    @abstractmethod
    def epsilon(self, *, delta: Number) -> float:
        """Return the epsilon of a single use, rounded up."""

    @abstractmethod
    def renyi(self, *, order: float) -> float:
        """Return a bound on the Rényi divergence of this order > 1, both ways round."""

    @abstractmethod
    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:
        """Return delta at each epsilon, of either sign, with a relative error below 2**-36.

        With ``reverse`` P and Q are exchanged.
        """

    @abstractmethod
    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses (a, b) beyond which the profiles of both orders are below ``tail``.

        ``b`` bounds the loss of (P, Q), ``-a`` that of (Q, P).
        """

    @abstractmethod
    def group(self, size: int) -> Leaf:
        """Return the loss for neighbours that differ in ``size`` units, or a bound on it."""

    @abstractmethod
    def _delta(self, epsilon: Fraction) -> float:
        """Return the delta of a single use at an epsilon that was read and is not negative."""


def check_positive(name: str, value: N, kind: type[N]) -> N:
    """Refuse what is not a positive number of a kind."""
    if not isinstance(value, kind) or value <= 0:
        raise ValueError(f"{name} must be a positive {kind.__name__}")
    return value


@dataclass(frozen=True, slots=True, init=False, repr=False)
class BoundedLeaf(Leaf):
    """A leaf whose largest loss, ``bound``, is the epsilon that it is made with.

    The pair is the same both ways round. A leaf gives its formulas as balls, for an epsilon below
    the bound and for an order and a delta above 0; they are rounded here.

    Guarantee: each leaf states its own.
    """

    bound: Fraction

    def __init__(self, *, epsilon: Fraction) -> None:
        object.__setattr__(self, "bound", check_positive("epsilon", epsilon, Fraction))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epsilon={written(self.bound)})"

    @property
    def pure(self) -> Fraction | None:
        """The largest loss."""
        return self.bound

    def reach(self, tail: float) -> tuple[float, float]:  # noqa: ARG002 - nothing lies beyond
        """Return the least and the largest loss."""
        return -float(self.bound), float(self.bound)

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta; with delta 0 the bound."""
        return self._epsilon(probability_or_zero("delta", delta))

    def renyi(self, *, order: float) -> float:
        """Return the largest Rényi divergence of this order."""
        at = order_of(order)
        return up_as_printed(self.bound) if at is None else round_up(lambda: self._renyi_ball(at))

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""
        return both_signs(epsilons, self._ahead, self._ahead)

    def group(self, size: int) -> BoundedLeaf:
        """Return the loss for neighbours that differ in ``size`` units."""
        return type(self)(epsilon=whole_size(size) * self.bound)

    def _delta(self, epsilon: Fraction) -> float:
        return 0.0 if epsilon >= self.bound else round_up(lambda: self._delta_ball(epsilon))

    def _epsilon(self, target: Fraction) -> float:
        if target == 0:
            return up_as_printed(self.bound)
        if reading(self._delta(Fraction(0))) <= target:
            return 0.0
        return max(round_up(lambda: self._epsilon_ball(target)), 0.0)

    @abstractmethod
    def _ahead(self, epsilons: Floats) -> Floats:
        """Return delta at each epsilon that is not negative."""

    @abstractmethod
    def _delta_ball(self, epsilon: Fraction) -> Ball:
        """Return the delta at an epsilon below the bound."""

    @abstractmethod
    def _epsilon_ball(self, delta: Fraction) -> Ball:
        """Return the epsilon at a positive delta below that of epsilon 0."""

    @abstractmethod
    def _renyi_ball(self, order: Fraction) -> Ball:
        """Return the divergence of a finite order."""


def as_key(leaf: Leaf) -> Hashable:
    """Return a leaf as a key: every leaf is a frozen record, which can be hashed."""
    return cast("Hashable", leaf)


def both_signs(epsilons: Floats, ahead: Curve, behind: Curve) -> Floats:
    """Extend a profile to negative epsilons, where it follows from that of the other order.

    ``ahead`` and ``behind`` are the profiles of (P, Q) and of (Q, P) where epsilon is not negative.
    """
    a = np.asarray(epsilons, dtype=np.float64)
    below = a < 0
    if not below.any():
        return ahead(a)
    found = np.empty(a.shape)
    found[~below] = ahead(a[~below])
    left = a[below]
    found[below] = np.exp(left) * behind(-left) - np.expm1(left)
    return found


def short_of(top: Fraction, epsilons: Floats) -> Floats:
    """Return how far each epsilon is below ``top``, with all digits even where they nearly meet."""
    near = float(top)
    distance: Floats = (near - epsilons) + float(top - Fraction(near))
    return distance


def response(top: Fraction, others: float, epsilons: Floats) -> Floats:
    """Return (e^top - e^epsilon)+ / (e^top + others): the profile of a randomized response."""
    distance = np.maximum(short_of(top, epsilons), 0.0)
    found: Floats = -np.expm1(-distance) / (1 + others * math.exp(-top))
    return found


def order_of(order: float | Fraction) -> Fraction | None:
    """Read the order of a Rényi divergence, which is above 1; None stands for infinity.

    >>> order_of(0.5)
    Traceback (most recent call last):
    ValueError: order must be a number above 1, or infinity, got 0.5
    """
    if not isinstance(order, int | float | Fraction | np.floating | np.integer) or not order > 1:
        raise ValueError(f"order must be a number above 1, or infinity, got {order!r}")
    if math.isinf(order):
        return None
    return order if isinstance(order, Fraction) else Fraction(repr(float(order)))


def whole_size(size: int) -> int:
    """Read the size of a group: a positive whole number."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"the size of a group must be a positive whole number, got {size!r}")
    return size


def pure_rho(epsilon: Fraction) -> float:
    """Return the least rho for which everything that is epsilon-private is rho-zCDP.

    >>> pure_rho(Fraction(1))
    0.4621171572600098

    Guarantee:
        Neighbours: those of the epsilon that came in.
        Loss: rho is epsilon tanh(epsilon / 2), which randomized response attains.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/leaves.md, theorem 1.
    """
    return round_up(lambda: ball(epsilon) * (ball(epsilon) / 2).tanh())


def round_down(formula: Callable[[], Ball]) -> float:
    """Return the greatest double that reads as at most the value of a formula."""
    return -round_up(lambda: -formula())


def inverse(
    delta: Callable[[Fraction], float], profile: Curve, *, target: Fraction, high: float
) -> float:
    """Return the least double epsilon whose certified delta is at most the target.

    The search begins where the profile, in doubles, crosses the target; ``high`` bounds where.
    """

    def fits(epsilon: Fraction) -> bool:
        return reading(delta(epsilon)) <= target

    if fits(Fraction(0)):
        return 0.0
    near = crossing(profile, float(target), high)
    return least_double(fits, near=near, high=LARGEST)


def crossing(profile: Curve, level: float, high: float) -> float:
    """Return about the least epsilon from 0 to ``high`` at which a profile is at most ``level``."""
    low = 0.0
    for _ in range(_ROUNDS):
        points = np.linspace(low, high, _POINTS)
        fits = profile(points) <= level
        place = int(np.argmax(fits)) if fits.any() else _POINTS - 1
        low, high = float(points[max(place - 1, 0)]), float(points[place])
    return high
