# SPDX-License-Identifier: Apache-2.0
"""What one mechanism must say about its loss, so that everything else can be derived."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.rational import Number, nonnegative, written

Floats: TypeAlias = npt.NDArray[np.float64]
Relation: TypeAlias = Literal["add_remove", "replace_one"]
RELATIONS: tuple[Relation, ...] = ("add_remove", "replace_one")

# Vectorised profiles are off by less than this, relatively; accounting adds it back.
PROFILE_ERROR = 2.0**-36


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


def positive_fraction(name: str, value: Fraction) -> Fraction:
    """Refuse what is not a positive Fraction."""
    if not isinstance(value, Fraction) or value <= 0:
        raise ValueError(f"{name} must be a positive Fraction")
    return value


@dataclass(frozen=True, slots=True, init=False, repr=False)
class BoundedLeaf(Leaf):
    """A leaf whose largest loss, ``bound``, is the epsilon that it is made with.

    Guarantee: each leaf states its own.
    """

    bound: Fraction

    def __init__(self, *, epsilon: Fraction) -> None:
        object.__setattr__(self, "bound", positive_fraction("epsilon", epsilon))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epsilon={written(self.bound)})"

    @property
    def pure(self) -> Fraction | None:
        """The largest loss."""
        return self.bound

    def reach(self, tail: float) -> tuple[float, float]:  # noqa: ARG002 - nothing lies beyond
        """Return the least and the largest loss."""
        return -float(self.bound), float(self.bound)
