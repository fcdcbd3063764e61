# SPDX-License-Identifier: Apache-2.0
"""Runs of places are the same whether they are found all at once in 64 bits or one by one."""

from fractions import Fraction
from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sordino.mechanisms.choose.interval import as_interval
from sordino.mechanisms.choose.quantiles import ranks
from sordino.mechanisms.choose.quantiles.ranks import Slab, read_records

POINTS = st.dictionaries(st.integers(0, 40), st.integers(0, 2**30), max_size=12)


@given(
    POINTS,
    st.fractions(0, 1, max_denominator=50),
    st.fractions(Fraction(1, 1000), 100, max_denominator=1000),
    st.integers(0, 30),
    st.integers(1, 60),
)
def test_runs_found_at_once_are_those_found_one_by_one(
    held: dict[int, int], target: Fraction, unit: Fraction, first: int, many: int
) -> None:
    interval = as_interval((0, 40), step=None)
    values = np.array(list(held), dtype=np.int64)
    records = read_records(interval, values, np.array(list(held.values()), dtype=np.int64))
    slab = Slab.between(records, interval, (0, interval.size), target, fine=1, tie=True)
    levels = range(first, first + many)
    at_once = slab.runs(levels, unit)
    with mock.patch.object(ranks, "_SMALL", 0):
        assert slab.runs(levels, unit) == at_once
    sizes = [slab.weight(run) for run in at_once]
    assert sizes == [max(stop - start, 0) for start, stop in at_once]
