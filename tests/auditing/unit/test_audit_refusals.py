# SPDX-License-Identifier: Apache-2.0
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pytest

from sordino.auditing import audit, batched
from sordino.mechanisms import Laplace


def constant(_data: object) -> int:
    return 7


def one_more_record(data: list[int]) -> list[int]:
    return [0] * len(data)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"epsilon": math.nan}, "epsilon must be"),
        ({"epsilon": math.inf}, "epsilon must be"),
        ({"delta": -0.1}, "delta must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"delta": math.nan}, "delta must be"),
        ({"confidence": 0.0}, "confidence must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"confidence": 99.9}, "confidence must be"),
        ({"runs": 10}, "runs must be"),
        ({"runs": 1e6}, "runs must be"),
        ({"y": 0}, "the same input"),
        ({"time": True, "batch": True}, "cannot be timed"),
        ({"search": True, "universe": []}, "no pairs"),
        ({"search": True, "universe": [(1, 2, 3)]}, "not a pair"),
        ({"search": True, "universe": [(1, n) for n in range(2, 99)], "runs": 5000}, "more runs"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], text: str) -> None:
    arguments = {"x": 0, "y": 1, **options}
    with pytest.raises(ValueError, match=text):
        audit(constant, **arguments)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"epsilon": "1"}, "epsilon must be a number such as 0.5, not '1'"),
        ({"epsilon": None}, "epsilon must be a number"),
        ({"delta": "a"}, "delta must be a number"),
        ({"confidence": True}, "confidence must be a number"),
        ({"y": ...}, "give two neighbouring inputs"),
        ({"x": ..., "y": ...}, "give two neighbouring inputs"),
        ({"y": ..., "search": True, "universe": [(0, 1)]}, "give two neighbouring inputs"),
        ({"universe": [(0, 1)]}, "only looked at with search=True"),
        ({"search": True}, "search=True needs a universe, such as"),
        ({"search": True, "universe": "ab"}, "universe must be"),
    ],
)
def test_what_is_missing_or_of_the_wrong_type_is_refused(
    options: dict[str, Any], text: str
) -> None:
    arguments = {"x": 0, "y": 1, **options}
    with pytest.raises(TypeError, match=text):
        audit(constant, **arguments)


def test_runs_of_the_wrong_type_are_shown_as_they_are() -> None:
    with pytest.raises(ValueError, match="at least 400, not '1000'"):
        audit(constant, 0, 1, runs="1000")  # type: ignore[arg-type]  # the point of the test


def test_what_is_no_mechanism_is_refused() -> None:
    with pytest.raises(TypeError, match="must be callable, not int; give a function"):
        audit(3, 0, 1)  # type: ignore[arg-type]  # the point of the test
    laplace: Any = Laplace(epsilon=1, sensitivity=1)
    with pytest.raises(TypeError, match=r"give its method: mechanism\.release"):
        audit(laplace, 0, 1)
    with pytest.raises(ValueError, match="the same input"):
        audit(constant, np.zeros(3), np.zeros(3))


def test_an_error_of_every_run_is_refused_and_shows_where_it_came_from() -> None:
    with pytest.raises(ValueError, match=r"raises TypeError: .* on both inputs") as caught:
        audit(one_more_record, 0, 1)
    assert isinstance(caught.value.__cause__, TypeError)
    with pytest.raises(ValueError, match="it is called with the data alone, or with batch=True"):
        audit(lambda _data, _runs: 0, 0, 1)
    with pytest.raises(ValueError, match="mend it"):
        audit(lambda data: data.no_such_name, 0, 1)


def test_a_batch_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="returned 3 outputs for"):
        audit(lambda _data, _runs: [1, 2, 3], 0, 1, batch=True)
    with pytest.raises(ValueError, match="returned 5 for"):
        audit(lambda _data, _runs: 5, 0, 1, batch=True)


def test_an_error_that_comes_late_in_a_batch_is_refused() -> None:
    calls = iter([0] * 20)

    @batched
    def late(_data: int, runs: int) -> list[int]:
        return [next(calls)] * runs

    with pytest.raises(ValueError, match="audit single runs") as caught:
        audit(late, 0, 1, runs=10**6)
    assert isinstance(caught.value.__cause__, StopIteration)


@pytest.mark.parametrize(
    "other", [np.array(["a"]), np.array([None]), np.array([1j])], ids=["text", "object", "complex"]
)
def test_arrays_of_several_types_are_refused(other: Any) -> None:
    calls = iter(range(100))

    @batched
    def mechanism(_data: int, runs: int) -> Any:
        return np.repeat(other, runs) if next(calls) == 2 else np.zeros(runs)

    with pytest.raises(ValueError, match=r"returns arrays of .* return a list"):
        audit(mechanism, 0, 1)


def test_one_draw_for_all_runs_of_a_batch_is_refused() -> None:
    generator = np.random.default_rng(11)

    @batched
    def mechanism(data: int, runs: int) -> Any:
        return np.full(runs, data + generator.laplace(scale=10))

    with pytest.raises(ValueError, match="draw noise for each run"):
        audit(mechanism, 3, 2, epsilon=1, runs=50_000)


@pytest.mark.parametrize("answers", [5, 100, 3_000])
def test_a_mechanism_that_uses_itself_up_is_refused(answers: int) -> None:
    left = iter(range(answers))

    def mechanism(_data: int) -> int:
        return next(left) % 2

    with pytest.raises(ValueError, match="raise") as caught:
        audit(mechanism, 3, 2, epsilon=1, runs=50_000)
    assert isinstance(caught.value.__cause__, StopIteration)


def test_a_mechanism_that_raises_in_most_runs_is_refused_and_in_few_is_not() -> None:
    generator = np.random.default_rng(12)

    def mechanism(data: list[float]) -> int:
        return 1 // int(generator.random() >= data[0])

    with pytest.raises(ValueError, match=r"raises ZeroDivisionError.* on both inputs, in 9\d"):
        audit(mechanism, [0.95, 0], [0.95, 1], runs=2_000)
    assert audit(mechanism, [0.2, 0], [0.2, 1], runs=2_000).private


@pytest.mark.parametrize("make", [list, np.array, pandas.Series], ids=["list", "array", "series"])
def test_a_mechanism_that_changes_its_input_is_refused_and_harms_no_data(
    make: Callable[..., Any],
) -> None:
    def mechanism(data: Any) -> float:
        data[0] += 1
        return float(len(data))

    x, y = make([1, 2, 3]), make([1, 2])
    with pytest.raises(ValueError, match=r"changes its input.*; let it work on a copy"):
        audit(mechanism, x, y)
    assert list(x) == [1, 2, 3]
    assert list(y) == [1, 2]


def test_an_output_that_cannot_be_looked_into_is_refused() -> None:
    with pytest.raises(ValueError, match="the outputs are generator objects that an audit cannot"):
        audit(lambda data: (one for one in [data]), 0, 1)
