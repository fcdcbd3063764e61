# SPDX-License-Identifier: Apache-2.0
"""The split of a price is the one with the least sum of errors."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.plan.aggregates import Rank
from sordino.plan.allocate import (
    DIAGNOSTIC_SHARE,
    Ends,
    Item,
    Keys,
    divide,
    errors_of,
    share_out,
)
from sordino.plan.bound import Outline, bound
from sordino.privacy.budget import Counted
from tests.plan.unit.questions import (
    AVG,
    COUNT,
    COUNTED,
    DECLARED,
    DISCOVERED,
    EVERYTHING,
    MEDIAN,
    SUM,
    UNITS,
    catalog,
    question,
)

ERRORS = st.lists(st.floats(0.01, 1000), min_size=1, max_size=8)
TOTALS = st.fractions(Fraction(1, 1000), 100, max_denominator=1000)


def as_items(errors: list[float]) -> dict[Item, float]:
    return dict(enumerate(errors))


def only(outline: Outline, measure: int) -> Item:
    (place,) = outline.formulas[measure].places
    return place


@given(ERRORS, TOTALS, st.sampled_from(COUNTED))
def test_shares_add_up_to_the_total(errors: list[float], total: Fraction, counted: Counted) -> None:
    shares = divide(as_items(errors), total, counted=counted)
    assert sum(shares.values()) == total
    assert min(shares.values()) > 0


@given(ERRORS, st.sampled_from(COUNTED), st.lists(st.floats(0.5, 2), min_size=8, max_size=8))
def test_no_other_split_has_a_smaller_sum_of_errors(
    errors: list[float], counted: Counted, bends: list[float]
) -> None:
    def cost(shares: list[float]) -> float:
        pairs = zip(errors, shares, strict=True)
        return sum(
            error / (math.sqrt(share) if counted != "epsilon" else share) for error, share in pairs
        )

    found = divide(as_items(errors), Fraction(1), counted=counted)
    bent = [float(share) * bend for share, bend in zip(found.values(), bends, strict=False)]
    other = [share / sum(bent) for share in bent]
    assert cost([float(share) for share in found.values()]) <= cost(other) * (1 + 1e-3)


def test_what_needs_four_times_as_much_gets_twice_the_epsilon() -> None:
    one, other = 0, 1
    shares = divide({one: 4.0, other: 1.0}, Fraction(3), counted="epsilon")
    assert shares[one] == 2
    assert shares[other] == 1
    in_rho = divide({one: 8.0, other: 1.0}, Fraction(5), counted="rho")
    assert in_rho[one] == 4
    assert in_rho[other] == 1


@pytest.mark.parametrize("counted", COUNTED)
def test_a_shared_column_gets_what_all_its_measures_need(counted: Counted) -> None:
    both = bound(question([SUM, AVG]), catalog())
    alone = bound(question([SUM]), catalog())
    first = errors_of(both, counted=counted, confidence=0.95)
    second = errors_of(alone, counted=counted, confidence=0.95)
    assert first[only(both, 0)] == pytest.approx(2 * second[only(alone, 0)])


def test_units_by_group_weigh_as_many_times_as_one_unit_has_groups() -> None:
    outline = bound(question([UNITS, COUNT], DECLARED), catalog(rows=8))
    errors = errors_of(outline, counted="epsilon", confidence=0.95)
    assert errors[only(outline, 0)] == pytest.approx(4 * errors[only(outline, 1)])


@pytest.mark.parametrize("counted", COUNTED)
def test_a_quantile_spends_two_fifths_on_its_value_and_the_rest_on_its_interval(
    counted: Counted,
) -> None:
    outline = bound(question([MEDIAN]), catalog())
    assert isinstance(outline.targets[0], Rank)
    shares = share_out(outline, Fraction(1), counted=counted, confidence=0.95)
    assert shares[0] == Fraction(2, 5)
    assert shares[Ends(0)] == Fraction(3, 5)


@pytest.mark.parametrize("counted", COUNTED)
def test_bent_shares_still_add_up_and_leave_the_part_of_others(counted: Counted) -> None:
    outline = bound(question([COUNT, SUM, UNITS], DECLARED), catalog())
    plain = share_out(outline, Fraction(1), counted=counted, confidence=0.95)
    one, other, third = plain
    kept = plain[one] + plain[other]
    twice = float((kept - plain[one] * 2) / plain[other])
    bent = share_out(
        outline, Fraction(1), counted=counted, confidence=0.95, bend={one: 2.0, other: twice}
    )
    assert sum(bent.values()) == 1
    assert float(bent[one]) == pytest.approx(float(2 * plain[one]), rel=1e-4)
    assert float(bent[third]) == pytest.approx(float(plain[third]), rel=1e-4)


def test_keys_are_paid_for_only_where_they_are_discovered() -> None:
    for key, paid in ((DECLARED, False), (DISCOVERED, True)):
        outline = bound(question([COUNT], key), catalog())
        assert (Keys() in errors_of(outline, counted="epsilon", confidence=0.95)) is paid


@pytest.mark.parametrize("counted", COUNTED)
def test_diagnostics_take_a_tenth(counted: Counted) -> None:
    outline = bound(question(EVERYTHING, DISCOVERED), catalog(), diagnostics=True)
    shares = share_out(outline, Fraction(2), counted=counted, confidence=0.95)
    extra = sum(shares[at] for _, at in outline.diagnostics)
    assert extra == 2 * DIAGNOSTIC_SHARE
    assert sum(shares.values()) == 2
