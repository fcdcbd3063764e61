# SPDX-License-Identifier: Apache-2.0
"""A plan: what the engine computes, which noise is added, what it costs. All of it is public.

A question is bounded first: every number of it moves by a known amount when one unit comes or goes.
Rows of a unit are weighed, not drawn: a unit with more rows than count gives each of them an equal
part. Weights are whole steps, so that everything that is added up is an integer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.choose import Exponential, PermuteAndFlip, Quantiles, TopK
from sordino.mechanisms.keys.selection import KeySelection
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.budget import Counted
from sordino.privacy.currency import PURE, ZCDP, Currency
from sordino.privacy.loss import Loss, single
from sordino.privacy.normal_pairs import largest_pure, squared_mu
from sordino.privacy.pure import Pure
from sordino.query.tree import Key, Query, Rows, Scalar
from sordino.query.types import Value
from sordino.sensitivity.norms import Neighbours, Sensitivity

if TYPE_CHECKING:
    from sordino.plan.aggregates import Formula
    from sordino.plan.words import Heading


# What a part of a price buys in the currency of a budget: how large a loss, and how much noise. ---

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


# The plan itself. --------------------------------------------------------------------------------

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


def how_many_groups(keys: tuple[Key, ...]) -> int | None:
    """Return how many groups are answered when all keys are public, else None."""
    sizes = []
    for key in keys:
        if key.bins is not None:
            sizes.append(key.bins.count)
            continue
        if key.domain is None:
            return None
        extra = key.other is not None and key.other not in key.domain
        sizes.append(len(key.domain) + extra)
    return math.prod(sizes)


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


Drawn: TypeAlias = 'Literal["permute_and_flip", "exponential"]'

# Releases: each takes exact integers of a part and gives noisy ones. -----------------------------


@dataclass(frozen=True, slots=True)
class Added:
    """Noise on one column of a part, for every group: value = step * noisy.

    Guarantee: that of the mechanism.
    """

    part: Cells | Distinct | Crowded
    column: int
    mechanism: Laplace | Gaussian
    step: Fraction

    @property
    def loss(self) -> Loss:
        """What it loses."""
        return self.mechanism.loss

    @property
    def is_fine(self) -> bool:
        """Tell whether it moves in steps of less than 1."""
        return self.step.denominator != 1

    @property
    def events(self) -> tuple[str, ...]:
        """What must not be too far off for its error bar to hold."""
        return ("noise",)

    def spent(self, counted: Counted) -> float:
        """Return what it costs in the currency of the budget."""
        return spent_by(self.loss, counted)

    def steps_off(self, level: Fraction) -> int:
        """Return how many steps its noise is off at most, at a confidence."""
        return int(self.mechanism.accuracy(confidence=level))


def _loss_of(mechanism: Drawn, epsilon: Fraction) -> Loss:
    """Return what one draw loses."""
    leaf = Pure if mechanism == "permute_and_flip" else BoundedRange
    return single(leaf(epsilon=epsilon))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A quantile of a Ranks part for every group, with an interval around it.

    Three draws are made: the point itself, and the two ends of the interval, whose ranks are moved
    outwards by what a draw may be off. ``toward`` is None for a stated ``quantile``; for MIN (0)
    and MAX (1) the quantile is as close to that end as the rank error of the draw allows, and one
    end is drawn: the other is the public bound, so that there are two draws in all. No count
    is needed: ``count`` is None, or a place in ``Plan.releases`` of the noisy number of rows where
    the argument is there.

    ``epsilon_value`` and ``epsilon_end`` are what one draw costs a unit of full weight; the records
    handed to the mechanism are coarse weights, so the mechanism runs at that epsilon divided by
    ``weight``, the most that a unit weighs. ``mechanism`` draws: "permute_and_flip" where epsilons
    are added up, "exponential" where rho or gdp is.

    Guarantee: that of its draws, which ``Plan.loss`` counts.
    """

    part: Ranks
    count: int | None
    quantile: Fraction | None
    toward: int | None
    epsilon_value: Fraction
    epsilon_end: Fraction
    weight: int
    mechanism: Drawn = "exponential"

    @property
    def ends(self) -> int:
        """How many ends of the interval are drawn."""
        return 2 if self.toward is None else 1

    @property
    def loss(self) -> Loss:
        """What all its draws lose."""
        ends = _loss_of(self.mechanism, self.epsilon_end)
        return _loss_of(self.mechanism, self.epsilon_value) + self.ends * ends

    @property
    def events(self) -> tuple[str, ...]:
        """What must not be too far off: the ends that are drawn."""
        return ("low", "high") if self.toward is None else ("end",)

    def spent(self, counted: Counted) -> float:
        """Return what it costs in the currency of the budget."""
        value, end = float(self.epsilon_value), float(self.epsilon_end)
        if counted == "rho":
            return (value**2 + self.ends * end**2) / 8
        return spent_by(self.loss, counted)

    def rule(self, q: Fraction, epsilon: Fraction) -> Quantiles:
        """Return the mechanism that draws a quantile from the records of a group."""
        return Quantiles(
            [q],
            range=(0, self.part.buckets - 1),
            epsilon=epsilon / self.weight,
            neighbours="add_remove",
            mechanism=self.mechanism,
        )

    def rank_error(self, q: Fraction, epsilon: Fraction, level: Fraction) -> float:
        """Return how far the rank of a drawn quantile is off at most, in steps of weight."""
        return _rank_error(self, q, epsilon, level)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The most frequent candidates of a Votes part, for every group.

    ``many`` is None for MODE, else how many TOP lists. ``weight`` is the most that a unit weighs.
    ``epsilon`` is for the whole list. ``mechanism`` is as for Ranked; TOP is always "exponential",
    one choice after the other.

    Guarantee: that of its draws, which ``Plan.loss`` counts.
    """

    part: Votes
    many: int | None
    epsilon: Fraction
    weight: int
    mechanism: Drawn = "exponential"

    @property
    def loss(self) -> Loss:
        """What all its choices lose."""
        if self.mechanism == "permute_and_flip":
            return _loss_of(self.mechanism, self.epsilon)
        many = self.many or 1
        return many * _loss_of(self.mechanism, self.epsilon / many)

    @property
    def events(self) -> tuple[str, ...]:
        """What must not be too far off for its error bar to hold."""
        return ("choice",)

    def spent(self, counted: Counted) -> float:
        """Return what it costs in the currency of the budget."""
        if counted == "rho":
            return float(self.epsilon) ** 2 / (self.many or 1) / 8
        return spent_by(self.loss, counted)

    @property
    def rule(self) -> Exponential | PermuteAndFlip | TopK:
        """The mechanism that chooses."""
        if self.many is not None:
            many = min(self.many, len(self.part.domain))
            epsilon = self.epsilon * many / self.many  # each choice costs what was planned
            return TopK(k=many, sensitivity=self.weight, epsilon=epsilon, monotone=True)
        kind = PermuteAndFlip if self.mechanism == "permute_and_flip" else Exponential
        return kind(sensitivity=self.weight, epsilon=self.epsilon, monotone=True)

    def gap(self, level: Fraction) -> float:
        """Return how much less weight than the best a choice has at most, in steps."""
        return _gap(self, level)


Release: TypeAlias = "Added | Ranked | Chosen"


@lru_cache(maxsize=1024)
def _rank_error(release: Ranked, q: Fraction, epsilon: Fraction, level: Fraction) -> float:
    return release.rule(q, epsilon).accuracy(confidence=level)


@lru_cache(maxsize=1024)
def _gap(release: Chosen, level: Fraction) -> float:
    candidates = len(release.part.domain)
    return float(release.rule.accuracy(confidence=level, candidates=candidates))


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is known before data is touched.

    ``formulas`` has one entry for each measure of the query. ``keys`` selects keys where they are
    discovered. ``loss`` is what all releases lose together, without the ``slack`` of key selection.
    ``diagnostics`` are places in ``releases`` with a title each. ``by_id``: rows belong to units by
    ids, and one without an id is left out; a fingerprint has the tables instead.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: but for an event of probability at most ``slack``, all that is released together loses
            at most ``loss``.
        Numerics: as for the mechanisms.
        Proof: docs/proofs/queries.md, theorems 3 to 5.
    """

    query: Query
    bounded: Bounded
    people: str
    releases: tuple[Release, ...]
    formulas: tuple[Formula, ...]
    keys: KeySelection | None
    diagnostics: tuple[tuple[str, int], ...]
    loss: Loss
    slack: Fraction
    confidence: Fraction
    epsilon: Fraction | None  # as asked for, or found; None if asked in rho
    fingerprint: str
    by_id: bool = field(default=False, repr=False)

    @property
    def columns(self) -> tuple[Heading, ...]:
        """The columns of the answer: titles, types and kinds, if numbers are shown as usual."""
        from sordino.plan.words import headings  # which itself looks at plans

        return headings(self)
