# SPDX-License-Identifier: Apache-2.0
"""What a mechanism returned in many runs, as arrays: numbers, words, kinds, lengths and times."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

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

    Guarantee: none needed; it holds what a mechanism made of invented data.
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
    """Return the runs of several outputs as one.

    Guarantee: none needed; it holds what a mechanism made of invented data.
    """
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

    Guarantee: none needed; it holds what a mechanism made of invented data.
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
