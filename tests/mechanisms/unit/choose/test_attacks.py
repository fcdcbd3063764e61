# SPDX-License-Identifier: Apache-2.0
"""What data must not decide: how scores are read, whether there is an error, who else answers."""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sordino as so
from sordino.privacy import losses
from sordino.privacy.loss import Loss


@pytest.mark.parametrize("values", [[2, 3, 100_000], [3, 2, 100_000], [100_000, 3, 2]], ids=str)
def test_a_sorted_series_goes_by_its_labels_whatever_order_the_data_gave_it(
    values: list[int],
) -> None:
    ranked = pd.Series(values).sort_values(ascending=False)
    assert so.choose([0, 1, 2], ranked, epsilon=1) == values.index(100_000)
    assert so.choose(range(3), ranked, epsilon=1) == values.index(100_000)
    assert so.top_k([0, 1, 2], ranked, k=1, epsilon=1) == [values.index(100_000)]


@pytest.mark.parametrize(
    "values", [[900, 3, 4, 0, 0, 0], [900, 3, 0, 4, 0, 0], [900, 0, 0, 0, 0, 0]], ids=str
)
def test_a_filtered_series_is_never_an_error(values: list[int]) -> None:
    counts = pd.Series(values)
    assert so.choose(range(6), counts[counts > 0], epsilon=1) == 0
    assert so.choose([*range(6)], counts[counts > 0], epsilon=1) == 0


def test_an_empty_series_is_no_error_either() -> None:
    nothing = pd.Series([0] * 6)
    assert so.choose(range(6), nothing[nothing > 0], epsilon=1) in range(6)


def test_the_k_best_of_a_range_do_not_fail_when_a_count_is_missing() -> None:
    for votes in ([0, 0, 1, 1, 2], [0, 0, 1, 1]):
        found = so.top_k(range(3), Counter(votes), k=2, epsilon=1, monotone=True)
        assert set(found) <= {0, 1, 2}


def test_the_joint_mechanism_refuses_by_public_sizes_only() -> None:
    counts = np.arange(8_400)
    counts[8_388:] = 8_387
    more = counts.copy()
    more[-1] += 1
    mechanism = so.JointTopK(k=2_000, epsilon=1, neighbours="add_remove")
    messages = []
    for scores in (counts, more):
        with pytest.raises(ValueError, match="too many for the joint mechanism") as raised:
            mechanism.release(scores)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_a_run_of_the_sparse_vector_does_not_survive_a_fork() -> None:
    run = so.AboveThreshold(threshold=10, epsilon=1).start()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run.ask(1000)
        except RuntimeError:
            os.write(write, b"refused")
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert os.read(read, 20) == b"refused"
    os.close(read)
    assert run.ask(10**9)


def test_the_best_of_several_runs_keeps_the_relation_of_their_loss() -> None:
    sampled = losses.subsampled(losses.pure(epsilon=1), rate=0.1)
    fixed = losses.subsampled(losses.pure(epsilon=1), rate=0.1, sampling="fixed_size")
    best = so.BestOf(loss=sampled, expected_runs=10)
    assert best.loss.neighbours == "add_remove"
    with pytest.raises(ValueError, match="do not compose"):
        best.loss + fixed


def test_a_bid_beyond_all_doubles_is_a_bid_like_others() -> None:
    assert so.best_price([10**400, 1], [1, 2], epsilon=1) in (1, 2)
    assert so.best_price([10**400] * 500, [1, 2], epsilon=1) == 2


@pytest.mark.parametrize(
    "candidates",
    [[True, False], [Fraction(1), Fraction(0)], [Decimal(1), Decimal(0)], ["1", 0], [1 + 0j, 0]],
    ids=str,
)
def test_row_numbers_are_names_where_a_candidate_is_a_number(candidates: list[Any]) -> None:
    """A count that is missing at the end must not turn names into places."""
    for votes in ([0] * 100 + [1], [0] * 100):
        counts = pd.Series(np.bincount(votes))
        try:
            found = so.choose(candidates, counts, epsilon=1)
        except ValueError as error:
            assert "labels 0, 1, ... are names" in str(error)  # noqa: PT017 - for either votes
            assert candidates == ["1", 0]
            continue
        assert found == 0


def test_ratings_from_one_on_are_not_shifted() -> None:
    with pytest.raises(ValueError, match="are names because there are numbers"):
        so.choose([1, 2, 3, 4, 5], pd.Series(np.bincount([4] * 100)), epsilon=1)
    counts = pd.Series([1, 100, 0])
    with pytest.raises(ValueError, match="are names because there are numbers"):
        so.choose([1, 2], counts[counts > 0], epsilon=1)


def test_values_of_a_mapping_are_refused_as_scores() -> None:
    counts = Counter(["b", "a", "a"])
    with pytest.raises(TypeError, match="has the order of the data"):
        so.choose(["a", "b"], counts.values(), epsilon=1)
    with pytest.raises(TypeError, match="has the order of the data"):
        so.PermuteAndFlip(sensitivity=1, epsilon=1).release(counts.values())
    with pytest.raises(TypeError, match="scores have labels"):
        so.PermuteAndFlip(sensitivity=1, epsilon=1).release(pd.Series(counts).sort_values())


@pytest.mark.parametrize(
    "options",
    [{"mechanism": "noisy_max"}, {"base": [1] * 5}, {"sensitivity": [1] * 5}],
    ids=str,
)
def test_what_goes_by_order_does_not_fail_when_a_count_is_missing(options: dict[str, Any]) -> None:
    for counts in ({0: 900, 1: 1, 2: 1, 3: 1, 4: 1}, {0: 900}):
        for domain in (range(5), so.Integers(0, 4)):
            assert so.choose(domain, counts, epsilon=1, **options) == 0


def test_a_relation_is_not_laundered() -> None:
    sampled = losses.subsampled(losses.pure(epsilon=1), rate=0.01)
    with pytest.raises(ValueError, match="holds for add_remove, not for replace_one"):
        sampled.under("replace_one")
    with pytest.raises(ValueError, match="holds for add_remove, not for replace_one"):
        Loss(sampled.parts, ("replace_one",))


def test_threads_add_to_a_stream_one_after_the_other() -> None:
    stream = so.Exponential(sensitivity=1, epsilon=1).stream()

    def add(part: int) -> None:
        for chunk in range(50):
            first = 1000 * part + 10 * chunk
            names = [*range(first, first + 10)]
            stream.add([10_000 if name == 2345 else 0 for name in names], candidates=names)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    assert stream.candidates == 2000
    assert stream.choose() == 2345


def test_masked_numbers_are_refused() -> None:
    masked = np.ma.array([1, 9, 9], mask=[False, True, True])
    with pytest.raises(TypeError, match="must not be masked"):
        so.best_price(masked, [1, 9], epsilon=1)
    with pytest.raises(TypeError, match="must not be masked"):
        so.AboveThreshold(threshold=10, epsilon=1).start().ask_many(masked)
    with pytest.raises(TypeError, match="must not be masked"):
        so.median([1, 2, 3], range=(0, 9), epsilon=1, neighbours="add_remove", counts=masked)
