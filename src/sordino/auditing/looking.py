# SPDX-License-Identifier: Apache-2.0
"""Looking into one output of any type: its numbers in order, and all the rest in words."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import AsyncIterable, Awaitable, Collection, Iterator, Mapping, Set
from datetime import date, datetime, timedelta
from enum import Enum
from numbers import Complex, Integral, Real
from typing import Any

import numpy as np

PLACE = "\0"  # stands for a number in the words of an output; no repr holds it
_TEXT = "\1"  # stands for a text in the form of an output
_MOST_PARTS = 4096
_DEEPEST = 32
_LARGEST_EXACT = 2**53  # integers above it are rounded when they become floats
_DIGITS = (1 << 32) - 1
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclasses.dataclass
class Parts:
    """The parts of an output, one after the other: each a number (NaN if it is none) or a text.

    ``words`` is the whole output in words with `PLACE` for the numbers; ``form`` is what is left
    of it without the texts: keys, columns, and how many parts there are.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    numbers: list[float] = dataclasses.field(default_factory=list)
    digits: list[float] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    texts: list[str] = dataclasses.field(default_factory=list)
    form: str = ""
    words: str = ""

    def number(self, value: Any, name: str) -> str:
        self.numbers.append(as_float(value))
        self.digits.append(low_digits(value))
        self.names.append(name)
        return PLACE

    def text(self, text: str, name: str, number: float = math.nan) -> str:
        self.numbers.append(number)
        self.digits.append(0.0)
        self.names.append(name)
        self.texts.append(text)
        return _TEXT


def parts_of(output: object) -> Parts:
    """Look into an output: fields, keys, items, columns and rows, however deep they lie.

    >>> parts_of({"a": "x", "b": [1, 2.5]}).numbers
    [nan, 1.0, 2.5]

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
    parts = Parts()
    form = _look(output, parts, "", (id(output),))
    texts = iter(parts.texts)
    parts.words = "".join(next(texts) if one == _TEXT else one for one in form)
    parts.form = form.replace(_TEXT, "...").replace(PLACE, "...")
    return parts


def refusal(output: object) -> ValueError:
    """Return the error for an output that shows nothing of what it holds.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
    return ValueError(
        f"the outputs are {type(output).__name__} objects that an audit cannot look into; "
        "return their numbers or words"
    )


def as_float(value: Any) -> float:
    """Return a number as a float; what is too large for one is infinite.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def low_digits(value: Any) -> float:
    """Return the last binary digits of an integer that is too large for a float, else 0.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
    if not isinstance(value, Integral) or abs(int(value)) <= _LARGEST_EXACT:
        return 0.0
    return float(int(value) & _DIGITS)


