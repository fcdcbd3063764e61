# SPDX-License-Identifier: Apache-2.0
"""Reading what a mechanism returned: any Python object becomes numbers, a kind, words, a length."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Mapping, Sequence, Set
from numbers import Complex, Integral, Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.auditing.outputs import Floats, Outputs, Vocabulary

MOST_COORDINATES = 256
_LARGEST_EXACT = 2**53  # integers above it are rounded when they become floats
_DIGITS = (1 << 32) - 1
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_PLAIN = (bool, int, float, np.float64, np.int64, np.bool_)


class Raised(NamedTuple):
    """An error that a run ended with; it counts as an output."""

    kind: str


_SIMPLE = (str, bytes, type(None), Raised)  # read once for all that are equal


class Reader:
    """Turns outputs into arrays, with one vocabulary for all of them.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    def __init__(self) -> None:
        self.kinds = Vocabulary("something else", most=4096)
        self.words = Vocabulary("something else")

    def array(self, result: npt.NDArray[Any]) -> Outputs:
        """Read an array whose first axis is the runs."""
        rows = len(result)
        if result.dtype.kind in "US" and result.ndim == 1:
            return self._strings(result)
        if result.dtype.kind not in "buifc":
            return self.objects(list(result))
        length = -1 if result.ndim == 1 else math.prod(result.shape[1:])
        flat = result.reshape(rows, -1)
        kind = result.dtype.name if result.ndim == 1 else f"array of {result.dtype.name}"
        if flat.dtype.kind == "c":
            flat = np.stack([flat.real, flat.imag], axis=-1).reshape(rows, -1)
        return self._uniform(flat.astype(np.float64), kind, length=length, digits=_digits(flat))

    def objects(self, results: Sequence[object]) -> Outputs:
        """Read a sequence of Python objects."""
        types = set(map(type, results))
        if len(types) == 1:
            quick = self._alike(types.pop(), results)
            if quick is not None:
                return quick
        read = [_again(one) if type(one) in _SIMPLE else _read(one) for one in results]
        width = max((len(one.numbers) for one in read), default=0)
        _refuse_wide(width)
        numbers = np.full((len(read), width), np.nan)
        for place, one in enumerate(read):
            numbers[place, : len(one.numbers)] = one.numbers
        digits = None
        if any(one.digits for one in read):
            digits = np.zeros_like(numbers)
            for place, one in enumerate(read):
                digits[place, : len(one.digits)] = one.digits
        return Outputs(
            numbers,
            np.array([self.kinds.code(one.kind) for one in read], dtype=np.int64),
            np.array([self.words.code(one.words) if one.words else 0 for one in read], np.int64),
            np.array([one.length for one in read], dtype=np.int64),
            digits,
        )

    def shown(self, outputs: Outputs, place: int) -> str:
        """Return one output in words."""
        kind = self.kinds.word(int(outputs.kinds[place]))
        if kind.startswith("error "):
            return f"an {kind}"
        text, length = "", int(outputs.lengths[place])
        row = [f"{value:.10g}" for value in outputs.numbers[place][: abs(length)]]  # -1: one
        if outputs.words[place]:
            text = self.words.word(int(outputs.words[place]))
            if kind in ("str", "bytes") or not row or row[0] == "nan":
                return text
        if length >= 0:
            return f"{text}({', '.join(row[:8])}{', ...' if len(row) > 8 else ''})"
        return row[0] if row else kind

    def _alike(self, only: type, results: Sequence[Any]) -> Outputs | None:
        """Read plain numbers, or arrays of one shape, all at once; None if there are no such."""
        if only in _PLAIN:
            quick = _quick(results)
            return None if quick is None else self._uniform(quick[:, np.newaxis], only.__name__)
        if only is not np.ndarray or not results[0].ndim:
            return None
        if (
            len({(one.shape, one.dtype) for one in results}) > 1
            or results[0].dtype.kind not in "buif"
        ):
            return None
        flat = np.stack(results).reshape(len(results), -1)
        length = results[0].size
        return self._uniform(flat.astype(float), "ndarray", length=length, digits=_digits(flat))

    def _strings(self, result: npt.NDArray[Any]) -> Outputs:
        """Read an array of strings; those that are numbers in words are numbers, too."""
        distinct, places = np.unique(result, return_inverse=True)
        texts: list[str | bytes] = distinct.tolist()
        numbers = np.array([(_number_in(text) or [np.nan])[0] for text in texts])
        if np.isnan(numbers).all():
            numbers = np.empty((len(texts), 0))
        return Outputs(
            numbers.reshape(len(texts), -1)[places],
            np.full(len(result), self.kinds.code(type(texts[0]).__name__), dtype=np.int64),
            np.array([self.words.code(repr(text)) for text in texts], dtype=np.int64)[places],
            np.array([len(text) for text in texts], dtype=np.int64)[places],
        )

    def _uniform(
        self,
        numbers: Floats,
        kind: str,
        *,
        length: int = -1,
        digits: Floats | None = None,
    ) -> Outputs:
        rows = len(numbers)
        _refuse_wide(numbers.shape[1])
        return Outputs(
            numbers,
            np.full(rows, self.kinds.code(kind), dtype=np.int64),
            np.zeros(rows, dtype=np.int64),
            np.full(rows, length, dtype=np.int64),
            digits,
        )


