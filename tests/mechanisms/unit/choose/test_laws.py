# SPDX-License-Identifier: Apache-2.0
"""The laws of the choices as doubles, against their definitions."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest

from sordino.mechanisms.choose.candidates import read_base, weights_with_base, with_base
from sordino.mechanisms.choose.scores import read_scores
from sordino.mechanisms.choose.terms import flips, weights
from tests.mechanisms.unit.choose.universes import by_flips

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("scores", "rate", "exponents"),
    [
        ([3, 3, 2, 3, 4], HALF, [0.5, 0.5, 1, 0.5, 0]),
        ([0.25, 1.5, -3.0], Fraction(2), [2.5, 0, 9]),
        ([Fraction(1, 3), 1, 0.5], Fraction(3), [2, 0, 1.5]),
        ([-(1 << 63), (1 << 63) - 1], Fraction(1, 1 << 63), [2, 0]),
        (np.array([0, (1 << 64) - 1], dtype=np.uint64), Fraction(1, 1 << 63), [2, 0]),
        ([1e308, -1e308], Fraction(1, 10**154), [0, math.inf]),
        ([1.5e308, -1.5e308], Fraction(1 << 256), [0, math.inf]),
        ([10**400, 0, 10**400 - 1], Fraction(1), [0, math.inf, 1]),
        ([7], Fraction(1), [0]),
    ],
    ids=str,
)
def test_a_weight_is_exp_of_minus_the_rate_times_the_gap(
    scores: object, rate: Fraction, exponents: list[float]
) -> None:
    expected = [math.exp(-x) for x in exponents]
    np.testing.assert_allclose(weights(read_scores(scores), rate), expected, rtol=1e-14)


def test_a_wide_range_of_doubles_has_no_overflow() -> None:
    rate = Fraction(1, 1 << 256)
    scores = np.array([1.0, -1.0]) * 2.0**255
    np.testing.assert_allclose(weights(read_scores(scores), rate), [1, math.exp(-1)], rtol=1e-15)


@pytest.mark.parametrize(
    "scores",
    [(0,), (0, 0), (5, 0), (3, 3, 2, 3, 4), (0, -1, -1, -7, -20, 0), (0, -800, -2000)],
    ids=str,
)
@pytest.mark.parametrize("rate", [0.01, 0.5, 1.0, 4.0])
def test_flips_are_permute_and_flip_over_all_orders(scores: tuple[int, ...], rate: float) -> None:
    chances = np.exp(-rate * (max(scores) - np.array(scores, dtype=float)))
    np.testing.assert_allclose(flips(chances), by_flips(scores, rate), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("others", [1, 3, 100, 5000, 10**6])
@pytest.mark.parametrize("chance", [1.0, 0.9, 0.3, 1e-3, 1e-9, 0.0])
def test_flips_of_many_candidates_alike(others: int, chance: float) -> None:
    """The best one wins with (1 - (1 - p)^d) / (d p)."""
    found = flips(np.array([1.0] + [chance] * others))
    many = others + 1
    with mpmath.workdps(60):
        p = mpmath.mpf(chance)
        best = (1 - (1 - p) ** many) / (many * p) if chance else mpmath.mpf(1)
    assert found[0] == pytest.approx(float(best), rel=1e-13, abs=0)
    assert found.sum() == pytest.approx(1, rel=1e-12, abs=0)


def test_a_base_multiplies_the_weights_exactly() -> None:
    scores = read_scores([2, 1, 0])
    base = read_base([0.1, Fraction(1, 3), 0], 3)
    levels = with_base(scores, base, HALF)
    assert list(levels.counts) == [3, 10, 0]
    assert [levels.floor(i) for i in range(3)] == [0, HALF, 1]
    found = weights_with_base(scores, base, HALF)
    np.testing.assert_allclose(found, [0.1, math.exp(-0.5) / 3, 0], rtol=1e-15)


def test_a_base_without_the_best_candidate_leaves_weights_to_the_others() -> None:
    found = weights_with_base(read_scores([10**6, 1, 0]), read_base([0, 1, 2], 3), Fraction(1))
    np.testing.assert_allclose(found, [0, 1, 2 * math.exp(-1)], rtol=1e-15)


@pytest.mark.parametrize(
    ("base", "error", "message"),
    [
        ([1, 2], ValueError, "base must have one number for each of 3 candidates, got 2"),
        ([0, 0, 0], ValueError, "base must give some candidate a weight above 0"),
        ([1, -1, 1], ValueError, "a weight of base must be a number that is not negative, got -1"),
        ([1, math.nan, 1], ValueError, "a weight of base must be a number that is not negative"),
        ([1, "2", 1], TypeError, "a weight of base must be a number that is not negative, got '2'"),
        (3, TypeError, "base must be a list in the order of the candidates, got a value of type i"),
        ({1: 5, 2: 5, 3: 5}, TypeError, "base must be a list in the order of .* of type dict"),
        ({1, 2, 3}, TypeError, "base must be a list in the order of .* of type set"),
        ("123", TypeError, "base must be a list in the order of .* of type str"),
        (
            pd.Series([1, 2, 3], index=["a", "b", "c"]),
            TypeError,
            "base must be a list in the order of the candidates, got a Series with labels; put it",
        ),
    ],
    ids=str,
)
def test_a_base_that_makes_no_sense_is_refused(
    base: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        read_base(base, 3)


def test_weights_without_a_common_denominator_are_refused() -> None:
    primes = [p for p in range(2, 5000) if all(p % q for q in range(2, math.isqrt(p) + 1))]
    base = [Fraction(1, p) for p in primes]
    with pytest.raises(ValueError, match="have no common denominator that can be worked with"):
        with_base(read_scores([0] * len(base)), base, HALF)
