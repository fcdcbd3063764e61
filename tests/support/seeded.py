# SPDX-License-Identifier: Apache-2.0
"""Reproducible bits, so that a statistical test gives the same verdict on every run."""

import numpy as np

from sordino.randomness.entropy import UnsignedArray


class SeededBits:
    """An endless tape from numpy's generator; good enough to test with, never to release with."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def word16(self) -> int:
        return self.integer(16)

    def integer(self, width: int) -> int:
        return int.from_bytes(self._rng.bytes(width // 8), "little")

    def fill(self, out: UnsignedArray) -> None:
        whole = np.frombuffer(self._rng.bytes(out.nbytes), dtype=out.dtype)
        out[...] = whole.reshape(out.shape)
