# SPDX-License-Identifier: Apache-2.0
"""What every mechanism is: a frozen value that its arguments make, here or in another process."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from inspect import signature
from typing import Any, TypeVar

from sordino.numbers.rational import covering, is_integer, positive, written, written_real
from sordino.privacy.loss import Loss, compose
from sordino.randomness.samplers import LARGEST_SCALE, SMALLEST_SCALE

M = TypeVar("M", bound="Mechanism")

# Whole numbers for whole values, and fractions for real ones.
_LENGTHS = ("sensitivity", "spread", "bound")


class Mechanism:
    """Something that is printed, copied and pickled as the arguments that make it."""

    __slots__ = ()

    whole: bool  # of those that take lengths

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments that make this mechanism, without those that have their default."""
        usual = {name: known.default for name, known in signature(type(self)).parameters.items()}
        typed = {name: self._typed(name) for name in usual}
        return {name: x for name, x in typed.items() if not _is_usual(name, x, usual[name])}

    def _typed(self, name: str) -> Any:
        """Return an argument as it was typed; the field of its name tells, unless stated here."""
        value = getattr(self, name)
        if name in _LENGTHS and self.whole:
            return value.numerator
        return str(value) if isinstance(value, StrEnum) else value

    def __repr__(self) -> str:
        words = (f"{name}={_shown(name, value)}" for name, value in self._arguments().items())
        return f"{type(self).__name__}({', '.join(words)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (type(self), self._arguments())


def _is_usual(name: str, value: object, usual: object) -> bool:
    """Tell whether an argument can be left out: a real length cannot, if the usual one is whole."""
    real = name in _LENGTHS and isinstance(value, Fraction)
    return bool(value == usual) and not real


def read_length(name: str, value: object) -> tuple[Fraction, bool]:
    """Read how far something moves, and whether it is whole numbers that move, as an integer says.

    Reals are handed over in binary, and the length has to cover how far they move there.
    """
    whole = is_integer(value)
    return (positive if whole else covering)(name, value), whole


def check_scales(*scales: Fraction, price: str, moved: str = "") -> None:
    """Refuse a price whose noise is not drawn at one of these scales, for what is ``moved``."""
    if not SMALLEST_SCALE <= min(scales) <= max(scales) <= LARGEST_SCALE:
        raise not_drawn(wide=max(scales) > LARGEST_SCALE, price=price, moved=moved)


def not_drawn(*, wide: bool, price: str, moved: str = "") -> ValueError:
    """Return the error for a price whose noise is too wide, or too narrow, to be drawn."""
    too = f"too {'small' if wide else 'large'}" + (moved and f" for {moved}")
    return ValueError(
        f"epsilon is {too}, got {price}; noise is drawn at scales from 2**-20 to 2**50"
    )


def fill(frozen: object, **fields: object) -> None:
    """Set the fields of a frozen value that is being made."""
    for name, value in fields.items():
        object.__setattr__(frozen, name, value)


def _make(kind: type[M], arguments: dict[str, Any]) -> M:
    return kind(**arguments)


def _shown(name: str, value: object) -> str:
    if isinstance(value, Fraction):
        return written_real(value) if name in _LENGTHS else written(value)
    return repr(value)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Constant(Mechanism):
    """Always the same value, whatever the data are: epsilon 0.

    It is the one end of what a mechanism can be: all privacy and no use. ``value`` must have been
    chosen without looking at the data; then whoever sees it learns nothing from it. Its ``loss`` is
    that of no mechanism at all, and adds nothing to other losses.

    >>> zero = Constant(0)
    >>> zero.release([3, 1, 4]), zero.loss.epsilon(delta=0), zero.loss.delta(epsilon=0)
    (0, 0.0, 0.0)

    Guarantee:
        Neighbours: any two data sets, however much they differ.
        Loss: epsilon 0 and delta 0, in every currency.
        Numerics: exact; no noise is drawn.
        Proof: docs/proofs/composition.md; two equal laws have the profile 0 at every epsilon.
    """

    value: Any
    loss: Loss = field(compare=False)

    def __init__(self, value: Any) -> None:
        fill(self, value=value, loss=compose([]))

    def _arguments(self) -> dict[str, Any]:
        return {"value": self.value}

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"

    def release(self, data: object) -> Any:  # noqa: ARG002 - this is the point of it
        """Return the value; the data are not looked at."""
        return self.value
