# SPDX-License-Identifier: Apache-2.0
"""Propose-test-release is private on every small universe, as long as its distance is one."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import mpmath
import pytest

from sordino.mechanisms.propose_test_release import (
    Breach,
    ProposeTestRelease,
    _after,
    check_distance,
)
from sordino.sensitivity.norms import Neighbours
from tests.support.seeded import SeededBits
from tests.support.tape import replay

Data = tuple[int, ...]
UNIVERSE, SIZE, BOUND = [0, 1, 6], 5, 1


def median(data: Data) -> int:
    return sorted(data)[len(data) // 2]


def data_sets() -> list[Data]:
    return list(combinations_with_replacement(UNIVERSE, SIZE))


def neighbours(data: Data) -> set[Data]:
    return set(_after(data, UNIVERSE, Neighbours.replace_one))


def distances(f: Callable[[Data], int], bound: int) -> dict[Data, int]:
    """The number of steps to the nearest data set whose local sensitivity is above the bound."""
    found = {
        data: 0
        for data in data_sets()
        if any(abs(f(data) - f(y)) > bound for y in neighbours(data))
    }
    frontier = list(found)
    while frontier:
        after = [y for data in frontier for y in neighbours(data) if y not in found]
        step = found[frontier[0]] + 1
        frontier = sorted(set(after))
        found.update(dict.fromkeys(frontier, step))
    return {data: found.get(data, SIZE + 1) for data in data_sets()}


def law(m: ProposeTestRelease, value: int, distance: int, top: int = 60) -> list[Any]:
    """The exact law of the output: refused, then the noisy values."""
    q = mpmath.exp(-mpmath.mpf(m.share.numerator) / m.share.denominator * float(m.epsilon))
    start = m.threshold - distance
    passes = q**start / (1 + q) if start > 0 else 1 - q ** (1 - start) / (1 + q)
    eta = mpmath.mpf(m.laplace.noise.eta.numerator) / m.laplace.noise.eta.denominator
    r = mpmath.exp(-eta)
    noisy = [(1 - r) / (1 + r) * r ** abs(y - value) for y in range(-top, top + 1)]
    return [1 - passes, *(passes * p for p in noisy)]


def worst(f: Callable[[Data], int], far: dict[Data, int], m: ProposeTestRelease) -> Any:
    grow = mpmath.exp(float(m.epsilon))
    laws = {data: law(m, f(data), far[data]) for data in data_sets()}
    return max(
        sum(max(a - grow * b, mpmath.mpf(0)) for a, b in zip(laws[x], laws[y], strict=True))
        for x in laws
        for y in neighbours(x)
    )


def test_every_pair_of_a_small_universe_is_private() -> None:
    far = distances(median, BOUND)
    assert set(far.values()) >= {0, 1, 2}
    with mpmath.workdps(30):
        for share in (Fraction(1, 2), Fraction(3, 4)):
            m = ProposeTestRelease(bound=BOUND, epsilon=2, delta=Fraction(1, 20), share=share)
            assert worst(median, far, m) <= mpmath.mpf(1) / 20


def test_a_lower_threshold_or_a_wrong_distance_is_not_private() -> None:
    far = distances(median, BOUND)
    m = ProposeTestRelease(bound=BOUND, epsilon=2, delta=Fraction(1, 20))
    with mpmath.workdps(30):
        object.__setattr__(m, "threshold", m.threshold - 1)
        assert worst(median, far, m) > mpmath.mpf(1) / 20
        object.__setattr__(m, "threshold", m.threshold + 1)
        assert worst(median, {data: 2 * x for data, x in far.items()}, m) > mpmath.mpf(1) / 20
        assert worst(median, dict.fromkeys(far, 2), m) > mpmath.mpf(1) / 20


def check(f: Any, distance: Any, relation: str = "replace_one") -> Breach | None:
    return check_distance(
        f, distance, bound=BOUND, universe=UNIVERSE, size=SIZE, neighbours=relation
    )


def test_the_checker_accepts_the_true_distance_and_smaller_ones() -> None:
    far = distances(median, BOUND)
    assert check(median, far.__getitem__) is None
    assert check(median, lambda data: max(far[data] - 1, 0)) is None
    assert check(median, lambda data: min(far[data], 1)) is None
    assert check(len, len, "add_remove") is None


def test_the_checker_finds_each_breach() -> None:
    far = distances(median, BOUND)
    found = check(median, lambda data: 2 * far[data])
    assert found is not None
    assert found.reason == "the distances differ by more than 1"
    found = check(median, lambda data: far[data] + 1)
    assert found is not None
    assert found.reason == "the values differ by more than the bound"
    assert abs(median(found.first) - median(found.second)) > BOUND
    found = check(median, lambda data: far[data] / 2)
    assert found is not None
    assert found.reason == "a distance is not a whole number of at least 0"
    found = check(lambda data: 2 * len(data), lambda _: 1, "add_remove")
    assert found == Breach("the values differ by more than the bound", (), (0,))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(9)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 100), Fraction(3, 4)])
def test_the_threshold_is_the_least(epsilon: Fraction, delta: Fraction) -> None:
    m = ProposeTestRelease(bound=1, epsilon=epsilon, delta=delta)
    q = mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator / 2)
    assert q**m.threshold / (1 + q) <= float(delta)
    assert m.threshold == 1 or q ** (m.threshold - 1) / (1 + q) > float(delta)
    assert m.probability(0) <= float(delta)
    assert m.probability(m.distance_for(0.9)) >= 0.9 > m.probability(m.distance_for(0.9) - 1)


def test_a_release_is_the_value_with_noise_or_nothing() -> None:
    m = ProposeTestRelease(bound=1, epsilon=1, delta=1e-3)
    with replay(SeededBits(5)):
        far = [m.release(100, distance=1000) for _ in range(200)]
        near = [m.release(100, distance=0) for _ in range(200)]
        real = ProposeTestRelease(bound=0.5, epsilon=1, delta=1e-3).release(2.25, distance=99)
    assert all(isinstance(x, int) and abs(x - 100) < 60 for x in far)
    assert near.count(None) >= 197
    assert isinstance(real, float)


def test_the_loss_is_epsilon_and_delta() -> None:
    m = ProposeTestRelease(bound=2, epsilon=0.7, delta=1e-6, share=0.25)
    assert m.loss.delta(epsilon=0.7) == 1e-6
    assert m.laplace.epsilon == Fraction(7, 10) * Fraction(3, 4)
    assert m.accuracy(confidence=0.95) == m.laplace.accuracy(confidence=0.95)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bound": 0}, "bound must be a positive number"),
        ({"epsilon": -1}, "epsilon must be a positive number"),
        ({"delta": 1}, "delta must be a number between 0 and 1"),
        ({"share": 1}, "share must be a number between 0 and 1"),
        ({"epsilon": 2**80}, "epsilon is too large for the test"),
    ],
)
def test_parameters_out_of_range_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ProposeTestRelease(**{"bound": 1, "epsilon": 1, "delta": 1e-6, **arguments})


@pytest.mark.parametrize("distance", [-1, 1.5, None, True])
def test_other_distances_are_refused(distance: Any) -> None:
    m = ProposeTestRelease(bound=1, epsilon=1, delta=1e-6)
    with pytest.raises(ValueError, match="whole number that is not negative"):
        m.release(1, distance=distance)
    with pytest.raises(ValueError, match="whole number that is not negative"):
        m.probability(distance)
    with pytest.raises(ValueError, match="below 1"):
        m.distance_for(1)


def test_a_universe_that_is_empty_or_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="universe must hold at least one record"):
        check_distance(max, lambda _: 0, bound=1, universe=[], size=2, neighbours="replace_one")
    with pytest.raises(ValueError, match=r"there are \d+ data sets, and at most 200000 are"):
        check_distance(
            max, lambda _: 0, bound=1, universe=range(1000), size=9, neighbours="replace_one"
        )
