# SPDX-License-Identifier: Apache-2.0
"""One quantile by permute-and-flip."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose import PermuteAndFlip
from sordino.mechanisms.choose.quantiles.quantiles import Quantiles
from sordino.mechanisms.choose.quantiles.ranks import joint_spread
from tests.mechanisms.unit.choose.rank_laws import RELATIONS
from tests.mechanisms.unit.choose.test_quantile import score
from tests.support.seeded import SeededBits
from tests.support.tape import replay


@pytest.mark.parametrize("relation", RELATIONS)
def test_permute_and_flip_has_the_law_it_states(relation: Any) -> None:
    mechanism = Quantiles([0.3], range=(0, 4), epsilon=2, neighbours=relation)
    values = [0, 0, 2, 2, 2, 4]
    law = [p for _, _, p in mechanism.probabilities(values)]
    rate = 2 / joint_spread([Fraction(3, 10)], relation)
    scores = [score((2, 0, 3, 0, 1), Fraction(3, 10), p) for p in range(5)]
    choice = PermuteAndFlip(sensitivity=1, epsilon=rate, spread=1)
    np.testing.assert_allclose(law, choice.probabilities(scores), rtol=1e-12)
    with replay(SeededBits(13)):
        drawn = [mechanism.release(values)[0] for _ in range(1500)]
    expected = 1500 * np.array(law)
    seen = np.bincount(drawn, minlength=5)
    assert ((seen - expected) ** 2 / expected).sum() < 37  # 4 degrees of freedom, alpha 2e-7


def test_a_fine_grid_a_base_and_a_delta_leave_the_exponential_mechanism() -> None:
    for kind in (
        Quantiles([0.5], range=(0.0, 1.0), epsilon=1, neighbours="add_remove"),
        Quantiles([0.5], range=(0, 9), epsilon=1, neighbours="add_remove", delta=1e-6),
        Quantiles([0.2, 0.5], range=(0, 9), epsilon=1, neighbours="add_remove"),
    ):
        assert kind.mechanism == "exponential"
    with pytest.raises(ValueError, match="permute_and_flip finds one quantile, on a grid of"):
        Quantiles(
            [0.5],
            range=(0.0, 1.0),
            epsilon=1,
            neighbours="add_remove",
            mechanism="permute_and_flip",
        )
    with pytest.raises(ValueError, match="mechanism must be"):
        Quantiles([0.5], range=(0, 1), epsilon=1, neighbours="add_remove", mechanism="x")  # type: ignore[arg-type]  # wrong
