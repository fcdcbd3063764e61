# SPDX-License-Identifier: Apache-2.0
"""What a replay cannot judge, what it refuses, and what it leaves behind.

Noise follows from the number of the run, but where a rate is stated.
"""

import os
import random
import sys
import threading
from typing import Any

import numpy as np
import pytest

import sordino as so
from sordino.auditing.replays.recording import replay

RNG = np.random.default_rng(1)
DEEP = [np.random.default_rng(5)]  # not found there, so it draws by itself
VALUES, FEWER = [3.0, 1.0, 4.0], [3.0, 1.0]
LAPLACE = so.Laplace(sensitivity=1, epsilon=1)


def by_hand(values: Any) -> Any:
    u = RNG.random() - 0.5
    return len(values) - 0.01 * np.sign(u) * np.log(1 - 2 * abs(u))


def randomised_response(values: Any) -> Any:
    truth = len(values) > 2
    return truth if RNG.random() < 0.75 else not truth


def system_bytes(values: Any) -> Any:
    return len(values) * 1000 + os.urandom(1)[0]


def hidden_coin(values: Any) -> Any:
    return (len(values) > 2) ^ (DEEP[0].random() < 0.25)


def noise_told(values: Any) -> Any:
    noise = RNG.laplace(scale=9.0)
    return {"value": sum(values) + noise, "noise": noise}


def noise_compared(values: Any) -> Any:
    noise = RNG.laplace(scale=9.0, size=2)
    return sum(values) + noise[0], bool(noise[1] > 0)


def chosen(values: Any) -> Any:
    return sum(values[:2]) + RNG.choice([0, 1])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (by_hand, "random (test_recording_doubts.py:"),
        (randomised_response, "random (test_recording_doubts.py:"),
        (system_bytes, "randomness not seen"),  # by chance: below 1e-40
        (hidden_coin, "randomness not seen"),
        (noise_told, "noise goes elsewhere than into one sum"),
        (noise_compared, "noise goes elsewhere than into one sum"),
        (chosen, "choice (test_recording_doubts.py:"),
    ],
)
def test_noise_that_is_not_followed_is_never_called_private(function: Any, words: str) -> None:
    found = replay(function, VALUES, FEWER, epsilon=1)
    assert found.verdict == "not understood"
    assert not found.private
    assert words in str(found)
    assert "so.audit can judge it" in str(found)


def test_noise_of_scipy_is_followed() -> None:
    stats = pytest.importorskip("scipy.stats")

    def release(draw: Any, scale: float) -> Any:
        return lambda values: len(values) + draw(scale)

    for draw in (
        lambda scale: stats.laplace.rvs(scale=scale),
        lambda scale: stats.laplace(0, scale).rvs(),
        lambda scale: stats.laplace.rvs(loc=0, scale=scale, size=1, random_state=3)[0],
    ):
        narrow = replay(release(draw, 0.01), VALUES, FEWER, epsilon=1)
        assert narrow.kinds == {"sensitivity"}
        assert narrow.changes[0].loss == pytest.approx(100)
        assert replay(release(draw, 1.0), VALUES, FEWER, epsilon=1).private
    located = replay(lambda v: stats.norm.rvs(len(v), 2.0), VALUES, FEWER, epsilon=1, delta=0.1)
    assert located.changes[0].loss == 0.5
    other = replay(lambda v: len(v) + stats.dlaplace.rvs(1.0), VALUES, FEWER, epsilon=1)
    assert other.verdict == "not understood"
    assert "dlaplace (test_recording_doubts.py:" in str(other)


def test_a_library_that_the_function_imports_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("diffprivlib")
    for name in [name for name in sys.modules if name.split(".")[0] == "diffprivlib"]:
        monkeypatch.delitem(sys.modules, name)

    def release(values: Any) -> Any:
        from diffprivlib.mechanisms import Laplace

        return Laplace(epsilon=1, sensitivity=1).randomise(sum(values))

    found = replay(release, VALUES, FEWER, epsilon=1)
    assert found.draws == (1, 1)
    assert found.kinds == {"sensitivity"}


def test_a_number_that_one_side_alone_lacks_is_a_finding() -> None:
    def release(values: Any) -> Any:
        mean = sum(values) / len(values) if values else float("nan")
        return mean + RNG.laplace(scale=100)

    for x, y in (([], [5.0]), ([5.0], [])):
        found = replay(release, x, y, epsilon=1)
        assert found.kinds == {"sensitivity"}
        assert "not a number on one side" in str(found)
    both = replay(lambda _: float("nan") + RNG.laplace(), VALUES, FEWER, epsilon=1)
    assert both.private


def test_a_function_that_leaves_python_on_one_side_is_found() -> None:
    found = replay(lambda v: sys.exit(0) if len(v) > 2 else 0, VALUES, FEWER)
    assert "error" in found.kinds
    with pytest.raises(RuntimeError, match="leaves Python on both"):
        replay(lambda _: sys.exit(0), VALUES, FEWER)


