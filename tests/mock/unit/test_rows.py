# SPDX-License-Identifier: Apache-2.0
"""Invented rows: made from the catalog alone, the same for everybody, and not too well behaved."""

from collections import Counter
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from sordino.catalog.model import Catalog, Column, ForeignKey, Frame, Limits, Table
from sordino.catalog.values import LONG_ARROW_TYPES
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.mock import invented, tables
from sordino.mock.values import undeclared
from sordino.query.types import Range, Type
from tests.fixtures.hospital import DISEASES, between, hospital

CATALOG = hospital()
MADE = tables(CATALOG)
PATH = {Type.DATE: pa.date32(), Type.TIMESTAMP: pa.timestamp("us")}


def column(table: str, name: str) -> list[Any]:
    values: list[Any] = MADE[table].column(name).to_pylist()
    return values


def test_there_is_a_table_for_each_private_one_with_its_columns() -> None:
    assert list(MADE) == [table.name for table in CATALOG.tables if not table.public]
    for table in CATALOG.tables:
        if not table.public:
            wanted = {c.name: LONG_ARROW_TYPES[c.type] for c in table.columns}
            assert {f.name: str(f.type) for f in MADE[table.name].schema} == {
                name: str(pa.type_for_alias(kind)) for name, kind in wanted.items()
            }


def test_the_rows_are_the_same_for_everybody_and_others_for_another_catalog() -> None:
    assert tables(hospital()) == MADE
    visits, *others = CATALOG.tables
    changed = replace(CATALOG, tables=(replace(visits, limits=Limits(rows=9)), *others))
    assert tables(changed)["visits"] != MADE["visits"]


def test_no_row_of_the_data_is_looked_at() -> None:
    class Poison:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} of the data was looked at")

    poisoned = tuple(
        table if table.public else replace(table, source=Frame(Poison()))
        for table in CATALOG.tables
    )
    assert tables(replace(CATALOG, tables=poisoned)) == MADE


def test_most_values_are_as_declared_and_some_on_purpose_are_not() -> None:
    costs = column("visits", "cost")
    there = [cost for cost in costs if cost is not None]
    outside = sum(not 0 <= cost <= 5000 for cost in there)
    assert 0 < outside < len(there) / 10
    assert any(cost < 0 for cost in there)
    assert any(cost > 5000 for cost in there)
    assert 0 < len(costs) - len(there) < len(costs) / 10
    keys = Counter(column("visits", "disease"))
    assert set(keys) == {*DISEASES, "not declared", None}
    assert keys["not declared"] < sum(keys.values()) / 10
    years = Counter(day.year for day in column("visits", "day") if day is not None)
    assert set(years) == {2022, 2023, 2024, 2025}
    assert set(column("visits", "urgent")) == {True, False, None}


def test_some_units_have_more_rows_than_their_limit_and_some_rows_are_nobodys() -> None:
    for name, most in (("visits", 8), ("patients", 1)):
        rows = Counter(column(name, "patient_id"))
        assert 0 < rows.pop(None) < 100
        crowded = sum(many > most for many in rows.values())
        assert 0 < crowded < len(rows) / 10
    assert {*column("visits", "patient_id")} & {*column("patients", "patient_id")} > {1, None}


def test_rows_below_others_name_them_and_some_name_nobody() -> None:
    visits, named = set(column("visits", "visit_id")), column("prescriptions", "visit_id")
    assert len(visits) == MADE["visits"].num_rows
    lost = sum(name is None for name in named)
    dangling = sum(name is not None and name not in visits for name in named)
    for few in (lost, dangling):
        assert 0 < few < len(named) / 10


def test_ids_of_any_type_are_the_same_in_all_tables_of_a_people() -> None:
    for kind in (Type.TEXT, Type.INTEGER, Type.REAL, Type.DATE, Type.TIMESTAMP, Type.BOOLEAN):
        person = Column("person", kind)
        one = Table("one", Frame(None), (person, Column("n", Type.INTEGER)), unit="person")
        two = replace(one, name="two")
        low = Table("low", Frame(None), (Column("of", kind),), parent=ForeignKey(
            "of", "one", "person"))  # fmt: skip
        made = tables(Catalog((low, one, two)))
        ids = [set(made[name].column("person").to_pylist()) for name in ("one", "two")]
        assert len(ids[0] ^ ids[1]) < len(ids[0]) / 20 + 1  # some have rows of nobody alone
        below = Counter(made["low"].column("of").to_pylist())
        strange = below.keys() - ids[0] - ids[1]
        assert len(strange) <= 1
        assert sum(below[name] for name in strange) < len(made["low"]) / 10


BOUNDS = {
    Type.INTEGER: [None, between(0, 1), between(-(2**63), 2**63 - 1), between(5, 5)],
    Type.REAL: [None, between(0, 1), Range(Fraction(-1.7e308), Fraction(1.7e308)), between(5, 5)],
    Type.DATE: [None, between(1, 9999), between(2024, 2024)],
    Type.TIMESTAMP: [None, between(1, 9999), between(2024, 2024)],
}


@pytest.mark.parametrize("kind", BOUNDS)
def test_any_bounds_can_be_invented_for(kind: Type) -> None:
    for bounds in BOUNDS[kind]:
        table = Table("t", Frame(None), (Column("x", kind, bounds=bounds),), unit="row")
        values = tables(Catalog((table,)))["t"].column("x").to_pylist()
        there = [value for value in values if value is not None]
        assert len(there) > len(values) * 0.9
        assert len(set(there)) > (1 if bounds is not None else 20)


def test_a_value_that_is_not_declared_is_of_the_same_type_and_new() -> None:
    assert undeclared(Type.TEXT, ["not declared", "x"]) == "not declared!"
    assert undeclared(Type.BOOLEAN, [True]) is False
    assert undeclared(Type.BOOLEAN, [True, False]) is None
    assert undeclared(Type.INTEGER, [2**63 - 1]) is None
    assert undeclared(Type.DATE, [date(2024, 2, 28)]) == date(2024, 2, 29)
    assert undeclared(Type.DATE, [date.max]) is None


def test_keys_of_a_public_table_are_taken_from_there() -> None:
    town = Column("town", Type.TEXT, keys_from=("cities", "name"))
    table = Table("t", Frame(None), (town,), unit="row")
    made = tables(Catalog((table,)), lambda *place: (".".join(place), "b"))
    assert set(made["t"].column("town").to_pylist()) == {"cities.name", "b", "not declared", None}


def test_an_engine_opens_the_invented_catalog() -> None:
    made = invented(CATALOG)
    assert (made.book, made.log, made.analysts) == (None, None, ())
    DuckdbEngine(made).close()
