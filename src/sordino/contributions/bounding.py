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
    factorise,
    identify,
    on_grid,
    read_column,
    read_numbers,
)
from sordino.numbers.columns import clamping_door, read_entries
from sordino.numbers.rational import Integer, Number, positive_whole
from sordino.randomness.hashing import Words, keyed_hash, read_secret
from sordino.sensitivity.norms import Bounds, Units, read_bounds

Integers = npt.NDArray[np.int64]

_HALF_WORD = 32
_EXACT_DOUBLE = 1 << 53  # whole numbers up to this are exact as doubles
_SPARE = 4  # so many times as many places as entries may a table have


class Runs(NamedTuple):
    """The distinct pairs of a unit and a key, in their order, and how many rows each has."""

    units: Words
    keys: Words
    counts: Integers


def runs_of(
    units: Words, span: int, keys: Words, *, sort: bool
) -> tuple[Runs, npt.NDArray[np.intp] | slice]:
    """Return the runs, and with ``sort`` the order that sorts the rows by unit and key."""
    if units.size == 0:
        nothing = np.empty(0, dtype=np.uint64)
        return Runs(nothing, nothing, nothing.astype(np.int64)), slice(None)
    unit_bits = max(1, (span - 1).bit_length())
    least, known = int(keys.min()), None
    key_bits = max(1, (int(keys.max()) - least).bit_length())
    if unit_bits + key_bits > 64:
        known, inverse = np.unique(keys, return_inverse=True)
        keys, least = inverse.view(np.uint64), 0
        key_bits = max(1, (known.size - 1).bit_length())
    shift = np.uint64(key_bits)
    packed = (units << shift) | (keys - np.uint64(least))
    order: npt.NDArray[np.intp] | slice = np.argsort(packed) if sort else slice(None)
    ranked = packed[order] if sort else np.sort(packed)
    first = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    counts = np.diff(np.concatenate([first, [ranked.size]]))
    pairs = ranked[first]
    codes = pairs & np.uint64((1 << key_bits) - 1)
    codes = known[codes.astype(np.intp)] if known is not None else codes + np.uint64(least)
    return Runs(pairs >> shift, codes, counts), order


def distinct_of(codes: Words) -> tuple[Words, npt.NDArray[np.intp]]:
    """Return the distinct codes in their order, and the place of each entry's code among them."""
    if codes.size:
        least = codes.min()
        span = int(codes.max()) - int(least) + 1
        if span <= _SPARE * codes.size:
            offsets = (codes - least).astype(np.intp)
            present = np.bincount(offsets, minlength=span) > 0
            places = np.cumsum(present) - 1
            return np.flatnonzero(present).astype(np.uint64) + least, places[offsets]
    return factorise(codes)


def add_by_place(places: npt.NDArray[np.intp], numbers: Integers, size: int) -> npt.NDArray[Any]:
    """Add up the numbers of each place from 0 to ``size - 1``, exactly."""
    largest = max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))
    if largest * numbers.size < _EXACT_DOUBLE:
        return np.bincount(places, weights=numbers, minlength=size).astype(np.int64)
    order = np.argsort(places, kind="stable")
    return add_up(numbers[order], np.bincount(places, minlength=size))


def add_up(
    numbers: Integers, counts: Integers, *, low: int | None = None, high: int | None = None
) -> npt.NDArray[Any]:
    """Add up runs of ``counts`` numbers each, exactly; with bounds, clamp the sums to them.

    Without bounds, sums beyond 64 bits make the result an array of Python integers.
    """
    ends = np.cumsum(counts)
    used = np.flatnonzero(counts)
    largest = max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))
    longest = int(counts.max(initial=0))

    def sums(column: Integers) -> Integers:
        out = np.zeros(counts.size, dtype=np.int64)
        if used.size:
            out[used] = np.add.reduceat(column, (ends - counts)[used])
        return out

    if largest * longest < 1 << 62:
        total = sums(numbers)
        return total if low is None or high is None else np.clip(total, low, high)
    # Each half of a number has 32 bits, so that sums of halves do not overflow.
    tops, rests = sums(numbers >> _HALF_WORD), sums(numbers & ((1 << _HALF_WORD) - 1))
    tops += rests >> _HALF_WORD
    rests &= (1 << _HALF_WORD) - 1
    if low is None or high is None:
        whole: npt.NDArray[Any] = tops.astype(object) * (1 << _HALF_WORD) + rests.astype(object)
        return whole
    beyond = 1 << (62 - _HALF_WORD)
    clear = (tops < beyond) & (tops >= -beyond)
    within = np.where(clear, (np.where(clear, tops, 0) << _HALF_WORD) | rests, 0)
    return np.clip(np.where(clear, within, np.where(tops < 0, low, high)), low, high)


