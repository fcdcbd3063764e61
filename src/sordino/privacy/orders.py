# SPDX-License-Identifier: Apache-2.0
"""Rényi divergences of all orders at once, and the least rho above all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from sordino.privacy.leaf import Floats

Divergences: TypeAlias = Callable[[Floats], Floats]

CLOSE = 1e-7  # what the search for the least rho may miss, relatively
_ROUNDING = 1e-9  # more than the error of the divergences in doubles
_MOST_ROUNDS = 60
_FIRST = 64
_SMALL = 1e-2
_LONG = 600.0
Curve: TypeAlias = Callable[[float], float]

_GRID = [2.0 ** (j / 4) for j in range(-80, 121)]  # orders less 1, from a millionth to 2**30
_NEAR = 1e-8  # between logarithms of orders, where values differ by no more than their rounding
_GOLDEN = (math.sqrt(5) - 1) / 2


def least_rho(
    divergences: Divergences, *, pure: float, order_one: float, close: float = CLOSE
) -> float:
    """Return a rho that is at least divergence / order for all orders above 1.

    Orders are cut into intervals, and those for which the bound is too large are halved. The
    logarithm of a moment, which is order - 1 times the divergence, is convex in the order, and so
    is order * (order - 1); on an interval the one is below its chord and the other above its
    tangent in the middle, and the quotient of the two lines is largest at one end.

    Guarantee:
        Neighbours: those of the pair.
        Loss: the pair is rho-zCDP, if ``divergences`` holds for both ways round, ``pure`` is the
            largest loss and ``order_one`` the Kullback-Leibler divergence.
        Numerics: at most twice ``close`` above the least rho, relatively. The divergences are
            doubles that may be off by a relative 1e-9.
        Proof: docs/proofs/leaves.md, theorem 6.
    """
    best = order_one
    ends = np.concatenate([[1.0], 1 + np.geomspace(1e-6, max(pure / best, 2.0), _FIRST)])
    low, high = ends[:-1], ends[1:]
    at_low, at_high = np.append(order_one, divergences(ends[1:-1])), divergences(ends[1:])
    settled = pure / ends[-1]  # beyond the last order a divergence is still at most pure
    for turn in range(_MOST_ROUNDS):
        best = max(best, float((at_high / high).max()))
        limit = _limit(low, high, at_low, at_high)
        open_ = (limit > best * (1 + close)) & (turn < _MOST_ROUNDS - 1)
        settled = max(settled, float(limit[~open_].max(initial=0.0)))
        if not open_.any():
            break
        low, high, at_low, at_high = (x[open_] for x in (low, high, at_low, at_high))
        middle = (low + high) / 2
        between = divergences(middle)
        low, at_low = np.append(low, middle), np.append(at_low, between)
        high, at_high = np.append(middle, high), np.append(between, at_high)
    found = min(max(best, settled), pure * math.tanh(pure / 2))
    return float(found) * (1 + _ROUNDING)


def _limit(low: Floats, high: Floats, at_low: Floats, at_high: Floats) -> Floats:
    """Bound divergence / order on each interval of orders, from the divergences at its ends."""
    bend = (high - low) ** 2 / 4
    ends = []
    for order, divergence in ((low, at_low), (high, at_high)):
        below = order * (order - 1) - bend
        positive = np.where(below > 0, below, 1.0)
        ends.append(np.where(below > 0, divergence * (order - 1) / positive, math.inf))
    by_chord = np.maximum(*ends)
    return np.minimum(by_chord, at_high / low)  # divergences grow, so this holds as well


def excess(order: Floats, losses: Floats) -> Floats:
    """Return r**order - 1 - order * (r - 1) where r = exp(loss): never negative, to full precision.

    Weighted with the probabilities under Q it adds up to E_Q r**order - 1.
    """
    order, losses = np.broadcast_arrays(order, losses)
    more = order - 1
    found = np.exp(losses) * np.expm1(more * losses) - more * np.expm1(losses)
    small = np.abs(order * losses) < _SMALL
    loss, high, rest = losses[small], order[small], more[small]
    # The sum over k >= 2 of order * (order**(k-1) - 1) * loss**k / k!, where ``rest`` is the
    # bracket; what is left out is below 1e-16 of the first term.
    term, series = loss * loss / 2, np.zeros(loss.shape)
    for k in range(2, 10):
        series += term * high * rest
        term, rest = term * loss / (k + 1), high * rest + more[small]
    found[small] = series
    return np.maximum(found, 0.0)


def pair_divergences(orders: Floats, losses: Floats, weights: Floats) -> Floats:
    """Return the Rényi divergence of each order of a pair: losses, and probabilities under Q."""
    far = np.max(losses, initial=0.0) * orders > _LONG
    found = np.empty(orders.shape)
    near = orders[~far]
    found[~far] = np.log1p(excess(near[:, None], losses[None, :]) @ weights) / (near - 1)
    distant = orders[far]
    exponents = distant[:, None] * losses[None, :] + np.log(weights)[None, :]
    top = exponents.max(axis=1, initial=-math.inf)
    sums = np.exp(exponents - top[:, None]).sum(axis=1)
    found[far] = (top + np.log(sums)) / (distant - 1)
    return found


def epsilon_value(delta: Fraction) -> Callable[[float, float], float]:
    """Return about the epsilon of a delta, as a function of an order and its divergence."""
    log = math.log(delta)

    def value(order: float, divergence: float) -> float:
        return divergence + math.log1p(-1 / order) - (log + math.log(order)) / (order - 1)

    return value


def delta_value(epsilon: Fraction) -> Callable[[float, float], float]:
    """Return about the logarithm of the delta of an epsilon, likewise."""
    price = float(epsilon)

    def value(order: float, divergence: float) -> float:
        gain = (order - 1) * (divergence - price + math.log1p(-1 / order))
        return gain - math.log(order)

    return value


def ask(curve: Curve, order: float) -> float:
    """Return what a curve says at an order; refuse what is no divergence."""
    divergence = curve(order)
    if not isinstance(divergence, int | float) or math.isnan(divergence) or divergence < 0:
        raise ValueError(
            f"the curve must return a number that is not negative, got {divergence!r:.40} "
            f"at order {order!r}"
        )
    return float(divergence)


def best_order(
    curve: Curve, value: Callable[[float, float], float], *, stride: int = 1
) -> tuple[float, float]:
    """Return the order with the least value, and the divergence there.

    With a stride the list of orders is passed in long steps first, which misses nothing where the
    value falls up to one order and rises from there.
    """

    def at(rest: float) -> tuple[float, float, float]:
        order = 1 + rest
        divergence = ask(curve, order)
        return value(order, divergence), order, divergence

    found_at = {j: at(_GRID[j]) for j in range(0, len(_GRID), stride)}
    rough = min(found_at, key=lambda j: found_at[j][0])
    for j in range(max(rough - stride + 1, 0), min(rough + stride, len(_GRID))):
        if j not in found_at:
            found_at[j] = at(_GRID[j])
    place = min(found_at, key=lambda j: found_at[j][0])
    # Look between the neighbours of the best, in the logarithm of the order less 1.
    low, high = (math.log(_GRID[min(max(place + j, 0), len(_GRID) - 1)]) for j in (-1, 1))
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    one, two = at(math.exp(left)), at(math.exp(right))
    best = min(found_at[place], one, two)
    while high - low > _NEAR:
        if one[0] <= two[0]:
            high, right, two = right, left, one
            left = high - _GOLDEN * (high - low)
            one = at(math.exp(left))
        else:
            low, left, one = left, right, two
            right = low + _GOLDEN * (high - low)
            two = at(math.exp(right))
        best = min(best, one, two)
    return best[1], best[2]
