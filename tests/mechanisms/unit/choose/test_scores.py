# SPDX-License-Identifier: Apache-2.0
"""Reading scores, whatever they come as, and sorting them into levels with and without others."""

import math
from collections import deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sordino.mechanisms.choose.scores import levels_of, one_by_one, read_others, read_scores
from sordino.randomness.selection import Found, Levels

TOP, BOTTOM = (1 << 63) - 1, -(1 << 63)
READ_ONLY = np.arange(3.0)
READ_ONLY.setflags(write=False)

GIVEN: dict[str, tuple[Any, list[Any]]] = {
    "ints": ([3, -1, 2], [3, -1, 2]),
    "a tuple": ((3, -1, 2), [3, -1, 2]),
    "a range": (range(3), [0, 1, 2]),
    "an iterator": (iter([3, 0.5]), [3, 0.5]),
    "a deque": (deque([3, 1]), [3, 1]),
    "floats": ([0.1, -0.0, 5e-324], [Fraction(0.1), 0, Fraction(5e-324)]),
    "fractions": ([Fraction(1, 3), Fraction(2)], [Fraction(1, 3), 2]),
    "decimals": ([Decimal("0.1"), Decimal("-2E+3")], [Fraction(1, 10), -2000]),
    "mixed": (
        [1, 0.1, Fraction(1, 3), Decimal("0.1")],
        [1, Fraction(0.1), Fraction(1, 3), Fraction(1, 10)],
    ),
    "mixed with numpy": (
        [1, np.int64(2), np.uint64(1 << 63), np.float32(0.1)],
        [1, 2, 1 << 63, Fraction(float(np.float32(0.1)))],
    ),
    "a long double": ([1, np.longdouble("0.5")], [1, Fraction(1, 2)]),
    "an array of long doubles": (np.array([2**60, 0.5], np.longdouble), [2**60, Fraction(1, 2)]),
    "huge ints": ([10**300, -(10**300), 1], [10**300, -(10**300), 1]),
    "the ends of int64": ([TOP, BOTTOM], [TOP, BOTTOM]),
    "beyond int64": ([1 << 63, 0], [1 << 63, 0]),
    "one huge fraction": ([Fraction(10**400, 3), 0], [Fraction(10**400, 3), 0]),
    "int8": (np.array([3, -1], dtype=np.int8), [3, -1]),
    "uint8": (np.array([3, 255], dtype=np.uint8), [3, 255]),
    "uint64": (np.array([0, (1 << 64) - 1], dtype=np.uint64), [0, (1 << 64) - 1]),
    "float16": (np.array([0.5, 1.5], dtype=np.float16), [0.5, 1.5]),
    "float32": (np.array([0.1], dtype=np.float32), [Fraction(float(np.float32(0.1)))]),
    "big-endian": (np.array([3, -1], dtype=">i4"), [3, -1]),
    "big-endian doubles": (np.array([0.1, 3], dtype=">f8"), [Fraction(0.1), 3]),
    "every second": (np.arange(6)[::2], [0, 2, 4]),
    "backwards": (np.arange(3.0)[::-1], [2, 1, 0]),
    "read-only": (READ_ONLY, [0, 1, 2]),
    "an array of objects": (
        np.array([Fraction(1, 3), 1 << 70, 0.5], dtype=object),
        [Fraction(1, 3), 1 << 70, 0.5],
    ),
    "pandas": (pd.Series([3, 1]), [3, 1]),
    "pandas, nullable": (pd.Series([3, 1], dtype="Int64"), [3, 1]),
    "pandas, objects": (pd.Series([Decimal("0.1"), Decimal(1)]), [Fraction(1, 10), 1]),
    "polars": (pl.Series([0.5, 1.0]), [0.5, 1]),
    "polars, decimals": (pl.Series([Decimal("0.1"), Decimal("1.0")]), [Fraction(1, 10), 1]),
}


@pytest.mark.parametrize("name", GIVEN)
def test_every_score_is_read_as_exactly_the_number_it_is(name: str) -> None:
    given, exact = GIVEN[name]
    assert one_by_one(read_scores(given)) == [Fraction(score) for score in exact]


def test_arrays_are_not_copied() -> None:
    for scores in (np.arange(5), np.arange(5.0), np.arange(5, dtype=np.uint64)):
        assert np.shares_memory(np.asarray(read_scores(scores)), scores)


def test_whole_numbers_become_an_array() -> None:
    for scores in ([1, 2.0], [Fraction(4, 2), 3], [Decimal("1E+3")], [np.int8(1), 7]):
        assert isinstance(read_scores(scores), np.ndarray)
    assert isinstance(read_scores([BOTTOM, Fraction(1)]), list)


