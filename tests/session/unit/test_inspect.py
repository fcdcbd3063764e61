# SPDX-License-Identifier: Apache-2.0
"""A session tells the owner of its rows what of them is left out, for tables in memory too."""

from pathlib import Path

import duckdb
import pytest

import sordino as so


def test_the_owner_of_a_frame_sees_what_is_left_out() -> None:
    rows = {"id": ["a", None, "b", "b", "B"], "age": [3.0, 5.0, 200.0, 4.0, 4.0]}
    bounds = {"age": (0, 100)}
    with so.table(rows, unit="id", bounds=bounds, rows=1, epsilon=1, name="visits") as session:
        seen = session.inspect()
        assert session.budget[0].left == session.budget[0].cap
    (table,) = seen.tables
    assert (table.rows, table.left_out, table.people) == (5, 1, 3)
    printed = str(seen)
    assert printed.startswith("What follows is exact and private")
    assert "visits: rows read: 5, left out: 1, people: 3" in printed
    for said in (
        "warning: visits.id: rows without an id, which are left out: 1\n  add the ids",
        "note: visits.age: values that lie outside of the bounds, and are clamped: 1",
        "people with more than 1 row, who count as 1 row each: 1 of 3; that takes off 1 of 4 rows",
        "ids that differ from another one in spaces or in the case of letters alone",
    ):
        assert said in printed
    with pytest.raises(ValueError, match="closed"):
        session.inspect()


def test_a_file_that_a_session_has_open_can_be_inspected(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS id")
    (tmp_path / "sordino.toml").write_text(
        '[budget]\nepsilon = 1\n[tables.t]\nduckdb = "t.duckdb"\ntable = "t"\nunit = "id"\n'
        'columns = { id = "integer" }\n',
        "utf-8",
    )
    with so.open(tmp_path / "sordino.toml") as session:
        assert [(table.rows, table.people) for table in session.inspect().tables] == [(1, 1)]
