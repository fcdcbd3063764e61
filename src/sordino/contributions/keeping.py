# SPDX-License-Identifier: Apache-2.0
"""Which groups of a unit are kept, and which rows of a group: an order by keyed hashes.

The choice for one unit is made from the rows of that unit and from the secret alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.contributions.columns import Column, factorise
from sordino.randomness.hashing import Words, keyed_hash

Integers = npt.NDArray[np.int64]

_HALF_WORD = 32
_EXACT = 1 << 53  # sums of doubles up to this are exact
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
    if largest * numbers.size < _EXACT:
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
