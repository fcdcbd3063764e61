# SPDX-License-Identifier: Apache-2.0
"""Ways to open a session: from a catalog on disk, or from a table in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path

from sordino.engine.duckdb import DuckdbEngine
from sordino.ledger.memory import MemoryLedger
from sordino.query.catalog import Catalog
from sordino.query.frames import frame_catalog
from sordino.query.toml import read_catalog
from sordino.session.session import Session


def open_catalog(
    catalog: str | PathLike[str] | Catalog,
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> Session:
    """Open the tables that a ``sordino.toml`` declares.

    The budget is kept in the memory of this process: it is full again in the next one. Keep one
    session open for as long as its answers are to be counted together.

    Guarantee: as for Session.
    """
    declared = catalog if isinstance(catalog, Catalog) else read_catalog(Path(catalog))
    engine = DuckdbEngine(declared, threads=threads, memory_limit=memory_limit)
    return Session(
        declared, engine=engine, ledger=MemoryLedger(declared), public=engine.public_values
    )


def table(
    frame: object,
    *,
    unit: str,
    name: str = "data",
    bounds: Mapping[str, object] | None = None,
    keys: Mapping[str, Iterable[object] | str] | None = None,
    other: Mapping[str, object] | None = None,
    types: Mapping[str, str] | None = None,
    rows: int | None = None,
    groups: int | None = None,
    rows_per_group: int | None = None,
    public_tables: Mapping[str, object] | None = None,
    epsilon: object = None,
    delta: object = None,
    rho: object = None,
    currency: str | None = None,
) -> Session:
    """Open a table in memory: pandas, polars, Arrow, or a dictionary of columns.

    ``unit`` is the column that says whose row it is, or "row" if every row stands for itself.
    Columns of numbers in pandas are real; say ``types={"age": "integer"}`` to group by one.
    ``bounds`` and ``keys`` are public: never take them from the data. ``epsilon`` is all that may
    be spent on this session; with a ``delta`` keys that are not declared can be discovered.

    >>> data = table({"ward": ["a", "b"] * 50}, unit="row", keys={"ward": ["a", "b"]}, epsilon=1)
    >>> print(data.budget[0])
    people: epsilon 1 of epsilon 1 left

    Guarantee: as for Session.
    """
    catalog = frame_catalog(
        frame,
        unit=unit,
        name=name,
        bounds=bounds,
        keys=keys,
        other=other,
        types=types,
        rows=rows,
        groups=groups,
        rows_per_group=rows_per_group,
        public_tables=public_tables,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        currency=currency,
    )
    return open_catalog(catalog)
