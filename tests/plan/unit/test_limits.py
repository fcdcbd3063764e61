# SPDX-License-Identifier: Apache-2.0
"""How much of one unit counts."""

from dataclasses import replace

import pytest

from sordino.catalog.model import Limits
from sordino.plan.bound import is_alone, people_of, shares_of
from sordino.plan.plan import Shares, how_many_groups
from sordino.query import tree
from sordino.query.types import Type
from tests.fixtures.hospital import between
from tests.plan.unit.questions import (
    AGE,
    COST,
    COUNT,
    DECLARED,
    DISCOVERED,
    SURVEY,
    UNITS,
    VISITS,
    catalog,
    question,
)

TRUE = tree.Call("gt", (AGE, tree.Literal(17, Type.INTEGER)), Type.BOOLEAN)
EACH = tree.PerUnit(VISITS, ((AGE, tree.UnitMeasure(tree.UnitKind.COUNT)),))
PATIENTS = tree.Scan("patients", ())


@pytest.mark.parametrize(
    ("rows", "alone"),
    [
        (VISITS, False),
        (PATIENTS, False),  # its limit of one row is declared, and not trusted
        (SURVEY, True),
        (tree.Where(SURVEY, TRUE), True),
        (EACH, True),
        (tree.Derive(tree.Where(EACH, TRUE), ()), True),
        (tree.Window(SURVEY, ()), True),
        (tree.Window(VISITS, ()), False),
        (tree.JoinPublic(SURVEY, "cities", (), ()), False),
        (tree.JoinPublic(EACH, "cities", (), ()), False),
        (tree.JoinUnit(EACH, EACH), True),
        (tree.JoinUnit(EACH, VISITS), False),
        (tree.JoinUnit(VISITS, EACH), False),
        (tree.PerUnit(tree.JoinUnit(VISITS, VISITS), ()), True),
    ],
)
def test_a_unit_is_alone_in_a_row_by_shape_only(rows: tree.Rows, alone: bool) -> None:
    assert is_alone(rows, catalog()) is alone


def test_limits_are_the_owners_unless_the_analyst_states_some() -> None:
    asked = question([COUNT], DECLARED)
    ours = catalog(rows=7, groups=3, rows_per_group=5)
    assert shares_of(asked, ours) == Shares(rows=7, groups=3, rows_per_group=5)
    stated = shares_of(asked, ours, Limits(rows=2))
    assert stated == Shares(rows=2, groups=3, rows_per_group=2)


def test_without_any_limit_ten_rows_count() -> None:
    plain = catalog()
    tables = tuple(replace(table, limits=Limits()) for table in plain.tables)
    assert shares_of(question([COUNT]), replace(plain, tables=tables)) == Shares(rows=10)


def test_rows_follow_from_groups_and_rows_in_each_if_only_those_are_stated() -> None:
    found = shares_of(question([COUNT], DECLARED), catalog(groups=3, rows_per_group=2))
    assert found == Shares(rows=6, groups=3, rows_per_group=2)


def test_a_join_has_the_largest_limits_of_its_tables() -> None:
    joined = tree.JoinUnit(VISITS, tree.Scan("prescriptions", ()))
    assert shares_of(question([COUNT], rows=joined), catalog(rows=8)).rows == 16


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        (question([COUNT], DECLARED), None),
        (question([COUNT], DISCOVERED), 8),
        (question([UNITS], DECLARED), 4),  # there are four of them
        (question([UNITS], DISCOVERED), 8),
        (question([UNITS]), None),
    ],
)
def test_groups_are_cut_only_where_that_is_needed(query: object, groups: int | None) -> None:
    assert shares_of(query, catalog(rows=8)).groups == groups  # type: ignore[arg-type]


def test_without_keys_rows_in_each_group_do_not_matter() -> None:
    found = shares_of(question([COUNT]), catalog(rows=8, groups=2, rows_per_group=1))
    assert found == Shares(rows=8)


def test_limits_that_are_no_positive_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="the limit rows must be a positive whole number"):
        shares_of(question([COUNT]), catalog(), Limits(rows=0))


def test_groups_are_counted_with_other_and_with_bins() -> None:
    other = tree.Key(AGE, "age", (1, 2, 3), other=9)
    bins = tree.Key(COST, "cost", None, bins=tree.Bins(between(0, 10), 5))
    assert how_many_groups((other, bins)) == 20
    assert how_many_groups((other, DISCOVERED)) is None
    assert how_many_groups(()) == 1


def test_tables_about_different_people_are_not_paid_for_by_one_purse() -> None:
    assert people_of(tree.JoinUnit(VISITS, PATIENTS), catalog()) == "patients"
    with pytest.raises(ValueError, match="about the same people"):
        people_of(tree.JoinUnit(VISITS, SURVEY), catalog())
