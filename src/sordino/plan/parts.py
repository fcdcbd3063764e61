# SPDX-License-Identifier: Apache-2.0
"""What a part of a price buys in the currency of a budget: how large a loss, and how much noise."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from sordino.mechanisms.gaussian import Gaussian
from sordino.privacy.budget import Counted
from sordino.privacy.currency import PURE, ZCDP, Currency
from sordino.privacy.normal_pairs import largest_pure, squared_mu
from sordino.sensitivity.norms import Sensitivity

if TYPE_CHECKING:
    from sordino.privacy.loss import Loss

_DIGITS = 10**9
_TRIES = 8
_WIDER = Fraction(1, 10**7)  # by which the noise grows when its mu was still too large


def counted_by(currency: Currency) -> Counted:
    """Return what a currency counts, or refuse one in which no question has a price."""
    if currency == PURE:
        return "epsilon"
    if currency == ZCDP:
        return "rho"
    if currency.order is None:
        return "gdp"
    raise ValueError("questions are paid for in epsilon, rho or gdp, not in one Rényi order")


def root_down(x: Fraction) -> Fraction:
    """Return the root of a number to eight digits or more, rounded down.

    >>> root_down(Fraction(4)), float(root_down(Fraction(2)))
    (Fraction(2, 1), 1.414213562)
    """
    scale = _DIGITS
    while x * scale * scale < _DIGITS**2 // 100:
        scale *= 10
    return Fraction(isqrt(int(x * scale * scale)), scale)


def pure_within(share: Fraction, counted: Counted) -> Fraction:
    """Return the epsilon of a pure loss that costs at most a share; nearly the largest one.

    >>> [float(pure_within(Fraction(1, 50), counted)) for counted in ("epsilon", "rho", "gdp")]
    [0.02, 0.2, 0.1128636096]

    Guarantee:
        Neighbours: those of the loss.
        Loss: any pure loss of this epsilon has at most the share, in what is counted.
        Numerics: roots are rounded down, and a mu is certified by balls.
        Proof: docs/proofs/budgets.md, theorems 1 and 9.
    """
    if counted == "epsilon":
        return share
    return root_down(2 * share) if counted == "rho" else largest_pure(share)


def drawn_within(share: Fraction, counted: Counted) -> Fraction:
    """Return the epsilon of an exponential mechanism that costs at most a share.

    >>> [float(drawn_within(Fraction(1, 50), counted)) for counted in ("epsilon", "rho", "gdp")]
    [0.02, 0.4, 0.2257272192]

    Guarantee:
        Neighbours: those between which all losses of the mechanism lie in an interval this long.
        Loss: at most the share, in what is counted.
        Numerics: as for ``pure_within``.
        Proof: docs/proofs/budgets.md, theorem 11, and docs/proofs/queries.md, theorem 3.
    """
    if counted == "epsilon":
        return share
    return root_down(8 * share) if counted == "rho" else 2 * largest_pure(share)


def gaussian_within(shift: Sensitivity, share: Fraction, counted: Counted) -> Gaussian | None:
    """Return nearly the narrowest Gaussian noise for a shift that costs at most a share.

    None if the share is so large that no mu is known for so little noise on integers.

    Guarantee:
        Neighbours: those of the shift.
        Loss: at most the share, in what is counted, but for what the price itself says may fail.
        Numerics: the price of the noise is computed, and compared with the share.
        Proof: docs/proofs/budgets.md, theorems 8 and 10.
    """
    if counted == "rho":
        return Gaussian(sensitivity=shift, rho=share)
    least = shift.l2_squared / share  # the variance, if the noise were continuous
    variance = least + Fraction(1, 12)
    for attempt in range(_TRIES):
        made = Gaussian(sensitivity=shift, sigma=_root_up(variance))
        price = squared_mu(made.loss)
        if price is None:
            return None
        if price[0] <= share:
            return made
        # The price falls about as the inverse of the variance.
        variance *= price[0] / share * (1 + _WIDER * 4**attempt)
    return None


def price_of(loss: Loss, counted: Counted) -> Fraction | None:
    """Return what a loss costs exactly, but for what may fail; None if it has no price."""
    if counted == "gdp":
        found = squared_mu(loss)
        return None if found is None else found[0]
    return Fraction(repr(loss.rho)) if counted == "rho" else loss.pure


def spent_by(loss: Loss, counted: Counted) -> float:
    """Return about what a loss costs."""
    return float(price_of(loss, counted) or 0)


def _root_up(x: Fraction) -> Fraction:
    return root_down(x) * (1 + Fraction(1, _DIGITS // 100))
