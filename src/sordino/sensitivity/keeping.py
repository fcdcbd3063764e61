# SPDX-License-Identifier: Apache-2.0
"""Which groups of a unit are kept, and which rows of a group: an order by keyed hashes.

The choice for one unit is made from the rows of that unit and from the secret alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.exact.hashing import Words, keyed_hash
from sordino.sensitivity.columns import Column
from sordino.sensitivity.runs import Runs

Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

_CHUNK = 1 << 18  # rows hashed at a time


def candidates(unit: Column, key: Column, groups: int, secret: bytes) -> Places:
    """Return the rows of the first ``groups`` keys of each unit, and of few others.

    Unit and hash are packed into one word, with fewer bits of the hash than there are: two keys of
    a unit that agree in those bits count as one here, so that too many rows may pass, never too
    few. Sorting single words is many times as fast as sorting pairs.

    Guarantee: none needed; private, as the data is.
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
    """Return the entries to keep: of a unit with too many, the first by hash, then by key.

    Guarantee: none needed; private, as the data is.
    """
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

    Guarantee: none needed; private, as the data is.
    """
    order = np.lexsort((numbers, owners))
    numbers, pairs = numbers[order], pairs[order]  # owners stay as they are
    new = np.concatenate([[True], (numbers[1:] != numbers[:-1]) | (owners[1:] != owners[:-1])])
    turns = np.arange(new.size) - np.maximum.accumulate(np.where(new, np.arange(new.size), 0))
    hashes = keyed_hash(keyed_hash(pairs, numbers, secret, purpose="rows"), turns, secret,
                        purpose="turns")  # fmt: skip
    drawn = np.lexsort((turns, numbers, hashes, owners))
    return order[drawn[_rank(owners[drawn].astype(np.uint64)) >= rows]]
