# SPDX-License-Identifier: Apache-2.0
"""Finding the place of each of many codes among the distinct ones, faster than by sorting places.

The distinct codes are put into a table with four times as many slots. A code tries the slots that
its hash names, one after the other, until it finds itself; the hash only decides how long that
takes. Whole arrays take one step at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]

_BLOCK = 1 << 18
_MOST_TRIES = 40  # more than this many slots are tried only for codes chosen to have one hash
_GOLDEN, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


def factorise(codes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Places]:
    """Return the distinct 64-bit integers in their order, and the place of each entry among them.

    Guarantee: none needed; private, as the data is.
    """
    ordered = np.sort(codes)
    new = np.ones(codes.size, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    distinct = ordered[new]
    places = places_of(codes.view(np.uint64), distinct.view(np.uint64))
    if places is None:
        places = np.searchsorted(distinct, codes)
    return distinct, places


def places_of(codes: Words, distinct: Words) -> Places | None:
    """Return the place of each code among the distinct ones, or None if their hashes are too alike.

    Guarantee: none needed; private, as the data is.
    """
    bits = max((4 * distinct.size - 1).bit_length(), 1)
    table = _fill(distinct, bits)
    if table is None:
        return None
    found = np.empty(codes.size, dtype=np.intp)
    for start in range(0, codes.size, _BLOCK):
        block = codes[start : start + _BLOCK]
        places = table[_slots(block, 0, bits)]
        missed = np.flatnonzero(distinct[places] != block)
        tries = 1
        while missed.size:
            places[missed] = table[_slots(block[missed], tries, bits)]
            missed = missed[distinct[places[missed]] != block[missed]]
            tries += 1
        found[start : start + _BLOCK] = places
    return found


def _fill(distinct: Words, bits: int) -> Places | None:
    """Put each place into the first slot of its code that is free; None after too many tries."""
    table = np.full(1 << bits, -1, dtype=np.intp)
    left = np.arange(distinct.size, dtype=np.intp)
    for tries in range(_MOST_TRIES):
        slots = _slots(distinct[left], tries, bits)
        free = table[slots] < 0
        table[slots[free]] = left[free]
        left = left[table[slots] != left]
        if left.size == 0:
            return table
    return None


def _slots(codes: Words, tries: int, bits: int) -> Places:
    """Return the slot that each code tries after so many others."""
    mixed = codes * _GOLDEN
    if tries:
        mixed += np.uint64(tries) * ((codes ^ (codes >> np.uint64(32))) * _OTHER | np.uint64(1))
    return (mixed >> np.uint64(64 - bits)).astype(np.intp)
