# SPDX-License-Identifier: Apache-2.0
import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.numbers.rational import Number
from sordino.privacy import ContinuousGaussian, DiscreteGaussian, DiscreteLaplace, losses
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.concentrated import Concentrated
from sordino.privacy.laplace import ContinuousLaplace
from sordino.privacy.leaf import Leaf
from sordino.privacy.loss import Loss
from sordino.privacy.pure import Approximate, KaryResponse, Pure
from sordino.privacy.subsampled import FixedSizeSubsampled, PoissonSubsampled
from sordino.privacy.tables import PmfPair

TENTH = Fraction(1, 10)


def only(loss: Loss) -> Leaf:
    """The one leaf of a loss that is a single use."""
    ((leaf, times),) = loss.parts
    assert times == 1
    return leaf


def table(p: Iterable[Number], q: Iterable[Number]) -> PmfPair:
    leaf = only(losses.pmfs(p, q))
    assert isinstance(leaf, PmfPair)
    return leaf


@pytest.mark.parametrize("epsilon", [0.1, TENTH, Decimal("0.1"), np.float64(0.1)])
def test_numbers_are_read_as_they_print(epsilon: Any) -> None:
    assert only(losses.pure(epsilon=epsilon)) == Pure(epsilon=TENTH)


def test_every_kind_of_loss_can_be_made() -> None:
    assert only(losses.approximate(epsilon=0.1, delta=1e-6)) == Approximate(
        epsilon=TENTH, delta=Fraction(1, 10**6)
    )
    assert only(losses.concentrated(rho=0.1)) == Concentrated(rho=TENTH)
    assert only(losses.laplace(epsilon=0.1)) == ContinuousLaplace(epsilon=TENTH)
    assert only(losses.exponential(epsilon=0.1)) == BoundedRange(epsilon=TENTH)
    assert only(losses.randomized_response(epsilon=0.1)) == KaryResponse(
        epsilon=TENTH, categories=2
    )
    many = losses.randomized_response(epsilon=0.1, categories=np.int64(5))
    assert only(many) == KaryResponse(epsilon=TENTH, categories=5)
    assert only(losses.discrete_laplace(epsilon=0.1, sensitivity=5)) == DiscreteLaplace(
        eta=Fraction(1, 50), shift=5
    )
    assert only(losses.gaussian(sigma=0.5, sensitivity=2)) == ContinuousGaussian(
        variance=Fraction(1, 4), squared_sensitivity=Fraction(4)
    )
    assert only(
        losses.discrete_gaussian(sigma=0.5, sensitivity=2, coordinates=1)
    ) == DiscreteGaussian(variance=Fraction(1, 4), squared_sensitivity=4, coordinates=1)


@pytest.mark.parametrize("square", [2, 3, 5, 50, 12345])
def test_a_printed_square_root_is_a_sensitivity_of_integers(square: int) -> None:
    root = math.sqrt(square)
    for near in (root, math.nextafter(root, 0), math.nextafter(root, 99)):
        leaf = only(losses.discrete_gaussian(sigma=1, sensitivity=near))
        assert leaf == DiscreteGaussian(variance=Fraction(1), squared_sensitivity=square)


@pytest.mark.parametrize("sensitivity", [1.5, 1.4142, 0.1])
def test_other_sensitivities_of_integers_are_refused(sensitivity: float) -> None:
    with pytest.raises(ValueError, match="the square of sensitivity must be a whole number"):
        losses.discrete_gaussian(sigma=1, sensitivity=sensitivity)


def test_samples_go_with_their_own_neighbours() -> None:
    base = losses.pure(epsilon=0.1)
    poisson = losses.subsampled(base, rate=0.1, sampling="poisson", neighbours="add_remove")
    assert only(poisson) == PoissonSubsampled(base=only(base), rate=TENTH)
    fixed = losses.subsampled(base, rate=0.1, sampling="fixed_size", neighbours="replace_one")
    assert only(fixed) == FixedSizeSubsampled(base=only(base), rate=TENTH)
    with pytest.raises(ValueError, match=r"Poisson .* goes with add_remove; under replace"):
        losses.subsampled(base, rate=0.1, sampling="poisson", neighbours="replace_one")
    with pytest.raises(ValueError, match=r"fixed size .* goes with replace_one; under add_remove"):
        losses.subsampled(base, rate=0.1, sampling="fixed_size", neighbours="add_remove")
    with pytest.raises(ValueError, match="the loss it is applied to holds for add_remove"):
        losses.subsampled(poisson, rate=0.1, sampling="fixed_size", neighbours="replace_one")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": 2}, "rate must be at most 1, got 2"),
        ({"rate": 0}, "rate must be a positive number, got 0"),
        ({"sampling": "bernoulli"}, "sampling must be 'poisson' or 'fixed_size', got 'bernoulli'"),
        ({"neighbours": "all"}, "neighbours must be 'add_remove' or 'replace_one', got 'all'"),
    ],
)
def test_bad_samples_are_refused(arguments: dict[str, Any], message: str) -> None:
    usual = {"rate": 0.1, "sampling": "poisson", "neighbours": "add_remove"}
    with pytest.raises(ValueError, match=message):
        losses.subsampled(losses.pure(epsilon=1), **{**usual, **arguments})


