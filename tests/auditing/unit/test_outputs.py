# SPDX-License-Identifier: Apache-2.0
import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

from sordino.auditing.blackbox.outputs import MOST_COORDINATES, Raised, Reader, Vocabulary, joined

Point = namedtuple("Point", ["a", "b"])


@dataclass
class Answer:
    value: float
    sure: bool


class Opaque:
    pass


class Plain:
    def __init__(self, value: object) -> None:
        self.value = value


class Slotted:
    __slots__ = ("name", "value")

    def __init__(self, name: str, value: object) -> None:
        self.name, self.value = name, value


DIFFERENT = [
    0, 1, 0.5, -0.0, math.nan, math.inf, -math.inf, True, None, "", "yes", "no", b"yes", "1", "1.0",
    Fraction(1, 3), Decimal("0.25"), 1 + 2j, (), (1,), (1, 2), [1, 2], (2, 1), ("a", 1), {"a": 1},
    {"b": 1}, {"a": 2}, {"a": "x"}, {"a", "b"}, frozenset("a"), Answer(1.0, True),
    Answer(1.0, False), Point(1, 2), Plain(1), Plain(2), Slotted("a", 1), Slotted("b", 1),
    Raised("ValueError"), Raised("KeyError"), 2**60,
    2**60 + 1, 10**400, [[1], [2, 3]], [[1, 2], [3]], {1, 2}, {"a": {"b": 1}}, date(2020, 1, 1),
    timedelta(seconds=3), Path("a"), int,
    np.float32(0.5), np.array([1.0, 3.0]), np.array(["a", "b"]),
]  # fmt: skip


def test_different_outputs_are_told_apart_and_equal_ones_are_not() -> None:
    reader = Reader()
    once, again = reader.objects(DIFFERENT), reader.objects(DIFFERENT)
    assert len(set(once.whole.tolist())) == len(DIFFERENT)
    assert (once.whole == again.whole).all()


LOOKED_INTO: list[Callable[[Any], object]] = [
    lambda value: Answer(value, sure=True),
    Plain,
    lambda value: Slotted("a", value),
    lambda value: Plain(Plain([value])),
    lambda value: (value, "people"),
    lambda value: ("a", value),
    lambda value: {"a": None, "b": value},
    lambda value: {"a": {"b": {"c": value}}},
    lambda value: [{"a": "x", "b": value}, {"a": "y", "b": 0}],
    lambda value: [[1], [2, value]],
    lambda value: {value},
    lambda value: pandas.DataFrame({"ward": ["a", "b"], "n": [value, 0.0]}),
    lambda value: pandas.DataFrame({"n": [1.0, 0.0]}, index=[value, 0.0]),
    lambda value: pandas.Series([1.0, value], index=["a", "b"]),
    lambda value: polars.DataFrame({"ward": ["a", "b"], "n": [value, 0.0]}),
    lambda value: timedelta(seconds=value),
    lambda value: np.array(["a", value], dtype=object),
    lambda value: {"a": value}.values(),
]


@pytest.mark.parametrize("wrap", LOOKED_INTO)
def test_the_numbers_in_an_output_are_coordinates_however_deep_they_lie(
    wrap: Callable[[Any], object],
) -> None:
    read = Reader().objects([wrap(0.25), wrap(0.75)])
    [place] = np.flatnonzero(read.numbers[0] != read.numbers[1])[
        ~np.isnan(read.numbers[0][read.numbers[0] != read.numbers[1]])
    ]
    assert read.numbers[:, place].tolist() == [0.25, 0.75]
    assert read.words[0] == read.words[1]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda word: pandas.DataFrame({"n": [0.5]}, index=[word]),
        lambda word: pandas.DataFrame({word: [0.5]}),
        lambda word: pandas.Series([0.5], index=[word]),
        lambda word: pandas.Series([0.5], name=word),
        lambda word: polars.DataFrame({word: [0.5]}),
        lambda word: {word: 0.5},
        lambda word: Slotted(word, 0.5),
        lambda word: [0.5, [word]],
    ],
)
def test_the_words_in_an_output_have_a_code_of_their_own(wrap: Callable[[str], object]) -> None:
    read = Reader().objects([wrap("a"), wrap("b"), wrap("a")])
    assert read.words[0] == read.words[2] != read.words[1]


