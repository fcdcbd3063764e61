# SPDX-License-Identifier: Apache-2.0
"""Noise that a test chooses, in place of noise that is drawn."""

from collections.abc import Iterator
from typing import Any


class Given:
    """A sampler of chosen numbers, some of which do not fit 64 bits."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = list(numbers)

    def fill(self, out: Any) -> Iterator[Any]:
        beyond = {}
        for place in range(out.size):
            number = self._numbers.pop(0)
            fits = -(2**63) <= number < 2**63
            out[place] = number if fits else 0
            if not fits:
                beyond[place] = number
        yield 0, out, beyond
