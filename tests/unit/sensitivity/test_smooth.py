# SPDX-License-Identifier: Apache-2.0
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.sensitivity import smooth
from tests.unit.sensitivity.brute import Data, Universe

ANCHORS = {0.1: 4.065696597405991, 0.25: 1.8894662109640588, 0.5: 1.2130613194252668, 1: 1.0}
UNIVERSES = [(3, 6, 2), (5, 4, 3), (5, 4, 2), (4, 4, 4), (4, 4, 1), (1, 5, 1), (2, 5, 1)]


@pytest.mark.parametrize("beta", ANCHORS)
def test_the_median_of_one_to_nine_by_hand(beta: float) -> None:
    values, bounds = range(1, 10), (0, 10)
    found = smooth.median(values, bounds=bounds, beta=beta)
    assert found == pytest.approx(ANCHORS[beta], rel=2e-10, abs=0)
    assert found > ANCHORS[beta]
    by_hand = smooth.from_local(lambda k: k + 1, beta=beta, global_bound=10)
    assert by_hand == pytest.approx(found, rel=1e-12, abs=0)


@pytest.mark.parametrize(("size", "top", "rank"), UNIVERSES)
@pytest.mark.parametrize("beta", [0.05, 0.3, 1.0])
def test_quantiles_have_the_smallest_smooth_bound(
    size: int, top: int, rank: int, beta: float
) -> None:
    universe = Universe(size, top)

    def statistic(data: Data) -> float:
        return data[rank - 1]

    found = {
        data: smooth.quantile(data, rank=rank, bounds=(0, top), beta=beta, floor=1e-9)
        for data in universe.data
    }
    _check(universe, statistic, beta, found)


@pytest.mark.parametrize(("size", "top", "trim"), [(3, 6, 1), (4, 4, 1), (5, 3, 1), (5, 3, 2),
                                                   (3, 4, 0), (1, 4, 0), (4, 4, 0)])  # fmt: skip
@pytest.mark.parametrize("beta", [0.05, 0.3, 1.0])
def test_trimmed_means_have_the_smallest_smooth_bound(
    size: int, top: int, trim: int, beta: float
) -> None:
    universe = Universe(size, top)

    def statistic(data: Data) -> float:
        return sum(data[trim : size - trim]) / (size - 2 * trim)

    found = {
        data: smooth.trimmed_mean(data, trim=trim, bounds=(0, top), beta=beta, floor=1e-9)
        for data in universe.data
    }
    _check(universe, statistic, beta, found)


def _check(
    universe: Universe,
    statistic: Callable[[Data], float],
    beta: float,
    found: dict[Data, float],
) -> None:
    local, true = universe.local(statistic), universe.smooth(statistic, beta)
    assert all(found[data] >= local[data] for data in universe.data)
    assert universe.roughness(found) <= beta
    for data in universe.data:
        assert found[data] == pytest.approx(true[data], rel=1e-9, abs=0)


def by_printed_formula(data: Data, rank: int, top: int, beta: float, *, slide: str) -> float:
    """The bounds of a lecture whose two slides differ in how far t runs; both are wrong."""
    padded = [*[0] * 20, *data, *[top] * 20]

    def x(i: int) -> int:
        return padded[i + 19]

    def within(k: int) -> int:
        return max(
            max(x(rank + t) - x(rank + t - k - 1), x(rank + t + 1) - x(rank + t))
            for t in range(k + (2 if slide == "A" else 1))
        )

    return max(math.exp(-beta * k) * within(k) for k in range(len(data) + 1))


@pytest.mark.parametrize(
    ("slide", "size", "top", "rank"), [("A", 5, 4, 3), ("B", 5, 4, 3), ("B", 3, 6, 2)]
)
def test_the_printed_median_formulas_fail_the_same_test(
    slide: str, size: int, top: int, rank: int
) -> None:
    beta, universe = 0.3, Universe(size, top)
    printed = {
        data: by_printed_formula(data, rank, top, beta, slide=slide) for data in universe.data
    }
    assert universe.roughness(printed) == pytest.approx(0.6, rel=1e-9, abs=0)
    true = universe.smooth(lambda data: data[rank - 1], beta)
    assert any(printed[data] < true[data] - 1e-9 for data in universe.data) == (slide == "B")
    with pytest.raises(AssertionError):
        _check(universe, lambda data: data[rank - 1], beta, printed)


