# SPDX-License-Identifier: Apache-2.0
"""The table of docs/ledger.md that compares currencies is computed here, and compared with it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sordino.privacy import losses
from sordino.privacy.budget import Budget
from sordino.privacy.loss import Loss
from sordino.privacy.search import least

PAGE = Path(__file__).parents[3] / "docs" / "ledger.md"
ROWS: dict[str, dict[str, Any]] = {
    '`currency="epsilon"`': {"currency": "epsilon"},
    "rho": {},
    '`currency="gdp"`': {"currency": "gdp"},
    "`order=32`": {"order": 32},
    "`orders=(16, 32, 64)`": {"orders": (16, 32, 64)},
}
SAMPLED = losses.subsampled(losses.gaussian(sigma=2), rate=Fraction(1, 100))
STEPS = 10**6  # to 1, in which epsilons are tried; sigmas are tried in hundredths


def granted(budget: Budget, loss: Loss) -> int:
    """How often a loss is granted."""
    prices = [(cap, cap.currency.price_if_finite(loss)) for cap in budget.caps]
    return max((cap.nanos // price.nanos for cap, price in prices if price), default=0)


def epsilon_each(budget: Budget, times: int) -> str:
    """The largest epsilon that so many pure losses may have."""

    def too_much(place: int) -> bool:
        return granted(budget, losses.pure(epsilon=Fraction(place, STEPS))) < times

    return f"{(least(too_much, 1, STEPS) - 1) / STEPS:.6f}".rstrip("0")


def sigma_each(budget: Budget, times: int) -> str:
    """The least sigma, over the sensitivity, of so many questions with Gaussian noise."""

    def fits(place: int) -> bool:
        loss = losses.discrete_gaussian(sigma=Fraction(place, 100))
        return granted(budget, loss) >= times

    try:
        return f"{least(fits, 50, 10**6, near=1000) / 100:.2f}"
    except ValueError:
        return "none"


def row(name: str) -> str:
    budget = Budget(epsilon=1, delta=1e-6, **ROWS[name])
    cells = [epsilon_each(budget, n) for n in (100, 10_000)]
    cells += [sigma_each(budget, n) for n in (100, 10_000)]
    return f"| {name} | {' | '.join(cells)} | {granted(budget, SAMPLED)} |"


@pytest.mark.parametrize("name", ROWS)
def test_the_table_of_currencies_is_what_budgets_grant(name: str) -> None:
    assert row(name) in PAGE.read_text("utf-8").splitlines()


def test_nothing_is_granted_past_what_the_table_says() -> None:
    budget = Budget(epsilon=1, delta=1e-6, currency="gdp")
    loss = losses.discrete_gaussian(sigma=Fraction(sigma_each(budget, 100)))
    assert 100 <= granted(budget, loss) < 101