def test_tables_that_add_up_are_taken_as_they_are() -> None:
    loss = table([0.1] * 10, [Fraction(1, 20)] * 8 + [Fraction(3, 10)] * 2)
    assert loss.p == (TENTH,) * 10
    assert loss.q[-1] == Fraction(3, 10)


def test_what_is_missing_or_too_much_goes_where_it_tells_the_most() -> None:
    tiny = Fraction(1, 10**16)
    loss = table([2 / 3, 1 / 3], [1 / 3, 2 / 3])  # both add up to 1 - 1e-16
    assert loss.p == (Fraction("0.6666666666666666") + tiny, Fraction("0.3333333333333333"))
    assert loss.q == (Fraction("0.3333333333333333"), Fraction("0.6666666666666666") + tiny)
    loss = table([0.7000000000000002, 0.3], [0.3, 0.7000000000000002])
    assert loss.p == (Fraction("0.7000000000000002"), Fraction("0.2999999999999998"))
    assert loss.q == (Fraction("0.2999999999999998"), Fraction("0.7000000000000002"))
    loss = table([0.6, 0.4 - 1e-13, 0.0], [0.5, 0.5, 0.0])
    assert loss.p[2] == 0
    loss = table([0.9, 0.0999999999999], [1.0, 0.0])
    assert loss.delta(epsilon=9) == pytest.approx(0.1, rel=1e-15)


def test_no_way_to_complete_a_table_has_a_larger_loss() -> None:
    p, q = [0.5, 0.3, 0.2 - 1e-13], [0.2, 0.3, 0.5]
    loss = table(p, q)
    rest = 1 - sum(map(Fraction, map(repr, p)))
    for place in range(3):
        other = [Fraction(repr(x)) for x in p]
        other[place] += rest
        rival = table(other, [Fraction(repr(x)) for x in q])
        for epsilon in (0, 0.3, 0.8):
            assert loss.delta(epsilon=epsilon) >= rival.delta(epsilon=epsilon)


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.4], [0.5, 0.5], r"p must add up to 1, got a sum of 0\.9"),
        ([0.5, 0.5], [Fraction(1, 3)] * 2, "q must add up to 1"),
        ([1.5, -0.5], [0.5, 0.5], r"p\[1\] must be a number that is not negative"),
        ([], [], "p must add up to 1"),
        ([1], [0.5, 0.5], "same number of outcomes, got 1 and 2"),
    ],
)
def test_what_is_no_table_is_refused(p: list[float], q: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        losses.pmfs(p, q)


def test_a_table_is_a_list() -> None:
    with pytest.raises(TypeError, match="p must be a list of probabilities, got str"):
        losses.pmfs("0.5", [1])  # type: ignore[arg-type]  # on purpose
    with pytest.raises(TypeError, match="q must be a list of probabilities, got int"):
        losses.pmfs([1], 1)  # type: ignore[arg-type]  # on purpose


TOLD = losses.approximate(epsilon=TENTH, delta=Fraction(1, 10**150))
WIDE = losses.subsampled(losses.gaussian(sigma=Fraction(1, 50)), rate=TENTH)


@pytest.mark.parametrize(
    "loss",
    [
        losses.pure(epsilon=TENTH),
        losses.laplace(epsilon=TENTH),
        losses.gaussian(sigma=2) + TOLD,
        2 * WIDE,
        WIDE + TOLD,
    ],
    ids=["response", "laplace", "beside failures", "even shares", "shares beside failures"],
)
@pytest.mark.parametrize("delta", [Fraction(2, 10**150), 1.626e-149, 1e-140])
def test_the_least_deltas_there_are_have_an_epsilon(loss: Loss, delta: Number) -> None:
    bracket = loss.pld().epsilon(delta=delta)
    least = loss.epsilon(delta=delta)
    assert 0 < bracket.lower <= min(least, bracket.upper)
    assert loss.delta(epsilon=0.01) > delta
