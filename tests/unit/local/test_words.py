# SPDX-License-Identifier: Apache-2.0
"""Words as symbols and numbers: all told apart, and what is no word refused unseen."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sordino.local.words import Words

HELD = "sEcret"
GIVEN: dict[str, Any] = {"alphabet": "abc", "length": 3}


@pytest.mark.parametrize(
    "column",
    [list, tuple, np.array, pd.Series, pa.array, lambda v: pd.Series(v, dtype="category")],
)
def test_every_kind_of_column_gives_the_same_symbols(column: Callable[[list[str]], Any]) -> None:
    words = Words("abc", length=3)
    expected = [[1, 2, 3], [0, 0, 0], [3, 0, 0]]
    assert words.symbols(column(["abc", "", "c"])).tolist() == expected
    assert words.symbols("ba").tolist() == [[2, 1, 0]]
    assert words.symbols([]).shape == (0, 3)


def test_letters_beyond_latin_are_letters_too() -> None:
    words = Words("żółw🐢", length=5)
    assert words.symbols("🐢żw").tolist() == [[5, 1, 4, 0, 0]]
    assert words.text([5, 1, 4, 0, 0]) == "🐢żw"
    with pytest.raises(ValueError, match="1 of 1 do not"):
        words.symbols("\U0010ffff")


@pytest.mark.parametrize("prime", [5, 31, 2**31 - 1])
def test_numbers_tell_all_words_apart_and_stay_below_the_prime(prime: int) -> None:
    words = Words("ab", length=4, prime=prime)
    every = [
        "".join(letters) for size in range(5) for letters in itertools.product("ab", repeat=size)
    ]
    numbers = words.numbers(words.symbols(every))
    assert len(set(map(tuple, numbers.tolist()))) == len(every) == 31
    assert numbers.max() < prime
    assert numbers.shape == (31, {5: 4, 31: 2, 2**31 - 1: 1}[prime])


@pytest.mark.parametrize("values", ["abcd", "ax", "A", "a\0", " a", ["ab", None], ["a", "b "]])
def test_what_is_no_word_is_refused_or_replaced(values: Any) -> None:
    with pytest.raises(ValueError, match=r"of the public alphabet; 1 of [12] do not"):
        Words("abc", length=3).symbols(values)
    replaced = Words("abc", length=3, otherwise="cc").symbols(values)
    assert replaced[-1].tolist() == [3, 3, 0]


def test_the_complaint_shows_no_value() -> None:
    with pytest.raises(ValueError, match="the first at place 1") as caught:
        Words("abc", length=3).symbols(["a", HELD])
    assert HELD not in str(caught.value)


@pytest.mark.parametrize("values", [7, [1, 2], None, b"ab", [["a"]], ["a", 3], ["\ud800"]])
def test_what_is_no_text_is_refused(values: Any) -> None:
    with pytest.raises(TypeError, match="words must be a text"):
        Words("abc", length=3).symbols(values)


def test_words_that_are_all_missing_are_replaced() -> None:
    words = Words("abc", length=2, otherwise="")
    assert words.symbols([None, None]).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"alphabet": ""}, ValueError, "alphabet must be 1 to 4095 letters"),
        ({"alphabet": "aba"}, ValueError, "all different"),
        ({"alphabet": ["a"]}, TypeError, "alphabet must be a text"),
        ({"length": 0}, ValueError, "length must be a positive whole number"),
        ({"length": 65}, ValueError, "length must be at most 64"),
        ({"length": 2.0}, TypeError, "length must be a positive whole number"),
        ({"prime": 3}, ValueError, "prime must be above"),
        ({"otherwise": 3}, TypeError, "otherwise must be a word"),
        ({"otherwise": "zz"}, ValueError, "otherwise is no word"),
    ],
)
def test_bad_alphabets_are_refused(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Words(**GIVEN | change)
