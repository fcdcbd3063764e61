# SPDX-License-Identifier: Apache-2.0
"""Broken pipelines in numpy, each with a mended twin.

Noise follows from the number of the run here, so that nothing is left to chance, but in one test.
"""

import functools
import random
import secrets
from collections.abc import Callable
from random import gauss
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng

from sordino.auditing.replays.recording import replay

RNG = np.random.default_rng(1)
STATE = np.random.RandomState(1)
X = np.array([[1.0, 2.0], [3.0, 1.0], [50.0, 40.0]])
Y = X[:2]
VALUES, FEWER = np.array([3.0, 1.0, 4.0, 9.0]), np.array([3.0, 1.0, 4.0])


def clipped(data: Any, bound: float = 2.0) -> Any:
    return np.clip(data, -bound, bound)


def covariance(data: Any) -> Any:
    return data.T @ data + RNG.laplace(scale=16.0, size=(2, 2))


def clipped_covariance(data: Any) -> Any:
    return covariance(clipped(data))


def scaled_to_the_data(values: Any) -> Any:
    return clipped(values).sum() + RNG.laplace(scale=values.max() / 2)


def scaled_to_a_bound(values: Any) -> Any:
    return clipped(values).sum() + RNG.laplace(scale=2.0)


def multiplied_by_the_data(values: Any) -> Any:
    return clipped(values).sum() - values.max() / 2 * RNG.laplace()


def multiplied_by_a_bound(values: Any) -> Any:
    return clipped(values).sum() - 2.0 * RNG.laplace()


def branches(values: Any) -> Any:
    if len(values) > 3:
        return clipped(values).sum() + RNG.laplace(scale=2.0)
    return RNG.normal()


def branches_on_noise(values: Any) -> Any:
    if len(values) + RNG.laplace(scale=2.0) > 1e6:
        return None
    return clipped(values).sum() + RNG.laplace(scale=4.0)


def fails_without_nines(values: Any) -> Any:
    if 9.0 not in values:
        raise KeyError("no nine")
    return len(values) + RNG.laplace()


def never_fails(values: Any) -> Any:
    return len(values) + RNG.laplace()


def as_long_as_the_data(values: Any) -> Any:
    total = len(values) + RNG.laplace()
    return [total] * len(values)


def of_public_length(values: Any) -> Any:
    return [len(values) + RNG.laplace(), 0.0]


def charges_by_size(values: Any) -> Any:
    import sordino as so

    return so.Laplace(sensitivity=1, epsilon=len(values)).release(len(values))


def charges_one(values: Any) -> Any:
    import sordino as so

    return so.Laplace(sensitivity=1, epsilon=1).release(len(values))


def tells_the_size(values: Any) -> Any:
    return {"total": clipped(values).sum() + RNG.laplace(scale=2.0), "rows": len(values)}


def tells_a_noisy_size(values: Any) -> Any:
    return {"total": clipped(values).sum() + RNG.laplace(scale=4.0),
            "rows": len(values) + RNG.laplace(scale=2.0)}  # fmt: skip


def one_noise_for_all(values: Any) -> Any:
    return np.array([clipped(values).sum(), len(values)]) + RNG.laplace(scale=3.0)


def noise_for_each(values: Any) -> Any:
    return np.array([clipped(values).sum(), len(values)]) + RNG.laplace(scale=3.0, size=2)


PAIRS: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any], Any, Any]] = [
    ("sensitivity", covariance, clipped_covariance, X, Y),
    ("scale", scaled_to_the_data, scaled_to_a_bound, VALUES, FEWER),
    ("scale", multiplied_by_the_data, multiplied_by_a_bound, VALUES, FEWER),
    ("draws", branches, branches_on_noise, VALUES, FEWER),
    ("error", fails_without_nines, never_fails, VALUES, FEWER),
    ("output", as_long_as_the_data, of_public_length, VALUES, FEWER),
    ("price", charges_by_size, charges_one, VALUES, FEWER),
    ("no noise", tells_the_size, tells_a_noisy_size, VALUES, FEWER),
    ("reuse", one_noise_for_all, noise_for_each, VALUES, FEWER),
]


@pytest.mark.parametrize(("kind", "broken", "mended", "x", "y"), PAIRS, ids=[p[0] for p in PAIRS])
def test_each_kind_of_finding_is_found_and_the_mended_twin_has_none(
    kind: str, broken: Any, mended: Any, x: Any, y: Any
) -> None:
    for one, other in ((x, y), (y, x)):
        assert kind in replay(broken, one, other, epsilon=1).kinds
        found = replay(mended, one, other, epsilon=1)
        assert found.findings == ()
        assert found.verdict == "no violation found"


