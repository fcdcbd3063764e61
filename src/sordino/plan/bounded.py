# SPDX-License-Identifier: Apache-2.0
"""A question whose every number moves by a known amount when one unit comes or goes.

Rows of a unit are weighed, not drawn: a unit with more rows than count gives each of them an equal
part. Weights are whole steps, so that everything that is added up is an integer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

from sordino.query.tree import Key, Rows, Scalar
from sordino.query.types import Value
from sordino.sensitivity.neighbours import Neighbours
from sordino.sensitivity.norms import Sensitivity

FINE = 2**16  # steps that a whole row weighs where rows are weighed
COARSE = 2**8  # the same for quantiles and votes
JOIN_ROWS = 200  # of one unit that take part on a side of a join, where both sides may have many


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of one unit counts, in this order; each step looks at one unit alone.

    1. Keys: a row whose key is not on a public list goes to ``other`` or is left out.
    2. ``groups``: of the groups of a unit at most so many are kept, the first by a salted hash of
       unit and key (of the key alone where every row is a unit), ties by the key. None: all.
    3. ``rows_per_group``: a unit with n rows in a group has min(1, rows_per_group / n) of each row
       there. None: all of it.
    4. ``rows``: a unit whose rows add up to N after step 3 has min(1, rows / N) of that.

    A row then weighs floor(steps * what is left of it), which adds up to at most steps * rows in
    all and to at most steps * rows_per_group in any group. N counts the kept rows, whether or not
    an argument is missing in them. ``alone`` says that by its shape the query has at most one row
    of each unit: then every row weighs ``steps``, which is 1, and nothing needs to be computed.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; exact numbers. The weights of all other units do not change.
        Numerics: exact integers.
        Proof: docs/proofs/queries.md, theorem 1.
    """

    rows: int
    groups: int | None = None
    rows_per_group: int | None = None
    alone: bool = False
    join_rows: int | None = None  # how many rows of a unit a join took, to be said; None: all

    @property
    def steps(self) -> int:
        """What a whole row weighs in sums and counts."""
        return 1 if self.alone else FINE

    @property
    def coarse_steps(self) -> int:
        """What a whole row weighs in quantiles and votes."""
        return 1 if self.alone else COARSE


# Statistics: one exact integer for each group. ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowCount:
    """The weight of all rows; with an argument, of those where it is there."""

    argument: Scalar | None = None


