# SPDX-License-Identifier: Apache-2.0
"""Numbers in the local model: reports fit their channel, errors their formula, intervals hold.

Each test fails with a probability of at most 1e-6 if all is right, and draws from a fixed tape.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

from sordino.local.numbers import NumberProtocol
from sordino.local.one_bit import OneBit
from sordino.local.piecewise import Piecewise
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

FALSE_ALARM = 1e-6
Column = np.ndarray[Any, np.dtype[np.float64]]
KINDS: list[type[OneBit | Piecewise]] = [OneBit, Piecewise]
RUNS = 600


def errors(
    protocol: NumberProtocol, people: Callable[[int], Column], truth: float, runs: int, seed: int
) -> tuple[Column, int]:
    """The errors of so many estimates, and how many intervals hold the truth."""
    found, held = np.empty(runs), 0
    client = protocol.client()
    with replay(SeededBits(seed)):
        for run in range(runs):
            server = protocol.server()
            server.add(client.encode(people(run)))
            estimate = server.estimate(confidence=0.95)
            found[run] = estimate.mean - truth
            held += estimate.low <= truth <= estimate.high
    return found, held


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.3, 1, 5])
def test_reports_of_every_place_fit_the_channel(
    kind: type[OneBit | Piecewise], epsilon: float
) -> None:
    protocol = kind(0, 6, epsilon=epsilon, steps=6)
    channel = protocol.channel()
    with replay(SeededBits(1)):
        for j in range(7):
            drawn = protocol.client().encode(np.full(40_000, j)).data.tolist()
            assert_fits(drawn, {o: float(chances[j]) for o, chances in channel.items()})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.5, 2, 6])
@pytest.mark.parametrize("value", [-1.0, 0.005, 0.7])
def test_errors_have_the_variance_that_was_predicted(
    kind: type[OneBit | Piecewise], epsilon: float, value: float
) -> None:
    protocol, people = kind(-1, 1, epsilon=epsilon, steps=8), 500
    found, _ = errors(protocol, lambda _: np.full(people, value), value, RUNS, 2)
    statistic = (found**2).sum() / protocol.standard_error(people, value=value) ** 2
    low, high = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], RUNS)
    assert low < statistic < high


def fixed(rng: np.random.Generator, people: int) -> Column:
    return np.where(rng.random(people) < 0.1, 9.0, rng.beta(2, 5, people) * 10)


def check_coverage(
    kind: type[OneBit | Piecewise], epsilon: float, people: int, runs: int, seed: int
) -> None:
    protocol = kind(0, 10, epsilon=epsilon)
    rng = np.random.default_rng(seed)
    fewest = binom.ppf(FALSE_ALARM, runs, 0.95)
    column = fixed(rng, people)
    _, held = errors(protocol, lambda _: column, float(column.mean()), runs, seed)
    assert held >= fewest
    mean = 0.1 * 9 + 0.9 * 10 * 2 / 7  # of the law that the people come from
    _, held = errors(protocol, lambda _: fixed(rng, people), mean, runs, seed)
    assert held >= fewest


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("epsilon", "people"), [(1, 30), (1, 6000), (8, 200), (4, 20_000)])
def test_intervals_hold_fixed_people_and_people_drawn_at_random(
    kind: type[OneBit | Piecewise], epsilon: float, people: int
) -> None:
    check_coverage(kind, epsilon, people, runs=400, seed=3)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.2, 1, 4, 10])
@pytest.mark.parametrize("people", [1, 10, 100, 2000, 30_000])
def test_intervals_hold_in_a_long_campaign(
    kind: type[OneBit | Piecewise], epsilon: float, people: int
) -> None:
    check_coverage(kind, epsilon, people, runs=min(10_000, 10**8 // people), seed=4)
