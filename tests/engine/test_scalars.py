# SPDX-License-Identifier: Apache-2.0
"""Every operation gives in the engine what ``query.evaluate`` says, and never fails."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import duckdb
import pytest

from sordino.engine.compile.dialect import Scope, Writer, select
from sordino.engine.duckdb.dialect import DUCKDB
from sordino.query.operations import evaluate
from sordino.query.tree import Call, Field, Scalar
from sordino.query.types import Type
from tests.engine.engines import frame
from tests.engine.poison import POISON, calls, nested

CALLS = list(calls())
CONNECTION = duckdb.connect(config={"threads": 1})
# What text stands for a real number or a moment differs between engines, and so do rare letters.
_LOOSE = ("to_text", "to_date", "to_timestamp", "to_real", "to_integer", "lower", "upper", "ilike")


def fields_of(scalar: Scalar) -> list[Field]:
    match scalar:
        case Field():
            return [scalar]
        case Call(arguments=arguments):
            return list(dict.fromkeys(itertools.chain(*map(fields_of, arguments))))
        case _:
            return []


def computed(scalar: Scalar, fields: list[Field], rows: list[tuple[Any, ...]]) -> list[Any]:
    """Return the value of a scalar on each row, as the engine has it."""
    connection = CONNECTION
    types = {field.name: field.type for field in fields}
    connection.register("t", frame(types, rows))
    writer = Writer(DUCKDB)
    scope = Scope(writer, {name: name for name in types})
    text = scope.scalar(scalar).text
    sql, bound, _ = writer.statement(select([f"{text} AS v"], scope.source("t")))
    assert "//" not in sql
    assert "%" not in sql
    assert " CAST" not in sql
    found = connection.sql(sql, params=list(bound)).to_arrow_table()
    return list(found.column("v").to_pylist())


def same(found: Any, wanted: Any) -> bool:
    if isinstance(found, float) and isinstance(wanted, float):
        return math.isclose(found, wanted, rel_tol=1e-12)
    return type(found) is type(wanted) and bool(found == wanted)


@pytest.mark.parametrize("scalar", CALLS, ids=lambda c: f"{c.operation}-{len(c.arguments)}")
def test_an_operation_gives_what_its_meaning_says(scalar: Call) -> None:
    fields = fields_of(scalar)
    rows = list(itertools.product(*(POISON[field.type] for field in fields)))
    found = computed(scalar, fields, rows)
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
def test_no_value_makes_an_expression_fail(scalar: Scalar) -> None:
    fields = fields_of(scalar)
    rows = list(itertools.product(*(POISON[field.type] for field in fields)))
    found = computed(scalar, fields, rows)
    assert len(found) == len(rows)
    assert not any(isinstance(value, float) and math.isnan(value) for value in found)


def test_there_are_many_edge_cases_of_many_operations() -> None:
    assert len(CALLS) >= 150
    assert len(nested()) == 60
    assert Counter(call.operation for call in CALLS).keys() >= {"div", "like", "to_date", "case"}
