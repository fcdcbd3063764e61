# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino import Exponential, PermuteAndFlip
from sordino.auditing.blackbox.pairs import Universe
from sordino.auditing.exact import verify_gaussian, verify_law

THIRD = Fraction(1, 3)


def thousand(each: Fraction | float) -> Callable[[int], dict[int, Any]]:
    """One of a thousand outputs; the other data set has a thousand others."""
    return lambda data: {1000 * data + place: each for place in range(1000)}


def coin(truth: Fraction | float) -> Callable[[int], dict[int, Any]]:
    return lambda bit: {bit: truth, 1 - bit: 1 - truth}


def by_sets(p: dict[Any, Fraction], q: dict[Any, Fraction], epsilon: float) -> float:
    """The worst set, by trying all of them."""
    outputs = sorted({*p, *q})
    sets = itertools.chain.from_iterable(
        itertools.combinations(outputs, size) for size in range(len(outputs) + 1)
    )
    return max(
        float(sum(p.get(o, 0) for o in s) - math.exp(epsilon) * sum(q.get(o, 0) for o in s))
        for s in sets
    )


@pytest.mark.parametrize("each", [Fraction(1, 1000), 0.001])
def test_outputs_that_pass_one_by_one_are_refused_as_a_set(each: Fraction | float) -> None:
    found = verify_law(thousand(each), [(0, 1)], epsilon=0, delta=Fraction(1, 1000))
    assert found.verdict == "violation"
    assert found.least_delta == pytest.approx(1, rel=1e-15)
    assert found.least_epsilon == math.inf
    assert len(found.outputs) == 1000
    assert "one of 994 others" in found.event
    assert json.loads(json.dumps(found.to_json()))["least_epsilon"] is None


def test_a_coin_keeps_what_its_ratio_says_and_no_less() -> None:
    assert verify_law(coin(Fraction(3, 4)), [(0, 1)], epsilon=1.0986122886681099).private
    found = verify_law(coin(Fraction(3, 4)), [(0, 1)], epsilon=1.0986122886681096)
    assert not found.private  # ln 3 = 1.09861228866810969...
    assert found.tolerance == 0
    assert found.least_epsilon == pytest.approx(math.log(3), rel=1e-15)


def test_a_law_in_doubles_is_given_the_benefit_of_rounding_and_it_is_said() -> None:
    truth = math.e / (1 + math.e)
    found = verify_law(coin(truth), [(0, 1)], epsilon=1)
    assert found.private
    assert found.tolerance == 1e-12
    assert "within rounding of 1e-12" in str(found)
    assert not verify_law(coin(truth), [(0, 1)], epsilon=1 - 1e-11).private


