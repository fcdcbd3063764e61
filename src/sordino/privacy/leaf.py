# SPDX-License-Identifier: Apache-2.0
"""What one mechanism must say about its loss, so that everything else can be derived."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import Number

Floats: TypeAlias = npt.NDArray[np.float64]
Relation: TypeAlias = Literal["add_remove", "replace_one"]

# Vectorised profiles are off by less than this, relatively; accounting adds it back.
PROFILE_ERROR = 2.0**-36


class Leaf(Protocol):
    """The loss of one use of one mechanism: a frozen record that stands for a dominating pair.

    A pair (P, Q) dominates when no two neighbours are easier to tell apart. ``profile`` is its
    hockey-stick divergence: delta as a function of epsilon.

    Guarantee: each leaf states its own; every number it returns is an upper bound.
    """

    @property
    def neighbours(self) -> Relation | None:
        """The relation the loss holds for, or None if that was the caller's business."""
        ...

    @property
    def symmetric(self) -> bool:
        """Whether the profile is the same with P and Q exchanged."""
        ...

    @property
    def pure(self) -> Fraction | None:
        """The largest loss there is, or None if there is none."""
        ...

    @property
    def infinity(self) -> float:
        """The probability of an unbounded loss, a bound from below; 0.0 for most."""
        ...

    @property
    def rho(self) -> float:
        """A rho for which the mechanism is rho-zCDP, or infinity."""
        ...

    @property
    def summit(self) -> float:
        """The probability of the largest loss, a bound from below; 0.0 if it has none."""
        ...

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """Losses that have a probability of their own, for the grid to meet where it can."""
        ...

    @property
    def kl(self) -> float:
        """A bound on the Kullback-Leibler divergence, either way round, or infinity."""
        ...

    def delta(self, *, epsilon: Number) -> float:
        """Return the delta of a single use, rounded up."""
        ...

    def epsilon(self, *, delta: Number) -> float:
        """Return the epsilon of a single use, rounded up."""
        ...

    def renyi(self, *, order: float) -> float:
        """Return a bound on the Rényi divergence of this order > 1, both ways round."""
        ...

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:
        """Return delta at each epsilon, of either sign, with a relative error below 2**-36.

        With ``reverse`` P and Q are exchanged.
        """
        ...

    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses (a, b) beyond which the profiles of both orders are below ``tail``.

        ``b`` bounds the loss of (P, Q), ``-a`` that of (Q, P).
        """
        ...

    def group(self, size: int) -> Leaf:
        """Return the loss for neighbours that differ in ``size`` units, or a bound on it."""
        ...
