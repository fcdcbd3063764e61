# SPDX-License-Identifier: Apache-2.0
"""Constant normalisers: what they save, what they cost when choices compose, how they are found."""

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import sordino as so
from sordino import Exponential
from sordino.mechanisms.choose.exponential import Moves, moves_of


def truth(answers: tuple[int, ...]) -> list[int]:
    return [answers.count(name) for name in range(3)]


def distance(values: tuple[int, ...]) -> list[int]:
    """On a circle of five points every shift exchanges the scores."""
    return [-min((place - sum(values)) % 5, (sum(values) - place) % 5) for place in range(5)]


def worst(mechanism: Exponential, scores: Callable[..., list[int]], records: range) -> float:
    """The largest loss between all pairs of single records."""
    laws = [mechanism.probabilities(scores((record,))).tolist() for record in records]
    return max(
        abs(math.log(p / q)) for one, other in product(laws, repeat=2)
        for p, q in zip(one, other, strict=True)
    )  # fmt: skip


@pytest.mark.parametrize(("scores", "records"), [(truth, range(3)), (distance, range(2))])
def test_a_constant_normaliser_saves_the_factor_two(
    scores: Callable[..., list[int]], records: range
) -> None:
    found = Exponential.for_scores(
        scores, universe=records, size=1, neighbours="replace_one", epsilon=2
    )
    assert found.normaliser == "constant"
    assert found.rate == 2
    assert worst(found, scores, records) == pytest.approx(2)
    assert worst(Exponential(sensitivity=1, epsilon=2), scores, records) < 1.6


def test_its_loss_is_pure_and_has_no_bounded_range() -> None:
    """Randomized response: the losses of a pair are 1 and -1, and rho is that of them."""
    found = Exponential(sensitivity=1, epsilon=1, normaliser="constant")
    assert found.loss == so.losses.pure(epsilon=1)
    here, there = found.probabilities([1, 0]), found.probabilities([0, 1])
    exact = so.losses.pmfs(here.tolist(), there.tolist())
    for times in (1, 2, 10, 40):
        for delta in (1e-3, 1e-6):
            claimed = (times * found.loss).epsilon(delta=delta)
            assert claimed >= (times * exact).pld().epsilon(delta=delta).lower - 1e-9
    wrong = Exponential(sensitivity=1, epsilon=1, spread=1)
    assert wrong.rate == found.rate
    least = (40 * exact).pld().epsilon(delta=1e-6).lower
    assert (40 * wrong.loss).epsilon(delta=1e-6) < least


def test_what_is_found_of_scores() -> None:
    def moves(*arguments: Any) -> Moves:
        return moves_of(*arguments)

    one, two = Fraction(1), Fraction(2)
    assert moves(truth, range(3), 3, "add_remove") == (one, one, False)
    assert moves(truth, range(3), 3, "replace_one") == (one, two, False)
    assert moves(truth, range(3), 1, "replace_one") == (one, two, True)
    assert moves(distance, range(2), 3, "add_remove") == (one, two, True)
    assert moves(lambda d: [0.1 * len(d), 0], [7], 2, "add_remove").sensitivity > Fraction(1, 10)


def test_a_sum_that_is_nearly_the_same_is_not_taken_for_constant() -> None:
    """e^1 + e^-1 is close to 2 e^0.43378, and not equal to it."""
    near = Fraction(4337808, 10**7)

    def scores(data: tuple[int, ...]) -> list[Fraction]:
        return [near, near] if data == (0,) else [Fraction(1), Fraction(-1)]

    found = moves_of(scores, range(2), 1, "replace_one")
    assert abs(2 * math.exp(near) - math.e - 1 / math.e) < 1e-5
    assert not found.constant


def test_other_scores_get_their_spread() -> None:
    counts = Exponential.for_scores(
        truth, universe=range(3), size=3, neighbours="replace_one", epsilon=1
    )
    assert (counts.normaliser, counts.spread, counts.rate) == (None, Fraction(2), Fraction(1, 2))
    added = Exponential.for_scores(
        truth, universe=range(3), size=3, neighbours="add_remove", epsilon=1
    )
    assert added == Exponential(sensitivity=1, epsilon=1, monotone=True)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"scores": lambda _: [1, 2]}, "do not depend on the data"),
        ({"scores": lambda data: [0] * (1 + len(data))}, "one number for each candidate"),
        ({"universe": []}, "at least one record"),
        ({"size": 10**6}, "data sets"),
        ({"neighbours": "both"}, "neighbours must be"),
    ],
)
def test_what_cannot_be_found_out_is_refused(change: dict[str, Any], match: str) -> None:
    usual: dict[str, Any] = {
        "scores": truth, "universe": range(3), "size": 2, "neighbours": "add_remove", "epsilon": 1,
    } | change  # fmt: skip
    with pytest.raises(ValueError, match=match):
        Exponential.for_scores(usual.pop("scores"), **usual)


def test_a_constant_normaliser_goes_without_a_spread() -> None:
    for more in ({"monotone": True}, {"spread": 1}):
        with pytest.raises(ValueError, match="leave monotone and spread out"):
            Exponential(sensitivity=1, epsilon=1, normaliser="constant", **more)
    with pytest.raises(ValueError, match="normaliser must be 'constant' or None"):
        Exponential(sensitivity=1, epsilon=1, normaliser="known")  # type: ignore[arg-type]
    found = Exponential(sensitivity=1, epsilon=1, normaliser="constant")
    assert found != Exponential(sensitivity=1, epsilon=1)
    assert pickle.loads(pickle.dumps(found)) == found == eval(repr(found))  # noqa: S301, S307 - ours
