# SPDX-License-Identifier: Apache-2.0
"""What a mechanism returned in many runs, as arrays: numbers, words, kinds, lengths and times."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import os
import re
from collections.abc import AsyncIterable, Awaitable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from numbers import Complex, Integral, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.int64]

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Outputs:
    """Many outputs: coordinates as numbers, and codes for everything that is not a number.

    A code stands for a word in the vocabulary of the one who ran the mechanism. ``digits`` are the
    last 32 binary digits of integers that are too large for a float, else 0; None if there are no
    such.
    """

    numbers: Floats  # (runs, coordinates); NaN where an output has no such coordinate
    kinds: Codes  # type, or class of the error
    words: Codes  # the output by value where it is no number, else 0
    lengths: Codes  # of sequences; -1 for all others
    digits: Floats | None = None
    times: Floats | None = None  # whole microseconds
    texts: Codes | None = (
        None  # (runs, 1 + texts): the form of outputs with several parts, and texts
    )
    names: tuple[str, ...] = ()  # of the coordinates, where they have any

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def width(self) -> int:
        return int(self.numbers.shape[1])

    def part(self, which: slice | npt.NDArray[np.intp]) -> Outputs:
        """Return some of the runs."""
        return Outputs(
            self.numbers[which],
            self.kinds[which],
            self.words[which],
            self.lengths[which],
            None if self.digits is None else self.digits[which],
            None if self.times is None else self.times[which],
            None if self.texts is None else self.texts[which],
            self.names,
        )

    @functools.cached_property
    def whole(self) -> Floats:
        """Return a number for each output that tells any two different outputs apart.

        It is a hash of 53 bits, so that it fits a float; two outputs that collide are one event.
        What an output does not have adds nothing, however wide the others are.
        """
        total = _scattered(self.kinds, 0) + _scattered(self.words, 1) + _scattered(self.lengths, 2)
        for place, column in enumerate(self.numbers.T, start=3):
            bits = np.ascontiguousarray(column).view(np.int64)
            total += np.where(np.isnan(column), np.uint64(0), _scattered(bits, place))
        for place, column in enumerate(() if self.digits is None else self.digits.T, start=3):
            bits = column.astype(np.int64)
            total += np.where(column == 0, np.uint64(0), _scattered(bits, -place))
        return (total >> np.uint64(11)).astype(np.float64)


def _scattered(codes: Codes, place: int) -> npt.NDArray[np.uint64]:
    """Return a hash of each code that depends on the place it has in an output."""
    mixed = codes.astype(np.uint64) + np.uint64((place * int(_MIX)) % 2**64)
    for shift in (30, 27):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * _MIX
    return mixed ^ (mixed >> np.uint64(31))


def joined(parts: Sequence[Outputs]) -> Outputs:
    """Return the runs of several outputs as one."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.width for part in parts)
    digits = None
    if any(part.digits is not None for part in parts):
        digits = np.concatenate([_widened(_digits(part), width, 0.0) for part in parts])
    times = [part.times for part in parts if part.times is not None]
    return Outputs(
        np.concatenate([_widened(part.numbers, width, np.nan) for part in parts]),
        np.concatenate([part.kinds for part in parts]),
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        digits,
        np.concatenate(times) if times else None,
        _joined_texts(parts),
        parts[0].names if len({part.names for part in parts}) == 1 else (),
    )


def _joined_texts(parts: Sequence[Outputs]) -> Codes | None:
    width = max(0 if part.texts is None else part.texts.shape[1] for part in parts)
    if not width:
        return None
    total = np.zeros((sum(map(len, parts)), width), dtype=np.int64)
    done = 0
    for part in parts:
        if part.texts is not None:
            total[done : done + len(part), : part.texts.shape[1]] = part.texts
        done += len(part)
    return total


def _digits(part: Outputs) -> Floats:
    return np.zeros_like(part.numbers) if part.digits is None else part.digits


def _widened(values: Floats, width: int, filling: float) -> Floats:
    missing = width - values.shape[1]
    if not missing:
        return values
    filled = np.full((len(values), missing), filling)
    return np.concatenate([values, filled], axis=1)


class Vocabulary:
    """Words and the codes they have: a code depends on its word alone, never on earlier ones.

    Codes are hashes of 52 bits and never 0, so that they fit a float; only so many words are kept
    to be shown.

    >>> words = Vocabulary("something else", most=2)
    >>> codes = [words.code(word) for word in ("yes", "no", "yes", "perhaps")]
    >>> codes[0] == codes[2], len(set(codes))
    (True, 3)
    >>> words.word(codes[1]), words.word(codes[3])
    ('no', 'something else')
    """

    def __init__(self, other: str, *, most: int = 1 << 18) -> None:
        self._other = other
        self._words: dict[int, str] = {}
        self._codes: dict[str, int] = {}
        self._most = most

    def code(self, word: str) -> int:
        found = self._codes.get(word)
        if found is not None:
            return found
        digest = hashlib.blake2b(word.encode("utf-8", "backslashreplace"), digest_size=8).digest()
        code = (int.from_bytes(digest) >> 12) or 1
        if len(self._words) < self._most:
            self._words[code] = word
            self._codes[word] = code
        return code

    def word(self, code: int) -> str:
        return self._words.get(code, self._other)


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
    """
    parts = Parts()
    form = _look(output, parts, "", (id(output),))
    texts = iter(parts.texts)
    parts.words = "".join(next(texts) if one == _TEXT else one for one in form)
    parts.form = form.replace(_TEXT, "...").replace(PLACE, "...")
    return parts


def refusal(output: object) -> ValueError:
    """Return the error for an output that shows nothing of what it holds."""
    return ValueError(
        f"the outputs are {type(output).__name__} objects that an audit cannot look into; "
        "return their numbers or words"
    )


def as_float(value: Any) -> float:
    """Return a number as a float; what is too large for one is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def low_digits(value: Any) -> float:
    """Return the last binary digits of an integer that is too large for a float, else 0."""
    if not isinstance(value, Integral) or abs(int(value)) <= _LARGEST_EXACT:
        return 0.0
    return float(int(value) & _DIGITS)


def number_in(text: str | bytes) -> float:
    """Return the number that a string is in words; NaN if it is none."""
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


MOST_COORDINATES = 256
_MOST_TEXTS = 16
# integers above it are rounded when they become floats

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
    """Turns outputs into arrays, with one vocabulary for all of them."""

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
        return self._uniform(
            flat.astype(np.float64), kind, length=length, digits=_array_digits(flat)
        )

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
        return self._uniform(
            flat.astype(float), "ndarray", length=length, digits=_array_digits(flat)
        )

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


def _array_digits(flat: npt.NDArray[Any]) -> Floats | None:
    if flat.dtype.kind not in "iu" or flat.itemsize < 8:
        return None
    large = (flat > _LARGEST_EXACT) | (flat < -_LARGEST_EXACT)
    if not np.any(large):
        return None
    return np.where(large, flat & flat.dtype.type(_DIGITS), 0).astype(np.float64)
