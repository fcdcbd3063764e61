# SPDX-License-Identifier: Apache-2.0
"""Keyed hashes of whole columns: an order that looks random to all who lack the secret.

The hash of a pair of 64-bit words is the first half of AES-256 of both, under a key derived from
the secret and from the purpose of the hash. Without the secret it cannot be told from random
numbers, so whoever chooses the words cannot choose the order they come in.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sordino.randomness.entropy import system

Words = npt.NDArray[np.uint64]

LEAST_SECRET = 16  # bytes
_BLOCKS = 1 << 14  # encrypted at a time: the buffers stay in the processor's cache
_BLOCK_BYTES = 16


def fresh_secret() -> bytes:
    """Draw a secret of 32 bytes."""
    return system().integer(256).to_bytes(32, "little")


def keyed_hash(
    ids: npt.NDArray[Any], keys: npt.NDArray[Any], secret: bytes, *, purpose: str = "groups"
) -> Words:
    """Return one 64-bit hash for each pair of 64-bit integers.

    Negative integers are taken modulo 2**64. For one secret and one purpose the hash of a pair
    depends on that pair alone, never on its place or on other pairs.
    """
    if ids.shape != keys.shape or ids.ndim != 1:
        raise ValueError("keyed_hash takes two columns of one length")
    for column in (ids, keys):
        if column.dtype.kind not in "iu":
            raise TypeError(f"keyed_hash takes integers, not {column.dtype.type.__name__}")
    # Electronic codebook mode is what makes this a function of one block: equal pairs are meant to
    # have equal hashes, and nothing is ever decrypted.
    cipher = Cipher(algorithms.AES256(_subkey(secret, purpose)), modes.ECB())  # noqa: S305
    encryptor = cipher.encryptor()
    out = np.empty(ids.size, dtype=np.uint64)
    blocks = np.empty((min(_BLOCKS, ids.size), 2), dtype="<u8")
    sealed = bytearray(blocks.nbytes + _BLOCK_BYTES - 1)  # the library asks for the extra bytes
    halves = np.frombuffer(sealed, dtype="<u8", count=blocks.size).reshape(blocks.shape)
    for start in range(0, ids.size, _BLOCKS):
        size = min(_BLOCKS, ids.size - start)
        np.copyto(blocks[:size, 0], ids[start : start + size], casting="unsafe")
        np.copyto(blocks[:size, 1], keys[start : start + size], casting="unsafe")
        encryptor.update_into(blocks[:size].reshape(-1).view(np.uint8).data, sealed)
        out[start : start + size] = halves[:size, 0]
    return out


def digests(contents: Iterable[bytes], secret: bytes) -> Words:
    """Return a keyed 64-bit digest of each content, for use in place of an integer.

    A digest depends on its own content alone. Two contents may share one; whoever needs to tell
    them apart compares the contents.
    """
    key = _subkey(secret, "texts")
    found = [blake2b(content, key=key, digest_size=8).digest() for content in contents]
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)


def read_secret(secret: object) -> bytes:
    """Read a secret, or say what is wrong without showing it."""
    if not isinstance(secret, bytes):
        raise TypeError(f"secret must be bytes, got a value of type {type(secret).__name__}")
    if len(secret) < LEAST_SECRET:
        raise ValueError(f"secret must have at least {LEAST_SECRET} random bytes")
    return secret


def _subkey(secret: bytes, purpose: str) -> bytes:
    """Derive the key for one purpose, so that hashes for different purposes are independent."""
    state = blake2b(digest_size=32, person=b"sordino hash", salt=purpose.encode())
    state.update(read_secret(secret))
    return state.digest()
