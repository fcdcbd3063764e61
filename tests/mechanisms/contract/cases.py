# SPDX-License-Identifier: Apache-2.0
"""What the contract suite knows of each mechanism: examples, and the law of its noise."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino import Gaussian, Laplace
from sordino.mechanisms import ADDING

Floats = npt.NDArray[np.float64]
Mechanism = Laplace | Gaussian
Vector = tuple[int, ...]

EXAMPLES: dict[type, list[Mechanism]] = {
    Laplace: [
        Laplace(sensitivity=1, epsilon=0.1),
        Laplace(sensitivity=1, epsilon=3),
        Laplace(sensitivity=2, epsilon=1),
        Laplace(sensitivity=3, epsilon=0.5),
        Laplace(sensitivity=1.0, epsilon=0.3),
        Laplace(sensitivity=0.25, epsilon=5),
    ],
    Gaussian: [
        Gaussian(sensitivity=1, epsilon=1, delta=1e-5),
        Gaussian(sensitivity=1, epsilon=4, delta=1e-3),
        Gaussian(sensitivity=2, epsilon=3, delta=1e-4),
        Gaussian(sensitivity=2, sigma=1.1),
        Gaussian(sensitivity=3, rho=0.8),
        Gaussian(sensitivity=1, sigma=0.45),
        Gaussian(sensitivity=1.0, epsilon=1, delta=1e-6),
        Gaussian(sensitivity=0.25, rho=0.5, coordinates=3),
    ],
}
EVERY = [mechanism for kind in ADDING for mechanism in EXAMPLES[kind]]
ON_INTEGERS = [mechanism for mechanism in EVERY if mechanism.whole]


def log_of(mechanism: Mechanism, x: Floats) -> Floats:
    """The logarithm of the law of the noise in steps of the grid, written down once more."""
    if isinstance(mechanism, Laplace):
        return -np.abs(x) / float(mechanism.scale / mechanism.grid)
    return -(x**2) / float(2 * mechanism.variance / mechanism.grid**2)


def weight_of(mechanism: Mechanism) -> Callable[[Floats], Floats]:
    """The law of the noise, up to a constant."""
    return lambda x: np.exp(log_of(mechanism, x))


def width_of(mechanism: Mechanism) -> float:
    """A bound beyond which the noise has a probability below 1e-17."""
    if isinstance(mechanism, Laplace):
        return 40 * float(mechanism.scale / mechanism.grid) + 2
    return 9 * math.sqrt(mechanism.variance / mechanism.grid**2) + 2


def law(mechanism: Mechanism, reach: int) -> Floats:
    """The probabilities of -reach, ..., reach."""
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    weight = weight_of(mechanism)(x)
    result: Floats = weight / weight.sum()
    return result


def length(mechanism: Mechanism, vector: Vector) -> float:
    """The norm in which the sensitivity of a mechanism is measured."""
    order = 1 if isinstance(mechanism, Laplace) else 2
    return float(np.linalg.norm(vector, ord=order))


def shifts(mechanism: Mechanism) -> Iterator[Vector]:
    """All shifts of one, two and three integers between neighbours, once per pattern."""
    most = int(mechanism.sensitivity)
    for size in (1, 2, 3):
        for vector in product(range(most + 1), repeat=size):
            sorted_down = all(a >= b for a, b in pairwise(vector))
            if sorted_down and any(vector) and length(mechanism, vector) <= most + 1e-9:
                yield vector


def draw_examples() -> list[Any]:
    """Values of every kind, with the shape that comes back."""
    return [
        (3, None),
        (np.int32(3), None),
        ([1, 2, 3], (3,)),
        (np.zeros((2, 3), dtype=np.int16), (2, 3)),
        (np.zeros(0, dtype=np.uint64), (0,)),
        (np.array(7), ()),
    ]
