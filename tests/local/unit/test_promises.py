# SPDX-License-Identifier: Apache-2.0
"""The bounds of a search hold against exact probabilities."""

import math
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb
from typing import Any

import flint
import numpy as np
import pytest
from scipy import stats

from sordino.local.heavy import Promises, divergence

PROMISES = [
    Promises(
        truth=truth,
        other=0.12,
        least=least,
        levels=levels,
        candidates=270,
        confidence=Fraction(str(confidence)),
    )
    for truth in (0.5, 0.9)
    for least in (0.01, 0.1)
    for levels in (1, 4)
    for confidence in (0.5, 0.999)
]


def supports(size: int, inside: int, truth: Fraction, other: Fraction) -> list[Fraction]:
    """The law of how many of a group support a prefix that some of them hold."""
    law = [Fraction(1)]
    for chance in [truth] * inside + [other] * (size - inside):
        law = [
            (law[s] if s < len(law) else 0) * (1 - chance) + (law[s - 1] * chance if s else 0)
            for s in range(len(law) + 1)
        ]
    return law


@pytest.mark.parametrize(("people", "holders", "size"), [(9, 3, 4), (12, 1, 7), (8, 8, 3)])
def test_supports_of_a_random_group_are_independent_coins_with_the_share_of_all_people(
    people: int, holders: int, size: int
) -> None:
    truth, other = Fraction(1, 2), Fraction(1, 8)
    law = [Fraction(0)] * (size + 1)
    for inside in range(max(0, size - people + holders), min(size, holders) + 1):
        ways = comb(holders, inside) * comb(people - holders, size - inside)
        for s, chance in enumerate(supports(size, inside, truth, other)):
            law[s] += Fraction(ways, comb(people, size)) * chance
    assert sum(law) == 1
    mean = other + Fraction(holders, people) * (truth - other)
    assert sum(s * chance for s, chance in enumerate(law)) == size * mean
    common = math.lcm(*(chance.denominator for chance in law))
    roots: Any = flint.fmpz_poly([int(chance * common) for chance in law]).complex_roots()
    assert sum(times for _, times in roots) == size
    for root, _ in roots:
        assert root.imag == 0
        assert float(other) - 1e-9 < float(1 / (1 - root.real)) < float(truth) + 1e-9
    for s in range(size + 1):
        x = s / size
        bound = math.exp(-size * divergence(x, float(mean))) * (1 + 1e-12)
        if x >= mean:
            assert sum(law[s:]) <= bound
        if x <= mean:
            assert sum(law[: s + 1]) <= bound


@pytest.mark.parametrize("promises", PROMISES, ids=repr)
@pytest.mark.parametrize("people", [500, 40_000])
def test_every_level_has_as_many_people_as_stated(promises: Promises, people: int) -> None:
    size = promises.size(people)
    short = stats.binom.cdf(math.floor(size), people, 1 / promises.levels)
    if promises.levels == 1:
        assert size == people
    else:
        assert promises.levels * short <= promises.each
        nats = people * divergence(size / people, 1 / promises.levels)
        assert nats == pytest.approx(math.log(promises.levels / promises.each), rel=1e-9)
        assert size > people / promises.levels - 6 * math.sqrt(people)


@pytest.mark.parametrize("promises", PROMISES, ids=repr)
@pytest.mark.parametrize("people", [4_000, 40_000])
def test_rare_prefixes_crowd_no_level(promises: Promises, people: int) -> None:
    size = people // promises.levels
    crowd = promises.crowd(size)
    for share in (promises.least, promises.least / 2, promises.least / 10, 1 / people):
        holders = math.floor(share * people)
        most = stats.hypergeom.sf(math.ceil(crowd * size) - 1, people, holders, size)
        assert promises.levels * people / holders * most <= promises.each


@pytest.mark.parametrize("promises", PROMISES, ids=repr)
@pytest.mark.parametrize("size", [3_000, 100_000])
def test_rare_prefixes_are_dropped_and_frequent_ones_kept(promises: Promises, size: int) -> None:
    cut = promises.cut(size)
    inside = math.floor(promises.crowd(size) * size)
    mean = promises.other + inside / size * (promises.truth - promises.other)
    passing = stats.binom.sf(math.ceil(cut * size) - 1, size, mean)
    assert 0 < promises.levels * promises.candidates * passing <= promises.each
    reach = promises.reach(size)
    mean = promises.other + reach * (promises.truth - promises.other)
    missing = stats.binom.cdf(math.ceil(cut * size) - 1, size, mean)
    assert 0 < promises.levels / reach * missing <= promises.each
    assert promises.least < promises.crowd(size) < reach < 1


@pytest.mark.parametrize("promises", PROMISES, ids=repr)
def test_more_people_never_make_a_promise_weaker(promises: Promises) -> None:
    sizes = np.geomspace(1, 1e7, 200).tolist()
    for bound in (promises.crowd, promises.cut, promises.reach):
        found = [bound(size) for size in sizes]
        assert all(later <= earlier for earlier, later in pairwise(found))
    found = [promises.size(round(size)) for size in sizes]
    assert found == sorted(found)


def test_with_hardly_anybody_nothing_is_promised() -> None:
    promises = PROMISES[0]
    assert promises.cut(0) == promises.reach(0) == promises.threshold(3) == math.inf


@pytest.mark.parametrize(("x", "mean"), [*combinations([0.1, 0.3, 0.5, 0.9], 2)])
def test_divergence_is_what_it_is(x: float, mean: float) -> None:
    expected = stats.entropy([x, 1 - x], [mean, 1 - mean])
    assert divergence(x, mean) == pytest.approx(expected, rel=1e-12)
    assert divergence(0.0, mean) == pytest.approx(-math.log(1 - mean), rel=1e-12)
    assert divergence(1.0, mean) == pytest.approx(-math.log(mean), rel=1e-12)
