# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from fractions import Fraction

import pytest

from sordino.catalog.model import Catalog, Column, Frame, Table
from sordino.engine.compile.dialect import Writer
from sordino.engine.compile.rows import unit_exponent
from sordino.engine.compile.statement import Statement, compile_bounded
from sordino.engine.duckdb.columns import Base, check_fit
from sordino.engine.duckdb.dialect import DUCKDB
from sordino.errors import CatalogError
from sordino.plan.plan import Bounded, Cells, RowCount, Shares, Total, Votes
from sordino.query.operations import call
from sordino.query.tree import Derive, Field, Key, Literal, Scalar, Scan, Where
from sordino.query.types import Range, Type

WHO, CITY, PAID = (
    Field(name, kind, f"title {name}")
    for name, kind in (("f0", Type.INTEGER), ("f1", Type.TEXT), ("f2", Type.REAL))
)
CATALOG = Catalog(
    (
        Table(
            "visits",
            Frame(None),
            (Column("who", Type.INTEGER), Column("city", Type.TEXT), Column("paid", Type.REAL)),
            unit="who",
        ),
    )
)
BASES = {"visits": Base("t0", {"who": "BIGINT", "city": "VARCHAR", "paid": "DOUBLE"})}
SCAN = Scan("visits", ((CITY, "city"), (PAID, "paid")))


def compiled(bounded: Bounded) -> Statement:
    return compile_bounded(bounded, CATALOG, salt=5, bases=BASES, dialect=DUCKDB)


def test_no_literal_and_no_title_gets_into_the_text() -> None:
    marks = ["mark-one'", 'mark-"two"', "mark-three", "mark-four", "mark-five"]
    low, high, added = 918273, 777666555, 645342.5
    keys = (Key(CITY, "mark-title", (marks[0], marks[1]), other=marks[2]),)
    condition = call("like", CITY, Literal(marks[3], Type.TEXT))
    more = call("add", PAID, Literal(added, Type.REAL))
    rows = Derive(Where(SCAN, condition), ((replace(CITY, name="g"), CITY), (PAID, more)))
    bounded = Bounded(
        rows,
        tuple(replace(key, scalar=replace(CITY, name="g")) for key in keys),
        Shares(rows=4, groups=2),
        (
            Cells((RowCount(), Total(PAID, -low, high, -3))),
            Votes(replace(CITY, name="g"), (marks[4],)),
        ),
    )
    statement = compiled(bounded)
    assert "mark" not in statement.sql
    assert str(added) not in statement.sql
    held = str(statement.parameters)
    assert all(repr(mark)[1:-1] in held for mark in marks)


def test_the_salt_is_a_bound_value_and_the_text_does_not_depend_on_it() -> None:
    bounded = Bounded(
        SCAN, (Key(CITY, "city", None),), Shares(rows=4, groups=2), (Cells((RowCount(),)),)
    )
    one, two = compiled(bounded), compiled(bounded).with_salt(6)
    assert one.sql == two.sql
    assert [a for a, b in zip(one.parameters, two.parameters, strict=True) if a != b] == [5]


def test_a_question_without_a_cut_has_no_salt() -> None:
    statement = compiled(Bounded(SCAN, (), Shares(rows=4), (Cells((RowCount(),)),)))
    assert not statement.late
    assert statement.with_salt(9) is statement


def test_a_long_expression_does_not_make_the_text_explode() -> None:
    def deep(levels: int) -> Scalar:
        value: Scalar = PAID
        for _ in range(levels):
            value = call("coalesce", call("nullif", call("mul", value, PAID), PAID), PAID)
        return value

    def length(levels: int) -> int:
        total = Total(deep(levels), 0, 100, 0)
        return len(compiled(Bounded(SCAN, (), Shares(rows=4), (Cells((total,)),))).sql)

    # The text of every level is needed twice, so that it would double with each.
    assert length(40) < 3 * length(20)


def test_values_that_are_not_used_are_not_bound() -> None:
    writer = Writer(DUCKDB)
    writer.value(1, Type.INTEGER)
    used, quoted = writer.value(2, Type.INTEGER), '"odd $1 column"'
    text, bound, late = writer.statement(f"SELECT {used}, {quoted}, {used}")
    assert text == f"SELECT TRY_CAST($1 AS BIGINT), {quoted}, TRY_CAST($1 AS BIGINT)"
    assert bound == (2,)
    assert late == {}


def test_numbers_of_the_plan_are_digits_that_no_sign_can_join() -> None:
    writer = Writer(DUCKDB)
    assert [writer.integer(n) for n in (0, 7, -7)] == ["0", "7", "(-7)"]
    assert writer.integer(-(2**63)) == "TRY_CAST($1 AS BIGINT)"


def test_equal_numbers_of_different_types_are_bound_apart() -> None:
    writer = Writer(DUCKDB)
    texts = {writer.value(1, Type.INTEGER), writer.value(1.0, Type.REAL)}
    texts |= {writer.value(True, Type.BOOLEAN), writer.value(0.0, Type.REAL)}
    texts |= {writer.value(-0.0, Type.REAL)}
    assert len(texts) == 5
    assert writer.value(1, Type.INTEGER) in texts


def test_limits_that_do_not_fit_are_refused_before_data_is_looked_at() -> None:
    with pytest.raises(ValueError, match="64 bits"):
        compiled(Bounded(SCAN, (), Shares(rows=2**50), (Cells((RowCount(),)),)))


def test_whole_numbers_of_a_unit_are_added_up_exactly() -> None:
    def exponent(low: str, high: str, *, whole: bool) -> int:
        return unit_exponent(Range(Fraction(low), Fraction(high)), whole=whole)

    assert exponent("0", "120", whole=True) == 0
    assert exponent("0", "120", whole=False) == 7 - 52
    assert exponent("0", "0.001", whole=False) < 7 - 52
    assert exponent("0", str(2**60), whole=True) == 61 - 52
    assert exponent("-1e300", "1e300", whole=False) == 997 - 52
    assert exponent("0", "1e600", whole=False) == 1024 - 52
    assert exponent("0", "5e-324", whole=False) == -1074


def test_a_type_that_does_not_fit_is_named_with_its_column() -> None:
    with pytest.raises(CatalogError, match=r"'paid' .* declared as integer.* BLOB"):
        check_fit("visits", "paid", Type.INTEGER, "BLOB")
    check_fit("visits", "paid", Type.INTEGER, "DOUBLE")
