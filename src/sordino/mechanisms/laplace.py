# SPDX-License-Identifier: Apache-2.0
"""The Laplace mechanism, with discrete Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from sordino.mechanisms.additive import (
    Additive,
    NoiseLaw,
    l1_on_grid,
    least_for_width,
    priced_exponent,
    read_goal,
)
from sordino.mechanisms.keys.optimal import LaplaceNoise
from sordino.mechanisms.mechanism import check_scales, fill, read_length
from sordino.numbers.balls import Ball, ball, ceiling
from sordino.numbers.rational import (
    Integer,
    Number,
    brief,
    down,
    is_integer,
    positive,
)
from sordino.privacy.laplace import DiscreteLaplace
from sordino.privacy.loss import Loss, single
from sordino.randomness.samplers import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    Sampler,
    SamplerAt,
    discrete_laplace,
    no_sampler,
)
from sordino.sensitivity.norms import Sensitivity

_WIDTHS = 1024  # that are kept, by the numbers they follow from


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Laplace(Additive):
    """Noise with P(x) proportional to exp(-abs(x) / scale), and no delta.

    ``sensitivity`` is how far one unit can move the value; for several values released at once, the
    sum of how far it moves each of them (L1). An integer sensitivity means that integers are
    released; any other number means reals, on a public grid about 2**-40 of the noise wide. Then
    the sensitivity must hold for the numbers handed over, at most 65,536 at a time.

    To read: ``sensitivity`` and ``epsilon`` as they were typed, ``whole`` (whether integers are
    released), ``grid`` (the step of the grid, 1 for integers), ``scale`` (of the noise, in units of
    the value), ``noise`` (the record of the noise on the grid) and ``loss`` (what a release costs,
    in every currency). How large the noise is on average tell ``variance``, ``std`` and
    ``expected_error``, and its law tell ``pmf`` and ``cdf``.

    >>> m = Laplace(sensitivity=1, epsilon=0.1)
    >>> m, m.scale, m.loss.epsilon(delta=0)
    (Laplace(sensitivity=1, epsilon=0.1), Fraction(10, 1), 0.1)
    >>> m.accuracy(confidence=0.95), m.accuracy(confidence=0.95, coordinates=10_000)
    (30, 122)
    >>> m = Laplace(sensitivity=1, epsilon=1)
    >>> round(m.pmf(0), 6), round(m.pmf(-2), 6), m.pmf(0.5), round(m.cdf(2), 6)
    (0.462117, 0.062541, 0.0, 0.963603)
    >>> round(m.variance, 6), round(m.std, 6), round(m.expected_error, 6)
    (1.841347, 1.356962, 0.850918)

    Guarantee:
        Neighbours: any change to the data that moves the value by at most ``sensitivity`` in L1.
        Loss: exactly epsilon, pure, for each release; ``loss`` has the whole profile.
        Numerics: exact; on reals the noise is wider than sensitivity / epsilon, by the rounding to
            the grid, a relative 2**-24 / epsilon at most.
        Proof: docs/proofs/laplace.md.
    """

    sensitivity: Fraction
    epsilon: Fraction
    whole: bool
    grid: Fraction = field(compare=False)
    scale: Fraction = field(compare=False)
    loss: Loss = field(compare=False)
    noise: DiscreteLaplace = field(compare=False)
    _exponent: int = field(compare=False)
    _sampler: SamplerAt = field(compare=False)

    def __init__(self, *, sensitivity: Number | Sensitivity, epsilon: Number) -> None:
        if isinstance(sensitivity, Sensitivity):
            sensitivity = sensitivity.l1_number
        price = positive("epsilon", epsilon)
        length, whole = read_length("sensitivity", sensitivity)
        exponent, shift = moved("sensitivity", length, price, whole=whole)
        scale = shift / price
        noise = DiscreteLaplace(eta=1 / scale, shift=shift)
        fill(
            self,
            sensitivity=length,
            epsilon=price,
            whole=whole,
            grid=Fraction(2) ** exponent,
            scale=scale * Fraction(2) ** exponent,
            loss=single(noise),
            noise=noise,
            _exponent=exponent,
            _sampler=no_sampler,
        )

    def _make_sampler(self) -> Sampler:
        return discrete_laplace(1 / self.noise.eta)

    def _half_width(self, level: Fraction, coordinates: int) -> int:
        return _half_width(self.noise.eta, level, coordinates)

    @property
    def variance(self) -> float:
        """The variance of the noise, rounded up: 1 / (2 sinh(1 / (2 scale))**2) on integers.

        It is a little less than that of Laplace noise on the real line, 2 scale**2.
        """
        return self._law.variance

    @property
    def _law(self) -> NoiseLaw:
        return NoiseLaw(LaplaceNoise(self.noise.eta), self.grid)

    @classmethod
    def within(
        cls,
        half_width: Number,
        *,
        confidence: Number,
        sensitivity: Number,
        coordinates: Integer = 1,
    ) -> float:
        """Return the least epsilon whose noise keeps to a half-width with this confidence.

        >>> Laplace.within(25, confidence=0.95, sensitivity=1)
        0.1174121592377025
        """
        length = positive("sensitivity", sensitivity)
        goal = read_goal(half_width, confidence, coordinates)
        keeps = goal.met_by(lambda epsilon: cls(sensitivity=sensitivity, epsilon=epsilon))
        return least_for_width(
            lambda epsilon: length < LARGEST_SCALE * epsilon and keeps(epsilon),
            near=float(length / goal.width),
            high=down(length / SMALLEST_SCALE) if is_integer(sensitivity) else 2.0**500,
        )


def moved(name: str, length: Fraction, price: Fraction, *, whole: bool) -> tuple[int, int]:
    """Return the exponent of the grid and how many steps of it a value moves by a length.

    Noise that would be too narrow or too wide to be drawn is refused, with the name of the length.
    """
    exponent = 0 if whole else priced_exponent(length / price, price, name, length)
    shift = length.numerator if whole else l1_on_grid(length, exponent)
    values = f"a {name} of {brief(length)}" if whole else "real values"
    check_scales(shift / price, price=brief(price), moved=values)
    return exponent, shift


@lru_cache(maxsize=_WIDTHS)
def _half_width(eta: Fraction, level: Fraction, coordinates: int) -> int:
    """Return the least k that the noise of all coordinates keeps to with this confidence."""

    def formula() -> Ball:
        outside = -(ball(level).log() / coordinates).expm1()
        return (2 / (outside * (1 + (-ball(eta)).exp()))).log() / ball(eta)

    return max(ceiling(formula) - 1, 0)
