# SPDX-License-Identifier: Apache-2.0
"""Queries written the plain way, and universes of people, for brute force."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sordino.sensitivity import Report, Sensitivity

Person = tuple[Any, ...]  # what a person has in each group


def norms(found: Report | Sensitivity) -> list[Fraction]:
    """L1, the square of L2, and Linf."""
    return [found.l1, found.l2_squared, found.linf]


def same(found: Report, claim: Sensitivity) -> bool:
    """Whether brute force and a formula agree in all norms, not only as a bound."""
    return norms(found) == norms(claim)


def mean(data: Sequence[Any]) -> Fraction:
    return Fraction(sum(data)) / len(data)


def variance(data: Sequence[Any], divisor: str) -> Fraction:
    centre = mean(data)
    squares = sum(((x - centre) ** 2 for x in data), Fraction(0))
    return squares / (len(data) - (divisor == "n-1"))


def order_statistic(data: Sequence[Any], share: Fraction, empty: Any = None) -> Any:
    if not data:
        return empty
    return sorted(data)[max(1, math.ceil(share * len(data))) - 1]


def people(contributions: Sequence[Any], nothing: Any, groups: int, cells: int) -> list[Person]:
    """All people with contributions to at most so many of the cells."""
    kinds = [nothing, *(x for x in contributions if x != nothing)]
    everyone = itertools.product(kinds, repeat=cells)
    return [p for p in everyone if sum(x != nothing for x in p) <= groups]


def totals(data: Sequence[Person], cells: int) -> list[Any]:
    return [sum(person[cell] for person in data) for cell in range(cells)]
