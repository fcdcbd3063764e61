# SPDX-License-Identifier: Apache-2.0
import mpmath
import numpy as np
import pytest

from sordino.sensitivity.order_statistics import Floats, largest_window, reach

RNG = np.random.default_rng(11)


def by_all_pairs(below: Floats, above: Floats, beta: float, least: float) -> float:
    p, q = np.arange(below.size)[:, None], np.arange(above.size)[None, :]
    worth = (above[None, :] - below[:, None]) * np.exp(-beta * (p + q - 1))
    worth[0, 0] = 0
    return max(least, float(worth.max()))


def a_case(rng: np.random.Generator) -> tuple[Floats, Floats, float, float]:
    size, top = int(rng.integers(1, 40)), int(rng.choice([1, 3, 10, 1000]))
    values = rng.integers(0, top + 1, size=size).astype(float)  # with many ties
    if rng.random() < 0.3:
        values = np.minimum(np.exp(3 * rng.normal(size=size)), top)
    padded = np.concatenate([[0.0], np.sort(values), [float(top)]])
    first = int(rng.integers(1, size + 1))
    last = first if rng.random() < 0.5 else int(rng.integers(first, size + 1))
    beta, least = 10 ** rng.uniform(-4, 1), top * 2.0 ** -rng.integers(1, 99)
    return padded[first::-1], padded[last:], beta, least


def test_divide_and_conquer_equals_all_pairs_on_ten_thousand_cases() -> None:
    for _ in range(10_000):
        case = a_case(RNG)
        assert largest_window(*case) == pytest.approx(by_all_pairs(*case), rel=1e-13, abs=0)


@pytest.mark.parametrize("beta", [1e-9, 1e-4, 1e-3, 0.05])
@pytest.mark.parametrize("shape", ["normal", "exponential", "clusters", "steep"])
def test_it_does_so_on_large_cases(beta: float, shape: str) -> None:
    size = 1500
    values = {
        "normal": RNG.normal(size=size),
        "exponential": RNG.exponential(size=size),
        "clusters": RNG.integers(0, 5, size=size) + 1e-6 * RNG.normal(size=size),
        # Close to the values for which every window is as good as every other.
        "steep": np.concatenate(
            [-np.exp(beta * np.arange(size // 2)), np.exp(beta * np.arange(size // 2))]
        ),
    }[shape]
    values = np.sort(values)
    middle = values.size // 2
    below, above = values[middle::-1], values[middle:]
    least = float(values[-1] - values[0]) * 2.0**-90
    expected = by_all_pairs(below, above, beta, least)
    assert largest_window(below, above, beta, least) == pytest.approx(expected, rel=1e-13, abs=0)


def test_a_reach_leaves_out_only_what_is_too_small() -> None:
    for beta in (1e-9, 0.01, 3.0):
        for least in (1e-30, 1e-3, 0.9999, 1.0, 7.0):
            assert np.exp(-beta * reach(beta, 1.0, least)) <= least
    assert reach(0.5, 0.0, 1.0) == 1


def test_exponentials_are_as_close_as_the_proof_supposes() -> None:
    x = np.concatenate([np.linspace(-75, 0, 4001), -np.logspace(-18, 1.8, 500)])
    with mpmath.workdps(40):
        errors = [abs(mpmath.mpf(float(y)) / mpmath.exp(mpmath.mpf(float(e))) - 1)
                  for e, y in zip(x, np.exp(x), strict=True)]  # fmt: skip
    assert max(errors) < 2.0**-50
