# SPDX-License-Identifier: Apache-2.0
"""All data sets of a small universe, and which of them are neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.sensitivity.neighbours import Neighbours

Table: TypeAlias = npt.NDArray[Any]
Places: TypeAlias = tuple[int, ...]  # of the records in the universe

MOST_DATASETS = 200_000
MOST_PAIRS = 5_000_000
_MOST_RECORDS = 10_000


class Space(NamedTuple):
    """All data sets of some sizes, as places of records in the universe.

    Guarantee: none needed; public inputs only.
    """

    kinds: int
    fewest: int
    most: int
    ordered: bool

    def number(self, size: int) -> int:
        """Return how many data sets of a size there are."""
        return self.kinds**size if self.ordered else math.comb(self.kinds + size - 1, size)

    def of(self, size: int) -> Iterable[Places]:
        """Return all data sets of a size."""
        if self.ordered:
            return itertools.product(range(self.kinds), repeat=size)
        return itertools.combinations_with_replacement(range(self.kinds), size)

    def all(self) -> Iterable[Places]:
        """Return all data sets."""
        return itertools.chain.from_iterable(map(self.of, range(self.fewest, self.most + 1)))

    def bigger(self, base: Places) -> Iterable[list[Places]]:
        """Yield the data sets with one record more, of every kind, for each place it can take."""
        kinds = range(self.kinds)
        if not self.ordered:
            yield [tuple(sorted((*base, kind))) for kind in kinds]
            return
        for place in range(len(base) + 1):
            yield [(*base[:place], kind, *base[place:]) for kind in kinds]

    def neighbours(
        self, data: list[Places], relation: Neighbours
    ) -> tuple[list[Table], list[Table]]:
        """Return the numbers of the data sets of all pairs, of the first and of the second.

        Both relations start from data sets with one record less: two that grew from the same one
        differ by a replacement.
        """
        number = {places: n for n, places in enumerate(data)}
        added = relation is Neighbours.add_remove
        bases, grown = [], []
        for size in range(self.fewest if added else self.fewest - 1, self.most):
            for base in self.of(size):
                for bigger in self.bigger(base):
                    bases.append(number.get(base, -1))
                    grown.append([number[places] for places in bigger])
        table = np.array(grown, dtype=np.int64).reshape(-1, self.kinds)
        if added:
            first = np.array(bases, dtype=np.int64)
            return [first] * self.kinds, list(table.T)
        pairs = list(itertools.combinations(range(self.kinds), 2))
        return [table[:, a] for a, _ in pairs], [table[:, b] for _, b in pairs]

    def refuse_too_many(self, relation: Neighbours) -> None:
        """Raise an error if there are more data sets or pairs than can be looked at."""
        if self.most > _MOST_RECORDS:
            raise ValueError(too_many("too many data sets of so many records", "a smaller size"))
        sizes = range(self.fewest, self.most + 1)
        total = sum(map(self.number, sizes))
        if total > MOST_DATASETS:
            raise ValueError(too_many(f"{_big(total)} data sets", "a smaller size or universe"))
        added = relation is Neighbours.add_remove
        each = self.kinds if added else self.kinds * (self.kinds - 1) // 2
        pairs = 0
        for larger in sizes[1:] if added else sizes:
            pairs += self.number(larger - 1) * each * (larger if self.ordered else 1)
        if pairs > MOST_PAIRS:
            what = f"{_big(pairs)} pairs of neighbours"
            raise ValueError(too_many(what, "a smaller size or universe"))


def too_many(what: str, way: str) -> str:
    """Say that there is too much to look at, and the way out.

    Guarantee: none needed; public inputs only.
    """
    return (
        f"there are {what}, and at most {MOST_DATASETS} data sets and {MOST_PAIRS} pairs are "
        f"looked at; take {way}"
    )


def _big(number: int) -> str:
    return str(number) if number < 10**15 else f"more than 10**{len(str(number)) - 1}"
