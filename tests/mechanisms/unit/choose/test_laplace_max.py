# SPDX-License-Identifier: Apache-2.0
"""Report noisy max with discrete Laplace noise: law, privacy, large numbers, accuracy."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sordino.mechanisms.additive import to_grid
from sordino.mechanisms.choose import noisy_max as laplace_max
from sordino.mechanisms.choose.noisy_max import (
    MaxNoise,
    laplace_gap,
    laplace_noise,
    laplace_probabilities,
    laplace_winner,
    spread_on_grid,
)
from tests.mechanisms.unit.choose.given import Given
from tests.support.seeded import SeededBits
from tests.support.tape import replay

Floats = npt.NDArray[np.float64]


def whole(scale: Fraction | int) -> MaxNoise:
    return laplace_noise(spread=Fraction(1), epsilon=1 / Fraction(scale), whole=True)


def at_most(x: npt.NDArray[np.int64], q: float) -> Floats:
    """P(noise <= x)."""
    tail = q ** np.abs(np.where(x >= 0, x + 1, x)).astype(float) / (1 + q)
    return np.where(x >= 0, 1 - tail, tail)


def summed(scores: tuple[int, ...], scale: float) -> Floats:
    """The law of the winner by adding up over the winner's noisy score."""
    q, z = math.exp(-1 / scale), np.array(scores)
    far = int(45 * scale) + 2
    x = np.arange(z.min() - far, z.max() + far + 1)
    found = []
    for i in range(z.size):
        chance = (1 - q) / (1 + q) * q ** np.abs(x - z[i]).astype(float)
        for j in range(z.size):
            if j != i:
                chance = chance * at_most(x - z[j] - (j < i), q)
        found.append(float(chance.sum()))
    return np.array(found)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(7, 2), Fraction(40)])
@pytest.mark.parametrize(
    "scores", [(3, 3, 2, 3, 4), (0,), (0, 10), (5, -7, 5, 100), (0,) * 9, (2, 1, 0, -1, -2, -3)]
)
def test_probabilities_are_the_sum_over_the_noisy_score(
    scores: tuple[int, ...], scale: Fraction
) -> None:
    found = laplace_probabilities(scores, noise=whole(scale))
    np.testing.assert_allclose(found, summed(scores, float(scale)), rtol=1e-12, atol=1e-15)
    assert found.sum() == pytest.approx(1, abs=1e-14)


def test_the_foods_by_hand() -> None:
    """Two scores, one apart, scale 1/ln 2, so q = 1/2: the first wins unless N2 - N1 >= 2."""
    q = Fraction(1, 2)
    # P(N2 - N1 = k) = c^2 q^k (k + 1 + 2 q^2 / (1 - q^2)), c = (1 - q)/(1 + q)
    c = (1 - q) / (1 + q)
    middle = [c**2 * q**k * (k + 1 + 2 * q**2 / (1 - q**2)) for k in range(2)]
    less = (1 - middle[0]) / 2 - middle[1]  # two or more ahead
    near = Fraction(math.log(2)).limit_denominator(10**12)
    found = laplace_probabilities([1, 0], noise=whole(1 / near))
    assert found[1] == pytest.approx(float(less), rel=1e-10)


def worst(moves: Sequence[tuple[int, ...]], scale: Fraction, top: int) -> float:
    """The largest log ratio over all score vectors of three with values up to top."""
    laws = {
        scores: np.log(summed(scores, float(scale))) for scores in product(range(top + 1), repeat=3)
    }
    found = 0.0
    for scores, law in laws.items():
        for move in moves:
            other = laws.get(tuple(a + b for a, b in zip(scores, move, strict=True)))
            if other is not None:
                found = max(found, float(np.abs(law - other).max()))
    return found


ONE_WAY = list(product((0, 1), repeat=3))
BOTH_WAYS = list(product((-1, 0, 1), repeat=3))
SWITCHES = [(1, -1, 0), (1, 0, -1), (0, 1, -1), (-1, 1, 0), (-1, 0, 1), (0, -1, 1)]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_no_neighbours_lose_more_than_epsilon(epsilon: Fraction) -> None:
    assert 0.9 * epsilon < worst(ONE_WAY, 1 / epsilon, 8) <= float(epsilon) + 1e-11
    assert 0.9 * epsilon < worst(BOTH_WAYS, 2 / epsilon, 12) <= float(epsilon) + 1e-11


