# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import BudgetExceeded
from sordino.numbers.rational import reading
from sordino.privacy import losses
from sordino.privacy.budget import Budget, Filter
from sordino.privacy.concentrated import Concentrated
from sordino.privacy.currency import GDP, NANO, PURE, Price
from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.gaussian import continuous_delta
from sordino.privacy.leaf import Floats
from sordino.privacy.loss import single
from sordino.privacy.normal_pairs import largest_pure, squared_mu, squared_step
from sordino.privacy.pure import Pure
from tests.privacy.unit.stated import Stated

VARIANCES = [Fraction(1, 4), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(16383)]
WIDE = [Fraction(1 << 14), Fraction(1 << 20), Fraction(1 << 82)]


def test_gaussian_noise_on_the_real_line_has_its_own_mu() -> None:
    assert squared_mu(losses.gaussian(sigma=4, sensitivity=2)) == (Fraction(1, 4), Fraction(0))
    both = 3 * losses.gaussian(sigma=10) + losses.gaussian(sigma=20).under("add_remove")
    assert squared_mu(both) == (Fraction(13, 400), Fraction(0))


@pytest.mark.parametrize("variance", VARIANCES + WIDE)
def test_the_lattice_costs_a_little_more_than_the_real_line(variance: Fraction) -> None:
    excess = squared_step(variance) * variance - 1
    most = Fraction(1, 7) if variance < 1 << 14 else 31 if variance < 1 << 20 else 81
    assert 0 < excess <= most / variance


@pytest.mark.parametrize("variance", VARIANCES + WIDE)
@pytest.mark.parametrize("part", [Fraction(1, 100), Fraction(1), Fraction(2)])
def test_no_shift_on_the_lattice_has_a_larger_profile_than_its_mu(
    variance: Fraction, part: Fraction
) -> None:
    shift = max(1, int(part * math.isqrt(int(variance))))
    leaf = DiscreteGaussian(variance=variance, squared_sensitivity=shift**2, coordinates=1)
    found = squared_mu(single(leaf))
    if shift**2 > 4 * variance:
        assert found is None
        return
    assert found is not None
    square, failures = found
    assert failures == Fraction(1, 10 ** (69 if variance >= 1 << 20 else 21))
    for step in range(60):
        epsilon = Fraction(step, 10)
        most = continuous_delta(ratio=square, epsilon=epsilon)
        least = float(leaf.delta(epsilon=epsilon))
        # The profile of the leaf is itself an upper bound, tight to 1e-12 for one coordinate.
        assert least <= most * (1 + 1e-11) + 1e-21


@pytest.mark.parametrize("norm", [2, 3, 5, 64])
def test_vectors_are_as_cheap_as_their_length(norm: int) -> None:
    leaf = DiscreteGaussian(variance=Fraction(norm), squared_sensitivity=norm)
    found = squared_mu(leaf)
    assert found == (norm * squared_step(Fraction(norm)), norm * Fraction(1, 10**21))
    few = DiscreteGaussian(variance=Fraction(norm), squared_sensitivity=norm, coordinates=2)
    assert squared_mu(few) == (found[0], 2 * Fraction(1, 10**21))
    for step in range(1, 40):
        epsilon = Fraction(step, 10)
        assert leaf.delta(epsilon=epsilon) <= continuous_delta(ratio=found[0], epsilon=epsilon)


def test_steps_are_those_of_a_sum_by_hand() -> None:
    # Variance 1: P(X < 1) = (1 + P(X = 0)) / 2, and the first step is twice its quantile.
    whole = sum(math.exp(-n * n / 2) for n in range(-40, 41))
    first = 2 * NormalDist().inv_cdf((1 + 1 / whole) / 2)
    second = NormalDist().inv_cdf((1 + 1 / whole) / 2 + math.exp(-0.5) / whole) - first / 2
    assert math.sqrt(squared_step(Fraction(1))) >= max(first, second) - 1e-12
    assert math.sqrt(squared_step(Fraction(1))) == pytest.approx(max(first, second), rel=0.02)


