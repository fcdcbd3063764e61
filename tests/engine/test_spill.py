# SPDX-License-Identifier: Apache-2.0
"""What does not fit in memory goes to disk, and cannot be read there as it is."""

from __future__ import annotations

import stat

import pyarrow as pa

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.query.types import Type
from tests.engine.engines import catalog, table

MARK = "private-private"
TYPES = {"who": Type.TEXT}


def test_spilled_rows_cannot_be_read_as_they_are() -> None:
    held = pa.table({"who": [MARK]})
    made = catalog(table("t", TYPES, held, unit="who"))
    engine = DuckdbEngine(made, threads=1, memory_limit="60MB")
    home = engine.database._home
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    text = "SELECT who || '-' || range || repeat('x', 60) AS v FROM t0, range(1000000)"
    with engine.database.connection() as connection:
        connection.execute(f"CREATE TEMP TABLE spilled AS {text}")
        spilled = [path.read_bytes() for path in home.rglob("*.tmp")]
        ((rows, marked),) = connection.execute(
            "SELECT count(*), count(CASE WHEN v LIKE 'private-%' THEN 1 END) FROM spilled"
        ).fetchall()
        connection.execute("DROP TABLE spilled")
    engine.close()
    assert sum(map(len, spilled)) > 1_000_000  # it was spilled at all
    assert (rows, marked) == (1_000_000, 1_000_000)  # and it is read again
    assert sum(body.count(MARK.encode()) for body in spilled) == 0
    assert not home.exists()
