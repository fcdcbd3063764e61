# SPDX-License-Identifier: Apache-2.0
import functools
import math
import sys
import tracemalloc
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
import pandas
import pytest

from sordino.auditing import Universe, audit, batched
from sordino.auditing.blackbox import auditor
from sordino.auditing.blackbox import outputs as reading
from sordino.auditing.blackbox import runner as running
from sordino.auditing.blackbox.auditor import rounds
from sordino.auditing.blackbox.outputs import Vocabulary
from sordino.auditing.blackbox.runner import RUNS_AT_ONCE


def constant(_data: object) -> int:
    return 7


def itself(data: object) -> object:
    return data


def fails_on_zero(data: int) -> float:
    return 1 / data


def one_more_record(data: list[int]) -> list[int]:
    return [0] * len(data)


def kind_of(data: int) -> object:
    return float(data) if data else 0


@pytest.mark.parametrize(
    ("mechanism", "x", "y"),
    [
        (itself, 3, 2),
        (itself, "yes", "no"),
        (itself, None, 0),
        (itself, (1, 2), (1, 3)),
        (itself, [], [1]),
        (itself, {"a": 1}, {"a": 2}),
        (itself, {"a"}, {"b"}),
        (itself, math.nan, math.inf),
        (itself, 2**70, 2**70 + 1),
        (fails_on_zero, 0, 1),
        (one_more_record, [1], [1, 2]),
        (kind_of, 0, 1),
    ],
)
def test_an_obvious_violation_is_reported_within_a_second(
    mechanism: Callable[..., Any], x: Any, y: Any
) -> None:
    audit(itself, 0, 1)  # loads what is loaded once
    began = process_time()
    report = audit(mechanism, x, y, epsilon=1)
    assert process_time() - began < 1
    assert report.verdict == "violation"
    assert not report.private
    assert report.lower_bound > 5
    assert report.runs < 10_000
    assert report.hits == (report.tested[0], 0)


def test_a_mechanism_that_tells_nothing_takes_all_its_runs() -> None:
    report = audit(constant, 0, 1, epsilon=0, runs=5_000)
    assert report.private
    assert report.lower_bound == 0.0
    assert report.runs == 5_000


def test_words_that_never_repeat_tell_nothing() -> None:
    counter = iter(range(10**9))
    report = audit(lambda _data: f"number {next(counter):09d}", 0, 1, epsilon=0, runs=2_000)
    assert report.private


@pytest.mark.parametrize(
    "outputs",
    [
        [math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, 0.0, -0.0],
        [(1e308, 1e308), (math.inf, -math.inf), (math.nan, 1.0), (5e-324, 0.0)],
        [[], (), "", {}, set(), None],
        [[1], [1, 2], ["a", "b"], [(1, 2), (3, 4)]],
        [10**400, -(10**400), 2**64, 2**53 + 1],
        [date(2020, 1, 1), int, b"1", "1", Decimal("NaN"), Fraction(1, 3)],
        [math.nan],
        [np.float32(0.1), np.array(0.1), np.ones((2, 2)), np.array(["a"])],
    ],
)
def test_outputs_of_any_kind_are_audited_and_not_told_apart(outputs: list[object]) -> None:
    generator = np.random.default_rng(7)
    report = audit(
        lambda _data: outputs[int(generator.integers(len(outputs)))], 0, 1, epsilon=0.5, runs=2_000
    )
    assert report.private
    assert report.to_json()["event"] == report.event


@pytest.mark.parametrize("shape", ["series", "frame", "list", "array"])
def test_a_batch_may_come_in_any_container(shape: str) -> None:
    @batched
    def mechanism(data: int, runs: int) -> Any:
        values = np.full(runs, float(data))
        if shape == "series":
            return pandas.Series(values)
        if shape == "frame":
            return pandas.DataFrame({"a": values, "b": values})
        return values.tolist() if shape == "list" else values

    assert not audit(mechanism, 0, 1).private


def test_the_two_inputs_take_turns_at_being_first() -> None:
    """What drifts from chunk to chunk meets both inputs."""
    seen: list[int] = []

    @batched
    def mechanism(data: int, runs: int) -> Any:
        seen.append(data)
        return np.zeros(runs)

    audit(mechanism, 0, 1, runs=8 * RUNS_AT_ONCE)
    assert seen.count(0) == seen.count(1)
    assert {tuple(seen[place : place + 2]) for place in range(0, len(seen), 2)} == {(0, 1), (1, 0)}


def test_both_ways_to_call_a_mechanism_give_the_same_report() -> None:
    def mechanism(data: int, runs: int) -> Any:
        return [data % 2 == 0] * runs

    plain = audit(lambda data: data % 2 == 0, 0, 1)
    batch = audit(mechanism, 0, 1, batch=True)
    marked = audit(batched(mechanism), 0, 1)
    assert plain.hits == batch.hits == marked.hits
    assert plain.event == batch.event == marked.event


def test_time_that_depends_on_the_input_is_found_when_asked_for() -> None:
    def slow(data: int) -> int:
        end = perf_counter() + (60e-6 if data else 0)
        while perf_counter() < end:
            pass
        return 7

    assert audit(slow, 0, 1, epsilon=1, runs=2_000).private
    report = audit(slow, 0, 1, epsilon=1, runs=2_000, time=True)
    assert not report.private
    assert "microseconds" in report.event


def test_the_worst_pair_of_a_universe_is_found() -> None:
    generator = np.random.default_rng(6)

    @batched
    def mechanism(data: tuple[int, ...], runs: int) -> Any:
        return max(data, default=0) + generator.geometric(0.6, runs)

    universe = Universe(range(4), size=2, neighbours="add_remove")
    report = audit(mechanism, epsilon=1, search=True, universe=universe, runs=60_000)
    assert not report.private
    assert {len(report.x), len(report.y)} <= {0, 1, 2}
    assert abs(max(report.x, default=0) - max(report.y, default=0)) == 3


