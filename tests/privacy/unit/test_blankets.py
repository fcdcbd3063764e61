# SPDX-License-Identifier: Apache-2.0
"""What the others hide, against sums over all that can happen, in fractions."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.privacy.shuffled import (
    ALL_LISTED,
    _cut,
    _listed,
    answers_excess,
    clones_excess,
    log_far_excess,
)
from tests.privacy.unit import crowds

GAPS = np.array([0.0, 1 / 64, 0.25, 0.3125, 0.5, 0.75, 0.96875, 1.0])


def share_of(odds: Fraction) -> Fraction:
    return 2 / (1 + odds)


def bounded(excess: float, odds: Fraction, x: Fraction) -> Fraction:
    """The profile at x that goes with an excess."""
    return (1 + x) * (odds - 1) / (odds + 1) * Fraction(excess)


def gap_of(odds: Fraction, x: Fraction) -> Fraction:
    return 1 - (x - 1) / (x + 1) * (odds + 1) / (odds - 1)


def profile_of_clones(people: int, odds: Fraction, x: Fraction) -> Fraction:
    # The gap is a double a little above the true one, so that it can only raise the profile.
    gap = np.array([float(gap_of(odds, x)) * (1 + 1e-15)])
    return bounded(float(clones_excess(people, float(share_of(odds)), gap)[0]), odds, x)


def excess(p: crowds.Law, q: crowds.Law, odds: Fraction, gap: Fraction) -> Fraction:
    """The excess of a pair, by definition."""
    theta = (odds - 1) / (odds + 1)
    total = Fraction(0)
    for seen in p:
        mean = (p[seen] + q[seen]) / 2
        total += max((p[seen] - q[seen]) / 2 / theta - (1 - gap) * mean, Fraction(0))
    return total


@pytest.mark.parametrize("people", [1, 2, 3, 4, 9, 16])
@pytest.mark.parametrize("odds", [Fraction(3), Fraction(9, 8), Fraction(15)])
def test_coins_are_summed_exactly(people: int, odds: Fraction) -> None:
    share = Fraction(float(share_of(odds)))
    p, q = crowds.clones_law(people, share, odds)
    found = clones_excess(people, float(share), GAPS)
    for gap, value in zip(GAPS.tolist(), found.tolist(), strict=True):
        true = excess(p, q, odds, Fraction(gap))
        assert true <= Fraction(value) <= true * (1 + Fraction(1, 10**8)) + Fraction(1, 10**80)


@pytest.mark.parametrize("people", [1, 2, 3, 4, 7, 12])
@pytest.mark.parametrize("odds", [Fraction(3), Fraction(9, 8), Fraction(15)])
def test_answers_are_counted_exactly_whatever_the_others_hold(people: int, odds: Fraction) -> None:
    pairs = list(crowds.neighbours(crowds.response(odds, 2), people))
    found = answers_excess(people, float(odds), GAPS)
    for gap, value in zip(GAPS.tolist(), found.tolist(), strict=True):
        true = max(excess(p, q, odds, Fraction(gap)) for p, q in pairs)
        assert true <= Fraction(value) <= true * (1 + Fraction(1, 10**11)) + Fraction(1, 10**30)


@pytest.mark.parametrize("people", [2, 3, 4, 5, 6])
def test_shuffled_response_of_three_categories_is_below_the_coins(people: int) -> None:
    odds = Fraction(4)
    randomizer = crowds.response(odds, 3)
    for x in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)):
        true = crowds.worst(randomizer, people, x)
        assert 0 < true <= profile_of_clones(people, odds, x)


def test_a_report_that_two_values_share_is_below_the_coins() -> None:
    """Each value favours two of three reports: the case for which the theorem is not plain."""
    odds = Fraction(5)
    rows = [[odds if x != y else Fraction(1) for y in range(3)] for x in range(3)]
    randomizer = [[weight / (2 * odds + 1) for weight in row] for row in rows]
    assert crowds.odds_of(randomizer) == odds
    for people in (2, 3, 5):
        for x in (Fraction(1), Fraction(2), Fraction(4)):
            assert 0 < crowds.worst(randomizer, people, x) <= profile_of_clones(people, odds, x)


rows = st.lists(st.integers(1, 12), min_size=3, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    matrix=st.lists(rows, min_size=2, max_size=4),
    people=st.integers(2, 4),
    tenths=st.integers(0, 9),
)
def test_every_randomizer_is_below_the_coins(
    matrix: list[list[int]], people: int, tenths: int
) -> None:
    randomizer = [[Fraction(weight, sum(row)) for weight in row] for row in matrix]
    odds = crowds.odds_of(randomizer)
    if odds > 1:
        x = 1 + (odds - 1) * Fraction(tenths, 10)
        assert crowds.worst(randomizer, people, x) <= profile_of_clones(people, odds, x)


@pytest.mark.parametrize("odds", [Fraction(11, 10), Fraction(3), Fraction(50)])
def test_labels_tell_the_more_the_more_often_they_are_signs(odds: Fraction) -> None:
    """The step of the proof that needs an argument: the excess grows with beta, at every gap."""
    people, r = 6, 1 / (odds + 1)

    def profile(beta: Fraction, gap: Fraction) -> Fraction:
        other = [beta * r, beta * r, (1 - beta) / odds]
        rest = 1 - sum(other, Fraction(0))
        laws = [
            crowds.shuffled_law(
                [[beta * up * r, beta * down * r, 1 - beta, Fraction(0)], [*other, rest]],
                [0] + [1] * (people - 1),
            )
            for up, down in ((odds, 1), (1, odds))
        ]
        return excess(laws[0], laws[1], odds, gap)

    for gap in (Fraction(1, 9), Fraction(1, 2), Fraction(4, 5), Fraction(1)):
        found = [profile(Fraction(j, 8), gap) for j in range(1, 9)]
        assert all(before < after for before, after in pairwise(found))


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9])
@pytest.mark.parametrize("people", [2, 40, 3000, 10**6])
def test_the_far_formula_is_above_the_sum_and_not_by_much(people: int, share: float) -> None:
    sigma = 1 / math.sqrt(1 + (people - 1) * share)
    away = np.array([x for x in np.arange(0.5, 12, 0.5) * sigma if x < 1])
    near = clones_excess(people, share, 1 - away)
    far = log_far_excess(people, share, 1 - away)
    assert np.all(far >= np.log(near) - 1e-9)
    crowded = people * share > 10**4
    assert not crowded or float((far - np.log(near)).max()) < math.log(12) + 0.5


def test_blocks_of_crowds_cost_little() -> None:
    """More than 10^5 people: against a sum with a block for every single number."""
    people, share = 400_000, 0.5
    sigma = 1 / math.sqrt(people * share)
    gaps = 1 - sigma * np.array([0.5, 3.0, 5.0, 6.5])
    found = clones_excess(people, share, gaps)
    fewer = clones_excess(int(people * (1 - 1e-4)), share, gaps)
    more = clones_excess(int(people * (1 + 1e-4)), share, gaps)
    assert np.all(more <= found)
    assert np.all(found <= fewer * (1 + 1e-3))


@pytest.mark.parametrize("people", [1, 2, 3, 10, 11, ALL_LISTED, ALL_LISTED + 1, 54_321, 10**6])
def test_the_numbers_looked_at_stand_for_all_numbers(people: int) -> None:
    listed, others = _listed(people)
    dropped = people - 1 - others
    assert (dropped == 0) == (people <= ALL_LISTED)
    assert dropped <= people / 96
    starts = sorted({*listed, *(others - ones for ones in listed)})
    reached = -1
    for start in starts:
        assert start <= reached + 1
        reached = start + dropped
    assert reached == people - 1


def excess_of_ones(people: int, ones: int, odds: float, gap: float) -> float:
    """The excess if so many of the others hold a yes, in both orders, by a plain sum."""
    first, second = _cut(people - 1 - ones, 1 / (1 + odds)), _cut(ones, odds / (1 + odds))
    law = np.concatenate([[0.0], np.convolve(first, second), [0.0]])
    pairs = (law[:-1], law[1:]), (law[1:], law[:-1])
    terms = [gap / 2 * one - (1 - gap / 2) * other for one, other in pairs]
    return max(float(way[way > 0].sum()) for way in terms)


def test_leaving_people_out_only_raises_the_excess_and_not_by_much() -> None:
    people, odds = 20_000, math.e
    gaps = 1 - np.array([1.0, 3.0, 5.0]) / math.sqrt(people)
    found = answers_excess(people, odds, gaps)
    for gap, value in zip(gaps.tolist(), found.tolist(), strict=True):
        some = (0, 1, 2, 57, people // 2, people - 1)
        true = [excess_of_ones(people, ones, odds, gap) for ones in some]
        assert max(true) <= value <= max(true) * 1.01


def test_all_others_alike_is_not_always_the_worst() -> None:
    people, odds, epsilon = 50, math.e, 0.3
    gap = 1 - math.tanh(epsilon / 2) / math.tanh(0.5)
    scale = (1 + math.exp(epsilon)) * math.tanh(0.5)
    deltas = [scale * excess_of_ones(people, ones, odds, gap) for ones in range(people)]
    assert deltas[0] == pytest.approx(0.0022562625, abs=5e-11)
    assert deltas[1] == pytest.approx(0.0023562452, abs=5e-11)
    found = scale * float(answers_excess(people, odds, np.array([gap]))[0])
    assert found == pytest.approx(max(deltas), rel=1e-11)


@pytest.mark.parametrize(
    ("bound", "epsilon", "known"), [(1.0, 0.3, 2.534e-19), (2.0, 0.5, 8.8389e-11)]
)
def test_a_thousand_people_who_all_hold_the_same(
    bound: float, epsilon: float, known: float
) -> None:
    gap = 1 - math.tanh(epsilon / 2) / math.tanh(bound / 2)
    scale = (1 + math.exp(epsilon)) * math.tanh(bound / 2)
    alike = excess_of_ones(1000, 0, math.exp(bound), gap)
    assert scale * alike == pytest.approx(known, rel=5e-5)
    found = float(answers_excess(1000, math.exp(bound), np.array([gap]))[0])
    assert alike <= found < 1.05 * alike


def largest_of_all(people: int, odds: float, gap: float) -> float:
    return max(excess_of_ones(people, ones, odds, gap) for ones in range(people))


@pytest.mark.parametrize("people", [300, pytest.param(10**4, marks=pytest.mark.soak)])
def test_every_number_of_ones_is_looked_at(people: int) -> None:
    gap = 1 - 6.0 / math.sqrt(people)
    found = float(answers_excess(people, math.e, np.array([gap]))[0])
    assert found == pytest.approx(largest_of_all(people, math.e, gap), rel=1e-9)
