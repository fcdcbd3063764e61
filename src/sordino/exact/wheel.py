# SPDX-License-Identifier: Apache-2.0
"""A wheel whose slots have weights count * exp(-x): exact draws from weights nobody can write down.

Each slot gets a whole number that is certain to be at least its weight, from doubles and a margin
for their errors. A slot is drawn in proportion to these numbers, which is exact, and kept with the
probability weight / number, decided with as many digits of the weight as it takes; otherwise the
wheel is spun again. The slot kept has a probability proportional to its weight, whatever the
numbers were, and only the weight of a slot that was drawn is ever computed to many digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.balls import ball, enclose
from sordino.exact.coins import below_one
from sordino.exact.entropy import Bits
from sordino.exact.interval import Interval, exp_neg
from sordino.exact.tables import WORD_BITS, LazyUniform

Floats = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64] | Sequence[int]

_TOP_BITS = 61  # the numbers of all slots add up to less than 2**63
# An exponent comes with a relative error below 2**-49; logarithms, sums and exponentials of
# doubles add a few units in the last place of the largest number involved.
_MARGIN = 2.0**-40
_RELATIVE_MARGIN = 2.0**-45
_FAR = 1 << 12  # where no exponent is smaller, they are counted from the least of them
_LARGEST = Fraction(1 << 1000)  # in place of a larger exponent it still covers the weight
_LONG = 1 << 12  # bits of a factor that balls are quicker with


def spin(counts: Counts, exponents: Floats, exact: Callable[[int], Fraction], bits: Bits) -> int:
    """Draw i with a probability proportional to counts[i] * exp(-x_i).

    ``counts`` are whole numbers of any size, not all 0; ``exponents`` approximate x_i >= 0 with a
    relative error below 2**-49 or an absolute one below 2**-49, or are smaller than x_i and at
    least 2**1000; and ``exact(i)`` is x_i itself.
    """
    logarithms = _logarithms(counts)
    used = np.flatnonzero(logarithms >= 0)
    if used.size == 0:
        raise ValueError("a wheel needs a slot with a weight")
    if exponents[used].min() > _FAR:
        exponents, exact = _closer(exponents, exact, used)
    numbers, scale = _cover(logarithms, np.minimum(exponents, float(_LARGEST)))
    ends = np.cumsum(numbers)
    total = int(ends[-1])
    while True:
        slot = int(np.searchsorted(ends, below_one(total, bits), side="right"))
        if keeps(
            exact(slot),
            bits,
            factor=Fraction(int(counts[slot])) * Fraction(2) ** scale / int(numbers[slot]),
        ):
            return slot


def keeps(x: Fraction, bits: Bits, factor: Fraction = Fraction(1)) -> bool:
    """Toss a coin that is true with probability factor * exp(-x), which is at most 1."""
    if x == 0 and factor == 1:
        return True
    number = LazyUniform(bits.integer(WORD_BITS), WORD_BITS, bits)
    return number.below(lambda width: _product(factor, x, width))


def _product(factor: Fraction, x: Fraction, width: int) -> Interval:
    """Enclose factor * exp(-x), a probability, at this precision."""
    more = max(0, factor.numerator.bit_length() - factor.denominator.bit_length()) + 16
    if more > _LONG:
        return enclose(lambda: ball(factor) * (-ball(x)).exp(), width)
    low, high = exp_neg(x, width + more)
    below = (low * factor.numerator // factor.denominator) >> more
    if below > 1 << width:
        raise ArithmeticError("a weight is larger than the number that was to cover it")
    return below, -((-high * factor.numerator // factor.denominator) >> more)


def _logarithms(counts: Counts) -> Floats:
    if isinstance(counts, np.ndarray):
        with np.errstate(divide="ignore"):
            found: Floats = np.log(counts.astype(np.float64))
        return found
    return np.array([math.log(n) if n else -math.inf for n in counts])


def _closer(
    exponents: Floats, exact: Callable[[int], Fraction], used: npt.NDArray[np.intp]
) -> tuple[Floats, Callable[[int], Fraction]]:
    """Subtract the least exponent of the slots in use from all of them, exactly."""
    slots = used.tolist()
    least = min(map(exact, slots))
    closer = np.zeros_like(exponents)
    closer[used] = [float(min(exact(slot) - least, _LARGEST)) for slot in slots]
    return closer, lambda slot: exact(slot) - least


def _cover(logarithms: Floats, exponents: Floats) -> tuple[npt.NDArray[np.int64], int]:
    """Return whole numbers that are at least 2**scale times the weights, and the scale.

    A slot with a count of 0 has the number 0, and no other slot.
    """
    sizes = logarithms - exponents
    top = float(sizes.max())
    if math.isnan(top):
        raise ArithmeticError("an exponent is not a number")
    bits = _TOP_BITS - len(sizes).bit_length()
    scale = math.floor(bits - top / math.log(2))
    empty = np.isneginf(logarithms)
    sizes[empty] = 0.0
    margin = _MARGIN + (np.abs(exponents) + np.abs(sizes) + abs(top)) * _RELATIVE_MARGIN
    heights = sizes + scale * math.log(2) + margin
    heights[empty] = 0.0
    if heights.max() > (bits + 1) * math.log(2):
        raise ArithmeticError("doubles do not tell numbers as large as these apart")
    numbers: npt.NDArray[np.int64] = np.exp(heights).astype(np.int64)
    numbers += 1
    numbers[empty] = 0
    return numbers, scale
