# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import mpmath
import pytest

from sordino.privacy.pure import KaryResponse, Pure


def response(epsilon: str, categories: int) -> KaryResponse:
    return KaryResponse(epsilon=Fraction(epsilon), categories=categories)


def test_two_categories_are_the_worst_pure_loss() -> None:
    for epsilon in ("0.1", "1", "4"):
        two, worst = response(epsilon, 2), Pure(epsilon=Fraction(epsilon))
        for at in (0, 0.03, 0.09):
            assert two.delta(epsilon=at) == worst.delta(epsilon=at)
        assert two.renyi(order=3) == worst.renyi(order=3)
        assert two.rho == pytest.approx(worst.rho, rel=1e-15)
        assert response(epsilon, 3).rho < two.rho


def test_the_probability_of_the_truth() -> None:
    assert response("1", 4).summit == pytest.approx(0.47536688641867, rel=1e-13)
    assert response("1", 2).summit == pytest.approx(0.73105857863, rel=1e-10)
    assert response("2", 10).summit == pytest.approx(0.45085306037928, rel=1e-13)
    lie = 0.17487770452711
    assert response("1", 4).total_variation == pytest.approx(0.47536688641867 - lie, rel=1e-13)
    assert response("1", 4).kl == pytest.approx(0.47536688641867 - lie, rel=1e-13)


@pytest.mark.parametrize(
    ("epsilon", "categories", "above"),
    [("0.1", 7, 0.0113), ("1", 9, 0.0004640), ("1", 100, 0.0611 / 0.016892556554944673 - 1)],
)
def test_with_many_categories_rho_is_above_kl(epsilon: str, categories: int, above: float) -> None:
    loss = response(epsilon, categories)
    assert loss.rho / loss.kl - 1 == pytest.approx(above, rel=1e-2)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
@pytest.mark.parametrize("categories", [2, 4, 5, 6, 7, 9, 30, 1000])
def test_rho_is_the_largest_quotient_of_divergence_and_order(epsilon: str, categories: int) -> None:
    loss = response(epsilon, categories)
    with mpmath.workdps(30):
        e = mpmath.exp(mpmath.mpf(epsilon))

        def quotient(order: mpmath.mpf) -> mpmath.mpf:
            total = (e**order + e ** (1 - order) + categories - 2) / (e + categories - 1)
            return mpmath.log(total) / (order - 1) / order

        orders = [1 + mpmath.mpf(10) ** (mpmath.mpf(j) / 50 - 5) for j in range(400)]
        best = max(orders, key=quotient)
        fine = max(quotient(1 + (best - 1) * (1 + mpmath.mpf(j) / 2000)) for j in range(-99, 100))
        assert fine <= loss.rho
        assert loss.rho <= max(fine, loss.kl) * (1 + 1e-6)


def test_a_few_categories_have_an_exact_rho() -> None:
    for epsilon, categories in (("0.1", 4), ("3", 10), ("10", 200)):
        loss = response(epsilon, categories)
        assert loss.rho == loss.kl


def test_a_group_is_as_bad_as_its_members_together() -> None:
    assert response("0.5", 10).group(3) == Pure(epsilon=Fraction(3, 2))


def test_losses_are_made_of_exact_numbers_only() -> None:
    for categories in (1, 0, -3, 2.5, True):
        with pytest.raises(ValueError, match="categories must be an int that is at least 2"):
            KaryResponse(epsilon=Fraction(1), categories=categories)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epsilon must be a positive Fraction"):
        KaryResponse(epsilon=Fraction(0), categories=3)


def test_epsilon_is_the_least_double_whose_delta_fits() -> None:
    loss = response("2", 10)
    for delta in (1e-12, 1e-3, 0.2):
        found = loss.epsilon(delta=delta)
        assert loss.delta(epsilon=found) <= delta < loss.delta(epsilon=math.nextafter(found, 0))
