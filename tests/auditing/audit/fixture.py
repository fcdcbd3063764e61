# SPDX-License-Identifier: Apache-2.0
"""A mechanism that breaks its promise, with its correct twin, the data and the true loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, Any, int], npt.NDArray[Any]]


class Seeded:
    """A drawing function with a generator of its own: many outputs a call, the same each time."""

    batch = True

    def __init__(self, draw: Draw, seed: int) -> None:
        self.draw = draw
        self.generator = np.random.default_rng(seed)

    def __call__(self, data: Any, runs: int) -> npt.NDArray[Any]:
        return self.draw(self.generator, data, runs)

    def __repr__(self) -> str:
        return self.draw.__name__


@dataclass(frozen=True)
class Fixture:
    """Two mechanisms with one claim; only the twin keeps it on the pair x, y."""

    name: str
    broken: Draw
    twin: Draw
    x: Any
    y: Any
    epsilon: float
    delta: float = 0.0
    loss: float = math.inf  # the true epsilon of the broken one at this delta, over all pairs

    def __repr__(self) -> str:
        return self.name


def laplace_integers(
    generator: np.random.Generator, scale: float, shape: int | tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """Whole Laplace noise: the difference of two geometric numbers."""
    success = -math.expm1(-1 / scale)
    first, second = generator.geometric(success, shape), generator.geometric(success, shape)
    return np.asarray(first - second, dtype=np.int64)


def on_grid(values: Floats) -> Floats:
    """Round to steps of 2^-10, so that the low-order bits of floats tell nothing."""
    return np.round(values * 1024) / 1024


def pick(generator: np.random.Generator, logs: Floats, runs: int) -> npt.NDArray[np.int64]:
    """Draw places with probabilities whose logarithms are given up to a constant."""
    weights = np.exp(logs - logs.max())
    return generator.choice(len(logs), size=runs, p=weights / weights.sum()).astype(np.int64)
