# SPDX-License-Identifier: Apache-2.0
"""Keys of any kind, and an order among them that no other key has a say in."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

Place: TypeAlias = "tuple[int, Any, str, str]"

_ONE_COLUMN = "keys must be one column, such as a list"
_NUMBERS, _TEXTS, _BYTES, _DATES, _TUPLES, _OTHERS = range(6)
_BOXED = np.number | np.bool_ | np.str_ | np.bytes_  # a list may hold them beside Python's own
_SCALARS = "biufUSO"  # kinds of arrays whose entries Python has types of its own for


def read_keys(keys: object) -> list[Any]:
    """Return the keys one by one, none changed because of another one.

    Guarantee: none needed; private, as the data is.
    """
    if isinstance(keys, np.ndarray):
        if keys.ndim != 1 or isinstance(keys, np.ma.MaskedArray):
            raise TypeError(_ONE_COLUMN)
        return keys.tolist() if keys.dtype.kind in _SCALARS else list(keys)
    if isinstance(keys, str | bytes) or hasattr(keys, "columns") or not isinstance(keys, Iterable):
        raise TypeError(_ONE_COLUMN)
    return [key.item() if isinstance(key, _BOXED) else key for key in keys]


def place(key: object) -> Place:
    """Return what keys are sorted by: numbers by size, texts, dates, tuples, and then all others.

    Two keys have one place only if they are the same: 1, 1.0 and True are three keys, 0.0 and -0.0
    are two, and all NaN of one type are one. Keys of other types are told apart by their ``repr``.

    >>> sorted(["b", 2, 1.5, "a", (2, "x")], key=place)
    [1.5, 2, 'a', 'b', (2, 'x')]

    Guarantee: none needed; a function of this key alone.
    """
    kind = f"{type(key).__module__}.{type(key).__qualname__}"
    if isinstance(key, tuple):
        return _TUPLES, tuple(map(place, key)), kind, ""
    for kinds, rank, rule in _RULES:
        if isinstance(key, kinds):
            value, rest = rule(key)
            return rank, value, kind, rest
    return _OTHERS, repr(key), kind, ""


def _real(key: Any) -> tuple[float, str]:
    """Sort NaN behind infinity; the sign of a zero and more digits are in the repr alone."""
    value = float(key)
    return math.inf if math.isnan(value) else value, repr(key)


_RULES: tuple[tuple[tuple[type, ...], int, Callable[[Any], tuple[Any, str]]], ...] = (
    ((np.timedelta64,), _OTHERS, lambda key: (repr(key), "")),  # which numpy counts as an integer
    ((bool, np.bool_, int, np.integer), _NUMBERS, lambda key: (int(key), "")),
    ((float, np.floating), _NUMBERS, _real),
    ((str,), _TEXTS, lambda key: (str(key), "")),
    ((bytes,), _BYTES, lambda key: (bytes(key), "")),
    ((datetime.date,), _DATES, lambda key: (key.isoformat(), repr(key))),
    ((np.datetime64,), _DATES, lambda key: (str(key), str(key.dtype))),
)
