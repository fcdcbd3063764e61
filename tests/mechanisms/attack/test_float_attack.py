# SPDX-License-Identifier: Apache-2.0
"""The low bits of float noise tell neighbours apart; on a grid there is nothing to read.

The exact values of two neighbours are 0 and 1. Doubles near zero are finer than doubles near one,
so 1 + noise, when it comes out near zero, is always a multiple of 2**-53; 0 + noise hardly ever is.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from sordino import Gaussian, Laplace

Floats = npt.NDArray[np.float64]

DRAWS = 16 * 2**16
EPSILON = 1.0
FALSE_ALARMS = 1e-6  # the most that a correct mechanism may fail this file


def multiple_of(step: float, outputs: Floats) -> npt.NDArray[np.bool_]:
    scaled = outputs / step  # exact: the step is a power of two
    whole: npt.NDArray[np.bool_] = scaled == np.rint(scaled)
    return whole


def events(outputs: Floats, grid: float) -> dict[str, int]:
    """How often each event of the attack happened, near zero and anywhere."""
    counts = {}
    for name, near in (("near 0", 2.0**-6), ("below 1", 1.0), ("anywhere", math.inf)):
        inside = outputs[np.abs(outputs) < near]
        counts[name] = inside.size
        counts[f"{name}, coarse"] = int(multiple_of(2.0**-53, inside).sum())
        counts[f"{name}, fine"] = inside.size - counts[f"{name}, coarse"]
        for bit in range(4):
            step = grid * 2.0 ** (bit + 1)
            counts[f"{name}, bit {bit}"] = int(multiple_of(step, inside).sum())
    return counts


def released(mechanism: Laplace | Gaussian, value: float) -> Floats:
    rounds = [mechanism.release(np.full(2**16, value)) for _ in range(DRAWS // 2**16)]
    return np.concatenate(rounds)


def test_float_noise_gives_the_value_away() -> None:
    rng = np.random.default_rng(20)
    zero = 0.0 + rng.laplace(scale=1 / EPSILON, size=DRAWS)
    one = 1.0 + rng.laplace(scale=1 / EPSILON, size=DRAWS)
    near_zero, near_one = (outputs[np.abs(outputs) < 2.0**-6] for outputs in (zero, one))
    assert near_zero.size > 1000
    assert near_one.size > 1000
    assert multiple_of(2.0**-53, near_one).all()
    assert multiple_of(2.0**-53, near_zero).mean() < 0.05
    # One answer that is not a multiple settles it, and there are many: an event with probability
    # above a quarter for one neighbour and none at all for the other.
    below = np.abs(zero) < 1
    assert (below & ~multiple_of(2.0**-53, zero)).mean() > 0.25
    assert not (np.abs(one[~multiple_of(2.0**-53, one)]) < 1).any()


MECHANISMS: dict[str, Callable[[], Laplace | Gaussian]] = {
    "Laplace": lambda: Laplace(sensitivity=1.0, epsilon=EPSILON),
    "Gaussian": lambda: Gaussian(sensitivity=1.0, epsilon=EPSILON, delta=1e-5),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_both_neighbours_reach_the_same_outputs(name: str) -> None:
    mechanism = MECHANISMS[name]()
    grid = float(mechanism.grid)
    assert math.log2(grid) == int(math.log2(grid))
    for value in (0.0, 1.0, 1 / 3, -1e-300):
        outputs = released(mechanism, value)[: 2**18]
        assert multiple_of(grid, outputs).all()
        assert np.abs(outputs).max() / grid < 2.0**53  # so every multiple in this range is a double


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_event_of_the_attack_tells_neighbours_apart(name: str) -> None:
    """P(event | x) <= e^epsilon P(event | x') + delta, up to sampling error.

    By Hoeffding's inequality each of the two frequencies is within t of its probability except
    with probability 2 exp(-2 n t^2); t makes all of them together fail less often than stated.
    """
    mechanism = MECHANISMS[name]()
    delta = 0.0 if isinstance(mechanism, Laplace) else 1e-5
    grid = float(mechanism.grid)
    counts = {value: events(released(mechanism, value), grid) for value in (0.0, 1.0)}
    looks = 2 * len(counts[0.0]) * len(MECHANISMS)
    t = math.sqrt(math.log(2 * looks / FALSE_ALARMS) / (2 * DRAWS))
    assert t < 0.004
    for here, there in ((0.0, 1.0), (1.0, 0.0)):
        for event, count in counts[here].items():
            p, q = count / DRAWS, counts[there][event] / DRAWS
            assert p - t <= math.exp(EPSILON) * (q + t) + delta, event


def test_the_low_bits_are_the_same_coin_for_both_neighbours() -> None:
    """Near zero, where float noise was all or nothing, the last bit is a fair coin for both."""
    mechanism = MECHANISMS["Laplace"]()
    grid = float(mechanism.grid)
    for value in (0.0, 1.0):
        outputs = released(mechanism, value)
        near = outputs[np.abs(outputs) < 2.0**-2]
        even = multiple_of(2 * grid, near).mean()
        t = math.sqrt(math.log(2 * 2 / FALSE_ALARMS) / (2 * near.size))
        assert abs(even - 0.5) < t + 2.0**-30  # the bit itself is fair up to far less than this
