# SPDX-License-Identifier: Apache-2.0
"""Cutting what one unit contributes, before anything is added up.

What is kept of a unit depends on the rows of that unit and on the secret, on nothing else: not on
other units, not on the order of the rows. So all that can change with one unit is what that unit
itself contributes, which is within the limits whatever its rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.contributions.columns import (
    LARGEST,
    Column,
    identify,
    on_grid,
    read_column,
    read_numbers,
)
from sordino.contributions.keeping import (
    Runs,
    add_by_place,
    add_up,
    candidates,
    distinct_of,
    runs_of,
    settle,
    surplus,
)
from sordino.numbers.columns import read_entries
from sordino.numbers.rational import Integer, Number, positive_whole
from sordino.randomness.hashing import Words, keyed_hash, read_secret
from sordino.sensitivity.arguments import Bounds, read_bounds
from sordino.sensitivity.neighbours import Units

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

_FINEST = 30  # bits of the largest bound on the grid that reals are rounded to
_LIMIT = LARGEST // 4  # of a bound on the grid
_EXACT = 1 << 53  # so many steps are a double


class Totals(NamedTuple):
    """What each key comes to: ``units`` with the key, their ``rows`` and their ``amounts``.

    Guarantee: exact numbers, to which noise must be added; see Contributions.
    """

    keys: Array
    units: Integers
    rows: Integers | None
    amounts: Array | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contributions:
    """What is kept of each unit: one entry for each unit and each of its kept keys, in their order.

    ``rows`` counts the rows of an entry, up to the limit, and is None without one. ``amounts``, and
    the limit ``most_amount``, are in the unit of the bounds: integers where ``whole``, else whole
    multiples of ``grid``, exactly. They are None where no values were given.

    Guarantee:
        Neighbours: one unit with all its rows.
        Loss: none by itself; these are exact numbers. One unit has at most ``groups`` entries, with
            at most ``most_rows`` rows and at most ``most_amount`` in absolute value each.
        Numerics: exact; reals that are no doubles are Fractions.
        Proof: docs/proofs/partitions.md, theorem 1.
    """

    units: Array
    keys: Array
    rows: Integers | None
    whole: bool
    grid: Fraction
    groups: int
    most_rows: int | None
    _key: Column
    _steps: Integers | None
    _most_steps: int | None

    def __repr__(self) -> str:  # the data stays inside
        return f"<contributions, at most {self.groups} groups of each unit>"

    @property
    def amounts(self) -> Array | None:
        """What each entry comes to."""
        return None if self._steps is None else self._in_units(self._steps)

    @property
    def most_amount(self) -> int | Fraction | None:
        """The largest absolute amount that an entry can have."""
        if self._most_steps is None or self.whole:
            return self._most_steps
        return self._most_steps * self.grid

    def limits(self, *, neighbours: str) -> Units:
        """Return the promise that holds for rows and amounts, to find sensitivities from."""
        return Units(
            neighbours=neighbours, groups=self.groups, rows=self.most_rows, amount=self.most_amount
        )

    def in_steps(self) -> Contributions:
        """Return the same with amounts counted in steps of the grid: integers, and so the limits.

        Noisy integers times ``grid`` of the original are in the unit of the bounds again. Integers
        are released in any number, reals only 65,536 at a time.
        """
        return replace(self, whole=True, grid=Fraction(1))

    def totals(self, *, listed: object = None) -> Totals:
        """Add up the entries of each key, in the order of the keys, or for the listed keys alone.

        With ``listed``, public keys, there is one total for each of them, 0 where nobody has it.
        Rows with other keys should have been left out before the contributions were cut, as they
        take the places of others. Without it the very keys are private: which of them may be told
        is for key selection to say.

        Guarantee:
            Neighbours: one unit with all its rows.
            Loss: none by itself; exact numbers. One unit moves at most ``groups`` totals; ``units``
                by 1, ``rows`` and ``amounts`` by no more than the limits.
            Numerics: exact; amounts beyond 64 bits become Python integers, reals that are no
                doubles Fractions. Keys are matched exactly.
            Proof: docs/proofs/partitions.md, theorem 1.
        """
        if listed is None:
            codes, places = distinct_of(self._key.codes)
            keys = self._key.identifiers(codes)
            found: Any = slice(None)
        else:
            keys, places, found = _listed(self._key, listed)
        size = len(keys)
        amounts = None
        if self._steps is not None:
            amounts = self._in_units(add_by_place(places, self._steps[found], size))
        return Totals(
            keys=keys,
            units=np.bincount(places, minlength=size).astype(np.int64),
            rows=None if self.rows is None else add_by_place(places, self.rows[found], size),
            amounts=amounts,
        )

    def _in_units(self, steps: Array) -> Array:
        if self.whole:
            return steps
        if max(steps.max(initial=0), -steps.min(initial=0)) <= _EXACT:
            return steps.astype(np.float64) * float(self.grid)
        exact = np.empty(steps.size, dtype=object)
        exact[:] = [int(x) * self.grid for x in steps]
        return exact


def bound_contributions(
    units: object,
    keys: object,
    values: object = None,
    *,
    groups: Integer,
    rows: Integer | None = None,
    low: Number | None = None,
    high: Number | None = None,
    clamp: Literal["row", "amount"] = "amount",
    secret: bytes,
) -> Contributions:
    """Keep at most ``groups`` keys of each unit, and within each of them no more than is allowed.

    ``units``, ``keys`` and ``values`` are columns of one length: whose row, in which group, with
    which number. In this order:

    1. The keys of a unit are ordered by a keyed hash of unit and key, equal hashes by the key, and
       the first ``groups`` of them are kept.
    2. With ``rows``, at most so many rows of each kept unit and key are kept, drawn by a keyed hash
       from the unit, the key, the value and how often that value came before: any rows are as
       likely as any others. Without values rows are only counted, up to ``rows``.
    3. With values, ``clamp="row"`` clamps each row to ``low`` and ``high`` before rows are drawn
       and added up, and needs ``rows``; ``clamp="amount"`` clamps what the rows add up to.

    The type of the bounds, never that of the values, says what amounts are. If both are integers,
    so are amounts. Otherwise amounts are reals on a grid, a power of two such that the larger bound
    is about 2**30 steps away from 0: write ``high=1.0``, not 1, for shares of 1. Each value is
    rounded by itself to the nearest whole number, or to the nearest multiple of the grid, ties to
    the even one; bounds are rounded inwards. A missing value, NaN or None, counts as ``low``,
    infinities are clamped as other numbers are, and what is beyond 2**62 steps counts as that.

    An identifier is a number, a text, bytes or a date, in columns of one type or of mixed ones, and
    is hashed by what it is: 1, 1.0 and True are one, 1 and "1" are two. Rows without a unit or
    without a key are left out. Objects of any other type are refused; that there is none must be
    public. Texts in arrays of numpy's own lose null characters at the end, those in lists do not.

    The ``secret``, at least 16 random bytes, only keeps others from choosing which of their groups
    are kept; the limits hold for every secret, known or not. A new one for each query is best.

    >>> kept = bound_contributions(
    ...     ["ann", "ann", "bob"],
    ...     ["a", "a", "a"],
    ...     [3, 9, 4],
    ...     groups=1,
    ...     low=0,
    ...     high=10,
    ...     secret=bytes(32),
    ... )
    >>> kept.amounts.tolist(), kept.totals().amounts.tolist(), kept
    ([10, 4], [14], <contributions, at most 1 groups of each unit>)

    Guarantee:
        Neighbours: one unit with all its rows, added or removed, or exchanged for other rows.
        Loss: none by itself. A unit has at most ``groups`` entries, each with at most ``rows`` rows
            and an amount of at most max(abs(low), abs(high)), times ``rows`` for clamp="row"; the
            entries of other units do not change with it.
        Numerics: exact; the result does not depend on the order of the rows.
        Proof: docs/proofs/partitions.md, theorem 1.
    """
    hidden, most = read_secret(secret), positive_whole("groups", groups)
    most_rows = None if rows is None else positive_whole("rows", rows)
    unit = read_column("units", units, hidden, dense=True)
    key = read_column("keys", keys, hidden)
    rule = _read_rule(values, low, high, clamp, most_rows)
    numbers = None if rule is None else rule.read(values)
    if unit.codes.size != key.codes.size or (
        numbers is not None and numbers.size != key.codes.size
    ):
        raise ValueError("units, keys and values must be columns of one length")
    unit, key, numbers = _present(unit, key, numbers)
    kept = candidates(unit, key, most, hidden)
    runs, order = runs_of(unit.codes[kept], unit.span, key.codes[kept], sort=numbers is not None)
    chosen = settle(runs, unit, key, most, hidden)
    counts, amounts = runs.counts, None
    if numbers is not None and rule is not None:
        sorted_numbers = numbers[kept][order]
        amounts, counts = _amounts(
            sorted_numbers,
            runs,
            chosen,
            rule,
            hashes=partial(_pair_hashes, unit, key, hidden),
            secret=hidden,
        )
    own = replace(key, codes=runs.keys[chosen])
    return Contributions(
        units=unit.identifiers(runs.units[chosen]),
        keys=key.identifiers(own.codes),
        rows=None if most_rows is None else np.minimum(counts, most_rows)[chosen],
        whole=rule is None or rule.whole,
        grid=Fraction(1) if rule is None else Fraction(2) ** rule.exponent,
        groups=most,
        most_rows=most_rows,
        _key=own,
        _steps=None if amounts is None else amounts[chosen],
        _most_steps=None if rule is None else rule.most,
    )


def _present(
    unit: Column, key: Column, numbers: Integers | None
) -> tuple[Column, Column, Integers | None]:
    """Leave out the rows that have no unit or no key."""
    if unit.present is None and key.present is None:
        return unit, key, numbers
    rows = np.ones(unit.codes.size, dtype=np.bool_)
    for column in (unit, key):
        if column.present is not None:
            rows &= column.present
    return unit.only(rows), key.only(rows), None if numbers is None else numbers[rows]


class _Rule(NamedTuple):
    """How values are clamped, in steps of the grid."""

    low: int
    high: int
    exponent: int
    whole: bool
    each_row: bool
    rows: int | None

    @property
    def most(self) -> int:
        """The largest absolute amount of a unit and a key."""
        largest = max(abs(self.low), abs(self.high))
        return largest * self.rows if self.each_row and self.rows else largest

    def read(self, values: object) -> Integers:
        numbers = read_numbers(values, exponent=self.exponent, missing=self.low)
        return np.clip(numbers, self.low, self.high) if self.each_row else numbers


def _read_rule(
    values: object, low: Number | None, high: Number | None, clamp: str, rows: int | None
) -> _Rule | None:
    if clamp not in ("row", "amount"):
        raise ValueError(f"clamp must be 'row' or 'amount', got {clamp!r}")
    if values is None:
        if low is not None or high is not None:
            raise TypeError("low and high are for values; leave them out when rows are counted")
        return None
    if low is None or high is None:
        raise TypeError("values need low and high, public bounds that they are clamped to")
    if clamp == "row" and rows is None:
        raise TypeError("clamp='row' needs rows, how many rows of a unit count in each group")
    bounds = read_bounds((low, high), name="(low, high)")
    exponent = 0 if bounds.whole else _exponent(bounds)
    first, last = on_grid(bounds.low, bounds.high, exponent)
    rule = _Rule(
        low=first,
        high=last,
        exponent=exponent,
        whole=bounds.whole,
        each_row=clamp == "row",
        rows=rows,
    )
    if rule.most > _LIMIT:
        raise ValueError("the bounds are too large: an amount must stay within 2**60 steps")
    return rule


def _exponent(bounds: Bounds) -> int:
    """Choose the grid for reals, from the public bounds."""
    largest = bounds.largest
    if largest == 0:
        return 0
    return largest.numerator.bit_length() - largest.denominator.bit_length() - _FINEST


def _amounts(
    numbers: Integers,
    runs: Runs,
    chosen: npt.NDArray[np.intp],
    rule: _Rule,
    *,
    hashes: Callable[[Runs], Words],
    secret: bytes,
) -> tuple[Integers, Integers]:
    """Return the amount of each entry and how many rows it is made of."""
    counts = runs.counts
    if rule.rows is not None:
        many = np.zeros(counts.size, dtype=np.bool_)
        many[chosen] = counts[chosen] > rule.rows
        places = np.flatnonzero(np.repeat(many, counts))
        if places.size:
            owners = np.repeat(np.flatnonzero(many), counts[many])
            dropped = surplus(numbers[places], owners, hashes(runs)[owners], rule.rows, secret)
            keep = np.ones(numbers.size, dtype=np.bool_)
            keep[places[dropped]] = False
            numbers, counts = numbers[keep], np.where(many, rule.rows, counts)
    amounts = add_up(numbers, counts, low=-_LIMIT, high=_LIMIT)
    if not rule.each_row:
        np.clip(amounts, rule.low, rule.high, out=amounts)
    return amounts, counts


def _pair_hashes(unit: Column, key: Column, secret: bytes, runs: Runs) -> Words:
    return keyed_hash(unit.words(runs.units), key.words(runs.keys), secret)


def _listed(key: Column, listed: object) -> tuple[Array, npt.NDArray[np.intp], Any]:
    """Return the listed keys, and for each entry with one of them the place of the key."""
    wanted = read_entries("listed", listed)
    identities = [identify(x) for x in wanted]
    if None in identities or len(set(identities)) != len(identities):
        raise ValueError("listed must be one column of different keys, none of them missing")
    known = sorted(
        (code, place)
        for place, identity in enumerate(identities)
        if identity is not None and (code := key.find(identity)) is not None
    )
    codes = np.array([code for code, _ in known], dtype=np.uint64)
    places = np.array([place for _, place in known], dtype=np.intp)
    found = np.flatnonzero(np.isin(key.codes, codes))
    return wanted, places[np.searchsorted(codes, key.codes[found])], found
