# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from time import perf_counter

import pytest

from sordino.privacy import ContinuousGaussian, DiscreteGaussian
from sordino.privacy.discrete_gaussian import greatest_variance, least_variance

LOW, HIGH = Fraction(1, 2**40), Fraction(2**100)


def loss(variance: float | str, norm: int, coordinates: int | None = None) -> DiscreteGaussian:
    return DiscreteGaussian(
        variance=Fraction(str(variance)), squared_sensitivity=norm, coordinates=coordinates
    )


@pytest.mark.parametrize(
    ("variance", "shift", "epsilon", "delta"),
    [
        (1, 1, 1, 0.1413513394056219),
        (4, 1, 0.5, 0.05400722369415442),
        (16, 1, 1, 3.055454649266823e-6),
        (16, 3, 1, 0.04981921208225806),
        (100, 1, 0.1, 0.008762353923948095),
    ],
)
def test_the_profile_of_one_integer(
    variance: int, shift: int, epsilon: float, delta: float
) -> None:
    one = loss(variance, shift**2, coordinates=1)
    assert one.delta(epsilon=epsilon) == pytest.approx(delta, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("variance", "norm", "epsilon", "delta"),
    [
        (1, 4, 2, 0.3153482407532593),
        (4, 4, 0.5, 0.236339536),
        (1, 2, 1, 0.2625001969545944),
    ],
)
def test_the_profile_of_vectors(variance: int, norm: int, epsilon: float, delta: float) -> None:
    assert loss(variance, norm).delta(epsilon=epsilon) == pytest.approx(delta, rel=2e-9, abs=0)


def test_one_integer_may_move_less_than_a_vector() -> None:
    assert loss(1, 4, coordinates=1).delta(epsilon=2) == pytest.approx(
        0.2667817750469883, rel=1e-15, abs=0
    )
    assert loss(1, 4).delta(epsilon=2) > 0.3153
    assert loss(1, 7, coordinates=1) != loss(1, 4, coordinates=1)
    assert loss(1, 7, coordinates=1).delta(epsilon=2) == loss(1, 4, coordinates=1).delta(epsilon=2)


def test_rho_is_exact() -> None:
    assert loss(1, 1).rho == 0.5
    assert DiscreteGaussian(variance=Fraction(5, 3), squared_sensitivity=1).rho == 0.3


@pytest.mark.parametrize("norm", [1, 2, 9, 60, 64, 65, 100, 10**6, 10**12])
@pytest.mark.parametrize("ratio", [0.05, 0.4, 1, 3, 20, 1e4])
def test_the_profile_falls_and_stays_below_the_conversion_from_rho(norm: int, ratio: float) -> None:
    one = loss(round(norm * ratio, 6), norm)
    rho = one.rho
    deltas = [one.delta(epsilon=rho + x * math.sqrt(rho)) for x in (0, 0.5, 1, 2, 4, 8)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] <= math.exp(-(8**2) / 4) * 1.01


@pytest.mark.parametrize("norm", [2, 16, 100, 10**6])
def test_wide_noise_on_a_vector_is_close_to_real_noise(norm: int) -> None:
    for ratio in (20, 500):
        one = loss(norm * ratio, norm)
        real = ContinuousGaussian(variance=one.variance, squared_sensitivity=Fraction(norm))
        for target in (1e-3, 1e-8):
            epsilon = real.epsilon(delta=target)
            assert one.delta(epsilon=epsilon) == pytest.approx(target, rel=0.1, abs=0)


def test_a_fine_grid_costs_two_to_the_minus_sixty() -> None:
    fine = DiscreteGaussian(
        variance=Fraction(2) ** 82, squared_sensitivity=2**80, coordinates=2**16
    )
    real = ContinuousGaussian(variance=Fraction(4), squared_sensitivity=Fraction(1))
    for epsilon in (2, 2.5, 3):
        excess = fine.delta(epsilon=epsilon) - real.delta(epsilon=epsilon)
        assert excess == pytest.approx(2**-60, rel=0.01, abs=0)
    assert fine.delta(epsilon=20) < 1e-20  # far out the conversion from rho is better


@pytest.mark.parametrize(("variance", "norm"), [("18", 1), ("40", 60), ("4096.5", 9), ("0.1", 1)])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
def test_epsilon_is_the_least_double_whose_delta_fits(
    variance: str, norm: int, delta: float
) -> None:
    one = loss(variance, norm)
    epsilon = one.epsilon(delta=delta)
    assert one.delta(epsilon=epsilon) <= delta
    if epsilon:
        assert one.delta(epsilon=math.nextafter(epsilon, 0)) > delta
    assert one.epsilon(delta=0) == math.inf


@pytest.mark.parametrize("norm", [1, 4, 60, 64, 100, 10**8])
@pytest.mark.parametrize("coordinates", [None, 1])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-9"), ("1", "1e-6"), ("6", "1e-5")])
def test_the_least_variance_fits_and_is_found_quickly(
    norm: int, coordinates: int | None, epsilon: str, delta: str
) -> None:
    began = perf_counter()
    variance = least_variance(
        squared_sensitivity=norm,
        coordinates=coordinates,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        low=LOW,
        high=HIGH,
    )
    assert perf_counter() - began < 1
    found = DiscreteGaussian(variance=variance, squared_sensitivity=norm, coordinates=coordinates)
    assert found.delta(epsilon=epsilon_of(epsilon)) <= float(delta)
    less = variance * (1 - Fraction(1, 2**28))
    smaller = DiscreteGaussian(variance=less, squared_sensitivity=norm, coordinates=coordinates)
    assert smaller.delta(epsilon=epsilon_of(epsilon)) > float(delta)


def epsilon_of(text: str) -> Fraction:
    return Fraction(text)


def test_tiny_epsilons_ask_for_much_noise_and_huge_ones_for_little() -> None:
    def variance(epsilon: str) -> Fraction:
        return least_variance(
            squared_sensitivity=1,
            coordinates=None,
            epsilon=Fraction(epsilon),
            delta=Fraction(1, 10**6),
            low=LOW,
            high=HIGH,
        )

    assert variance("1e-12") > 10**10
    assert variance("1e12") == LOW
    with pytest.raises(ValueError, match="nothing in the range fits"):
        least_variance(
            squared_sensitivity=10**40,
            coordinates=None,
            epsilon=Fraction(1, 10**12),
            delta=Fraction(1, 10**12),
            low=LOW,
            high=HIGH,
        )


def test_the_greatest_variance_is_found_too() -> None:
    found = greatest_variance(lambda v: v <= 10, low=LOW, high=HIGH, near=Fraction(1))
    assert found == 10
    found = greatest_variance(lambda v: 3 * v <= 1, low=LOW, high=HIGH, near=HIGH * 2)
    assert Fraction(1, 3) * (1 - Fraction(1, 2**29)) < found <= Fraction(1, 3)


def test_a_loss_is_made_of_exact_numbers_only() -> None:
    for variance, norm, coordinates in (
        (1.0, 1, None),
        (Fraction(1), 0, None),
        (Fraction(1), 1, 0),
    ):
        with pytest.raises(ValueError, match="must be a positive"):
            DiscreteGaussian(
                variance=variance,  # type: ignore[arg-type]  # on purpose
                squared_sensitivity=norm,
                coordinates=coordinates,
            )
