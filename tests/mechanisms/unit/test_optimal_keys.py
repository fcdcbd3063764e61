# SPDX-License-Identifier: Apache-2.0
"""The optimal law is drawn exactly for every epsilon and delta, however small."""

from fractions import Fraction

import numpy as np
import pytest

from sordino.mechanisms.keys.optimal import OptimalLaw
from sordino.mechanisms.keys.selection import KeySelection
from sordino.numbers.balls import enclose
from tests.support.seeded import SeededBits
from tests.support.tape import Words, replay

MOST = 2**62  # counts are cut to this
EPSILONS = ["1", "1e-3", "1e-9", "1e-16", "1e-20", "1e-40", "1e-100", "1e-154"]
DELTAS = ["0.9", "0.3", "4e-4", "1e-9", "1e-30", "1e-154"]


def some_counts(law: OptimalLaw) -> list[int]:
    """Counts from 1 to the last, about the turn, and at both ends."""
    top = min(law.last, MOST)
    chosen = {1, 2, 3, 5, top // 3, top // 2, 2 * top // 3, top - 1, top}
    chosen |= {law.turn + step for step in (-1, 0, 1, 2)}
    return sorted(n for n in chosen if 1 <= n <= top)


@pytest.mark.parametrize("moves", [1, 10**150])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_doubles_are_close_enough_to_filter_at_every_epsilon(
    epsilon: str, delta: str, moves: int
) -> None:
    law = OptimalLaw(Fraction(epsilon) / moves, Fraction(delta) / moves)
    counts = some_counts(law)
    for n, near in zip(counts, law._doubles(np.array(counts)).tolist(), strict=True):
        low, high = enclose(lambda n=n: law.ball(n), 100)  # type: ignore[misc]  # at once
        assert abs(Fraction(near) - Fraction(low + high, 2**101)) < Fraction(1, 2**42)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1e-9", "4e-4"), ("1e-16", "4e-4"), ("1e-20", "1e-4"), ("1e-40", "0.3")]
)
def test_tiny_epsilons_are_decided_exactly(epsilon: str, delta: str) -> None:
    keys = KeySelection(epsilon=Fraction(epsilon), delta=Fraction(delta), neighbours="add_remove")
    law = OptimalLaw(Fraction(epsilon), Fraction(delta))
    for n in some_counts(law):
        low, _ = enclose(lambda n=n: law.ball(n), 128)  # type: ignore[misc]  # at once
        prefix, rest = low >> 64, low & (2**64 - 1)
        words = {prefix - 2**30: True, prefix - 1: True, prefix + 1: False, prefix + 2**30: False}
        for word, kept in words.items():
            if 0 <= word < 2**64:
                with replay(Words([word])):
                    assert keys.release([n]).tolist() == [kept]
        if 5 < rest < 2**64 - 5:
            for more, kept in ((rest - 5, True), (rest + 5, False)):
                with replay(Words([prefix, more])):
                    assert keys.release([n]).tolist() == [kept]


def test_keys_of_one_unit_are_kept_with_delta_at_a_tiny_epsilon() -> None:
    size = 200_000
    for epsilon, delta in ((1e-20, 1e-4), (1e-16, 4e-4), (1e-9, 1e-3)):
        keys = KeySelection(epsilon=epsilon, delta=delta, neighbours="add_remove")
        with replay(SeededBits(5)):
            kept = int(keys.release(np.ones(size, dtype=np.int64)).sum())
        assert abs(kept - size * delta) <= 6 * np.sqrt(size * delta)


def test_a_law_that_turns_beyond_all_counts_is_drawn_too() -> None:
    keys = KeySelection(epsilon=1e-40, delta=1e-30, neighbours="add_remove")
    with replay(Words([2**63] * 3)):
        assert keys.release([1, 5, MOST]).tolist() == [False] * 3
    many = KeySelection(epsilon=1e-154, delta=1e-154, groups=10**154, neighbours="replace_one")
    with replay(Words([2**63] * 3)):
        assert many.release([1, 5, MOST]).tolist() == [False] * 3
