# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from functools import lru_cache

import mpmath
import pytest

from sordino.privacy import DiscreteLaplace


def loss(total: float | str, shift: int) -> DiscreteLaplace:
    """The loss of a pure epsilon of ``total`` spread over ``shift`` steps."""
    return DiscreteLaplace(eta=Fraction(str(total)) / shift, shift=shift)


def summed(one: DiscreteLaplace, epsilon: float) -> mpmath.mpf:
    """The profile from the probabilities, term by term."""
    with mpmath.workdps(40):
        powers = powers_of(one.eta)
        q, factor = powers[1], mpmath.exp(mpmath.mpf(str(epsilon)))
        reach = int(100 / -mpmath.log(q)) + one.shift
        pairs = ((powers[abs(y - one.shift)], powers[abs(y)]) for y in range(-reach, reach + 1))
        return (1 - q) / (1 + q) * mpmath.fsum(max(p - factor * r, 0) for p, r in pairs)


@lru_cache(maxsize=1)
def powers_of(eta: Fraction) -> list[mpmath.mpf]:
    """All powers of the ratio of two neighbouring probabilities that a sum may want."""
    with mpmath.workdps(40):
        q = mpmath.exp(-mpmath.mpf(eta.numerator) / eta.denominator)
        return [q**k for k in range(int(100 / -mpmath.log(q)) + 2 * 8 + 1)]


@pytest.mark.parametrize(
    ("shift", "epsilon", "delta"),
    [
        (1, 0.5, 0.2876491366449679),
        (1, 0, 0.4621171572600098),
        (5, 0.5, 0.2241082060501939),
        (5, 0, 0.3964894087096409),
    ],
)
def test_the_profile_at_pure_loss_one(shift: int, epsilon: float, delta: float) -> None:
    assert loss(1, shift).delta(epsilon=epsilon) == pytest.approx(delta, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("shift", "rho"),
    [
        (1, 0.4621171572600098),
        (2, 0.3934693402873666),
        (5, 0.3720739948638469),
        (20, 0.36814274793765905),
        (2**40, math.exp(-1)),
    ],
)
def test_rho_at_pure_loss_one(shift: int, rho: float) -> None:
    assert loss(1, shift).rho == pytest.approx(rho, rel=1e-15, abs=0)


@pytest.mark.parametrize("eta", ["0.05", "0.5", "1", "2.3", "7"])
@pytest.mark.parametrize("shift", [1, 2, 3, 8])
def test_the_profile_is_the_sum_over_all_outputs(eta: str, shift: int) -> None:
    one = DiscreteLaplace(eta=Fraction(eta), shift=shift)
    for step in range(24):
        epsilon = round(step / 20 * float(one.eta) * shift, 6)
        exact = summed(one, epsilon)
        assert abs(one.delta(epsilon=epsilon) - exact) <= 1e-15 * exact + 1e-30


def test_the_profile_meets_the_continuous_one_at_its_nodes_and_lies_above_between() -> None:
    one = DiscreteLaplace(eta=Fraction(1, 4), shift=6)
    for j in range(4):
        node = 0.25 * (6 - 2 * j)
        assert one.delta(epsilon=node) == pytest.approx(
            -math.expm1((node - 1.5) / 2), rel=1e-15, abs=0
        )
        if j:
            between = node + 0.3
            assert one.delta(epsilon=between) > -math.expm1((between - 1.5) / 2)


@pytest.mark.parametrize("eta", ["0.2", "1", "3"])
@pytest.mark.parametrize("shift", [1, 2, 3, 7])
def test_rho_bounds_every_order_and_no_less_would_do(eta: str, shift: int) -> None:
    one = DiscreteLaplace(eta=Fraction(eta), shift=shift)
    with mpmath.workdps(50):
        q = mpmath.exp(-mpmath.mpf(eta))
        reach = int(120 / -mpmath.log(q)) + shift
        for order in (1 + mpmath.mpf(10) ** -12, 1.1, 1.5, 2, 3, 10, 50):
            moment = (
                (1 - q)
                / (1 + q)
                * mpmath.fsum(
                    q ** (order * abs(y - shift) - (order - 1) * abs(y))
                    for y in range(-reach, reach * 4 + 1)
                )
            )
            divergence = mpmath.log(moment) / (order - 1)
            assert divergence <= order * one.rho * (1 + mpmath.mpf(10) ** -14)
            if order < 1.01:
                assert divergence >= one.rho * (1 - mpmath.mpf(10) ** -10)


@pytest.mark.parametrize("shift", [1, 1000, 2**40])
@pytest.mark.parametrize("total", ["1e-9", "1e-3", "1", "30", "1e3"])
def test_extreme_parameters_keep_their_digits(shift: int, total: str) -> None:
    one = loss(total, shift)
    assert one.epsilon(delta=0) == float(total)
    with mpmath.workdps(60):
        eta = mpmath.mpf(total) / shift
        rho = eta * shift - eta * -mpmath.expm1(-eta * shift) / mpmath.sinh(eta)
        assert rho * (1 - 1e-15) <= one.rho <= rho * (1 + 1e-15)
        q, middle = mpmath.exp(-eta), one.shift // 2 + 1
        at_zero = 1 - (q ** (shift - middle + 1) + q**middle) / (1 + q)
        assert at_zero * (1 - 1e-15) <= one.delta(epsilon=0) <= at_zero * (1 + 1e-15)


@pytest.mark.parametrize("shift", [1, 3, 2**40])
@pytest.mark.parametrize("total", ["1e-6", "0.3", "1", "20"])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1, 0.9])
def test_epsilon_is_the_least_double_whose_delta_fits(shift: int, total: str, delta: float) -> None:
    one = loss(total, shift)
    epsilon = one.epsilon(delta=delta)
    assert one.delta(epsilon=epsilon) <= delta
    if epsilon > 1e-150:
        assert one.delta(epsilon=math.nextafter(epsilon, 0)) > delta


def test_at_and_above_the_pure_loss_delta_is_zero() -> None:
    one = loss("0.3", 3)
    assert one.epsilon(delta=0) == 0.3
    assert one.delta(epsilon=0.3) == one.delta(epsilon=5) == 0.0
    assert one.delta(epsilon=0.29999999999999993) > 0


def test_a_loss_is_a_value() -> None:
    assert loss(1, 2) == DiscreteLaplace(eta=Fraction(1, 2), shift=2)
    assert len({loss(1, 2), loss(1, 2), loss(1, 3)}) == 2


def test_a_loss_is_made_of_exact_numbers_only() -> None:
    for eta, shift in ((0.5, 1), (Fraction(0), 1), (Fraction(1), 0), (Fraction(1), 1.5)):
        with pytest.raises(ValueError, match="must be a positive"):
            DiscreteLaplace(eta=eta, shift=shift)  # type: ignore[arg-type]  # on purpose
