# SPDX-License-Identifier: Apache-2.0
"""Where randomness comes from: the only door to it.

Each thread owns one keystream, AES-256 in counter mode under a key and a starting counter that
the operating system drew. A keystream takes a new key after ``REKEY_AFTER`` bytes. At ``fork``
the forking thread's keystream is wiped before the copy is made and every keystream is wiped in
the child, so that parent and child never share a key or a buffered word. A fork may come at any
moment, from a signal handler too: a key or a buffer that was made before a wipe is dropped when
it turns out afterwards that there was one. A fork that Python does not see is noticed by the
number of the process.

There is no seed. Tests replay recorded bits through a tape.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

UnsignedArray: TypeAlias = npt.NDArray[Any]

REKEY_AFTER = 1 << 26
_SCALAR_BYTES = 1 << 12
_ZEROS = bytes(1 << 20)


class Bits(Protocol):
    """A source of independent fair bits, read in little-endian bytes."""

    def word16(self) -> int:
        """Return the next 16 bits as an integer."""
        ...

    def integer(self, width: int) -> int:
        """Return the next ``width`` bits as an integer."""
        ...

    def fill(self, out: UnsignedArray) -> None:
        """Overwrite a contiguous array of unsigned integers with fresh bits."""
        ...


class Keystream:
    """A buffered AES-256-CTR keystream keyed by the operating system.

    Single words come from a buffer of their own, arrays straight from the cipher; both read the
    same keystream, each byte of it once. An instance belongs to one thread.
    """

    __slots__ = ("__weakref__", "_cipher", "_left", "_wipes", "_words", "process")

    def __init__(self) -> None:
        self._cipher: CipherContext | None = None
        self._left = 0
        self._words: list[int] = []
        self._wipes = 0
        self.process = os.getpid()
        _streams.add(self)

    def wipe(self) -> None:
        """Forget the key and all buffered bits; the next draw takes a new key."""
        self._wipes += 1
        self.process = os.getpid()
        self._cipher = None
        self._left = 0
        self._words.clear()

    def word16(self) -> int:
        """Return the next 16 bits as an integer."""
        while True:
            try:
                return self._words.pop()
            except IndexError:
                self._refill()

    def integer(self, width: int) -> int:
        """Return the next ``width`` bits as an integer; ``width`` is a multiple of 16."""
        if width % 16:
            raise ValueError(f"a keystream is read in units of 16 bits, got width {width!r}")
        value = 0
        for shift in range(0, width, 16):
            value |= self.word16() << shift
        return value

    def fill(self, out: UnsignedArray) -> None:
        """Overwrite a contiguous array of unsigned integers with fresh bits."""
        if not out.flags.c_contiguous:
            raise ValueError("only a contiguous array can be filled")
        view = out.reshape(-1).view(np.uint8).data
        for start in range(0, len(view), len(_ZEROS)):
            self._draw(view[start : start + len(_ZEROS)])

    def _refill(self) -> None:
        wipes = self._wipes
        block = bytearray(_SCALAR_BYTES)
        self._draw(memoryview(block))
        words = np.frombuffer(block, dtype="<u2").tolist()
        words.reverse()
        self._words = words
        if wipes != self._wipes:  # these words may be in another process too
            self._words = []

    def _draw(self, view: memoryview) -> None:
        cipher = self._cipher
        while cipher is None or self._left < len(view):
            wipes = self._wipes
            key, counter = os.urandom(32), os.urandom(16)
            cipher = Cipher(algorithms.AES256(key), modes.CTR(counter)).encryptor()
            self._cipher = cipher
            self._left = REKEY_AFTER
            if wipes != self._wipes:  # this key may be in another process too
                self._cipher = cipher = None
        self._left -= len(view)
        cipher.update_into(_ZEROS if len(view) == len(_ZEROS) else _ZEROS[: len(view)], view)


_streams: weakref.WeakSet[Keystream] = weakref.WeakSet()
_local = threading.local()


def system() -> Bits:
    """Return the calling thread's source of bits."""
    try:
        bits: Bits = _local.bits
    except AttributeError:
        bits = _local.bits = Keystream()
    if bits.__class__ is Keystream and bits.process != os.getpid():
        bits.wipe()
    return bits


def _wipe_own() -> None:
    bits = getattr(_local, "bits", None)
    if isinstance(bits, Keystream):
        bits.wipe()


def _wipe_all() -> None:
    for stream in list(_streams):
        stream.wipe()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wipe_own, after_in_child=_wipe_all)


def below_one(bound: int, bits: Bits) -> int:
    """Draw one uniform integer below ``bound``."""
    if bound == 1:
        return 0
    length = (bound - 1).bit_length()
    width = -(-length // 16) * 16
    while True:
        value = bits.integer(width) >> (width - length)
        if value < bound:
            return value


def fresh_words(size: int, bits: Bits) -> npt.NDArray[np.uint64]:
    """Return an array of 64-bit words."""
    words = np.empty(size, dtype=np.uint64)
    bits.fill(words)
    return words