def number_in(text: str | bytes) -> float:
    """Return the number that a string is in words; NaN if it is none.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
    try:
        return float(text)
    except ValueError:
        return math.nan


def _look(value: Any, parts: Parts, name: str, above: tuple[int, ...]) -> str:
    if len(parts.numbers) > _MOST_PARTS or len(above) > _DEEPEST:
        raise ValueError(
            f"the outputs have more than {_MOST_PARTS} parts or are more than {_DEEPEST} deep; "
            "audit a mechanism that returns some of them"
        )
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, (bytearray, memoryview)):
        value = bytes(value)
    told = _leaf(value, parts, name)
    return _look_inside(value, parts, name, above) if told is None else told


def _leaf(value: Any, parts: Parts, name: str) -> str | None:
    """Keep a number or a text and return it in words; None for anything that holds others."""
    if isinstance(value, (Real, np.number)) or type(value).__name__ == "Decimal":
        return parts.number(value, name)
    if isinstance(value, Complex):
        real = parts.number(value.real, f"{name}, real part")
        return f"({real}, {parts.number(value.imag, f'{name}, imaginary part')})"
    if isinstance(value, (str, bytes)):
        return parts.text(repr(value), name, number_in(value))
    if value is None or isinstance(value, (Enum, type, os.PathLike)):
        return parts.text(repr(value), name)
    if isinstance(value, (date, timedelta)):
        return f"{type(value).__name__}({parts.number(_moment(value), name)})"
    return None


def _look_inside(value: Any, parts: Parts, name: str, above: tuple[int, ...]) -> str:
    if isinstance(value, (Iterator, Awaitable, AsyncIterable)):
        raise refusal(value)
    held = _named_parts(value)
    if held is None:
        return parts.text(_shown(value), name)
    told = []
    for label, item in held:
        if id(item) in above:
            told.append("...")
            continue
        inner = f"{name}, {label}" if name else label
        told.append(f"{_key(label)}{_look(item, parts, inner, (*above, id(item)))}")
    kind = "" if type(value) in (list, tuple, dict, set) else type(value).__name__
    opening, closing = "{}" if isinstance(value, (Mapping, Set)) else "()"
    if isinstance(value, list):
        opening, closing = "[]"
    return f"{kind}{opening}{', '.join(told)}{closing}"


def _key(label: str) -> str:
    """Return what stands before a part in words; places go without."""
    sort, _, rest = label.partition(" ")
    return "" if sort == "coordinate" else f"{rest if sort in ('key', 'field') else label}: "


def _named_parts(value: Any) -> list[tuple[str, Any]] | None:
    """Return the parts of a container, a frame or an object with fields; None for all others."""
    if isinstance(value, Mapping):
        return [(f"key {key!r}", item) for key, item in value.items()]
    if hasattr(value, "columns") and hasattr(value, "dtypes"):
        return _frame(value)
    if hasattr(value, "dtype") and hasattr(value, "name") and hasattr(value, "to_numpy"):
        return [*_labels(value), ("name", value.name), *_numbered(value.to_numpy().tolist())]
    if hasattr(value, "to_pydict"):
        return _named_parts(value.to_pydict())
    items = _items(value)
    return _fields(value) if items is None else _numbered(items)


def _items(value: Any) -> list[Any] | None:
    """Return what an array, a set or a sequence holds, a set in order; None for all others."""
    if hasattr(value, "to_pylist"):
        value = value.to_pylist()
    if hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if isinstance(value, Set):
        plain = all(isinstance(item, Real) for item in value)
        return sorted(value) if plain else sorted(value, key=repr)
    return list(value) if isinstance(value, Collection) else None


def _numbered(items: list[Any]) -> list[tuple[str, Any]]:
    return [(f"coordinate {place}", item) for place, item in enumerate(items, start=1)]


def _frame(value: Any) -> list[tuple[str, Any]]:
    """Return the columns of a table, their names and types, and the names of the rows."""
    columns = list(value.columns)
    held = [*_labels(value), ("types", [str(sort) for sort in value.dtypes])]
    for place, column in enumerate(columns):
        values = value.iloc[:, place] if hasattr(value, "iloc") else value[column]
        held += [
            (f"column {column!r}, row {row}", item)
            for row, item in enumerate(values.to_numpy().tolist(), start=1)
        ]
    return [*held, ("columns", [*columns, *getattr(getattr(value, "columns", None), "names", ())])]


def _labels(value: Any) -> list[tuple[str, Any]]:
    index = getattr(value, "index", None)
    if index is None or callable(index):
        return []
    labels = repr(index) if type(index).__name__ == "RangeIndex" else index.tolist()
    return [("index", labels), ("names", list(index.names))]


def _fields(value: Any) -> list[tuple[str, Any]] | None:
    """Return the fields of an object that a class of Python made; None if it has no such."""
    if callable(value) or isinstance(value, BaseException):
        return None
    slots = [
        slot
        for made in type(value).__mro__
        for slot in _slots(made)
        if slot not in ("__dict__", "__weakref__")
    ]
    names = [*slots, *getattr(value, "__dict__", ())]
    held = [(f"field {name}", getattr(value, name)) for name in names if hasattr(value, name)]
    return held or None


def _slots(made: type) -> tuple[str, ...]:
    slots = made.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _shown(value: object) -> str:
    """Return what an object says of itself, unless that is only where it lies in memory."""
    text = repr(value)
    if _ADDRESS.search(text):
        raise refusal(value)
    return text


def _moment(value: date | timedelta) -> float:
    """Return a time in seconds, or a day as a number."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=value.tzinfo)).total_seconds()
    return float(value.toordinal())