@given(st.floats(min_value=1e-9, max_value=800).map(lambda x: Fraction(repr(x))))
@settings(max_examples=60, deadline=None)
def test_a_pure_loss_has_the_mu_that_meets_its_corner(epsilon: Fraction) -> None:
    found = squared_mu(Pure(epsilon=epsilon))
    assert found is not None
    mu = math.sqrt(found[0])
    if epsilon < 30:  # where doubles can tell
        corner = 1 / (1 + math.exp(epsilon))
        assert mu == pytest.approx(-2 * NormalDist().inv_cdf(corner), rel=1e-6)
    assert mu <= 1.2534 * epsilon
    for at in (Fraction(0), epsilon / 3, epsilon * Fraction(9, 10)):
        truth = Pure(epsilon=epsilon).delta(epsilon=at)
        assert truth <= continuous_delta(ratio=found[0], epsilon=at) * (1 + 1e-9)


@given(
    st.floats(min_value=1e-6, max_value=30).map(lambda x: Fraction(repr(x))),
    st.floats(min_value=0, max_value=1),
    st.floats(min_value=-1, max_value=1),
)
@settings(max_examples=300, deadline=None)
def test_two_losses_in_a_range_have_at_most_the_profile_of_its_mu(
    bound: Fraction, place: float, part: float
) -> None:
    square, failures = squared_mu(losses.exponential(epsilon=bound)) or (Fraction(0), Fraction(1))
    assert failures == 0
    assert square == (squared_mu(Pure(epsilon=bound / 2)) or (None,))[0]
    # The losses are top and top - bound, and the first has the probability p or q.
    width = float(bound)
    top = place * width
    q = -math.expm1(top - width) / -math.expm1(-width) * math.exp(-top) if top else 1.0
    p = q * math.exp(top)
    epsilon = Fraction(part) * bound
    at = float(epsilon)
    truth = max(p - math.exp(at) * q, 0) + max((1 - p) - math.exp(at) * (1 - q), 0)
    most = continuous_delta(ratio=square, epsilon=abs(epsilon))
    if at < 0:  # by exchanging the two sides
        most = -math.expm1(at) + math.exp(at) * most
    assert truth <= most * (1 + 1e-9) + 1e-14


@given(st.floats(min_value=1e-9, max_value=1e5).map(lambda x: Fraction(repr(x))))
@settings(max_examples=60, deadline=None)
def test_the_largest_pure_loss_of_a_square_is_hardly_too_small(square: Fraction) -> None:
    epsilon = largest_pure(square)
    found, _ = squared_mu(Pure(epsilon=epsilon)) or (Fraction(-1), None)
    assert 0 < found <= square
    if square < 3000:
        assert found >= square * (1 - Fraction(1, 10**7))


def test_what_has_no_mu_has_no_price() -> None:
    assert squared_mu(Concentrated(rho=Fraction(1))) is None
    assert squared_mu(losses.gaussian(sigma=1) + losses.concentrated(rho=1)) is None
    assert squared_mu(Stated(pure=Fraction(0))) == (Fraction(0), Fraction(0))
    wide = DiscreteGaussian(variance=Fraction(1), squared_sensitivity=5)
    assert squared_mu(wide) is None
    with pytest.raises(ValueError, match="no finite gdp, so a budget that counts gdp cannot pay"):
        GDP.price(Concentrated(rho=Fraction(1)))


def test_a_budget_in_gdp_has_the_largest_cap_that_keeps_its_promise() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(8)):
        budget = Budget(epsilon=epsilon, delta=1e-6, currency="gdp", failures=0)
        cap, slack = budget.cap.value, Fraction(1, 10**6)
        assert reading(continuous_delta(ratio=cap, epsilon=epsilon)) <= slack
        more = cap + Fraction(1, NANO)
        assert reading(continuous_delta(ratio=more, epsilon=epsilon)) > slack
        assert budget.epsilon == float(epsilon)
        assert GDP.epsilon(cap, delta=slack) == pytest.approx(float(epsilon), rel=1e-6)
        in_rho = Budget(epsilon=epsilon, delta=1e-6, failures=0)
        assert cap > 2 * in_rho.cap.value


