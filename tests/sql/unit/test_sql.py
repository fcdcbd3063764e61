# SPDX-License-Identifier: Apache-2.0
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from sordino.catalog.model import Column, ForeignKey
from sordino.errors import QueryError, SyntaxFault, UnknownName
from sordino.query import tree
from sordino.query.types import Range, Type
from sordino.sql.parse import parse
from sordino.sql.refusals import CODES
from tests.fixtures.hospital import DISEASES, hospital
from tests.fixtures.sql_cases import Case, accepted, rejected

CATALOG = hospital()


def ask(sql: str) -> tree.Query:
    return parse(sql, CATALOG)


def refused(sql: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        ask(sql)
    return caught.value


def test_there_are_enough_cases() -> None:
    assert len(accepted()) >= 80
    assert len(rejected()) >= 120


@pytest.mark.parametrize("sql", accepted())
def test_an_ordinary_question_is_read(sql: str) -> None:
    query = ask(sql)
    assert query.sql == sql
    assert query.measures
    titles = [output.title for output in query.post.outputs]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("case", rejected(), ids=lambda case: case.sql[:60])
def test_a_hostile_question_is_refused_with_its_code_and_taught(case: Case) -> None:
    error = refused(case.sql)
    assert error.code == case.code
    assert type(error) is CODES[case.code]
    assert error.message
    assert error.why or error.hint
    assert error.sql == case.sql
    assert error.span is not None
    start, stop = error.span
    assert 0 <= start < stop <= len(case.sql)
    assert error.message in str(error)


def test_messages_are_one_sentence_without_a_full_stop() -> None:
    for case in rejected():
        error = refused(case.sql)
        for text in (error.message, error.why, error.hint):
            assert not text.endswith(".") or text.endswith("..."), text
            assert "\n" not in text


def test_every_code_is_reached_by_a_refused_question_or_by_a_strange_text() -> None:
    reached = {case.code for case in rejected()}
    assert set(CODES) - reached == {"character", "too_deep", "too_long"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "one_statement"),
        (";", "one_statement"),
        ("\x00", "character"),
        ("SELECT COUNT(*) FROM visits WHERE note = 'a\x00b'", "character"),
        ("SELECT '\ud800' FROM visits", "character"),
        ("SELECT COUNT(*) FROM visits \u202e", "character"),
        ("SELECT " + "1+" * 15_000 + "1", "too_long"),
        ("é" * 15_000, "too_long"),
        ("(" * 300 + "1" + ")" * 300, "too_deep"),
        ("SELECT COUNT(*) FROM visits WHERE " + "NOT " * 3_000 + "urgent", "too_deep"),
        ("SELECT COUNT(*) FROM visits WHERE " + "urgent AND " * 1_000 + "urgent", "too_deep"),
        ("SELECT " + "f(" * 3_000, "too_deep"),
        ("SELECT COUNT(*) FROM visits WHERE age IN (" + "1," * 2_500 + "1)", "too_deep"),
    ],
)
def test_a_strange_text_is_refused_with_a_code(text: str, code: str) -> None:
    error = refused(text)
    assert error.code == code
    assert isinstance(error, SyntaxFault)
    str(error)


def test_queries_that_double_each_other_are_refused_in_time() -> None:
    part = "b AS (SELECT x.patient_id FROM a AS x JOIN a AS y ON x.patient_id = y.patient_id)"
    parts = ["a0 AS (SELECT patient_id FROM visits)"]
    parts += [
        re.sub(r"\ba\b", f"a{n - 1}", part).replace("b AS", f"a{n} AS", 1) for n in range(1, 40)
    ]
    names = ", ".join(parts)
    error = refused(f"WITH {names} SELECT COUNT(*) FROM a39")  # noqa: S608 - it is never run
    assert error.code == "join"


def test_a_question_that_reads_very_many_tables_is_refused() -> None:
    def reading(many: int) -> str:
        names = ", ".join(f"a{n} AS (SELECT 1 FROM visits)" for n in range(many - 1))  # noqa: S608 - it is never run
        return f"WITH {names} SELECT COUNT(*) FROM visits"  # noqa: S608 - it is never run

    assert ask(reading(32)).measures
    assert refused(reading(33)).code == "too_deep"


def test_a_question_has_eight_joins_at_most() -> None:
    def joining(many: int) -> str:
        joins = " ".join(f"JOIN cities c{n} ON p.city = c{n}.name" for n in range(many))
        return f"SELECT COUNT(*) FROM patients p {joins}"  # noqa: S608 - it is never run

    assert ask(joining(8)).measures
    assert refused(joining(9)).message == "the question has more than 8 joins"


def test_a_join_on_a_constant_is_told_to_use_where() -> None:
    error = refused("SELECT COUNT(*) FROM patients p JOIN cities c ON c.name = 'Bern'")
    assert error.hint == "join on columns of both tables, and put constants into WHERE"


