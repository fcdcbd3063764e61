# SPDX-License-Identifier: Apache-2.0
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sordino.mechanisms.additive import release_integers, release_reals
from sordino.randomness.samplers import Filled
from sordino.randomness.tables import Integers

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class Fixed:
    """A sampler that is not random at all."""

    nbytes = 0

    def __init__(self, *noise: int) -> None:
        self.noise = noise

    def one(self) -> int:
        return self.noise[0]

    def many(self, size: int) -> Any:
        drawn = [self.noise[i % len(self.noise)] for i in range(size)]
        fits = all(LOWEST <= x <= HIGHEST for x in drawn)
        return np.array(drawn, dtype=np.int64 if fits else object)

    def fill(self, out: Integers) -> Iterator[Filled]:
        for start in range(0, out.size, 4):
            piece = out[start : start + 4]
            drawn = [self.noise[(start + at) % len(self.noise)] for at in range(piece.size)]
            beyond = {at: x for at, x in enumerate(drawn) if not LOWEST <= x <= HIGHEST}
            piece[:] = [0 if at in beyond else x for at, x in enumerate(drawn)]
            yield start, piece, beyond


def integers(value: object, *noise: int, most: int | None = None) -> Any:
    return release_integers(value, Fixed(*noise), sensitivity=1, most=most)


def reals(value: object, *noise: int, exponent: int = -4, most: int = 2**16) -> Any:
    return release_reals(value, Fixed(*noise), exponent=exponent, most=most)