def test_a_printed_formula_is_too_small_for_three_records() -> None:
    data, rank, top = (0, 0, 1), 2, 6
    one_change = dict.fromkeys("AB", 0)
    padded = [0, 0, 0, 0, *data, 6, 6, 6, 6]
    for slide, last in (("A", 2), ("B", 1)):
        one_change[slide] = max(
            max(
                padded[rank + t + 3] - padded[rank + t + 1],
                padded[rank + t + 4] - padded[rank + t + 3],
            )
            for t in range(last + 1)
        )
    universe = Universe(3, top)
    local = universe.local(lambda d: d[rank - 1])
    assert max(local[d] for d in [data, *universe.neighbours(data)]) == 6
    assert one_change == {"A": 6, "B": 5}


def test_the_median_of_zeros_and_n_moves_by_n() -> None:
    for n in (1, 7, 100):
        data = (0, 0, 0, n, n)
        assert smooth.median(data, bounds=(0, n), beta=5) == pytest.approx(n, rel=1e-10, abs=0)


def test_local_sensitivity_is_no_smooth_bound_although_it_meets_the_printed_condition() -> None:
    top, rank, beta = 3, 4, 0.5
    one, other = (0,) * 5 + (top,) * 2, (0,) * 4 + (top,) * 3
    universe = Universe(7, top)
    local = universe.local(lambda data: data[rank - 1])
    assert (local[one], local[other]) == (0, top)
    assert other in set(universe.neighbours(one))
    # Printed: LS <= S <= exp(beta) LS of the same data. LS itself meets it, and breaches.
    assert all(local[d] <= local[d] <= math.exp(beta) * local[d] for d in universe.data)
    assert universe.roughness(local) == math.inf
    # A true smooth bound cannot meet it: it is positive where the local sensitivity is 0.
    found = smooth.median(one, bounds=(0, top), beta=beta)
    assert found == pytest.approx(top * math.exp(-beta), rel=1e-9, abs=0)
    assert found > math.exp(beta) * local[one]


def test_the_local_sensitivity_of_a_range_of_salaries() -> None:
    def spread(data: tuple[int, ...]) -> int:
        return max(data) - min(data)

    def local(data: tuple[int, ...]) -> int:
        ends = (10_000, 100_000)
        moved = [(*data[:i], end, *data[i + 1 :]) for i in range(5) for end in (*ends, *data)]
        return max(abs(spread(data) - spread(other)) for other in moved)

    assert local((50_000, 50_000, 20_000, 10_000, 60_000)) == 40_000
    assert local((80_000, 50_000, 70_000, 15_000, 60_000)) == 35_000
    assert local((80_000, 60_000, 75_000, 100_000, 60_000)) == 50_000
    assert local((10_000,) * 5) == 90_000


def test_values_are_clamped_and_infinite_ones_too() -> None:
    plain = smooth.median([0, 0, 4, 9, 10], bounds=(0, 10), beta=0.3)
    wild = smooth.median([-math.inf, -5, 4, 9, 1e300], bounds=(0, 10), beta=0.3)
    assert plain == wild


def test_negative_bounds_and_a_shift_change_nothing() -> None:
    data = np.array([1, 5, 6, 8, 9, 13])
    at = smooth.quantile(data, rank=4, bounds=(0, 16), beta=0.2)
    assert at == smooth.quantile(data - 32, rank=4, bounds=(-32, -16), beta=0.2)
    mean = smooth.trimmed_mean(data, trim=1, bounds=(0, 16), beta=0.2)
    assert mean == pytest.approx(
        smooth.trimmed_mean(data - 32, trim=1, bounds=(-32, -16), beta=0.2), rel=1e-12, abs=0
    )