def test_comparisons_in_a_row_are_told_to_use_parentheses() -> None:
    error = refused("SELECT COUNT(*) FROM visits WHERE ward = 1 = urgent")
    assert error.hint == "write (a = b) = c, or a < b AND b < c"
    assert error.span == (34, 51)


def test_the_first_example_has_one_key_and_two_measures() -> None:
    query = ask("SELECT disease, COUNT(*) AS n, AVG(cost) FROM visits GROUP BY disease")
    assert isinstance(query.rows, tree.Scan)
    (key,) = query.keys
    assert (key.title, key.domain, key.type) == ("disease", DISEASES, Type.TEXT)
    count, mean = query.measures
    assert count == tree.Measure(tree.Kind.COUNT)
    assert (mean.kind, mean.range) == (tree.Kind.AVG, Range(Fraction(0), Fraction(5000)))
    assert [output.title for output in query.post.outputs] == ["disease", "n", "AVG(cost)"]
    assert query.post.outputs[0].scalar == tree.KeyRef(0, Type.TEXT)
    assert query.post.outputs[1].scalar == tree.MeasureRef(0, Type.REAL)


def test_the_unit_is_never_a_field() -> None:
    for sql in accepted():
        assert "patient_id" not in repr(ask(sql).rows), sql


def test_equal_aggregates_are_one_measure_wherever_they_stand() -> None:
    query = ask(
        "SELECT disease, SUM(cost), SUM(v.cost) AS again, SUM(CLAMP(cost, 0, 5000)) FROM visits v "
        "GROUP BY disease HAVING SUM(cost) > 5 ORDER BY SUM(cost)"
    )
    assert len(query.measures) == 1


def test_an_aggregate_in_having_alone_is_a_measure_too() -> None:
    query = ask("SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING AVG(cost) > 5")
    assert [measure.kind for measure in query.measures] == [tree.Kind.COUNT, tree.Kind.AVG]


def test_names_are_the_same_in_any_case_and_quoted_or_not() -> None:
    one = ask("SELECT disease, SUM(cost) FROM visits GROUP BY disease")
    other = ask('SELECT "DISEASE", sum(Cost) FROM "Visits" group by DISEASE')
    assert (one.rows, one.measures) == (other.rows, other.measures)


def test_clamp_gives_the_bounds_and_is_not_applied_twice() -> None:
    (measure,) = ask("SELECT SUM(CLAMP(visit_id, -5, 10)) FROM visits").measures
    assert measure.range == Range(Fraction(-5), Fraction(10))
    assert isinstance(measure.argument, tree.Field)


def test_a_filter_becomes_a_case() -> None:
    (measure,) = ask("SELECT COUNT(*) FILTER (WHERE urgent) FROM visits").measures
    assert isinstance(measure.argument, tree.Call)
    assert measure.argument.operation == "case"
    assert measure.argument.arguments[1:] == (
        tree.Literal(1, Type.INTEGER),
        tree.Literal(None, Type.INTEGER),
    )


def test_joins_on_the_unit_keep_further_equalities() -> None:
    query = ask(
        "SELECT COUNT(*) FROM visits a JOIN visits b ON b.ward = a.ward "
        "AND a.patient_id = b.patient_id"
    )
    assert isinstance(query.rows, tree.JoinUnit)
    ((left, right),) = query.rows.on
    assert isinstance(left, tree.Field)
    assert isinstance(right, tree.Field)
    assert left.name in repr(query.rows.rows)
    assert right.name in repr(query.rows.other)
    assert not query.rows.outer


def test_a_public_table_may_come_first() -> None:
    one = ask("SELECT COUNT(*) FROM cities c JOIN patients p ON c.name = p.city")
    assert isinstance(one.rows, tree.JoinPublic)
    assert one.rows.table == "cities"
    assert [column for _, column in one.rows.on] == ["name"]
    assert isinstance(one.rows.rows, tree.Scan)
    assert one.rows.rows.table == "patients"


def test_an_inner_query_grouped_by_the_unit_is_one_row_for_each() -> None:
    query = ask(
        "SELECT AVG(t) FROM (SELECT patient_id, SUM(cost) / COUNT(*) AS t FROM visits "
        "GROUP BY patient_id HAVING COUNT(*) > 1) s"
    )
    assert isinstance(query.rows, tree.Derive)
    assert isinstance(query.rows.rows, tree.Where)
    assert isinstance(query.rows.rows.rows, tree.PerUnit)
    assert len(query.rows.rows.rows.fields) == 2


def test_a_window_over_the_unit_adds_a_field() -> None:
    query = ask("SELECT AVG(MAX(age) OVER (PARTITION BY patient_id)) FROM visits WHERE urgent")
    assert isinstance(query.rows, tree.Window)
    assert isinstance(query.rows.rows, tree.Where)
    (measure,) = query.measures
    assert measure.range == Range(Fraction(0), Fraction(120))


