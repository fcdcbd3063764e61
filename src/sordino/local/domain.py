# SPDX-License-Identifier: Apache-2.0
"""The categories that people choose among: public labels, and their codes 0, 1, 2, ..."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.rational import is_integer

Label: TypeAlias = "str | int | bool"
Codes: TypeAlias = npt.NDArray[np.int64]

MOST_CATEGORIES = 1 << 24
_ONE = (str, bytes, bool, int, float, np.generic)


@dataclass(frozen=True)
class Domain:
    """Distinct labels, all of one kind; a number k stands for the labels 0 to k - 1."""

    labels: tuple[Label, ...] | range

    def __len__(self) -> int:
        return len(self.labels)

    def codes(self, values: object) -> tuple[Codes, bool]:
        """Return the code of each value, and whether a single value was given."""
        if isinstance(values, Set | Mapping):
            raise TypeError(_SHAPE)
        single = isinstance(values, _ONE) or values is None
        column = np.asarray([values]) if single else values
        if isinstance(self.labels, range):
            found = self._numbers(column)
        else:
            found = self._looked_up([values] if single else column)
        return found, single

    def _numbers(self, values: object) -> Codes:
        try:
            array = np.asarray(values)
        except ValueError:  # lists of different lengths
            raise ValueError(_SHAPE) from None
        if array.ndim != 1:
            raise ValueError(_SHAPE)
        if isinstance(values, np.ma.MaskedArray) and values.mask.any():
            self._refuse(np.ma.getmaskarray(values))
        if array.size == 0:
            return np.empty(0, dtype=np.int64)
        if array.dtype.kind not in "iu":
            raise TypeError(
                f"the categories are the whole numbers from 0 to {len(self) - 1}, and values of "
                "another kind were given; give whole numbers without gaps"
            )
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= len(self):
            self._refuse((array < 0) | (array >= len(self)))
        return array.astype(np.int64, copy=False)

    def check(self, codes: Codes) -> Codes:
        """Return codes, if they are still those of categories: their array may be another's too."""
        if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < len(self):
            raise ValueError("the values were changed while they were encoded; leave them alone")
        return codes

    def _looked_up(self, values: object) -> Codes:
        import pyarrow as pa  # slow to load
        import pyarrow.compute as pc

        try:
            column: Any = values if _is_arrow(values) else pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, KeyError):
            raise TypeError(_MIXED) from None
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if not len(column):
            return np.empty(0, dtype=np.int64)
        if not self._fits(column.type):
            raise TypeError(
                f"the categories are {_KINDS[type(self.labels[0])]}, and values of another kind "
                "were given; give values of that kind"
            )
        if pa.types.is_integer(column.type):
            column = _in_64_bits(column)
        elif pa.types.is_large_string(column.type):
            column = column.cast(pa.string())
        places = pc.index_in(column, value_set=self._set)
        unknown = places.is_null().to_numpy(zero_copy_only=False)
        if unknown.any():
            self._refuse(unknown)
        codes: Codes = places.to_numpy(zero_copy_only=False).astype(np.int64)
        return codes

    def _fits(self, kind: Any) -> bool:
        import pyarrow as pa  # slow to load

        first = self.labels[0]
        if isinstance(first, bool):
            return bool(pa.types.is_boolean(kind))
        if isinstance(first, int):
            return bool(pa.types.is_integer(kind))
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    @cached_property
    def _set(self) -> Any:
        import pyarrow as pa  # slow to load

        return pa.array(list(self.labels))

    def _refuse(self, unknown: npt.NDArray[np.bool_]) -> None:
        """Complain about values that are no category, without showing one."""
        many, first = int(unknown.sum()), int(np.argmax(unknown))
        shown = ", ".join(repr(label) for label in list(self.labels[:_SHOWN]))
        more = ", ..." if len(self) > _SHOWN else ""
        raise ValueError(
            f"{many:,} of {unknown.size:,} values are none of the {len(self):,} categories ({shown}"
            f"{more}), the first is number {first + 1:,}; mend them, or add a category for them"
        )


def _in_64_bits(column: Any) -> Any:
    """Return whole numbers as int64; those that do not fit, which are no labels, are missing."""
    import pyarrow as pa  # slow to load
    import pyarrow.compute as pc

    if column.type == pa.uint64():
        large = pc.greater(column, pa.scalar((1 << 63) - 1, pa.uint64()))
        column = pc.if_else(large, pa.scalar(None, pa.uint64()), column)
    return column.cast(pa.int64())


def _is_arrow(values: object) -> bool:
    import pyarrow as pa  # slow to load

    return isinstance(values, pa.Array | pa.ChunkedArray)


_SHOWN = 10
_SHAPE = "values must be a single value or a column of values"
_MIXED = "values must be a column of one kind: text, whole numbers or booleans"
_KINDS = {str: "text", int: "whole numbers", bool: "booleans"}


def read_domain(categories: object) -> Domain:
    """Read what the categories are: their labels, or how many there are.

    >>> len(read_domain(3)), read_domain(["no", "yes"]).labels
    (3, ('no', 'yes'))
    """
    if is_integer(categories):
        labels: tuple[Label, ...] | range = range(int(categories))
    elif isinstance(categories, range):
        labels = categories if categories == range(len(categories)) else tuple(categories)
    elif isinstance(categories, Set | Mapping):
        raise TypeError("categories must be a list, which has an order that all sides share")
    elif isinstance(categories, Iterable) and not isinstance(categories, str | bytes):
        labels = tuple(_label(label) for label in categories)
    else:
        raise TypeError("categories must be a list of labels, or how many there are")
    if len(labels) < 2:
        raise ValueError(
            f"there must be at least 2 categories, got {max(len(labels), 0)}: one answer alone "
            "tells nothing"
        )
    if len(labels) > MOST_CATEGORIES:
        raise ValueError(
            f"there may be at most {MOST_CATEGORIES:,} categories; for more, look for the most "
            "frequent ones with HeavyHitters"
        )
    if isinstance(labels, tuple):
        if len({type(label) for label in labels}) > 1:
            raise TypeError("categories must all be of one kind: text, whole numbers or booleans")
        if len(set(labels)) < len(labels):
            raise ValueError("categories must be distinct")
    return Domain(labels)


def _label(label: object) -> Label:
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, str) and not _is_text(label):
        raise ValueError("categories must be whole text, without halves of characters")
    if isinstance(label, bool | str):
        return label
    if is_integer(label) and -(1 << 63) <= label < 1 << 63:
        return int(label)
    raise TypeError("categories must be text, whole numbers of 64 bits, or booleans")


def _is_text(label: str) -> bool:
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True
