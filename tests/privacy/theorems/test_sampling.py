# SPDX-License-Identifier: Apache-2.0
"""Amplification by sampling."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from sordino.theorems import subsampled
from tests.privacy.theorems.reference import Pair, Real, both_ways, real, response

POISSON: dict[str, Any] = {"sampling": "poisson", "neighbours": "add_remove"}
DRAWN: dict[str, Any] = {"sampling": "without_replacement", "neighbours": "replace_one"}


@pytest.mark.parametrize("kind", [POISSON, DRAWN], ids=["poisson", "drawn"])
@pytest.mark.parametrize(
    ("rate", "epsilon", "expected"),
    [
        (0.01, 1, 0.01703686323617655),
        (0.1, 2, 0.4940287080441788),
        (0.5, 0.5, 0.2809298036201614),
    ],
)
def test_epsilon_has_the_known_values(
    kind: dict[str, Any], rate: float, epsilon: float, expected: float
) -> None:
    found = subsampled(epsilon=epsilon, delta=1e-6, rate=rate, **kind)
    assert found.epsilon == pytest.approx(expected, rel=1e-14)
    assert found.delta == rate * 1e-6


def test_a_sample_of_everything_gains_nothing() -> None:
    found = subsampled(epsilon=0.3, delta=1e-6, rate=1, **POISSON)
    assert found.epsilon == pytest.approx(0.3, rel=1e-15)
    assert found.delta == 1e-6


def respond(epsilon: float, present: bool, delta: float = 0) -> list[Real]:
    """How likely each answer is to the question whether somebody is in the sample."""
    return [pair[0 if present else 1] for pair in response(epsilon, delta)]


def mixture(weights: list[tuple[Real, list[Real]]]) -> list[Real]:
    return [sum(weight * law[j] for weight, law in weights) for j in range(len(weights[0][1]))]


@settings(deadline=None)
@given(st.floats(0.01, 10), st.floats(0, 0.3), st.floats(0.001, 1))
def test_asking_whether_somebody_was_taken_by_a_coin_attains_the_bound(
    epsilon: float, delta: float, rate: float
) -> None:
    q = real(rate)
    with_it = mixture([(q, respond(epsilon, True, delta)), (1 - q, respond(epsilon, False, delta))])
    pair: Pair = list(zip(with_it, respond(epsilon, False, delta), strict=True))
    found = subsampled(epsilon=epsilon, delta=delta, rate=rate, **POISSON)
    worst = both_ways(pair, found.epsilon)
    assert worst <= real(found.delta) * (1 + mp.mpf(10) ** -40)
    if delta == 0:
        assert both_ways(pair, found.epsilon * (1 - 1e-9)) > 0


@pytest.mark.parametrize(("size", "drawn"), [(3, 1), (4, 2), (5, 4)])
def test_asking_whether_somebody_was_drawn_attains_the_bound(size: int, drawn: int) -> None:
    samples = list(combinations(range(size), drawn))
    weight = mp.mpf(1) / len(samples)
    one = mixture([(weight, respond(1.5, 0 in sample)) for sample in samples])
    pair: Pair = list(zip(one, respond(1.5, False), strict=True))
    found = subsampled(epsilon=1.5, rate=Fraction(drawn, size), **DRAWN)
    assert both_ways(pair, found.epsilon) == 0
    assert both_ways(pair, found.epsilon * (1 - 1e-12)) > 0


@given(st.floats(1e-9, 50), st.floats(0, 0.5), st.floats(1e-6, 1), st.floats(1, 2))
def test_more_costs_more_and_sampling_never_costs_more(
    epsilon: float, delta: float, rate: float, factor: float
) -> None:
    usual = subsampled(epsilon=epsilon, delta=delta, rate=rate, **POISSON)
    assert usual.epsilon <= epsilon * (1 + 1e-15)
    assert usual.delta <= delta
    assert usual <= subsampled(epsilon=epsilon * factor, delta=delta, rate=rate, **POISSON)
    more = subsampled(epsilon=epsilon, delta=delta, rate=min(rate * factor, 1), **POISSON)
    assert usual.epsilon <= more.epsilon
    assert usual.delta <= more.delta


@pytest.mark.parametrize(
    ("sampling", "neighbours"),
    [("poisson", "replace_one"), ("without_replacement", "add_remove")],
)
def test_the_other_pairs_are_refused_with_the_reason(sampling: Any, neighbours: Any) -> None:
    with pytest.raises(ValueError, match=f"with '{neighbours}' this bound is not proved"):
        subsampled(epsilon=1, rate=0.1, sampling=sampling, neighbours=neighbours)


def test_a_rate_is_positive_and_at_most_one() -> None:
    with pytest.raises(ValueError, match=r"^rate must be at most 1, got 1\.5$"):
        subsampled(epsilon=1, rate=1.5, **POISSON)
    with pytest.raises(ValueError, match=r"^rate must be a positive number, got 0$"):
        subsampled(epsilon=1, rate=0, **POISSON)
