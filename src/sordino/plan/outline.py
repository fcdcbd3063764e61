# SPDX-License-Identifier: Apache-2.0
"""A bounded question, and how each of its measures is made from what the engine computes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sordino.plan.bounded import Bounded
from sordino.query.tree import Query


@dataclass(frozen=True, slots=True)
class Place:
    """A column of exact integers: which part, and which of its columns s0, s1, ..."""

    part: int
    column: int


@dataclass(frozen=True, slots=True)
class OneOf:
    """The measure is one column."""

    place: Place


@dataclass(frozen=True, slots=True)
class Average:
    """offset + total / count, all values between low and high."""

    total: Place
    count: Place
    offset: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class Deviation:
    """square / count - (total / count) ** 2, of values between low and high; or its root."""

    total: Place
    square: Place
    count: Place
    low: Fraction
    high: Fraction
    root: bool


@dataclass(frozen=True, slots=True)
class Rank:
    """A quantile of a Ranks part; ``toward`` is 0 for MIN and 1 for MAX."""

    part: int
    quantile: Fraction | None
    toward: int | None


@dataclass(frozen=True, slots=True)
class Vote:
    """The most frequent candidates of a Votes part: one, or a list of so many."""

    part: int
    many: int | None


Recipe: TypeAlias = "OneOf | Average | Deviation | Rank | Vote"


@dataclass(frozen=True, slots=True)
class Outline:
    """A plan before anything is said of noise.

    ``recipes`` has one entry for each measure of the query. ``diagnostics`` are columns that are
    released besides, with a title each. ``by_id``: rows belong to units by ids, and
    one without an id is left out.
    """

    query: Query
    bounded: Bounded
    people: str
    recipes: tuple[Recipe, ...]
    diagnostics: tuple[tuple[str, Place], ...] = ()
    by_id: bool = False
