# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.privacy.pure import Approximate, Pure


def pure(epsilon: str) -> Pure:
    return Pure(epsilon=Fraction(epsilon))


def approximate(epsilon: str, delta: str) -> Approximate:
    return Approximate(epsilon=Fraction(epsilon), delta=Fraction(delta))


@pytest.mark.parametrize(
    ("epsilon", "order", "divergence"),
    [("1", 2, 0.7353256640555192), ("1", 10, 0.9651931464538415), ("0.5", 4, 0.3518911446975046)],
)
def test_the_renyi_divergences_of_randomized_response(
    epsilon: str, order: float, divergence: float
) -> None:
    assert pure(epsilon).renyi(order=order) == pytest.approx(divergence, rel=1e-15)


@pytest.mark.parametrize(
    ("epsilon", "rho"),
    [
        ("0.1", 0.004995837495788),
        ("0.5", 0.122459331201855),
        ("1", 0.46211715726001),
        ("2", 1.52318831191153),
    ],
)
def test_rho_and_kl_of_a_pure_loss(epsilon: str, rho: float) -> None:
    assert pure(epsilon).rho == pure(epsilon).kl == pytest.approx(rho, rel=1e-13)


def test_what_a_pure_loss_of_one_says_by_hand() -> None:
    one = pure("1")
    e = math.e
    assert one.total_variation == pytest.approx((e - 1) / (e + 1), rel=1e-15)
    assert one.total_variation == pytest.approx(0.46211715726001, rel=1e-13)
    assert one.delta(epsilon=0.5) == pytest.approx((e - math.sqrt(e)) / (1 + e), rel=1e-15)
    assert one.summit == pytest.approx(e / (1 + e), rel=1e-15)
    assert math.expm1(one.renyi(order=2)) == pytest.approx((e - 1) ** 2 / e, rel=1e-14)
    assert one.epsilon(delta=0) == 1.0
    assert one.epsilon(delta=0.9) == 0.0


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", "0.3", "5", "700"])
@pytest.mark.parametrize("delta", [1e-30, 1e-9, 1e-3, 0.4])
def test_epsilon_is_the_least_double_whose_delta_fits(epsilon: str, delta: float) -> None:
    one = pure(epsilon)
    found = one.epsilon(delta=delta)
    assert one.delta(epsilon=found) <= delta
    if found > 1e-150:
        assert one.delta(epsilon=math.nextafter(found, 0)) > delta


def test_extreme_orders_and_losses_stay_in_range() -> None:
    assert pure("1").renyi(order=1 + 1e-12) == pytest.approx(pure("1").kl, rel=1e-11)
    assert pure("1").renyi(order=1e300) == 1.0
    assert pure("1000").renyi(order=3) == 1000.0
    assert pure("1000").profile(np.array([999.0]))[0] == pytest.approx(-math.expm1(-1))
    assert pure("1e-20").profile(np.array([0.5e-20]))[0] == pytest.approx(0.25e-20)


def test_close_below_the_bound_the_profile_keeps_its_digits() -> None:
    one = pure("0.3")
    at = math.nextafter(0.3, 0)
    gap = float(Fraction("0.3") - Fraction(at))
    expected = gap / (1 + math.exp(-0.3))
    assert one.profile(np.array([at]))[0] == pytest.approx(expected, rel=1e-12)


def test_the_group_of_a_pure_loss_is_a_multiple() -> None:
    assert pure("0.1").group(3) == pure("0.3")


@pytest.mark.parametrize(
    ("size", "delta"), [(3, 5.36700309916e-6), (10, 2.27236512445e-4), (1, 1e-6)]
)
def test_the_group_of_an_approximate_loss_is_the_tight_one(size: int, delta: float) -> None:
    group = approximate("0.5", "1e-6").group(size)
    assert group.bound == Fraction(size, 2)
    assert group.delta(epsilon=group.bound) == pytest.approx(delta, rel=1e-11)
    loose = size * math.exp((size - 1) * 0.5) * 1e-6
    assert size == 1 or group.delta(epsilon=group.bound) < loose


def test_an_approximate_loss_mixes_certainty_with_a_response() -> None:
    loss = approximate("0.1", "1e-6")
    assert loss.delta(epsilon=0.1) == loss.delta(epsilon=7) == 1e-6
    inside = 1e-6 + (1 - 1e-6) * pure("0.1").delta(epsilon=0.05)
    assert loss.delta(epsilon=0.05) == pytest.approx(inside, rel=1e-14)
    assert loss.epsilon(delta=1e-6) == 0.1
    assert loss.epsilon(delta=9e-7) == loss.epsilon(delta=0) == math.inf
    assert loss.rho == loss.kl == loss.renyi(order=2) == math.inf
    assert loss.infinity == 1e-6


def test_a_group_that_is_not_protected_is_refused() -> None:
    with pytest.raises(ValueError, match="a group of 40 is not protected: its delta would be 1"):
        approximate("0.5", "1e-6").group(40)


def test_losses_are_made_of_exact_numbers_only() -> None:
    for epsilon in (0.5, 0, Fraction(0), Fraction(-1), "1"):
        with pytest.raises(ValueError, match="epsilon must be a positive Fraction"):
            Pure(epsilon=epsilon)  # type: ignore[arg-type]  # on purpose
    for delta in (0.1, Fraction(0), Fraction(1)):
        with pytest.raises(ValueError, match="delta must be a Fraction between 0 and 1"):
            Approximate(epsilon=Fraction(1), delta=delta)  # type: ignore[arg-type]  # on purpose
