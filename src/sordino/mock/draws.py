# SPDX-License-Identifier: Apache-2.0
"""Invented numbers that are the same everywhere: hashes of row numbers, and what is made of them.

No noise is drawn here, and nothing that must be kept from anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]
Shares: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]


def mix(numbers: Words, column: int) -> Words:
    """Return a hash of each number, another one for each column."""
    mixed = numbers + np.uint64(column * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def share(hashes: Words) -> Shares:
    """Return numbers from 0 to below 1."""
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def weighted(hashes: Words, percents: Sequence[int]) -> Places:
    """Return places, each as often as its percentage says."""
    ends = np.cumsum(percents)
    places: Places = np.searchsorted(ends, share(hashes) * ends[-1], side="right")
    return places


def skewed(hashes: Words, size: int) -> Places:
    """Return places of which the first are the most frequent by far."""
    return (share(hashes) ** 2.2 * size).astype(np.intp)


class Draws:
    """Draws for one column of a table that is named by a text; each kind of draw by its own name.

    >>> draws = Draws("the text of a catalog", "visits.cost", 1000)
    >>> bool((draws.share("value") == draws.share("value")).all())
    True
    """

    def __init__(self, *names: Any) -> None:
        *words, self.size = names
        self._text = "\0".join(map(str, words))

    def hashes(self, purpose: str) -> Words:
        """Return a hash of each row."""
        key = int.from_bytes(sha256(f"{self._text}\0{purpose}".encode()).digest()[:8], "big")
        return mix(np.arange(self.size, dtype=np.uint64) + np.uint64(key % 2**32), key)

    def share(self, purpose: str) -> Shares:
        """Return a number from 0 to below 1 for each row."""
        return share(self.hashes(purpose))

    def rare(self, purpose: str, chance: float) -> npt.NDArray[np.bool_]:
        """Return which rows something happens to that seldom happens."""
        picked: npt.NDArray[np.bool_] = self.share(purpose) < chance
        return picked
