# SPDX-License-Identifier: Apache-2.0
"""Scores that tell two inputs apart by all coordinates together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sordino.auditing.features import Column, Pair, coordinate
from sordino.auditing.outputs import Floats, Outputs

_RANGES = 24
_MOST_ROWS = 20_000
_STEPS = 12
_MOST_PRODUCTS = 6  # coordinates
_MOST_SQUARES = 64
_RIDGE = 1e-6
_CLIP = 1e150


@dataclass(frozen=True)
class Ratios:
    """The sum over the coordinates of the logarithm of how much likelier their ranges are.

    It orders outputs as their likelihood ratio does when the coordinates are independent.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    edges: tuple[Floats, ...]
    logs: tuple[Floats, ...]

    def __call__(self, outputs: Outputs) -> Floats:
        total = np.zeros(len(outputs))
        for place, (edges, logs) in enumerate(zip(self.edges, self.logs, strict=True)):
            total += logs[_ranges(coordinate(outputs, place), edges)]
        return np.round(total, 9)


@dataclass(frozen=True)
class Logistic:
    """A weighted sum of the coordinates and, unless there are many, of their products.

    ``order`` is 1 for the coordinates alone, 2 for their squares, too, and 3 for all products.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    centre: Floats
    spread: Floats
    weights: Floats
    order: int

    def __call__(self, outputs: Outputs) -> Floats:
        width = len(self.centre)
        numbers = np.stack([coordinate(outputs, place) for place in range(width)], axis=1)
        return _powers(_standard(numbers, self.centre, self.spread), self.order) @ self.weights


def score_columns(fit: Pair) -> Iterator[Column]:
    """Yield scores of outputs with several coordinates, learnt on the outputs of two inputs.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
    width = max(outputs.width for outputs in fit)
    if width < 2:
        return
    yield Column("the sum of the coordinates' scores", _ratios(fit, width))
    yield Column("the classifier's score", _logistic(fit, width))


def _ratios(fit: Pair, width: int) -> Ratios:
    edges, logs = [], []
    for place in range(width):
        sides = [coordinate(outputs, place) for outputs in fit]
        both = np.concatenate(sides)
        both = np.sort(both[~np.isnan(both)])
        cells = int(np.clip(len(both) // 50, 2, _RANGES))
        found = (
            both[np.linspace(0, len(both) - 1, cells + 1).astype(np.intp)] if len(both) else both
        )
        found = np.unique(found)[1:]
        counts = [
            np.bincount(_ranges(side, found), minlength=len(found) + 2) + 1.0 for side in sides
        ]
        edges.append(found)
        logs.append(np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum()))
    return Ratios(tuple(edges), tuple(logs))


def _ranges(values: Floats, edges: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    places = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), len(edges) + 1, places)


def _logistic(fit: Pair, width: int) -> Logistic:
    """Learn the weights by Newton's steps on standardised numbers."""
    sides = [
        np.stack([coordinate(outputs, place) for place in range(width)], axis=1)[:_MOST_ROWS]
        for outputs in fit
    ]
    both = np.clip(np.nan_to_num(np.concatenate(sides), nan=0.0), -_CLIP, _CLIP)
    centre = np.median(both, axis=0)
    spread = np.maximum(np.mean(np.abs(both - centre), axis=0), 1e-300)
    order = 3 if width <= _MOST_PRODUCTS else 2 if width <= _MOST_SQUARES else 1
    powers = _powers(_standard(np.concatenate(sides), centre, spread), order)
    wanted = np.repeat([1.0, 0.0], [len(side) for side in sides])
    weights = np.zeros(powers.shape[1])
    ridge = _RIDGE * len(powers) * np.eye(len(weights))
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(powers @ weights, -30, 30)))
        slope = powers.T @ (wanted - chance) - ridge @ weights
        curve = (powers * (chance * (1 - chance))[:, np.newaxis]).T @ powers + ridge
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.max(np.abs(step)) < 1e-4:
            break
    return Logistic(centre, spread, weights, order)


def _standard(numbers: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return numbers of about unit size; far outliers are pulled in, and missing ones are 0."""
    with np.errstate(invalid="ignore"):
        scaled = (np.clip(numbers, -_CLIP, _CLIP) - centre) / spread
    return np.nan_to_num(np.clip(scaled, -8.0, 8.0), nan=0.0)


def _powers(scaled: Floats, order: int) -> Floats:
    parts = [np.ones((len(scaled), 1)), scaled]
    if order == 2:
        parts.append(scaled**2)
    elif order == 3:
        one, other = np.triu_indices(scaled.shape[1])
        parts.append(scaled[:, one] * scaled[:, other])
    return np.concatenate(parts, axis=1)
