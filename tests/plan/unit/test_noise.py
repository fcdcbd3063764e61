# SPDX-License-Identifier: Apache-2.0
"""Which noise a share of the price buys."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.mechanisms import Gaussian, Laplace
from sordino.plan.allocate import additive, loss_of_keys, selection, slack_of_keys
from sordino.plan.plan import RowCount, Shares, Total, UnitCount, root_down, shift
from sordino.privacy.budget import Counted
from sordino.privacy.currency import GDP
from sordino.sensitivity.norms import Sensitivity
from tests.plan.unit.questions import AGE, COUNTED

ROWS = shift(RowCount(), Shares(rows=4), grouped=False)
UNITS = shift(UnitCount(), Shares(rows=16, groups=16), grouped=True)
USUAL, ROUGH = Fraction(95, 100), Fraction(3, 10)
SLACK = Fraction(1, 10**7)


@given(st.fractions(Fraction(1, 10**12), 10**6, max_denominator=10**12))
def test_roots_are_rounded_down_and_close(x: Fraction) -> None:
    root = root_down(x)
    assert root**2 <= x
    assert root**2 >= x * Fraction(999_999, 10**6)


def test_epsilons_buy_laplace_noise() -> None:
    found = additive(ROWS, Fraction(1, 2), counted="epsilon", confidence=USUAL)
    assert found == Laplace(sensitivity=4 << 16, epsilon=Fraction(1, 2))


def test_rho_buys_the_narrower_of_two_noises_and_no_more_than_it_pays_for() -> None:
    share = Fraction(1, 100)
    usual = additive(ROWS, share, counted="rho", confidence=USUAL)
    rough = additive(ROWS, share, counted="rho", confidence=ROUGH)
    assert isinstance(usual, Gaussian)
    assert isinstance(rough, Laplace)  # its peak is higher
    for found, level in ((usual, USUAL), (rough, ROUGH)):
        assert Fraction(repr(found.loss.rho)) <= share
        other = Gaussian(sensitivity=ROWS, rho=share)
        assert found.accuracy(confidence=level) <= other.accuracy(confidence=level)


@pytest.mark.parametrize("share", [Fraction(1, 10**7), Fraction(1, 100), Fraction(1), Fraction(2)])
@pytest.mark.parametrize("moved", [ROWS, UNITS], ids=["rows", "units"])
def test_gdp_buys_noise_whose_squared_mu_is_at_most_the_share_and_hardly_less(
    share: Fraction, moved: Sensitivity
) -> None:
    found = additive(moved, share, counted="gdp", confidence=USUAL)
    assert isinstance(found, Gaussian)
    price = GDP.price(found.loss)
    assert share * (1 - Fraction(1, 10**5)) <= price.value <= share + Fraction(1, 10**9)
    other = additive(moved, share / 2, counted="rho", confidence=USUAL)
    assert isinstance(other, Gaussian)
    assert other.variance <= found.variance <= other.variance * Fraction(11, 10) + 1


def test_where_no_mu_is_known_for_little_gaussian_noise_gdp_buys_laplace_noise() -> None:
    found = additive(UNITS, Fraction(30), counted="gdp", confidence=USUAL)
    assert isinstance(found, Laplace)
    assert GDP.price(found.loss).value <= 30


def test_gaussian_noise_grows_with_the_root_of_the_groups_of_a_unit() -> None:
    found = additive(UNITS, Fraction(1, 8), counted="rho", confidence=ROUGH)
    assert isinstance(found, Gaussian)
    assert found.sigma == pytest.approx(8)


def test_what_never_moves_gets_noise_all_the_same() -> None:
    still = shift(Total(AGE, 0, 0, 0), Shares(rows=1), grouped=False)
    assert still.l1 == 0
    assert additive(still, Fraction(1), counted="epsilon", confidence=USUAL).sensitivity == 1
    assert additive(still, Fraction(1), counted="rho", confidence=USUAL).sensitivity == 1


@pytest.mark.parametrize("counted", COUNTED)
def test_too_little_for_any_noise_is_refused_with_advice(counted: Counted) -> None:
    wide = shift(Total(AGE, 0, 2**31, 0), Shares(rows=10), grouped=False)
    with pytest.raises(ValueError, match="ask with more, or for less at once"):
        additive(wide, Fraction(1, 10**15), counted=counted, confidence=USUAL)


@pytest.mark.parametrize("groups", [1, 8])
@pytest.mark.parametrize("share", [Fraction(1, 1000), Fraction(1, 2)])
def test_keys_cost_at_most_their_share_and_their_slack(share: Fraction, groups: int) -> None:
    pure = selection(share, SLACK, groups, counted="epsilon")
    assert (pure.method, loss_of_keys(pure).pure, slack_of_keys(pure)) == ("optimal", share, SLACK)
    noisy = selection(share, SLACK, groups, counted="rho")
    assert Fraction(repr(loss_of_keys(noisy).rho)) <= share
    assert slack_of_keys(noisy) == SLACK


def test_where_rho_is_counted_many_groups_of_a_unit_go_with_gaussian_counts() -> None:
    share = Fraction(1, 100)
    noisy = selection(share, SLACK, 16, counted="rho")
    assert noisy.method == "gaussian"
    optimal = selection(root_down(2 * share), SLACK, 16, counted="epsilon")
    assert noisy.count_for(0.95) < optimal.count_for(0.95) / 5


def test_a_key_of_one_unit_is_told_with_at_most_the_slack() -> None:
    for counted in COUNTED:
        rule = selection(Fraction(1, 10), SLACK, 4, counted=counted)
        assert Fraction(repr(rule.probability(1))) * 4 <= SLACK * Fraction(1001, 1000)
