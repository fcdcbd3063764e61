# SPDX-License-Identifier: Apache-2.0
"""Words as symbols and numbers: all told apart, and what is no word refused unseen."""

import itertools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sordino.local.domain import WordDomain

HELD = "sEcret"
GIVEN: dict[str, Any] = {"alphabet": "abc", "length": 3}


@pytest.mark.parametrize(
    "column",
    [list, tuple, np.array, pd.Series, pa.array, lambda v: pd.Series(v, dtype="category")],
)
def test_every_kind_of_column_gives_the_same_symbols(column: Callable[[list[str]], Any]) -> None:
    words = WordDomain("abc", length=3)
    expected = [[1, 2, 3], [0, 0, 0], [3, 0, 0]]
    assert words.symbols(column(["abc", "", "c"])).tolist() == expected
    assert words.symbols("ba").tolist() == [[2, 1, 0]]
    assert words.symbols([]).shape == (0, 3)


def test_letters_beyond_latin_are_letters_too() -> None:
    words = WordDomain("żółw🐢", length=5)
    assert words.symbols("🐢żw").tolist() == [[5, 1, 4, 0, 0]]
    assert words.text([5, 1, 4, 0, 0]) == "🐢żw"
    with pytest.raises(ValueError, match="1 of 1 are not"):
        words.symbols("\U0010ffff")


@pytest.mark.parametrize("prime", [5, 31, 2**31 - 1])
def test_numbers_tell_all_words_apart_and_stay_below_the_prime(prime: int) -> None:
    words = WordDomain("ab", length=4, prime=prime)
    every = [
        "".join(letters) for size in range(5) for letters in itertools.product("ab", repeat=size)
    ]
    numbers = words.numbers(words.symbols(every))
    assert len(set(map(tuple, numbers.tolist()))) == len(every) == 31
    assert numbers.max() < prime
    assert numbers.shape == (31, {5: 4, 31: 2, 2**31 - 1: 1}[prime])


@pytest.mark.parametrize(
    "values", ["abcd", "ax", "A", "a\0", " a", ["ab", None], ["a", "b "], "a" * 999]
)
def test_what_is_no_word_is_refused_or_replaced(values: Any) -> None:
    with pytest.raises(ValueError, match=r"of the public alphabet; 1 of [12] are not"):
        WordDomain("abc", length=3).symbols(values)
    replaced = WordDomain("abc", length=3, otherwise="cc").symbols(values)
    assert replaced[-1].tolist() == [3, 3, 0]


def test_the_complaint_shows_no_value() -> None:
    with pytest.raises(ValueError, match="the first at place 1") as caught:
        WordDomain("abc", length=3).symbols(["a", HELD])
    assert HELD not in str(caught.value)


def broken(*words: bytes) -> Any:
    """A column of texts, some of which are no UTF-8."""
    ends = np.cumsum([0, *map(len, words)]).astype(np.int32)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(words))]
    return pa.Array.from_buffers(pa.string(), len(words), buffers)


NO_TEXTS: list[Any] = [
    7, None, pd.NA, float("nan"), b"ab", bytearray(b"ab"), "\ud800", "a\ud800", object(), {"ab": 1},
    {"ab"}, 2**80, np.array(7), np.float64("nan"), pa.scalar(7), pa.scalar(None),
    broken(b"\xff\xfe")[0], [["ab"]], ["ab", 3], ["ab", "\ud800"], ["ab", b"ab"], ["ab", 2**80],
    pd.Series(["ab", 3]), pd.Series(["ab", "\ud800"], dtype=object), pl.Series(["ab", None]),
    np.array(["ab", 3], dtype=object), np.ma.masked_array(["ab", "b"], mask=[False, True]),
    broken(b"ab", b"\xff\xfe"), pa.chunked_array([broken(b"ab"), broken(b"s\xe9cret")]),
    broken(b"ab", b"\xed\xa0\x80"), broken(b"ab", b"a\xff").cast(pa.string_view()),
    broken(b"ab", b"\xff").dictionary_encode(),
    pd.Series(broken(b"ab", b"\xff"), dtype=pd.ArrowDtype(pa.string())), iter(["ab", None]),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(NO_TEXTS)))