@dataclass(frozen=True, slots=True)
class UnitCount:
    """How many units have the group among their kept ones; not weighed."""


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of weight * (q - offset) ** power over the rows where the argument is there.

    q is the argument in steps of 2 ** exponent, rounded to a whole number by itself and clamped to
    ``low`` and ``high``, which are integers of at most 2 ** 31 in size (2 ** 15 for power 2);
    infinities are clamped, NaN is missing.
    """

    argument: Scalar
    low: int
    high: int
    exponent: int
    offset: int = 0
    power: int = 1

    @property
    def largest(self) -> int:
        """The largest that a row of full weight can add, in absolute value."""
        size = max(abs(self.low - self.offset), abs(self.high - self.offset))
        return size if self.power == 1 else size * size


Statistic: TypeAlias = "RowCount | UnitCount | Total"


# Parts: what the engine returns, one table each. ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cells:
    """For each group one integer for each statistic: columns k0, k1, ... and s0, s1, ..."""

    statistics: tuple[Statistic, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """For each group the number of distinct values: columns k0, ... and s0.

    Of each unit at most ``most`` pairs of group and value are kept, the first by a salted hash; the
    limits of Shares do not apply here, but step 1 does.
    """

    argument: Scalar
    most: int


@dataclass(frozen=True, slots=True)
class Ranks:
    """For each group and bucket the coarse weight of its rows: columns k0, ..., v and s0.

    The argument is in steps of 2 ** exponent, rounded and clamped as for Total; its bucket is
    (q - low) // width. There are at most 2 ** 16 buckets.
    """

    argument: Scalar
    low: int
    high: int
    exponent: int
    width: int = 1

    @property
    def buckets(self) -> int:
        """How many buckets there are."""
        return (self.high - self.low) // self.width + 1


@dataclass(frozen=True, slots=True)
class Votes:
    """For each group and candidate the coarse weight of its rows: columns k0, ..., v and s0.

    v is the place of the candidate in ``domain``; rows with other values are left out (they count
    for N in Shares all the same).
    """

    argument: Scalar
    domain: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Crowded:
    """How many units have more rows, or more groups, than count in full: one row, column s0."""


Part: TypeAlias = "Cells | Distinct | Ranks | Votes | Crowded"


@dataclass(frozen=True, slots=True)
class Bounded:
    """What the engine computes, in one statement: private rows, keys, shares and parts.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; exact integers, which move by no more than ``column_shift`` says.
        Numerics: exact integers.
        Proof: docs/proofs/queries.md, theorems 1 and 2.
    """

    rows: Rows
    keys: tuple[Key, ...]
    shares: Shares
    parts: tuple[Part, ...]

    @property
    def discovers(self) -> bool:
        """Tell whether some key has no public list, so that keys must be selected."""
        return any(map(is_discovered, self.keys))


def is_discovered(key: Key) -> bool:
    """Tell whether the values of a key are on no public list."""
    return key.domain is None and key.bins is None


def shift(statistic: Statistic, shares: Shares, *, grouped: bool) -> Sensitivity:
    """Return how far one unit moves a statistic over all groups, in steps of it.

    >>> shift(RowCount(), Shares(rows=4, groups=2, rows_per_group=3, alone=False), grouped=True).l1
    Fraction(262144, 1)

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; noise is scaled to it.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 2.
    """
    match statistic:
        case UnitCount():
            most = _groups(shares) if grouped else 1
            return _sensitivity("units", total=most, each=1)
        case RowCount():
            size, name = 1, "rows"
        case Total():
            size, name = statistic.largest, "total"
        case _:
            assert_never(statistic)
    total, each = weights(shares, grouped=grouped)
    return _sensitivity(name, total=total * size, each=each * size)


def column_shift(bounded: Bounded, part: Part, column: int) -> Sensitivity:
    """Return how far one unit moves a column of a part over all groups, in steps of it.

    For ranks and votes it is about the coarse weights by bucket or candidate.
    """
    match part:
        case Cells():
            return shift(part.statistics[column], bounded.shares, grouped=bool(bounded.keys))
        case Distinct():
            return _sensitivity("values", total=part.most, each=part.most)
        case Ranks() | Votes():
            most = coarse_weight(bounded)
            return _sensitivity("records", total=most, each=most)
        case Crowded():
            return _sensitivity("units", total=1, each=1)
        case _:
            assert_never(part)


def column_step(bounded: Bounded, part: Part, column: int) -> Fraction:
    """Return what one step of a column is worth."""
    steps = bounded.shares.steps
    if not isinstance(part, Cells):
        return Fraction(1)
    match part.statistics[column]:
        case RowCount():
            return Fraction(1, steps)
        case UnitCount():
            return Fraction(1)
        case Total(exponent=exponent, power=power):
            return Fraction(2) ** (exponent * power) / steps
        case _ as other:
            assert_never(other)


def coarse_weight(bounded: Bounded) -> int:
    """Return the most that one unit weighs in quantiles and votes, in all groups together.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; choices are scaled to it.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 4.
    """
    shares = bounded.shares
    total, _ = weights(shares, grouped=bool(bounded.keys))
    return total // shares.steps * shares.coarse_steps


def weights(shares: Shares, *, grouped: bool) -> tuple[int, int]:
    """Return the most that one unit weighs in all groups together, and in one of them."""
    if shares.alone:
        return 1, 1
    total, each = shares.rows, shares.rows
    if shares.rows_per_group is not None:
        each = min(each, shares.rows_per_group)
        most = shares.groups if grouped else 1
        total = total if most is None else min(total, most * each)
    return total * shares.steps, each * shares.steps


def _groups(shares: Shares) -> int:
    if shares.alone:
        return 1
    if shares.groups is None:
        raise ValueError("units are counted by group only where their groups are limited")
    return shares.groups


def _sensitivity(name: str, *, total: int, each: int) -> Sensitivity:
    """Return the norms of what has at most ``each`` in one place and ``total`` in all."""
    full, rest = divmod(total, each) if each else (0, 0)
    return Sensitivity(
        query=name,
        l1=total,
        l2_squared=full * each * each + rest * rest,
        linf=each,
        neighbours=Neighbours.add_remove,
        whole=True,
    )
