# SPDX-License-Identifier: Apache-2.0
"""What a secret sample does to a loss: the arithmetic that both kinds of sampling share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rounding import reading, up_as_printed
from sordino.privacy.leaf import Floats, Leaf
from sordino.privacy.profiles import Curve, as_key

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
