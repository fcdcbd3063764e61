# SPDX-License-Identifier: Apache-2.0
"""What a column is called changes nothing: no name of the catalog is taken for one of ours."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from sordino.catalog.model import Catalog, Column, ForeignKey, Frame, Table
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.plan.plan import Bounded, Cells, Distinct, RowCount, Shares, Total, UnitCount
from sordino.query.tree import (
    Field,
    JoinPublic,
    JoinUnit,
    Key,
    PerUnit,
    Rows,
    Scan,
    UnitKind,
    UnitMeasure,
)
from sordino.query.types import Range, Type
from tests.engine.engines import rows_of

HOSTILE = [
    *("u", "n", "m", "w", "h", "c", "v", "t", "p", "l", "r", "a", "g", "U", "d", "up", "salt"),
    *("k0", "s0", "p0", "c0", "c1", "d0", "d1", "j0", "x0", "r_k0", "r_c0", "a_p0", "t0", "base0"),
    *("via", "place", "part", "last", "rowid", "rn", "listed1", "numbered0"),
    *("a b", "select", "NULL", "from", "order", "true", 'a"b', '"', "''", "$1", "*", "l.u", "é🎼"),
]
PLAIN = {"who": "who", "link": "link", "x": "x", "y": "y"}
WHO, LINK, X, Y, G = (Field(f"f {name}", Type.INTEGER, name) for name in "wlxyg")
AMONG = Range(Fraction(0), Fraction(9))


def catalog(names: dict[str, str], unit: str) -> Catalog:
    """Return tables in which every column has the name that its part in the test is given."""
    columns = tuple(Column(name, Type.INTEGER) for name in names.values())
    rows = [(1, 0, 5, 2), (1, 1, 3, 1), (2, 1, 2, 2), (3, 2, 7, 1), (2, 3, 1, 2), (2, 0, 4, 1)]
    held = pa.table(dict(zip(names.values(), map(list, zip(*rows, strict=True)), strict=True)))

    def table(name: str, **more: Any) -> Table:
        return Table(name, Frame(held), columns, **more)

    own = "row" if unit == "row" else names["who"]
    return Catalog(
        (
            table("mine", unit=own),
            table("child", parent=ForeignKey(names["link"], "mine", names["x"])),
            table("grandchild", parent=ForeignKey(names["link"], "child", names["y"])),
            table("public", public=True),
        )
    )


def questions(names: dict[str, str], unit: str) -> list[Bounded]:
    """Return questions of all shapes."""
    link, x, y = names["link"], names["x"], names["y"]

    def scan(name: str) -> Scan:
        return Scan(name, ((LINK, link), (X, x), (Y, y)))

    def asked(rows: Rows, *, alone: bool = False) -> list[Bounded]:
        parts = (Cells((RowCount(), Total(X, 0, 9, 0), UnitCount())), Distinct(X, 2))
        shares = Shares(rows=1, alone=True) if alone else Shares(rows=3, groups=2)
        keys = (Key(Y, "y", (1, 2)),)
        return [Bounded(rows, keys, shares, parts), Bounded(rows, (), shares, parts[:1])]

    other = (Field("f o", Type.INTEGER, "o"), x)
    total = PerUnit(
        scan("child"),
        ((X, UnitMeasure(UnitKind.SUM, X, AMONG)), (Y, UnitMeasure(UnitKind.MIN, Y))),
    )
    return [
        *asked(scan("mine"), alone=unit == "row"),
        *asked(scan("child")),
        *asked(scan("grandchild")),
        *asked(JoinPublic(scan("mine"), "public", ((G, x),), ((LINK, link), (Y, y)))),
        *asked(JoinPublic(scan("child"), "public", ((G, x),), ((LINK, y),), outer=True)),
        *asked(JoinUnit(scan("mine"), Scan("child", (other,)))),
        *asked(total, alone=True),
    ]


def found(names: dict[str, str], unit: str) -> list[Any]:
    engine = DuckdbEngine(catalog(names, unit), threads=1)
    try:
        return [rows_of(engine, bounded) for bounded in questions(names, unit)]
    finally:
        engine.close()


@cache
def plain(unit: str) -> list[Any]:
    return found(PLAIN, unit)


@pytest.mark.parametrize("unit", ["row", "column"])
def test_no_name_of_a_column_changes_a_number(unit: str) -> None:
    wanted = plain(unit)
    assert all(parts[0] for parts in wanted)
    for place in range(0, len(HOSTILE), 2):  # every name in two seats
        near = [HOSTILE[(place + seat) % len(HOSTILE)] for seat in range(len(PLAIN))]
        names = dict(zip(PLAIN, near, strict=True))
        assert found(names, unit) == wanted, names


@pytest.mark.parametrize("unit", ["row", "column"])
@pytest.mark.parametrize("name", ["U", "d1", "via"])
@pytest.mark.parametrize("seat", PLAIN)
def test_a_name_that_we_use_changes_nothing_in_any_seat(unit: str, name: str, seat: str) -> None:
    assert found({**PLAIN, seat: name}, unit) == plain(unit)
