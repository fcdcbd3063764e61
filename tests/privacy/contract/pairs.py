# SPDX-License-Identifier: Apache-2.0
"""Pairs of distributions written out, to compare losses with: sums and integrals, no formulas."""

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias, cast

import mpmath

from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.gaussian import ContinuousGaussian
from sordino.privacy.laplace import ContinuousLaplace, DiscreteLaplace
from sordino.privacy.leaf import Leaf
from sordino.privacy.pure import Approximate, KaryResponse, Pure
from sordino.privacy.subsampled import PoissonSubsampled
from sordino.privacy.tables import PmfPair

Number: TypeAlias = Any  # mpmath has no types
Outcomes: TypeAlias = list[tuple[Number, Number]]  # the probabilities under P and under Q
DIGITS = 40


def exact(x: Fraction) -> Number:
    return mpmath.mpf(x.numerator) / x.denominator


def outcomes(leaf: Leaf) -> Outcomes | None:
    """Return the pair of a leaf as a list of outcomes, if it has one that is short enough."""
    return _outcomes(cast("Hashable", leaf))


@lru_cache
def _outcomes(leaf: Leaf) -> Outcomes | None:
    with mpmath.workdps(DIGITS):
        match leaf:
            case Pure(bound=bound):
                return _answers(exact(bound), 2)
            case KaryResponse(bound=bound, categories=categories):
                return _answers(exact(bound), categories)
            case Approximate(bound=bound, slack=slack):
                delta = exact(slack)
                rest = [((1 - delta) * p, (1 - delta) * q) for p, q in _answers(exact(bound), 2)]
                return [(delta, mpmath.mpf(0)), (mpmath.mpf(0), delta), *rest]
            case PmfPair(p=p, q=q):
                return [(exact(one), exact(other)) for one, other in zip(p, q, strict=True)]
            case DiscreteLaplace(eta=eta, shift=shift) if shift * eta < 20 and eta > 1 / 20:
                q = mpmath.exp(-exact(eta))
                return _noise(lambda x: q ** abs(x), shift, int(100 / eta) + shift)
            case DiscreteGaussian(variance=variance) if leaf._is_scalar and variance < 1000:
                v, shift = exact(variance), math.isqrt(leaf.squared_sensitivity)
                reach = int(40 * mpmath.sqrt(v)) + shift + 4
                return _noise(lambda x: mpmath.exp(-x * x / (2 * v)), shift, reach)
            case PoissonSubsampled(base=base, rate=rate):
                inner, share = outcomes(base), exact(rate)
                return inner and [((1 - share) * q + share * p, q) for p, q in inner]
    return None


def _answers(epsilon: Number, categories: int) -> Outcomes:
    q = 1 / (mpmath.exp(epsilon) + categories - 1)
    p = mpmath.exp(epsilon) * q
    return [(p, q), (q, p)] + ([((categories - 2) * q,) * 2] if categories > 2 else [])


def _noise(weight: Callable[[int], Number], shift: int, reach: int) -> Outcomes:
    values = {x: weight(x) for x in range(-reach - shift, reach + shift + 1)}
    total = mpmath.fsum(values.values())
    return [
        (values[x - shift] / total, values[x] / total)
        for x in range(-reach, reach + shift + 1)
        if x - shift in values
    ]


def is_known(leaf: Leaf) -> bool:
    """Tell whether ``hockey_stick`` knows the true profile of a leaf."""
    simple = isinstance(leaf, BoundedRange | ContinuousLaplace | ContinuousGaussian)
    sampled = isinstance(leaf, PoissonSubsampled) and isinstance(leaf.base, ContinuousGaussian)
    return simple or sampled or outcomes(leaf) is not None