def test_a_search_takes_pairs_from_anywhere_and_counts_its_runs() -> None:
    told: list[tuple[int, int]] = []

    def mechanism(data: int) -> int:
        return int(data == 3)

    report = audit(
        mechanism,
        0,
        1,
        search=True,
        universe=[(1, 2), (2, 3), (4, 5)],
        runs=20_000,
        progress=lambda done, total: told.append((done, total)),
    )
    assert (report.x, report.y) == (2, 3)
    assert not report.private
    assert report.runs == told[-1][0] <= 20_000
    assert told == sorted(told)


def test_the_rounds_grow_and_the_last_has_half_of_the_runs() -> None:
    for runs in (200, 1_000, 50_000, 500_000):
        ends = rounds(runs)
        assert ends == sorted(set(ends))
        assert ends[-1] == runs
        assert ends[-1] - ends[-2] >= runs // 2
    assert rounds(10**8)[-2] == 1 << 18


def test_leaving_the_program_is_an_output_like_any_other() -> None:
    def leaves(data: int) -> int:
        return sys.exit(0) if data else 0

    assert not audit(leaves, 0, 1).private


def test_outputs_are_kept_though_the_mechanism_uses_one_object_for_all() -> None:
    generator = np.random.default_rng(9)
    buffer, one = np.zeros(2), [0]

    def array(_data: int) -> Any:
        buffer[0] = generator.integers(2)
        return buffer

    def items(_data: int) -> Any:
        one[0] = int(generator.integers(2))
        return one

    for mechanism in (array, items):
        report = audit(mechanism, 0, 1, epsilon=1, runs=4_000, confidence=1 - 1e-7)
        assert report.private
        assert 0.3 < report.frequencies[0] < 0.7 or report.frequencies[0] == 1.0


def test_many_different_words_do_not_push_others_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "Vocabulary", functools.partial(Vocabulary, most=3))
    generator = np.random.default_rng(10)
    chances = {0: 0.2, 1: 0.2 * math.exp(0.9)}

    @batched
    def mechanism(data: int, runs: int) -> Any:
        words = [f"word {number}" for number in generator.integers(10**6, size=runs)]
        said = (generator.random(runs) < chances[data]).tolist()
        return [("mean", word) if one else (1, 2) for word, one in zip(words, said, strict=True)]

    report = audit(mechanism, 1, 0, epsilon=1.7, runs=20_000, confidence=1 - 1e-7)
    assert report.lower_bound < 1.6


def test_progress_is_told_by_time_while_a_slow_mechanism_runs() -> None:
    told: list[tuple[float, int]] = []

    def slow(_data: int) -> int:
        sleep(0.002)
        return 7

    audit(slow, 0, 1, runs=400, progress=lambda done, _total: told.append((perf_counter(), done)))
    done = [runs for _, runs in told]
    assert len(told) >= 4
    assert done == sorted(done)
    assert done[-1] == 400


def test_after_an_error_in_a_batch_all_is_run_again_one_by_one() -> None:
    """One run of a batch raises, and the others must not count as errors: 1-private, exactly."""
    generator = np.random.default_rng(8)
    chances = {0: 2e-2, 1: 2e-2 / math.e}
    sizes = []

    @batched
    def rarely(data: int, runs: int) -> Any:
        sizes.append(runs)
        if (generator.random(runs) < chances[data]).any():
            raise ValueError("negative count")
        return np.zeros(runs)

    for _ in range(10):
        assert audit(rarely, 0, 1, epsilon=1, runs=8_000, confidence=1 - 1e-7).private
    assert sizes.count(1) > 10_000

    @batched
    def always(data: int, runs: int) -> list[float]:
        return [1 / data] * runs

    assert not audit(always, 0, 1).private


def test_a_partial_call_of_a_batched_mechanism_is_batched() -> None:
    @batched
    def mechanism(data: int, runs: int, *, scale: int) -> Any:
        return np.full(runs, data * scale)

    assert not audit(functools.partial(mechanism, scale=2), 0, 1).private


class Holder:
    def __init__(self, value: float) -> None:
        self.value = value


@pytest.mark.parametrize(
    "wrap",
    [
        Holder,
        lambda value: (value, "people"),
        lambda value: {"a": "x", "b": [value]},
        lambda value: pandas.DataFrame({"ward": ["a"], "n": [value]}),
        lambda value: pandas.DataFrame({"n": [value % 0.01]}, index=[f"p{round(value)}"]),
        lambda value: {f"p{round(value)}": value % 0.01, "text": f"{value % 0.01}"},
    ],
)
def test_a_leak_inside_an_output_of_any_type_is_found(wrap: Callable[[float], object]) -> None:
    generator = np.random.default_rng(13)
    report = audit(lambda data: wrap(data + generator.uniform(-0.1, 0.1)), 3, 2, runs=2_000)
    assert not report.private
    assert report.event


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_what_stops_the_program_stops_the_audit(stop: type[BaseException]) -> None:
    def mechanism(_data: int) -> None:
        raise stop

    with pytest.raises(stop):
        audit(mechanism, 0, 1)


def test_memory_is_bounded_however_many_runs_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditor, "_MAX_KEPT_RUNS", 1 << 13)
    monkeypatch.setattr(running, "RUNS_AT_ONCE", 1 << 12)
    zeros = np.zeros((RUNS_AT_ONCE, 4))

    @batched
    def mechanism(_data: int, runs: int) -> Any:
        return zeros[:runs]

    peaks = []
    for runs in (40_000, 400_000):
        tracemalloc.start()
        audit(mechanism, 0, 1, epsilon=1, runs=runs)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
