# SPDX-License-Identifier: Apache-2.0
"""What is asked is read once, and what it costs is said in the currency of the budget."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.catalog.model import Limits, Purse
from sordino.errors import MissingBound
from sordino.plan.ask import (
    Ask,
    Epsilon,
    Options,
    Percent,
    PriceError,
    Rho,
    Within,
    cost_of,
    merged,
    read_ask,
    slack_for_keys,
)
from sordino.privacy import losses
from sordino.privacy.budget import Budget

PURE = Purse(Budget(epsilon=3))
RHO = Purse(Budget(epsilon=3, delta=1e-6, failures=0))
OPEN = Purse(Budget(rho=1))
GDP = Purse(Budget(epsilon=3, delta=1e-6, failures=0, currency="gdp"))
SQL = "SELECT COUNT(*) FROM data"
TENTH = Fraction(1, 10)


def test_every_term_is_read_as_an_exact_value() -> None:
    ask = read_ask(
        SQL,
        epsilon=0.1,
        confidence=0.9,
        delta=1e-6,
        rows=3,
        groups=2,
        rows_per_group=1,
        expected_rows=Decimal(100),
        diagnostics=True,
        nonnegative=True,
        integer=False,
        consistent=True,
        fresh=True,
    )
    assert ask == Ask(
        SQL,
        Epsilon(TENTH),
        Fraction(9, 10),
        Fraction(1, 10**6),
        Limits(3, 2, 1),
        Fraction(100),
        diagnostics=True,
    )
    assert (ask.options, ask.fresh) == (Options(True, False, True), True)


def test_what_is_not_stated_is_as_usual() -> None:
    assert read_ask(SQL, rho=1) == Ask(SQL, Rho(Fraction(1)))
    assert Ask(SQL, Rho(Fraction(1))).options == Options()


@pytest.mark.parametrize("epsilon", [0.1, TENTH, Decimal("0.1"), Decimal("0.10"), np.float32(0.1)])
def test_equal_numbers_of_any_type_make_equal_asks(epsilon: Any) -> None:
    assert {read_ask(SQL, epsilon=epsilon), read_ask(SQL, epsilon=0.1)} == {
        Ask(SQL, Epsilon(TENTH))
    }


def test_numbers_that_python_calls_equal_are_read_by_their_type() -> None:
    """A float is the decimal it prints as, and the fraction equal to it is itself."""
    assert Fraction(0.1) == 0.1
    for _ in range(2):
        assert read_ask(SQL, epsilon=0.1).price == Epsilon(TENTH)
        assert read_ask(SQL, epsilon=Fraction(0.1)).price == Epsilon(Fraction(0.1))
        assert read_ask(SQL, epsilon=np.float64(0.1)).price == Epsilon(TENTH)
        assert read_ask(SQL, epsilon=1).price == Epsilon(Fraction(1))
        for odd in (True, [1], np.array([1.0]), "1"):
            with pytest.raises(TypeError, match="epsilon must be a positive number, got"):
                read_ask(SQL, epsilon=odd)  # type: ignore[arg-type]  # the point of the test


def test_asks_of_other_plans_differ_and_those_that_are_shown_otherwise_do_not() -> None:
    usual = read_ask(SQL, epsilon=1)
    others: list[dict[str, Any]] = [
        {"epsilon": 2}, {"rho": 1}, {"within": 1}, {"within": "1%"}, {"within": {"n": 1}},
        {"epsilon": 1, "confidence": 0.9}, {"epsilon": 1, "delta": 0.1}, {"epsilon": 1, "rows": 1},
        {"epsilon": 1, "groups": 1}, {"epsilon": 1, "rows_per_group": 1},
        {"epsilon": 1, "expected_rows": 1}, {"epsilon": 1, "diagnostics": True},
    ]  # fmt: skip
    assert len({usual, *(read_ask(SQL, **terms) for terms in others)}) == 1 + len(others)
    assert read_ask(SQL, epsilon=1, nonnegative=True, fresh=True) == usual


def test_widths_are_numbers_or_parts_of_a_range() -> None:
    five = Percent("5%", Fraction(1, 20))
    assert read_ask(SQL, within="5%").price == Within(five)
    assert read_ask(SQL, within={"n": 5, "a": "5%"}).price == Within(
        (("n", Fraction(5)), ("a", five))
    )


@pytest.mark.parametrize(
    "terms", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 1, "within": 5}, {"rho": 1, "within": 5}]
)
def test_exactly_one_price_is_stated(terms: Any) -> None:
    with pytest.raises(PriceError, match="one of the two"):
        read_ask(SQL, **terms)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"epsilon": 0}, "epsilon must be a positive number"),
        ({"rho": -1}, "rho must be a positive number"),
        ({"within": "five"}, "within must be a number or a percentage such as '5%', got 'five'"),
        ({"within": "5"}, "within must be a number or a percentage such as '5%', got '5'"),
        ({"within": "0%"}, "within must be a positive number"),
        ({"within": {"n": 0}}, "within must be a positive number"),
        ({"within": {1: 5}}, "within names columns by their titles"),
        ({"epsilon": 1, "delta": 1}, "delta must be a number between 0 and 1"),
        ({"epsilon": 1, "price": 1}, "'price' is not known here; there are epsilon, rho, within"),
    ],
)
def test_odd_terms_are_refused(terms: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        read_ask(SQL, **terms)


def test_a_question_is_a_text() -> None:
    with pytest.raises(TypeError, match="a question is a text, not int"):
        read_ask(5, epsilon=1)  # type: ignore[arg-type]  # the point of the test


def test_a_price_takes_the_place_of_the_usual_one() -> None:
    assert merged({"epsilon": 1, "delta": 0.1}, {"delta": None}) == {"epsilon": 1, "delta": None}
    terms = merged({"epsilon": 1, "confidence": 0.9}, {"rho": 2})
    assert read_ask(SQL, **terms) == read_ask(SQL, rho=2, confidence=0.9)


def test_an_epsilon_is_itself_where_epsilons_are_added_up() -> None:
    cost = cost_of(Epsilon(TENTH), PURE)
    assert (cost.amount, cost.counted, cost.epsilon) == (TENTH, "epsilon", TENTH)


def test_an_epsilon_stands_for_the_largest_rho_that_keeps_it() -> None:
    cost = cost_of(Epsilon(Fraction(1)), RHO)
    assert cost.amount == Budget(epsilon=1, delta=1e-6, failures=0).cap.value
    assert cost.counted == "rho"
    assert cost.epsilon == 1


def test_an_epsilon_stands_for_the_largest_square_of_a_mu_that_keeps_it() -> None:
    cost = cost_of(Epsilon(Fraction(1)), GDP)
    whole = Budget(epsilon=1, delta=1e-6, failures=0, currency="gdp").cap
    assert cost.counted == "gdp"
    assert cost.amount == whole.value
    assert cost.epsilon == 1
    pure = losses.pure(epsilon=cost.about)
    assert whole.currency.price(pure).value == pytest.approx(cost.amount, rel=0.02)


def test_a_rho_is_itself_where_rhos_are_added_up() -> None:
    cost = cost_of(Rho(Fraction(1, 4)), OPEN)
    assert (cost.amount, cost.epsilon) == (Fraction(1, 4), None)


@pytest.mark.parametrize(
    ("purse", "price", "words"),
    [
        (PURE, Rho(Fraction(1)), "this budget counts epsilon"),
        (GDP, Rho(Fraction(1)), "this budget counts gdp; ask with an epsilon"),
        (OPEN, Epsilon(Fraction(1)), "has no delta; ask with a rho"),
        (Purse(Budget(renyi=1, order=8)), Epsilon(Fraction(1)), "not in one"),
        (Purse(Budget(renyi=1, order=8)), Rho(Fraction(1)), "not in one"),
    ],
)
def test_what_the_budget_cannot_count_is_refused(
    purse: Purse, price: Epsilon | Rho, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        cost_of(price, purse)


def test_discovering_keys_takes_a_tenth_of_the_slack_or_one_in_a_million() -> None:
    small, large = (Purse(Budget(epsilon=1), Fraction(1, 10**k)) for k in (6, 2))
    assert slack_for_keys(small, None) == Fraction(1, 10**7)
    assert slack_for_keys(large, None) == Fraction(1, 10**6)
    assert slack_for_keys(large, read_ask(SQL, epsilon=1, delta=1e-3).delta) == Fraction(1, 1000)


def test_without_a_delta_keys_must_be_declared() -> None:
    with pytest.raises(MissingBound, match="the budget has no delta") as refused:
        slack_for_keys(PURE, None)
    assert refused.value.code == "no_delta"
    assert "declare the keys" in refused.value.hint