def test_each_text_of_several_has_a_code() -> None:
    read = Reader().objects([("a", "x", 1), ("a", "y", 2)])
    assert read.texts is not None
    assert (read.texts[0] == read.texts[1]).tolist() == [True, True, False]  # form, then texts
    wide = joined([read, Reader().objects([1.0])])
    assert wide.texts is not None
    assert wide.texts[2].tolist() == [0, 0, 0]


def test_coordinates_are_called_by_their_keys_and_columns() -> None:
    reader = Reader()
    assert reader.objects([{"a": 1, "b": {"c": 2}}]).names == ("key 'a'", "key 'b', key 'c'")
    frame = pandas.DataFrame({"n": [1, 2]})
    assert "column 'n', row 2" in reader.objects([frame]).names
    assert reader.objects([(1, 2)]).names == ()


async def later() -> int:
    return 1


@pytest.mark.parametrize(
    "output",
    [
        Opaque(),
        (number for number in [1]),
        iter([1]),
        object(),
        [1, Opaque()],
        lambda: 1,
        Plain(len),
    ],
    ids=["empty", "generator", "iterator", "object", "inside", "function", "builtin"],
)
def test_what_cannot_be_looked_into_is_refused(output: object) -> None:
    if isinstance(output, Plain):
        Reader().objects([output])  # a builtin is known by its name
        return
    with pytest.raises(ValueError, match="objects that an audit cannot look into; return their"):
        Reader().objects([output])


def test_a_coroutine_is_refused() -> None:
    coroutine = later()
    with pytest.raises(ValueError, match="the outputs are coroutine objects"):
        Reader().objects([coroutine])
    coroutine.close()


def test_an_object_that_holds_itself_is_read() -> None:
    circle = Plain(1.5)
    circle.again = circle  # type: ignore[attr-defined]  # the point of the test
    assert Reader().objects([circle]).numbers[0, 0] == 1.5


def test_an_output_is_read_as_it_is_now() -> None:
    reader = Reader()
    for buffer in ([1.0, 2.0], np.array([1.0, 2.0]), np.array([1.0, None]), {0: 1.0}, Plain([1.0])):
        kept = reader.at_once(buffer)
        inner: Any = buffer.value if isinstance(buffer, Plain) else buffer
        inner[0] = 7.0
        assert reader.objects([kept]).numbers[0, 0] == 1.0


@pytest.mark.parametrize("values", [[1, 5, -3], [0.5, math.inf, 2.0], [True, False, True]])
def test_plain_numbers_are_read_the_same_way_one_by_one(values: list[float]) -> None:
    quick, slow = Reader().objects(values), Reader().objects([*values, None])
    assert (quick.numbers == slow.numbers[:-1]).all()
    assert quick.lengths.tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    "values",
    [[np.array([1.0, 2.0]), np.array([3.0, 4.0])], [np.array([[2**60, 1]]), np.array([[5, 6]])]],
)
def test_arrays_of_one_shape_are_read_the_same_way_one_by_one(values: list[object]) -> None:
    reader = Reader()
    assert (reader.objects(values).whole == reader.objects([*values, None]).whole[:-1]).all()


def test_arrays_are_numbers_with_one_column_for_each_coordinate() -> None:
    reader = Reader()
    assert reader.array(np.arange(5)).numbers.shape == (5, 1)
    assert reader.array(np.ones((5, 3))).numbers.shape == (5, 3)
    assert reader.array(np.ones((5, 2, 3))).lengths.tolist() == [6] * 5
    assert reader.array(np.array([1 + 2j])).numbers.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("output", [np.ones((3, 300)), [np.ones(300)] * 3, [(1,) * 300, None]])
