# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.sensitivity.order_statistics import (
    Floats,
    ascending,
    at_rank,
    certified,
    largest,
    middle,
    order_statistic,
    read_setting,
    trimmed_mean,
)

SIZE = 200_000  # beyond which a sample says where to look
RNG = np.random.default_rng(12)
SHAPES: dict[str, Floats] = {
    "normal": RNG.normal(size=SIZE),
    "ties": RNG.integers(0, 3, size=SIZE).astype(np.float64),
    "sorted": np.arange(SIZE, dtype=np.float64),
    # Every twelfth value is sampled, and all of those are the same.
    "misleading": np.where(np.arange(SIZE) % (SIZE // 2**14) == 0, 0.5, RNG.random(SIZE)),
    "infinite": np.where(RNG.random(SIZE) < 0.5, -math.inf, RNG.random(SIZE)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_part_of_the_order_is_that_part_of_all_of_it(shape: str) -> None:
    values = SHAPES[shape]
    order = np.sort(values)
    for first in (0, 1, 12_345, SIZE // 2, SIZE - 200):
        for last in (first, first + 100, first + SIZE // 3):
            end = min(last, SIZE - 1)
            assert np.array_equal(ascending(values, first, end), order[first : end + 1])


@pytest.mark.parametrize("shape", ["normal", "ties", "misleading"])
def test_values_and_bounds_do_not_depend_on_how_they_are_found(shape: str) -> None:
    values, setting = SHAPES[shape], read_setting((-2, 2), 0.01, None)
    order = np.sort(values.clip(-2, 2))
    shuffled = RNG.permutation(values)
    for rank in (middle, largest, at_rank(777)):
        found = order_statistic(values, rank, setting)
        assert found == order_statistic(shuffled, rank, setting)
        assert found.value == Fraction(float(order[rank(SIZE) - 1]))
    assert trimmed_mean(values, 999, setting) == trimmed_mean(shuffled, 999, setting)


@pytest.mark.parametrize("trim", [0, 1, 3, 7])
def test_trimmed_means_are_exact_on_their_grid(trim: int) -> None:
    setting = read_setting((-8, 8), 0.1, None)
    for values in (RNG.normal(scale=5, size=16), RNG.integers(-3, 3, size=16), np.full(16, 0.1)):
        step = Fraction(1, 2**48)
        order = sorted(round(Fraction(float(x)) / step) for x in np.clip(values, -8, 8))
        kept = order[trim : 16 - trim]
        assert trimmed_mean(values, trim, setting).value == Fraction(sum(kept), len(kept)) * step


def test_a_certified_bound_is_larger_by_the_slack() -> None:
    assert certified(1.0) == 1 + 1e-11
    assert read_setting((0, 1), 0.5, None).beta == 0.5 - 1e-11
    assert read_setting((0, 1), 1000, None).beta == 64 - 1e-11
    assert read_setting((0, 1), 1, None).floor == 2.0**-30
