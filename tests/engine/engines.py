# SPDX-License-Identifier: Apache-2.0
"""Every engine, small tables for them, and a receipt: what the suite of engines is run with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from sordino.catalog.model import Catalog, Column, Frame, Table
from sordino.engine.compile.passes import can_be_split
from sordino.engine.compile.statement import Statement
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.protocol import OpenEngine
from sordino.ledger.entry import Receipt
from sordino.plan.plan import Bounded
from sordino.privacy.budget import Budget
from sordino.query.tree import Field, Scan
from sordino.query.types import ARROW_TYPES, Type
from tests.engine.lake import Lake
from tests.engine.stored import Stored
from tests.support.trace import unsealed


class ThreePasses(DuckdbEngine):
    """DuckDB in three passes over the data wherever a question can be split."""

    def _how_many_passes(self, bounded: Bounded, *_: object) -> int:
        return 3 if can_be_split(bounded, self.catalog) else 1


ENGINES: dict[str, Callable[..., Any]] = {
    "duckdb": DuckdbEngine,
    "duckdb in passes": ThreePasses,
    "postgres": Stored,
    "spark": Lake,
}

_BUDGET = Budget(epsilon=1)
RECEIPT = Receipt(
    number=1,
    people="people",
    price=_BUDGET.cap,
    slack=Fraction(0),
    left=_BUDGET.cap,
    slack_left=Fraction(0),
    plan="test",
    head="0" * 64,
    who="owner",
)

ARROW = {kind: pa.type_for_alias(name) for kind, name in ARROW_TYPES.items()}


def frame(types: Mapping[str, Type], rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = {
        name: pa.array(column, ARROW[kind])
        for (name, kind), column in zip(types.items(), columns, strict=True)
    }
    return pa.table(arrays)


def table(name: str, types: Mapping[str, Type], held: pa.Table, **more: Any) -> Table:
    columns = tuple(Column(column, kind) for column, kind in types.items())
    return Table(name, Frame(held), columns, **more)


def scan(name: str, types: Mapping[str, Type]) -> Scan:
    return Scan(
        name, tuple((Field(column, kind, column), column) for column, kind in types.items())
    )


def rows_of(engine: OpenEngine, bounded: Bounded, *, salt: int = 7) -> list[set[Any]]:
    """Return each part as a set of tuples; what has a fraction would not be exact."""
    parts = unsealed(engine.run(bounded, RECEIPT, salt=salt))
    return [{tuple(map(_plain, row.values())) for row in part.to_pylist()} for part in parts]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | bool | None) or hasattr(value, "year") else int(value)


def catalog(*tables: Table) -> Catalog:
    return Catalog(tables)


def instead(engine: OpenEngine, patch: pytest.MonkeyPatch, sql: str) -> None:
    """Let an engine carry out other SQL than that of the question."""

    def other(bounded: Bounded, *, salt: int) -> Statement:
        made = type(engine).statement(engine, bounded, salt=salt)
        return replace(made, sql=sql, parameters=())

    patch.setattr(engine, "statement", other, raising=False)
