# SPDX-License-Identifier: Apache-2.0
"""Radii of clusters around public centres."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sordino as so
from sordino.mechanisms import smooth
from sordino.mechanisms.smooth.statistics import _reached
from tests.support.seeded import SeededBits
from tests.support.tape import replay

CENTRES = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)]
POINTS = [(1, 0), (3, 4), (0, 2), (10, 1), (9, 0), (1, 12), (40, 0)]
coordinates = st.integers(-12, 12)
points = st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=8)


def test_each_radius_is_a_quantile_of_half_the_epsilon() -> None:
    distances = [
        [1, 5, 2, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 0, 30],
        [0, 0, 0, 0, 0, math.sqrt(5), 0],
    ]
    with replay(SeededBits(7)):
        by_hand = [
            smooth.quantile(values, rank=6, bounds=(0, 20), epsilon=0.5) for values in distances
        ]
    with replay(SeededBits(7)):
        radii = so.smooth.cluster_radii(POINTS, CENTRES, trim=1, largest=20, epsilon=1)
    assert radii == by_hand


def test_a_single_cluster_gets_all_of_it() -> None:
    values = [1, 5, 2, math.hypot(10, 1), 9, math.hypot(1, 12), 40]
    with replay(SeededBits(7)):
        by_hand = smooth.quantile(
            values, rank=7, bounds=(0, 20), epsilon=1, delta=1e-6, noise="laplace"
        )
    with replay(SeededBits(7)):
        radii = so.smooth.cluster_radii(
            POINTS, [(0, 0)], trim=0, largest=20, epsilon=1, delta=1e-6, noise="laplace"
        )
    assert radii == [by_hand]


@given(points, st.tuples(coordinates, coordinates), st.data())
def test_a_point_that_is_replaced_changes_one_record_of_at_most_two_clusters(
    data: list[tuple[int, int]], new: tuple[int, int], draw: st.DataObject
) -> None:
    centres = np.array([(0.0, 0.0), (5.0, 5.0), (-5.0, 5.0), (5.0, 5.0)])
    place = draw.draw(st.integers(0, len(data) - 1))
    other = [*data[:place], new, *data[place + 1 :]]
    pair = [_reached(np.array(d, dtype=float).T, centres) for d in (data, other)]
    moved = [np.flatnonzero(one != two).tolist() for one, two in zip(*pair, strict=True)]
    assert sum(bool(places) for places in moved) <= 2
    assert {p for places in moved for p in places} <= {place}


def test_many_points_are_told_well() -> None:
    rng = np.random.default_rng(3)
    cloud = np.concatenate([rng.normal(c, 1.0, (4000, 2)) for c in CENTRES])
    with replay(SeededBits(2)):
        radii = so.smooth.cluster_radii(cloud, CENTRES, trim=400, largest=50, epsilon=2)
    # 400 of 4000 points are farther than the 90 % quantile of a Rayleigh law.
    assert radii == pytest.approx([math.sqrt(2 * math.log(10))] * 3, abs=0.4)


MISSING: list[Any] = [
    [(1, 0), (None, 2), (math.nan, math.nan), (math.inf, 1)],
    pd.DataFrame({"x": [1, None, math.nan, math.inf], "y": [0, 2, math.nan, 1]}),
    np.array([(1, 0), (math.nan, 2), (math.nan, math.nan), (math.inf, 1)]),
]


@pytest.mark.parametrize("data", MISSING)
def test_points_without_a_place_are_in_no_cluster_and_no_error(data: Any) -> None:
    with replay(SeededBits(1)):
        by_hand = smooth.quantile([1, 0, 0, 9], rank=3, bounds=(0, 9), epsilon=1)
    with replay(SeededBits(1)):
        radii = so.smooth.cluster_radii(data, [(0, 0)], trim=1, largest=9, epsilon=1)
    assert radii == [by_hand]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"points": [(1, 2, 3)]}, "as many numbers as a centre"),
    ({"points": []}, "at least one point"),
    ({"points": 5}, "as many numbers as a centre"),
    ({"points": [("a", 1)]}, "values must be numbers"),
    ({"centres": []}, "at least one"),
    ({"centres": [(1, 2), (1,)]}, "the same dimension"),
    ({"centres": "ab"}, "centres must be a list"),
    ({"centres": [(math.inf, 0)]}, "a coordinate of a centre must be a finite number"),
    ({"trim": 2}, "trim must be a whole number, at least 0 and below"),
    ({"trim": -1}, "trim must be a whole number, at least 0 and below"),
    ({"largest": 0}, "largest must be a positive number"),
    ({"epsilon": 0}, "epsilon must be a positive number"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {
        "points": [(1, 2), (3, 4)], "centres": [(0, 0)], "trim": 0, "largest": 9, "epsilon": 1,
    }  # fmt: skip
    with pytest.raises((TypeError, ValueError), match=message):
        so.smooth.cluster_radii(**(usual | options))
