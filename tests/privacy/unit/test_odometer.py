# SPDX-License-Identifier: Apache-2.0
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from time import perf_counter
from typing import Any

import pytest

from sordino.privacy.budget import Odometer
from sordino.privacy.concentrated import epsilon_from_rho
from sordino.privacy.pure import Approximate, Pure
from tests.privacy.unit.stated import Stated, concentrated, pure

MILLIONTH = Fraction(1, 10**6)


def test_without_delta_it_shows_the_exact_sum_of_the_pure_losses() -> None:
    odometer = Odometer()
    assert (odometer.epsilon, odometer.delta, odometer.history_length) == (0.0, 0.0, 0)
    for _ in range(30):
        odometer.spend(pure("0.1"))
    assert (odometer.epsilon, odometer.delta, odometer.history_length) == (3.0, 0.0, 30)
    assert repr(odometer) == "<Odometer at epsilon 3.0 and delta 0.0>"


def test_a_new_one_shows_nothing() -> None:
    assert Odometer(delta=1e-6).epsilon == 0.0
    assert math.copysign(1, Odometer().delta) == 1.0


def test_it_stands_on_the_lowest_rung_that_holds_everything() -> None:
    odometer = Odometer(delta=1e-6, first_rung=0.1, failures=0)
    seen = []
    for _ in range(8):
        odometer.spend(concentrated(0.1))
        seen.append(odometer.epsilon)
    rungs = [
        epsilon_from_rho(rho=Fraction(2**j, 10), delta=MILLIONTH / 2 ** (j + 1)) for j in range(4)
    ]
    assert seen == [rungs[j] for j in (0, 1, 2, 2, 3, 3, 3, 3)]
    assert rungs[0] == pytest.approx(2.2060, abs=1e-4)
    odometer.spend(concentrated(1e-9))
    assert odometer.epsilon > rungs[3]


def test_the_pure_sum_is_shown_while_it_is_the_better_one() -> None:
    odometer = Odometer(delta=1e-6)
    odometer.spend(pure("0.01"))
    assert odometer.epsilon == 0.01
    for _ in range(9999):
        odometer.spend(pure("0.01"))
    assert 1 < odometer.epsilon < 30
    odometer.spend(concentrated(0.01))
    assert odometer.epsilon < 30


def test_it_never_goes_back() -> None:
    odometer, before = Odometer(delta=1e-9, first_rung=1e-9), 0.0
    for step in range(200):
        odometer.spend(pure("0.05") if step % 3 else concentrated(1e-3))
        assert odometer.epsilon >= before
        before = odometer.epsilon


def test_losses_of_any_size_are_counted() -> None:
    odometer = Odometer(delta=1e-6, first_rung=1e-9)
    odometer.spend(concentrated(1e300))
    assert 1e300 <= odometer.epsilon < 1e301
    odometer.spend(concentrated(1.7e308))
    odometer.spend(concentrated(1.7e308))
    assert odometer.epsilon == math.inf


def test_what_would_leave_no_bound_is_refused_and_not_counted() -> None:
    odometer = Odometer()
    odometer.spend(pure(1))
    with pytest.raises(ValueError, match="give the odometer a delta, so that it counts rho"):
        odometer.spend(concentrated(0.1))
    with pytest.raises(ValueError, match="neither a finite epsilon nor a finite rho"):
        odometer.spend(Stated())
    assert (odometer.epsilon, odometer.history_length) == (1.0, 1)
    odometer = Odometer(delta=1e-6)
    odometer.spend(concentrated(0.1))
    with pytest.raises(ValueError, match="neither a finite epsilon nor a finite rho"):
        odometer.spend(Stated(pure=Fraction(1)))  # its rho is infinite, the other's epsilon
    assert odometer.history_length == 1
    for broken in (Stated(rho=math.nan), Stated(pure=Fraction(-1))):
        with pytest.raises(ValueError, match="a loss must be a number that is not negative"):
            odometer.spend(broken)
    with pytest.raises(TypeError, match="only a loss has a price"):
        odometer.spend(0.1)  # type: ignore[arg-type]  # the point of the test


def test_losses_with_a_delta_are_counted_as_far_as_it_goes() -> None:
    odometer = Odometer(delta=1e-6)
    loss = Approximate(epsilon=Fraction(1, 100), delta=Fraction(1, 10**9))
    for _ in range(100):
        odometer.spend(loss)
    assert odometer.delta == 1e-6
    ladder = Odometer(delta=9e-7, failures=0)
    for _ in range(100):
        ladder.spend(Pure(epsilon=Fraction(1, 100)))
    assert odometer.epsilon == ladder.epsilon < 1
    with pytest.raises(ValueError, match="which is 1e-07; state a larger part"):
        odometer.spend(loss)
    odometer.spend(pure("0.01"))
    assert odometer.history_length == 101
    with pytest.raises(ValueError, match="which is 0; state a larger part"):
        Odometer().spend(loss)


def test_neighbours_do_not_mix() -> None:
    for odometer in (Odometer(neighbours="replace_one"), Odometer()):
        odometer.spend(pure(1, "replace_one"))
        with pytest.raises(ValueError, match="holds for add_remove neighbours"):
            odometer.spend(pure(1, "add_remove"))
        odometer.spend(pure(1))
        assert odometer.history_length == 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"delta": 1}, ValueError, "delta must be a number of at least 0 and below 1, got 1"),
        ({"delta": math.nan}, ValueError, "delta must be a number of at least 0"),
        ({"delta": "1e-6"}, TypeError, "delta must be a number of at least 0"),
        ({"delta": True}, TypeError, "delta must be a number of at least 0"),
        ({"delta": 1e-6, "failures": 2e-6}, ValueError, "at most delta: got 2e-06 of 1e-06"),
        ({"first_rung": 0}, ValueError, "first_rung must be a positive number, got 0"),
        ({"first_rung": 1e-10}, ValueError, "first_rung must be a rho of at least 1e-9, got 1e-10"),
        ({"neighbours": "friends"}, ValueError, "neighbours must be 'add_remove' or 'replace_one'"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as refusal:
        Odometer(**arguments)
    assert message in str(refusal.value)


def test_threads_are_all_counted() -> None:
    odometer, loss = Odometer(), pure("0.001")

    def spend(_: int) -> None:
        for _ in range(100):
            odometer.spend(loss)

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(spend, range(10)))
    assert (odometer.epsilon, odometer.history_length) == (1.0, 1000)
    with pytest.raises(TypeError):
        pickle.dumps(odometer)


def test_it_does_not_slow_down() -> None:
    odometer, loss = Odometer(delta=1e-6), pure("0.000001")
    for _ in range(100_000):
        odometer.spend(loss)
    times = []
    for _ in range(50):
        began = perf_counter()
        odometer.spend(loss)
        assert odometer.epsilon > 0
        times.append(perf_counter() - began)
    assert sorted(times)[25] < 2e-3