def hockey_stick(leaf: Leaf, epsilon: float, *, reverse: bool) -> Number:
    """Return the true profile of a leaf that is known."""
    listed = outcomes(leaf)
    with mpmath.workdps(DIGITS):
        factor = mpmath.exp(mpmath.mpf(epsilon))
        if listed is not None:
            pairs = [(q, p) for p, q in listed] if reverse else listed
            return mpmath.fsum(max(p - factor * q, 0) for p, q in pairs)
        match leaf:
            case BoundedRange(bound=bound):
                return _worst_range(exact(bound), factor)
            case ContinuousLaplace(bound=bound):
                return _integral(_laplace(exact(bound)), factor)
            case ContinuousGaussian():
                mu = mpmath.sqrt(exact(leaf.squared_sensitivity / leaf.variance))
                return _integral(_normal(mu), factor)
            case PoissonSubsampled(base=ContinuousGaussian() as base, rate=rate):
                mu = mpmath.sqrt(exact(base.squared_sensitivity / base.variance))
                return _integral(_sampled(_normal(mu), exact(rate), reverse), factor)
    raise AssertionError("nothing independent is known of this leaf")


Densities: TypeAlias = tuple[Callable[[Number], Number], Callable[[Number], Number], list[Number]]


def _laplace(bound: Number) -> Densities:
    return (
        lambda x: mpmath.exp(-abs(x)) / 2,
        lambda x: mpmath.exp(-abs(x - bound)) / 2,
        [-120, 0, bound, bound + 120],
    )


def _normal(mu: Number) -> Densities:
    """P around mu, Q around 0, in standard deviations."""
    places = [mpmath.mpf(x) for x in range(-30, int(mu) + 31, 2)]
    return lambda x: mpmath.npdf(x - mu), mpmath.npdf, places


def _sampled(pair: Densities, rate: Number, reverse: bool) -> Densities:
    inner, q, places = pair

    def mixed(x: Number) -> Number:
        return (1 - rate) * q(x) + rate * inner(x)

    return (q, mixed, places) if reverse else (mixed, q, places)


def _integral(pair: Densities, factor: Number) -> Number:
    """Integrate (p - factor q)+, where the sign changes once."""
    p, q, places = pair

    def gain(x: Number) -> Number:
        return p(x) - factor * q(x)

    low, high = places[0], places[-1]
    rising = gain(high) > 0 or gain(low) < 0
    if (gain(low) > 0) == (gain(high) > 0):
        return mpmath.mpf(0) if gain(low) <= 0 else 1 - factor
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (low, middle) if (gain(middle) > 0) == rising else (middle, high)
    inside = [x for x in places if (x > high if rising else x < low)]
    return mpmath.quad(gain, [high, *inside] if rising else [*inside, low])


def _worst_range(bound: Number, factor: Number) -> Number:
    """Try many positions of the interval of losses, and the best of its neighbourhood."""

    def value(t: Number) -> Number:
        return mpmath.fsum(max(p - factor * q, 0) for p, q in range_pair(bound, t))

    steps = 400
    best = max(range(steps + 1), key=lambda j: value(bound * j / steps))
    low, high = bound * max(best - 1, 0) / steps, bound * min(best + 1, steps) / steps
    for _ in range(90):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (first, high) if value(first) < value(second) else (low, second)
    return max(value((low + high) / 2), value(bound * best / steps))


def range_pair(bound: Number, t: Number) -> Outcomes:
    """Return the two outcomes with the losses t and t - bound."""
    q = (mpmath.exp(-t) - mpmath.exp(-bound)) / (1 - mpmath.exp(-bound))
    return [(q * mpmath.exp(t), q), ((1 - q) * mpmath.exp(t - bound), 1 - q)]


def renyi(listed: Outcomes, order: float) -> Number:
    """Return the Rényi divergence of a list of outcomes."""
    with mpmath.workdps(DIGITS):
        at = mpmath.mpf(repr(order))
        if any(p > 0 and q == 0 for p, q in listed):
            return mpmath.inf
        total = mpmath.fsum(p**at * q ** (1 - at) for p, q in listed if p > 0)
        return mpmath.log(total) / (at - 1)


def kl(listed: Outcomes) -> Number:
    """Return the Kullback-Leibler divergence of a list of outcomes."""
    with mpmath.workdps(DIGITS):
        if any(p > 0 and q == 0 for p, q in listed):
            return mpmath.inf
        return mpmath.fsum(p * mpmath.log(p / q) for p, q in listed if p > 0)