def test_a_filter_in_gdp_adds_up_squares_and_failures() -> None:
    purse = Filter(Budget(epsilon=1, delta=1e-6, currency="gdp"))
    noise, failing = (
        losses.discrete_gaussian(sigma=20),
        losses.approximate(epsilon=0.01, delta=1e-9),
    )
    price = purse.spend(noise)
    assert price.currency == GDP
    assert (price.nanos, price.attos) == (2_500_521, 1)
    second = purse.spend(failing)
    assert second.attos == 10**9
    assert second.nanos == GDP.price(losses.pure(epsilon=0.01)).nanos
    assert purse.spent == Price(GDP, price.nanos + second.nanos, 10**9 + 1)
    with pytest.raises(BudgetExceeded, match=r"asks for gdp 1, but gdp 0\.05\d+ and delta .* left"):
        purse.spend(losses.gaussian(sigma=1))
    only = Filter(Budget(epsilon=1, delta=1e-6, currency="gdp"))
    assert only.spend(losses.pure(epsilon=0.9)).currency == PURE


def test_what_is_said_to_fit_does_fit() -> None:
    for nanos in (1_000, 56_028_419, NANO):
        said = GDP.what_fits(nanos)
        epsilon, sigma = (said.split(word)[1].split()[0] for word in ("epsilon ", "sigma "))
        assert GDP.price(losses.pure(epsilon=Fraction(epsilon))).nanos <= nanos
        assert GDP.price(losses.gaussian(sigma=Fraction(sigma))).nanos <= nanos


def test_no_analyst_gains_by_choosing_gaussian_noise_by_the_answers() -> None:
    # First noise of variance 9; if the answer is at least a threshold, one of variance 4 follows,
    # else two of variance 8: both use up the same squares. Every pair of outcomes is added up.
    first, narrow, wide = Fraction(9), Fraction(4), Fraction(8)
    cap = squared_step(first) + max(squared_step(narrow), 2 * squared_step(wide))
    outcomes = np.arange(-40.0, 42.0)
    shown, _ = _unit_shift(9.0, outcomes)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        rest = epsilon - (2 * outcomes - 1) / 18
        most = continuous_delta(ratio=cap, epsilon=Fraction(epsilon))
        one, two = _stick(rest, 4.0), _stick(rest, 8.0, 8.0)
        for threshold in range(-6, 8):
            reached = float(np.sum(shown * np.where(outcomes >= threshold, one, two)))
            assert 0 < reached <= most + 1e-12
        best = float(np.sum(shown * np.maximum(one, two)))
        assert reached <= best + 1e-15
        assert best <= most + 1e-12


def _unit_shift(variance: float, outcomes: Floats) -> tuple[Floats, Floats]:
    """The probabilities of outcomes of noise around 1, and their losses against noise around 0."""
    points = np.arange(-200.0, 201.0)
    whole = math.fsum(np.exp(-points * points / (2 * variance)))
    return np.exp(-((outcomes - 1) ** 2) / (2 * variance)) / whole, (2 * outcomes - 1) / (
        2 * variance
    )


def _stick(epsilons: Floats, *variances: float) -> Floats:
    """The profile of unit shifts of so many discrete Gaussians, at any epsilons, by adding up."""
    chances, lost = np.ones(1), np.zeros(1)
    for variance in variances:
        p, more = _unit_shift(variance, np.arange(-40.0, 42.0))
        chances = np.outer(chances, p).ravel()
        lost = (lost[:, None] + more).ravel()
    rest = np.minimum(epsilons[:, None] - lost, 0.0)
    found: Floats = -np.expm1(rest) @ chances
    return found
