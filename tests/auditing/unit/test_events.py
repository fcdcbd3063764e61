# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from sordino.auditing.blackbox.events import Ranges, Values, anything, choose, codings
from sordino.auditing.blackbox.features import Column, columns
from sordino.auditing.blackbox.outputs import Outputs, Raised, Reader


def first(outputs: Outputs) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return outputs.numbers[:, 0]


NUMBER = Column("the output", first)
VALUES = np.array([-np.inf, -5.0, 0.0, 0.5, 1.0, 1.5, 2.0, 7.0, np.inf, np.nan])


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ([1, 0, 0, 0, 0], "the output is less than 0"),
        ([0, 0, 0, 1, 0], "the output is at least 2"),
        ([0, 1, 1, 0, 0], "the output is from 0 to below 2"),
        ([1, 0, 1, 0, 1], "the output is less than 0 or from 1 to below 2 or no number"),
        ([1, 1, 1, 1, 0], "the output is any number"),
        ([0, 0, 0, 0, 1], "the output is no number"),
    ],
)
def test_a_set_of_ranges_is_told_and_kept_with_only_the_edges_it_needs(
    mask: list[int], words: str
) -> None:
    ranges = Ranges(NUMBER, np.array([0.0, 1.0, 2.0]))
    outputs = Reader().array(VALUES)
    chosen = np.array(mask, dtype=bool)
    event = ranges.event(chosen)
    assert event.words == words
    assert (event.holds(outputs) == chosen[ranges.codes(outputs)]).all()
    assert event.edges is not None
    assert event.inside is not None
    assert len(event.edges) == len(event.inside) + 1
    assert event.inside.tolist().count(True) <= 2


def test_the_edges_of_an_event_say_which_numbers_are_inside() -> None:
    event = Ranges(NUMBER, np.array([0.0, 1.0, 2.0])).event(np.array([1, 0, 1, 0, 0], bool))
    outputs = Reader().array(VALUES[:-1])
    assert event.edges is not None
    assert event.inside is not None
    places = np.clip(np.searchsorted(event.edges, VALUES[:-1], "right") - 1, 0, 3)
    assert (event.inside[places] == event.holds(outputs)).all()


@pytest.mark.parametrize("inverted", [False, True])
def test_a_set_of_values_is_told_by_what_it_holds_or_leaves_out(*, inverted: bool) -> None:
    values = Values(NUMBER, np.array([0.0, 1.0, 2.0]), str)
    mask = np.array([inverted, True, False, True])
    event = values.event(mask)
    outputs = Reader().array(VALUES)
    assert (event.holds(outputs) == mask[values.codes(outputs)]).all()
    expected = "is not 1" if inverted else "is one of 2 values: 0, 2"
    assert event.words == f"the output {expected}"


def test_few_values_have_a_range_each_and_a_frequent_value_has_its_own() -> None:
    reader = Reader()
    few = reader.array(np.repeat([1.0, 2.0, 5.0], 100))
    [coding] = codings(NUMBER, (few, few), reader)
    assert coding.codes(reader.array(np.array([0.0, 1.0, 2.0, 5.0, 9.0]))).tolist() == [
        0, 1, 2, 3, 3,
    ]  # fmt: skip
    generator = np.random.default_rng(3)
    mixed = reader.array(np.where(generator.random(5000) < 0.1, 0.25, generator.normal(size=5000)))
    [coding] = codings(NUMBER, (mixed, mixed), reader)
    below, at, above = coding.codes(reader.array(np.array([0.249999, 0.25, 0.250001])))
    assert below < at < above


def test_outputs_that_never_repeat_have_no_cells_of_their_own() -> None:
    reader = Reader()
    outputs = reader.objects([f"word {number}" for number in range(50)])
    [whole, *_] = columns((outputs, outputs))
    assert len(codings(whole, (outputs, outputs), reader)) <= 1
    assert anything().holds(outputs).all()


def best(one: list[object], other: list[object]) -> tuple[str, int]:
    reader = Reader()
    chosen = choose((reader.objects(one), reader.objects(other)), reader, delta=0.0, alpha=0.01)
    return chosen.event.words, chosen.likelier


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ([1], [1.0], "the kind of output is int"),
        (["a"], ["b"], "the output is 'a'"),
        ([None], [0], "the kind of output is NoneType"),
        ([Raised("KeyError")], [0], "the kind of output is error KeyError"),
        ([[1]], [[1, 1]], "the length of the output is less than 2"),
        ([0.0], [np.nan], "the output is any number"),
        ([0.0], [-0.0], "the output is 0"),
        ([(1, 2)], [(2, 1)], "coordinate 1 is less than 2"),
        ([0.5], [0.75], "the output is less than 0.75"),
        ([np.inf], [1.0], "the output is at least inf"),
    ],
)
def test_the_event_that_tells_is_found_and_told(
    one: list[object], other: list[object], words: str
) -> None:
    assert best(one * 200, other * 200) == (words, 0)


def test_the_last_digits_of_numbers_that_look_alike_are_found() -> None:
    generator = np.random.default_rng(4)
    coarse = np.round(generator.normal(size=2000) * 2**30) / 2**30
    fine = generator.normal(size=2000)
    words, likelier = best(coarse.tolist(), fine.tolist())
    assert words.startswith("the last binary digit of the output stands at two to the power ")
    assert likelier in (0, 1)


def test_values_of_largest_ratio_are_put_together() -> None:
    """Even numbers are likelier on one input, odd ones on the other: no threshold tells them."""
    generator = np.random.default_rng(5)
    drawn = generator.integers(0, 10, 4000)
    even = np.where(generator.random(4000) < 0.8, drawn // 2 * 2, drawn)
    reader = Reader()
    chosen = choose((reader.array(even), reader.array(drawn)), reader, delta=0.0, alpha=0.01)
    assert chosen.guess > 0.4
    numbers = reader.array(np.arange(10))
    held = chosen.event.holds(numbers)
    assert held.tolist() in ([True, False] * 5, [False, True] * 5)


def test_the_last_bits_of_a_float_are_named_as_what_gives_the_input_away() -> None:
    generator = np.random.default_rng(6)
    drawn = generator.random(2000)
    words, _ = best(drawn.tolist(), (drawn + 1).tolist())
    assert "last bits" not in words  # a plain threshold tells more
    words, _ = best((drawn - 0.5).tolist(), (np.round(drawn * 2**40) / 2**40 - 0.5).tolist())
    assert words.endswith("(the last bits of the floating-point number give the input away)")
