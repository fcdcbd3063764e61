# SPDX-License-Identifier: Apache-2.0
from datetime import date, datetime
from fractions import Fraction

from sordino.catalog.model import Column
from sordino.query.operations import call
from sordino.query.tree import Field, Literal
from sordino.query.types import Range, Type, Value
from sordino.sql.domains import MOST, Lists, of_column, ordered
from sordino.sql.parse import parse
from tests.fixtures.hospital import hospital

CATALOG = hospital()


def years(low: int, high: int) -> Range:
    return Range(Fraction(low), Fraction(high))


def keys(expression: str, table: str = "visits") -> tuple[Value, ...] | None:
    """The public values of an expression that is grouped by."""
    sql = f"SELECT COUNT(*) FROM {table} GROUP BY {expression}"  # noqa: S608 - it is never run
    return parse(sql, CATALOG).keys[0].domain


def test_a_column_has_the_values_that_were_declared() -> None:
    assert keys("disease") == ("asthma", "diabetes", "flu", "migraine")
    assert keys("ward") == tuple(range(1, 41))
    assert keys("urgent") == (False, True)
    assert keys("note") is None
    assert keys("visit_id") is None


def test_a_day_with_bounds_has_all_days_of_those_years() -> None:
    days = keys("day")
    assert days is not None
    assert (len(days), days[0], days[-1]) == (731, date(2023, 1, 1), date(2024, 12, 31))


def test_long_lists_are_no_lists() -> None:
    bounds = Range(Fraction(1), Fraction(MOST))
    found = of_column(Column("n", Type.INTEGER, bounds=bounds))
    assert found is not None
    assert len(found) == MOST
    longer = Range(Fraction(0), Fraction(MOST))
    assert of_column(Column("n", Type.INTEGER, bounds=longer)) is None
    assert of_column(Column("d", Type.DATE, bounds=years(1900, 2024))) is None


def test_parts_of_days_have_all_their_values() -> None:
    assert keys("year(day)") == (2023, 2024)
    assert keys("month(day)") == tuple(range(1, 13))
    assert keys("dayofweek(day)") == tuple(range(7))
    assert keys("quarter(CAST(note AS DATE))") == (1, 2, 3, 4)
    assert keys("hour(CAST(note AS TIMESTAMP))") == tuple(range(24))
    assert keys("DATE_TRUNC('quarter', day)") == tuple(
        date(year, month, 1) for year in (2023, 2024) for month in (1, 4, 7, 10)
    )


def test_moments_with_bounds_are_cut_to_a_list() -> None:
    moment = Field("t", Type.TIMESTAMP, "t", years(2023, 2023))
    assert Lists().of(moment) is None
    months = Lists().of(call("trunc_month", moment))
    assert months == tuple(datetime(2023, month, 1) for month in range(1, 13))
    hours = Lists().of(call("trunc_hour", moment))
    assert hours is not None
    assert len(hours) == 365 * 24


def test_a_case_has_the_values_of_its_branches() -> None:
    assert keys("CASE WHEN note = 'x' THEN 'b' ELSE 'a' END") == ("a", "b")
    assert keys("CASE WHEN note = 'x' THEN 'b' END") == ("b", None)
    assert keys("IF(urgent, disease, 'planned')") == (
        *("asthma", "diabetes", "flu", "migraine", "planned"),
    )
    assert keys("CASE WHEN urgent THEN note ELSE 'x' END") is None
    known = "CASE WHEN disease IN ('asthma', 'diabetes', 'flu', 'migraine') THEN 1 ELSE 2 END"
    assert keys(known) == (1, 2)


def test_operations_are_evaluated_on_the_values_of_their_fields() -> None:
    assert keys("upper(disease)") == ("ASTHMA", "DIABETES", "FLU", "MIGRAINE")
    assert keys("FLOOR(age / 10) * 10") == tuple(range(0, 121, 10))
    assert keys("age > 17") == (False, True)
    assert keys("note LIKE '%x%'") == (False, True)
    assert keys("substring(disease, 1, 1)") == ("a", "d", "f", "m")
    assert keys("COALESCE(disease, 'unknown')") == (
        *("asthma", "diabetes", "flu", "migraine", "unknown"),
    )
    assert keys("upper(CASE WHEN urgent THEN 'x' END)") == ("X", None)