def test_counts_with_the_smaller_noise_lose_nearly_twice_epsilon_when_one_vote_is_switched() -> (
    None
):
    """The noise for one vote more or less is not enough for one vote that changes sides."""
    assert 1.5 < worst(SWITCHES, Fraction(1), 8) <= 2 + 1e-11
    found = [
        math.log(summed((gap, 0), 1.0)[1] / summed((gap + 1, -1), 1.0)[1])
        for gap in (2, 10, 50, 400)
    ]
    assert found == sorted(found)
    assert 1.99 < found[-1] < 2
    assert worst(SWITCHES, Fraction(2), 8) <= 1 + 1e-11


@pytest.mark.parametrize(("gap", "printed"), [(2, 1.3069), (10, 1.817678443), (50, 1.960779287)])
def test_on_the_real_line_a_switched_vote_loses_nearly_twice_epsilon(
    gap: int, printed: float
) -> None:
    def loser(x: float) -> float:
        return math.exp(-x) * (2 + x) / 4

    # The leader is ahead by gap, and by two less after the switch.
    assert math.log(loser(gap - 2) / loser(gap)) == pytest.approx(printed, abs=5e-5)
    fine = 200
    close = summed((gap * fine, 0), float(fine))[1], summed(((gap - 2) * fine, 0), float(fine))[1]
    assert math.log(close[1] / close[0]) == pytest.approx(printed, abs=1e-2)


def test_ties_that_go_to_the_larger_score_are_not_private() -> None:
    """An order that looks at the data: with the first in front, as here, nothing is lost."""
    q = math.exp(-1.0)
    r = np.arange(-60, 61)
    both = np.outer(q ** np.abs(r).astype(float), q ** np.abs(r)) * ((1 - q) / (1 + q)) ** 2

    def first_wins(gap: int, by_score: bool) -> float:
        ahead = r[:, None] - r[None, :] + gap
        ties = gap >= 0 or not by_score
        return float(both[ahead > 0].sum() + ties * both[ahead == 0].sum())

    def found(by_score: bool) -> float:
        chances = [first_wins(gap, by_score) for gap in range(-8, 9)]
        odds = np.log([chances, [1 - p for p in chances]])
        return float(np.abs(np.diff(odds)).max())

    assert found(by_score=True) > 1.27
    assert found(by_score=False) <= 1 + 1e-11


@pytest.mark.parametrize(
    ("scores", "noise", "kind"),
    [
        ([3, 3, 2, 3, 4], whole(1), "int64"),
        ([3.0, 3.0, 2.0, 3.0, 4.0], laplace_noise(
            spread=Fraction(2), epsilon=Fraction(2), whole=False), "float64"),
        ([2**63, 2**63 - 1, 2**63 + 1], whole(2), "uint64"),
        ([Fraction(1, 3), 0.25, 1], laplace_noise(
            spread=Fraction(1), epsilon=Fraction(1), whole=False), "object"),
    ],
    ids=["integers", "doubles", "unsigned", "exact"],
)  # fmt: skip
def test_winners_follow_the_probabilities(scores: list[Any], noise: MaxNoise, kind: str) -> None:
    """A G-test on seeded bits; its verdict is the same each time."""
    array = np.array(scores, dtype=kind)
    law = laplace_probabilities(array, noise=noise)
    draws = 8_000
    with replay(SeededBits(5)):
        counts = np.bincount(
            [laplace_winner(array, noise=noise) for _ in range(draws)], minlength=len(scores)
        )
    statistic = 2 * float((counts * np.log(counts / (draws * law))).sum())
    assert statistic < 36  # at most 4 degrees of freedom: exceeded with probability 3e-7


class AtAnyScale(Given):
    """Numbers that stand for noise of whatever scale is asked for."""

    def __call__(self, scale: Fraction) -> "AtAnyScale":
        assert scale > 0
        return self


HIGH, LOW = 2**63 - 1, -(2**63)
INTEGERS = [
    ([HIGH, HIGH - 1, 0], [0, 2, 0]),
    ([HIGH, LOW, 0], [0, 1, 5]),
    ([LOW, HIGH, HIGH], [2**59, -5, -5]),
    ([LOW, HIGH], [2**65, 0]),
    ([0, 2**61 - 1, 2**61], [2**59, 3, 1]),
    ([0, 2**62], [2**63 - 1, -(2**63)]),
    ([7, 7, 7], [1, 2, 2]),
    ([LOW, LOW + 1], [-(2**70), -(2**71)]),
    ([0, 2**61], [2**60, -(2**60)]),
    ([0, 2**62], [2**61 + 5, -5]),
    ([0, 2**62], [-5, -(2**61) - 9]),
    ([1, 2**61], [2**60 - 1, -(2**60) + 1]),
]


