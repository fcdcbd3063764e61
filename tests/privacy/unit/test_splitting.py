# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import pytest

from sordino.numbers.rational import reading
from sordino.privacy import losses
from sordino.privacy.currency import PURE, ZCDP, one_order, without_failures
from sordino.privacy.loss import Loss
from sordino.privacy.pure import Approximate, Pure
from tests.privacy.unit.stated import Stated


def test_a_stated_delta_is_set_aside_exactly() -> None:
    loss = losses.approximate(epsilon=0.3, delta=1e-7)
    assert without_failures(3 * loss) == (3 * losses.pure(epsilon=0.3), Fraction(3, 10**7))
    assert without_failures(loss.under("add_remove")) == (
        losses.pure(epsilon=0.3).under("add_remove"),
        Fraction(1, 10**7),
    )
    assert without_failures(loss.group(2)) == (
        losses.pure(epsilon=0.6),
        reading(loss.group(2).delta(epsilon=0.6)),
    )


def test_the_rest_of_a_composition_stays_as_it_was() -> None:
    noise = losses.gaussian(sigma=3)
    both = noise + losses.approximate(epsilon=0.1, delta=1e-9)
    assert without_failures(both) == (noise + losses.pure(epsilon=0.1), Fraction(1, 10**9))
    for loss in (noise, losses.pure(epsilon=1), Pure(epsilon=Fraction(1)), Stated(), 3):
        assert without_failures(loss) is None


@pytest.mark.parametrize(
    ("p", "q", "failing"),
    [
        ([0.5, 0.4, 0.1], [0.4, 0.6, 0], 0.1),
        ([0.5, 0.4, 0.1, 0], [0.4, 0.4, 0, 0.2], 0.2),
        ([0.9, 0.1, 0], [0.9, 0, 0.1], 0.1),
    ],
)
def test_outcomes_that_only_one_side_has_are_failures(
    p: list[float], q: list[float], failing: float
) -> None:
    loss = losses.pmfs(p, q)
    split = without_failures(loss)
    assert split is not None
    rest, failures = split
    assert reading(failing) <= failures <= Fraction(failing) * (1 + Fraction(1, 10**9))
    largest = max(abs(math.log(a / b)) for a, b in zip(p, q, strict=True) if a and b)
    assert rest.pure is not None
    assert float(rest.pure) == pytest.approx(largest, abs=1e-11)
    assert reading(loss.delta(epsilon=rest.pure)) <= failures


def test_a_sample_of_what_fails_fails_less_often() -> None:
    loss = losses.subsampled(losses.approximate(epsilon=1, delta=1e-6), rate=0.1)
    split = without_failures(loss)
    assert split is not None
    assert 1e-7 <= split[1] <= 1.001e-7
    assert float(split[0].pure or 0) == pytest.approx(math.log1p(0.1 * math.expm1(1)), abs=1e-6)


@pytest.mark.parametrize("currency", [PURE, ZCDP, one_order(8)])
def test_a_price_is_that_of_the_rest_and_the_delta_is_rounded_up(currency: object) -> None:
    loss = Approximate(epsilon=Fraction(1, 3), delta=Fraction(1, 3 * 10**9))
    price = currency.price(loss)  # type: ignore[attr-defined]  # one of the three
    assert price.nanos == currency.price(Pure(epsilon=Fraction(1, 3))).nanos  # type: ignore[attr-defined]
    assert price.attos == 333_333_334
    many = Loss(((loss, 3),))
    assert currency.price(many).attos == 10**9  # type: ignore[attr-defined]  # rounded up once
