# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.answer.answer import Facts
from sordino.answer.certificate import chance
from sordino.privacy import losses
from sordino.privacy.currency import ZCDP, Price
from sordino.privacy.loss import loss_to_json
from tests.answer.unit.sample import CHARGE, FACTS, FULL


def test_a_certificate_says_who_is_protected_and_the_odds() -> None:
    page = " ".join(FULL.certificate().split())
    assert "Each person, with all rows that belong to that person in visits." in page
    assert "changes by at most a factor of 1.65" in page  # e^0.5
    assert "is afterwards sure with at most 62.2%" in page
    assert "epsilon 0.5, delta 0." in page
    assert "Charged before any data was touched: epsilon 0.5" in page
    assert "plus at most" not in page


def test_only_what_error_bars_leave_out_is_said_not_to_be_covered() -> None:
    notes = ("not covered: 4 rows of each", "whole numbers are rounded; ± includes that")
    page = replace(FULL, notes=notes).certificate()
    before, after = page.split("What is not covered")
    assert "- 4 rows of each" in after
    assert "rounded" not in after
    assert "rounded" in before


def test_a_certificate_is_dated() -> None:
    page = replace(FULL, facts={**FACTS, "date": "2026-03-05"}).certificate()
    assert "Date: 5 March 2026 (UTC)" in page


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (Fraction(1, 10**7), "1 in 10 million"),
        (Fraction(11, 10**7), "1 in 909,000"),
        (Fraction(1, 3 * 10**9), "1 in 3 billion"),
        (Fraction(1, 10**20), "1 in 1.00e+20"),
        (Fraction(2, 5), "1 in 2"),
    ],
)
def test_a_chance_is_said_in_words_and_never_too_small(probability: Fraction, words: str) -> None:
    assert chance(probability) == words


@given(st.fractions(Fraction(1, 10**13), 1).filter(bool))
def test_a_chance_that_is_said_is_at_least_what_it_stands_for(probability: Fraction) -> None:
    number, _, name = chance(probability).removeprefix("1 in ").partition(" ")
    size = {"": 1, "million": 10**6, "billion": 10**9, "trillion": 10**12}[name]
    assert probability <= 1 / (Fraction(number.replace(",", "")) * size)


def test_a_certificate_fits_one_page() -> None:
    lines = FULL.certificate().splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 88


def test_a_loss_without_a_largest_value_is_stated_with_its_delta() -> None:
    loss = losses.concentrated(rho=Fraction(1, 100)).under("add_remove")
    facts: Facts = {**FACTS, "loss": loss_to_json(loss), "delta_for_keys": "1/1000000"}
    price, slack = Price(ZCDP, 1), Fraction(1, 10**6)
    charge = CHARGE._replace(price=price, left=price, slack=slack)
    page = " ".join(replace(FULL, facts=facts, charge=charge).certificate().split())
    assert "the chance that it is drawn changes by at most a factor of " in page
    assert ", plus at most 1 in 500,000." in page
    assert "but for" not in page
    assert "odds" not in page
    assert "a chance of 1 in 1 million (delta) was charged besides" in page


def test_with_discovered_keys_a_pure_loss_has_a_delta_too() -> None:
    facts: Facts = {**FACTS, "delta_for_keys": "1/10000000", "unit": "patients"}
    page = " ".join(replace(FULL, facts=facts).certificate().split())
    assert "such as 'this patient is in the data'" in page
    assert "a factor of 1.65, plus at most 1 in 10 million." in page
    assert "sure with" not in page


def test_a_question_cannot_write_to_the_terminal() -> None:
    facts: Facts = {**FACTS, "question": "SELECT '\x1b[31m'\n\n FROM visits"}
    page = replace(FULL, facts=facts).certificate()
    assert "\x1b" not in page
    assert "Question: SELECT '\\x1b[31m' FROM visits" in page
