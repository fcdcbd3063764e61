# SPDX-License-Identifier: Apache-2.0
"""Reading the arguments that the theorems share: losses, numbers of steps, what is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple, TypeAlias, TypeVar

from sordino.numbers.rational import (
    Number,
    nonnegative,
    positive_whole,
    probability,
    probability_or_zero,
    up_as_printed,
)

Loss: TypeAlias = tuple[Fraction, Fraction]
T = TypeVar("T")

MOST_TIMES = 10**9  # the certified binomial sums are fast up to here
_TINY = 1e-130  # numbers below this have more digits than the readers of numbers accept
_LARGEST = 2**1200  # denominators of doubles, as they print, are below this


class EpsilonDelta(NamedTuple):
    """A pair (epsilon, delta): both numbers together are one promise."""

    epsilon: float
    delta: float


def pair(epsilon: Fraction | float, delta: Fraction | float) -> EpsilonDelta:
    """Round a promise up to doubles; a delta above 1 says no more than 1 does."""
    numbers = [rounded(x) if isinstance(x, Fraction) else x for x in (epsilon, delta)]
    return EpsilonDelta(numbers[0], min(numbers[1], 1.0))


def rounded(x: Fraction) -> float:
    """Return the least double that reads as at least ``x``; zero has no sign."""
    return up_as_printed(x) + 0.0


def read_delta(name: str, value: object) -> Fraction:
    """Read a delta from 0, included, to 1, excluded; doubles may be as small as they get."""
    return _tiny(value) or probability_or_zero(name, value)


def read_slack(name: str, value: object) -> Fraction:
    """Read a delta strictly between 0 and 1; doubles may be as small as they get."""
    return _tiny(value) or probability(name, value)


def read_amount(name: str, value: object) -> Fraction:
    """Read a number that is not negative; doubles may be as small as they get."""
    return _tiny(value) or nonnegative(name, value)


def read_times(name: str, value: object) -> int:
    """Read how often something is done: a whole number from 1 to a thousand million."""
    times = positive_whole(name, value)
    if times > MOST_TIMES:
        raise ValueError(f"{name} must be at most 10**9, got {times}")
    return times


def read_losses(losses: Iterable[tuple[Number, Number]]) -> Counter[Loss]:
    """Read a list of pairs (epsilon, delta) that is not empty; count equal ones."""
    pairs = _several("losses", losses, "pairs (epsilon, delta)")
    places: dict[object, int] = {}
    times: Counter[int] = Counter()  # of the first place where a loss occurs
    for place, loss in enumerate(pairs):
        if not isinstance(loss, tuple | list) or len(loss) != 2:
            raise TypeError(
                f"losses[{place}] must be a pair (epsilon, delta), "
                f"got a value of type {type(loss).__name__}"
            )
        plain = type(loss[0]) is float and type(loss[1]) is float  # a million of these are common
        times[places.setdefault(tuple(loss), place) if plain else place] += 1
    read: Counter[Loss] = Counter()
    for place, n in times.items():
        epsilon = read_amount(f"epsilon of losses[{place}]", pairs[place][0])
        read[epsilon, read_delta(f"delta of losses[{place}]", pairs[place][1])] += n
    return read


def read_parts(
    parts: Iterable[Number | tuple[Number, Number]],
) -> list[tuple[Fraction, Fraction | None]]:
    """Read a list of parts: a number each, or a pair of numbers."""
    read: list[tuple[Fraction, Fraction | None]] = []
    for place, part in enumerate(_several("parts", parts, "numbers or pairs of numbers")):
        name = f"parts[{place}]"
        if not isinstance(part, tuple):
            read.append((read_amount(name, part), None))
        elif len(part) == 2:
            read.append((read_amount(name, part[0]), read_amount(name, part[1])))
        else:
            raise TypeError(f"{name} must be a number or a pair, got {len(part)} numbers")
    return read


def exactly_one(**values: object) -> None:
    """Refuse a call that gives none or more than one of some arguments.

    >>> exactly_one(at_epsilon=None, at_delta=None)
    Traceback (most recent call last):
    ValueError: give exactly one of at_epsilon and at_delta
    """
    if sum(value is not None for value in values.values()) != 1:
        raise ValueError(f"give exactly one of {' and '.join(values)}")


def _several(name: str, values: Iterable[T], of_what: str) -> list[T]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of {of_what}, got {type(values).__name__}")
    found = list(values)
    if not found:
        raise ValueError(f"{name} must hold at least one entry, got an empty list")
    return found


def _tiny(value: object) -> Fraction | None:
    """Read a positive number too small for the other readers, as the least deltas are."""
    if isinstance(value, float) and 0 < value < _TINY:
        return Fraction(repr(float(value)))
    if isinstance(value, Fraction) and 0 < value < _TINY and value.denominator < _LARGEST:
        return value
    return None
