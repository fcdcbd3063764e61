# SPDX-License-Identifier: Apache-2.0
"""Steps that may fail, and randomized responses repeated: the worst they can do, exactly."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate

from sordino.numbers.balls import Ball, ball, bits, is_positive, round_up
from sordino.numbers.rational import reading, up_as_printed
from sordino.privacy.search import least, least_epsilon_up_to

_EXACT_BITS = 2**14  # products up to this size are compared exactly
_MOST_SUMS = 1 << 10  # beyond, the sums take longer than the distribution
_MOST_COUNTED = 2**14
_MOST_WORK = 2**20
_MOST_BITS = 2**24  # of all counts together
_HALVINGS = 60
_ROOT_OF_2 = math.sqrt(2)
_LARGEST_LOG, _LARGEST_STEP = 600.0, 300.0


@dataclass(frozen=True, slots=True)
class Failures:
    """Deltas, each with the number of steps that have it.

    A step with loss (epsilon, delta) is never worse than this: with probability delta it reveals
    everything, else it is a randomized response. If d belongs to all the randomized responses, the
    delta of the whole is 1 - (1 - d) times the product of all (1 - delta).
    """

    counts: Mapping[Fraction, int]

    def total(self, responses: Ball) -> Ball:
        """Return the delta of the whole from that of the randomized responses."""
        logarithm = self._log()
        return logarithm.exp() * responses - logarithm.expm1()

    def left(self, target: Fraction) -> Ball:
        """Return the delta that the randomized responses may have if the whole is to be target."""
        return -((-ball(target)).log1p() - self._log()).expm1()

    def room(self, target: Fraction) -> int:
        """Return the sign of ``left``: 1, 0 or -1."""
        bits = sum(n * delta.denominator.bit_length() for delta, n in self.counts.items() if delta)
        if bits <= _EXACT_BITS:
            kept = math.prod((1 - delta) ** n for delta, n in self.counts.items())
            return (kept > 1 - target) - (kept < 1 - target)
        # A product with such a large denominator is no number that anyone has typed.
        return 1 if is_positive(lambda: self.left(target)) else -1

    def _log(self) -> Ball:
        zero = 0 * ball(Fraction(0))
        return sum((n * (-ball(d)).log1p() for d, n in self.counts.items() if d), start=zero)


def repeated_delta(epsilon: Fraction, times: int, failures: Failures, at: Fraction) -> float:
    """Return the delta of so many steps of (epsilon, their failures), at another epsilon.

    Guarantee:
        Neighbours: those of the steps.
        Loss: the least delta for all steps about which nothing else is known.
        Numerics: rounded up, from certified balls.
        Proof: docs/proofs/composition.md, theorem 4 (Kairouz, Oh, Viswanath 2015).
    """
    most = _lies(epsilon, times, at)
    return min(round_up(lambda: failures.total(_excess(epsilon, times, most, at))), 1.0)


def repeated_epsilon(epsilon: Fraction, times: int, failures: Failures, target: Fraction) -> float:
    """Return the least epsilon at which the total delta is ``target``.

    Between two neighbouring values of the loss, (times - 2 l) epsilon, the profile is a - e^x b
    with constant a and b, so that x can be computed as soon as it is known which two they are.

    Guarantee:
        Neighbours: those of the steps.
        Loss: the least epsilon for all steps about which nothing else is known.
        Numerics: rounded up, from certified balls.
        Proof: docs/proofs/composition.md, theorem 4 (Kairouz, Oh, Viswanath 2015).
    """
    room = failures.room(target)
    if room < 0:
        return math.inf
    if room == 0:
        return up_as_printed(times * epsilon)

    def exceeds(most: int) -> bool:
        """Tell whether the profile is above the target at the lower end of a piece."""
        at = max((times - 2 * most - 2) * epsilon, Fraction(0))
        return is_positive(lambda: _excess(epsilon, times, most, at) - failures.left(target))

    low, high = 0, _lies(epsilon, times, Fraction(0))
    if high < 0 or not exceeds(high):
        return 0.0
    high = least(
        exceeds, low, high, near=_about(epsilon, times, float(failures.left(target).mid()))
    )

    def formula() -> Ball:
        seen, other = _masses(epsilon, times, high)
        return ((seen - failures.left(target)) / other).log()

    return max(round_up(formula), 0.0)


def different_epsilon(
    steps: Mapping[Fraction, int], failures: Failures, target: Fraction
) -> float | None:
    """Return the least epsilon of steps that differ, or None if they have too many sums.

    Guarantee:
        Neighbours: those of the steps.
        Loss: the least epsilon for all steps about which nothing else is known.
        Numerics: rounded up, from certified balls.
        Proof: docs/proofs/composition.md, theorem 5 (Murtagh, Vadhan 2016).
    """
    room, pure = (
        failures.room(target),
        up_as_printed(Fraction(sum(n * e for e, n in steps.items()))),
    )
    if room <= 0:
        return math.inf if room < 0 else pure
    if len(steps) == 1:
        [(epsilon, times)] = steps.items()
        return repeated_epsilon(epsilon, times, failures, target)
    sums = subset_sums(steps)
    if sums is None or len(sums) > _MOST_SUMS:
        return None
    exact = exact_profile(steps, sums)

    def profile(at: Fraction) -> float:
        return min(round_up(lambda: failures.total(exact(at))), 1.0)

    if reading(profile(Fraction(repr(pure)))) > target:  # by rounding only
        return pure
    return least_epsilon_up_to(profile, delta=target, pure=pure)


def _about(epsilon: Fraction, times: int, delta: float) -> int:
    """Return about how many lies there are where the profile of all steps falls to delta.

    The sum of the losses is taken for a normal one; where that is wrong, a search takes longer.
    """
    step = float(epsilon)
    mean = times * step * math.tanh(step / 2)
    width = math.sqrt(times) * step / math.cosh(min(step / 2, _LARGEST_STEP))

    def profile(at: float) -> float:
        above = math.erfc((at - mean) / width / _ROOT_OF_2) / 2
        shifted = math.erfc((at - mean + width * width) / width / _ROOT_OF_2) / 2
        return above - math.exp(min(at - mean + width * width / 2, _LARGEST_LOG)) * shifted

    low, high = 0.0, times * step
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return int((times - high / step) / 2)


def _lies(epsilon: Fraction, times: int, at: Fraction) -> int:
    """Return how many answers of randomized response may be lies if the loss is to exceed at."""
    return math.ceil((times * epsilon - at) / (2 * epsilon)) - 1 if epsilon else -1


def _excess(epsilon: Fraction, times: int, most: int, at: Fraction) -> Ball:
    """Return the profile of randomized response repeated, where ``most`` lies exceed ``at``."""
    seen, other = _masses(epsilon, times, most)
    return seen - ball(at).exp() * other


def _masses(epsilon: Fraction, times: int, most: int) -> tuple[Ball, Ball]:
    """Return how likely at most so many lies are, and how likely in the opposite case."""
    lie, truth = 1 / (1 + ball(epsilon).exp()), 1 / (1 + (-ball(epsilon)).exp())
    return (
        at_most(most, times=times, chance=lie, rest=truth),
        at_most(most, times=times, chance=truth, rest=lie),
    )


def at_most(most: int, *, times: int, chance: Ball, rest: Ball) -> Ball:
    """Return the probability of at most ``most`` successes, each of the given chance.

    ``rest`` is one minus the chance, computed without a subtraction.
    """
    if most < 0:
        return 0 * chance
    if most >= times:
        return 0 * chance + 1
    above, below = ball(Fraction(most + 1)), ball(Fraction(times - most))
    # Both are the regularised incomplete beta function; the smaller tail is the accurate one.
    if most + 1 > times * float(chance.mid()):
        return 1 - chance.beta_lower(above, below, True)
    return rest.beta_lower(below, above, True)


def subset_sums(steps: Mapping[Fraction, int]) -> dict[Fraction, int] | None:
    """Count the subsets of the steps by the sum of their epsilons; None if there are too many sums.

    >>> subset_sums({Fraction(1): 2, Fraction(3): 1}).values()
    dict_values([1, 2, 1, 1, 2, 1])
    """
    unit = Fraction(
        math.gcd(*(epsilon.numerator for epsilon in steps)),
        math.lcm(*(epsilon.denominator for epsilon in steps)),
    )
    counts, work, times = {0: 1}, 0, sum(steps.values())
    for epsilon, n in sorted(steps.items()):
        jump = int(epsilon / unit)
        work += len(counts) * (n + 1)
        if work > _MOST_WORK or (n + 1) * times > _MOST_BITS:
            return None
        ways = [math.comb(n, j) for j in range(n + 1)]
        longer: dict[int, int] = {}
        for place, count in counts.items():
            for j, way in enumerate(ways):
                here = place + j * jump
                longer[here] = longer.get(here, 0) + count * way
        counts = longer
        if len(counts) > _MOST_COUNTED or len(counts) * times > _MOST_BITS:
            return None
    return {place * unit: counts[place] for place in sorted(counts)}


def exact_profile(
    steps: Mapping[Fraction, int], sums: Mapping[Fraction, int]
) -> Callable[[Fraction], Ball]:
    """Return the profile of randomized responses, one for each step, as a function of epsilon.

    If the answers in a subset are true and all others are lies, and its epsilons add up to a, then
    the loss is a minus the rest. Both masses are kept as running sums from the largest a down.
    """
    total = sum((n * epsilon for epsilon, n in steps.items()), start=Fraction(0))
    places = sorted(sums, reverse=True)
    below = [total - 2 * a for a in places]  # minus the loss, ascending

    @cache
    def masses(_precision: int) -> tuple[list[Ball], list[Ball]]:
        norm = ball(Fraction(1))
        for epsilon, n in steps.items():
            norm *= (1 + (-ball(epsilon)).exp()) ** n
        seen = [ball(sums[a]) * ball(a - total).exp() / norm for a in places]
        other = [ball(sums[a]) * ball(-a).exp() / norm for a in places]
        return list(accumulate(seen)), list(accumulate(other))

    def profile(at: Fraction) -> Ball:
        many = bisect_left(below, -at)  # how many sums have a loss above at
        if many == 0:
            return ball(Fraction(0))
        seen, other = masses(bits())
        return seen[many - 1] - ball(at).exp() * other[many - 1]

    return profile
