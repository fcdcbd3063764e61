# SPDX-License-Identifier: Apache-2.0
"""What every noise for smooth sensitivity can do, and arithmetic that they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

from sordino.mechanisms.mechanism import Mechanism, fill
from sordino.numbers.balls import Ball, ball, is_positive, pi, round_up
from sordino.numbers.rational import Integer, Number, brief, positive, positive_whole, up_as_printed
from sordino.privacy.search import least_double

_LARGEST_QUANTILE = 2.0**1000
NO_DELTA = "{0} noise needs no delta; leave delta at 0, or use noise='laplace'"
NO_TEXTBOOK = "there are no textbook constants for {0} noise; use calibration='exact'"


class Target(NamedTuple):
    """The loss that a noise is made for."""

    epsilon: Fraction
    delta: Fraction


class Noise(Mechanism):
    """A symmetric law on the real line that hides a value moved by S and a scale moved by e**beta.

    What is released is value + factor * S * Z with Z from this law. ``name`` is the word that
    stands for the noise, and sentences call it by its ``title``.
    """

    __slots__ = ()

    name: ClassVar[str]
    title: ClassVar[str]
    _textbook_beta: ClassVar[str | None] = None  # the largest one, where there are textbooks

    def fitted(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None) -> Fitted:
        """Choose beta, and whatever else is left open, by public rules."""
        self._check_delta(delta)
        return self, self._usual_beta(Target(epsilon, delta)) if beta is None else beta

    def factor(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
        """Return the least scale factor for this loss, rounded up."""
        self._check_delta(delta)
        return max(map(upwards, self._needs(Target(epsilon, delta), beta)))

    def textbook(
        self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None
    ) -> tuple[Fraction, Fraction]:
        """Return beta, the largest if none is given, and the scale factor of the textbooks."""
        if self._textbook_beta is None:
            raise ValueError(NO_TEXTBOOK.format(self.name))
        self._check_delta(delta)
        most, factor = self._textbook(Target(epsilon, delta))
        if beta is None:
            beta = most
        if beta > most:
            rule = f"{self.title} noise need beta <= {self._textbook_beta}"
            raise ValueError(f"the textbook constants for {rule}")
        return beta, factor

    def cumulative(self, z: Ball) -> Ball:
        """Return the probability of a number below z."""
        raise NotImplementedError

    def _check_delta(self, delta: Fraction) -> None:
        if delta:
            raise ValueError(NO_DELTA.format(self.title[0].upper() + self.title[1:]))

    def _usual_beta(self, target: Target) -> Fraction:
        raise NotImplementedError

    def _needs(self, target: Target, beta: Fraction) -> tuple[Formula, ...]:
        """Return numbers that the factor must reach, or refuse a beta that is too large."""
        raise NotImplementedError

    def _textbook(self, target: Target) -> tuple[Fraction, Fraction]:
        """Return the largest beta for which textbooks have constants, and their factor."""
        raise NotImplementedError


Fitted = tuple[Noise, Fraction]
Formula = Callable[[], Ball]


def upwards(formula: Callable[[], Ball]) -> Fraction:
    """Return a short decimal that is at least the value of a formula."""
    found = round_up(formula)
    if math.isinf(found):
        raise ValueError("epsilon is too small for this noise")
    return Fraction(repr(found))


def downwards(formula: Callable[[], Ball]) -> Fraction:
    """Return a short decimal that is at most the value of a formula."""
    return -upwards(lambda: -formula())


def two_sided(z: Ball, tail: Ball) -> Ball:
    """Return the probability of a number below z, from that of one below -abs(z)."""
    if z > 0:
        return 1 - tail
    return tail if z <= 0 else tail.union(1 - tail)


def half_width(noise: Noise, factor: Fraction, confidence: Fraction) -> float:
    """Return a half-width that factor * Z keeps to with this confidence, rounded up."""
    tail = (1 + confidence) / 2

    def covers(width: Fraction) -> bool:
        return is_positive(lambda: noise.cumulative(ball(width)) - ball(tail))

    try:
        found = least_double(covers, near=1.0, high=_LARGEST_QUANTILE)
    except ValueError:
        raise ValueError("no double is a half-width for a confidence so close to 1") from None
    return up_as_printed(factor * Fraction(repr(found)))


@dataclass(frozen=True, slots=True, repr=False)
class CauchyNoise(Noise):
    """The law with density 1 / (pi (1 + z**2)).

    Any beta below epsilon will do. By default it is epsilon / 2 or, if that is larger, the largest
    beta that costs nothing, ln(2 cosh(epsilon) - 1).

    >>> float(CauchyNoise().factor(epsilon=Fraction(1), delta=Fraction(0), beta=Fraction(7, 10)))
    0.9595173756674719

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: exactly epsilon at the factor before rounding.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 5.
    """

    name = "cauchy"
    title = "Cauchy"
    _textbook_beta = "epsilon / 6"

    def _usual_beta(self, target: Target) -> Fraction:
        return max(target.epsilon / 2, downwards(lambda: _free(target.epsilon)))

    def _needs(self, target: Target, beta: Fraction) -> tuple[Formula, ...]:
        epsilon = target.epsilon
        if beta >= epsilon:
            raise ValueError("beta must be below epsilon for Cauchy noise")

        def at_rest() -> Ball:
            return 1 / (2 * (ball(epsilon) / 2).sinh())

        def at_beta() -> Ball:
            rest = 2 * (ball(epsilon).cosh() - ball(beta).cosh())
            return ((-ball(beta)).exp() / rest).sqrt()

        return at_rest, at_beta

    def _textbook(self, target: Target) -> tuple[Fraction, Fraction]:
        """Return the constants of Nissim, Raskhodnikova and Smith."""
        return target.epsilon / 6, 6 / target.epsilon

    def cumulative(self, z: Ball) -> Ball:
        return z.atan() / pi() + ball(Fraction(1, 2))


def _free(epsilon: Fraction) -> Ball:
    """Return the largest beta that costs nothing."""
    return (2 * ball(epsilon).cosh() - 1).log()


_TEXTBOOK_HOLDS = 7  # up to this epsilon for every delta


@dataclass(frozen=True, slots=True, repr=False)
class LaplaceNoise(Noise):
    """The law with density exp(-abs(z)) / 2.

    It needs a delta, and a small beta: by default ln(1 + epsilon / (2 ln(2 / delta))), with which
    the factor is below 2 / epsilon for every epsilon and every delta up to 0.7.

    >>> noise, target = LaplaceNoise(), {"epsilon": Fraction(1), "delta": Fraction(1, 10**6)}
    >>> float(noise.factor(**target, beta=Fraction("0.034462182")))
    1.4429082692120392

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: (epsilon, delta), exactly where the factor comes from the widest noise, which is
            whenever delta is small against beta.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 8.
    """

    name = "laplace"
    title = "Laplace"
    _textbook_beta = "epsilon / (2 ln(2 / delta))"

    def _check_delta(self, delta: Fraction) -> None:
        if not 0 < delta < 1:
            raise ValueError("Laplace noise needs a delta, between 0 and 1, such as delta=1e-6")

    def _usual_beta(self, target: Target) -> Fraction:
        return downwards(lambda: _in_textbooks(target).log1p())

    def _needs(self, target: Target, beta: Fraction) -> tuple[Formula, ...]:
        epsilon, delta = target

        def ratio() -> Ball:
            shrunk = ball(delta) / -(-ball(beta)).expm1()
            return shrunk * (ball(epsilon + beta) / ball(beta).expm1()).exp()

        if beta >= epsilon or not is_positive(lambda: ratio() - 1):
            raise ValueError("beta is too large for Laplace noise with this epsilon and delta")

        def at_rest() -> Ball:
            return ball(1 / epsilon)

        def inwards() -> Ball:
            return (-ball(beta)).exp() / ball(epsilon - beta)

        def outwards() -> Ball:
            return 1 / (ball(beta).expm1() * ratio().acosh())

        return at_rest, inwards, outwards

    def textbook(
        self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None
    ) -> tuple[Fraction, Fraction]:
        """Return beta and the factor 2 / epsilon of the textbooks, where they are true.

        Guarantee: (epsilon, delta) as for the class; what is not proved is refused.
        """
        beta, factor = Noise.textbook(self, epsilon=epsilon, delta=delta, beta=beta)
        if epsilon > _TEXTBOOK_HOLDS:
            raise ValueError(
                "the textbook constants for Laplace noise are false for some delta when epsilon is "
                "above 7; use calibration='exact'"
            )
        try:
            holds = self.factor(epsilon=epsilon, delta=delta, beta=beta) <= factor
        except ValueError:
            holds = False
        if not holds:
            raise ValueError(
                "the textbook constants for Laplace noise are not proved for a delta this large; "
                "use calibration='exact'"
            )
        return beta, factor

    def _textbook(self, target: Target) -> tuple[Fraction, Fraction]:
        return downwards(lambda: _in_textbooks(target)), 2 / target.epsilon

    def cumulative(self, z: Ball) -> Ball:
        tail = (-abs(z)).exp() / 2
        return two_sided(z, tail)


def _in_textbooks(target: Target) -> Ball:
    """Return the largest beta of the textbooks."""
    return ball(target.epsilon) / (2 * ball(2 / target.delta).log())


_DEFAULT_SHAPE = 4


@dataclass(frozen=True, slots=True, init=False, repr=False)
class LomaxNoise(Noise):
    """The law with density (a / 2) (1 + abs(z))**-(a + 1), where a is the ``shape``.

    It has a variance for a shape above 2, and comes close to Laplace noise for a large one. The
    shape is at most epsilon / beta, and that by default; beta is epsilon over the shape by default,
    or epsilon / 4 if neither is given.

    >>> LomaxNoise(shape=3)
    LomaxNoise(shape=3)

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: exactly epsilon at the factor before rounding.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 6.
    """

    name = "lomax"
    title = "Lomax"

    shape: Fraction | None

    def __init__(self, *, shape: Number | None = None) -> None:
        read = None if shape is None else positive("shape", shape)
        fill(self, shape=read)

    def fitted(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None) -> Fitted:
        """Choose beta and the shape."""
        self._check_delta(delta)
        if beta is None:
            shape = self.shape or Fraction(_DEFAULT_SHAPE)
            # A shape below 1 must leave beta below epsilon.
            beta = epsilon / shape if shape > 1 else epsilon / 2
        return (self if self.shape is not None else LomaxNoise(shape=epsilon / beta)), beta

    def _needs(self, target: Target, beta: Fraction) -> tuple[Formula, ...]:
        epsilon = target.epsilon
        shape = self._shape()
        if beta >= epsilon or shape * beta > epsilon:
            raise ValueError(
                "beta must be below epsilon, and at most epsilon / shape, for Lomax noise"
            )

        def at_rest() -> Ball:
            return 1 / (ball(epsilon / (shape + 1))).expm1()

        def at_beta() -> Ball:
            return (-ball(beta)).exp() / ball((epsilon - beta) / (shape + 1)).expm1()

        return at_rest, at_beta

    def cumulative(self, z: Ball) -> Ball:
        tail = (-ball(self._shape()) * abs(z).log1p()).exp() / 2
        return two_sided(z, tail)

    def _shape(self) -> Fraction:
        if self.shape is None:
            raise ValueError("the shape of this noise is open; give one, or use it in Smooth")
        return self.shape


_LEAST, _LARGEST = Fraction(101, 100), Fraction(1000)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PowerNoise(Noise):
    """The law with density proportional to 1 / (1 + abs(z)**gamma).

    A gamma of 2 is Cauchy noise. The mean of abs(z) is finite for a gamma above 2, the variance for
    a gamma above 3, such as 4, the default. Any beta below epsilon and epsilon / (gamma - 1) will
    do, and half of that is the default. A gamma from 1.01 to 1000 is drawn: closer to 1, half of
    all draws would be beyond 2**100 times the scale.

    >>> noise, target = PowerNoise(gamma=2), {"epsilon": Fraction(1), "delta": Fraction(0)}
    >>> float(noise.factor(**target, beta=Fraction(7, 10)))
    0.9595173756674719
    >>> noise.textbook(**target, beta=None)
    (Fraction(1, 6), Fraction(6, 1))

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: exactly epsilon at the factor before rounding.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 10.
    """

    name = "power"
    title = "power"
    _textbook_beta = "epsilon / (2 (gamma + 1))"

    gamma: Fraction

    def __init__(self, *, gamma: Number = 4) -> None:
        read = positive("gamma", gamma)
        if not _LEAST <= read <= _LARGEST:
            rule = "gamma must be from 1.01 to 1000; from 1 down the density has no sum"
            raise ValueError(f"{rule}, got {brief(read)}")
        fill(self, gamma=read)

    @property
    def _stretch(self) -> Fraction:
        """What a change of the scale by e^t costs, over t: at the middle 1, far out gamma - 1."""
        return max(Fraction(1), self.gamma - 1)

    def _usual_beta(self, target: Target) -> Fraction:
        return target.epsilon / (2 * self._stretch)

    def _needs(self, target: Target, beta: Fraction) -> tuple[Formula, ...]:
        epsilon = target.epsilon
        if self._stretch * beta >= epsilon:
            raise ValueError("beta must be below epsilon and epsilon / (gamma - 1) for power noise")
        turn = epsilon / (self.gamma - 1)

        def at_rest() -> Ball:
            return 1 / self._shift(epsilon, turn)

        def narrower() -> Ball:
            return (-ball(beta)).exp() / self._shift(epsilon - beta, turn + beta)

        def wider() -> Ball:
            return 1 / self._shift(epsilon + beta, turn - beta)

        return at_rest, narrower, wider

    def _shift(self, middle: Fraction, far: Fraction) -> Ball:
        """Return (e^middle - 1)^(1/gamma) (1 - e^-far)^(1 - 1/gamma)."""
        part = ball(1 / self.gamma)
        return (part * ball(middle).expm1().log()).exp() * (
            (1 - part) * (-(-ball(far)).expm1()).log()
        ).exp()

    def _textbook(self, target: Target) -> tuple[Fraction, Fraction]:
        """Return 2 (gamma + 1) / epsilon, as for Cauchy noise 6 / epsilon, and its inverse."""
        factor = 2 * (self.gamma + 1) / target.epsilon
        return 1 / factor, factor

    def cumulative(self, z: Ball) -> Ball:
        # The tail beyond abs(z) is an incomplete beta function at 1 / (1 + abs(z)**gamma).
        if z == 0:
            return ball(Fraction(1, 2))
        power, part = (ball(self.gamma) * abs(z).log()).exp(), ball(1 / self.gamma)
        if power > 1:
            tail = (1 / (1 + power)).beta_lower(1 - part, part, regularized=True)
        else:
            tail = 1 - (power / (1 + power)).beta_lower(part, 1 - part, regularized=True)
        return two_sided(z, tail / 2)


_MOST_DEGREES = 1000


@dataclass(frozen=True, slots=True, init=False, repr=False)
class StudentNoise(Noise):
    """Student's t with d degrees of freedom: density of the form (1 + z**2 / d)**-((d + 1) / 2).

    It has a variance for d of at least 3, the default; with 1 it is Cauchy noise. Any beta below
    epsilon / d will do, and half of that is the default.

    >>> StudentNoise().factor(epsilon=Fraction(1), delta=Fraction(0), beta=Fraction(1, 6)) < 3
    True

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: exactly epsilon at the factor before rounding.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 7.
    """

    name = "student"
    title = "Student's t"

    degrees: int

    def __init__(self, *, degrees: Integer = 3) -> None:
        read = positive_whole("degrees", degrees)
        if read > _MOST_DEGREES:
            raise ValueError(f"degrees must be at most {_MOST_DEGREES}")
        fill(self, degrees=read)

    def _usual_beta(self, target: Target) -> Fraction:
        return target.epsilon / (2 * self.degrees)

    def _needs(self, target: Target, beta: Fraction) -> tuple[Formula, ...]:
        epsilon = target.epsilon
        d = self.degrees
        if beta * d >= epsilon:
            raise ValueError("beta must be below epsilon / degrees for Student's t noise")
        rest = (2 * epsilon - (d - 1) * beta) / (d + 1)

        def at_rest() -> Ball:
            return 1 / (2 * ball(d).sqrt() * ball(epsilon / (d + 1)).sinh())

        def at_beta() -> Ball:
            room = ball(rest).cosh() - ball(beta).cosh()
            return ((-ball(beta)).exp() / (2 * d * room)).sqrt()

        return at_rest, at_beta

    def cumulative(self, z: Ball) -> Ball:
        # With the angle t of the tangent z / sqrt(d) it is a finite sum of powers of cos(t)**2.
        d = self.degrees
        square = d / (d + z * z)
        sine = z * (1 / (d + z * z)).sqrt()
        odd = d % 2
        terms, term = ball(0), ball(1)
        for k in range(1, d // 2 + 1):
            terms += term
            term *= square * ball(Fraction(2 * k - 1 + odd, 2 * k + odd))
        if odd:
            angle = (z / ball(d).sqrt()).atan()
            inside = (angle + sine * square.sqrt() * terms) * 2 / pi()
        else:
            inside = sine * terms
        return (1 + inside) / 2
