# SPDX-License-Identifier: Apache-2.0
"""The least noise whose total loss fits a target."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, TypeVar

from sordino.numbers.rational import (
    Integer,
    Number,
    positive,
    positive_whole,
    probability_or_zero,
    reading,
)
from sordino.privacy.loss import Loss
from sordino.privacy.search import least

_DIGITS = 6  # of the parameter that is searched for
_DECADE = 9 * 10 ** (_DIGITS - 1)
_LOWEST, _HIGHEST = -12, 12  # powers of ten between which the parameter lies


class Priced(Protocol):
    """Anything that has a loss.

    Guarantee: its own.
    """

    @property
    def loss(self) -> Loss:
        """The loss of one use."""
        ...


M = TypeVar("M", bound="Priced | Loss")


def calibrate(
    make: Callable[[Fraction], M],
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    times: Integer = 1,
) -> M:
    """Return the most accurate mechanism whose loss, used so many times, fits a target.

    ``make`` takes one positive number and returns a mechanism, or a loss. The number may be an
    epsilon, of which the largest that fits is found, or a sigma, of which the least; which of the
    two it is shows when it is varied. It is found to six digits. The target is epsilon and delta,
    or rho.

    >>> from sordino.privacy import losses
    >>> calibrate(lambda e: losses.pure(epsilon=e), times=100, epsilon=1)
    Loss(Pure(epsilon=0.01))

    Guarantee:
        Neighbours: those of the mechanism.
        Loss: the total loss of the result was computed and is at most the target.
        Numerics: as for Loss; the next larger epsilon, or smaller sigma, of six digits does not
            fit, if the loss is monotone in it.
        Proof: none needed beyond that of Loss.
    """
    many = positive_whole("times", times)
    fits_target = _target(epsilon, delta, rho)

    def fits(parameter: Fraction) -> bool:
        try:
            made = make(parameter)
        except ValueError:
            return False
        return fits_target(many * _loss_of(made))

    upwards = _grows(make)
    low, high = _LOWEST * _DECADE, _HIGHEST * _DECADE
    try:
        if upwards:  # a larger number costs more: find the largest that fits
            place = -least(lambda n: fits(_number(-n)), -high, -low, near=0)
        else:
            place = least(lambda n: fits(_number(n)), low, high, near=0)
    except ValueError:
        raise ValueError("no parameter between 1e-12 and 1e12 fits this target") from None
    return make(_number(place))


def _target(epsilon: Number | None, delta: Number, rho: Number | None) -> Callable[[Loss], bool]:
    if (epsilon is None) == (rho is None):
        raise TypeError("calibrate needs a target: either epsilon, with or without delta, or rho")
    slack = probability_or_zero("delta", delta)
    if rho is not None:
        most = positive("rho", rho)
        if slack:
            raise TypeError("a target of rho has no delta")
        return lambda loss: reading(loss.rho) <= most
    whole = positive("epsilon", epsilon)
    if not slack:
        return lambda loss: loss.pure is not None and loss.pure <= whole
    return lambda loss: reading(loss.delta(epsilon=whole)) <= slack


def _loss_of(made: object) -> Loss:
    loss = made if isinstance(made, Loss) else getattr(made, "loss", None)
    if not isinstance(loss, Loss):
        raise TypeError("make must return a mechanism or a loss")
    return loss


def _grows(make: Callable[[Fraction], M]) -> bool:
    """Tell whether the loss grows with the parameter, from two values that can be made."""
    found: list[tuple[int, Fraction | float]] = []
    for exponent in sorted(range(-6, 7), key=abs):
        try:
            made = make(Fraction(10) ** exponent)
        except ValueError:
            continue
        size = _size(_loss_of(made))
        if found and found[0][1] != size:
            return (size > found[0][1]) == (exponent > found[0][0])
        found.append((exponent, size))
    raise ValueError("make must work for at least two powers of ten, with different losses")


def _size(loss: Loss) -> Fraction | float:
    """Return a number that says which of two losses of one kind is the larger."""
    return loss.pure if loss.pure is not None else loss.delta(epsilon=1)


def _number(place: int) -> Fraction:
    """Number the decimals of six digits in their order; 0 is the number 1."""
    decade, rest = divmod(place, _DECADE)
    digits, power = 10 ** (_DIGITS - 1) + rest, decade - _DIGITS + 1
    return Fraction(digits * 10**power) if power >= 0 else Fraction(digits, 10**-power)
