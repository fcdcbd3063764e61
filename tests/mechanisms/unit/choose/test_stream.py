# SPDX-License-Identifier: Apache-2.0
"""A stream makes one choice from all chunks, once."""

import copy
import os
import pickle
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from sordino.mechanisms.choose.candidates import Kind, open_stream
from sordino.randomness.race import BLOCK
from tests.support.seeded import SeededBits
from tests.support.tape import replay

KINDS: list[Kind] = ["exponential", "permute_and_flip"]
every_kind = pytest.mark.parametrize("kind", KINDS)
SCORES = [3, 3, 2, 3, 4]
ANCHORS = {
    "exponential": (0.1643071807824, 0.060445233846683, 0.44663322380613),
    "permute_and_flip": (0.13739474627436, 0.047016119806604, 0.54079964137031),
}


@every_kind
def test_chunks_of_whole_blocks_give_the_winner_of_one_chunk(kind: Kind) -> None:
    scores = np.random.default_rng(0).integers(0, 5, 3 * BLOCK + 1000)

    def run(pieces: list[Any]) -> Any:
        with replay(SeededBits(8)):
            stream = open_stream(kind, 0.5)
            for piece in pieces:
                stream.add(piece)
            assert stream.candidates == scores.size
            return stream.choose()

    at_once = run([scores])
    assert run([scores[:BLOCK], scores[BLOCK:]]) == at_once
    assert run([scores[: 2 * BLOCK], [], scores[2 * BLOCK :]]) == at_once


@every_kind
def test_winners_of_a_stream_come_as_often_as_the_mechanism_says(kind: Kind) -> None:
    """Alpha is 1e-6; the tape is seeded. The chunks cut the scores in two."""
    times = 6000
    with replay(SeededBits(4)):
        counts: Counter[int] = Counter()
        for _ in range(times):
            stream = open_stream(kind, 1)
            stream.add(SCORES[:3])
            stream.add(SCORES[3:])
            counts[stream.choose()] += 1
    usual, low, high = ANCHORS[kind]
    expected = times * np.array([usual, usual, low, usual, high])
    statistic = sum((counts[i] - expected[i]) ** 2 / expected[i] for i in range(5))
    assert statistic < chi2.isf(1e-6, 4)


@pytest.mark.parametrize(
    "scores",
    [
        (0, 1000, 0),
        range(-2000, 0, 700),
        np.array([0, 1000, 0], dtype=np.int16),
        np.array([0, 2**64 - 1, 0], dtype=np.uint64),
        [0.0, 1e300, -1e300],
        np.array([0, 1000, 1], dtype=np.float32),
        [0, Fraction(10**4, 3), 0.5],
        [Decimal("1e3"), Decimal("1e5"), 0],
        [10**30, 10**31, 0],
    ],
    ids=lambda scores: type(scores).__name__,
)
def test_every_kind_of_number_is_a_score(scores: Any) -> None:
    stream = open_stream("exponential", 1)
    stream.add(scores)
    assert stream.choose() == (2 if isinstance(scores, range) else 1)


def test_the_candidates_that_came_along_are_returned() -> None:
    stream = open_stream("permute_and_flip", 1)
    stream.add([0, 10], candidates=["a", "b"])
    stream.add([900, 5], candidates=("c", {"not": "hashable"}))
    stream.add([7], candidates=["e"])
    stream.add([], candidates=[])
    assert stream.candidates == 5
    assert stream.choose() == "c"


def test_several_are_chosen_best_first() -> None:
    stream = open_stream("exponential", 1, k=3)
    stream.add([0, 3000], candidates="ab")
    stream.add([1000, 2000, 0], candidates="cde")
    with pytest.raises(TypeError, match="choose_many"):
        stream.choose()
    assert stream.choose_many() == ["b", "d", "c"]


