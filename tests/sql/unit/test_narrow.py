# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from sordino.errors import QueryError
from sordino.query.operations import call
from sordino.query.tree import Field, Key, Literal, Scan, Where
from sordino.query.types import Type, Value
from sordino.sql.domains import Lists, narrowed
from sordino.sql.parse import parse
from tests.fixtures.hospital import DISEASES, hospital

CATALOG = hospital()


def key(condition: str, expression: str, *, other: str | None = None) -> Key:
    visits, *rest = CATALOG.tables
    columns = tuple(replace(c, other=other) if c.name == "disease" else c for c in visits.columns)
    catalog = replace(CATALOG, tables=(replace(visits, columns=columns), *rest))
    sql = f"SELECT COUNT(*) FROM visits WHERE {condition} GROUP BY {expression}"  # noqa: S608 - it is never run
    return parse(sql, catalog).keys[0]


@pytest.mark.parametrize(
    ("condition", "expression", "left"),
    [
        ("disease IN ('flu', 'asthma')", "disease", ("asthma", "flu")),
        ("disease = 'flu'", "disease", ("flu",)),
        ("'flu' = disease AND cost > 3", "disease", ("flu",)),
        ("(cost > 3 AND (disease = 'flu'))", "disease", ("flu",)),
        ("disease <> 'flu'", "disease", ("asthma", "diabetes", "migraine")),
        ("disease LIKE 'a%'", "disease", ("asthma",)),
        ("upper(disease) = 'FLU'", "disease", ("flu",)),
        ("disease > 'e' AND disease < 'g'", "disease", ("flu",)),
        ("ward BETWEEN 3 AND 5.5", "ward", (3, 4, 5)),
        ("urgent", "urgent", (True,)),
        ("NOT urgent", "urgent", (False,)),
        ("year(day) = 2024", "year(day)", (2024,)),
        ("month(day) > 10", "month(day)", (11, 12)),
    ],
)
def test_keys_that_the_conditions_leave_out_are_not_asked_for(
    condition: str, expression: str, left: tuple[Value, ...]
) -> None:
    assert key(condition, expression).domain == left


@pytest.mark.parametrize(
    "condition",
    ["disease = 'flu' OR cost > 3", "disease = note", "cost > 3", "disease = 'flu' OR urgent"],
)
def test_a_condition_about_other_things_leaves_all_keys(condition: str) -> None:
    assert key(condition, "disease").domain == DISEASES


def test_a_condition_on_a_column_leaves_all_keys_that_are_made_from_it() -> None:
    assert key("day >= '2024-11-01'", "month(day)").domain == tuple(range(1, 13))
    assert key("ward >= 20", "FLOOR(ward / 10)").domain == (0, 1, 2, 3, 4)


def test_a_value_that_may_be_missing_or_not_listed_keeps_its_branch() -> None:
    kind = "CASE WHEN ward IS NULL THEN 'none' ELSE 'some' END"
    assert key("COALESCE(ward, 0) = 0", kind).domain == ("none", "some")
    rest = "CASE WHEN disease = 'flu' THEN 'flu' ELSE 'rest' END"
    assert key("disease NOT IN ('asthma', 'diabetes', 'migraine')", rest).domain == ("flu", "rest")
    first = key("disease <> 'flu'", "LEFT(disease, 1)").domain
    assert first == ("a", "d", "f", "m")


def test_the_group_of_all_others_goes_only_if_the_values_are_named() -> None:
    assert key("disease IN ('flu')", "disease", other="else").other is None
    assert key("disease < 'e'", "disease", other="else").other == "else"
    rare = key("disease IN ('flu', 'rare')", "disease", other="else")
    assert (rare.domain, rare.other) == (("flu",), "else")
    unlisted = key("disease = 'rare'", "disease", other="else")
    assert (unlisted.domain, unlisted.other) == (DISEASES, "else")


def test_conditions_of_inner_queries_and_joins_count_too() -> None:
    for sql in (
        "SELECT COUNT(*) FROM (SELECT disease AS d FROM visits WHERE disease = 'flu') s GROUP BY d",
        "SELECT COUNT(*) FROM (SELECT disease AS d, cost * 2 AS c FROM visits "
        "WHERE disease = 'flu') s WHERE c > 2 GROUP BY d",
        "SELECT COUNT(*) FROM patients p JOIN (SELECT * FROM visits WHERE disease = 'flu') v "
        "USING (patient_id) GROUP BY disease",
        "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE disease = 'flu') v LEFT JOIN patients p "
        "USING (patient_id) GROUP BY disease",
    ):
        assert parse(sql, CATALOG).keys[0].domain == ("flu",), sql
    outer = (
        "SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT * FROM visits WHERE disease = 'flu') v "
        "USING (patient_id) GROUP BY disease"
    )
    assert parse(outer, CATALOG).keys[0].domain == DISEASES


def test_a_question_without_any_group_is_refused_with_the_values_that_there_are() -> None:
    with pytest.raises(QueryError) as caught:
        key("disease = 'fluu'", "disease")
    assert caught.value.code == "no_groups"
    assert caught.value.hint == "its values are asthma, diabetes, flu, migraine"


def test_discovered_keys_stay_so() -> None:
    assert key("note = 'a'", "note").domain is None


def test_conditions_that_take_too_long_to_try_leave_all_keys() -> None:
    disease = Field("f0", Type.TEXT, "disease", domain=DISEASES)
    rows = Where(
        Scan("visits", ((disease, "disease"),)), call("eq", disease, Literal("flu", Type.TEXT))
    )
    whole = Key(disease, "disease", DISEASES)
    fresh, tired = Lists(), Lists()
    assert tired.affords(500_000)
    assert not tired.affords(1)
    assert narrowed(whole, rows, fresh).domain == ("flu",)
    assert narrowed(whole, rows, tired) == whole


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        (("trim", "abc"), ("abc", "abc\u00a0", "straße")),
        (("upper", "ABC"), ("abc", "abc\u00a0", "straße")),
        (("lower", "zzz"), ("abc\u00a0", "straße")),
    ],
)
def test_keys_that_engines_read_differently_are_kept(
    condition: tuple[str, str], kept: tuple[str, ...]
) -> None:
    operation, wanted = condition
    text = Field("f0", Type.TEXT, "t", domain=("abc", "abc\u00a0", "straße", "x"))
    met = call("eq", call(operation, text), Literal(wanted, Type.TEXT))
    rows = Where(Scan("visits", ((text, "t"),)), met)
    assert narrowed(Key(text, "t", text.domain), rows, Lists()).domain == kept


def test_words_that_are_no_truth_values_leave_their_keys_out() -> None:
    text = Field("f0", Type.TEXT, "t", domain=("t", "true", "y", "yes"))
    rows = Where(Scan("visits", ((text, "t"),)), call("to_boolean", text))
    assert narrowed(Key(text, "t", text.domain), rows, Lists()).domain == ("t", "true")
