# SPDX-License-Identifier: Apache-2.0
"""A catalog that is sent names no server that is not served already."""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino.catalog.model import Catalog, Column, PostgresTable, SparkTable, Table
from sordino.errors import CatalogError
from sordino.keeper.reach import Reach
from sordino.query.types import Type

SERVED = PostgresTable("postgresql://db.example/clinic", "clinic.visits")


def test_only_tables_of_servers_that_are_served_may_be_sent(tmp_path: Path) -> None:
    held = Table("visits", SERVED, (Column("id", Type.INTEGER),), unit="id")
    reach = Reach(Catalog((held,)), tmp_path / "sordino.toml", tmp_path / "state")
    reach.check(SERVED)
    for other in (
        PostgresTable("postgresql://db.example/clinic", "clinic.patients"),
        PostgresTable("postgresql://192.0.2.1/clinic", "clinic.visits"),
        SparkTable("sc://db.example", "clinic.visits"),
    ):
        with pytest.raises(CatalogError, match="served already"):
            reach.check(other)