@pytest.mark.parametrize("beta", [1e-6, 0.003, 0.1, 2.0])
def test_bounds_of_doubles_are_smooth_to_the_last_digit(beta: float) -> None:
    rng = np.random.default_rng(9)
    for _ in range(25):
        data = rng.lognormal(sigma=2, size=int(rng.integers(1, 300)))
        options: dict[str, Any] = {"bounds": (0, 50), "beta": beta, "floor": 1e-12}
        other = data.copy()
        other[rng.integers(data.size)] = rng.choice([0.0, 50.0, rng.uniform(0, 50)])
        for name in ("median", "maximum"):
            one, two = (getattr(smooth, name)(x, **options) for x in (data, other))
            assert abs(math.log(one / two)) <= beta
        trim = int(rng.integers(0, (data.size + 1) // 2))
        one, two = (smooth.trimmed_mean(x, trim=trim, **options) for x in (data, other))
        assert abs(math.log(one / two)) <= beta


def test_the_maximum_is_as_far_from_the_bound_as_the_data_are() -> None:
    assert smooth.maximum([1, 2, 3], bounds=(0, 100), beta=9) == pytest.approx(97, rel=1e-9, abs=0)
    at_rank = smooth.quantile([1, 2, 3], rank=3, bounds=(0, 100), beta=9)
    assert smooth.maximum([1, 2, 3], bounds=(0, 100), beta=9) == at_rank


def test_equal_values_give_the_floor() -> None:
    many = np.full(10_001, 5.0)
    assert smooth.median(many, bounds=(0, 10), beta=1) == 10 * 2.0**-30 * (1 + 1e-11)
    assert smooth.median(many, bounds=(0, 10), beta=1, floor=0.5) == 0.5 * (1 + 1e-11)
    assert smooth.median(many, bounds=(0, 10), beta=1, floor=50) == 50 * (1 + 1e-11)


def test_the_data_are_left_as_they_were() -> None:
    data = np.array([3.0, 1.0, 2.0])
    smooth.median(data, bounds=(0, 4), beta=1)
    smooth.trimmed_mean(data, trim=1, bounds=(0, 4), beta=1)
    assert data.tolist() == [3, 1, 2]


def test_a_user_function_is_asked_no_longer_than_needed() -> None:
    asked: list[int] = []

    def local(k: int) -> Fraction:
        asked.append(k)
        return Fraction(min(k + 1, 10))

    smooth.from_local(local, beta=1, global_bound=10)
    assert asked == [0, 1, 2]  # 10 exp(-3) is below exp(-0)
    asked.clear()
    smooth.from_local(local, beta=1e-6, global_bound=10, records=5)
    assert asked == [0, 1, 2, 3, 4, 5]
    assert smooth.from_local(lambda _: 99, beta=1, global_bound=10) == 10 * (1 + 1e-11)
    assert smooth.from_local(lambda _: 10**400, beta=1, global_bound=10) == 10 * (1 + 1e-11)


BAD: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (ValueError, "beta", {"beta": 0}),
    (ValueError, "at least 1e-9", {"beta": 1e-10}),
    (ValueError, "low below high", {"bounds": (1, 1)}),
    (TypeError, "pair", {"bounds": 3}),
    (ValueError, r"2\*\*-100", {"floor": 1e-40}),
    (ValueError, "floor", {"floor": 0}),
    (ValueError, "at least one record", {"values": []}),
    (ValueError, "NaN", {"values": [1.0, math.nan]}),
    (TypeError, "numbers", {"values": ["a", "b"]}),
    (TypeError, "numbers", {"values": [True, False]}),
    (TypeError, "numbers", {"values": np.array([1, True], dtype=object)}),
    (TypeError, "missing", {"values": [1, {}]}),
    (TypeError, "one column", {"values": [[1, 2], [3]]}),
    (TypeError, "one column", {"values": [[1, 2], [3, 4]]}),
    (TypeError, "one column", {"values": "123"}),
    (TypeError, "masked", {"values": np.ma.masked_array([1, 2], [False, True])}),
]


@pytest.mark.parametrize(("error", "match", "change"), BAD, ids=range(len(BAD)))
def test_bad_input_is_refused(error: type[Exception], match: str, change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"values": [1, 2, 3], "bounds": (0, 4), "beta": 0.5, **change}
    values = given.pop("values")
    with pytest.raises(error, match=match):
        smooth.median(values, **given)


def test_bad_ranks_and_cuts_are_refused() -> None:
    data = [1, 2, 3]
    for rank, error in ((0, ValueError), (4, ValueError), (1.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="rank"):
            smooth.quantile(data, rank=rank, bounds=(0, 4), beta=1)  # type: ignore[arg-type]
    for trim, error in ((-1, ValueError), (2, ValueError), (0.5, TypeError)):
        with pytest.raises(error, match="trim"):
            smooth.trimmed_mean(data, trim=trim, bounds=(0, 4), beta=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("found", [math.nan, -1, "1", None, True])
def test_bad_values_of_a_user_function_are_refused(found: object) -> None:
    with pytest.raises((TypeError, ValueError), match=r"A\(k\)"):
        smooth.from_local(lambda _: found, beta=1, global_bound=1)  # type: ignore[arg-type]
