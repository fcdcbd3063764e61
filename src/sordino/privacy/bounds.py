# SPDX-License-Identifier: Apache-2.0
"""Every bound on a composition that can be the least one, by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import readable, reading, up_as_printed
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.concentrated import Concentrated, delta_from_rho, epsilon_from_renyi
from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.laplace import DiscreteLaplace
from sordino.privacy.leaf import Leaf, round_down
from sordino.privacy.orders import Curve, best_order, delta_value, epsilon_value
from sordino.privacy.pure import Approximate, KaryResponse, Pure
from sordino.privacy.repeated import Failures, different_epsilon, repeated_delta
from sordino.privacy.search import least_epsilon
from sordino.privacy.subsampled import PoissonSubsampled, Subsampled
from sordino.privacy.tables import PmfPair

Parts = Sequence[tuple[Leaf, int]]

_MOST_USES = 10**7
_LARGE_DIVERGENCE = 100.0
_CERTAIN = 2  # an entropy that says nothing of a distance of at most 1
_STRIDE = 8  # in the list of orders: what a bound from convex logarithms of moments is passed by
_LARGE_RHO, _MANY_CHOICES = 4.0, 10_000


def by_rho(rho: float, *, delta: Fraction) -> float:
    """Return the epsilon that a rho of zCDP gives, or infinity.

    Guarantee:
        Neighbours: those of the rho.
        Loss: (epsilon, delta)-private.
        Numerics: rounded up, from certified balls.
        Proof: docs/proofs/gaussian.md, theorem 2.
    """
    if not math.isfinite(rho):
        return math.inf
    exact = Fraction(reading(rho))
    if exact == 0:
        return 0.0
    return least_epsilon(lambda e: delta_from_rho(rho=exact, epsilon=e), delta=delta, rho=rho)


def by_orders(curve: Curve, *, delta: Fraction) -> float:
    """Return the epsilon that the best Rényi order gives, or infinity.

    Guarantee:
        Neighbours: those of the curve.
        Loss: (epsilon, delta)-private, if the curve holds.
        Numerics: every order gives a valid bound; that of the best one is rounded up.
        Proof: docs/proofs/composition.md, theorem 10.
    """
    order, divergence = best_order(curve, epsilon_value(delta), stride=_STRIDE)
    if not math.isfinite(divergence):
        return math.inf
    exact = Fraction(reading(order)), Fraction(reading(divergence))
    return epsilon_from_renyi(renyi=exact[1], order=exact[0], delta=delta)


def delta_by_orders(curve: Curve, *, epsilon: Fraction) -> float:
    """Return the delta that the best Rényi order gives, or 1."""
    order, divergence = best_order(curve, delta_value(epsilon))
    if not math.isfinite(divergence):
        return 1.0
    at, most = Fraction(reading(order)), Fraction(reading(divergence))
    rest = at - 1

    def formula() -> Ball:
        exponent = ball(rest * (most - epsilon)) + ball(rest) * ball(rest / at).log()
        return exponent.exp() / ball(at)

    return min(round_up(formula), 1.0)


def by_sums(parts: Parts, *, delta: Fraction) -> float:
    """Return the sum of all epsilons: each use has its own delta, or an even share of the rest.

    Guarantee:
        Neighbours: those of the leaves.
        Loss: (epsilon, delta)-private; infinite if delta is less than the leaves fail with.
        Numerics: exact sums, rounded up.
        Proof: docs/proofs/composition.md, theorems 1 and 4: at the sum of all epsilons nothing but
            the failures is left of the optimal composition.
    """
    least = [(leaf, times, least_failure(leaf)) for leaf, times in parts]
    counts: dict[Fraction, int] = {}
    for _, times, failure in least:
        if failure:
            counts[failure] = counts.get(failure, 0) + times
    failures, unsure = Failures(counts), sum(n for _, n, failure in least if failure is None)
    room, share = failures.room(delta), Fraction(0)
    if room < 0 or (room == 0 and unsure):
        return math.inf
    if unsure:
        rest = Fraction(round_down(lambda: failures.left(delta))) if counts else delta
        share = rest * (1 - Fraction(1, 2**40)) / unsure
        if share <= 0:
            return math.inf
    total = Fraction(0)
    for leaf, times, failure in least:
        own = readable(share if failure is None else failure)
        each = reading(leaf.epsilon(delta=own))
        if not isinstance(each, Fraction):
            return math.inf
        total += times * each
    return up_as_printed(total)


def least_failure(leaf: Leaf) -> Fraction | None:
    """Return the least delta at which a leaf has a finite epsilon, or None if none is least."""
    if leaf.pure is not None:
        return Fraction(0)
    if isinstance(leaf, Approximate):
        return leaf.slack
    if isinstance(leaf, PmfPair):
        return leaf.failure
    if isinstance(leaf, Subsampled):
        base = least_failure(leaf.base)
        return None if base is None else leaf.rate * base
    return None


def by_responses(parts: Parts, *, delta: Fraction) -> float | None:
    """Return the exact epsilon if all leaves are randomized responses that may fail, else None."""
    found = _responses(parts)
    return None if found is None or not few_enough(parts) else different_epsilon(*found, delta)


def delta_by_responses(parts: Parts, *, epsilon: Fraction) -> float | None:
    """Return the exact delta if all leaves are equal responses that may fail, else None."""
    found = _responses(parts)
    if found is None or len(found[0]) != 1 or not few_enough(parts):
        return None
    [(bound, times)] = found[0].items()
    return repeated_delta(bound, times, found[1], epsilon)


def few_enough(parts: Parts) -> bool:
    """Tell whether there are so few uses that exact sums over them take no time."""
    return sum(times for _, times in parts) <= _MOST_USES


def _responses(parts: Parts) -> tuple[dict[Fraction, int], Failures] | None:
    steps: dict[Fraction, int] = {}
    deltas: dict[Fraction, int] = {}
    for leaf, times in parts:
        if isinstance(leaf, Approximate):
            deltas[leaf.slack] = deltas.get(leaf.slack, 0) + times
            bound: Fraction = leaf.bound
        elif isinstance(leaf, Pure) or (isinstance(leaf, KaryResponse) and leaf.categories == 2):
            bound = leaf.bound
        elif isinstance(leaf, DiscreteLaplace) and leaf.shift == 1:
            bound = leaf.eta
        else:
            return None
        steps[bound] = steps.get(bound, 0) + times
    return steps, Failures(deltas)


def set_aside(parts: Parts, *, delta: Fraction) -> float:
    """Return the epsilon of one use beside steps that may fail, or that have a largest loss.

    With their deltas those fail; else they add at most their epsilons to the loss of the other.

    Guarantee:
        Neighbours: those of the leaves.
        Loss: (epsilon, delta)-private; infinite where there is no such use.
        Numerics: rounded up.
        Proof: docs/proofs/composition.md, theorem 16.
    """
    split = _aside(parts)
    if split is None:
        return math.inf
    failures, bound, rest = split
    if failures.room(delta) <= 0:
        return math.inf
    left = Fraction(round_down(lambda: failures.left(delta))) if failures.counts else delta
    least = reading(rest.epsilon(delta=readable(left))) if left > 0 else math.inf
    return up_as_printed(bound + least) if isinstance(least, Fraction) else math.inf


def set_aside_delta(parts: Parts, *, epsilon: Fraction) -> float:
    """Return the delta of one use beside other steps, as for ``set_aside``.

    1.0 where there is no such use.
    """
    split = _aside(parts)
    if split is None or epsilon < split[1]:
        return 1.0
    failures, bound, rest = split
    part = Fraction(reading(rest.delta(epsilon=epsilon - bound)))
    return min(round_up(lambda: failures.total(ball(part))), 1.0)


def _aside(parts: Parts) -> tuple[Failures, Fraction, Leaf] | None:
    deltas: dict[Fraction, int] = {}
    bound, rest = Fraction(0), []
    for leaf, times in parts:
        if isinstance(leaf, Approximate):
            deltas[leaf.slack] = deltas.get(leaf.slack, 0) + times
            bound += times * leaf.bound
        else:
            rest.append((leaf, times))
    if not deltas or len(rest) != 1 or rest[0][1] != 1:
        # What has a largest loss is set aside too, and does not fail.
        pures = [(leaf.pure, leaf, times) for leaf, times in rest]
        bound += sum((times * pure for pure, _, times in pures if pure is not None), Fraction(0))
        rest = [(leaf, times) for pure, leaf, times in pures if pure is None]
        if len(rest) != 1 or rest[0][1] != 1:
            return None
    return Failures(deltas), bound, rest[0][0]


def variation_by_entropy(parts: Parts) -> float:
    """Return a delta that is certain to be enough at epsilon 0, and quick to find; at most 1.

    Guarantee:
        Neighbours: those of the parts.
        Loss: the total variation distance of the composition is at most this.
        Numerics: divergences are rounded up and added exactly.
        Proof: docs/proofs/composition.md, theorem 18.
    """
    total = Fraction(0)
    for leaf, times in parts:
        entropy = _entropy(leaf)
        if not math.isfinite(entropy):
            return 1.0
        total += times * Fraction(reading(entropy))
    return min(round_up(lambda: ball(total / 2).sqrt()), 1.0) if total < _CERTAIN else 1.0


def _entropy(leaf: Leaf) -> float:
    """Return a bound on the Kullback-Leibler divergence in one of the two orders."""
    if not isinstance(leaf, PoissonSubsampled):
        return leaf.rho
    divergence = leaf.base.renyi(order=2.0)
    if not divergence < _LARGE_DIVERGENCE:
        return math.inf
    exact = Fraction(reading(divergence))

    def formula() -> Ball:
        return (ball(leaf.rate) ** 2 * ball(exact).expm1()).log1p()

    return round_up(formula)


def is_sampled(leaf: Leaf) -> bool:
    """Tell whether a leaf is that of a sample."""
    return isinstance(leaf, Subsampled)


def is_told_by_divergences(parts: Parts, rho: float) -> bool:
    """Tell whether there are so many choices that profiles are sure to tell less, and later.

    Each profile is the envelope of all choices, which no single one has; what it is too large by
    adds up, while the divergences of choices do not fall short of the truth by more.
    """
    choices = all(isinstance(leaf, BoundedRange) for leaf, _ in parts)
    return choices and rho >= _LARGE_RHO and sum(times for _, times in parts) >= _MANY_CHOICES


def knows_more_than_profiles(parts: Parts) -> bool:
    """Tell whether Rényi divergences may say more than profiles do.

    So it is where a profile is the envelope of many pairs, or follows from rho: then no pair has
    the whole of it, and composing it costs more than composing the divergences.
    """

    def is_envelope(leaf: Leaf) -> bool:
        if isinstance(leaf, DiscreteGaussian):
            return leaf.coordinates != 1 and leaf.squared_sensitivity != 1
        return isinstance(leaf, Concentrated | BoundedRange)

    return any(is_envelope(leaf) for leaf, _ in parts)
