# SPDX-License-Identifier: Apache-2.0
"""The public grid of a mechanism that releases real values.

The step is a power of two, about 2**-40 of the noise. Values are rounded to the nearest multiple of
it, ties to the even one, which can move two neighbours up to one step further apart per coordinate.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction

from sordino.exact.rational import covering

MOST_COORDINATES = 2**16  # of one release of real values
_NOISE_BITS = 40  # the noise is from 2**40 to 2**41 steps wide
_LARGEST_EXPONENT = 960  # so that no multiple of the step that fits 64 bits overflows or underflows


def exponent_for(squared_width: Fraction) -> int:
    """Return the exponent of the step for noise whose squared width is given.

    Guarantee: none needed; public inputs only.
    """
    exponent = _log2(squared_width) // 2 - _NOISE_BITS
    if exponent > _LARGEST_EXPONENT:
        raise ValueError("the noise on real values must be at most 2**1000 wide")
    if exponent < -_LARGEST_EXPONENT:
        raise ValueError("the noise on real values must be at least 2**-920 wide")
    return exponent


def l1_on_grid(sensitivity: Fraction, exponent: int) -> int:
    """Return how many steps a vector can move in the L1 norm once it is rounded.

    Guarantee:
        Neighbours: any change that moves a vector of at most 2**16 reals by at most ``sensitivity``
            in the L1 norm.
        Loss: none by itself; the result bounds the shift of the rounded vector.
        Numerics: exact.
        Proof: docs/proofs/laplace.md, theorem 5.
    """
    return math.floor(sensitivity / Fraction(2) ** exponent) + MOST_COORDINATES


def l2_on_grid(sensitivity: Fraction, exponent: int, coordinates: int) -> int:
    """Return the square of how many steps a vector can move in the L2 norm once it is rounded.

    Guarantee:
        Neighbours: any change that moves a vector of at most ``coordinates`` reals by at most
            ``sensitivity`` in the L2 norm.
        Loss: none by itself; the result bounds the squared shift of the rounded vector.
        Numerics: exact for one coordinate and for square numbers of them, else rounded up.
        Proof: docs/proofs/gaussian.md, theorem 7.
    """
    steps = sensitivity / Fraction(2) ** exponent
    if coordinates == 1:
        return (math.floor(steps) + 1) ** 2
    root = math.isqrt(coordinates - 1) + 1
    return math.floor((steps + root) ** 2)


def to_grid(x: float | Fraction | Decimal, exponent: int) -> int:
    """Return the nearest whole number of steps, the even one at a tie, exactly.

    >>> [to_grid(x, -1) for x in (0.25, 0.75, -0.75, 1e3, Fraction(7, 3))]
    [0, 2, -2, 2000, 5]

    Guarantee: none by itself; the shift of the result is bounded by ``l1_on_grid``, ``l2_on_grid``.
    """
    numerator, denominator = x.as_integer_ratio()
    if exponent >= 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    steps, rest = divmod(numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and steps % 2):
        steps += 1
    return steps


def from_grid(steps: int, exponent: int) -> float:
    """Return the nearest double to a whole number of steps; the largest ones stand for all beyond.

    >>> from_grid(3, -1), from_grid(-(10**400), 0)
    (1.5, -1.7976931348623157e+308)

    Guarantee: post-processing of a noisy value.
    """
    try:
        return float(steps << exponent) if exponent >= 0 else steps / (1 << -exponent)
    except OverflowError:
        return sys.float_info.max if steps > 0 else -sys.float_info.max


def _log2(x: Fraction) -> int:
    """Return the logarithm to base 2, rounded down."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= x else exponent - 1


def written_real(x: Fraction) -> str:
    """Write a real sensitivity the way a user would have typed it, with a decimal point.

    >>> written_real(Fraction(1)), written_real(Fraction(1, 2))
    ('1.0', '0.5')

    Guarantee: none needed; public inputs only.
    """
    printed = float(x)
    return repr(printed) if covering("sensitivity", printed) == x else repr(x)