def test_a_stream_chooses_once() -> None:
    stream = open_stream("exponential", 1)
    assert repr(stream) == "<stream of 0>"
    stream.add([1, 2])
    stream.choose()
    for again in (stream.choose, stream.choose_many, lambda: stream.add([1])):
        with pytest.raises(RuntimeError, match="second release"):
            again()
    assert repr(stream) == "<stream, closed>"


def test_an_empty_stream_or_a_short_one_has_no_winner() -> None:
    stream = open_stream("exponential", 1, k=2)
    with pytest.raises(ValueError, match="an empty stream has no winner"):
        stream.choose_many()
    stream.add([1])
    with pytest.raises(ValueError, match="2 candidates cannot be chosen from 1"):
        stream.choose_many()
    stream.add([1])
    assert sorted(stream.choose_many()) == [0, 1]


def test_a_stream_is_not_copied() -> None:
    stream = open_stream("exponential", 1)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            duplicate(stream)


def test_a_stream_stays_in_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = open_stream("exponential", 1)
    stream.add([1])
    other = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: other)
    with pytest.raises(RuntimeError, match="stays in the process"):
        stream.choose()


@pytest.mark.parametrize(
    "scores",
    [
        [1.0, float("nan")],
        np.array([1.0, -np.inf]),
        np.array([[1, 2], [3, 4]]),
        [[1, 2], [3, 4]],
        [True, False],
        np.array([True, False]),
        [1, True],
        [1, None],
        ["1", "2"],
        "12",
        {"a": 1},
        np.ma.MaskedArray([1, 2], [True, False]),
        7,
        np.array([1.5j]),
        [Decimal("NaN"), 1],
    ],
    ids=range(15),
)
def test_what_is_no_list_of_finite_numbers_is_refused_and_changes_nothing(scores: Any) -> None:
    stream = open_stream("exponential", 1)
    stream.add([1, 2])
    with pytest.raises((TypeError, ValueError), match=r"scores must|finite") as caught:
        stream.add(scores)
    assert "\n" not in str(caught.value)
    assert stream.candidates == 2
    assert stream.choose() in (0, 1)


def test_candidates_must_match_the_scores_and_come_with_every_chunk() -> None:
    stream = open_stream("exponential", 1)
    with pytest.raises(ValueError, match="as many candidates as scores"):
        stream.add([1, 2], candidates=["a"])
    stream.add([1], candidates=["a"])
    with pytest.raises(ValueError, match="every chunk"):
        stream.add([1])


def test_a_candidate_is_once_in_a_chunk() -> None:
    """Across chunks it is not checked: a stream does not remember who took part."""
    stream = open_stream("exponential", 1)
    twice: list[Any] = [
        ["a", "b", "a"],
        "aba",
        np.array([1, 2, 1]),
        [{}, 1, {}],
        pd.Series([1] * 3),
    ]
    for candidates in twice:
        with pytest.raises(ValueError, match=r"^a candidate is listed twice"):
            stream.add([1, 2, 3], candidates=candidates)
    with pytest.raises(TypeError, match=r"^candidates must be a list in the order of the scores"):
        stream.add([1, 2], candidates={"a": 1, "b": 2})  # type: ignore[arg-type]  # refused
    assert stream.candidates == 0
    stream.add([1, 2], candidates=["a", "b"])
    stream.add([3], candidates=["a"])
    assert stream.candidates == 3


def test_a_series_of_candidates_is_read_by_place() -> None:
    stream = open_stream("exponential", 1)
    stream.add([0, 9000], candidates=pd.Series(["a", "b"], index=[1, 0]))
    assert stream.choose() == "b"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gumbel", 1), "kind must be"),
        (("exponential", 0), "rate must be a positive number"),
        (("exponential", 1, 0), "k must be a positive whole number"),
        (("exponential", 1, 1.0), "k must be a positive whole number"),
        (("permute_and_flip", 1, 2), "chooses one candidate"),
    ],
)
def test_a_stream_is_opened_for_a_mechanism_that_exists(arguments: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        open_stream(*arguments)
