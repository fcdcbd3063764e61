# SPDX-License-Identifier: Apache-2.0
"""A row below a parent is one row for each unit that it leads to, however many rows those have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.catalog.model import Catalog, ForeignKey
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.plan.plan import FINE, Bounded, Cells, RowCount, Shares
from sordino.query.tree import Scan
from sordino.query.types import Type
from tests.engine.engines import catalog, frame, rows_of, table
from tests.engine.reference.rows import owned

ID = Type.INTEGER
PEOPLE, STAYS, BILLS = {"who": ID, "home": ID}, {"home": ID, "stay": ID}, {"stay": ID}
Pairs = list[tuple[int | None, int | None]]


def declared(people: Pairs, stays: Pairs, bills: list[int | None], key: str) -> Catalog:
    """Return people with homes, stays at homes, and bills of stays; stays refer to ``key``."""
    return catalog(
        table("people", PEOPLE, frame(PEOPLE, people), unit="who"),
        table("stays", STAYS, frame(STAYS, stays), parent=ForeignKey("home", "people", key)),
        table(
            "bills",
            BILLS,
            frame(BILLS, [(bill,) for bill in bills]),
            parent=ForeignKey("stay", "stays", "stay"),
        ),
    )


def counted(made: Catalog, make: Callable[..., DuckdbEngine] = DuckdbEngine) -> Iterator[int]:
    """Return how many rows the tables below people have."""
    engine = make(made, threads=1)
    for name in ("stays", "bills"):
        bounded = Bounded(Scan(name, ()), (), Shares(rows=10**8), (Cells((RowCount(),)),))
        (rows,) = rows_of(engine, bounded)
        ((many,),) = rows or {(0,)}
        yield many // FINE
    engine.close()


@pytest.mark.parametrize("key", ["home", "who"])
def test_rows_of_a_parent_do_not_multiply_those_below(key: str) -> None:
    many = 100  # of which there would be 10,000 stays and 1,000,000 bills
    made = declared([(1, 1)] * many, [(1, 1)] * many, [1] * many, key)
    assert list(counted(made)) == [many, many]


small = st.none() | st.integers(0, 3)
pairs = st.lists(st.tuples(small, small), max_size=8)


@settings(max_examples=25, deadline=None)
@given(pairs, pairs, st.lists(small, max_size=8), st.sampled_from(["home", "who"]))
def test_below_parents_is_what_plain_python_says(
    people: Pairs, stays: Pairs, bills: list[int | None], key: str
) -> None:
    made = declared(people, stays, bills, key)
    stored = {
        "people": [dict(zip(PEOPLE, row, strict=True)) for row in people],
        "stays": [dict(zip(STAYS, row, strict=True)) for row in stays],
        "bills": [{"stay": bill} for bill in bills],
    }
    for name, rows in zip(("stays", "bills"), counted(made), strict=True):
        below = made.table(name)
        assert below is not None
        assert rows == len(owned(below, stored, made))
