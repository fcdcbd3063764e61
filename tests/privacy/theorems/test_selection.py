# SPDX-License-Identifier: Apache-2.0
"""Repeat and select, against bases with few outputs, worst first, with many digits."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from sordino.theorems import (
    expected_runs,
    pure_to_renyi,
    repeat_and_select,
    repeat_and_select_poisson,
    repeat_and_select_renyi,
    repeat_fixed,
)
from tests.privacy.theorems.reference import Pair, Real, agrees, real, renyi

MASSES = st.lists(st.tuples(st.floats(0, 5), st.floats(-1, 1)), min_size=2, max_size=4)


def base(masses: list[tuple[float, float]], epsilon: Real) -> Pair:
    """Outputs, worst first, whose log ratios are at most epsilon in size."""
    p = [mpf(10) ** -real(weight) for weight, _ in masses]
    q = [a * mp.exp(epsilon / 2 * real(tilt)) for a, (_, tilt) in zip(p, masses, strict=True)]
    return [(a / sum(p), b / sum(q)) for a, b in zip(p, q, strict=True)]


def best(pair: Pair, generating: Callable[[Real], Real]) -> Pair:
    """The law of the best of a random number of runs, given by its generating function."""
    p = q = mpf(0)
    result = [(generating(p), generating(q))]  # no run at all
    for a, b in pair:
        result.append(
            (generating(p + a) - generating(p), generating(q + b) - generating(q)),
        )
        p, q = p + a, q + b
    return [(a, b) for a, b in result if a > 0]


def negative_binomial(eta: float, gamma: float) -> Callable[[Real], Real]:
    e, g = real(eta), real(gamma)
    if eta == 0:
        return lambda x: mp.log(1 - (1 - g) * x) / mp.log(g)
    return lambda x: ((1 - (1 - g) * x) ** -e - 1) / (g**-e - 1)


def poisson(mean: float) -> Callable[[Real], Real]:
    return lambda x: mp.exp(real(mean) * (x - 1))


def loss(pair: Pair) -> Real:
    return max(abs(mp.log(p / q)) for p, q in pair)


def test_a_geometric_number_of_runs_costs_three_times_as_much() -> None:
    assert repeat_and_select(epsilon=0.1, eta=1) == 0.3
    assert repeat_and_select(epsilon=0.1, eta=0) == 0.2
    assert repeat_and_select(epsilon=0.1, eta=-0.5) == 0.15


def test_a_fixed_number_of_runs_costs_as_much_as_all_of_them() -> None:
    assert repeat_fixed(epsilon=0.1, times=100) == 10.0
    # Three runs of a base with two outputs: that the best is the worse one says three lies.
    e = mp.exp(mpf(1))
    pair = best([(e / (1 + e), 1 / (1 + e)), (1 / (1 + e), e / (1 + e))], lambda x: x**3)
    assert agrees(repeat_fixed(epsilon=1, times=3), loss(pair), 14)


@settings(deadline=None, max_examples=150)
@given(MASSES, st.floats(0.01, 3), st.sampled_from([-0.5, 0, 0.5, 1, 2, 5]), st.floats(1e-6, 0.9))
def test_no_base_exceeds_the_pure_bound(
    masses: list[tuple[float, float]], epsilon: float, eta: float, gamma: float
) -> None:
    with mp.workdps(60):
        pair = best(base(masses, real(epsilon)), negative_binomial(eta, gamma))
        assert loss(pair) <= real(repeat_and_select(epsilon=epsilon, eta=eta)) + mpf(10) ** -30


@pytest.mark.parametrize("eta", [-0.5, 0, 1, 2])
def test_the_pure_bound_is_approached(eta: float) -> None:
    with mp.workdps(80):
        epsilon, rare = mpf(1), mpf(10) ** -12
        # A rare best output becomes rarer while the middle one becomes more likely.
        p = [1 - rare - rare**2, rare, rare**2]
        q = [1 - rare * mp.e - rare**2 / mp.e, rare * mp.e, rare**2 / mp.e]
        q[0] = 1 - q[1] - q[2]
        pair = best(list(zip(p, q, strict=True)), negative_binomial(eta, 1e-9))
        found = loss(pair[-2:])
        assert found > epsilon * 0.9
        assert found <= real(repeat_and_select(epsilon=1, eta=eta))


@settings(deadline=None, max_examples=60)
@given(
    MASSES,
    st.floats(0.01, 3),
    st.sampled_from([-0.5, 0, 1, 2]),
    st.floats(1e-4, 0.9),
    st.floats(1.01, 50),
)
def test_no_base_exceeds_the_divergence_for_a_negative_binomial(
    masses: list[tuple[float, float]], epsilon: float, eta: float, gamma: float, order: float
) -> None:
    with mp.workdps(60):
        one = base(masses, real(epsilon))
        true = renyi(best(one, negative_binomial(eta, gamma)), real(order))

        bound = repeat_and_select_renyi(curve=curve_of(one), order=order, eta=eta, gamma=gamma)
        assert true <= real(bound)


def curve_of(pair: Pair) -> Callable[[float], float]:
    """The divergence in both directions, in doubles that are a little too large."""
    logs = [(float(mp.log(p)), float(mp.log(q))) for p, q in pair]

    def one(order: float, logs: list[tuple[float, float]]) -> float:
        terms = [order * p + (1 - order) * q for p, q in logs]
        high = max(terms)
        return (high + math.log(sum(math.exp(term - high) for term in terms))) / (order - 1)

    def curve(order: float) -> float:
        found = max(one(order, logs), one(order, [(q, p) for p, q in logs]), 0.0)
        return found + 1e-12 * (1 + order / (order - 1))

    return curve


@settings(deadline=None, max_examples=20)
@given(MASSES, st.floats(0.01, 3), st.floats(0.01, 100), st.floats(1.01, 50))
def test_no_base_exceeds_the_divergence_for_a_poisson_number(
    masses: list[tuple[float, float]], epsilon: float, mean: float, order: float
) -> None:
    with mp.workdps(60):
        one = base(masses, real(epsilon))
        true = renyi(best(one, poisson(mean)), real(order))

        steps: dict[str, Any] = {"curve": curve_of(one), "order": order, "mean": mean}
        tight = repeat_and_select_poisson(form="tight", **steps)
        assert true <= real(tight)
        assert tight <= repeat_and_select_poisson(**steps) * (1 + 1e-12)


@settings(deadline=None, max_examples=200)
@given(MASSES, st.floats(0.01, 6), st.floats(0.01, 300), st.floats(1.01, 50))
def test_the_tight_poisson_bound_holds_with_the_exact_delta(
    masses: list[tuple[float, float]], epsilon: float, mean: float, order: float
) -> None:
    with mp.workdps(60):
        pair, a, mu = base(masses, real(epsilon)), real(order), real(mean)
        total = mp.exp((a - 1) * renyi(pair, a))
        lost = sum(max(q - a / (a - 1) * p, mpf(0)) for p, q in pair)
        bound = mp.log1p(mu * mp.exp((a - 1) * mu * lost) * (total - 1)) / (a - 1)
        assert renyi(best(pair, poisson(mean)), a) <= bound + mpf(10) ** -40


def test_the_printed_poisson_bound_is_false_for_less_than_one_run() -> None:
    with mp.workdps(60):
        one = base([(0, 0.5), (0, -0.5)], mpf(1))
        printed = renyi(one, mpf("1.1")) + mp.log(mpf("0.1")) / mpf("0.1")
        assert printed < 0 < renyi(best(one, poisson(0.1)), mpf("1.1"))


def test_runs_have_the_known_mean() -> None:
    assert expected_runs(eta=0, gamma=0.1) == pytest.approx(3.9086503371293, rel=1e-13)
    assert expected_runs(eta=1, gamma=0.1) == 10.0


@given(st.one_of(st.floats(-0.99, -1e-3), st.floats(1e-3, 5)), st.floats(1e-6, 0.999))
def test_the_mean_is_the_slope_of_the_generating_function(eta: float, gamma: float) -> None:
    with mp.workdps(60):
        slope = mp.diff(negative_binomial(eta, gamma), mpf(1))
    assert expected_runs(eta=eta, gamma=gamma) == pytest.approx(float(slope), rel=1e-9)


@settings(deadline=None, max_examples=20)
@given(st.floats(0.001, 1), st.floats(1.5, 20), st.floats(0.01, 0.5), st.floats(1, 2))
def test_more_runs_and_more_loss_cost_more(
    epsilon: float, order: float, gamma: float, factor: float
) -> None:
    def found(epsilon: float, gamma: float) -> float:
        return repeat_and_select_renyi(
            curve=lambda order: pure_to_renyi(epsilon=epsilon, order=order),
            order=order,
            eta=1,
            gamma=gamma,
        )

    usual = found(epsilon, gamma)
    assert usual <= found(epsilon * factor, gamma) * (1 + 1e-12)
    assert usual <= found(epsilon, gamma / factor) * (1 + 1e-12)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^eta must be above -1, got -1$"):
        repeat_and_select(epsilon=1, eta=-1)
    with pytest.raises(ValueError, match=r"^eta must be a finite number, got nan$"):
        repeat_and_select(epsilon=1, eta=math.nan)
    with pytest.raises(ValueError, match=r"^gamma must be a number between 0 and 1"):
        expected_runs(eta=1, gamma=1)
    with pytest.raises(ValueError, match=r"^order must be above 1, got 1$"):
        repeat_and_select_renyi(curve=lambda order: order, order=1, eta=1, gamma=0.1)
    with pytest.raises(ValueError, match=r"^times must be a positive whole number, got 0$"):
        repeat_fixed(epsilon=1, times=0)


@pytest.mark.parametrize("eta", [0, 1, -0.5])
@pytest.mark.parametrize("gamma", [0.5, 0.1, 1e-3])
@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5])
@pytest.mark.parametrize("order", [1.5, 8, 50])
def test_the_best_of_gaussian_runs_has_a_closed_form(
    eta: float, gamma: float, rho: float, order: float
) -> None:
    """With divergences rho times the order, the best other order is sqrt(ln(1/gamma) / rho)."""
    runs = math.log(expected_runs(eta=eta, gamma=gamma))

    def closed(a: float) -> float:
        b = max(math.sqrt(-math.log(gamma) / rho), 1.0)
        drawn = (b - 1) * rho - math.log(gamma) / b
        return a * rho + (1 + eta) * drawn + runs / (a - 1)

    best = max(order, 1 + math.sqrt(runs / rho))
    found = repeat_and_select_renyi(curve=lambda a: a * rho, order=order, eta=eta, gamma=gamma)
    assert closed(best) * (1 - 1e-12) <= found <= closed(best) * (1 + 1e-6)
