# SPDX-License-Identifier: Apache-2.0
"""What is said of a grid before it is composed."""

import math
from dataclasses import replace
from fractions import Fraction

from sordino.privacy.grids import Aim, Grids
from sordino.privacy.leaf import PROFILE_ERROR
from sordino.privacy.pure import Pure

USES = 10**8


def test_an_order_is_enough_only_with_what_the_profiles_of_all_uses_are_off_by() -> None:
    aim = Aim(delta=1e-9)
    grid = Grids([(Pure(epsilon=Fraction(1, 100_000)), USES)], aim, reverse=False).first()
    cost, off = grid.cost(aim), USES * math.log1p(2 * PROFILE_ERROR) / grid.tilt
    assert off > 1e-5 * cost
    assert not grid.is_enough(replace(aim, floor=cost + off))
    assert grid.is_enough(replace(aim, floor=cost + 4 * off))


def test_a_grid_too_wide_for_its_atoms_is_refined_until_it_meets_them() -> None:
    grids = Grids([(Pure(epsilon=Fraction(1, 8)), 10)], Aim(delta=1e-9), reverse=False)
    assert grids.finer(1 / 8, 3) == 1 / 24
    step = 8.0  # doubled until a window of rare large losses had few enough points
    while step > 1 / 8:
        assert grids.finer(step, 2) == step / 2
        step /= 2