def test_more_coordinates_than_are_looked_at_are_refused(output: object) -> None:
    with pytest.raises(ValueError, match=f"300 coordinates, and at most {MOST_COORDINATES}"):
        _ = (
            Reader().array(output) if isinstance(output, np.ndarray) else Reader().objects(output)  # type: ignore[arg-type]  # a list, from the table above
        )


def test_arrays_of_strings_and_of_objects_are_read_by_value() -> None:
    reader = Reader()
    words = reader.array(np.array(["a", "bc", "a"]))
    assert words.whole[0] == words.whole[2] != words.whole[1]
    assert words.lengths.tolist() == [1, 2, 1]
    assert words.width == 0
    mixed = reader.array(np.array(["a", 3, None], dtype=object))
    assert len(set(mixed.whole.tolist())) == 3
    assert (reader.objects(["a", "bc", "a"]).whole == words.whole).all()


def test_a_number_written_as_a_string_is_a_number_too() -> None:
    assert Reader().array(np.array(["1.5", "x"])).numbers[0, 0] == 1.5
    assert Reader().objects(["1.5", "x"]).numbers[0, 0] == 1.5


def test_large_integers_keep_their_last_digits() -> None:
    numbers = np.array([2**62 + 1, 2**62 + 2, -(2**62) - 1])
    whole = Reader().array(numbers)
    assert whole.digits is not None
    assert whole.digits[:, 0].tolist() == [1.0, 2.0, 2.0**32 - 1]
    single = Reader().objects(numbers.tolist())
    assert single.digits is not None
    assert single.digits.tolist() == whole.digits.tolist()
    assert Reader().array(np.array([1, 2])).digits is None


def test_every_output_can_be_said_in_words() -> None:
    reader = Reader()
    read = reader.objects([3, "yes", None, (1, 2.5), {"a": 1}, Raised("KeyError"), ("a", 1), []])
    assert [reader.shown(read, place) for place in range(len(read))] == [
        "3",
        "'yes'",
        "None",
        "(1, 2.5)",
        "{'a': 1}",
        "an error KeyError",
        "('a', 1)",
        "()",
    ]


def test_outputs_of_different_widths_are_joined_with_gaps() -> None:
    reader = Reader()
    both = joined([reader.objects([1.0, 2.0]), reader.objects([(1, 2**60 + 1)])])
    assert both.numbers.shape == (3, 2)
    assert np.isnan(both.numbers[:2, 1]).all()
    assert both.digits is not None
    assert both.digits.tolist() == [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    assert both.lengths.tolist() == [-1, -1, 2]


def test_the_width_of_a_chunk_does_not_change_what_an_output_is() -> None:
    reader = Reader()
    alone, wide = reader.objects([(1, 2)]), reader.objects([(1, 2), (1, 2, 3)])
    assert alone.whole[0] == wide.whole[0]


def test_a_code_depends_on_the_word_alone_even_when_no_more_words_are_kept() -> None:
    words = Vocabulary("something else", most=10)
    codes = [words.code(str(number)) for number in range(100)]
    assert len(set(codes)) == 100
    assert 0 not in codes
    assert max(codes) < 2**53
    fresh = Vocabulary("something else")
    assert [fresh.code(str(number)) for number in reversed(range(100))] == codes[::-1]
    assert [words.word(code) for code in codes[8:12]] == ["8", "9"] + 2 * ["something else"]


def test_the_type_of_a_whole_array_is_not_the_kind_of_a_run() -> None:
    reader = Reader()
    whole, floats = reader.array(np.array([1, 2])), reader.array(np.array([1.0, np.nan]))
    assert whole.kinds[0] == floats.kinds[0]
    assert whole.whole[0] == floats.whole[0]
