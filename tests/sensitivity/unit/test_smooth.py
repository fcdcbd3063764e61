# SPDX-License-Identifier: Apache-2.0
import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.sensitivity import smooth
from tests.sensitivity.unit.brute import Data, Universe, check_smallest

UNIVERSES = [(3, 6, 2), (5, 4, 3), (5, 4, 2), (4, 4, 4), (4, 4, 1), (1, 5, 1), (2, 5, 1)]


@pytest.mark.parametrize(("size", "top", "rank"), UNIVERSES)
@pytest.mark.parametrize("beta", [0.05, 0.3, 1.0])
def test_quantiles_have_the_smallest_smooth_bound(
    size: int, top: int, rank: int, beta: float
) -> None:
    terms: dict[str, Any] = {"bounds": (0, top), "beta": beta, "floor": 1e-9}
    universe = Universe(size, top)
    found = {data: smooth.quantile(data, rank=rank, **terms) for data in universe.data}
    check_smallest(universe, lambda data: data[rank - 1], beta, found)


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
    check_smallest(universe, statistic, beta, found)


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
    assert asked == [0, 1, 2, 3, 4]
    assert smooth.from_local(lambda _: 99, beta=1, global_bound=10) == 10 * (1 + 1e-11)
    assert smooth.from_local(lambda _: 10**400, beta=1, global_bound=10) == 10 * (1 + 1e-11)


@pytest.mark.parametrize("records", [1, 5, 1000, None])
@pytest.mark.parametrize("beta", [1e-4, 0.01, 0.3])
def test_a_bound_from_a_user_function_is_smooth_for_all_that_is_asked_of_it(
    records: int | None, beta: float
) -> None:
    """A(k) = a + 2k is at most the A(k + 1) of neighbours whose a differs by at most 2."""
    found = [
        smooth.from_local(
            lambda k, a=a: a + 2 * k,
            beta=beta,
            global_bound=10**4,
            records=records,
        )
        for a in range(0, 40, 2)
    ]
    for one, other in itertools.pairwise(found):
        assert abs(math.log(one / other)) <= beta


def test_from_the_number_of_records_on_the_global_bound_counts() -> None:
    found = smooth.from_local(lambda _: 1, beta=0.25, global_bound=10, records=4)
    assert found == pytest.approx(10 * math.exp(-1), rel=1e-9, abs=0)
    assert smooth.from_local(lambda _: 9, beta=1, global_bound=10, records=4) == pytest.approx(
        9, rel=1e-9, abs=0
    )


MISSING: list[Any] = [None, math.nan, np.float32("nan"), Decimal("nan"), Decimal("sNaN")]
HUGE: list[Any] = [
    10**400,
    Fraction(10**400),
    Decimal("1e400"),
    math.inf,
    1e308,
    2**64,
    np.longdouble("1e400"),
]


@pytest.mark.parametrize("rest", [[1, 2, 3], [1.0, 2.5, 3.0], [Fraction(1), 2, 3.0]], ids=range(3))
def test_no_single_record_leads_to_an_error(rest: list[Any]) -> None:
    bounds: dict[str, Any] = {"bounds": (-1, 4), "beta": 0.3}

    def all_of(record: Any) -> list[float]:
        values = [*rest, record]
        return [
            smooth.median(values, **bounds),
            smooth.quantile(values, rank=3, **bounds),
            smooth.maximum(values, **bounds),
            smooth.trimmed_mean(values, trim=1, **bounds),
        ]

    for record in MISSING:
        assert all_of(record) == all_of(-1)
    for record in HUGE:
        assert all_of(record) == all_of(4)
        assert all_of(-record) == all_of(-1)


def test_missing_entries_of_a_table_count_as_the_lower_bound() -> None:
    pandas = pytest.importorskip("pandas")
    expected = smooth.median([1, 0, 3], bounds=(0, 4), beta=1)
    for column in (
        pandas.Series([1, None, 3]),
        pandas.Series([1, None, 3], dtype="Int64"),
        pandas.Series([1, None, 3], dtype="Float64"),
        pandas.Series([1, None, 3], dtype=object),
        np.array([1, np.nan, 3]),
    ):
        assert smooth.median(column, bounds=(0, 4), beta=1) == expected


BAD: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (ValueError, "beta", {"beta": 0}),
    (ValueError, "at least 1e-9", {"beta": 1e-10}),
    (ValueError, "low below high", {"bounds": (1, 1)}),
    (TypeError, "pair", {"bounds": 3}),
    (ValueError, r"2\*\*-100", {"floor": 1e-40}),
    (ValueError, "floor", {"floor": 0}),
    (ValueError, "at least one record", {"values": []}),
    (TypeError, "numbers", {"values": ["a", "b"]}),
    (TypeError, "numbers", {"values": [True, False]}),
    (TypeError, "numbers", {"values": np.array([1, True], dtype=object)}),
    (TypeError, "numbers", {"values": [1, {}]}),
    (TypeError, "numbers", {"values": [None, "a"]}),
    (TypeError, "numbers", {"values": [None, np.timedelta64(1, "s")]}),
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
