# SPDX-License-Identifier: Apache-2.0
"""How many units lie between two data sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from sordino.exact.rational import is_integer
from sordino.sensitivity.neighbours import Neighbours, read_neighbours
from sordino.sensitivity.reading import is_missing, number_of

_MISSING = ("missing",)  # equal to no record: records that are tuples become longer ones


def distance(one: object, other: object, *, neighbours: str) -> int:
    """Return the least number of steps from neighbour to neighbour between two data sets.

    A data set is a list of records, an array, a column or a table of pandas, whose rows are the
    records; the order of records does not matter. A mapping is a histogram: how often each record
    occurs. Numbers are equal if their values are, missing entries are all equal.

    With add_remove it is the L1 distance of the histograms, and of one data set from nothing, its
    number of records. With replace_one it is half of that, and both must be of one size.

    >>> distance([1, 3, 5, 5], [1, 3, 5], neighbours="add_remove")
    1
    >>> distance([1, 3, 5, 5], [3, 4, 5, 5], neighbours="replace_one")
    1
    >>> distance({1: 1, 3: 1, 5: 2}, {3: 1, 4: 1, 5: 2}, neighbours="add_remove")
    2

    Guarantee:
        Neighbours: as given.
        Loss: not private; it tells about the data.
        Numerics: exact.
        Proof: docs/proofs/sensitivity.md, theorem 11.
    """
    relation = read_neighbours(neighbours)
    _same_columns(one, other)
    here, there = _histogram(one), _histogram(other)
    apart = (here - there).total() + (there - here).total()
    if relation is Neighbours.add_remove:
        return apart
    if here.total() != there.total():
        raise ValueError(
            "data sets of two sizes are no number of replacements apart; use add_remove"
        )
    return apart // 2


def _histogram(data: object) -> Counter[Hashable]:
    if isinstance(data, Mapping):
        return _counted(data)
    return Counter(map(_key, _records(data)))


def _counted(counts: Mapping[Any, object]) -> Counter[Hashable]:
    histogram: Counter[Hashable] = Counter()
    for record, times in counts.items():
        if not is_integer(times):
            raise TypeError(f"a histogram holds whole numbers, not {type(times).__name__}")
        if times < 0:
            raise ValueError("a histogram holds numbers that are not negative")
        histogram[_key(record)] += int(times)
    return histogram


def _records(data: Any) -> Iterable[object]:
    """Return the records one by one; the rows of a table are tuples."""
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError("masked arrays are not read; fill them with .filled(...) first")
    if hasattr(data, "itertuples"):
        return data.itertuples(index=False, name=None)  # type: ignore[no-any-return]
    if isinstance(data, np.ndarray):
        if data.ndim not in (1, 2):
            raise TypeError("an array must be one column of records or a table of rows")
        return data if data.ndim == 1 else map(tuple, data)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise TypeError(f"a data set must be a list of records, not {type(data).__name__}")
    return data


def _key(record: object) -> Hashable:
    """Return what equal records have in common, and no others."""
    if isinstance(record, tuple | list | np.ndarray):
        return ("record", *map(_key, record))
    if is_missing(record):
        return _MISSING
    number = number_of(record)
    if number is not None:
        return number
    if not isinstance(record, Hashable):
        raise TypeError(f"records must be values or tuples of them, not {type(record).__name__}")
    return record


def _same_columns(one: object, other: object) -> None:
    both = [getattr(data, "columns", None) for data in (one, other)]
    if both[0] is not None and both[1] is not None and list(both[0]) != list(both[1]):
        raise ValueError("both tables must have the same columns, in the same order")
