# SPDX-License-Identifier: Apache-2.0
"""Reading what a mechanism returned: any Python object becomes numbers, a kind, words, a length."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.auditing.looking import PLACE, as_float, low_digits, number_in, parts_of
from sordino.auditing.outputs import Codes, Floats, Outputs, Vocabulary

MOST_COORDINATES = 256
_MOST_TEXTS = 16
_LARGEST_EXACT = 2**53  # integers above it are rounded when they become floats
_DIGITS = (1 << 32) - 1
_PLAIN = (bool, int, float, np.float64, np.int64, np.bool_)


class Raised(NamedTuple):
    """An error that a run ended with; it counts as an output."""

    kind: str


class One(NamedTuple):
    """One output as it was read: its numbers, what they are called, and the rest in words."""

    kind: str
    numbers: Sequence[float]
    words: str = ""
    length: int = -1
    digits: Sequence[float] = ()
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


_SIMPLE = (str, bytes, type(None), Raised)  # read once for all that are equal
_FIXED = (*_SIMPLE, *_PLAIN)  # nobody can change them afterwards


class Reader:
    """Turns outputs into arrays, with one vocabulary for all of them.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    def __init__(self) -> None:
        self.kinds = Vocabulary("something else", most=4096)
        self.words = Vocabulary("something else")

    def at_once(self, result: Any) -> Any:
        """Return an output as it is now, whatever becomes of the object it is in."""
        if type(result) in _FIXED:
            return result
        if type(result) is np.ndarray and result.ndim and result.dtype.kind in "buif":
            return result.copy()
        return _read(result)

    def array(self, result: npt.NDArray[Any]) -> Outputs:
        """Read an array whose first axis is the runs."""
        rows = len(result)
        if result.dtype.kind in "US" and result.ndim == 1:
            return self._strings(result)
        if result.dtype.kind not in "buifc":
            return self.objects(list(result))
        length = -1 if result.ndim == 1 else math.prod(result.shape[1:])
        flat = result.reshape(rows, -1)
        kind = "number" if result.ndim == 1 else "array of numbers"  # a type is of no single run
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
        names = {one.names for one in read}
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
            texts=self._texts(read),
            names=names.pop() if len(names) == 1 else (),
        )

    def _texts(self, read: Sequence[One]) -> Codes | None:
        """Return codes of the form and of each text of outputs that hold texts and more."""
        width = min(max((len(one.texts) for one in read), default=0), _MOST_TEXTS)
        if width < 2:
            return None
        texts = np.zeros((len(read), width), dtype=np.int64)
        for place, one in enumerate(read):
            codes = [self.words.code(text) for text in one.texts[:width]]
            texts[place, : len(codes)] = codes
        return texts

    def shown(self, outputs: Outputs, place: int) -> str:
        """Return one output in words."""
        kind = self.kinds.word(int(outputs.kinds[place]))
        if kind.startswith("error "):
            return f"an {kind}"
        length = int(outputs.lengths[place])
        row = [_digits_of(value) for value in outputs.numbers[place]]
        if outputs.words[place]:
            text = self.words.word(int(outputs.words[place]))
            numbers = iter([value for value in row if value != "nan"])
            return "".join(next(numbers, "nan") if one == PLACE else one for one in text)
        if length >= 0:
            row = row[:length]
            return f"({', '.join(row[:8])}{', ...' if len(row) > 8 else ''})"
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
        numbers = np.array([number_in(text) for text in texts])
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


def _refuse_wide(width: int) -> None:
    if width > MOST_COORDINATES:
        raise ValueError(
            f"the outputs have {width} coordinates, and at most {MOST_COORDINATES} are looked at; "
            "audit a mechanism that returns some of them"
        )


def _read(output: Any) -> One:
    """Read one output of any type."""
    if isinstance(output, One):
        return output
    kind = type(output).__name__
    if isinstance(output, Raised):
        return One(f"error {output.kind}", ())
    if isinstance(output, (str, bytes)):
        number = number_in(output)
        return One(kind, () if math.isnan(number) else (number,), repr(output), len(output))
    length = -1
    if isinstance(output, np.ndarray):
        length = output.size if output.ndim else -1
    elif hasattr(output, "__len__"):
        length = len(output)
    flat = _flat(output)
    if flat is not None:
        low = [low_digits(value) for value in flat]
        return One(kind, [as_float(value) for value in flat], "", length, low if any(low) else ())
    parts = parts_of(output)
    numbers = parts.numbers if not np.isnan(parts.numbers).all() or not parts.texts else ()
    words = "" if parts.words == PLACE else parts.words
    digits = parts.digits if any(parts.digits) else ()
    names = tuple(parts.names) if len(numbers) and parts.names != [""] else ()
    texts = (parts.form, *parts.texts) if parts.texts and len(parts.names) > 1 else ()
    return One(kind, numbers, words, length, digits, names, texts)


_again = functools.lru_cache(maxsize=1 << 12, typed=True)(_read)


def _flat(output: Any) -> Sequence[Any] | None:
    """Return a number, or what a list, a tuple or an array of nothing but numbers holds."""
    if isinstance(output, np.ndarray) and output.dtype.kind in "buif" and output.ndim:
        flat: list[Any] = output.reshape(-1).tolist()
        return flat
    if isinstance(output, (list, tuple)):
        return output if all(isinstance(item, (Real, np.bool_)) for item in output) else None
    return (output,) if isinstance(output, (Real, np.bool_)) else None


def _digits_of(value: float) -> str:
    """Return a number in words, a whole one in full where a float holds it."""
    whole = abs(value) < _LARGEST_EXACT and value == int(value)
    return f"{value:.0f}" if whole else f"{value:.10g}"


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
