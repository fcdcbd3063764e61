# SPDX-License-Identifier: Apache-2.0
"""A loss that is just stated: what budgets read, with numbers that a test chooses."""

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino.privacy.leaf import Relation


@dataclass(frozen=True)
class Stated:
    pure: Fraction | None = None
    rho: float = math.inf
    divergence: float = math.inf
    neighbours: Relation | None = None
    only_order: float | None = None

    def renyi(self, *, order: float) -> float:
        if self.only_order is not None and order > self.only_order:
            return math.inf
        return self.divergence


def pure(epsilon: str | int, neighbours: Relation | None = None) -> Stated:
    """A pure loss, with the rho and the divergence that it has at least as a rough bound."""
    exact = Fraction(epsilon)
    return Stated(
        pure=exact, rho=float(exact**2 / 2), divergence=float(exact), neighbours=neighbours
    )


def concentrated(rho: float, neighbours: Relation | None = None) -> Stated:
    return Stated(rho=rho, divergence=rho, neighbours=neighbours)