@pytest.mark.parametrize("seed", range(20))
def test_the_worst_set_is_the_worst_of_all_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def law(data: int) -> dict[int, Fraction]:
        weights = laws[data]
        return {o + data: Fraction(w, sum(weights)) for o, w in enumerate(weights)}

    laws = rng.integers(0, 9, size=(2, 6)).tolist()
    epsilon = float(rng.uniform(0, 2))
    wanted = [by_sets(law(a), law(1 - a), epsilon) for a in (0, 1)]
    found = verify_law(law, [(0, 1)], epsilon=epsilon, delta=0.05)
    assert found.least_delta == pytest.approx(max(wanted), abs=1e-12)
    assert found.private == (max(wanted) <= 0.05)
    p, q = law(found.x), law(found.y)
    caught = sum(p[o] for o in found.outputs) - sum(q.get(o, 0) for o in found.outputs) * Fraction(
        math.exp(epsilon)
    )
    assert float(caught) == pytest.approx(found.least_delta, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_least_epsilon_is_where_the_delta_is_met(seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.ones(8), size=2)
    found = verify_law(lambda data: laws[data], [(0, 1)], epsilon=0, delta=0.01)
    assert 0 < found.least_epsilon < math.inf
    for step, private in ((1e-9, True), (-1e-9, False)):
        again = verify_law(
            lambda data: laws[data], [(0, 1)], epsilon=found.least_epsilon + step, delta=0.01
        )
        assert again.private is private


def test_probabilities_that_are_too_small_for_a_double_are_still_compared() -> None:
    def law(data: int) -> dict[str, Fraction]:
        rare = Fraction(2**data, 10**400)
        return {"rare": rare, "common": 1 - rare}

    found = verify_law(law, [(0, 1)], epsilon=0.7)
    assert found.private
    assert found.least_epsilon == pytest.approx(math.log(2), abs=1e-12)
    assert not verify_law(law, [(0, 1)], epsilon=0.69).private


def test_fractions_and_doubles_may_be_mixed() -> None:
    laws: list[dict[str, Any]] = [{"a": THIRD, "b": 1 - THIRD}, {"b": 0.5, "a": 0.5}]
    found = verify_law(lambda data: laws[data], [(0, 1)], epsilon=0.41)
    assert found.private
    assert found.tolerance > 0
    assert found.least_epsilon == pytest.approx(math.log(1.5))


def test_both_orders_are_looked_at() -> None:
    def law(data: int) -> list[Fraction]:
        return [Fraction(1), Fraction(0)] if data == 0 else [THIRD, 1 - THIRD]

    for pair in ((0, 1), (1, 0)):
        found = verify_law(law, [pair], epsilon=2)
        assert (found.x, found.y) == (1, 0)
        assert found.event == "the output is 1"
        assert found.least_delta == pytest.approx(2 / 3)


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_choices_of_ours_keep_their_promise_on_all_small_scores(kind: Any) -> None:
    mechanism = kind(sensitivity=1, epsilon=1)
    pairs = [
        (scores, tuple(s + c for s, c in zip(scores, change, strict=True)))
        for scores in itertools.product(range(3), repeat=3)
        for change in itertools.product((-1, 0, 1), repeat=3)
    ]
    found = verify_law(lambda s: mechanism.probabilities(list(s)), pairs, epsilon=1)
    assert found.private
    assert found.pairs == 729
    assert found.least_epsilon > 0.8
    assert not verify_law(lambda s: mechanism.probabilities(list(s)), pairs, epsilon=0.8).private


def test_an_exponent_that_is_twice_too_large_is_refused() -> None:
    def law(votes: tuple[str, ...]) -> Any:
        weights = np.exp([float(votes.count(name)) for name in "ab"])
        return weights / weights.sum()

    pairs = list(Universe("ab", size=4, neighbours="replace_one").pairs())
    found = verify_law(law, pairs, epsilon=1)
    assert found.verdict == "violation"
    assert verify_law(law, pairs, epsilon=2).private


def test_neighbours_of_a_universe_are_those_that_differ_by_one_record() -> None:
    added = set(Universe(range(2), size=2, neighbours="add_remove").pairs())
    assert added == {
        ((), (0,)), ((), (1,)), ((0,), (0, 0)), ((0,), (0, 1)), ((1,), (0, 1)), ((1,), (1, 1)),
    }  # fmt: skip
    replaced = set(
        Universe(range(2), size=2, neighbours="replace_one", least=2, ordered=True).pairs()
    )
    assert all(sum(a != b for a, b in zip(x, y, strict=True)) == 1 for x, y in replaced)
    assert len(replaced) == 4


def test_the_textbook_gaussian_breaks_its_promise_where_epsilon_is_large() -> None:
    textbook = math.sqrt(2 * math.log(1.25 / 1e-5))
    broken = verify_gaussian(sigma=textbook / 20, sensitivity=1, epsilon=20, delta=1e-5)
    assert broken.verdict == "violation"
    assert broken.least_delta == pytest.approx(1.527e-3, rel=1e-3)
    kept = verify_gaussian(sigma=textbook, sensitivity=1, epsilon=1, delta=1e-5)
    assert kept.private
    assert kept.least_epsilon == pytest.approx(0.75097696, abs=1e-7)
    assert verify_gaussian(
        sigma=textbook / 20, sensitivity=1, epsilon=broken.least_epsilon, delta=1e-5
    ).private


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ([0.5, 0.4], "add up to 1"),
        ([1.5, -0.5], "negative"),
        ([], "add up to 1"),
        (["a"], "finite number"),
        ([math.nan, 1.0], "finite number"),
        ([[0.5, 0.5]], "mapping|finite"),
    ],
)
def test_what_is_no_law_is_refused(law: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        verify_law(lambda _: law, [(0, 1)], epsilon=1)


def test_nothing_is_said_about_no_pairs() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        verify_law(coin(THIRD), [], epsilon=1)
    with pytest.raises(ValueError, match="at most 5000"):
        verify_law(coin(THIRD), [(0, 1)], epsilon=6000)


def test_a_series_is_read_by_its_labels() -> None:
    pandas = pytest.importorskip("pandas")
    one = pandas.Series({"a": 0.99, "b": 0.01})
    found = verify_law(lambda bit: one if bit else one[::-1].set_axis(["a", "b"]), [(0, 1)],
                       epsilon=1)  # fmt: skip
    assert found.least_epsilon == pytest.approx(math.log(99))
    assert verify_law(lambda bit: one if bit else one[::-1], [(0, 1)], epsilon=0).private
    with pytest.raises(ValueError, match="same output twice"):
        verify_law(lambda _: pandas.Series([0.5, 0.5], index=["a", "a"]), [(0, 1)], epsilon=1)
    with pytest.raises(TypeError, match="a probability must be a finite number"):
        verify_law(lambda _: one.to_frame(), [(0, 1)], epsilon=1)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_places_count_in_lists_tuples_and_arrays_of_one_length(kind: Any) -> None:
    laws = [kind([0.25, 0.75]), kind([0.75, 0.25]), kind([0.25, 0.75, 0.0])]
    found = verify_law(laws.__getitem__, [(0, 1)], epsilon=1)
    assert found.least_epsilon == pytest.approx(math.log(3))
    with pytest.raises(ValueError, match="two laws have 2 and 3 places"):
        verify_law(laws.__getitem__, [(0, 2)], epsilon=1)


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (0.5, "got float; for a function that draws use so.audit"),
        ("ab", "got str"),
        ({1, 2}, "got set"),
        (iter([0.5, 0.5]), "got list_iterator"),
        (np.ones((2, 2)) / 4, "got an array of 2 dimensions"),
        ({"a": "1"}, "finite number, got one of type str"),
    ],
)
def test_what_is_no_mapping_and_no_list_is_refused_as_a_law(law: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        verify_law(lambda _: law, [(0, 1)], epsilon=1)


def test_arguments_that_are_none_are_named() -> None:
    law: Any = {0: 1}
    with pytest.raises(TypeError, match=r"law must be a function .*, not dict"):
        verify_law(law, [(0, 1)], epsilon=1)
    for pairs in ((0, 1), [(0, 1, 2)], ["ab"], 5, "ab", {0: 1}):
        with pytest.raises(TypeError, match=r"a list of pairs of neighbours, such as \[\(0, 1\)\]"):
            verify_law(coin(0.75), pairs, epsilon=1)  # type: ignore[arg-type]  # what is tested


def test_an_exact_law_adds_up_to_one_exactly() -> None:
    half = Fraction(1, 2)
    for last in (half - Fraction(9, 10**10), half + Fraction(1, 10**30)):
        laws = [[half, half], [half, last]]
        with pytest.raises(ValueError, match="must add up to 1"):
            verify_law(laws.__getitem__, [(0, 1)], epsilon=1)
    with pytest.raises(ValueError, match="must add up to 1"):
        verify_law(lambda d: [0.5, 0.5 - 1e-11 * d], [(0, 1)], epsilon=1)


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (0.0, -0.0), ((1,), (True,)), (np.int64(1), 1)]
)
def test_outputs_and_data_that_are_equal_and_not_the_same_are_told_apart(
    one: Any, other: Any
) -> None:
    assert one == other
    found = verify_law(lambda d: {one if d else other: 1}, [(0, 1)], epsilon=5)
    assert found.least_epsilon == math.inf
    found = verify_law(lambda d: {repr(d): 1}, [(one, other)], epsilon=5)
    assert not found.private


def test_a_verdict_agrees_with_the_least_epsilon_for_the_smallest_doubles() -> None:
    found = verify_law(lambda d: [1.5e-323, 1.0] if d else [5e-324, 1.0], [(0, 1)], epsilon=1)
    assert found.verdict == "violation"
    assert found.least_epsilon == pytest.approx(math.log(3))
