# SPDX-License-Identifier: Apache-2.0
"""Laws for every mechanism that chooses: what it releases keeps to its loss, by computation."""

import math
import pickle
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from sordino.mechanisms import CHOOSING
from tests.mechanisms.contract.choices import EVERY, EXAMPLES, Choice, is_bounded_range, price
from tests.support.tape import Tape, replay

Floats = npt.NDArray[np.float64]

every = pytest.mark.parametrize("choice", EVERY, ids=repr)
ranged = pytest.mark.parametrize("choice", [c for c in EVERY if is_bounded_range(c)], ids=repr)


@cache
def pairs(choice: Choice) -> tuple[Floats, Floats]:
    """The laws of all pairs of neighbours: one row for each pair, one column for each outcome."""
    known: dict[object, Floats] = {}

    def law(scores: tuple[int, ...]) -> Floats:
        if scores not in known:
            found = choice.law(choice.mechanism, scores)
            known[scores] = np.array([found[outcome] for outcome in sorted(found)])
        return known[scores]

    rows = [(law(here), law(there)) for here, there in choice.neighbours()]
    return np.array([here for here, _ in rows]), np.array([there for _, there in rows])


def test_every_choice_is_enrolled() -> None:
    assert set(EXAMPLES) == set(CHOOSING)
    assert all(EXAMPLES.values())


@every
def test_no_outcome_is_more_telling_than_the_pure_loss(choice: Choice) -> None:
    here, there = pairs(choice)
    assert here.min() > 0
    worst = float(np.abs(np.log(here / there)).max())
    assert worst <= float(price(choice)) * (1 + 1e-9)
    assert worst >= float(price(choice)) / 4  # no test of a mechanism that ignores its scores


@every
def test_no_set_of_outcomes_is_more_telling_than_the_profile(choice: Choice) -> None:
    here, there = pairs(choice)
    for share in (0.0, 0.1, 0.3, 0.5, 0.8, 1.0):
        epsilon = share * float(price(choice))
        claimed = choice.loss.delta(epsilon=epsilon)
        for p, q in ((here, there), (there, here)):
            measured = np.maximum(p - math.exp(epsilon) * q, 0).sum(axis=1).max()
            assert measured <= claimed * (1 + 1e-9) + 1e-12


@ranged
def test_the_losses_of_one_pair_lie_in_an_interval_of_length_epsilon(choice: Choice) -> None:
    here, there = pairs(choice)
    losses = np.log(here / there)
    assert (losses.max(axis=1) - losses.min(axis=1)).max() <= float(price(choice)) * (1 + 1e-9)


@every
def test_rho_bounds_the_divergence_of_every_order(choice: Choice) -> None:
    here, there = pairs(choice)
    for order in (1.01, 1.5, 2.0, 8.0, 50.0):
        powers = (here**order * there ** (1 - order)).sum(axis=1)
        divergence = float(np.log(powers).max()) / (order - 1)
        assert divergence <= order * choice.loss.rho * (1 + 1e-7)
        assert divergence <= choice.loss.renyi(order=order) * (1 + 1e-7)


@every
def test_two_choices_keep_to_the_composed_loss(choice: Choice) -> None:
    """The joint law of two independent releases, for the most telling pairs of neighbours."""
    here, there = pairs(choice)
    telling = np.argsort(np.abs(np.log(here / there)).max(axis=1))[-20:]
    for share in (0.2, 0.5, 0.9):
        epsilon = 2 * share * float(price(choice))
        claimed = (2 * choice.loss).delta(epsilon=epsilon)
        for i, j in product(telling, repeat=2):
            p, q = np.outer(here[i], here[j]), np.outer(there[i], there[j])
            assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= claimed * (1 + 1e-9) + 1e-12


@every
def test_the_same_bits_choose_the_same_and_an_outcome_is_one_of_the_law(choice: Choice) -> None:
    scores, _ = next(choice.neighbours())
    outcomes = choice.law(choice.mechanism, scores)
    data = np.random.default_rng(5).bytes(1 << 16)
    drawn = []
    for _ in range(2):
        with replay(Tape(data)):
            drawn.append([_outcome(choice.mechanism.release(list(scores))) for _ in range(10)])
    assert drawn[0] == drawn[1]
    assert set(drawn[0]) <= set(outcomes)


@every
def test_a_mechanism_that_has_travelled_chooses_by_the_same_law(choice: Choice) -> None:
    scores, _ = next(choice.neighbours())
    again = pickle.loads(pickle.dumps(choice.mechanism))  # noqa: S301 - ours
    assert choice.law(again, scores) == choice.law(choice.mechanism, scores)


def _outcome(released: object) -> object:
    return tuple(released) if isinstance(released, list) else released
