# SPDX-License-Identifier: Apache-2.0
"""Runs of the sparse vector technique: answers, large numbers, the end, accuracy."""

import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.additive import to_grid
from sordino.mechanisms.choose.above_threshold import (
    DONE,
    AboveThreshold,
    AboveThresholdRun,
    _best_split,
    shift_on_grid,
)
from tests.mechanisms.unit.choose.given import Given
from tests.mechanisms.unit.choose.sparse import (
    at_least,
    chance,
    noise_range,
    patterns,
    pmf,
    rates,
)
from tests.support.seeded import SeededBits
from tests.support.tape import replay


@pytest.mark.parametrize("whole", [True, False])
def test_runs_follow_their_law(whole: bool) -> None:
    """A G-test on seeded bits; its verdict is the same each time."""
    step: Any = 1 if whole else 1.0
    m = AboveThreshold(threshold=3 * step, sensitivity=step, epsilon=2, positives=2)
    queries = (3, 2, 5)
    runs = patterns(3, 2)
    counts = dict.fromkeys(runs, 0)
    draws = 6000
    with replay(SeededBits(20 + whole)):
        for turn in range(draws):
            run = m.start()
            if turn % 2:
                answers = run.ask_many(np.array(queries) * step).tolist()
            else:
                answers = []
                for value in queries:
                    answers.append(run.ask(value * step))
                    if run.finished:
                        break
            counts[tuple(answers)] += 1
    assert sum(counts.values()) == draws
    fine = 1 if whole else 64
    scale = AboveThreshold(threshold=0, sensitivity=fine, epsilon=2, positives=2)
    expected = {
        run: draws * chance(tuple((q - 3) * fine for q in queries), run, *rates(scale))
        for run in runs
    }
    statistic = 2 * sum(n * math.log(n / expected[run]) for run, n in counts.items() if n)
    assert statistic < 41  # 6 degrees of freedom: exceeded with probability 3e-7


class OneByOne(Given):
    """Numbers that are asked for singly too; never many at once."""

    nbytes = 0

    def one(self) -> int:
        return self._numbers.pop(0)

    def many(self, size: int) -> Any:
        raise NotImplementedError


def started(m: AboveThreshold, limit: int, *noise: int) -> AboveThresholdRun:
    run = m.start()
    run._limit, run._noise = limit, OneByOne(*noise)
    return run


EDGE = [
    (2**63 - 1, 1, 2**63),
    (2**63 - 1, 0, 2**63),
    (-(2**63), -1, -(2**63)),
    (-(2**63), 2**70, 2**63),
    (0, -(2**70), -(2**63)),
    (0, 2**62, 2**62),
    (0, 2**62 - 1, 2**62),
    (2**63 - 1, -(2**63), 0),
    (2**63 - 1, -(2**63), -1),
    (5, -(2**63), -(2**63) + 5),
    (5, -(2**63), -(2**63) + 6),
]


@pytest.mark.parametrize(("value", "noise", "limit"), EDGE)
def test_large_values_noise_and_limits_do_not_wrap(value: int, noise: int, limit: int) -> None:
    m = AboveThreshold(threshold=0, epsilon=1)
    expected = value + noise >= limit
    assert started(m, limit, noise).ask(value) is expected
    assert started(m, limit, noise).ask_many(np.array([value])).tolist() == [expected]
    assert started(m, limit, noise).ask_many([value]).tolist() == [expected]
    if value >= 0:
        unsigned = np.array([value], dtype=np.uint64)
        assert started(m, limit, noise).ask_many(unsigned).tolist() == [expected]


def test_reals_are_rounded_to_the_grid_wherever_they_are() -> None:
    m = AboveThreshold(threshold=0.5, sensitivity=1.0, epsilon=1, positives=9)
    step = m.grid
    limit = 12345
    values = [0.0, 1e-300, 12345.5 * float(step), 12344.5 * float(step), 1e300, -1e300, 2.0**30]
    run = started(m, limit, *[0] * len(values))
    expected = [to_grid(Fraction(x), m._exponent) >= limit for x in values]
    assert run.ask_many(np.array(values)).tolist() == expected
    for value, answer in zip(values, expected, strict=True):
        assert started(m, limit, 0).ask(value) is answer
        assert started(m, limit, 0).ask(Fraction(value)) is answer