def test_the_sensitivity_that_was_used_is_told_with_the_line_that_draws() -> None:
    found = replay(covariance, X, Y, epsilon=1)
    (change,) = found.changes
    assert change.l1 == 50 * 50 + 2 * 50 * 40 + 40 * 40
    assert change.linf == 2500
    assert change.loss == pytest.approx(change.l1 / 16)
    line = covariance.__code__.co_firstlineno + 1
    assert change.where == f"test_recording.py:{line}"
    assert "costs epsilon 506.25, claimed is 1" in str(found)
    assert replay(clipped_covariance, X, Y, epsilon=1).changes[0].loss == 1


def test_both_runs_see_the_same_noisy_values() -> None:
    one, other = replay(scaled_to_a_bound, VALUES, FEWER).outputs
    assert one == other
    assert type(one) is type(other) is np.float64
    one, other = replay(clipped_covariance, X, Y).outputs
    assert np.array_equal(one, other)
    assert type(one) is type(other) is np.ndarray


def test_two_draws_of_one_run_are_not_the_same_noise() -> None:
    for twice in (lambda _: RNG.laplace(size=2), lambda _: (RNG.laplace(), RNG.laplace())):
        one = replay(twice, VALUES, FEWER).outputs[0]
        assert one[0] != one[1]


def legacy(values: Any) -> Any:
    return np.random.laplace(np.sum(values), 9.0)


def held_state(values: Any) -> Any:
    return np.sum(values) + STATE.laplace(0, 9.0)


def made_inside(values: Any) -> Any:
    return np.sum(values) + default_rng().laplace(0, 9.0)


def made_by_class(values: Any) -> Any:
    return np.sum(values) + np.random.Generator(np.random.PCG64(5)).laplace(0, 9.0)


def by_name(values: Any) -> Any:
    return float(np.sum(values)) + gauss(0, 9.0)


def by_module(values: Any) -> Any:
    return float(np.sum(values)) + random.gauss(0, 9.0)


def standard(values: Any) -> Any:
    return np.sum(values) - 9.0 * np.random.standard_normal()


def as_default(values: Any, rng: Any = RNG) -> Any:
    return np.add(np.sum(values), rng.normal(0, 18.0) / 2)


def element_by_element(values: Any) -> Any:
    noise = RNG.laplace(scale=9.0, size=3)
    return [np.sum(values) + noise[0], 1 + noise[1], 2 - noise[2]]


def in_a_closure() -> Callable[[Any], Any]:
    own = np.random.default_rng(3)
    return lambda values: np.sum(values) + own.laplace(scale=9.0)


class Held:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(2)

    def release(self, values: Any) -> Any:
        return np.sum(values) + self.rng.laplace(scale=9.0)

    __call__ = release


@pytest.mark.parametrize(
    "function",
    [
        legacy, held_state, made_inside, by_name, by_module, standard, as_default,
        made_by_class, element_by_element, in_a_closure(), Held().release, Held(),
        functools.partial(as_default, rng=RNG),
    ],
)  # fmt: skip
def test_noise_is_followed_wherever_its_generator_is_held(function: Any) -> None:
    found = replay(function, VALUES, FEWER)
    assert found.unseen == 0
    (change,) = found.changes
    assert change.l1 == change.l2 == change.linf == 9
    assert change.loss == 1
    assert found.private