@pytest.mark.parametrize("value", [3, 10**50, np.int8(3), np.uint64(2**64 - 1)])
def test_an_integer_becomes_a_python_int(value: int) -> None:
    result = integers(value, -7)
    assert type(result) is int
    assert result == int(value) - 7


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0, 3), (2, 3)])
def test_an_array_keeps_its_shape_and_becomes_int64(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.full(shape, 100, dtype=dtype)
    result = integers(values, 5, -200)
    assert result.dtype == np.int64
    assert result.shape == shape
    assert {105, -100} >= set(result.reshape(-1).tolist())


def test_results_beyond_64_bits_stop_at_the_end() -> None:
    values = np.array([HIGHEST, HIGHEST, LOWEST, LOWEST, 0, -1])
    assert integers(values, 1).tolist() == [HIGHEST, HIGHEST, LOWEST + 1, LOWEST + 1, 1, 0]
    assert integers(values, -1).tolist() == [HIGHEST - 1, HIGHEST - 1, LOWEST, LOWEST, -1, -2]
    assert integers(values, LOWEST).tolist() == [-1, -1, LOWEST, LOWEST, LOWEST, LOWEST]
    assert integers(values, HIGHEST).tolist() == [HIGHEST, HIGHEST, -1, -1, HIGHEST, HIGHEST - 1]


def test_unsigned_values_beyond_int64_are_added_exactly() -> None:
    values = [0, 1, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1]
    for noise in (0, 1, -1, -5, -6, -7, LOWEST, LOWEST + 1, HIGHEST):
        exact = [min(max(value + noise, LOWEST), HIGHEST) for value in values]
        assert integers(np.array(values, dtype=np.uint64), noise).tolist() == exact


@pytest.mark.parametrize("dtype", ["i8", "u8", ">u8"])
def test_large_values_are_not_added_as_doubles(dtype: str) -> None:
    """Neighbours that differ by 2 must still differ by 2, however large they are."""
    values = [2**60 + 127, 2**60 + 129, 2**53 + 1, 2**62 - 1, 2**62, 2**62 + 1]
    for noise in (0, 1, -7, 2**55 + 1):
        released = integers(np.array(values, dtype=dtype), noise)
        assert released.tolist() == [value + noise for value in values]


def test_noise_beyond_64_bits_is_added_exactly_before_it_stops() -> None:
    assert integers(np.array([5, -5]), -(2**64), 2**64).tolist() == [LOWEST, HIGHEST]
    assert integers(np.array([2**64 - 1], dtype=np.uint64), -(2**64)).tolist() == [-1]
    assert reals(np.array([1.0]), 2**64, exponent=0).tolist() == [2.0**64]


def test_arrays_larger_than_a_block_and_views_of_them_come_out_in_order() -> None:
    values = np.arange(200_000)
    assert (integers(values, 3) == values + 3).all()
    assert (integers(values[::-2], 3) == values[::-2] + 3).all()
    wide = values.reshape(400, 500).T
    assert (integers(wide, 3) == wide + 3).all()
    assert values[0] == 0


@pytest.mark.parametrize(
    "value",
    [
        [1, 2, 3],
        (1, 2, 3),
        range(1, 4),
        deque([1, 2, 3]),
        [np.int8(1), 2, np.uint64(3)],
        np.array([1, 2, 3], dtype=object),
        pd.Series([1, 2, 3]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="int64[pyarrow]"),
        pl.Series([1, 2, 3]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_holds_integers_becomes_an_array(value: object) -> None:
    result = integers(value, 10)
    assert type(result) is np.ndarray
    assert result.dtype == np.int64
    assert result.tolist() == [11, 12, 13]


def test_large_integers_in_lists_are_never_made_into_doubles() -> None:
    assert integers([2**63, -1, 2**53 + 1], -1).tolist() == [HIGHEST, -2, 2**53]
    assert integers(np.array([10**30], dtype=object), 1).tolist() == [HIGHEST]
    assert integers([[1, 2], [3, 4]], 0).tolist() == [[1, 2], [3, 4]]


REALS = [
    0.5, 3.0, np.float32(1), Decimal(1), Fraction(1), [1, 2.0], np.array([1.0]), (np.float64(2),),
    np.array([1.0], dtype=object), pd.Series([1, None]), pl.Series([1.0, None]), float("nan"),
    [1, Fraction(1)], [Decimal(1)], Decimal("NaN"), pl.Series([Decimal(1)]), np.array(Decimal(1)),
]  # fmt: skip


@pytest.mark.parametrize("value", REALS, ids=lambda value: type(value).__name__)
def test_reals_are_refused_by_type_where_integers_are_released(value: object) -> None:
    with pytest.raises(TypeError) as caught:
        integers(value, 0)
    assert str(caught.value) == (
        "this mechanism releases whole numbers because its sensitivity is the integer 1; "
        "convert counts with int(...) or .astype(int), or give the sensitivity of the real value "
        "as a float, such as 1.0"
    )


@pytest.mark.parametrize("release", [integers, reals])
@pytest.mark.parametrize(
    "value",
    [True, np.True_, np.array([True]), [1, True], pd.Series([True]), pl.Series([True])],
    ids=lambda value: type(value).__name__,
)
def test_booleans_are_refused_with_a_way_out(release: Any, value: object) -> None:
    with pytest.raises(TypeError, match=r"not booleans.*astype\(int\)"):
        release(value, 0)


@pytest.mark.parametrize("release", [integers, reals])
@pytest.mark.parametrize(
    "value",
    [
        None,
        [1, None],
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1, None], dtype="int64[pyarrow]"),
        pl.Series([1, None]),
        [pd.NA],
        [pd.NaT],
    ],
    ids=lambda value: type(value).__name__,
)
def test_missing_values_are_refused_with_a_constant_sentence(release: Any, value: object) -> None:
    with pytest.raises(ValueError, match=r"^some values are missing; fill them in or leave"):
        release(value, 0)


@pytest.mark.parametrize("release", [integers, reals])
@pytest.mark.parametrize(
    "value",
    ["41", b"41", 41j, {41}, {41: 41}, object(), [41, "x"], [[41], [41, 41]], np.array(["41"]),
     np.array([41j]), np.array(["2020-01-01"], dtype="M8[D]"), iter([41]),
     np.timedelta64(41, "D"), np.timedelta64(41, "s"), np.datetime64(41, "D"),
     np.timedelta64("NaT", "s"),
     [np.timedelta64(41, "D")], np.array([41], dtype="m8[s]"), pd.Timedelta(41, "s")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_other_things_are_refused_without_quoting_them(release: Any, value: object) -> None:
    with pytest.raises(TypeError, match=r"^release takes numbers") as caught:
        release(value, 0)
    assert "41" not in str(caught.value)


@pytest.mark.parametrize("release", [integers, reals])
@pytest.mark.parametrize(
    "value",
    [{"a": 41}, Counter(a=41), OrderedDict(a=41), [{"a": 41}]],
    ids=lambda value: type(value).__name__,
)
def test_dictionaries_are_refused_because_their_order_comes_from_the_data(
    release: Any, value: object
) -> None:
    with pytest.raises(TypeError) as caught:
        release(value, 0)
    kind = type(value[0] if isinstance(value, list) else value).__name__
    assert str(caught.value) == (
        f"release takes numbers or arrays of numbers, not {kind}; "
        "list its values in an order fixed beforehand: [counts[key] for key in KEYS]"
    )


@pytest.mark.parametrize("release", [integers, reals])
@pytest.mark.parametrize(
    "value",
    [[[41, 2], [3]], ([41], (2, 3)), [[41], 2], [np.zeros(2), np.zeros(3)],
     [np.zeros((2, 2)), np.zeros((2, 3))], [[[41]], [[1, 2]]]],
    ids=range(6),
)  # fmt: skip
def test_rows_of_unequal_length_are_refused(release: Any, value: object) -> None:
    with pytest.raises(TypeError) as caught:
        release(value, 0)
    assert str(caught.value) == (
        "release takes numbers or arrays of numbers, not rows of unequal length; "
        "make them alike or release them one by one"
    )


@pytest.mark.parametrize("release", [integers, reals])
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_a_whole_table_is_refused_and_its_columns_are_released(release: Any, table: Any) -> None:
    """Joined with a column of doubles, integers above 2**53 would move by more than they did."""
    whole = table({"a": [2**60 + 128, 2], "b": [0.5, 4.0]})
    with pytest.raises(TypeError, match=r"^release takes one column of a table at a time"):
        release(whole, 0)
    assert release(whole["a"], 0).tolist()[1] == 2


@pytest.mark.parametrize("release", [integers, reals])
def test_masked_arrays_are_refused_because_the_mask_would_be_lost(release: Any) -> None:
    with pytest.raises(TypeError, match="masked arrays"):
        release(np.ma.masked_array([1, 2], mask=[True, False]), 0)


@pytest.mark.parametrize(
    "value",
    [np.longdouble(1), np.array([1], dtype=np.longdouble), [np.longdouble(1)]],
    ids=range(3),
)
def test_extended_precision_is_refused_where_reals_are_released(value: object) -> None:
    with pytest.raises(TypeError, match="extended precision"):
        reals(value, 0)


def test_too_many_values_are_refused_by_their_number() -> None:
    for release in (integers, reals):
        assert release([1, 2], 0, most=2).tolist() == [1, 2]
        with pytest.raises(ValueError, match="at most 2 values at a time"):
            release([1, 2, 3], 0, most=2)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.float64(2), np.int16(2)])
def test_a_real_becomes_a_float_on_the_grid(value: float) -> None:
    result = reals(value, 5)
    assert type(result) is float
    assert result == 2 + 5 / 16
    assert reals(2.03125, 0) == 2.0
    assert reals(2.09375, 0) == 2.125


@pytest.mark.parametrize(
    "value",
    [
        np.array([1.5, -2.25]),
        np.array([1.5, -2.25], dtype=np.float32),
        np.array([1.5, -2.25], dtype=object),
        [1.5, -2.25],
        pd.Series([1.5, -2.25]),
        pl.Series([1.5, -2.25]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_reals_become_an_array_of_doubles(value: object) -> None:
    result = reals(value, 1)
    assert result.dtype == np.float64
    assert result.tolist() == [1.5625, -2.1875]


@pytest.mark.parametrize(
    ("value", "steps"),
    [
        (Fraction(1, 3), 5),
        (Fraction(1, 32), 0),
        (Fraction(3, 32), 2),
        (Fraction(10**30 + 1, 32 * 10**30), 1),
        (Decimal("0.03125"), 0),
        (Decimal("0.03125" + "0" * 50 + "1"), 1),
        (Decimal("-0.1"), -2),
        (Decimal("-0"), 0),
        (Decimal("1e-999999999999"), 0),
        (Decimal("0e999999999999"), 0),
        (2**80 + Fraction(1, 2**70), 2**84),
    ],
    ids=range(11),
)
def test_fractions_and_decimals_are_rounded_to_the_grid_exactly(
    value: Fraction | Decimal, steps: int
) -> None:
    result = reals(value, 3)
    assert type(result) is float
    assert result == (steps + 3) / 16
    assert reals([value, 2.0, 1], 3).tolist() == [result, 2.1875, 1.1875]
    assert reals(np.array([value]), 3).tolist() == [result]
    assert reals(pd.Series([value]), 3).tolist() == [result]


def test_exact_numbers_of_any_type_stop_at_the_same_end() -> None:
    """Equal numbers of other types must not be told apart, however large they are."""
    for size in (999, 1000, 1001, 2000):
        for whole in (10**size + 10**17, -(10**size) - 10**17):
            clamped = min(max(whole, -(10**1000)), 10**1000)
            same = (whole, Fraction(whole), Decimal(whole))
            assert [reals(x, 5 - clamped, exponent=0) for x in same] == [5.0] * 3
    assert reals(Decimal("1e999999999999"), -(10**1000), exponent=0) == 0
    assert reals(Decimal("-1e999999999999"), 10**1000, exponent=0) == 0


def test_arrays_and_single_reals_are_rounded_alike() -> None:
    values = np.concatenate(
        [np.arange(-40, 40) / 32, np.array([1e300, -1e300, 5e-324, 2.0**61, 2.0**58, 1e16 + 2])]
    )
    for exponent in (-4, -60, 0, 3, -900, 900):
        whole = reals(values, 7, exponent=exponent)
        assert whole.tolist() == [reals(float(x), 7, exponent=exponent) for x in values]
        assert whole.tolist() == reals(values.tolist(), 7, exponent=exponent).tolist()


def test_integers_beyond_doubles_are_exact_where_reals_are_released() -> None:
    values = [2**53 + 1, -(2**62) - 1, 2**63 - 1]
    noise = [-(2**53), 2**62, -(2**63) + 1]
    assert reals(np.array(values), *noise, exponent=0).tolist() == [1.0, -1.0, 0.0]
    assert reals(values, *noise, exponent=0).tolist() == [1.0, -1.0, 0.0]
    assert reals(np.array([2**64 - 1], dtype=np.uint64), -(2**63), exponent=0).tolist() == [2.0**63]


def test_huge_reals_never_become_infinite() -> None:
    largest = float(np.finfo(np.float64).max)
    for value in (largest, 10**400, [largest], np.array([largest])):
        assert np.isfinite(reals(value, 2**62, exponent=900)).all()
    assert reals(10**400, 0) == largest
    assert reals(-(10**400), 0) == -largest


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), np.float32("nan"), [1.0, float("nan")], np.array([1, -np.inf]),
     pd.Series([1.5, None]), pl.Series([1.5, None]), np.array([np.nan], dtype=object), [1, np.inf],
     Decimal("NaN"), Decimal("-sNaN"), [Decimal("Infinity"), 1]],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_nan_and_infinity_are_refused_with_a_constant_sentence(value: object) -> None:
    with pytest.raises(ValueError, match=r"^some values are NaN or infinite; replace or clip them"):
        reals(value, 0)


def test_empty_reals_stay_empty() -> None:
    empty: tuple[Any, ...] = ([], np.empty((0, 3)), np.empty(0, dtype=int))
    for value in empty:
        result = reals(value, 0)
        assert result.dtype == np.float64
        assert result.shape == np.shape(value)
