# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with a known loss on a worst pair, drawn from a seeded generator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from sordino.auditing import batched

Made = Callable[[np.random.Generator], Callable[..., Any]]

GRID = 2.0**20


class Case(NamedTuple):
    """A mechanism made from a generator, a worst pair, and what it loses there."""

    make: Made
    x: Any
    y: Any
    epsilon: float
    delta: float = 0.0


def rounded_laplace(
    generator: np.random.Generator, scale: float, size: int | tuple[int, int]
) -> npt.NDArray[np.float64]:
    return np.round(generator.laplace(scale=scale, size=size) * GRID) / GRID


def laplace(generator: np.random.Generator) -> Callable[..., Any]:
    @batched
    def mechanism(data: int, runs: int) -> Any:
        return data + rounded_laplace(generator, 1.0, runs)

    return mechanism


def float_laplace(generator: np.random.Generator) -> Callable[..., Any]:
    @batched
    def mechanism(data: int, runs: int) -> Any:
        return data + generator.laplace(size=runs)

    return mechanism


def geometric(generator: np.random.Generator) -> Callable[..., Any]:
    chance = -math.expm1(-1.0)

    @batched
    def mechanism(data: int, runs: int) -> Any:
        return data + generator.geometric(chance, runs) - generator.geometric(chance, runs)

    return mechanism


def randomised_response(generator: np.random.Generator) -> Callable[..., Any]:
    truth = math.e / (1 + math.e)

    @batched
    def mechanism(data: int, runs: int) -> Any:
        return np.where(generator.random(runs) < truth, data, 1 - data)

    return mechanism


def words(generator: np.random.Generator) -> Callable[..., Any]:
    names = np.array(["ash", "birch", "cedar", "elm", "fir"])

    @batched
    def mechanism(data: int, runs: int) -> Any:
        weights = np.where(np.arange(len(names)) == data, math.e, 1.0)
        return names[generator.choice(len(names), runs, p=weights / weights.sum())]

    return mechanism


def exponential(generator: np.random.Generator) -> Callable[..., Any]:
    @batched
    def mechanism(data: tuple[float, ...], runs: int) -> Any:
        weights = np.exp(np.array(data) - max(data))
        return generator.choice(len(data), runs, p=weights / weights.sum())

    return mechanism


def vectors(generator: np.random.Generator) -> Callable[..., Any]:
    @batched
    def mechanism(data: tuple[int, ...], runs: int) -> Any:
        return np.array(data) + rounded_laplace(generator, 2.0, (runs, len(data)))

    return mechanism


def gaussian(generator: np.random.Generator) -> Callable[..., Any]:
    @batched
    def mechanism(data: int, runs: int) -> Any:
        return data + np.round(generator.normal(size=runs) * GRID) / GRID

    return mechanism


def objects(generator: np.random.Generator) -> Callable[..., Any]:
    """Truth with odds e to 1 to 1 to 1 among a string, None, a pair and an error."""

    def mechanism(data: int) -> object:
        drawn = generator.random() * (math.e + 3)
        place = data if drawn < math.e else (data + 1 + int(drawn - math.e)) % 4
        if place == 3:
            raise ValueError("an error is an output")
        return ("yes", None, (1, 2.5))[place]

    return mechanism


# One score goes up and the other down by one sensitivity; the rare candidate is likelier by this.
RARER = math.log1p(math.exp(-4.0)) - math.log1p(math.exp(-3.0))

CORRECT = {
    "laplace": Case(laplace, 0, 1, 1.0),
    "geometric": Case(geometric, 0, 1, 1.0),
    "randomised response": Case(randomised_response, 0, 1, 1.0),
    "words": Case(words, 1, 3, 1.0),
    "exponential": Case(exponential, (-4.0, 0.0), (-3.5, -0.5), 1 + RARER),
    "vectors": Case(vectors, (0, 0, 0), (1, -1, 0), 1.0),
    "gaussian": Case(gaussian, 0, 1, 1.0, float(ndtr(-0.5) - math.e * ndtr(-1.5))),
    "objects": Case(objects, 0, 1, 1.0),
}