def test_a_table_that_leads_to_its_unit_calls_it_by_the_parents_name() -> None:
    (measure,) = ask("SELECT COUNT(DISTINCT patient_id) FROM prescriptions").measures
    assert measure == tree.Measure(tree.Kind.COUNT_UNITS)


def test_a_column_that_leads_to_the_unit_and_holds_it_is_the_unit_too() -> None:
    tables = list(CATALOG.tables)
    columns = (Column("pid", Type.INTEGER), *tables[0].columns[1:])
    link = ForeignKey("pid", "patients", "patient_id")
    tables[0] = replace(tables[0], columns=columns, unit=None, parent=link)
    catalog = replace(CATALOG, tables=tuple(tables))
    for name in ("pid", "patient_id"):
        counted = parse("SELECT COUNT(DISTINCT x) FROM visits".replace("x", name), catalog)
        assert counted.measures == (tree.Measure(tree.Kind.COUNT_UNITS),)
        with pytest.raises(QueryError) as caught:
            parse("SELECT COUNT(*) FROM visits GROUP BY x".replace("x", name), catalog)
        assert caught.value.code == "unit_column"


def test_a_histogram_is_a_key_of_bins_and_a_count() -> None:
    query = ask("SELECT HISTOGRAM(cost, 10) FROM visits")
    (key,) = query.keys
    assert key.bins is not None
    assert (key.bins.count, key.domain, key.type) == (10, tuple(range(10)), Type.INTEGER)
    assert query.measures == (tree.Measure(tree.Kind.COUNT),)
    assert [output.title for output in query.post.outputs] == ["cost_from", "cost_to", "count"]
    assert query.post.outputs[0].scalar == tree.PostCall(
        "bin_from", (tree.KeyRef(0, Type.INTEGER),), Type.REAL
    )


def test_the_keys_of_a_public_table_are_read_by_the_given_function() -> None:
    tables = list(CATALOG.tables)
    city = replace(tables[1].columns[3], keys_from=("cities", "name"))
    tables[1] = replace(tables[1], columns=(*tables[1].columns[:3], city))
    catalog = replace(CATALOG, tables=tuple(tables))
    sql = "SELECT city, COUNT(*) FROM patients GROUP BY city"
    asked: list[tuple[str, str]] = []

    def public(table: str, column: str) -> tuple[str, ...]:
        asked.append((table, column))
        return ("Rome", "Oslo", "Oslo")

    assert parse(sql, catalog, public).keys[0].domain == ("Oslo", "Rome")
    assert asked == [("cities", "name")]
    assert parse(sql, catalog).keys[0].domain is None


def test_an_unknown_name_is_underlined_and_a_close_one_is_proposed() -> None:
    error = refused("SELECT SUM(costs) FROM visits")
    assert isinstance(error, UnknownName)
    assert error.span == (11, 16)
    assert error.hint == "did you mean cost?"


def test_a_refused_join_says_what_to_add() -> None:
    error = refused("SELECT COUNT(*) FROM prescriptions p JOIN visits v ON p.visit_id = v.visit_id")
    assert error.hint == "add p.patient_id = v.patient_id to ON"


def test_columns_that_are_named_alike_have_numbers() -> None:
    query = ask("SELECT COUNT(*), COUNT(*), AVG(cost) AS n, AVG(age) AS n FROM visits")
    titles = [output.title for output in query.post.outputs]
    assert titles == ["COUNT(*)", "COUNT(*)_2", "n", "n_2"]


def test_lists_that_take_too_long_to_find_are_refused_in_time() -> None:
    modes = ", ".join(f"MODE(age + ward * {n})" for n in range(100))
    error = refused(f"SELECT {modes} FROM visits")  # noqa: S608 - it is never run
    assert error.code == "too_deep"
    assert error.span is not None


@pytest.mark.parametrize(
    "end", [";", " ;  ", "; -- a remark", "\n;\n/* a remark */\n", " \t\n", ";;"]
)
def test_a_semicolon_a_remark_and_spaces_at_the_end_change_nothing(end: str) -> None:
    sql = "SELECT COUNT(*) FROM visits"
    assert replace(ask(sql + end), sql="") == replace(ask(sql), sql="")


def test_counting_the_unit_is_counting_rows() -> None:
    one = ask("SELECT COUNT(patient_id) AS n FROM visits")
    assert one.measures == (tree.Measure(tree.Kind.COUNT),)
    inner = (
        "SELECT AVG(n) FROM (SELECT patient_id, COUNT(x) AS n FROM visits GROUP BY patient_id) s"
    )
    assert ask(inner.replace("x", "patient_id")).rows == ask(inner.replace("x", "*")).rows


def test_an_equality_of_the_unit_with_itself_says_nothing() -> None:
    sql = "SELECT COUNT(*) FROM visits v JOIN patients p USING (patient_id)"
    again = ask(f"{sql} WHERE v.patient_id = p.patient_id")
    assert again.rows == ask(sql).rows
