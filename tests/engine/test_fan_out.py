# SPDX-License-Identifier: Apache-2.0
"""Joins with public tables: what one row becomes is bounded before anything is charged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sordino as so
from sordino.errors import Unsupported
from sordino.plan.bound import MOST_MATCHES, check_matches
from sordino.query.tree import Field, JoinPublic, JoinUnit, PerUnit, Rows, Scan, Where, Window
from sordino.query.types import Type
from sordino.session.session import Session

PEOPLE = pa.table({"who": list(range(50)), "age": list(range(48, 98)), "home": ["x"] * 50})
FAN = "JOIN cities {0} ON CASE WHEN age = 97 THEN 'DE' END = {0}.country "


def opened(cities: pa.Table, **more: Any) -> Session:
    return so.table(
        PEOPLE,
        unit="who",
        name="people",
        public_tables={"cities": cities, **more},
        bounds={"age": (0, 120)},
        epsilon=10,
    )


def cities(many: int, country: str = "DE") -> pa.Table:
    return pa.table({"country": [country] * many + ["FR"], "size": list(range(many + 1))})


def asked(joins: int, how: str = "JOIN") -> str:
    fans = "".join(FAN.format(f"c{place}") for place in range(joins))
    return f"SELECT COUNT(*) FROM people {fans.replace('JOIN', how)}"  # noqa: S608 - a question


@pytest.mark.parametrize("how", ["JOIN", "LEFT JOIN"])
def test_a_join_that_makes_many_rows_of_one_is_refused_before_the_charge(how: str) -> None:
    with opened(cities(100)) as data:
        for question in (data.ask, data.explain):
            with pytest.raises(Unsupported, match=r"'cities' makes up to 10,000 rows of one") as e:
                question(asked(2, how), epsilon=1)
            assert e.value.code == "join"
            assert "join on more columns" in e.value.hint
        data.ask(asked(1, how), epsilon=1)
        assert str(data.budget) == "people: epsilon 9 of epsilon 10 left"


def test_the_number_of_rows_is_that_of_one_key() -> None:
    spread = pa.table({"country": [f"c{n}" for n in range(5_000)] + [None] * 5_000})
    with opened(spread) as data:
        data.ask("SELECT COUNT(*) FROM people JOIN cities ON home = country", epsilon=1)
    with opened(cities(MOST_MATCHES)) as data:
        data.explain(asked(1), epsilon=1)
    with opened(cities(MOST_MATCHES + 1)) as data, pytest.raises(Unsupported, match="1,001"):
        data.explain(asked(1), epsilon=1)


def test_keys_are_counted_as_they_are_compared() -> None:
    large = pa.table({"n": [2**53, 2**53 + 1] * 501})  # as doubles they are one
    with opened(large) as data:
        data.explain("SELECT COUNT(*) FROM people JOIN cities ON age = n", epsilon=1)
        with pytest.raises(Unsupported, match="1,002"):
            data.explain("SELECT COUNT(*) FROM people JOIN cities ON age + 0.5 = n", epsilon=1)


def test_all_columns_of_a_key_count() -> None:
    held = pa.table({"country": ["DE"] * 2_000, "size": list(range(2_000))})
    with opened(held) as data:
        sql = "SELECT COUNT(*) FROM people JOIN cities ON home = country"
        with pytest.raises(Unsupported, match="2,000"):
            data.explain(sql, epsilon=1)
        data.explain(f"{sql} AND age = size", epsilon=1)


def test_a_public_table_that_grows_after_the_plan_is_noticed_before_the_charge(
    tmp_path: Path,
) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    pq.write_table(cities(10), tmp_path / "cities.parquet")
    (tmp_path / "sordino.toml").write_text(
        """
[budget]
epsilon = 10

[tables.people]
parquet = "people.parquet"
unit = "who"
columns = { who = "integer", age = "integer", home = "text" }

[tables.cities]
parquet = "cities.parquet"
public = true
columns = { country = "text" }
""",
        "utf-8",
    )
    with so.open(tmp_path / "sordino.toml") as data:
        plan = data.plan(asked(2), epsilon=1)
        data.answer(plan)
        pq.write_table(cities(32), tmp_path / "cities.parquet")
        with pytest.raises(Unsupported, match="1,024"):
            data.answer(plan)
        assert str(data.budget) == "people: epsilon 9 of epsilon 10 left"


def test_what_joins_make_is_multiplied_along_their_path() -> None:
    one, field = Scan("t", ()), Field("f", Type.INTEGER, "f")

    def fan(rows: Rows) -> JoinPublic:
        return JoinPublic(rows, "p", (), ((field, "f"),))

    def many(join: JoinPublic) -> int:
        assert join.table == "p"
        return 20

    assert check_matches(one, many) == 1
    assert check_matches(fan(Where(fan(one), field)), many) == 400
    assert check_matches(PerUnit(fan(fan(one)), ()), many) == 1
    assert check_matches(fan(PerUnit(fan(fan(one)), ())), many) == 20
    assert check_matches(fan(one), lambda _: 0) == 1
    with pytest.raises(Unsupported, match="8,000"):
        check_matches(PerUnit(fan(fan(fan(one))), ()), many)
    with pytest.raises(Unsupported, match="the join of two tables makes up to 8,000"):
        check_matches(JoinUnit(fan(fan(one)), Window(fan(one), ()), ()), many)
