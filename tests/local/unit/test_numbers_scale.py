# SPDX-License-Identifier: Apache-2.0
"""Numbers become places: the mean is kept, ends are kept to, and nothing else gets in."""

import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sordino.local.one_bit import OneBit
from sordino.local.piecewise import Piecewise
from sordino.local.scale import Scale, read_scale, read_values
from tests.support.seeded import SeededBits
from tests.support.tape import Words

EMPTY: Any = Words([])
SECRET = 7919.25


@pytest.mark.parametrize("word", [0, (1 << 64) - 1])
def test_whole_numbers_on_the_grid_stay_there_whatever_the_coins(word: int) -> None:
    scale = read_scale(-10, 30, 20)
    values = np.array([-10, -8, 0, 30, 31, 1000, -(1 << 62)])
    assert scale.rounded(values, Words([word] * 7)).tolist() == [0, 1, 5, 20, 20, 20, 0]


def test_whole_numbers_on_the_grid_take_as_many_coins_as_others() -> None:
    scale, used = read_scale(-10, 30, 20), set()
    for values in ([-10, 0], [-9, 0], [1, 3], [99, -99]):
        tape = Words([5] * 9)
        scale.rounded(np.array(values), tape)
        used.add(tape.used)
    assert used == {2}
    fine = read_scale(-10, 30, 40)  # where all whole numbers are on the grid none need coins
    assert fine.rounded(np.array([-10, 3]), EMPTY).tolist() == [0, 13]


def test_whole_numbers_between_two_places_are_rounded_exactly() -> None:
    scale = read_scale(0, 7, 5)  # the place of 3 is 15/7
    value = np.array([3])
    drawn = [int(scale.rounded(value, Words([word << 61]))[0]) for word in range(7)]
    assert drawn == [3, 2, 2, 2, 2, 2, 2]
    value = np.array([4])  # 20/7
    drawn = [int(scale.rounded(value, Words([word << 61]))[0]) for word in range(7)]
    assert drawn == [3, 3, 3, 3, 3, 3, 2]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.uint16, ">u8", ">i8"])
def test_whole_numbers_of_every_type_are_clamped_without_overflow(dtype: Any) -> None:
    info = np.iinfo(dtype)
    values = np.array([info.min, 0, 100, info.max], dtype=dtype)
    expected = [max(min(int(v), 120), -120) + 120 for v in values]
    assert read_scale(-120, 120, 240).rounded(values, EMPTY).tolist() == expected
    beyond = read_scale(-500, -400, 4).rounded(values, SeededBits(1))
    assert beyond.tolist() == [0 if v < -500 else 4 for v in values.tolist()]


def test_ends_that_are_not_whole_clamp_whole_numbers_too() -> None:
    scale = read_scale(0.5, 2.5, 4)
    assert scale.rounded(np.array([0, 1, 2, 3]), EMPTY).tolist() == [0, 1, 3, 4]


def test_whole_numbers_too_large_for_exact_rounding_are_rounded_as_doubles() -> None:
    scale = read_scale(0, 10**30, 10)
    assert scale._whole is None
    values = np.array([0, 1 << 62])
    assert scale.rounded(values, Words([0, 0])).tolist() == [1 - 1, 0]


def test_a_coin_of_32_bits_keeps_the_mean_of_a_double() -> None:
    scale = read_scale(0, 1, 4)
    value = np.array([0.30])  # the place is 1.2
    threshold = round(0.2 * 2**32)
    words = [0, threshold - 1, threshold, 2**32 - 1]
    assert [int(scale.rounded(value, Words([w]))[0]) for w in words] == [2, 2, 1, 1]


def test_doubles_that_print_as_points_of_the_grid_are_those_points() -> None:
    scale = read_scale(0, 1, 100)
    values = np.array([j / 100 for j in range(101)])
    for word in (0, 2**32 - 1):
        rounded = scale.rounded(values, Words([word] * 101))
        assert rounded.tolist() == list(range(101))


def test_numbers_beyond_the_ends_count_as_the_ends() -> None:
    scale = read_scale(-1, 1, 8)
    values = np.array([-np.inf, -1e300, -1.0, 1.0, 1.5, np.inf])
    for word in (0, 2**32 - 1):
        assert scale.rounded(values, Words([word] * 6)).tolist() == [0, 0, 0, 8, 8, 8]


