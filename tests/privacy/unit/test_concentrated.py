# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.privacy import ContinuousGaussian
from sordino.privacy.concentrated import Concentrated, best_orders, concentrated_deltas
from sordino.privacy.laplace import ContinuousLaplace
from sordino.privacy.leaf import Leaf
from sordino.privacy.pure import Pure


def concentrated(rho: str) -> Concentrated:
    return Concentrated(rho=Fraction(rho))


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon"),
    [
        ("0.1", 1e-6, 2.141938928385474),
        ("0.5", 1e-6, 5.221534444530169),
        ("1", 1e-5, 7.07719669580634),
        ("0.01", 1e-9, 0.8101744678675342),
    ],
)
def test_the_optimal_conversion(rho: str, delta: float, epsilon: float) -> None:
    assert concentrated(rho).epsilon(delta=delta) == pytest.approx(epsilon, rel=1e-14)


@pytest.mark.parametrize(
    "known",
    [
        Pure(epsilon=Fraction(1)),
        Pure(epsilon=Fraction(8)),
        ContinuousLaplace(epsilon=Fraction(1, 3)),
        ContinuousGaussian(variance=Fraction(9), squared_sensitivity=Fraction(1)),
        ContinuousGaussian(variance=Fraction(1, 4), squared_sensitivity=Fraction(1)),
    ],
    ids=repr,
)
def test_it_holds_for_every_mechanism_with_this_rho(known: Leaf) -> None:
    loss = Concentrated(rho=Fraction(repr(known.rho)))
    at = np.linspace(-1, 1.5, 60) * 3 * math.sqrt(known.rho)
    assert np.all(loss.profile(at) >= known.profile(at))
    assert loss.total_variation >= known.delta(epsilon=0)


def test_the_best_order_is_about_the_best() -> None:
    for rho in (1e-6, 0.1, 30.0):
        for epsilon in (0.0, rho / 2, 2 * rho, 10 * math.sqrt(rho)):
            best = concentrated_deltas(rho, np.array([epsilon]))[0]
            rest = float(best_orders(rho, np.array([epsilon]))[0])
            for other in (rest * 0.98, rest * 1.02):
                bound = other * ((other + 1) * rho - epsilon) - other * math.log1p(1 / other)
                assert best <= math.exp(bound - math.log1p(other)) * (1 + 1e-12)


def test_total_variation_uses_pinsker_where_it_is_better() -> None:
    assert concentrated("0.02").total_variation == pytest.approx(0.1, rel=1e-15)
    assert concentrated("0.02").delta(epsilon=0) > 0.1
    assert concentrated("8").total_variation < 1


def test_rho_is_read_back_and_grows_with_the_square_of_a_group() -> None:
    loss = concentrated("0.1")
    assert (loss.rho, loss.kl, loss.renyi(order=3)) == (0.1, 0.1, 0.3)
    assert loss.group(3) == concentrated("0.9")
    assert loss.exact == Fraction(1, 10)


def test_a_loss_is_made_of_exact_numbers_only() -> None:
    for rho in (0.1, Fraction(0), Fraction(-1)):
        with pytest.raises(ValueError, match="rho must be a positive Fraction"):
            Concentrated(rho=rho)  # type: ignore[arg-type]  # on purpose
