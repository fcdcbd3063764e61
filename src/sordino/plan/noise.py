# SPDX-License-Identifier: Apache-2.0
"""Which noise a release gets for its share of the price."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

from sordino.mechanisms import Gaussian, Laplace
from sordino.sensitivity.norms import Sensitivity

_DIGITS = 10**9
_LEAST = 1  # step: what never moves gets noise all the same


@lru_cache(maxsize=1024)
def additive(
    shift: Sensitivity, share: Fraction, *, rho: bool, confidence: Fraction
) -> Laplace | Gaussian:
    """Return the noise for a shift that costs at most a share; of two laws the narrower one.

    Where epsilons are added up it is Laplace noise. Where rho is, it is Gaussian noise, or Laplace
    noise of the same rho if that has the smaller half-width at the confidence.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: at most the share, in the currency of the budget.
        Numerics: as for Laplace and Gaussian.
        Proof: docs/proofs/queries.md, theorem 3.
    """
    moved = shift if shift.l1 else _one_step(shift)
    try:
        if not rho:
            return Laplace(sensitivity=moved, epsilon=share)
        wide, narrow = _gaussian(moved, share), _laplace(moved, share)
    except ValueError:
        raise ValueError(
            "this is too little for so many columns: noise would be too wide to be drawn; "
            "ask with more, or for less at once"
        ) from None
    if narrow is None:
        return wide
    better = narrow.accuracy(confidence=confidence) < wide.accuracy(confidence=confidence)
    return narrow if better else wide


def root_down(x: Fraction) -> Fraction:
    """Return the root of a number to eight digits or more, rounded down.

    >>> root_down(Fraction(4)), float(root_down(Fraction(2)))
    (Fraction(2, 1), 1.414213562)

    Guarantee: none needed; public inputs only.
    """
    scale = _DIGITS
    while x * scale * scale < _DIGITS**2 // 100:
        scale *= 10
    return Fraction(isqrt(int(x * scale * scale)), scale)


def _gaussian(shift: Sensitivity, rho: Fraction) -> Gaussian:
    return Gaussian(sensitivity=shift, rho=rho)


def _laplace(shift: Sensitivity, rho: Fraction) -> Laplace | None:
    made = Laplace(sensitivity=shift, epsilon=root_down(2 * rho))
    return made if Fraction(repr(made.loss.rho)) <= rho else None


def _one_step(shift: Sensitivity) -> Sensitivity:
    return Sensitivity(
        query=shift.query,
        l1=_LEAST,
        l2_squared=_LEAST,
        linf=_LEAST,
        neighbours=shift.neighbours,
        whole=True,
    )