def test_arguments_are_named_that_are_not_what_they_should_be() -> None:
    wrong: Any = 5
    with pytest.raises(TypeError, match="function must be callable with a data set, not int"):
        replay(wrong, VALUES, FEWER)
    for adapters in ("numpy", 5, ["numpy"]):
        with pytest.raises(TypeError, match="adapters must be a list of adapters"):
            replay(by_hand, VALUES, FEWER, adapters=adapters)  # type: ignore[arg-type]  # wrong
    with pytest.raises(ValueError, match="repeats must be a whole number"):
        replay(by_hand, VALUES, FEWER, repeats=-1)
    for same in (VALUES, list(VALUES)):
        with pytest.raises(ValueError, match="x and y are the same input"):
            replay(by_hand, VALUES, same)


def test_choices_among_more_values_are_told_in_words() -> None:
    found = replay(lambda v: 0 * RNG.choice(v), VALUES, FEWER)
    assert "draw 1 has 3 values to choose from on x and 2 values to choose from on y" in str(found)


def test_replays_in_two_threads_leave_nothing_behind() -> None:
    before = (so.Laplace.release, np.random.default_rng, random.SystemRandom)
    inside, entered = threading.Event(), threading.Event()

    def first(values: Any) -> Any:
        inside.set()
        entered.wait(0.02)
        return LAPLACE.release(len(values))

    def second(values: Any) -> Any:
        entered.set()
        return LAPLACE.release(len(values))

    def later() -> None:
        inside.wait(5)
        replay(second, VALUES, FEWER)

    threads = [threading.Thread(target=replay, args=(first, VALUES, FEWER)),
               threading.Thread(target=later)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert before == (so.Laplace.release, np.random.default_rng, random.SystemRandom)


def test_what_other_threads_release_is_left_alone() -> None:
    others: list[Any] = []

    def elsewhere() -> None:
        others.append(LAPLACE.release(1_000_000))
        others.append(np.random.default_rng(7).laplace())
        others.append(random.SystemRandom().getrandbits(64))

    def release(values: Any) -> Any:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return LAPLACE.release(len(values))

    found = replay(release, VALUES, FEWER, epsilon=1)
    assert found.draws == (1, 1)
    assert found.changes[0].l1 == 1
    assert found.private
    assert all(abs(value - 1_000_000) < 100 for value in others[::3])  # by chance: below 1e-40
    assert set(others[1::3]) == {np.random.default_rng(7).laplace()}
    assert len(set(others[2::3])) == len(others) / 3  # two alike by chance: below 1e-15


def test_generators_that_outlive_a_replay_draw_real_noise() -> None:
    kept: list[Any] = []

    def lazy(values: Any) -> Any:
        kept.append((np.random.default_rng(), random.SystemRandom(), np.random.RandomState()))
        return len(values) + kept[-1][0].laplace()

    def drawn() -> list[Any]:
        start = len(kept)
        replay(lazy, VALUES, FEWER)
        generator, system, state = kept[start + 2]  # after two runs as it is
        assert isinstance(system, random.SystemRandom)
        return [generator.laplace(), system.getrandbits(64), system.random(), state.laplace()]

    assert not set(drawn()) & set(drawn())  # by chance: below 1e-14


def adds_row_by_row(values: Any) -> Any:
    total = RNG.laplace(scale=4.0)
    for value in values:
        total += value
    return total


def subtracts(values: Any) -> Any:
    return sum(values) - (RNG.laplace(scale=4.0) - 5)


def adds_to_an_array(values: Any) -> Any:
    counts = np.zeros(2) + RNG.laplace(scale=4.0, size=2)
    counts += np.array([sum(values), 1.0])
    return counts


def sums_a_list(values: Any) -> Any:
    return [sum([RNG.laplace(scale=4.0), *values])]


@pytest.mark.parametrize("function", [adds_row_by_row, subtracts, adds_to_an_array, sums_a_list])
def test_data_that_is_added_after_the_noise_is_measured(function: Any) -> None:
    found = replay(function, VALUES, FEWER, epsilon=1)
    assert found.private
    assert found.changes[0].loss == 1
    assert replay(function, VALUES, FEWER, epsilon=0.9).kinds == {"sensitivity"}


def test_a_noisy_value_that_is_told_before_more_data_is_added_is_not_private() -> None:
    def told(values: Any) -> Any:
        noisy = 1.0 + RNG.laplace(scale=4.0)
        return noisy, noisy + len(values)

    assert replay(told, VALUES, FEWER, epsilon=1).kinds == {"no noise"}


class Box:
    def __init__(self, held: Any) -> None:
        self.held = held


def test_labels_of_tables_and_what_objects_hold_are_looked_at() -> None:
    pandas = pytest.importorskip("pandas")

    def series(values: Any) -> Any:
        return pandas.Series([1.0 + RNG.laplace()], index=[f"p{len(values)}"])

    def frame(values: Any) -> Any:
        return pandas.DataFrame({f"c{len(values)}": [1.0 + RNG.laplace()]})

    for function in (series, frame, lambda v: Box(len(v)), lambda v: Box([Box(len(v))])):
        assert replay(function, VALUES, FEWER).kinds == {"no noise"}
    assert replay(lambda v: Box(len(v) + RNG.laplace()), VALUES, FEWER).private

    def circle(values: Any) -> Any:
        box = Box([len(values)])
        box.held += [box, box]
        return box

    assert replay(circle, VALUES, FEWER).kinds == {"no noise"}
    assert replay(lambda v: pandas.Series([len(v) + RNG.laplace()]), VALUES, FEWER).private
