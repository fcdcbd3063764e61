# SPDX-License-Identifier: Apache-2.0
"""Filling arrays with draws, block by block, and the few numbers that do not fit 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.exact.entropy import Bits, system
from sordino.exact.tables import BLOCK, Integers, Scratch


def signed_shift(low: int, outcome: int) -> int:
    """Put ``low`` zero bits below a number h >= 0, or ``low`` one bits below ~h."""
    return outcome << low if outcome >= 0 else ~(~outcome << low)


def place_deep(out: Integers, deep: list[tuple[int, int]]) -> dict[int, int]:
    """Write the draws decided by many bits; return, with 0 in their place, those beyond 64 bits."""
    info = np.iinfo(np.int64)
    beyond = {}
    for position, value in deep:
        if info.min <= value <= info.max:
            out[position] = value
        else:
            out[position] = 0
            beyond[position] = value
    return beyond


def in_blocks(
    size: int, block: Callable[[Integers, Scratch, Bits], dict[int, int]]
) -> npt.NDArray[Any]:
    """Fill an array block by block with constant scratch memory."""
    bits = system()
    out = np.empty(size, dtype=np.int64)
    beyond: dict[int, int] = {}
    scratch = Scratch(min(size, BLOCK))
    for start in range(0, size, BLOCK):
        piece = out[start : start + BLOCK]
        if piece.size != scratch.size:
            scratch = Scratch(piece.size)
        found = block(piece, scratch, bits)
        beyond.update({start + position: value for position, value in found.items()})
    if not beyond:
        return out
    exact = out.astype(object)
    for position, value in beyond.items():
        exact[position] = value
    return exact
