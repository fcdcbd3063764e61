# SPDX-License-Identifier: Apache-2.0
"""Candidates that are not listed are drawn as if they were."""

from typing import TypeAlias

import pytest

from sordino.mechanisms.choose import Exponential, PermuteAndFlip
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

Mechanism: TypeAlias = "Exponential | PermuteAndFlip"
FOODS = [3, 3, 2, 3, 4]
MECHANISMS = [Exponential(sensitivity=1, epsilon=1), PermuteAndFlip(sensitivity=1, epsilon=1)]
every = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


@every
@pytest.mark.parametrize("default", [-1, 3, 6])
def test_draws_with_others_follow_the_law_of_the_whole_list(
    mechanism: Mechanism, default: int
) -> None:
    law = mechanism.probabilities([*FOODS, *[default] * 7])
    with replay(SeededBits(20262)):
        drawn = [mechanism.release(FOODS, others=7, default_score=default) for _ in range(2000)]
    assert_fits(drawn, dict(enumerate(law.tolist())))


@every
@pytest.mark.parametrize("default", [-3, 9])
def test_with_nothing_listed_the_choice_is_uniform(mechanism: Mechanism, default: int) -> None:
    """Empty data must not be told apart from other data by an error."""
    with replay(SeededBits(20263)):
        drawn = [mechanism.release([], others=4, default_score=default) for _ in range(2000)]
    assert_fits(drawn, dict.fromkeys(range(4), 0.25))
