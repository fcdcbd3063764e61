# SPDX-License-Identifier: Apache-2.0
"""Bits that a test chose, in place of the operating system's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from sordino.randomness import entropy
from sordino.randomness.entropy import Bits, UnsignedArray


class TapeEnded(Exception):
    """A draw asked for more bits than the tape holds."""


class Tape:
    """Replays given bytes, little-endian, as the keystream would hand them out."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def _take(self, count: int) -> bytes:
        piece = self._data[self.position : self.position + count]
        if len(piece) < count:
            raise TapeEnded(f"the tape of {len(self._data)} bytes has ended")
        self.position += count
        return piece

    def word16(self) -> int:
        return self.integer(16)

    def integer(self, width: int) -> int:
        if width % 8:
            raise ValueError(f"a tape is read in bytes, got width {width!r}")
        return int.from_bytes(self._take(width // 8), "little")

    def fill(self, out: UnsignedArray) -> None:
        out[...] = np.frombuffer(self._take(out.nbytes), dtype=out.dtype).reshape(out.shape)


class Words:
    """Replays given words, one for each word asked for, whatever its width."""

    def __init__(self, values: Iterable[int]) -> None:
        self._values = iter(values)
        self.used = 0

    def word16(self) -> int:
        return self.integer(16)

    def integer(self, width: int) -> int:
        try:
            value = next(self._values)
        except StopIteration:
            raise TapeEnded(f"the tape has ended after {self.used} words") from None
        if not 0 <= value < 1 << width:
            raise ValueError(f"the tape holds {value!r} where {width} bits were asked for")
        self.used += 1
        return value

    def fill(self, out: UnsignedArray) -> None:
        width = out.dtype.itemsize * 8
        flat = out.reshape(-1)
        for place in range(flat.size):
            flat[place] = self.integer(width)


@contextmanager
def replay(bits: Bits) -> Iterator[Bits]:
    """Let this thread draw from ``bits`` inside the block; afterwards from a fresh keystream."""
    entropy._local.bits = bits
    try:
        yield bits
    finally:
        del entropy._local.bits
