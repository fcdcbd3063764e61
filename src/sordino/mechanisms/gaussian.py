# SPDX-License-Identifier: Apache-2.0
"""The Gaussian mechanism, with discrete Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

from sordino.mechanisms.additive import (
    MOST_COORDINATES,
    Additive,
    Goal,
    NoiseLaw,
    exponent_for,
    l2_on_grid,
    least_for_width,
    read_goal,
)
from sordino.mechanisms.keys.optimal import GaussianNoise
from sordino.mechanisms.mechanism import fill, read_length
from sordino.numbers.balls import Ball, ball, is_positive
from sordino.numbers.normal import FARTHEST, tail, total
from sordino.numbers.rational import (
    Integer,
    Number,
    brief,
    is_integer,
    positive,
    positive_whole,
    probability,
)
from sordino.privacy.discrete_gaussian import (
    DiscreteGaussian,
    greatest_variance,
    least_variance,
)
from sordino.privacy.gaussian import ContinuousGaussian
from sordino.privacy.lattice import FINE
from sordino.privacy.loss import Loss, single
from sordino.privacy.search import least
from sordino.randomness.samplers import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    Sampler,
    SamplerAt,
    discrete_gaussian,
    no_sampler,
)
from sordino.sensitivity.norms import Sensitivity

_WIDTHS = 1024  # that are kept, by the numbers they follow from
_UNIT = 2**60  # a sensitivity so large that the integers are as good as the real line
_LEAST_EPSILON, _LARGEST_EPSILON = Fraction(1, 2**100), 2.0**400
_ONE_OF = "a Gaussian needs epsilon and delta together, or rho, or sigma"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Gaussian(Additive):
    """Noise with P(x) proportional to exp(-x*x / (2 variance)), and a small delta.

    ``sensitivity`` is how far one unit can move the value; for several values released at once, the
    root of the sum of squares of how far it moves each of them (L2). Say how much noise by epsilon
    and delta, by rho, or by sigma. An integer sensitivity means that integers are released; any
    other number means reals, on a public grid about 2**-40 of the noise wide. Then the sensitivity
    must hold for the numbers handed over. ``coordinates`` promises that no more values than that
    are released at once; for reals it is at most 65,536, which is also assumed if it is not given.

    To read: ``sensitivity``, ``epsilon``, ``delta``, ``rho`` and ``coordinates`` are what was asked
    for, None where it was not; ``loss`` has the rest, such as ``loss.rho``. Always there are
    ``whole`` (whether integers are released), ``grid`` (the step of the grid, 1 for integers) and
    ``variance`` and ``sigma`` (the parameter of the noise and its root, in units of the value; the
    noise varies by no more, and below one step of the grid by less). How large the noise is on
    average tell ``std`` and ``expected_error``, and its law tell ``pmf`` and ``cdf``.

    >>> m = Gaussian(sensitivity=1, epsilon=1, delta=1e-6)
    >>> m, round(m.sigma, 3), m.loss.delta(epsilon=1) <= 1e-6
    (Gaussian(sensitivity=1, epsilon=1, delta=1e-06), 4.231, True)
    >>> m.accuracy(confidence=0.95)
    8
    >>> m = Gaussian(sensitivity=1, sigma=2)
    >>> round(m.pmf(0), 6), round(m.pmf(-2), 6), m.pmf(0.5), round(m.cdf(2), 6)
    (0.199471, 0.120985, 0.0, 0.896754)
    >>> m.variance, m.std, round(m.expected_error, 6)
    (Fraction(4, 1), 2.0, 1.562095)

    Guarantee:
        Neighbours: any change to the data that moves the value by at most ``sensitivity`` in L2.
        Loss: at most delta at epsilon, or exactly rho, or the loss of sigma, for each release;
            ``loss`` has the whole profile.
        Numerics: the noise is exact. The variance for epsilon and delta is the least of 30 bits
            whose certified loss fits.
        Proof: docs/proofs/gaussian.md.
    """

    sensitivity: Fraction
    whole: bool
    _square: int | None
    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    coordinates: int | None
    _asked_sigma: Fraction | None
    grid: Fraction = field(compare=False)
    variance: Fraction = field(compare=False)
    loss: Loss = field(compare=False)
    _given: int | Fraction | Sensitivity = field(compare=False)
    noise: DiscreteGaussian = field(compare=False)
    _exponent: int = field(compare=False)
    _sampler: SamplerAt = field(compare=False)

    def __init__(
        self,
        *,
        sensitivity: Number | Sensitivity,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        sigma: Number | None = None,
        coordinates: Integer | None = None,
    ) -> None:
        given, square = sensitivity, None  # square: of the L2 norm of integers, such as 2
        if isinstance(sensitivity, Sensitivity):
            square = sensitivity.l2_squared.numerator if sensitivity.whole else None
            sensitivity = sensitivity.l2_number
        whole = is_integer(sensitivity) or square is not None
        length, _ = read_length("sensitivity", sensitivity)
        square = length.numerator**2 if is_integer(sensitivity) else square
        asked = _asked(epsilon, delta, rho, sigma)
        most = None if coordinates is None else positive_whole("coordinates", coordinates)
        if square is None:
            exponent, loss = _on_grid(asked, length, most)
        else:
            exponent, loss = _on_integers(asked, square, most)
        if not SMALLEST_SCALE**2 <= loss.variance <= LARGEST_SCALE**2:
            raise _out_of_range(asked, wide=loss.variance > 1)
        typed = length.numerator if whole else length
        fill(
            self,
            sensitivity=length,
            whole=whole,
            _square=square,
            _given=given if isinstance(given, Sensitivity) else typed,
            epsilon=asked.epsilon,
            delta=asked.delta,
            rho=asked.rho,
            coordinates=most,
            _asked_sigma=asked.sigma,
            grid=Fraction(2) ** exponent,
            variance=loss.variance * Fraction(4) ** exponent,
            loss=single(loss),
            noise=loss,
            _exponent=exponent,
            _sampler=no_sampler,
        )

    @property
    def sigma(self) -> float:
        """The square root of the variance, to show; the noise is made from the variance itself."""
        return math.sqrt(self.variance) if self._asked_sigma is None else float(self._asked_sigma)

    def _typed(self, name: str) -> Any:
        own = {"sensitivity": self._given, "sigma": self._asked_sigma}
        return own[name] if name in own else Additive._typed(self, name)

    def _make_sampler(self) -> Sampler:
        return discrete_gaussian(self.noise.variance)

    def _half_width(self, level: Fraction, coordinates: int) -> int:
        return _half_width(self.noise.variance, level, coordinates)

    @property
    def _most(self) -> int | None:
        return self.coordinates

    @property
    def _law(self) -> NoiseLaw:
        return NoiseLaw(GaussianNoise(self.noise.variance), self.grid)

    @classmethod
    def within(
        cls,
        half_width: Number,
        *,
        confidence: Number,
        sensitivity: Number,
        delta: Number,
        coordinates: Integer = 1,
    ) -> float:
        """Return the least epsilon whose noise keeps to a half-width with this confidence.

        It is the least one for which ``Gaussian(sensitivity=..., epsilon=..., delta=...)``, whose
        variance has 30 bits, is accurate enough.
        """
        length, slack = positive("sensitivity", sensitivity), probability("delta", delta)
        goal = read_goal(half_width, confidence, coordinates)
        fits = goal.met_by(lambda e: cls(sensitivity=sensitivity, epsilon=e, delta=slack))
        if fits(_LEAST_EPSILON):
            raise ValueError("this delta alone allows such noise; ask for a smaller delta")
        near = _near_epsilon(goal, length, slack, whole=is_integer(sensitivity))
        return least_for_width(fits, near=near, high=_LARGEST_EPSILON)


class _Asked(NamedTuple):
    """How much noise was asked for: by epsilon and delta, by rho, or by sigma."""

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    sigma: Fraction | None


def _asked(
    epsilon: Number | None, delta: Number | None, rho: Number | None, sigma: Number | None
) -> _Asked:
    named = {"epsilon": epsilon, "delta": delta, "rho": rho, "sigma": sigma}
    given = [name for name, value in named.items() if value is not None]
    if given not in (["epsilon", "delta"], ["rho"], ["sigma"]):
        raise TypeError(f"{_ONE_OF}; got {_listed(given)}")
    return _Asked(
        epsilon=None if epsilon is None else positive("epsilon", epsilon),
        delta=None if delta is None else probability("delta", delta),
        rho=None if rho is None else positive("rho", rho),
        sigma=None if sigma is None else positive("sigma", sigma),
    )


def _listed(given: list[str]) -> str:
    """Say in words which parameters were given."""
    match given:
        case []:
            return "none of them"
        case ["epsilon"]:
            return "epsilon without delta"
        case ["delta"]:
            return "delta without epsilon"
    return f"{', '.join(given[:-1])} and {given[-1]}"


def _out_of_range(asked: _Asked, *, wide: bool) -> ValueError:
    """Say which parameter asks for noise that is not drawn, and on which side."""
    drawn = "noise is drawn at sigmas from 2**-20 to 2**50 steps of the grid"
    if asked.sigma is not None:
        side = "large" if wide else "small"
        return ValueError(f"sigma is too {side}, got {brief(asked.sigma)}; {drawn}")
    given = {name: brief(x) for name, x in asked._asdict().items() if x is not None}
    what, side = " and ".join(given), "small" if wide else "large"
    verb, got = "is" if len(given) == 1 else "are", " and ".join(given.values())
    return ValueError(f"{what} {verb} too {side} for this sensitivity, got {got}; {drawn}")


def _on_integers(asked: _Asked, norm: int, most: int | None) -> tuple[int, DiscreteGaussian]:
    """Return the exponent of the grid, 0, and the loss for a squared sensitivity."""
    variance = _variance(asked, norm, most, SMALLEST_SCALE**2, LARGEST_SCALE**2)
    return 0, DiscreteGaussian(variance=variance, squared_sensitivity=norm, coordinates=most)


def _on_grid(asked: _Asked, length: Fraction, most: int | None) -> tuple[int, DiscreteGaussian]:
    """Return the exponent of the grid and the loss on it, with the rounding to it included."""
    most = MOST_COORDINATES if most is None else most
    if most > MOST_COORDINATES:
        limit = f"at most {MOST_COORDINATES} for real values"
        raise ValueError(f"coordinates must be {limit}, got {most}")
    unit = 1 if asked.sigma else length / _UNIT
    about = _variance(asked, _UNIT**2, MOST_COORDINATES, FINE, LARGEST_SCALE**4) * unit**2
    exponent = exponent_for(about)
    norm = l2_on_grid(length, exponent, most)
    variance = _variance(asked, norm, most, FINE, LARGEST_SCALE**2)
    if asked.sigma:
        variance /= Fraction(4) ** exponent
    return exponent, DiscreteGaussian(variance=variance, squared_sensitivity=norm, coordinates=most)


def _variance(
    asked: _Asked, norm: int, most: int | None, low: Fraction, high: Fraction
) -> Fraction:
    """Return the variance for a squared sensitivity; a sigma that was asked for stays as it is."""
    if asked.sigma is not None:
        return asked.sigma**2
    if asked.rho is not None:
        return norm / (2 * asked.rho)
    if asked.epsilon is None or asked.delta is None:
        raise TypeError(_ONE_OF)
    try:
        return least_variance(
            squared_sensitivity=norm,
            coordinates=most,
            epsilon=asked.epsilon,
            delta=asked.delta,
            low=low,
            high=high,
        )
    except ValueError:
        raise _out_of_range(asked, wide=True) from None


@lru_cache(maxsize=_WIDTHS)
def _half_width(variance: Fraction, level: Fraction, coordinates: int) -> int:
    """Return the least k that the noise of all coordinates keeps to with this confidence."""

    def fits(k: int) -> bool:
        def spare() -> Ball:
            outside = -(ball(level).log() / coordinates).expm1()
            return outside - 2 * tail(variance, k + 1) / total(variance)

        return is_positive(spare)

    near = int(_quantile(level, coordinates) * math.sqrt(variance))
    return least(fits, 0, math.isqrt(math.ceil(FARTHEST**2 * variance)) + 1, near=near)


def _quantile(level: Fraction, coordinates: int) -> float:
    """Return about how many standard deviations the noise keeps to."""
    outside = -math.expm1(math.log1p(-float(1 - level)) / coordinates)
    return max(-NormalDist().inv_cdf(max(outside / 2, 1e-300)), 1e-9)


def _near_epsilon(goal: Goal, length: Fraction, delta: Fraction, *, whole: bool) -> float:
    """Return about the least epsilon whose noise keeps to a half-width."""
    width, level, coordinates = goal
    if whole:
        steps, norm = math.floor(width), length.numerator**2
        widest = greatest_variance(
            lambda variance: _half_width(variance, level, coordinates) <= steps,
            low=SMALLEST_SCALE**2,
            high=LARGEST_SCALE**2,
            near=(steps + Fraction(1, 2)) ** 2 / Fraction(_quantile(level, coordinates)) ** 2,
        )
        return DiscreteGaussian(variance=widest, squared_sensitivity=norm).epsilon(delta=delta)
    sigma = width / Fraction(_quantile(level, coordinates))
    rough = ContinuousGaussian(variance=sigma**2, squared_sensitivity=length**2)
    return rough.epsilon(delta=delta)