class _One(NamedTuple):
    kind: str
    numbers: list[float]
    words: str = ""
    length: int = -1
    digits: list[float] = []  # noqa: RUF012 - never changed


def _refuse_wide(width: int) -> None:
    if width > MOST_COORDINATES:
        raise ValueError(
            f"the outputs have {width} coordinates, and at most {MOST_COORDINATES} are looked at; "
            "audit a mechanism that returns some of them"
        )


def _read(output: object) -> _One:
    """Read one output of any type."""
    kind = type(output).__name__
    if isinstance(output, Raised):
        return _One(f"error {output.kind}", [])
    if isinstance(output, (str, bytes)):
        return _One(kind, _number_in(output), repr(output), len(output))
    if isinstance(output, Set):
        return _One(kind, [], "{" + ", ".join(sorted(map(repr, output))) + "}", len(output))
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        output = {field.name: getattr(output, field.name) for field in dataclasses.fields(output)}
    if isinstance(output, Mapping):
        return _mapping(kind, output)
    items = _items(output)
    held = [output] if items is None else items
    length = -1 if items is None else len(items)
    row = _row(held)
    if row is None:
        return _One(kind, [], _text(output), length)
    return _One(kind, row, "", length, _low(held))


_again = functools.lru_cache(maxsize=1 << 12, typed=True)(_read)


def _mapping(kind: str, output: Mapping[Any, Any]) -> _One:
    values = list(output.values())
    row = _row(values)
    if row is not None:
        return _One(kind, row, _text(list(output)), len(output), _low(values))
    items = sorted(f"{key!r}: {_text(value)}" for key, value in output.items())
    return _One(kind, [], "{" + ", ".join(items) + "}", len(output))


def _items(output: object) -> list[Any] | None:
    """Return what a sequence, an array or a column holds; None for anything else."""
    if isinstance(output, np.generic):
        return None
    if not isinstance(output, np.ndarray) and hasattr(output, "to_numpy"):
        output = output.to_numpy()
    if isinstance(output, np.ndarray):
        return None if output.ndim == 0 else output.reshape(-1).tolist()
    return list(output) if isinstance(output, Sequence) else None


def _row(items: Sequence[Any]) -> list[float] | None:
    """Return numbers as floats, or None if one of the items is not a number."""
    row: list[float] = []
    for item in items:
        value = item.item() if isinstance(item, np.ndarray) and item.ndim == 0 else item
        if isinstance(value, (Real, np.bool_)) or type(value).__name__ == "Decimal":
            row.append(_float(value))
        elif isinstance(value, Complex):
            row += [_float(value.real), _float(value.imag)]
        else:
            return None
    return row


def _number_in(text: str | bytes) -> list[float]:
    """Return the number that a string is in words, if it is one."""
    try:
        return [float(text)]
    except ValueError:
        return []


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _low(items: Sequence[Any]) -> list[float]:
    """Return the last binary digits of integers, if one of them is too large for a float."""
    whole = [int(item) if isinstance(item, Integral) else 0 for item in items]
    large = [abs(value) > _LARGEST_EXACT for value in whole]
    if not any(large):
        return []
    return [float(value & _DIGITS) * big for value, big in zip(whole, large, strict=True)]


def _text(output: object) -> str:
    return _ADDRESS.sub("", repr(output))


def _quick(results: Sequence[Any]) -> Floats | None:
    """Return plain numbers as floats, or None if an integer among them is too large for that."""
    try:
        values = np.array(results, dtype=np.float64)
    except OverflowError:
        return None
    if isinstance(results[0], (int, np.integer)) and np.any(np.abs(values) > _LARGEST_EXACT):
        return None
    return values


def _digits(flat: npt.NDArray[Any]) -> Floats | None:
    if flat.dtype.kind not in "iu" or flat.itemsize < 8:
        return None
    large = (flat > _LARGEST_EXACT) | (flat < -_LARGEST_EXACT)
    if not np.any(large):
        return None
    return np.where(large, flat & flat.dtype.type(_DIGITS), 0).astype(np.float64)
