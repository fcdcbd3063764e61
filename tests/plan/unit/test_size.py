# SPDX-License-Identifier: Apache-2.0
"""The size of an answer is known before it is paid for, and what is too large is refused."""

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino as so
from sordino.answer.answer import to_bytes
from sordino.errors import Unsupported
from sordino.plan import bound
from sordino.plan.bound import LARGEST_ANSWER, stored_size

ROWS = pa.table({"ward": ["a", "b"] * 20, "age": [30, 40] * 20, "day": [1, 2] * 20})
NARROW = 4_000  # bytes that an answer takes besides its rows


def session(wards: list[str], ages: int, **more: Any) -> so.Session:
    return so.table(
        ROWS,
        unit="row",
        keys={"ward": wards, "age": range(ages)},
        bounds={"day": (0, 9)},
        epsilon=10**6,
        **more,
    )


@settings(max_examples=20, deadline=None)
@given(
    wards=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
        min_size=2,
        max_size=8,
        unique=True,
    ),
    ages=st.integers(1, 8),
    asked=st.sampled_from(
        [
            ("ward, COUNT(*)", "ward"),
            ("age, ward, COUNT(*), AVG(day)", "age, ward"),
            ("ward, UPPER(ward) AS u, SUM(day)", "ward"),
            ("age, MEDIAN(day), age + 1 AS later", "age"),
            ("age, TOP(2, ward)", "age"),
        ]
    ),
    limit=st.none() | st.integers(1, 20),
)
def test_an_answer_takes_no_more_than_was_foreseen(
    wards: list[str], ages: int, asked: tuple[str, str], limit: int | None
) -> None:
    chosen, keys = asked
    sql = f"SELECT {chosen} FROM data GROUP BY {keys}"  # noqa: S608 - of our own
    with session(wards, ages) as data:
        plan = data.plan(sql if limit is None else f"{sql} LIMIT {limit}", epsilon=Fraction(1, 2))
        foreseen = stored_size(plan.query)
        assert foreseen is not None
        body = to_bytes(data.answer(plan))
        # TOP lists those that are there; the longest may come in every group.
        spread = 2 * max(len(repr(ward.encode("utf-16"))) for ward in wards) * ages
        assert len(body) <= foreseen + NARROW + (spread if "TOP" in chosen else 0)


WIDE = "SELECT ward, age, COUNT(*), SUM(day), AVG(day), STDDEV(day) FROM data GROUP BY ward, age"


def test_what_would_be_too_large_is_refused_before_the_charge() -> None:
    wards = [f"ward {number}" for number in range(500)]
    with session(wards, 1_000) as data:
        for ask in (data.ask, data.explain):
            with pytest.raises(Unsupported, match=r"would take about \d+ MB, and 64 MB") as refused:
                ask(WIDE, epsilon=1e-6)
            assert refused.value.code == "answer_too_large"
        assert data.ledger.heads() == ()
        data.explain(f"{WIDE} LIMIT 10000", epsilon=1e-6)
        data.explain("SELECT ward, COUNT(*) FROM data GROUP BY ward", epsilon=1e-6)


def test_a_plan_that_was_made_elsewhere_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with session(["a", "b"], 2) as data:
        plan = data.plan(WIDE, epsilon=1)
        monkeypatch.setattr(bound, "LARGEST_ANSWER", 100)
        with pytest.raises(Unsupported, match="the most"):
            data.answer(plan)
        assert data.ledger.heads() == ()


def test_keys_that_are_long_count_with_their_length() -> None:
    wards = [f"{number:04}" + "x" * 9_000 for number in range(1_000)]
    with session(wards, 100) as data:
        with pytest.raises(Unsupported):
            data.explain("SELECT ward, age, COUNT(*) FROM data GROUP BY ward, age", epsilon=1)
        data.explain("SELECT age, ward, COUNT(*) FROM data GROUP BY age, ward LIMIT 5", epsilon=1)


def test_how_many_keys_are_discovered_is_not_foreseen() -> None:
    with so.table(ROWS, unit="row", epsilon=1, delta=1e-6) as data:
        plan = data.plan("SELECT ward, COUNT(*) FROM data GROUP BY ward", epsilon=0.5)
        assert stored_size(plan.query) is None
        assert plan.keys is not None
        assert plan.keys.count_for(Fraction(1, 2)) > 10
    assert LARGEST_ANSWER == 64_000_000