@pytest.mark.parametrize(("scores", "drawn"), INTEGERS)
def test_large_scores_and_noise_do_not_wrap(
    scores: list[int], drawn: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = [a + b for a, b in zip(scores, drawn, strict=True)]
    expected = totals.index(max(totals))
    for given in (np.array(scores), scores, [Fraction(score) for score in scores]):
        monkeypatch.setattr(laplace_max, "discrete_laplace", AtAnyScale(*drawn))
        assert laplace_winner(given, noise=whole(1)) == expected
    if min(scores) >= 0:
        monkeypatch.setattr(laplace_max, "discrete_laplace", AtAnyScale(*drawn))
        assert laplace_winner(np.array(scores, dtype=np.uint64), noise=whole(1)) == expected


DOUBLES = [
    [0.0, 2.0**-60, -(2.0**-60)],
    [1e300, 1e300, -1e300],
    [1e18, math.nextafter(1e18, 0), 1e17],
    [-1e18, -1e17, -1e18 + 2.0**40],
    [2.0**24, 2.0**23, 2.0**24 - 2.0**-20],
    [-(2.0**24), -(2.0**23), 0.3],
    [1.7e308, 1.6e308, 1.0],
    [0.1, 0.2, 0.3],
]


@pytest.mark.parametrize("scores", DOUBLES)
@pytest.mark.parametrize("drawn", [(0, 0, 0), (5, 2**42, -(2**45)), (2**59, -(2**59), 7)])
def test_doubles_are_compared_as_they_are_on_the_grid(
    scores: list[float], drawn: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = laplace_noise(spread=Fraction(2), epsilon=Fraction(1), whole=False)
    totals = [to_grid(Fraction(x), noise.exponent) + n for x, n in zip(scores, drawn, strict=True)]
    for given in (np.array(scores), scores):
        monkeypatch.setattr(laplace_max, "discrete_laplace", AtAnyScale(*drawn))
        assert laplace_winner(given, noise=noise) == totals.index(max(totals))


def test_differences_that_no_double_holds_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """One step against 2**54 of them, a tie after noise, beside a score far below."""
    noise = laplace_noise(spread=Fraction(2), epsilon=Fraction(1), whole=False)
    step = float(Fraction(2) ** noise.exponent)
    for drawn, winner in ((2**54 - 1, 0), (2**54 - 2, 1)):
        monkeypatch.setattr(laplace_max, "discrete_laplace", AtAnyScale(drawn, 0, 0))
        scores = np.array([step, 2.0**54 * step, -(2.0**70) * step])
        assert laplace_winner(scores, noise=noise) == winner


def test_integers_on_a_grid_for_reals_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = laplace_noise(spread=Fraction(2), epsilon=Fraction(1), whole=False)
    for scores in ([2**53, 2**53 - 1], [2**62 + 1, 2**62], [0, 1]):
        monkeypatch.setattr(laplace_max, "discrete_laplace", AtAnyScale(0, 1))
        assert laplace_winner(np.array(scores), noise=noise) == scores.index(max(scores))


def test_the_first_of_equal_noisy_scores_wins_across_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(laplace_max, "BLOCK", 4)
    for size in range(1, 12):
        for at in range(size):
            noise = [0] * size
            noise[at] = noise[-1] = 3
            monkeypatch.setattr(laplace_max, "discrete_laplace", AtAnyScale(*noise))
            assert laplace_winner(np.zeros(size, dtype=int), noise=whole(1)) == at


def test_rounding_moves_the_changes_two_steps_further_apart_at_most() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        spread = Fraction(int(rng.integers(1, 40)), 12)
        shift = Fraction(int(rng.integers(-40, 40)), 12)
        moved = []
        for part in (Fraction(0), Fraction(1), Fraction(int(rng.integers(0, 13)), 12)):
            score = Fraction(int(rng.integers(-40, 40)), 12)
            after = score + shift + part * spread
            moved.append(to_grid(after, 0) - to_grid(score, 0))
        assert max(moved) - min(moved) <= spread_on_grid(spread, 0)
    # With ties both ends can be off: the changes are 1 and 3, a spread of 2, and become 0 and 4.
    assert to_grid(0.5, 0) - to_grid(-0.5, 0) == 0
    assert to_grid(3.5, 0) - to_grid(0.5, 0) == 4 == spread_on_grid(Fraction(2), 0)


@pytest.mark.parametrize("candidates", [2, 5, 100, 10**7])
@pytest.mark.parametrize("confidence", [0.5, 0.99])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(4), Fraction(50)])
def test_the_gap_is_the_least_that_the_union_bound_gives(
    candidates: int, confidence: float, scale: Fraction
) -> None:
    gap = laplace_gap(noise=whole(scale), candidates=candidates, confidence=confidence)
    assert isinstance(gap, int)
    q = math.exp(-1 / float(scale))
    far = int(60 * float(scale)) + 2
    r = np.arange(-far, far + 1)

    def ahead(x: int) -> float:
        """P(one noise exceeds another by x or more), by adding up."""
        chance = (1 - q) / (1 + q) * q ** np.abs(r).astype(float)
        return float((chance * at_most(-(r + x), q)).sum())

    assert (candidates - 1) * ahead(gap) <= 1 - confidence
    assert gap == 1 or (candidates - 1) * ahead(gap - 1) > 1 - confidence


