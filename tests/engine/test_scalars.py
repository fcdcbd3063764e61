# SPDX-License-Identifier: Apache-2.0
"""Every operation gives in the engine what ``query.evaluate`` says, and never fails."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import psycopg
import pytest

from sordino.engine.compile.dialect import Scope, Writer, select
from sordino.engine.duckdb.dialect import DUCKDB
from sordino.engine.postgres.connection import connect
from sordino.engine.postgres.dialect import POSTGRES
from sordino.query.operations import evaluate
from sordino.query.tree import Call, Field, Scalar
from sordino.query.types import Type
from tests.engine.engines import ENGINES, frame
from tests.engine.lake import LakeLab
from tests.engine.poison import POISON, calls, fields_of, nested
from tests.engine.stored import database, make

CALLS = list(calls())
# What text stands for a real number or a moment differs between engines, and so do rare letters.
_LOOSE = ("to_text", "to_date", "to_timestamp", "to_real", "to_integer", "lower", "upper", "ilike")


class Lab:
    """Where expressions are computed on rows, for one engine."""

    def __init__(self, engine: str) -> None:
        self.dialect = {"duckdb": DUCKDB, "postgres": POSTGRES}[engine]
        self._duckdb = duckdb.connect(config={"threads": 1})
        self._address = database() if engine == "postgres" else ""
        self._server = connect(self._address) if self._address else None

    def computed(
        self, scalar: Scalar, fields: list[Field], rows: list[tuple[Any, ...]]
    ) -> list[Any]:
        """Return the value of a scalar on each row, as the engine has it."""
        types = {field.name: field.type for field in fields}
        held = frame({"row": Type.INTEGER, **types}, [(n, *row) for n, row in enumerate(rows)])
        writer = Writer(self.dialect)
        scope = Scope(writer, {name: f'"{name}"' for name in types})
        if self._server is not None:  # so that texts are compared as the door would have them
            kept = {
                name: f'("{name}" COLLATE "C")' if kind is Type.TEXT else f'"{name}"'
                for name, kind in types.items()
            }
            scope = Scope(writer, kept)
        text = scope.scalar(scalar).text
        source = scope.source("held.t" if self._server is not None else "t")
        sql, bound, _ = writer.statement(select([f"{text} AS v"], source) + ' ORDER BY "row"')
        assert "//" not in sql
        assert "%" not in sql
        if self._server is None:
            assert " CAST" not in sql
            self._duckdb.register("t", held)
            found = self._duckdb.sql(sql, params=list(bound)).to_arrow_table()
            return list(found.column("v").to_pylist())
        make(self._address, "held.t", held)
        rows = psycopg.RawCursor(self._server).execute(sql, list(bound)).fetchall()
        return [value for (value,) in rows]

    def close(self) -> None:
        self._duckdb.close()
        if self._server is not None:
            self._server.close()


# Passes over the data are written in the dialect of the engine that makes them.
DIALECTS = sorted(name for name in ENGINES if "passes" not in name)


@pytest.fixture(params=DIALECTS, scope="module")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab | LakeLab]:
    made = LakeLab([*CALLS, *nested()]) if request.param == "spark" else Lab(request.param)
    yield made
    made.close()


def same(found: Any, wanted: Any) -> bool:
    if isinstance(found, float) and isinstance(wanted, float):
        return math.isclose(found, wanted, rel_tol=1e-12)
    return type(found) is type(wanted) and bool(found == wanted)


@pytest.mark.parametrize("scalar", CALLS, ids=lambda c: f"{c.operation}-{len(c.arguments)}")
def test_an_operation_gives_what_its_meaning_says(lab: Lab | LakeLab, scalar: Call) -> None:
    fields = fields_of(scalar)
    rows = list(itertools.product(*(POISON[field.type] for field in fields)))
    found = lab.computed(scalar, fields, rows)
    assert not any(isinstance(value, float) and math.isnan(value) for value in found)
    if scalar.operation in _LOOSE and any(field.type is Type.TEXT for field in fields):
        return
    if scalar.operation == "to_text" and fields[0].type is Type.REAL:
        return
    names = [field.name for field in fields]
    for row, value in zip(rows, found, strict=True):
        wanted = evaluate(scalar, dict(zip(names, row, strict=True)))
        if scalar.type is Type.REAL and isinstance(wanted, int):
            wanted = float(wanted)
        assert same(value, wanted), (scalar.operation, row, value, wanted)


@pytest.mark.parametrize("scalar", nested(), ids=lambda _: "")
def test_no_value_makes_an_expression_fail(lab: Lab | LakeLab, scalar: Scalar) -> None:
    fields = fields_of(scalar)
    rows = list(itertools.product(*(POISON[field.type] for field in fields)))
    found = lab.computed(scalar, fields, rows)
    assert len(found) == len(rows)
    assert not any(isinstance(value, float) and math.isnan(value) for value in found)


def test_there_are_many_edge_cases_of_many_operations() -> None:
    assert len(CALLS) >= 150
    assert len(nested()) == 60
    assert Counter(call.operation for call in CALLS).keys() >= {"div", "like", "to_date", "case"}
