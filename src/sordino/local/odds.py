# SPDX-License-Identifier: Apache-2.0
"""Odds: the fraction that stands for e^epsilon, so that every probability is a fraction."""

from __future__ import annotations

from fractions import Fraction

from sordino.exact.interval import exp_neg
from sordino.exact.rational import positive, written

SMALLEST, LARGEST = Fraction(1, 1 << 20), Fraction(40)
_PLACES = 64  # of odds minus 1: the loss that is given away is below 2**-62 of epsilon


def read_epsilon(value: object) -> Fraction:
    """Read the epsilon of a local protocol.

    Guarantee: none needed; public inputs only.
    """
    epsilon = positive("epsilon", value)
    if not SMALLEST <= epsilon <= LARGEST:
        raise ValueError(
            f"epsilon must lie between 2**-20 and {LARGEST} in the local model, got "
            f"{written(epsilon)}; beyond that answers are all noise, or all but true"
        )
    return epsilon


def odds_of(epsilon: Fraction, *, root: int = 1) -> Fraction:
    """Return a fraction that is at most e^(epsilon / root), and less by next to nothing.

    >>> (
    ...     float(odds_of(Fraction(1))),
    ...     odds_of(Fraction(1)) ** 2 <= odds_of(Fraction(2)) * (1 + 2**-60),
    ... )
    (2.718281828459045, True)

    Guarantee: none needed; public inputs only.
    """
    exponent = epsilon / root
    places = _PLACES + max(0, int(1 / exponent).bit_length())
    precision = places + 4 * int(exponent) + 16
    _, above = exp_neg(exponent, precision)  # e^-x is at most above / 2**precision
    return Fraction((1 << (precision + places)) // above, 1 << places)
