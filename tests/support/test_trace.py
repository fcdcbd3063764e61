# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import pyarrow as pa
import pytest

from sordino.errors import UnknownName
from tests.fixtures.hospital import filled, hospital
from tests.support.trace import Trace, by_group, trace

VISITS: list[dict[str, object]] = [
    {"patient_id": 1, "disease": "flu", "cost": 10.0},
    {"patient_id": 1, "disease": "flu", "cost": 5000.0},
    {"patient_id": 2, "disease": "asthma", "cost": float("nan")},
    {"patient_id": None, "disease": "flu", "cost": 1.0},
]


def traced(sql: str) -> Trace:
    return trace(hospital({"visits": filled("visits", VISITS)}), sql, epsilon=1)


def test_a_trace_has_the_exact_integers_of_every_group() -> None:
    found = traced("SELECT disease, COUNT(*) FROM visits GROUP BY disease")
    assert found.exact == ({("flu",): (2 * 65536,), ("asthma",): (65536,)},)
    assert found.prepared.columns[0] == "disease"
    assert found.prepared.types[0] == "text"


def test_a_trace_has_what_is_declared_and_paid() -> None:
    prepared = traced("SELECT COUNT(*) FROM visits").prepared
    assert prepared.price.nanos == 10**9
    assert prepared.slack == 0
    assert prepared.shifts[0].l1 == 8 * 65536
    assert prepared.mechanisms == ("Laplace(sensitivity=524288, epsilon=1) * 1/65536",)
    assert "visits" not in prepared.sql


def test_ranks_and_votes_are_told_by_place() -> None:
    quantile, vote = traced("SELECT MEDIAN(age), MODE(disease) FROM visits").exact
    assert quantile == {}
    assert vote == {(0,): (256,), (2,): (512,)}


def test_a_group_that_comes_twice_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="came twice"):
        by_group(pa.table({"k0": ["a", "a"], "s0": [1, 2]}))


def test_what_is_refused_is_refused_before_data_is_touched() -> None:
    with pytest.raises(UnknownName):
        trace(hospital(), "SELECT COUNT(*) FROM nowhere", epsilon=Fraction(1))