@pytest.mark.parametrize("scores", [(0, 0, 0, 0), (9, 0, 0, 0), (0, 20, 20, 31), (5, 40, 0, 41)])
def test_the_gap_holds_for_all_scores(scores: tuple[int, ...]) -> None:
    for scale in (1, 4):
        noise = whole(scale)
        gap = laplace_gap(noise=noise, candidates=4, confidence=0.9)
        law = laplace_probabilities(scores, noise=noise)
        far = [i for i, x in enumerate(scores) if x <= max(scores) - gap]
        assert law[far].sum() <= 0.1


def test_the_gap_of_one_candidate_and_of_reals() -> None:
    assert laplace_gap(noise=whole(5), candidates=1, confidence=0.9) == 1
    real = laplace_noise(spread=Fraction(1), epsilon=Fraction(1), whole=False)
    fine = laplace_noise(spread=Fraction(10**6), epsilon=Fraction(1), whole=True)
    found = laplace_gap(noise=real, candidates=50, confidence=0.9)
    assert isinstance(found, float)
    steps = laplace_gap(noise=fine, candidates=50, confidence=0.9)
    assert found == pytest.approx(steps / 10**6, rel=1e-5)


def test_bad_scores_are_refused_and_not_shown() -> None:
    real = laplace_noise(spread=Fraction(1), epsilon=Fraction(1), whole=False)
    cases: list[tuple[MaxNoise, Any, type[Exception], str]] = [
        (whole(1), [], ValueError, "scores are empty"),
        (whole(1), np.zeros((2, 2), dtype=int), ValueError, "an array of 2 dimensions"),
        (whole(1), np.array([0.5]), TypeError, "takes whole scores"),
        (whole(1), [0.5], TypeError, "takes whole scores"),
        (whole(1), [1, Fraction(1, 2)], TypeError, "takes whole scores"),
        (whole(1), [True, False], TypeError, "a score of type bool"),
        (whole(1), ["a"], TypeError, "a score of type str"),
        (whole(1), "abc", TypeError, "a value of type str"),
        (whole(1), 7, TypeError, "a value of type int"),
        (whole(1), np.array([True]), TypeError, "an array of bool"),
        (real, np.array([0.0, math.nan]), ValueError, "infinite or not a number"),
        (real, [0.0, math.inf], ValueError, "infinite or not a number"),
        (real, [None], ValueError, "some are missing"),
        (real, np.ma.masked_array([1.0], [True]), TypeError, "type MaskedArray"),
        (real, [np.timedelta64(1, "s")], TypeError, "a score of type timedelta64"),
    ]
    for noise, scores, error, message in cases:
        with pytest.raises(error, match=message):
            laplace_winner(scores, noise=noise)
        with pytest.raises(error, match=message):
            laplace_probabilities(scores, noise=noise)
    with pytest.raises(ValueError, match="at most 64 scores"):
        laplace_probabilities([0] * 65, noise=whole(1))


def test_noise_that_cannot_be_drawn_is_refused() -> None:
    big = Fraction(10**15)
    with pytest.raises(ValueError, match="epsilon is too small for a spread of 1"):
        laplace_noise(spread=Fraction(1), epsilon=1 / big**2, whole=True)
    with pytest.raises(ValueError, match="epsilon is too large for a spread of 1"):
        laplace_noise(spread=Fraction(1), epsilon=big, whole=True)
    with pytest.raises(ValueError, match="no noise fits"):
        laplace_noise(spread=1 / big**10, epsilon=big**10, whole=False)
    with pytest.raises(ValueError, match="must be a whole number"):
        laplace_noise(spread=Fraction(1, 2), epsilon=Fraction(1), whole=True)
