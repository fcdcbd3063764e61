# SPDX-License-Identifier: Apache-2.0
"""What data must not decide: how scores are read, whether there is an error, who else answers."""

import os
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import sordino as so
from sordino.privacy import losses


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
