# SPDX-License-Identifier: Apache-2.0
"""Filling arrays with draws, block by block, and the few numbers that do not fit 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.entropy import Bits, system
from sordino.exact.tables import BLOCK, Integers, Scratch

# Where a block starts, the block, and by place the numbers that do not fit it (0 stands there).
Filled: TypeAlias = tuple[int, Integers, dict[int, int]]


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


def fill_blocks(
    out: Integers, block: Callable[[Integers, Scratch, Bits], dict[int, int]]
) -> Iterator[Filled]:
    """Fill an array block by block with constant scratch memory, handing over each block."""
    bits = system()
    scratch = Scratch(min(out.size, BLOCK))
    for start in range(0, out.size, BLOCK):
        piece = out[start : start + BLOCK]
        if piece.size != scratch.size:
            scratch = Scratch(piece.size)
        yield start, piece, block(piece, scratch, bits)


def gather(filled: Iterable[Filled], out: Integers) -> npt.NDArray[Any]:
    """Run through all blocks; return the array, of Python ints if some do not fit 64 bits."""
    beyond = {start + at: value for start, _, found in filled for at, value in found.items()}
    if not beyond:
        return out
    exact = out.astype(object)
    for position, value in beyond.items():
        exact[position] = value
    return exact
