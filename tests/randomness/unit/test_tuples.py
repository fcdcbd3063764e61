# SPDX-License-Identifier: Apache-2.0
"""Slots hold every ordered tuple once, with its gap, and are drawn by their exact weights."""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from sordino.randomness import race
from sordino.randomness.race import Slot, Slots, draw_tuple
from tests.support.seeded import SeededBits
from tests.support.tape import Words


def gap_of(values: list[int], places: tuple[int, ...]) -> int:
    tops = sorted(values, reverse=True)
    return max(tops[i] - values[place] for i, place in enumerate(places))


def members(slot: Slot, candidates: int) -> Iterator[tuple[int, ...]]:
    """All tuples of ranks that a slot admits."""
    for ranks in permutations(range(candidates), len(slot.admitted)):
        inside = [rank < admitted for rank, admitted in zip(ranks, slot.admitted, strict=True)]
        if slot.group is not None:
            place, start, size = slot.group
            inside[place] = start <= ranks[place] < start + size
        if all(inside):
            yield ranks


CASES = [
    *(np.array(values) for values in product(range(3), repeat=4)),
    np.array([5]),
    np.array([-(2**63), 2**63 - 1, 0]),
    np.array([0, 2**64 - 1, 2**63], dtype=np.uint64),
    np.array([10**40, 3, -(10**50), 3, 10**40], dtype=object),
    np.array([9, 7, 7, 4, 1, 0]),
]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_every_tuple_is_in_one_slot_that_has_its_gap(k: int) -> None:
    for values in CASES:
        if values.size < k:
            continue
        slots, seen = Slots(values, k), Counter[tuple[int, ...]]()
        logarithms, error = slots.logarithms()
        for at in range(len(slots)):
            slot = slots[at]
            found = [tuple(slots.names(ranks)) for ranks in members(slot, values.size)]
            assert len(found) == slot.number()
            assert abs(math.log(slot.number()) - logarithms[at]) <= error
            assert {gap_of(values.tolist(), places) for places in found} == {slot.gap}
            seen.update(found)
        assert len(seen) == math.perm(values.size, k)
        assert set(seen.values()) == {1}


@pytest.mark.parametrize("slot", range(6))
def test_every_tuple_of_a_slot_is_drawn_by_one_choice_of_uniform_numbers(slot: int) -> None:
    """The draws below n_j - j are enumerated: each combination gives another tuple."""
    whole = Slots(np.array([9, 7, 7, 4, 1]), 3)[slot]
    choices = [range(n - j) for j, n in enumerate(whole.admitted)]
    if whole.group is not None:
        choices[whole.group.place] = range(whole.group.size)
    drawn = Counter(
        tuple(
            whole.draw(
                Words([_word(x, len(c)) for x, c in zip(pick, choices, strict=True) if len(c) > 1])
            )
        )
        for pick in product(*choices)
    )
    assert set(drawn) == set(members(whole, 5))
    assert set(drawn.values()) == {1}


def _word(x: int, bound: int) -> int:
    """The 16-bit word from which a number below a bound is cut."""
    return x << (16 - (bound - 1).bit_length())


@pytest.mark.parametrize(
    ("values", "unit"),
    [([3, 3, 2, 3, 4], 1), ([10**40, 10**40, 0, 10**40, 2 * 10**40], Fraction(1, 10**40))],
    ids=["int64", "exact"],
)
def test_tuples_come_as_often_as_their_weights_say(values: list[int], unit: Any) -> None:
    """Alpha is 1e-6; the tape is seeded."""
    times, bits, rate = 5000, SeededBits(7), Fraction(1, 2) * unit
    array = np.array(values, dtype=object if max(values) > 2**63 else np.int64)
    drawn = Counter(tuple(draw_tuple(array, 2, rate, bits)) for _ in range(times))
    weights = {s: math.exp(-rate * gap_of(values, s)) for s in permutations(range(5), 2)}
    total = sum(weights.values())
    expected = {s: times * weight / total for s, weight in weights.items()}
    statistic = sum((drawn[s] - mean) ** 2 / mean for s, mean in expected.items())
    assert statistic < chi2.isf(1e-6, len(weights) - 1)


def test_large_gaps_at_the_top_leave_no_doubt() -> None:
    values = np.arange(1000) * 1000
    assert draw_tuple(values, 50, Fraction(1), SeededBits(3)) == list(range(999, 949, -1))


def test_many_candidates_and_places_are_drawn_in_one_go() -> None:
    values = np.random.default_rng(1).integers(0, 10**9, 20_000)
    found = draw_tuple(values, 40, Fraction(1, 10**4), SeededBits(3))
    assert len(set(found)) == 40
    assert gap_of(values.tolist(), tuple(found)) < 10**8


def test_too_many_slots_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "MOST_SLOTS", 10)
    with pytest.raises(ValueError, match="choose one after the other"):
        Slots(np.arange(6), 2)
    with pytest.raises(ValueError, match="choose a smaller k"):
        draw_tuple(np.zeros(10**5, dtype=np.int64), 2000, Fraction(1), SeededBits(3))
