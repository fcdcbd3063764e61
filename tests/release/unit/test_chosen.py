# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import numpy as np

from sordino.mechanisms.choose import Exponential, PermuteAndFlip, TopK
from sordino.plan.plan import Chosen, Votes
from sordino.release.draw import Pile, draw_choices
from tests.release.unit.plans import DISEASE

VOTES = Votes(DISEASE, ("flu", "cold", "asthma"))
LEVEL = Fraction(95, 100)


def test_the_most_frequent_candidate_is_chosen_in_every_group() -> None:
    held = [
        Pile(np.array([0, 2]), np.array([10, 10**6])),
        Pile(np.array([1]), np.array([10**6])),
    ]
    found = draw_choices(Chosen(VOTES, None, Fraction(1), 4), held, LEVEL)
    assert found.values == (("asthma",), ("cold",))


def test_a_list_has_the_best_first() -> None:
    held = [Pile(np.array([0, 1, 2]), np.array([10**5, 1, 10**6]))]
    found = draw_choices(Chosen(VOTES, 2, Fraction(1), 4), held, LEVEL)
    assert found.values == (("asthma", "flu"),)


def test_a_group_without_votes_gets_some_candidate() -> None:
    empty = Pile(np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    found = draw_choices(Chosen(VOTES, None, Fraction(1), 4), [empty], LEVEL)
    assert found.values[0][0] in VOTES.domain


def test_the_plan_says_which_mechanism_chooses() -> None:
    one = Chosen(VOTES, None, Fraction(1), 4, "permute_and_flip")
    assert isinstance(one.rule, PermuteAndFlip)
    assert isinstance(Chosen(VOTES, None, Fraction(1), 4).rule, Exponential)
    assert isinstance(Chosen(VOTES, 2, Fraction(1), 4).rule, TopK)


def test_a_list_longer_than_the_candidates_costs_no_more_for_each_choice() -> None:
    rule = Chosen(VOTES, 6, Fraction(1), 4).rule
    assert isinstance(rule, TopK)
    assert (rule.k, rule.step) == (3, Fraction(1, 6))


def test_the_gap_is_that_of_the_mechanism() -> None:
    release = Chosen(VOTES, None, Fraction(1), 4, "permute_and_flip")
    rule = PermuteAndFlip(sensitivity=4, epsilon=1, monotone=True)
    assert release.gap(LEVEL) == rule.accuracy(confidence=LEVEL, candidates=3).gap
