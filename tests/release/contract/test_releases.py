# SPDX-License-Identifier: Apache-2.0
"""Laws for every other mechanism: what it tells keeps to its loss, by computation."""

import copy
import math
import pickle
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import sordino
from sordino import BestOf
from sordino.mechanisms import ADDING, CHOOSING, RELEASING, smooth
from tests.release.contract.releases import EVERY, EXAMPLES, Release
from tests.support.seeded import SeededBits
from tests.support.tape import Tape, replay

Floats = npt.NDArray[np.float64]
NAMES: dict[str, Any] = {**vars(smooth), "Fraction": Fraction}
WASTE = 25  # a mechanism that spends less than this part of its loss here tests nothing

every = pytest.mark.parametrize("release", EVERY, ids=repr)


@cache
def pairs(release: Release) -> tuple[Floats, Floats]:
    """The laws of all pairs of neighbours: one row for each pair, one column for each outcome."""
    known: dict[object, Floats] = {}
    first, _ = next(release.neighbours())
    outcomes = list(release.law(release.mechanism, first))

    def law(data: tuple[Any, ...]) -> Floats:
        if data not in known:
            found = release.law(release.mechanism, data)
            assert set(found) == set(outcomes)
            known[data] = np.array([found[outcome] for outcome in outcomes])
        return known[data]

    rows = [(law(here), law(there)) for here, there in release.neighbours()]
    return np.array([here for here, _ in rows]), np.array([there for _, there in rows])


def gains(p: Floats, q: Floats, epsilon: float) -> Floats:
    """The hockey-stick divergence of each pair."""
    found: Floats = np.maximum(p - math.exp(epsilon) * q, 0).sum(axis=-1)
    return found


def test_every_release_is_enrolled() -> None:
    assert set(EXAMPLES) == set(RELEASING)
    assert all(EXAMPLES.values())
    assert len({*ADDING, *CHOOSING, *RELEASING}) == len(ADDING) + len(CHOOSING) + len(RELEASING)


@every
def test_the_laws_are_laws(release: Release) -> None:
    here, there = pairs(release)
    for laws in (here, there):
        assert laws.min() >= -1e-15
        assert np.abs(laws.sum(axis=1) - 1).max() < 1e-9


@every
def test_the_loss_states_no_more_than_was_asked_for(release: Release) -> None:
    """Doubles are read as they print."""
    stated = release.loss.delta(epsilon=release.epsilon), release.loss.epsilon(delta=release.delta)
    assert Fraction(repr(stated[0])) <= release.delta
    assert Fraction(repr(stated[1])) <= release.epsilon


@every
def test_no_outcome_is_more_telling_than_the_pure_loss(release: Release) -> None:
    pure = release.loss.pure
    if pure is None:
        assert release.delta > 0
        return
    here, there = (laws[:, laws.max(axis=0) > 0] for laws in pairs(release))
    worst = float(np.abs(np.log(here / there)).max())
    assert worst <= float(pure) * (1 + 1e-9)
    assert worst >= float(pure) / WASTE


@every
def test_no_set_of_outcomes_is_more_telling_than_the_profile(release: Release) -> None:
    here, there = pairs(release)
    for share in (0.0, 0.1, 0.3, 0.5, 0.8, 1.0, 1.2):
        epsilon = share * float(release.epsilon)
        claimed = release.loss.delta(epsilon=epsilon)
        measured = max(gains(here, there, epsilon).max(), gains(there, here, epsilon).max())
        assert measured <= claimed * (1 + 1e-9) + 1e-12
        if share <= 0.1:
            assert measured >= claimed / WASTE


@every
def test_two_releases_keep_to_the_composed_loss(release: Release) -> None:
    """The joint law of two independent releases, for the most telling pairs of neighbours."""
    here, there = pairs(release)
    telling = np.argsort(gains(here, there, float(release.epsilon) / 2))[-4:]
    for share in (0.2, 0.5, 1.0):
        epsilon = 2 * share * float(release.epsilon)
        claimed = (2 * release.loss).delta(epsilon=epsilon)
        for i, j in product(telling, repeat=2):
            p, q = np.outer(here[i], here[j]).ravel(), np.outer(there[i], there[j]).ravel()
            assert gains(p, q, epsilon) <= claimed * (1 + 1e-9) + 1e-12


@every
def test_the_same_bits_tell_the_same_and_an_outcome_is_one_of_the_law(release: Release) -> None:
    data, _ = list(release.neighbours())[-1]
    outcomes = release.law(release.mechanism, data)
    tape = np.random.default_rng(5).bytes(1 << 17)
    drawn = []
    for mechanism in (release.mechanism, copy.deepcopy(release.mechanism)):
        with replay(Tape(tape)):
            drawn.append([release.draw(mechanism, data) for _ in range(10)])
    assert drawn[0] == drawn[1]
    assert set(drawn[0]) <= set(outcomes)


@every
def test_frequencies_fit_the_law(release: Release) -> None:
    """Each within six standard deviations and four, of 600 draws from a seeded tape."""
    draws = 600
    for data in list(release.neighbours())[-1]:
        with replay(SeededBits(17)):
            seen = Counter(release.draw(release.mechanism, data) for _ in range(draws))
        for outcome, p in release.law(release.mechanism, data).items():
            spread = math.sqrt(draws * max(p, 0) * (1 - p))
            assert abs(seen[outcome] - draws * p) <= 6 * spread + 4


@every
def test_equal_parameters_make_equal_releases(release: Release) -> None:
    mechanism = release.mechanism
    release.draw(mechanism, next(release.neighbours())[0])  # what a draw keeps is no parameter
    found = [copy.copy(mechanism), copy.deepcopy(mechanism)]
    found.append(pickle.loads(pickle.dumps(mechanism)))  # noqa: S301 - ours
    if not isinstance(mechanism, BestOf):  # it holds a Loss, which is written as a sum, to read
        found.append(eval(repr(mechanism), vars(sordino) | NAMES))  # noqa: S307 - our own repr
    for same in found:
        assert same == mechanism
        assert hash(same) == hash(mechanism)
        assert repr(same) == repr(mechanism)
        assert same.loss == mechanism.loss
    assert sum(other.mechanism == mechanism for other in EVERY) == 1
