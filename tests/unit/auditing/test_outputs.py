# SPDX-License-Identifier: Apache-2.0
import math
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sordino.auditing.outputs import Vocabulary, joined
from sordino.auditing.reading import MOST_COORDINATES, Raised, Reader

Point = namedtuple("Point", ["a", "b"])


@dataclass
class Answer:
    value: float
    sure: bool


class Opaque:
    pass


DIFFERENT = [
    0, 1, 0.5, -0.0, math.nan, math.inf, -math.inf, True, None, "", "yes", "no", b"yes", "1", "1.0",
    Fraction(1, 3), Decimal("0.25"), 1 + 2j, (), (1,), (1, 2), [1, 2], (2, 1), ("a", 1), {"a": 1},
    {"b": 1}, {"a": 2}, {"a": "x"}, {"a", "b"}, frozenset("a"), Answer(1.0, True),
    Answer(1.0, False), Point(1, 2), Opaque(), Raised("ValueError"), Raised("KeyError"), 2**60,
    2**60 + 1, 10**400, np.float32(0.5), np.array([1.0, 3.0]), np.array(["a", "b"]),
]  # fmt: skip


def test_different_outputs_are_told_apart_and_equal_ones_are_not() -> None:
    reader = Reader()
    once, again = reader.objects(DIFFERENT), reader.objects(DIFFERENT)
    assert len(set(once.whole.tolist())) == len(DIFFERENT)
    assert (once.whole == again.whole).all()


def test_two_objects_without_a_value_are_the_same_output() -> None:
    read = Reader().objects([Opaque(), Opaque()])
    assert read.whole[0] == read.whole[1]


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
        "['a'](1)",
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


def test_a_full_vocabulary_grows_no_further() -> None:
    words = Vocabulary("something else", most=10)
    codes = [words.code(str(number)) for number in range(100)]
    assert max(codes) == 9
    assert set(codes[9:]) == {0}