@pytest.mark.parametrize("kind", [OneBit, Piecewise])
@pytest.mark.parametrize(
    "value", [1e308, -1e308, np.float32(3e38), np.longdouble("1e4000"), -np.inf, 5e-324]
)
def test_numbers_far_outside_make_no_noise(
    kind: type[OneBit | Piecewise], value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for low, high in ((0, 1), (-0.001, 0.001), (-(10**150), 10**150)):
        with np.errstate(all="raise", over="warn"), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(kind(low, high, epsilon=1).client().encode(value)) == 1
    assert capsys.readouterr() == ("", "")
    scale = read_scale(0, 1, 4)
    end = 4 if value > 1 else 0
    for word in (0, 2**32 - 1):
        assert scale.rounded(np.array([value]), Words([word])).tolist() == [end]


@pytest.mark.parametrize("values", [np.linspace(-3, 9, 1001), np.arange(-3, 10)])
def test_the_mean_place_is_that_of_the_numbers(values: np.ndarray[Any, Any]) -> None:
    scale = read_scale(-3, 9, 5)
    rounds = 400
    column = np.repeat(values, rounds)
    places = scale.rounded(column, SeededBits(1))
    exact = (column + 3) * 5 / 12
    assert np.abs(places - exact).max() < 1
    error = (places - exact).sum()
    assert abs(error) < 5 * np.sqrt(column.size / 4)  # false alarm below 1e-6; the tape is fixed


@pytest.mark.parametrize(
    "make",
    [
        list, tuple, np.array, pa.array, pd.Series, pl.Series,
        lambda v: np.array(v, dtype=np.float32),
        lambda v: np.array([Fraction(x) for x in v], dtype=object),
        lambda v: [Decimal(x) for x in v],
    ],
)  # fmt: skip
def test_columns_of_every_kind_are_read(make: Callable[[list[float]], object]) -> None:
    numbers = [0.5, 2.0, 0.0]
    assert read_values(make(numbers), read_scale(0, 4, 4)).tolist() == numbers


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float64(2), np.int8(2), Fraction(2), Decimal(2), np.array(2)]
)
def test_a_single_number_of_every_kind_is_read(value: object) -> None:
    assert read_values(value, read_scale(0, 4, 4)).tolist() == [2]


def test_huge_exact_numbers_are_clamped() -> None:
    scale = read_scale(0, 4, 4)
    assert read_values([10**400, Fraction(-1, 3), Decimal("1e999")], scale).tolist() == [
        4.0, 0.0, float("inf"),
    ]  # fmt: skip


MISSING: list[object] = [
    float("nan"), None, np.nan, [1.0, float("nan")], [1, None], [SECRET, None],
    pd.Series([1, pd.NA]), pa.array([1.5, None]), pl.Series([1, None]), [Decimal("NaN")],
    [Decimal("sNaN")], np.ma.masked_array([1.0, 2.0], mask=[False, True]), [Fraction(1, 2), "a"],
    [True, Fraction(1, 2)],
]  # fmt: skip
WRONG: list[object] = [
    "a", b"a", str(SECRET), ["1", "2"], True, [True, False], [[1.0], [2.0]], np.ones((2, 2)), 1j,
    np.array(["2020-01-01"], dtype="datetime64[D]"), [[1.0], [2.0, SECRET]], {"a": 1}, object(),
]  # fmt: skip


@pytest.mark.parametrize("kind", [OneBit, Piecewise])
@pytest.mark.parametrize("values", MISSING + WRONG, ids=lambda v: type(v).__name__)
def test_what_is_no_number_is_refused_and_not_shown(
    kind: type[OneBit | Piecewise], values: object
) -> None:
    client = kind(0, 10**4, epsilon=1).client()
    with pytest.raises(
        (ValueError, TypeError), match=r"^(values must be|\d+ of \d+ values)"
    ) as caught:
        client.encode(values)
    assert str(SECRET) not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_gap_is_named_by_its_place() -> None:
    with pytest.raises(
        ValueError, match="2 of 4 values are missing or not numbers, the first at place 1"
    ):
        OneBit(0, 1, epsilon=1).client().encode([0.5, float("nan"), 0.5, None])


@pytest.mark.parametrize("kind", [OneBit, Piecewise])
@pytest.mark.parametrize(
    ("low", "high", "more", "words"),
    [
        (1, 1, {}, "low must be below high, got 1 and 1"),
        (2, 1, {}, "low must be below high"),
        (0, float("inf"), {}, "high must be a finite number"),
        (float("nan"), 1, {}, "low must be a finite number"),
        ("0", 1, {}, "low must be a finite number"),
        (10**15, 10**15 + 1, {}, "subtract a public number"),
        (0, 1, {"epsilon": 0}, "epsilon must be a positive number"),
        (0, 1, {"epsilon": -1}, "epsilon must be a positive number"),
        (0, 1, {"epsilon": 100}, "epsilon must lie between"),
        (0, 1, {"steps": 0}, "steps must be a positive whole number"),
        (0, 1, {"steps": 2.5}, "steps must be a positive whole number"),
        (0, 1, {"steps": 10**6}, "steps must be at most 16384"),
    ],
)
def test_a_protocol_that_makes_no_sense_is_refused(
    kind: type[OneBit | Piecewise], low: Any, high: Any, more: dict[str, Any], words: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        kind(low, high, **({"epsilon": 1} | more))


def test_standard_errors_are_asked_for_people_and_values_that_can_be() -> None:
    protocol = OneBit(0, 10, epsilon=1)
    with pytest.raises(ValueError, match="people must be a positive whole number"):
        protocol.standard_error(0)
    with pytest.raises(ValueError, match="value must lie from 0 to 10, got 11"):
        protocol.standard_error(10, value=11)


def test_places_and_values_go_both_ways() -> None:
    scale = Scale(Fraction(-1), Fraction(3), 8)
    for place in range(9):
        assert scale.place(scale.value(place)) == place
    assert scale.value(Fraction(1, 2)) == Fraction(-3, 4)
