# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.privacy.laplace import ContinuousLaplace
from sordino.privacy.leaf import Leaf
from sordino.privacy.pure import KaryResponse, Pure
from sordino.privacy.subsampled import tabulate, weighted

LOSSES: list[Leaf] = [
    Pure(epsilon=Fraction(1)),
    KaryResponse(epsilon=Fraction(3), categories=7),
    ContinuousLaplace(epsilon=Fraction(2)),
    ContinuousLaplace(epsilon=Fraction(1, 1000)),
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_divergences_are_integrals_of_profiles(loss: Leaf) -> None:
    assert loss.pure is not None
    table = tabulate(loss.profile, float(loss.pure))
    assert table.rest == 0
    kl = weighted(table, 0) + weighted(table, -1)
    assert loss.kl <= kl <= loss.kl * (1 + 1e-6)
    for order in (1.1, 2.0, 9.5, 60.0):
        both = weighted(table, order - 1) + weighted(table, -order)
        found = math.log1p(order * (order - 1) * both) / (order - 1)
        true = loss.renyi(order=order)
        assert true <= found <= true * (1 + 1e-6)


def test_the_chords_of_a_profile_lie_above_it() -> None:
    coarse = tabulate(lambda at: np.exp(-at), 1.0)
    assert weighted(coarse, 0.0) == pytest.approx(-math.expm1(-1), rel=1e-6)
    assert weighted(coarse, 0.0) > -math.expm1(-1)


def test_rates_that_are_too_large_for_a_table_are_not_answered() -> None:
    table = tabulate(lambda at: np.exp(-at), 1.0)
    assert weighted(table, 1e6) == math.inf
    assert math.isfinite(weighted(table, -1e6))
