# SPDX-License-Identifier: Apache-2.0
"""An odometer: what was lost so far, as a bound that holds whenever one looks at it."""

from __future__ import annotations

import math
from fractions import Fraction
from threading import Lock

from sordino.numbers.rational import Number, positive, probability_or_zero, written
from sordino.numbers.rounding import up_as_printed
from sordino.privacy.budget import (
    check_relation,
    part_for_failures,
    prices_together,
    same_neighbours,
)
from sordino.privacy.currency import ATTO, NANO, PURE, ZCDP, Price, Priceable
from sordino.privacy.leaf import Relation
from sordino.privacy.zcdp import epsilon_from_rho


class Odometer:
    """Adds up losses without a cap and says at any time which epsilon holds so far.

    There are two bounds, and the better one is shown. One is the sum of the pure losses. The other
    is a ladder: rung j stands for 2^j times the rho of the first rung and for delta / 2^(j+1), and
    the lowest rung that still holds all the rhos so far gives its epsilon. Make the first rung
    about what the first few questions will cost: below that rungs waste delta. Losses may have a
    delta of their own; ``failures`` is the part of delta that these add up to at most, a tenth if
    nothing is stated, and the rungs have the rest.

    >>> from sordino.privacy.pure import Pure
    >>> odometer = Odometer(delta=1e-6)
    >>> for _ in range(100):
    ...     odometer.spend(Pure(epsilon=Fraction(1, 10)))
    >>> odometer.history_length, round(odometer.epsilon, 4), odometer.delta
    (100, 6.5804, 1e-06)

    Guarantee:
        Neighbours: as stated by ``neighbours``, or by the first loss that names a relation.
        Loss: if one stops at any time, decided by looking at everything including the odometer,
            then for every set S of things seen: P(S) <= E'(e^epsilon on S) + delta, where epsilon
            is what the odometer shows then, and E' the mean for neighbouring data. If it shows at
            most e in all of S, this is P(S) <= e^e P'(S) + delta.
        Numerics: prices are whole nano-units rounded up; epsilon is rounded up from a certified
            ball; a spend takes the same time however many came before it.
        Proof: docs/proofs/budgets.md, theorems 5 and 7.
    """

    __slots__ = (
        "_epsilons",
        "_failed",
        "_failures",
        "_first",
        "_length",
        "_lock",
        "_neighbours",
        "_rhos",
        "_slack",
    )

    def __init__(
        self,
        *,
        delta: Number = 0,
        first_rung: Number = Fraction(1, 1000),
        failures: Number | None = None,
        neighbours: Relation | None = None,
    ) -> None:
        total = probability_or_zero("delta", delta)
        self._failures = part_for_failures(total, failures)
        self._slack = total - self._failures
        self._first = math.floor(positive("first_rung", first_rung) * NANO)
        if self._first == 0:
            raise ValueError(f"first_rung must be a rho of at least 1e-9, got {first_rung!r}")
        check_relation(neighbours)
        self._neighbours = neighbours
        self._epsilons: int | None = 0  # nano-units; None once infinite
        self._rhos: int | None = 0
        self._failed = 0  # parts of 10**18
        self._length = 0
        self._lock = Lock()

    def spend(self, loss: Priceable) -> None:
        """Add a loss; refuse one after which no finite bound would be left."""
        epsilon, rho = prices_together(loss, (PURE, ZCDP))
        failing = max((price.attos for price in (epsilon, rho) if price is not None), default=0)
        with self._lock:
            neighbours = same_neighbours(self._neighbours, loss.neighbours)
            epsilons, rhos = _sum(self._epsilons, epsilon), _sum(self._rhos, rho)
            if epsilons is None and (rhos is None or self._slack == 0):
                raise ValueError(_no_bound(has_rho=rhos is not None))
            if Fraction(self._failed + failing, ATTO) > self._failures:
                raise ValueError(
                    "the deltas of all losses would add up to more than the odometer keeps for "
                    f"them, which is {written(self._failures)}; state a larger part, such as "
                    "Odometer(delta=1e-6, failures=5e-7)"
                )
            self._epsilons, self._rhos = epsilons, rhos
            self._failed += failing
            self._neighbours = neighbours
            self._length += 1

    @property
    def epsilon(self) -> float:
        """The bound that holds now, together with delta."""
        with self._lock:
            epsilons, rhos = self._epsilons, self._rhos
        if epsilons == 0:
            return 0.0
        whole = math.inf if epsilons is None else up_as_printed(Fraction(epsilons, NANO))
        if rhos is None or self._slack == 0:
            return whole
        rung = (max(-(-rhos // self._first), 1) - 1).bit_length()
        cap, share = Fraction(self._first << rung, NANO), self._slack / 2 ** (rung + 1)
        return min(whole, epsilon_from_rho(rho=cap, delta=share))

    @property
    def delta(self) -> float:
        """The delta that goes with epsilon, the same at all times."""
        total = self._slack + self._failures
        return up_as_printed(total) if total else 0.0

    @property
    def history_length(self) -> int:
        """How many losses were added."""
        return self._length

    def __repr__(self) -> str:
        return f"<Odometer at epsilon {self.epsilon!r} and delta {self.delta!r}>"


def _sum(nanos: int | None, price: Price | None) -> int | None:
    return None if nanos is None or price is None else nanos + price.nanos


def _no_bound(*, has_rho: bool) -> str:
    if has_rho:
        return "this loss has no finite epsilon; give the odometer a delta, so that it counts rho"
    return (
        "after this loss neither a finite epsilon nor a finite rho would be left; "
        "an odometer holds losses that have one of them"
    )
