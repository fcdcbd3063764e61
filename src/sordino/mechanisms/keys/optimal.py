# SPDX-License-Identifier: Apache-2.0
"""The highest probabilities with which a key may be kept, for each number of units that have it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import Ball, ball, ceiling, enclose, is_positive, round_up
from sordino.numbers.normal import mean_size, second_moment, tail, total
from sordino.numbers.rational import up_as_printed
from sordino.privacy.search import least
from sordino.randomness.coins import FILTER_MARGIN
from sordino.randomness.entropy import Bits, fresh_words
from sordino.randomness.samplers import Sampler, discrete_gaussian, discrete_laplace
from sordino.randomness.tables import WORD_BITS, LazyUniform

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

_LARGEST_TABLE = 1 << 11  # beyond, epsilon is below 1/2 and a formula in doubles close enough
_SMALLEST = Fraction(1, 2**700)  # below, doubles might be too small or too large for the formula
_LARGEST_COUNT = 2**63 - 1
_UNIT = 2.0**-64
_KEPT = 32


@dataclass(frozen=True, slots=True)
class OptimalLaw:
    """Keep a key that n units have with pi(n): the highest that (epsilon, delta) allows.

    pi(0) = 0, and pi(n) is the least of e^epsilon pi(n-1) + delta, of
    1 - e^-epsilon (1 - pi(n-1) - delta), and of 1. The first is the least up to ``turn``; from
    there on the second is, up to ``last``; beyond that pi is 1.

    >>> law = OptimalLaw(Fraction(1), Fraction(1, 10**5))
    >>> law.turn, law.last, law.probability(2), law.probability(23)
    (11, 22, 3.7182818284590455e-05, 1.0)

    Guarantee:
        Neighbours: one unit more or less has the key.
        Loss: (epsilon, delta), and no other law with it keeps any key more often.
        Numerics: ``turn`` and ``last`` are certain; ``probability`` is rounded up; draws are exact.
        Proof: docs/proofs/partitions.md, theorem 2 (Desfontaines, Voss, Gipson, Mandayam 2022).
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def turn(self) -> int:
        """The last n whose probability follows the first of the two rules."""
        return _ends(self.epsilon, self.delta)[0]

    @property
    def last(self) -> int:
        """The largest n whose probability may be below 1."""
        return _ends(self.epsilon, self.delta)[1]

    def ball(self, n: int) -> Ball:
        """Return the probability as a certified ball."""
        turn, last = _ends(self.epsilon, self.delta)
        if n <= 0:
            return ball(0)
        if n > last:
            return ball(1)
        if n <= turn:
            return _rising(self.epsilon, self.delta, n)
        return 1 - _missing(self.epsilon, self.delta, turn, n)

    def probability(self, n: int) -> float:
        """Return the probability that a key is kept that n units have."""
        if n <= 0 or n > self.last:
            return float(n > 0)
        if n == 1:
            return up_as_printed(self.delta)
        return min(round_up(lambda: self.ball(n)), 1.0)

    def count_for(self, probability: Fraction, *, lowest: int = 1) -> int:
        """Return the least n that is kept with at least this probability."""

        def reaches(n: int) -> bool:
            if n == 1:
                return self.delta >= probability
            return n > self.last or is_positive(lambda: self.ball(n) - ball(probability))

        return least(reaches, lowest, self.last + 1)

    def draw(self, counts: Integers, bits: Bits) -> Booleans:
        """Decide for each count, independently, whether its key is kept.

        Guarantee:
            Neighbours: one unit more or less has a key.
            Loss: that of the law, for each key; a count of 0 is never kept and takes no draw.
            Numerics: exact; doubles decide only where they are certain to agree with the law.
            Proof: docs/proofs/partitions.md, theorem 2; docs/proofs/sampling.md.
        """
        kept = counts > min(self.last, _LARGEST_COUNT)
        open_places = np.flatnonzero((counts > 0) & ~kept)
        if open_places.size == 0:
            return kept
        words = fresh_words(open_places.size, bits)
        margin = self._doubles(counts[open_places]) - words * _UNIT
        kept[open_places] = margin > 0
        for tied in np.flatnonzero(np.abs(margin) < FILTER_MARGIN).tolist():
            place = int(open_places[tied])
            kept[place] = self.keeps(int(counts[place]), int(words[tied]), bits)
        return kept

    def keeps(self, n: int, word: int, bits: Bits) -> bool:
        """Decide one key by certified arithmetic; ``word`` has the first 64 bits of the draw."""
        number = LazyUniform(word, WORD_BITS, bits)
        return number.below(lambda width: enclose(lambda: self.ball(n), width))

    def _doubles(self, counts: Integers) -> Floats:
        """Return pi(n), each within 2**-41, for n from 1 to ``last``."""
        if self.last <= _LARGEST_TABLE:
            return _table(self)[counts]
        if min(self.epsilon, self.delta) < _SMALLEST:
            distinct, places = np.unique(counts, return_inverse=True)
            return np.array([self.probability(n) for n in distinct.tolist()])[places]
        epsilon, turn, rest, top = _terms(self)
        found = np.minimum(counts, turn) * epsilon
        np.expm1(found, out=found)
        found *= rest
        # Only sums of positive numbers: rest and top may be many powers of ten above 1.
        beyond = np.maximum(counts - turn, 0) * -epsilon
        found -= top * np.expm1(beyond, out=beyond)
        return found


