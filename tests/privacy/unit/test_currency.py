# SPDX-License-Identifier: Apache-2.0
import math
import pickle
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sordino.numbers.rational import reading
from sordino.privacy.concentrated import epsilon_from_renyi, epsilon_from_rho
from sordino.privacy.currency import NANO, PURE, ZCDP, Currency, Price, one_order
from tests.privacy.unit.stated import Stated, concentrated, pure


def reference(rho: Fraction, delta: Fraction) -> mpmath.mpf:
    """The least epsilon over all orders, from the formula, with 40 digits."""
    with mpmath.workdps(40):
        r, slack = mpmath.mpf(rho.numerator) / rho.denominator, mpmath.log(delta.denominator)
        slack -= mpmath.log(delta.numerator)
        low, high = mpmath.mpf(0), mpmath.sqrt(slack / r)
        for _ in range(130):
            middle = (low + high) / 2
            if r * middle**2 + mpmath.log1p(middle) < slack:
                low = middle
            else:
                high = middle
        a = 1 + high
        return a * r + mpmath.log(1 - 1 / a) + (slack - mpmath.log(a)) / (a - 1)


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon"),
    [
        ("0.1", "1e-6", 2.141938928385474),
        ("0.5", "1e-6", 5.221534444530169),
        ("1", "1e-5", 7.07719669580634),
        ("0.01", "1e-9", 0.8101744678675342),
    ],
)
def test_rho_becomes_epsilon_at_the_best_order(rho: str, delta: str, epsilon: float) -> None:
    found = epsilon_from_rho(rho=Fraction(rho), delta=Fraction(delta))
    assert found == pytest.approx(epsilon, rel=3e-16)


def test_conversions_are_never_below_the_reference_and_hardly_above_it() -> None:
    draw = random.Random(7)  # noqa: S311 - a test
    for _ in range(1000):
        rho = Fraction(round(10 ** draw.uniform(0, 11)), NANO)
        delta = Fraction(repr(10 ** draw.uniform(-60, -0.01)))
        shown = Fraction(reading(epsilon_from_rho(rho=rho, delta=delta)))
        true = reference(rho, delta)
        with mpmath.workdps(40):
            gap = mpmath.mpf(shown.numerator) / shown.denominator - mpmath.mpf(max(0, true))
            assert 0 <= gap < 1e-12 * (1 + abs(true))


def test_one_order_worked_by_hand() -> None:
    # 1 + ln(1/2) - (ln(1/100) + ln 2) / 1
    found = epsilon_from_renyi(renyi=Fraction(1), order=Fraction(2), delta=Fraction(1, 100))
    assert found == pytest.approx(1 + math.log(25), rel=3e-16)


def test_conversions_hold_out_at_the_ends() -> None:
    tiny, huge = Fraction(1, NANO), Fraction(10**320)
    for delta in (Fraction(1, 2**1200), Fraction(1, 10**6), 1 - Fraction(1, 10**40)):
        assert 0 <= epsilon_from_rho(rho=tiny, delta=delta) < 0.01
        assert epsilon_from_rho(rho=huge, delta=delta) == math.inf
    assert epsilon_from_rho(rho=Fraction(0), delta=Fraction(1, 2)) == 0.0


@pytest.mark.parametrize("currency", [PURE, ZCDP, one_order(8), one_order(1.5)], ids=str)
def test_prices_are_rounded_up_to_whole_nano_units(currency: Currency) -> None:
    for text in ("0.1", "1e-9", "1e-12", "0.1234567891", "3", "7e-9"):
        loss = Stated(pure=Fraction(text), rho=float(text), divergence=float(text))
        price = currency.price(loss)
        assert price.currency == currency
        assert price.value - Fraction(1, NANO) < Fraction(text) <= price.value


def test_a_float_is_read_as_it_prints() -> None:
    assert ZCDP.price(concentrated(0.1)).nanos == 100_000_000
    assert ZCDP.price(concentrated(0.3)).nanos == 300_000_000
    assert ZCDP.price(Stated(rho=np.float64(0.7))).nanos == 700_000_000
    assert PURE.price(Stated(pure=Fraction(1, 3))).nanos == 333_333_334


def test_no_loss_costs_nothing_and_the_smallest_costs_one() -> None:
    assert PURE.price(Stated(pure=Fraction(0))).nanos == 0
    assert ZCDP.price(concentrated(5e-324)).nanos == 1


def test_an_order_that_is_no_double_is_asked_for_just_above() -> None:
    asked: list[float] = []

    class Asking(Stated):
        def renyi(self, *, order: float) -> float:
            asked.append(order)
            return 1.0

    for order in (Fraction(4, 3), Fraction(11, 10), Fraction(8)):
        one_order(order).price(Asking())
    for got, order in zip(asked, (Fraction(4, 3), Fraction(11, 10), Fraction(8)), strict=True):
        assert Fraction(got) >= order
        assert Fraction(reading(got)) >= order
        assert got == pytest.approx(float(order))