def test_what_is_no_text_is_refused_by_its_place_or_replaced(place: int) -> None:
    values = NO_TEXTS[place]
    if isinstance(values, Iterator):
        values = list(values)
        assert WordDomain("abc", length=3, otherwise="cc").symbols(iter(values)).shape == (2, 3)
    with pytest.raises(
        ValueError, match=r"; 1 of [12] are not, the first at place [01];"
    ) as caught:
        WordDomain("abc", length=3).symbols(values)
    assert caught.value.__cause__ is None
    assert "cret" not in str(caught.value)
    replaced = WordDomain("abc", length=3, otherwise="cc").symbols(values).tolist()
    assert replaced[-1] == [3, 3, 0]
    assert replaced[:-1] in ([], [[1, 2, 0]])


@pytest.mark.parametrize("values", [[1, 2], pa.array([1, 2]), pd.Series([1.5, 2]), [b"a", b"b"]])
def test_a_column_of_another_kind_holds_no_words(values: Any) -> None:
    with pytest.raises(ValueError, match="2 of 2 are not"):
        WordDomain("abc", length=3).symbols(values)
    assert WordDomain("abc", length=3, otherwise="c").symbols(values)[:, 0].tolist() == [3, 3]


@pytest.mark.parametrize("otherwise", [None, "a"])
@pytest.mark.parametrize(
    "values", [np.array([["a"]]), pd.DataFrame({"a": ["b"]}), pa.table({"a": ["b"]})]
)
def test_tables_are_no_columns(values: Any, otherwise: str | None) -> None:
    with pytest.raises(TypeError, match="words must be a text or a column of texts"):
        WordDomain("abc", length=3, otherwise=otherwise).symbols(values)


@pytest.mark.parametrize(
    "values", [np.str_("ab"), np.array("ab"), pa.scalar("ab"), iter(["ab"]), pd.Index(["ab"])]
)
def test_single_words_and_iterators_of_every_kind_are_read(values: Any) -> None:
    assert WordDomain("abc", length=3).symbols(values).tolist() == [[1, 2, 0]]


def test_words_that_fit_and_those_that_do_not_take_the_same_steps() -> None:
    words = WordDomain("abc", length=3, otherwise="")

    def steps(word: object) -> list[tuple[str, int]]:
        seen: list[tuple[str, int]] = []

        def trace(frame: FrameType, event: str, _: object) -> Any:
            if frame.f_code.co_filename.endswith("local/domain.py"):
                seen.append((event, frame.f_lineno))
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            words.symbols([word])
        finally:
            sys.settrace(before)
        return seen

    words.symbols(["a"])  # the table is made once
    expected = steps("ab")
    assert len(expected) > 10
    for word in ("zzz", "abcabc", "", "\ud800", None, 7):
        assert steps(word) == expected


def test_words_that_are_all_missing_are_replaced() -> None:
    words = WordDomain("abc", length=2, otherwise="")
    assert words.symbols([None, None]).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"alphabet": ""}, ValueError, "alphabet must be 1 to 4095 letters"),
        ({"alphabet": "aba"}, ValueError, "all different"),
        ({"alphabet": "a\ud800"}, ValueError, "halves of surrogate pairs are none"),
        ({"alphabet": ["a"]}, TypeError, "alphabet must be a text"),
        ({"length": 0}, ValueError, "length must be a positive whole number"),
        ({"length": 65}, ValueError, "length must be at most 64"),
        ({"length": 2.0}, TypeError, "length must be a positive whole number"),
        ({"prime": 3}, ValueError, "prime must be above"),
        ({"prime": "7"}, TypeError, "prime must be a positive whole number"),
        ({"prime": 7.0}, TypeError, "prime must be a positive whole number"),
        ({"otherwise": "\ud800"}, ValueError, "otherwise is no word"),
        ({"otherwise": 3}, TypeError, "otherwise must be a word"),
        ({"otherwise": "zz"}, ValueError, "otherwise is no word"),
    ],
)
def test_bad_alphabets_are_refused(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        WordDomain(**GIVEN | change)