class _Terms(NamedTuple):
    """The numbers in the formula for doubles, each with a relative error below 2**-50."""

    epsilon: float
    turn: int  # or the largest count there is
    rest: float  # delta / (e^epsilon - 1)
    top: float  # 1 - pi(turn) + rest


def _rising(epsilon: Fraction, delta: Fraction, n: int) -> Ball:
    return ball(delta) * ball(n * epsilon).expm1() / ball(epsilon).expm1()


def _missing(epsilon: Fraction, delta: Fraction, turn: int, n: int) -> Ball:
    """Return 1 - pi(n) for n from the turn to the last."""
    rest = _rest(epsilon, delta)
    top = 1 - _rising(epsilon, delta, turn) + rest
    return top * (-ball((n - turn) * epsilon)).exp() - rest


def _rest(epsilon: Fraction, delta: Fraction) -> Ball:
    return ball(delta) / ball(epsilon).expm1()


@lru_cache(maxsize=_KEPT)
def _ends(epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """Return the turn and the last; neither logarithm is ever a whole number of epsilons."""

    def turning() -> Ball:
        shrunk = (-ball(epsilon)).exp()
        share = (1 - shrunk) / (1 + shrunk)
        return -(ball((1 - delta) / delta) * share).log1p() / ball(epsilon)

    turn = 1 - ceiling(turning)

    def lasting() -> Ball:
        rest = _rest(epsilon, delta)
        return -((1 - _rising(epsilon, delta, turn)) / rest).log1p() / ball(epsilon)

    return turn, turn - ceiling(lasting)


@lru_cache(maxsize=_KEPT)
def _table(law: OptimalLaw) -> Floats:
    return np.array([law.probability(n) for n in range(law.last + 1)])


@lru_cache(maxsize=_KEPT)
def _terms(law: OptimalLaw) -> _Terms:
    epsilon, delta = law.epsilon, law.delta
    turn = law.turn
    return _Terms(
        epsilon=float(epsilon),
        turn=min(turn, _LARGEST_COUNT),
        rest=round_up(lambda: _rest(epsilon, delta)),
        top=round_up(lambda: 1 - _rising(epsilon, delta, turn) + _rest(epsilon, delta)),
    )


_FARTHEST = 2**63


class Noise(Protocol):
    """Noise on the integers whose upper tail is known.

    Guarantee: none by itself; public inputs only.
    """

    def tail(self, start: int) -> Ball:
        """Return the probability that the noise is at least ``start``."""
        ...

    def mass(self, place: int) -> Ball:
        """Return the probability that the noise is ``place``."""
        ...

    def mean_size(self) -> Ball:
        """Return the mean of the size of the noise, whatever its sign."""
        ...

    def second_moment(self) -> Ball:
        """Return the variance of the noise, whose mean is 0."""
        ...

    def sampler(self) -> Sampler:
        """Return what the noise is drawn from."""
        ...


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Noise with P(x) proportional to exp(-eta abs(x)).

    Guarantee: none by itself; public inputs only.
    """

    eta: Fraction

    def tail(self, start: int) -> Ball:
        """Return the probability that the noise is at least ``start``."""
        ratio = (-ball(self.eta)).exp()
        if start > 0:
            return (-ball(start * self.eta)).exp() / (1 + ratio)
        return 1 - (-ball((1 - start) * self.eta)).exp() / (1 + ratio)

    def mass(self, place: int) -> Ball:
        """Return the probability that the noise is ``place``."""
        return (ball(self.eta) / 2).tanh() * (-ball(abs(place) * self.eta)).exp()

    def mean_size(self) -> Ball:
        """Return the mean of the size of the noise, whatever its sign."""
        return 1 / ball(self.eta).sinh()

    def second_moment(self) -> Ball:
        """Return the variance of the noise, whose mean is 0."""
        return 1 / (2 * (ball(self.eta) / 2).sinh() ** 2)

    def sampler(self) -> Sampler:
        """Return what the noise is drawn from.

        Guarantee: none by itself.
        """
        return discrete_laplace(1 / self.eta)


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Noise with P(x) proportional to exp(-x*x / (2 variance)).

    Guarantee: none by itself; public inputs only.
    """

    variance: Fraction

    def tail(self, start: int) -> Ball:
        """Return the probability that the noise is at least ``start``."""
        return tail(self.variance, start) / total(self.variance)

    def mass(self, place: int) -> Ball:
        """Return the probability that the noise is ``place``."""
        return (-ball(place * place / (2 * self.variance))).exp() / total(self.variance)

    def mean_size(self) -> Ball:
        """Return the mean of the size of the noise, whatever its sign."""
        return mean_size(self.variance)

    def second_moment(self) -> Ball:
        """Return the variance of the noise, whose mean is 0."""
        return second_moment(self.variance)

    def sampler(self) -> Sampler:
        """Return what the noise is drawn from.

        Guarantee: none by itself.
        """
        return discrete_gaussian(self.variance)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number n passes if n plus noise is at least ``least``.

    >>> Threshold(LaplaceNoise(Fraction(1)), 13).count_for(Fraction(99, 100))
    17

    Guarantee: none by itself; public inputs only.
    """

    noise: Noise
    least: int

    def probability(self, n: int) -> float:
        """Return the probability that n passes, rounded up."""
        return min(round_up(lambda: self.noise.tail(self.least - n)), 1.0)

    def count_for(self, share: Fraction, *, lowest: int = 0) -> int:
        """Return the least n that is certain to pass with at least this probability."""

        def reaches(n: int) -> bool:
            return is_positive(lambda: self.noise.tail(self.least - n) - ball(share))

        return least(reaches, lowest, _FARTHEST, near=self.least)


def least_threshold(
    noise: Noise, *, hidden: int, times: int, delta: Fraction, near: int
) -> Threshold:
    """Return the least threshold that keeps a small number from passing.

    >>> least_threshold(
    ...     LaplaceNoise(Fraction(1)), hidden=1, times=1, delta=Fraction(1, 10**5), near=10
    ... ).least
    13

    Guarantee:
        Neighbours: none by itself.
        Loss: if the number ``hidden`` is tried ``times`` times, with independent noise, the
            probability that it passes at all is at most delta.
        Numerics: certain for the result; the next smaller threshold has a larger probability,
            unless the result is 1, below which none is looked for.
        Proof: docs/proofs/partitions.md, theorem 4.
    """

    def hides(threshold: int) -> bool:
        def spare() -> Ball:
            passes = noise.tail(threshold - hidden)
            return ball(delta) + (times * (-passes).log1p()).expm1()

        return is_positive(spare)

    return Threshold(noise, least(hides, 1, _FARTHEST, near=max(near, 1)))