def test_rounding_moves_neighbours_at_most_one_step_further_apart() -> None:
    rng = np.random.default_rng(1)
    for length in (Fraction(1), Fraction(5, 2), Fraction(1, 3)):
        bound = shift_on_grid(length, -1)
        for x in rng.integers(-40, 40, 500):
            a = Fraction(int(x), 12)
            for b in (a + length, a - length, a + length / 2):
                assert abs(to_grid(a, -1) - to_grid(b, -1)) <= bound
    assert to_grid(0.25, -1) == 0  # ties go to the even side, so that one step becomes two
    assert to_grid(0.75, -1) == 2 == shift_on_grid(Fraction(1, 2), -1)


def test_the_run_is_over_after_the_last_positive_answer() -> None:
    m = AboveThreshold(threshold=0, epsilon=1, positives=2)
    run = started(m, 0, *[0] * 10)
    assert run.ask_many([-1, 1, -1, 1, 1, 1]).tolist() == [False, True, False, True]
    assert run.finished
    assert repr(run) == f"<run of {m!r}: finished>"
    with pytest.raises(ValueError, match="start another one") as caught:
        run.ask(5)
    assert str(caught.value) == DONE
    with pytest.raises(ValueError, match="start another one"):
        run.ask_many([5])
    assert run.ask_many([]).tolist() == []


def test_a_run_counts_its_answers_in_words() -> None:
    run = AboveThreshold(threshold=7, epsilon=1).start()
    assert repr(run).endswith(": 1 positive answer left>")


def test_thresholds_of_numpy_are_numbers() -> None:
    whole = AboveThreshold(threshold=np.int64(-3), epsilon=1)
    assert whole == AboveThreshold(threshold=-3, epsilon=1)
    real = AboveThreshold(threshold=np.float32(-0.1), sensitivity=1.0, epsilon=1)
    assert real == AboveThreshold(threshold=-0.1, sensitivity=1.0, epsilon=1)


def test_a_run_shows_no_noise_and_cannot_be_copied() -> None:
    run = AboveThreshold(threshold=7, epsilon=0.5, positives=3).start()
    text = "<run of AboveThreshold(threshold=7, epsilon=0.5, positives=3): 3 positive answers left>"
    assert repr(run) == text
    assert not run.finished
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            act(run)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("positives", [1, 2, 5, 1000, 10**9])
def test_the_best_split_is_by_the_cube_root_of_the_square(positives: int, monotone: bool) -> None:
    share = _best_split(positives, monotone)
    times = positives if monotone else 2 * positives
    assert float(1 / share - 1) == pytest.approx(times ** (2 / 3), abs=1.1e-3)
    assert _best_split(4, False) == Fraction(1, 5)
    if positives < 10**9:
        m = AboveThreshold(threshold=0, epsilon=0.1, positives=positives, monotone=monotone)
        assert 1 / m.threshold_scale + times / m.value_scale == Fraction(1, 10)


