# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from fractions import Fraction

from sordino.privacy import losses
from sordino.privacy.currency import ZCDP, Price
from sordino.privacy.loss import loss_to_json
from tests.unit.answer.sample import CHARGE, FACTS, FULL


def test_a_certificate_says_who_is_protected_and_the_odds() -> None:
    page = " ".join(FULL.certificate().split())
    assert "Each unit of 'people', with all its rows in visits" in page
    assert "odds of at most 1.65 to 1, which is a probability of 62.2%" in page  # e^0.5
    assert "Charged before any data was touched: epsilon 0.5" in page
    assert "limits are not covered" in page
    assert "but for an event" not in page


def test_a_certificate_fits_one_page() -> None:
    lines = FULL.certificate().splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 88


def test_a_loss_without_a_largest_value_is_stated_with_its_delta() -> None:
    loss = losses.concentrated(rho=Fraction(1, 100)).under("add_remove")
    facts = {**FACTS, "loss": loss_to_json(loss), "delta_for_keys": "1/1000000"}
    charge = replace(CHARGE, price=Price(ZCDP, 1), left=Price(ZCDP, 1), slack=Fraction(1, 10**6))
    page = " ".join(replace(FULL, facts=facts, charge=charge).certificate().split())
    assert "but for an event of probability at most 2e-06" in page
    assert "To discover keys, delta 1e-06 was charged besides" in page


def test_a_question_cannot_write_to_the_terminal() -> None:
    facts = {**FACTS, "question": "SELECT '\x1b[31m'\n\n FROM visits"}
    page = replace(FULL, facts=facts).certificate()
    assert "\x1b" not in page
    assert "Question: SELECT '\\x1b[31m' FROM visits" in page