Places = npt.NDArray[np.intp]

_CHUNK = 1 << 18  # rows hashed at a time


def candidates(unit: Column, key: Column, groups: int, secret: bytes) -> Places:
    """Return the rows of the first ``groups`` keys of each unit, and of few others.

    Unit and hash are packed into one word, with fewer bits of the hash than there are: two keys of
    a unit that agree in those bits count as one here, so that too many rows may pass, never too
    few. Sorting single words is many times as fast as sorting pairs.
    """
    if unit.codes.size == 0:
        return np.empty(0, dtype=np.intp)
    shift = np.uint64(_hash_bits(unit.span))
    packed = np.empty_like(unit.codes)
    for start in range(0, packed.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        codes = unit.codes[part]
        hashes = keyed_hash(unit.words(codes), key.words(key.codes[part]), secret)
        packed[part] = (codes << shift) | (hashes >> (np.uint64(64) - shift))
    ranked = np.sort(packed)
    ranked = ranked[np.concatenate([[True], ranked[1:] != ranked[:-1]])]
    owners = (ranked >> shift).astype(np.intp)
    first = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
    last = np.concatenate([first[1:], [owners.size]]) - 1
    highest = np.zeros(unit.span, dtype=np.uint64)
    highest[owners[first]] = ranked[np.minimum(first + min(groups, owners.size) - 1, last)]
    del ranked, owners
    keep = np.empty(packed.size, dtype=np.bool_)
    for start in range(0, packed.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        keep[part] = packed[part] <= highest[unit.codes[part].astype(np.intp)]
    return np.flatnonzero(keep)


def _hash_bits(span: int) -> int:
    """Return how many bits of a hash fit beside the code of a unit."""
    return 64 - max(1, (span - 1).bit_length())


def settle(runs: Runs, unit: Column, key: Column, groups: int, secret: bytes) -> Places:
    """Return the entries to keep: of a unit with too many, the first by hash, then by key."""
    if runs.units.size == 0:
        return np.empty(0, dtype=np.intp)
    first = np.flatnonzero(np.concatenate([[True], runs.units[1:] != runs.units[:-1]]))
    sizes = np.diff(np.concatenate([first, [runs.units.size]]))
    keep = np.ones(runs.units.size, dtype=np.bool_)
    crowded = np.flatnonzero(np.repeat(sizes > groups, sizes))
    if crowded.size:
        owners, codes = runs.units[crowded], runs.keys[crowded]
        hashes = keyed_hash(unit.words(owners), key.words(codes), secret)
        order = np.lexsort((codes, hashes, owners))
        keep[crowded[order[_rank(owners[order]) >= groups]]] = False
    return np.flatnonzero(keep)


def _rank(owners: Words) -> Integers:
    """Number the entries of each owner from 0; owners are sorted."""
    first = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
    sizes = np.diff(np.concatenate([first, [owners.size]]))
    return np.arange(owners.size) - np.repeat(first, sizes)


def surplus(numbers: Integers, owners: Places, pairs: Words, rows: int, secret: bytes) -> Places:
    """Return the places of the rows beyond the limit; owners are sorted.

    Rows have no names, so equal values are numbered, in any order: the multiset that is kept is the
    same for all of them.
    """
    order = np.lexsort((numbers, owners))
    numbers, pairs = numbers[order], pairs[order]  # owners stay as they are
    new = np.concatenate([[True], (numbers[1:] != numbers[:-1]) | (owners[1:] != owners[:-1])])
    turns = np.arange(new.size) - np.maximum.accumulate(np.where(new, np.arange(new.size), 0))
    hashes = keyed_hash(keyed_hash(pairs, numbers, secret, purpose="rows"), turns, secret,
                        purpose="turns")  # fmt: skip
    drawn = np.lexsort((turns, numbers, hashes, owners))
    return order[drawn[_rank(owners[drawn].astype(np.uint64)) >= rows]]


Array = npt.NDArray[Any]

_FINEST = 30  # bits of the largest bound on the grid that reals are rounded to
_LIMIT = LARGEST // 4  # of a bound on the grid


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
        if max(steps.max(initial=0), -steps.min(initial=0)) <= _EXACT_DOUBLE:
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
    wanted = read_entries(clamping_door("listed"), listed)
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
