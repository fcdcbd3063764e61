# SPDX-License-Identifier: Apache-2.0
"""What a refusal underlines and proposes; a proposal must be accepted when it is followed."""

from dataclasses import replace

import pytest

from sordino.catalog.model import Catalog, Column
from sordino.errors import QueryError
from sordino.query.operations import OPERATIONS
from sordino.query.types import Type
from sordino.sql.parse import parse
from tests.fixtures.hospital import hospital
from tests.fixtures.sql_cases import rejected

CATALOG = hospital()


def refused(sql: str, catalog: Catalog = CATALOG) -> QueryError:
    with pytest.raises(QueryError) as caught:
        parse(sql, catalog)
    return caught.value


def asked(rest: str) -> str:
    return f"SELECT COUNT(*) FROM visits {rest}"  # noqa: S608 - it is never run


@pytest.mark.parametrize(
    ("sql", "marked"),
    [
        (asked("WHERE day > CURRENT_DATE"), "CURRENT_DATE"),
        ("SELECT DISTINCT disease FROM visits", "DISTINCT"),
        (asked("GROUP BY disease LIMIT 2 OFFSET 3"), "OFFSET 3"),
        (asked("GROUP BY ALL"), "ALL"),
        (asked("QUALIFY COUNT(*) > 3"), "QUALIFY COUNT(*) > 3"),
        ("SELECT STRING_AGG(note, ',') FROM visits", "STRING_AGG(note, ',')"),
        ("SELECT strftime(day, '%Y)'), COUNT(*) FROM visits GROUP BY 1", "strftime(day, '%Y)')"),
        ("SELECT SUM(CAST(day AS DOUBLE)) FROM visits", "CAST(day AS DOUBLE)"),
        ("SELECT MAX(QUANTILE_DISC(cost, 0.5)) FROM visits", "QUANTILE_DISC(cost, 0.5)"),
        (asked('WHERE disease = "flu"'), '"flu"'),
        (asked("ORDER BY 1 NULLS FIRST"), "NULLS"),
    ],
)
def test_the_clause_at_fault_is_underlined_and_no_more(sql: str, marked: str) -> None:
    start, stop = refused(sql).span or (0, 0)
    assert sql[start:stop] == marked


@pytest.mark.parametrize(
    "call", ["STRING_AGG(note, ',')", "strftime(day, 'x')", "group_concat(note)", "today()"]
)
def test_functions_are_named_as_they_were_written(call: str) -> None:
    error = refused(f"SELECT {call} FROM visits")  # noqa: S608 - it is never run
    assert error.message == f"the function {call.partition('(')[0]} is not allowed"


@pytest.mark.parametrize(
    ("rest", "hint"),
    [
        ('WHERE disease = "flu"', "text stands in single quotes, as in 'flu'"),
        ("WHERE disease = flu", "text stands in single quotes, as in 'flu'"),
        ("WHERE disease IN (flu)", "text stands in single quotes, as in 'flu'"),
        ('WHERE note LIKE "flu%"', "text stands in single quotes, as in 'flu%'"),
        (
            "WHERE disease = diseases",
            "did you mean disease? or text stands in single quotes, as in 'diseases'",
        ),
        ("WHERE note = NULL", "write note IS NULL"),
        ("WHERE note <> NULL", "write note IS NOT NULL"),
        (
            "WHERE day > 2024",
            "write a day, as in DATE '2024-01-01', or take its year, as in year(day)",
        ),
        ("WHERE urgent = 1", "write urgent = TRUE, or urgent alone"),
        ("WHERE age > '30'", "write numbers without quotes"),
        (
            "WHERE cost > (SELECT AVG(cost) FROM visits)",
            "ask for that number first, and write it in its place",
        ),
        (
            "GROUP BY cost",
            "group by FLOOR(cost), or ask for HISTOGRAM(cost, 10) alone",
        ),
    ],
)
def test_a_hint_says_what_to_write(rest: str, hint: str) -> None:
    assert refused(asked(rest)).hint == hint


@pytest.mark.parametrize(
    "rest",
    [
        "WHERE disease = 'flu'",
        "WHERE note IS NULL",
        "WHERE day > DATE '2024-01-01'",
        "WHERE year(day) > 2024",
        "WHERE urgent = TRUE",
        "GROUP BY FLOOR(cost)",
        "JOIN (SELECT patient_id FROM patients GROUP BY patient_id) AS q USING (patient_id)",
        "LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM patients GROUP BY patient_id) AS q "
        "USING (patient_id) WHERE q.n IS NULL",
        "GROUP BY age - 10 * FLOOR(age / 10)",
    ],
)
def test_what_a_hint_says_is_accepted(rest: str) -> None:
    assert parse(asked(rest), CATALOG).measures


def test_a_query_for_membership_is_turned_into_a_join_on_the_unit() -> None:
    inside = refused(asked("WHERE patient_id IN (SELECT patient_id FROM patients)"))
    join = "JOIN (SELECT patient_id FROM ... GROUP BY patient_id) AS q USING (patient_id)"
    assert join in inside.hint
    outside = refused(asked("WHERE patient_id NOT IN (SELECT patient_id FROM patients)"))
    assert "LEFT JOIN" in outside.hint
    assert "q.n IS NULL" in outside.hint


def test_names_that_need_double_quotes_are_shown_in_them() -> None:
    visits, *rest = CATALOG.tables
    odd = (Column("Kunden-Nr", Type.TEXT), Column("when", Type.DATE), *visits.columns)
    catalog = replace(CATALOG, tables=(replace(visits, columns=odd), *rest))
    error = refused(asked("GROUP BY Kunden-Nr"), catalog)
    assert error.hint == 'write "Kunden-Nr" in double quotes'
    odd = (Column(" patient id ", Type.TEXT), *visits.columns)
    spaced = replace(CATALOG, tables=(replace(visits, columns=odd), *rest))
    assert refused(asked('GROUP BY "patient id"'), spaced).hint.startswith(
        'did you mean " patient id "?'
    )
    for clause in ("GROUP BY when", "WHERE when > '2024-01-01'"):
        error = refused(asked(clause), catalog)
        assert error.hint == 'if you mean the column, write "when" in double quotes'
    assert parse(asked('WHERE "when" > \'2024-01-01\' GROUP BY "Kunden-Nr"'), catalog).keys


def test_names_that_select_gives_are_proposed_after_it() -> None:
    sql = "SELECT disease, COUNT(*) AS count_of FROM visits GROUP BY disease"
    assert refused(f"{sql} ORDER BY counts_of").hint == "did you mean count_of?"
    assert refused(f"{sql} HAVING cnt > 3").hint.startswith("there are count_of, patient_id,")


def test_no_message_has_a_name_that_is_ours_alone() -> None:
    ours = {name for name in OPERATIONS if "_" in name} - {"is_null"}
    for case in rejected():
        error = refused(case.sql)
        assert not any(name in f"{error.message} {error.hint}" for name in ours), case.sql
    for value in ("day + 1", "CAST(day AS DOUBLE)", "DATE_TRUNC('month', note)", "-note"):
        error = refused(f"SELECT COUNT({value}) FROM visits")  # noqa: S608 - it is never run
        assert error.code == "type"
        assert not any(name in f"{error.message} {error.hint}" for name in ours)
