# SPDX-License-Identifier: Apache-2.0
"""Draws against exact probabilities: G-tests, each with a false-alarm rate of 1e-6.

Bits are seeded, so a verdict never changes between runs; ``make soak`` draws fresh ones.
"""

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import chdtri, xlogy

from sordino.randomness.samplers import Sampler, discrete_gaussian, discrete_laplace, geometric
from tests.support.seeded import SeededBits
from tests.support.tape import replay

ALPHA = 1e-6
CELLS = 200
DRAWS = 10_000_000
SINGLES = 100_000

LAPLACE = [Fraction(3, 10), Fraction(1), Fraction(15, 2), Fraction(1000), Fraction(10**6),
           Fraction(1 << 40)]  # fmt: skip
GAUSS = [Fraction(1, 2), Fraction(10), Fraction(300), Fraction(1000), Fraction(10**5),
         Fraction(1 << 40)]  # fmt: skip

Cdf = Callable[[int], float]


def laplace_cdf(scale: Fraction) -> Cdf:
    q = np.exp(-1 / float(scale))

    def cdf(k: int) -> float:
        if k < 0:
            return float(np.exp(k / float(scale)) / (1 + q))
        return float(1 - np.exp(-(k + 1) / float(scale)) / (1 + q))

    return cdf


def geometric_cdf(scale: Fraction) -> Cdf:
    return lambda k: float(-np.expm1(-(k + 1) / float(scale))) if k >= 0 else 0.0


def gaussian_cdf(sigma: Fraction) -> Cdf:
    if sigma > 100_000:  # the sum is the integral to within 1/(24 sigma**2): here below 1e-11
        return lambda k: float(mpmath.ncdf((k + 0.5) / float(sigma)))
    x = np.arange(-int(12 * sigma) - 12, int(12 * sigma) + 13)
    weights = np.exp(-(x.astype(float) ** 2) / (2 * float(sigma) ** 2))
    sums = np.cumsum(weights) / weights.sum()
    first = int(x[0])
    return lambda k: float(sums[min(max(k - first, 0), sums.size - 1)])


def cell_edges(cdf: Cdf, reach: int) -> list[int]:
    """Choose integers k with cdf(k) near 1/CELLS, 2/CELLS, ..., by bisection, without repeats."""
    edges: list[int] = []
    for share in np.arange(1, CELLS) / CELLS:
        low, high = -reach, reach
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if cdf(middle) >= share else (middle, high)
        if not edges or high > edges[-1]:
            edges.append(high)
    return edges


def assert_fits(drawn: np.ndarray, cdf: Cdf, reach: int) -> None:
    edges = cell_edges(cdf, reach)
    cumulative = np.array([0.0, *(cdf(edge) for edge in edges), 1.0])
    expected = np.diff(cumulative) * drawn.size
    keep = expected >= 20
    observed = np.bincount(
        np.searchsorted(np.array(edges), drawn, side="left"), minlength=expected.size
    ).astype(float)
    observed = np.append(observed[keep], observed[~keep].sum())
    expected = np.append(expected[keep], expected[~keep].sum())
    if expected[-1] < 20:
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    g = 2 * xlogy(observed, observed / expected).sum()
    assert expected.size >= 3
    assert g < chdtri(expected.size - 1, ALPHA)


def check(sampler: Sampler, cdf: Cdf, reach: int, seed: int) -> None:
    with replay(SeededBits(seed)):
        assert_fits(sampler.many(DRAWS), cdf, reach)
        singles = np.array([sampler.one() for _ in range(SINGLES)])
    assert_fits(singles, cdf, reach)


@pytest.mark.parametrize("scale", LAPLACE, ids=str)
def test_ten_million_discrete_laplace_draws_fit(scale: Fraction) -> None:
    check(discrete_laplace(scale), laplace_cdf(scale), int(60 * scale) + 60, 21)


@pytest.mark.parametrize("scale", LAPLACE, ids=str)
def test_ten_million_geometric_draws_fit(scale: Fraction) -> None:
    check(geometric(scale), geometric_cdf(scale), int(60 * scale) + 60, 22)


@pytest.mark.parametrize("sigma", GAUSS, ids=str)
def test_ten_million_discrete_gaussian_draws_fit(sigma: Fraction) -> None:
    check(discrete_gaussian(sigma**2), gaussian_cdf(sigma), int(12 * sigma) + 12, 23)


@pytest.mark.soak
@pytest.mark.parametrize("round_", range(20))
def test_draws_from_the_operating_system_fit(round_: int) -> None:
    scale, sigma = LAPLACE[round_ % len(LAPLACE)], GAUSS[round_ % len(GAUSS)]
    laplace, gaussian = discrete_laplace(scale), discrete_gaussian(sigma**2)
    assert_fits(laplace.many(DRAWS), laplace_cdf(scale), int(60 * scale) + 60)
    assert_fits(gaussian.many(DRAWS), gaussian_cdf(sigma), int(12 * sigma) + 12)


def test_the_test_itself_notices_a_one_percent_error() -> None:
    with replay(SeededBits(24)):
        drawn = discrete_laplace(Fraction(1000)).many(DRAWS)
    with pytest.raises(AssertionError):
        assert_fits(drawn, laplace_cdf(Fraction(1010)), 60_000)


def test_neighbouring_draws_of_one_array_are_independent() -> None:
    """Signs of consecutive draws: a 2x2 table, chi-square with one degree of freedom."""
    with replay(SeededBits(25)):
        drawn = discrete_laplace(Fraction(10**6)).many(2_000_000)
    signs = (drawn < 0).astype(int)
    table = np.bincount(signs[::2] * 2 + signs[1::2], minlength=4).reshape(2, 2).astype(float)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    assert ((table - expected) ** 2 / expected).sum() < chdtri(1, ALPHA)
    low_bits = np.bincount((drawn[::2] & 15) * 16 + (drawn[1::2] & 15), minlength=256)
    uniform = drawn.size / 2 / 256
    assert ((low_bits - uniform) ** 2 / uniform).sum() < chdtri(255, ALPHA)