@pytest.mark.parametrize("split", [None, 0.05])
@pytest.mark.parametrize("positives", [1, 3])
@pytest.mark.parametrize("queries", [1, 10, 200, 10**6])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_answers_are_accurate_as_often_as_promised(
    split: float | None, positives: int, queries: int, confidence: float
) -> None:
    m = AboveThreshold(threshold=0, epsilon=1, positives=positives, split=split)
    first, second = rates(m)
    r = noise_range(first)

    def failing(reach: int) -> float:
        """At worst each value is just so far off the threshold that a wrong answer counts."""
        low = (queries + 1) // 2
        right = at_least(r - reach, second) ** low
        right = right * (1 - at_least(r + reach + 1, second)) ** (queries - low)
        return 1 - float((pmf(r, first) * right).sum())

    reach = m.accuracy(confidence=confidence, queries=queries)
    assert isinstance(reach, int)
    assert failing(reach) <= 1 - confidence
    assert failing(reach - (1 if queries == 1 else reach // 2)) > 1 - confidence


def test_the_accuracy_of_reals_is_that_of_many_steps_and_a_little_more() -> None:
    real = AboveThreshold(threshold=0, sensitivity=1.0, epsilon=1)
    fine = AboveThreshold(threshold=0, sensitivity=10**6, epsilon=1)
    width = real.accuracy(confidence=0.9, queries=20)
    assert isinstance(width, float)
    assert width == pytest.approx(fine.accuracy(confidence=0.9, queries=20) / 10**6, rel=1e-5)


def test_the_loss_is_the_epsilon_that_was_typed() -> None:
    for typed in (
        {"threshold": 100, "epsilon": 1},
        {"threshold": -3, "sensitivity": 2, "epsilon": 0.1, "positives": 4, "monotone": True},
        {"threshold": 0.5, "sensitivity": 1.0, "epsilon": 3, "split": 0.25},
    ):
        made = AboveThreshold(**typed)
        assert made.loss.epsilon(delta=0) == float(made.epsilon)


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"threshold": 0.5}, TypeError, "threshold must be an integer because sensitivity is one"),
    ({"threshold": math.nan, "sensitivity": 1.0}, ValueError, "threshold must be a finite number"),
    ({"threshold": None}, TypeError, "threshold must be a finite number, got a value of type None"),
    ({"threshold": "5"}, TypeError, "threshold must be a finite number, got a value of type str"),
    ({"threshold": True}, TypeError, "threshold must be a finite number, got a value of type bool"),
    ({"threshold": math.nan}, ValueError, "threshold must be a finite number, got nan"),
    ({"threshold": np.float64(math.inf)}, ValueError, "threshold must be a finite number, got inf"),
    ({"sensitivity": 0}, ValueError, "sensitivity must be a positive number"),
    ({"epsilon": 0}, ValueError, "epsilon must be a positive number"),
    ({"positives": 0}, ValueError, "positives must be a positive whole number"),
    ({"positives": 1.0}, TypeError, "positives must be a positive whole number"),
    ({"monotone": 1}, TypeError, "monotone must be True or False"),
    ({"split": 1}, ValueError, "split must be a number between 0 and 1"),
    ({"epsilon": 1e-16}, ValueError, "epsilon is too small for a sensitivity of 1"),
    ({"epsilon": 10**9}, ValueError, "epsilon is too large for a sensitivity of 1"),
    ({"sensitivity": 1e-150, "epsilon": 1e150}, ValueError, "epsilon is too large"),
]


@pytest.mark.parametrize(("words", "error", "message"), BAD)
def test_bad_parameters_are_refused(
    words: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        AboveThreshold(**{"threshold": 0, "epsilon": 1, **words})


def test_bad_values_are_refused_and_not_shown() -> None:
    whole, real = (AboveThreshold(threshold=0, sensitivity=s, epsilon=1) for s in (1, 1.0))
    cases: list[tuple[AboveThreshold, Any, type[Exception], str]] = [
        (whole, 1.5, TypeError, "takes whole numbers"),
        (whole, True, TypeError, "not bool"),
        (whole, "7", TypeError, "not str"),
        (whole, math.nan, ValueError, "NaN or infinite"),
        (whole, -math.inf, ValueError, "NaN or infinite"),
        (whole, Fraction(1, 2), TypeError, "takes whole numbers"),
        (real, math.nan, ValueError, "NaN or infinite"),
        (real, np.float64(math.inf), ValueError, "NaN or infinite"),
        (real, np.longdouble(1), TypeError, "not longdouble"),
    ]
    for m, value, error, message in cases:
        run = m.start()
        with pytest.raises(error, match=message):
            run.ask(value)
        with pytest.raises(error, match=message):
            run.ask_many([value])
    for array, error, message in (
        (np.zeros((2, 2), dtype=int), ValueError, "an array of 2 dimensions"),
        (np.array([0.5]), TypeError, "takes whole numbers"),
        (np.array([True]), TypeError, "an array of bool"),
        (np.array([0.5, math.nan]), ValueError, "NaN or infinite"),
        (np.array(["7"]), TypeError, "^ask_many takes a list of numbers, not an array of strings$"),
        ({1: 2}, TypeError, "^ask_many takes a list of numbers, not a value of type dict$"),
        (5, TypeError, "^ask_many takes a list of numbers, not a value of type int$"),
    ):
        with pytest.raises(error, match=message):
            whole.start().ask_many(array)
    with pytest.raises(ValueError, match="NaN or infinite"):
        real.start().ask_many(np.array([0.5, math.nan]))
