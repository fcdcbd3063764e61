# SPDX-License-Identifier: Apache-2.0
"""Optimal composition: the exact loss of so many (epsilon, delta) answers, equal or not.

In the worst case each answer is a randomized response. Where their losses differ, responses are
followed in doubles, and every number is an upper bound: all masses are positive and are only added
and multiplied, so their relative errors stay small however small they are. The margin counts the
roundings; it takes 4 units in the last place for each value of exp and expm1, more than any common
library needs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, reading, up
from sordino.privacy.repeated import (
    Failures,
    exact_profile,
    repeated_delta,
    repeated_epsilon,
    subset_sums,
)
from sordino.privacy.search import least_epsilon_up_to
from sordino.privacy.theorems.arguments import (
    EpsilonDelta,
    exactly_one,
    read_amount,
    read_delta,
    read_losses,
    read_times,
    rounded,
)


def optimal(
    *,
    epsilon: Number,
    delta: Number = 0,
    times: int,
    at_epsilon: Number | None = None,
    at_delta: Number | None = None,
) -> EpsilonDelta:
    """Return the least loss of equal steps about which only epsilon and delta are known.

    Give ``at_epsilon`` to learn the least delta that goes with it, or ``at_delta`` for the least
    epsilon. The delta of the steps themselves, 1 - (1 - delta)**times, cannot be avoided: below it
    epsilon is infinite.

    >>> optimal(epsilon=0.1, times=100, at_epsilon=4)
    EpsilonDelta(epsilon=4.0, delta=3.4223123191967736e-05)
    >>> optimal(epsilon=0.1, times=100, at_delta=1e-6)
    EpsilonDelta(epsilon=4.7745675881079865, delta=1e-06)

    Guarantee:
        Neighbours: those of the loss that came in.
        Loss: the steps together, each chosen after the answers to those before it, but with an
            epsilon and a delta that were fixed beforehand: this is no rule for stopping.
            Randomized response repeated attains it, so no smaller loss holds for all mechanisms.
        Numerics: rounded up, from certified balls; the result is the least double that reads as
            at least the exact value.
        Proof: docs/proofs/composition.md, theorem 4 (Kairouz, Oh, Viswanath 2015).
    """
    exactly_one(at_epsilon=at_epsilon, at_delta=at_delta)
    price, steps = read_amount("epsilon", epsilon), read_times("times", times)
    failures = Failures({read_delta("delta", delta): steps})
    if at_epsilon is not None:
        at = read_amount("at_epsilon", at_epsilon)
        return EpsilonDelta(rounded(at), repeated_delta(price, steps, failures, at))
    target = read_delta("at_delta", at_delta)
    return EpsilonDelta(repeated_epsilon(price, steps, failures, target), rounded(target))


Floats: TypeAlias = npt.NDArray[np.float64]

_BEYOND = 40.0  # what is left out is less likely by this, as a logarithm
_LEAST_LOG_OF_A_MASS = -700.0


@dataclass(frozen=True, slots=True)
class Lies:
    """Probabilities of ``first`` lies, of one more, and so on; and of fewer than ``first``.

    More lies than are listed count as the largest number listed, which is a larger loss.
    """

    first: int
    masses: Floats
    fewer: float

    def places(self) -> range:
        return range(self.first, self.first + len(self.masses))


def count_lies(epsilon: Fraction, times: int, reach: float) -> Lies:
    """Return the law of the number of lies; each probability is off by a few roundings a place."""
    odds = math.exp(-epsilon)
    mode = min(math.floor((times + 1) * odds / (1 + odds)), times)
    limit = 16 + int(4 * (math.sqrt(times * (reach + _BEYOND)) + reach + _BEYOND))
    down = np.arange(mode, max(mode - limit, 0), -1)
    up = np.arange(mode, min(mode + limit, times))
    # Ratios of neighbours, which fall on both sides; so a geometric series bounds what is left out.
    falling = down / (times - down + 1) / odds if mode else np.zeros(0)
    rising = (times - up) / (up + 1) * odds
    lower, upper = _run(falling, reach), _run(rising, reach)
    first, last = mode - len(lower), mode + len(upper)

    def height() -> Ball:
        ways = ball(Fraction(times + 1)).lgamma() - ball(Fraction(mode + 1)).lgamma()
        ways -= ball(Fraction(times - mode + 1)).lgamma()
        return (ways - ball(mode * epsilon) - times * (-ball(epsilon)).exp().log1p()).exp()

    masses = round_up(height) * np.concatenate([lower[::-1], [1.0], upper])
    fewer = _rest(masses[0], first / (times - first + 1) / odds) if first > 0 else 0.0
    if last < times:
        masses[-1] += _rest(masses[-1], (times - last) / (last + 1) * odds)
    return Lies(first, masses, fewer)


def _run(ratios: Floats, reach: float) -> Floats:
    """Return products of the first ratios, the first two, and so on, until they are negligible."""
    products = np.cumprod(ratios, dtype=np.float64)
    least = math.exp(max(-reach - _BEYOND, _LEAST_LOG_OF_A_MASS))
    return products[: int(np.searchsorted(-products, -least)) + 1]


def _rest(mass: float, ratio: float) -> float:
    """Bound all that comes after a mass, when each is at most ``ratio`` times the one before."""
    return float(mass) * ratio / (1 - ratio) if ratio < 1 else 1.0


Integers: TypeAlias = npt.NDArray[np.int64]

MOST_LISTED = 20  # so many steps are listed one by one
_MOST_CELLS = 2**16
_FEWEST_CELLS = 2**10
_MOST_CLASSES = 2**13
_WORK = 2**28  # cells times masses
_ROUNDING = 2.0**-53
_UNDERFLOW = 1e-305  # more than all that is lost where doubles end


@dataclass(frozen=True, slots=True)
class Atoms:
    """Losses with their probabilities, and how likely the loss is beyond all of them."""

    losses: Floats
    masses: Floats
    beyond: float
    margin: float  # relative error of the masses
    shift: float  # absolute error of the losses

    def delta(self, at: Fraction) -> float:
        """Return an upper bound on the profile at an epsilon."""
        least = math.nextafter(float(at), -math.inf) * (1 - 4 * _ROUNDING)
        ahead = self.losses - (least - self.shift)
        above = ahead > 0
        gains = self.masses[above] * -np.expm1(-ahead[above])
        # Gains and their sum, which numpy takes in pairs, are off by less than 300 roundings.
        return (float(gains.sum()) + self.beyond) * (1 + self.margin + 300 * _ROUNDING)


def listed(steps: Mapping[Fraction, int]) -> Atoms:
    """List all combinations of true answers and lies, for at most 20 steps."""
    losses, masses = np.zeros(1), np.ones(1)
    for epsilon, n in sorted(steps.items()):
        price, odds = float(epsilon), math.exp(-epsilon)
        for _ in range(n):
            losses = np.concatenate([losses + price, losses - price])
            masses = np.concatenate([masses / (1 + odds), masses * (odds / (1 + odds))])
    total = float(sum(n * epsilon for epsilon, n in steps.items()))
    # A step takes two roundings of a loss below the total, and at most twenty of a mass.
    return Atoms(losses, masses, _UNDERFLOW, 400 * _ROUNDING, 64 * total * _ROUNDING)


def on_grid(steps: Mapping[Fraction, int], *, reach: float) -> Atoms:
    """Add up the losses on a grid; about e**-reach of the mass is counted as infinite loss."""
    classes = sorted(_merged(steps).items())
    mean = sum(n * float(e) * math.tanh(float(e) / 2) for e, n in classes)
    wide = math.sqrt(2 * reach * sum(n * float(e) ** 2 for e, n in classes))
    laws = [count_lies(e, n, reach) for e, n in classes]
    most = sum(2 * len(law.masses) for law in laws)
    step = _step([e for e, _ in classes], min(mean + 2 * wide, 2 * float(_total(classes))), most)
    highest = sum(n * math.ceil(e / step) for e, n in classes)
    last = min(highest, math.ceil(Fraction(mean + wide) / step))
    first = max(-highest, math.floor(-Fraction(wide) / step))
    start, masses, beyond, rounds = 0, np.ones(1), _UNDERFLOW, 0
    for (epsilon, n), law in zip(classes, laws, strict=True):
        places, weights = _spread(law, n, epsilon / step, float(step))
        start, masses = start + int(places.min()), _add(masses, places - places.min(), weights)
        start, masses, over = _cut(start, masses, first, last)
        beyond += over + law.fewer
        rounds += len(weights) + 10 * len(law.masses) + 60
    losses = np.arange(start, start + len(masses), dtype=np.float64) * float(step)
    return Atoms(losses, masses, beyond, 1.01 * rounds * _ROUNDING, 8 * _ROUNDING * (mean + wide))


def _total(classes: list[tuple[Fraction, int]]) -> Fraction:
    return sum((n * epsilon for epsilon, n in classes), start=Fraction(0))


def _merged(steps: Mapping[Fraction, int]) -> Mapping[Fraction, int]:
    """Round epsilons up to fewer and fewer bits until not too many different ones are left."""
    if len(steps) <= _MOST_CLASSES:
        return steps
    parts, exponents = np.frexp([up(epsilon) for epsilon in steps])
    for bits in range(24, 0, -1):
        rounded = np.ldexp(np.ceil(np.ldexp(parts, bits)), exponents - bits)
        values, inverse = np.unique(rounded, return_inverse=True)
        if len(values) <= _MOST_CLASSES:
            break
    counts = np.bincount(inverse, list(steps.values()))
    return {Fraction(e): int(n) for e, n in zip(values.tolist(), counts.tolist(), strict=True)}


def _step(epsilons: list[Fraction], width: float, masses: int) -> Fraction:
    """Return the distance of grid points: one that all epsilons are multiples of, if possible."""
    unit = Fraction(
        math.gcd(*(epsilon.numerator for epsilon in epsilons)),
        math.lcm(*(epsilon.denominator for epsilon in epsilons)),
    )
    cells = min(max(_WORK // masses, _FEWEST_CELLS), _MOST_CELLS)
    return max(unit, Fraction(width / cells))


def _spread(law: Lies, times: int, slope: Fraction, step: float) -> tuple[Integers, Floats]:
    """Put each loss on the two grid points around it; ``slope`` is epsilon in grid steps.

    The shares are such that a step which lands on either point, and then forgets on which, is the
    step that was there before: the mass is kept in both cases of the data.
    """
    losses = [(times - 2 * lies) * slope.numerator for lies in law.places()]
    parts = [divmod(loss, slope.denominator) for loss in losses]
    below = np.array([whole for whole, _ in parts])
    over = np.array([rest / slope.denominator for _, rest in parts])
    under = np.array([(slope.denominator - rest) / slope.denominator for _, rest in parts])
    lower = law.masses * np.exp(-over * step) * np.expm1(-under * step) / math.expm1(-step)
    upper = law.masses * np.expm1(-over * step) / math.expm1(-step)
    places, weights = np.concatenate([below, below + 1]), np.concatenate([lower, upper])
    return places[weights > 0], weights[weights > 0]


def _add(masses: Floats, places: Integers, weights: Floats) -> Floats:
    """Add a loss, given by its places from 0 on and their weights, to the losses so far.

    One shift for each of the fewer masses: numpy's own convolution waits for other threads.
    """
    few, many = sorted((masses, np.bincount(places, weights)), key=np.count_nonzero)
    result = np.zeros(len(masses) + int(places.max()))
    for place in np.flatnonzero(few).tolist():
        result[place : place + len(many)] += few[place] * many
    return result


def _cut(start: int, masses: Floats, first: int, last: int) -> tuple[int, Floats, float]:
    """Lift what is below ``first`` to it, and take away what is above ``last``."""
    over = float(masses[max(last + 1 - start, 0) :].sum())
    masses = masses[: max(last + 1 - start, 0)]
    if start >= first:
        return start, masses, over
    lifted = masses[first - start :].copy()
    lifted[0] += masses[: first - start].sum()
    return first, lifted, over


_SURPLUS = 60.0  # mass e**-60 times the wanted delta may be counted as infinite loss
_LOG_OF_THE_LEAST_DOUBLE = -745.0


def optimal_heterogeneous(
    *,
    losses: Iterable[tuple[Number, Number]],
    at_epsilon: Number | None = None,
    at_delta: Number | None = None,
) -> EpsilonDelta:
    """Return the least loss of steps about which only their epsilons and deltas are known.

    Give ``at_epsilon`` to learn a delta that goes with it, or ``at_delta`` for an epsilon. To
    compute the least one exactly is as hard as counting solutions. So it is done exactly when the
    epsilons have few different sums, for instance because they are multiples of 0.01, and almost
    exactly for up to 20 steps; in all other cases the result is an upper bound.

    >>> losses = [(0.1, 0), (0.2, 0), (0.3, 0), (0.5, 0)]
    >>> optimal_heterogeneous(losses=losses, at_epsilon=0.6)
    EpsilonDelta(epsilon=0.6, delta=0.07285744737365592)

    Guarantee:
        Neighbours: those of the losses that came in, which must all mean the same.
        Loss: the steps together, each chosen after the answers to those before it, but with losses
            that were fixed beforehand: this is no rule for stopping.
        Numerics: from certified balls for up to 2**14 different sums. Else sums of positive
            doubles, raised by more than their error (a relative 1e-11 for a thousand steps); if
            the sums do not lie on a grid of 2**16 points, each step is replaced by one on the grid
            of which it is a post-processing.
        Proof: docs/proofs/composition.md, theorem 5 (Murtagh, Vadhan 2016).
    """
    exactly_one(at_epsilon=at_epsilon, at_delta=at_delta)
    steps: Counter[Fraction] = Counter()
    deltas: Counter[Fraction] = Counter()
    for (epsilon, delta), n in read_losses(losses).items():
        steps[epsilon] += n
        deltas[delta] += n
    del steps[Fraction(0)], deltas[Fraction(0)]
    failures = Failures(deltas)
    if at_epsilon is not None:
        at = read_amount("at_epsilon", at_epsilon)
        profile = _profile(steps, failures, _unlikely(steps, at))
        return EpsilonDelta(rounded(at), profile(at))
    target = read_delta("at_delta", at_delta)
    return EpsilonDelta(_epsilon(steps, failures, target), rounded(target))


def _epsilon(steps: Mapping[Fraction, int], failures: Failures, target: Fraction) -> float:
    room, total = failures.room(target), sum(n * epsilon for epsilon, n in steps.items())
    if room < 0:
        return math.inf
    if room == 0 or not steps:
        return rounded(Fraction(total))
    if len(steps) == 1 and not failures.counts:
        [(epsilon, times)] = steps.items()
        return optimal(epsilon=epsilon, times=times, at_delta=target).epsilon
    left = _log_left(failures, target)
    profile, pure = _profile(steps, failures, left), rounded(Fraction(total))
    if reading(profile(Fraction(repr(pure)))) > target:  # by rounding only
        return pure
    return least_epsilon_up_to(profile, delta=target, pure=pure)


def _profile(
    steps: Mapping[Fraction, int], failures: Failures, log_delta: float
) -> Callable[[Fraction], float]:
    """Return delta as a function of epsilon, tuned to values of delta about exp(log_delta)."""
    total = sum(n * epsilon for epsilon, n in steps.items())
    sums = subset_sums(steps)
    if sums is not None:
        exact = exact_profile(steps, sums)
        return lambda at: min(round_up(lambda: failures.total(exact(at))), 1.0)
    few = sum(steps.values()) <= MOST_LISTED
    atoms = listed(steps) if few else on_grid(steps, reach=_SURPLUS - log_delta)

    def bound(at: Fraction) -> float:
        responses = Fraction(atoms.delta(at)) if at < total else Fraction(0)
        return min(round_up(lambda: failures.total(ball(responses))), 1.0)

    return bound


def _unlikely(steps: Mapping[Fraction, int], at: Fraction) -> float:
    """Return about the logarithm of the delta that goes with an epsilon."""
    mean = sum(n * float(e) * math.tanh(float(e) / 2) for e, n in steps.items())
    squares = sum(n * float(e) ** 2 for e, n in steps.items())
    far = max(float(at) - mean, 0.0)
    return max(-far * far / (2 * squares), _LOG_OF_THE_LEAST_DOUBLE) if squares else 0.0


def _log_left(failures: Failures, target: Fraction) -> float:
    """Return about the logarithm of the delta that is left for the randomized responses."""
    left = round_up(lambda: failures.left(target))
    return math.log(left) if left > 0 else _LOG_OF_THE_LEAST_DOUBLE