def test_everything_is_put_back() -> None:
    before = (np.random.laplace, np.random.default_rng, random.gauss, np.random.Generator, RNG)
    replay(legacy, VALUES, FEWER)
    with pytest.raises(ZeroDivisionError):
        replay(lambda _: 1 // 0, VALUES, FEWER)
    assert before == (
        np.random.laplace, np.random.default_rng, random.gauss, np.random.Generator, RNG
    )  # fmt: skip
    assert type(RNG).__module__.startswith("numpy")
    assert type(RNG.laplace()) is float


def test_gaussian_noise_is_held_against_epsilon_and_delta() -> None:
    def release(values: Any) -> Any:
        return len(values) + RNG.normal(scale=4.0)

    assert replay(release, VALUES, FEWER, epsilon=1, delta=1e-5).private  # 3.73 is enough
    found = replay(release, VALUES, FEWER, epsilon=0.5, delta=1e-5)
    assert found.kinds == {"sensitivity"}
    assert "claimed is 1e-05" in str(found)


def test_losses_of_several_draws_add_up() -> None:
    def twice(values: Any) -> Any:
        return [len(values) + RNG.laplace(), len(values) + RNG.laplace()]

    assert replay(twice, VALUES, FEWER, epsilon=2).private
    assert replay(twice, VALUES, FEWER, epsilon=1.9).kinds == {"sensitivity"}


def test_noise_of_no_width_hides_nothing() -> None:
    found = replay(lambda v: len(v) + RNG.laplace(scale=0.0), VALUES, FEWER)
    assert [f.words for f in found.findings] == ["a number that moves gets noise of scale 0"]


def test_a_draw_that_cannot_be_followed_is_counted() -> None:
    found = replay(lambda v: len(v) + round(float(RNG.laplace())), VALUES, FEWER)
    assert found.unseen == 1
    assert "not seen what 1 of the draws" in str(found)
    assert found.verdict == "not understood"


def test_lines_that_run_on_one_side_only_are_told_on_request() -> None:
    def harmless(values: Any) -> Any:
        total = 0.0
        for value in values:
            total += min(value, 2.0)
        if total > 8.0 - 0.5:
            total = 7.0
        return total + RNG.laplace(scale=2.0)

    assert replay(harmless, VALUES, FEWER, epsilon=1).private
    found = replay(harmless, VALUES, np.append(VALUES, 9.0), epsilon=1, lines=True)
    line = harmless.__code__.co_firstlineno + 5
    (told,) = [finding for finding in found.findings if finding.kind == "lines"]
    assert told.where == f"test_recording.py:{line}"
    assert told.words == "this line runs on y only"


def test_the_data_is_not_touched() -> None:
    def sorts(values: list[float]) -> Any:
        values.sort()
        values.append(1.0)
        return len(values) + RNG.laplace()

    data = [3.0, 1.0]
    assert replay(sorts, data, [3.0]).changes[0].l1 == 1
    assert data == [3.0, 1.0]


def test_shuffling_other_data_is_no_finding_but_shuffling_more_of_it_is() -> None:
    def shuffled(values: Any) -> Any:
        return clipped(RNG.permutation(values)).sum() + RNG.laplace(scale=4.0)

    replaced = np.array([3.0, 1.0, 4.0, 0.0])
    assert replay(shuffled, VALUES, replaced, epsilon=1).private
    assert replay(shuffled, VALUES, FEWER, epsilon=1).kinds == {"draws"}


def test_a_replay_can_be_repeated() -> None:
    one, other = (replay(tells_the_size, VALUES, FEWER, epsilon=1) for _ in range(2))
    assert one == other


def test_a_second_step_may_depend_on_the_noisy_value_of_the_first() -> None:
    def centred(values: Any) -> Any:
        centre = clipped(values).sum() / 4 + RNG.laplace(scale=1.0)
        width = abs(centre) + 1
        return centre, clipped(values - centre).sum() + RNG.laplace(scale=4 * width)

    found = replay(centred, VALUES, FEWER, epsilon=1)
    assert found.findings == ()
    assert found.changes[0].loss == 0.5
    assert found.changes[1].l1 == 2  # the centre is the same on both sides


def test_an_exact_number_that_is_added_after_the_noise_is_found() -> None:
    def twice_counted(values: Any) -> Any:
        return clipped(values).sum() + RNG.laplace(scale=2.0) + len(values)

    found = replay(twice_counted, VALUES, FEWER, epsilon=1)
    assert found.kinds == {"sensitivity"}
    assert "moved by 3 in l1: that costs epsilon 1.5" in str(found)


def test_noise_that_is_added_in_place_is_followed() -> None:
    def release(values: Any) -> Any:
        counts = np.array([clipped(values).sum(), float(len(values))])
        counts += RNG.laplace(scale=3.0, size=2)
        return counts

    found = replay(release, VALUES, FEWER, epsilon=1)
    assert found.private
    assert found.changes[0].l1 == 3
    assert np.array_equal(*found.outputs)


def by_inversion() -> float:
    u = RNG.uniform(-0.5, 0.5)
    return float(-np.sign(u) * np.log1p(-2 * abs(u)))


def test_differences_that_noise_hides_are_no_findings_even_if_it_cannot_be_followed() -> None:
    def noisy(values: Any) -> Any:
        return len(values) + by_inversion()

    def noisy_keys(values: Any) -> Any:
        return ["many"] if len(values) + by_inversion() > 3.5 else []

    def keys(values: Any) -> Any:
        return [round(by_inversion()), *(["many"] if len(values) > 3 else [])]

    def both(values: Any) -> Any:
        return len(values) + by_inversion(), len(values)

    for function in (noisy, noisy_keys):
        found = replay(function, VALUES, FEWER, epsilon=1)
        assert found.findings == ()
        assert found.verdict == "not understood"
        assert not found.private
        line = by_inversion.__code__.co_firstlineno + 1
        assert f"uniform (test_recording.py:{line}): it was not followed" in str(found)
    assert replay(keys, VALUES, FEWER, epsilon=1).kinds == {"output"}
    assert replay(both, VALUES, FEWER, epsilon=1).kinds == {"no noise"}


def test_noise_that_is_not_seen_at_all_is_noticed() -> None:
    def release(values: Any) -> Any:  # of 2^64 numbers: two are alike by chance below 1e-15
        return len(values) + secrets.randbits(64)

    found = replay(release, VALUES, FEWER)
    assert found.findings == ()
    assert found.verdict == "not understood"
    assert "there is randomness not seen" in str(found)
