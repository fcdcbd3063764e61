# SPDX-License-Identifier: Apache-2.0
"""The best that an adaptive opponent can do against bounded ranges, on a grid."""

import numpy as np
import pytest

from sordino.theorems import bounded_range

WIDTH, TIMES = 0.2, 10


def adaptive(at: np.ndarray) -> np.ndarray:
    """Play the game backwards: before each answer the opponent picks the worst range."""
    grid = np.linspace(-4.5, 4.5, 3601)
    x = np.exp(grid)
    delta = np.maximum(-np.expm1(grid), 0.0)
    for _ in range(TIMES):
        best = np.zeros(grid.size)
        for t in np.linspace(0.0, WIDTH, 41):
            p = (np.exp(-t) - np.exp(-WIDTH)) / -np.expm1(-WIDTH)
            up, down = (
                np.interp(np.exp(grid - shift), x, delta, left=np.nan, right=0.0)
                for shift in (t, t - WIDTH)
            )
            edge = np.exp(grid - t) < x[0]
            up[edge] = -np.expm1(grid[edge] - t)  # far below, nothing but 1 - e^a is left
            far = np.exp(grid - t + WIDTH) < x[0]
            down[far] = -np.expm1(grid[far] - t + WIDTH)
            best = np.maximum(best, p * np.exp(t) * up + (1 - p) * np.exp(t - WIDTH) * down)
        delta = best
    return np.asarray(np.interp(np.exp(at), x, delta))


@pytest.mark.parametrize(
    ("epsilon", "fixed", "game"),
    [(0.25, 0.045724392753, 0.0466016), (0.5, 0.010625032285, 0.0109484),
     (1.0, 1.0164282061e-4, 1.12541e-4)],
)  # fmt: skip
def test_the_game_lies_between_fixed_scores_and_the_envelope(
    epsilon: float, fixed: float, game: float
) -> None:
    found = float(adaptive(np.array([epsilon]))[0])
    assert found == pytest.approx(game, rel=0.01)
    exact = bounded_range(epsilon=WIDTH, times=TIMES, adaptive=False, at_epsilon=epsilon).delta
    assert exact == pytest.approx(fixed, rel=1e-9)
    envelope = bounded_range(epsilon=WIDTH, times=TIMES, adaptive=True, at_epsilon=epsilon).delta
    assert exact < found < envelope
