# SPDX-License-Identifier: Apache-2.0
"""Noise as wide as a smooth bound of the data's own sensitivity."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypeVar, cast

import numpy as np

from sordino.mechanisms.mechanism import Mechanism, fill
from sordino.mechanisms.smooth.noise import (
    NO_TEXTBOOK,
    CauchyNoise,
    LaplaceNoise,
    LomaxNoise,
    Noise,
    PowerNoise,
    StudentNoise,
    Textbook,
    half_width,
)
from sordino.numbers.rational import (
    Number,
    confidence_level,
    is_integer,
    positive,
    probability_or_zero,
)
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Approximate, Pure
from sordino.randomness.entropy import system
from sordino.randomness.tables import rounded
from sordino.sensitivity.arguments import read_bounds
from sordino.sensitivity.order_statistics import LEAST_BETA

NoiseName: TypeAlias = Literal["cauchy", "lomax", "power", "student", "laplace"]
Calibration: TypeAlias = Literal["exact", "nissim"]
T = TypeVar("T", Fraction, "Fraction | None")

_LARGEST_EPSILON = 1000
_KINDS: tuple[type[Noise], ...] = (
    CauchyNoise,
    LomaxNoise,
    PowerNoise,
    StudentNoise,
    LaplaceNoise,
)
_NAMES: dict[str, type[Noise]] = {
    "cauchy": CauchyNoise,
    "lomax": LomaxNoise,
    "power": PowerNoise,
    "student": StudentNoise,
    "laplace": LaplaceNoise,
}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Smooth(Mechanism):
    """Noise of the width ``scale_factor`` times a smooth bound of the local sensitivity.

    ``noise`` is "cauchy", "lomax", "power", "student" or "laplace", or one of CauchyNoise,
    LomaxNoise, PowerNoise, StudentNoise and LaplaceNoise; only Laplace noise takes a ``delta``, and
    needs one. Smooth bounds handed to ``release`` must be smooth for the ``beta`` of the mechanism,
    which each noise chooses by a public rule of its own unless it is given. With
    ``calibration="nissim"`` it has the constants of textbooks instead, for comparison; they are
    refused where they are false.

    Results are multiples of ``step``. A bound below ``floor``, by default one step, counts as that.
    With ``bounds``, results outside of them are moved to the nearer end.

    To read: ``noise``, ``epsilon``, ``delta``, ``beta``, ``calibration``, ``step``, ``floor`` and
    ``bounds``, ``scale_factor`` and ``loss``.

    >>> m = Smooth(noise="cauchy", epsilon=1, step=2**-10)
    >>> float(m.beta), float(m.scale_factor), m.loss.epsilon(delta=0)
    (0.7353256640555192, 0.9595173756674719, 1.0)
    >>> m.accuracy(confidence=0.95)
    12.191824223147956

    Guarantee:
        Neighbours: those that the smooth bound is for; replace_one for all of this library's.
        Loss: epsilon, or (epsilon, delta), for each release.
        Numerics: exact. The result is the rounding of one ideal real number to a public grid.
        Proof: docs/proofs/smooth.md.
    """

    noise: Noise
    epsilon: Fraction
    delta: Fraction
    beta: Fraction
    calibration: Calibration
    step: Fraction
    floor: Fraction
    bounds: tuple[float, float] | None
    scale_factor: Fraction = field(compare=False)
    loss: Loss = field(compare=False)

    def __init__(
        self,
        *,
        noise: NoiseName | Noise = "cauchy",
        epsilon: Number,
        delta: Number = 0,
        beta: Number | None = None,
        calibration: Calibration = "exact",
        step: Number,
        floor: Number | None = None,
        bounds: tuple[Number, Number] | None = None,
    ) -> None:
        law, price = _law(noise), positive("epsilon", epsilon)
        slack = probability_or_zero("delta", delta)
        if price > _LARGEST_EPSILON:
            raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON} for smooth sensitivity")
        rate = None if beta is None else positive("beta", beta)
        if calibration == "nissim":
            if not hasattr(law, "textbook"):
                raise ValueError(NO_TEXTBOOK.format(law.name))
            known = cast("Textbook", law)
            rate, factor = known.textbook(epsilon=price, delta=slack, beta=_fast_enough(rate))
            _fast_enough(rate)
        elif calibration == "exact":
            law, rate = law.fitted(epsilon=price, delta=slack, beta=_fast_enough(rate))
            factor = law.factor(epsilon=price, delta=slack, beta=_fast_enough(rate))
        else:
            raise ValueError(f"calibration must be 'exact' or 'nissim', got {calibration!r}")
        grid = positive("step", step)
        leaf = Approximate(epsilon=price, delta=slack) if slack else Pure(epsilon=price)
        fill(
            self,
            noise=law,
            epsilon=price,
            delta=slack,
            beta=rate,
            calibration=calibration,
            step=grid,
            floor=grid if floor is None else positive("floor", floor),
            bounds=None if bounds is None else _ends(bounds),
            scale_factor=factor,
            loss=single(leaf).under("replace_one"),
        )

    def _arguments(self) -> dict[str, Any]:
        given = {
            "noise": self.noise,
            "epsilon": self.epsilon,
            "delta": self.delta or None,
            "beta": self.beta,
            "calibration": None if self.calibration == "exact" else self.calibration,
            "step": self.step,
            "floor": self.floor,
            "bounds": self.bounds,
        }
        return {name: value for name, value in given.items() if value is not None}

    def release(self, value: object, smooth_bound: object) -> float:
        """Return the value with fresh noise, on the grid, as a double.

        Floats mean exactly the binary numbers that they are. A result beyond the largest double
        becomes the largest double.
        """
        exact, bound = _private(value), _private(smooth_bound)
        if bound < 0:
            raise ValueError("a smooth bound is not negative")
        steps = rounded(
            self.noise.cumulative,
            centre=exact / self.step,
            scale=self.scale_factor * max(bound, self.floor) / self.step,
            bits=system(),
        )
        noisy = _double(steps * self.step)
        return noisy if self.bounds is None else min(max(noisy, self.bounds[0]), self.bounds[1])

    def accuracy(self, *, confidence: Number) -> float:
        """Return the half-width that the noise keeps to, in units of the smooth bound.

        The smooth bound is private, so no half-width is public but this multiple of it. Rounding
        adds half a step.
        """
        return half_width(self.noise, self.scale_factor, confidence_level(confidence))


def _law(noise: object) -> Noise:
    if isinstance(noise, str) and noise in _NAMES:
        return _NAMES[noise]()
    if isinstance(noise, _KINDS):
        return noise
    raise ValueError(f"noise must be one of {', '.join(map(repr, _NAMES))}")


def _fast_enough(beta: T) -> T:
    """Return beta, unless it is so small that it only stands for the global sensitivity."""
    if beta is not None and beta < LEAST_BETA:
        raise ValueError("beta must be at least 1e-9; give a larger epsilon or beta")
    return beta


def _ends(bounds: object) -> tuple[float, float]:
    ends = read_bounds(bounds)
    return float(ends.low), float(ends.high)


def _private(value: object) -> Fraction:
    """Read a private number exactly; messages name its type only."""
    if is_integer(value):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, float | np.floating):
        raise TypeError(f"release takes numbers, not a value of type {type(value).__name__}")
    try:
        above, below = value.as_integer_ratio()
    except (ValueError, OverflowError):
        raise ValueError("a value that is NaN or infinite cannot be released") from None
    return Fraction(int(above), int(below))


def _double(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return sys.float_info.max if x > 0 else -sys.float_info.max