SECRET = 41957
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "empty": ([], ValueError, "there is no candidate to choose: scores are empty"),
    "an empty array": (np.array([]), ValueError, "there is no candidate to choose"),
    "an empty series": (pd.Series([], dtype=float), ValueError, "there is no candidate to choose"),
    "nan": ([SECRET + 0.5, math.nan], ValueError, "scores must be finite, and some are infinite"),
    "nan in the middle": ([1, math.nan, SECRET], ValueError, "scores must be finite"),
    "inf": (np.array([SECRET, math.inf]), ValueError, "scores must be finite"),
    "minus inf": (np.array([SECRET, -math.inf]), ValueError, "scores must be finite"),
    "nan as a decimal": ([SECRET, Decimal("NaN")], ValueError, "scores must be finite"),
    "inf as a decimal": ([SECRET, Decimal("-Infinity")], ValueError, "scores must be finite"),
    "a missing one": (pd.Series([SECRET, None]), ValueError, "scores must be finite"),
    "a missing one, nullable": (
        pd.Series([SECRET, None], dtype="Int64"),
        ValueError,
        "scores must be finite",
    ),
    "a missing one, polars": (pl.Series([SECRET, None]), ValueError, "scores must be finite"),
    "none": (
        [SECRET, None],
        ValueError,
        "scores must be finite, and some are missing",
    ),
    "two dimensions": (
        np.array([[SECRET, 1], [2, 3]]),
        ValueError,
        "scores must be .* got an array of 2 dimensions",
    ),
    "rows": ([[SECRET, 1], [2, 3]], TypeError, "scores must be .* got a score of type list"),
    "booleans": ([True, False], TypeError, "scores must be .* got a score of type bool"),
    "one boolean": ([SECRET, True], TypeError, "scores must be .* got a score of type bool"),
    "an array of booleans": (np.array([True]), TypeError, "scores must be .* got an array of bool"),
    "strings": (
        [str(SECRET), "b"],
        TypeError,
        "scores must be .* got a score of type str; for raw rows count",
    ),
    "a string": (str(SECRET), TypeError, "scores must be .* got a value of type str"),
    "an array of strings": (
        np.array(["x"]),
        TypeError,
        "scores must be .* got an array of strings; for raw rows",
    ),
    "dates": (
        np.array(["2026-01-01"], dtype="M8[D]"),
        TypeError,
        "scores must be .* got an array of dates",
    ),
    "complex": ([1j, SECRET], TypeError, "scores must be .* got a score of type complex"),
    "a number": (SECRET, TypeError, "scores must be .* got a value of type int"),
    "nothing": (None, TypeError, "scores must be .* got a value of type NoneType"),
    "a dict": ({"a": SECRET}, TypeError, "scores must be .* got a value of type dict"),
    "a set": ({SECRET}, TypeError, "scores must be a list .* set has the order of the data"),
    "a masked array": (
        np.ma.masked_array([SECRET, 1], [False, True]),
        TypeError,
        "scores must be .* got a value of type MaskedArray",
    ),
    "too many digits": (
        [SECRET, Fraction(1, 3**3000)],
        ValueError,
        "a score has more digits than can be",
    ),
    "a large exponent": (
        [SECRET, Decimal("1e999999999")],
        ValueError,
        "a score has more digits than can be",
    ),
    "a small exponent": (
        [SECRET, Decimal("1e-999999999")],
        ValueError,
        "a score has more digits than can be",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_row_of_scores_is_refused_without_quoting_one(name: str) -> None:
    given, error, message = WRONG[name]
    with pytest.raises(error, match=f"^{message}") as raised:
        one_by_one(read_scores(given))
    assert str(SECRET) not in str(raised.value)


def exponents(levels: Levels) -> dict[int, Fraction]:
    """The exact exponent of every candidate, from its level and its excess."""
    found = {}
    for level, count in enumerate(levels.counts):
        for rank in range(int(count)):
            candidate, excess = levels.find(level, rank)
            assert excess >= 0
            assert candidate not in found
            found[candidate] = levels.floor(level) + excess
    return found


SMALL: list[list[Any]] = [
    [3, 1, 2],
    [0.5, -1.25, 0.1],
    [Fraction(1, 3), 2],
    [TOP, BOTTOM],
    [10**40, 0, 3],
    [1e300, -1e300],
    [0],
]


@pytest.mark.parametrize("default", [0, -7, 2, 1000, 0.1, Fraction(1, 3), 10**30])
@pytest.mark.parametrize("listed", SMALL, ids=str)
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(7, 3)], ids=str)
def test_others_are_as_if_they_were_listed(listed: list[Any], default: Any, rate: Fraction) -> None:
    """Up to an offset that all share, every exponent is the same, as a fraction."""
    others = 4
    implicit = exponents(
        levels_of(read_scores(listed), rate, others=others, default=Fraction(default))
    )
    everything = exponents(levels_of(read_scores([*listed, *[default] * others]), rate))
    assert implicit == everything
    best = max(map(Fraction, [*listed, default]))
    assert implicit == {
        i: rate * (best - Fraction(score)) for i, score in enumerate([*listed, *[default] * others])
    }


def test_nothing_listed_leaves_the_others() -> None:
    levels = levels_of(read_scores([], others=3), Fraction(1), others=3, default=Fraction(5))
    assert exponents(levels) == {0: 0, 1: 0, 2: 0}
    assert levels.floors.tolist() == [0]


@pytest.mark.parametrize("default", [5, -(10**6)])
def test_a_multitude_of_others_is_one_level(default: int) -> None:
    levels = levels_of(read_scores([0, 1]), Fraction(1), others=10**18, default=Fraction(default))
    assert list(levels.counts)[-1] == 10**18
    assert levels.find(len(levels.counts) - 1, 10**17) == Found(10**17 + 2, Fraction(0))
    for level in range(len(levels.counts)):
        assert levels.floors[level] == pytest.approx(float(levels.floor(level)), rel=1e-14)


def test_how_many_others_there_are_is_a_whole_number() -> None:
    assert read_others(np.int64(3), 0.1) == (3, Fraction(0.1))
    for others in (-1, 1.0, True, "3", None):
        with pytest.raises(
            ValueError, match=r"^others must be a whole number that is not negative"
        ):
            read_others(others, 0)  # type: ignore[arg-type]  # refused
    with pytest.raises(ValueError, match=r"^others must have at most 4096 bits"):
        read_others(1 << 5000, 0)
    with pytest.raises(ValueError, match=r"^default_score must be a finite number, got nan"):
        read_others(1, math.nan)
    with pytest.raises(ValueError, match=r"^default_score has more digits than"):
        read_others(1, Fraction(1, 3**3000))
