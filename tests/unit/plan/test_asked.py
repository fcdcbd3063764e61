# SPDX-License-Identifier: Apache-2.0
"""How much is asked for, in the currency of the budget."""

from fractions import Fraction

import pytest

from sordino.catalog.model import Purse
from sordino.errors import MissingBound
from sordino.plan.ask import read_asked, read_slack
from sordino.privacy.budget import Budget

PURE = Purse(Budget(epsilon=3))
RHO = Purse(Budget(epsilon=3, delta=1e-6, failures=0))
OPEN = Purse(Budget(rho=1))


def test_an_epsilon_is_itself_where_epsilons_are_added_up() -> None:
    asked = read_asked(PURE, epsilon=0.1)
    assert (asked.amount, asked.rho, asked.epsilon) == (Fraction(1, 10), False, Fraction(1, 10))


def test_an_epsilon_stands_for_the_largest_rho_that_keeps_it() -> None:
    asked = read_asked(RHO, epsilon=1)
    assert asked.amount == Budget(epsilon=1, delta=1e-6, failures=0).cap.value
    assert asked.rho
    assert asked.epsilon == 1


def test_a_rho_is_itself_where_rhos_are_added_up() -> None:
    asked = read_asked(OPEN, rho=0.25)
    assert (asked.amount, asked.epsilon) == (Fraction(1, 4), None)


@pytest.mark.parametrize(
    ("purse", "how", "words"),
    [
        (PURE, {}, "ask with an epsilon"),
        (PURE, {"epsilon": 1, "rho": 1}, "ask with an epsilon"),
        (PURE, {"rho": 1}, "this budget counts epsilon"),
        (OPEN, {"epsilon": 1}, "has no delta; ask with a rho"),
        (PURE, {"epsilon": 0}, "epsilon must be a positive number"),
        (Purse(Budget(renyi=1, order=8)), {"epsilon": 1}, "not in one"),
    ],
)
def test_what_the_budget_cannot_count_is_refused(
    purse: Purse, how: dict[str, float], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        read_asked(purse, **how)


def test_discovering_keys_takes_a_tenth_of_the_slack_or_one_in_a_million() -> None:
    assert read_slack(Purse(Budget(epsilon=1), Fraction(1, 10**6)), None) == Fraction(1, 10**7)
    assert read_slack(Purse(Budget(epsilon=1), Fraction(1, 100)), None) == Fraction(1, 10**6)
    assert read_slack(Purse(Budget(epsilon=1), Fraction(1, 100)), 1e-3) == Fraction(1, 1000)


def test_without_a_delta_keys_must_be_declared() -> None:
    with pytest.raises(MissingBound, match="the budget has no delta") as refused:
        read_slack(PURE, None)
    assert refused.value.code == "no_delta"
    assert "declare the keys" in refused.value.hint
