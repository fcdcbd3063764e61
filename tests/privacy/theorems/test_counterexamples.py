# SPDX-License-Identifier: Apache-2.0
"""Statements that are often printed and are not true: each with what shows it."""

import math
from fractions import Fraction
from itertools import chain, combinations

from sordino.theorems import group, optimal, postprocessing

Law = list[Fraction]


def delta_by_points(p: Law, q: Law) -> Fraction:
    """What one gets when the definition is read for single outputs, at epsilon 0."""
    return max(max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True))


def delta_by_sets(p: Law, q: Law) -> Fraction:
    """What the definition says, at epsilon 0: over all sets of outputs."""
    return sum((max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)), start=Fraction(0))


def test_single_outputs_do_not_show_an_approximate_promise() -> None:  # E-C4, E-C5
    atoms = 1000
    here, there = [Fraction(1, atoms)], [Fraction(0)]
    p, q = here * atoms + there * atoms, there * atoms + here * atoms
    assert delta_by_points(p, q) == Fraction(1, 1000)
    assert delta_by_sets(p, q) == 1  # one look tells the two cases apart


def test_the_best_set_is_where_the_excess_is_positive() -> None:  # E-C5
    p, q = [Fraction(n, 10) for n in (1, 2, 3, 4)], [Fraction(n, 10) for n in (4, 3, 2, 1)]
    sets = chain.from_iterable(combinations(range(4), n) for n in range(5))
    largest = max(sum((p[j] - q[j] for j in chosen), start=Fraction(0)) for chosen in sets)
    assert largest == delta_by_sets(p, q) > delta_by_points(p, q)


def test_pure_privacy_is_shown_by_single_outputs() -> None:  # E-C5
    p, q = [Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 3), Fraction(2, 3)]
    points = max(a / b for a, b in zip(p, q, strict=True))
    sets = [(0,), (1,), (0, 1)]
    assert points == max(sum(p[j] for j in s) / sum(q[j] for j in s) for s in sets)


def test_a_bound_in_one_direction_says_nothing_about_the_other() -> None:  # E-C6
    y, z = [Fraction(1), Fraction(0)], [Fraction(1, 2), Fraction(1, 2)]
    forward = max(a / b for a, b in zip(y, z, strict=True) if a)
    assert math.log(forward) == math.log(2)
    # The lemma would have Y = Y' and Z = Z' at epsilon ln 2 and delta 0, but in the other
    # direction the second output has a positive chance against none.
    assert any(b > 0 and a == 0 for a, b in zip(y, z, strict=True))
    assert sum(max(b - 2 * a, Fraction(0)) for a, b in zip(y, z, strict=True)) == Fraction(1, 2)


def test_a_group_of_replacements_is_counted_in_additions_and_removals() -> None:  # E-N6
    # A histogram in which three units are replaced is six additions and removals away.
    before, after = [3, 0, 2], [0, 3, 2]
    distance = sum(abs(a - b) for a, b in zip(before, after, strict=True))
    assert distance == 6
    assert group(epsilon=0.1, size=distance).epsilon == 0.6


def test_repeating_one_answer_and_taking_the_mean_costs_every_repetition() -> None:
    # The mean is post-processing of all answers; randomized response shows that no less holds.
    assert postprocessing(epsilon=2, delta=0) == (2.0, 0.0)
    assert optimal(epsilon=1, times=2, at_epsilon=1.999).delta > 0