def test_whole_numbers_without_a_list_have_those_of_their_range() -> None:
    assert keys("FLOOR(cost / 1000)") == tuple(range(6))
    assert keys("ROUND(CLAMP(cost, 0, 3))") == (0, 1, 2, 3)
    assert keys("length(note)") is None


def test_lists_pass_through_inner_queries_and_joins() -> None:
    inner = "(SELECT disease AS d, age - 1 AS a FROM visits WHERE urgent) t"
    assert keys("d", inner) == ("asthma", "diabetes", "flu", "migraine")
    assert keys("a", inner) == tuple(range(-1, 120))
    joined = "patients JOIN cities ON city = name"
    assert keys("region", joined) == ("east", "north", "south", "west")


def test_how_often_somebody_comes_has_no_list() -> None:
    inner = "(SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t"
    assert keys("n", inner) is None


def test_values_are_in_order_and_a_missing_one_is_last() -> None:
    assert ordered([None, 2, 1, 2]) == (1, 2, None)
    assert Lists().of(Literal("x", Type.TEXT)) == ("x",)


def test_a_missing_value_that_an_operation_looks_past_gives_keys_too() -> None:
    i = Field("i", Type.INTEGER, "i", domain=(1, 2, 3))
    k = Field("k", Type.INTEGER, "k", domain=(2, 3))
    assert Lists().of(call("greatest", i, k)) == (1, 2, 3)
    assert Lists().of(call("least", call("neg", i), k)) == (-3, -2, -1, 2, 3)
    one = Literal(1, Type.INTEGER)
    only = Field("o", Type.INTEGER, "o", domain=(1,))
    assert Lists().of(call("nullif", only, Field("p", Type.INTEGER, "p", domain=(1,)))) == (1,)
    assert Lists().of(call("to_text", call("is_null", only))) == ("false", "true")
    assert Lists().of(call("greatest", call("coalesce", only, one), k)) == (1, 2, 3)
    assert Lists().of(call("add", i, k)) == (3, 4, 5, 6)
    long = Field("l", Type.INTEGER, "l", domain=tuple(range(MOST)))
    assert Lists().of(call("neg", long)) == tuple(range(1 - MOST, 1))


def test_text_that_engines_read_differently_makes_no_list() -> None:
    plain = Field("t", Type.TEXT, "t", domain=("A b", "n/a", " 12.5"))
    assert Lists().of(call("lower", plain)) == (" 12.5", "a b", "n/a")
    assert Lists().of(call("to_integer", plain)) == (13,)
    for odd in ("straße", "İx", "abc\u00a0", "\tabc"):
        other = Field("t", Type.TEXT, "t", domain=("abc", odd))
        assert Lists().of(call("upper", other)) is None, odd
        assert Lists().of(call("lower", other)) is None, odd
        assert Lists().of(call("trim", other)) is None, odd
        assert Lists().of(call("length", other)) is not None
        either = call("case", Literal(True, Type.BOOLEAN), other, other)
        assert Lists().of(call("upper", either)) is None, odd
    for odd in ("0x1F", "0b11", "1e3", "inf", "-Infinity", "nan", "1_000", "٣"):
        assert Lists().of(call("to_integer", Field("t", Type.TEXT, "t", domain=("1", odd)))) is None
    for odd in ("epoch", "2024/01/31", "infinity", "2024-01-31 10:20:30Z", "20240131"):
        days = Field("t", Type.TEXT, "t", domain=("2024-05-01", odd))
        assert Lists().of(call("to_date", days)) is None, odd
    days = Field("t", Type.TEXT, "t", domain=("2024-05-01", "2024-05-02 10:20", "never"))
    assert Lists().of(call("to_date", days)) == (date(2024, 5, 1), date(2024, 5, 2))