@pytest.mark.parametrize(
    ("currency", "loss", "advice"),
    [
        (PURE, concentrated(0.1), "a budget that counts rho would do"),
        (ZCDP, Stated(pure=Fraction(1)), "a budget that counts epsilon would do"),
        (one_order(8), concentrated(0.1), "a budget that counts rho would do"),
        (ZCDP, Stated(divergence=1.0, only_order=8), r"Budget\(renyi=1, order=8\)"),
        (PURE, Stated(), "no other currency would do"),
    ],
)
def test_what_has_no_price_is_refused_with_a_way_out(
    currency: Currency, loss: Stated, advice: str
) -> None:
    loss = loss if currency.order is None else Stated(rho=loss.rho)
    with pytest.raises(ValueError, match=advice) as refusal:
        currency.price(loss)
    assert str(refusal.value).startswith(f"this loss has no finite {currency}, so a budget")


@pytest.mark.parametrize("rho", [math.nan, -0.5, -math.inf])
def test_a_loss_that_is_no_number_or_negative_is_refused(rho: float) -> None:
    with pytest.raises(ValueError, match="a loss must be a number that is not negative"):
        ZCDP.price(Stated(rho=rho))
    with pytest.raises(ValueError, match="a loss must be a number that is not negative"):
        PURE.price(Stated(pure=Fraction(-1)))


def test_only_losses_have_a_price() -> None:
    class Noise:
        loss = Stated()

    for thing in (0.1, "0.1", None, Stated):
        with pytest.raises(TypeError, match="only a loss has a price, not a value of type"):
            PURE.price(thing)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(TypeError, match="of type Noise; give its loss"):
        PURE.price(Noise())  # type: ignore[arg-type]  # the point of the test


def test_prices_add_up_and_compare_in_one_currency_only() -> None:
    one, two = Price(PURE, 1), Price(PURE, 2)
    assert one + one == two
    assert one < two
    assert one <= one  # noqa: PLR0124 - the point of the test
    assert two > one
    assert two >= one
    with pytest.raises(ValueError, match="prices in epsilon and in rho do not add up"):
        one + Price(ZCDP, 1)
    with pytest.raises(ValueError, match="in renyi of order 8 and in renyi of order 9 do not"):
        Price(one_order(8), 1) + Price(one_order(9), 1)
    with pytest.raises(TypeError, match="a price goes with another price, not with int"):
        one < 2  # type: ignore[operator]  # noqa: B015 - the point of the test
    assert pickle.loads(pickle.dumps(two)) == two  # noqa: S301 - our own bytes


def test_prices_are_whole_and_not_negative() -> None:
    with pytest.raises(ValueError, match="a price must not be negative"):
        Price(PURE, -1)
    for nanos in (1.0, True, "1"):
        with pytest.raises(TypeError, match="must be a whole number"):
            Price(PURE, nanos)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(TypeError, match="must be a Currency"):
        Price("epsilon", 1)  # type: ignore[arg-type]  # the point of the test


def test_prices_are_written_exactly() -> None:
    assert str(Price(PURE, 0)) == "epsilon 0"
    assert str(Price(PURE, 12 * NANO)) == "epsilon 12"
    assert str(Price(ZCDP, 12 * NANO + 10)) == "rho 12.00000001"
    assert str(Price(one_order(1.5), NANO // 2)) == "renyi 0.5 of order 1.5"


def test_currencies_are_checked_when_made() -> None:
    for order in (1, 0.5, 10**7):
        with pytest.raises(ValueError, match="order must be a number above 1 and at most"):
            one_order(order)
    with pytest.raises(ValueError, match="order must be a positive number, got nan"):
        one_order(math.nan)
    with pytest.raises(ValueError, match="has an order"):
        Currency("renyi")
    with pytest.raises(ValueError, match="has an order"):
        Currency("rho", Fraction(2))
    with pytest.raises(ValueError, match="the kind of a currency must be"):
        Currency("gold")  # type: ignore[arg-type]  # the point of the test


def test_what_is_said_to_fit_does_fit() -> None:
    assert PURE.what_fits(NANO // 4) == "epsilon 0.25 or less would fit"
    for nanos in (1, 2, 3, 10**6, NANO // 10, NANO // 2, 8 * NANO):
        for currency, order in ((ZCDP, Fraction(1)), (one_order(8), Fraction(8))):
            words = currency.what_fits(nanos).split()
            epsilon = Fraction(words[words.index("epsilon") + 1])
            sigma = Fraction(words[words.index("sigma") + 1])
            assert math.ceil(order * epsilon**2 / 2 * NANO) <= nanos
            assert math.ceil(order / (2 * sigma**2) * NANO) <= nanos
    assert "only what costs nothing would fit" in ZCDP.what_fits(0)


def test_a_sum_costs_at_most_the_sum_of_the_prices() -> None:
    a, b = pure("0.0000000001"), pure("0.3333333333333333")
    both = Stated(pure=(a.pure or 0) + (b.pure or Fraction(0)))
    assert PURE.price(both) < PURE.price(a) + PURE.price(b)
