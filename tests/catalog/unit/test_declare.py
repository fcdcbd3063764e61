# SPDX-License-Identifier: Apache-2.0
"""Every mistake in a catalog is found when it is made, and said in one sentence."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sordino.catalog.checks import catalog, column, limits, purse, table
from sordino.catalog.model import Catalog, ForeignKey, Limits, ParquetFile, Table
from sordino.errors import CatalogError
from sordino.privacy.budget import Budget

FILE = ParquetFile(Path("x.parquet"))
ID, AGE, VISIT = column("id", "integer"), column("age", "integer"), column("visit", "integer")


def private(name: str = "visits", **more: Any) -> Table:
    return table(name, FILE, [ID, AGE, VISIT], **({"unit": "id"} | more))


def child(name: str, parent: str, by: str = "visit", **more: Any) -> Table:
    return table(name, FILE, [VISIT, AGE], parent=ForeignKey("visit", parent, by), **more)


def whole(*tables: Table) -> Catalog:
    return catalog(tables, purse(epsilon=1))


def said(mistake: Callable[[], object]) -> str:
    with pytest.raises(CatalogError) as caught:
        mistake()
    text = str(caught.value)
    assert "\n" not in text
    assert not text.endswith(".")
    return text


def test_a_column_names_itself_in_what_is_wrong_with_it() -> None:
    text = said(lambda: column("age", "integer", bounds=(5, 1)))
    assert text == "column 'age': the lower bound 5 must be below the upper bound 1"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"kind": "int"}, "is not a type"),
        ({"keys": ["a"], "keys_from": "t.c"}, "exclude each other"),
        ({"other": "o"}, "other is for columns with keys"),
        ({"keys": ["a"], "other": "a"}, "other must not be one of the keys"),
        ({"keys": ["a"], "other": 5}, "5 is not a value of type text"),
        ({"keys_from": "cities"}, "'table.column'"),
        ({"kind": "real", "keys_from": "t.c"}, "real cannot have keys"),
        ({"bounds": (0, 1)}, "bounds are for numbers and times"),
        ({"name": ""}, "the column name must be"),
        ({"name": "a\nb"}, "printable"),
        ({"name": "  "}, "the column name must be"),
    ],
)
def test_a_wrong_column_is_refused(more: dict[str, Any], text: str) -> None:
    assert text in said(lambda: column(**({"name": "x", "kind": "text"} | more)))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "5", 2**40])
@pytest.mark.parametrize("name", ["rows", "groups", "rows_per_group"])
def test_limits_are_positive_whole_numbers(name: str, value: object) -> None:
    assert f"{name} must be a whole number from 1" in said(lambda: limits(**{name: value}))


def test_more_groups_than_rows_may_count() -> None:
    assert limits(rows=2, groups=5) == Limits(rows=2, groups=5)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"unit": None}, "state whom rows belong to"),
        ({"unit": "person"}, "not among its columns: age, id, visit"),
        ({"unit": "TODO"}, "replace 'TODO'"),
        ({"parent": ForeignKey("visit", "p", "v")}, "exactly one of them"),
        ({"unit": None, "parent": ForeignKey("nope", "p", "v")}, "via names 'nope'"),
        ({"public": True}, "a public table belongs to nobody"),
        ({"public": True, "unit": None, "limits": Limits(rows=1)}, "limits are for private"),
        ({"name": "a.b"}, "dot"),
        ({"people": ""}, "the id space name must be"),
    ],
)
def test_a_wrong_table_is_refused(more: dict[str, Any], text: str) -> None:
    assert text in said(lambda: private(**more))


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ([column("id", "real")], "is of type real"),
        ([column("id", "date")], "must be of type integer or text"),
        ([column("id", "integer", bounds=(0, 9))], "leave out its bounds and keys"),
        ([column("id", "text", keys=["a"])], "leave out its bounds and keys"),
        ([ID, column("ID", "text")], "'id' and 'ID' are the same"),
        ([ID, ID], "are the same"),
        ([], "at least one column"),
    ],
)
def test_a_wrong_unit_column_is_refused(columns: list[Any], text: str) -> None:
    assert text in said(lambda: table("t", FILE, columns, unit="id"))


def test_a_column_named_row_cannot_stand_beside_the_unit_row() -> None:
    columns = [column("Row", "integer")]
    assert "rename the column 'row'" in said(lambda: table("t", FILE, columns, unit="row"))


def test_names_are_spelled_as_declared_however_they_were_referred_to() -> None:
    cities = table("Cities", FILE, [column("Name", "text")], public=True)
    city = column("city", "text", keys_from="cities.name")
    visits = table("Visits", FILE, [ID, VISIT, city], unit="ID", people="patients")
    drugs = table("drugs", FILE, [VISIT, AGE], parent=ForeignKey("VISIT", "visits", "Visit"))
    made = catalog([drugs, visits, cities], purse(epsilon=1))
    assert made.tables[0].parent == ForeignKey("visit", "Visits", "visit")
    assert made.tables[0].people == "patients"
    assert made.tables[1].unit == "id"
    assert made.tables[1].columns[2].keys_from == ("Cities", "Name")
    assert [people for people, _ in made.purses] == ["patients"]


@pytest.mark.parametrize(
    ("tables", "text"),
    [
        ([], "at least one table"),
        ([private("a"), private("A")], "the table names 'a' and 'A' are the same"),
        ([private(), child("c", "nope")], "not 'nope'; there are: visits"),
        ([private(), child("c", "visits", "nope")], "parent (table 'visits') names 'nope'"),
        ([private(unit="row"), child("c", "visits")], "a private table with a unit column"),
        ([child("a", "b"), child("b", "a")], "form a cycle"),
        ([child("a", "a")], "form a cycle"),
        ([private(), child("c", "visits", people="staff")], "leads to the id space 'people'"),
    ],
)
def test_tables_that_do_not_lead_to_a_unit_are_refused(tables: list[Table], text: str) -> None:
    assert text in said(lambda: whole(*tables))


def test_a_foreign_key_has_one_type_on_both_sides() -> None:
    other = table(
        "c", FILE, [column("visit", "text")], parent=ForeignKey("visit", "visits", "visit")
    )
    assert "both must have the same type" in said(lambda: whole(private(), other))
    real = column("visit", "real")
    tables = [
        table("visits", FILE, [ID, real], unit="id"),
        table("c", FILE, [real], parent=ForeignKey("visit", "visits", "visit")),
    ]
    assert "via must not be a column of type real" in said(lambda: whole(*tables))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("nope.name", "keys_from must name a public table, not 'nope'; the public tables: cities"),
        ("visits.name", "keys_from must name a public table"),
        ("cities.nope", "names 'nope', which is not among its columns: name, size"),
        ("cities.size", "both must have the same type"),
    ],
)
def test_keys_come_from_a_column_of_a_public_table(source: str, text: str) -> None:
    cities = table("cities", FILE, [column("name", "text"), column("size", "integer")], public=True)
    visits = table("visits", FILE, [ID, column("city", "text", keys_from=source)], unit="id")
    assert text in said(lambda: whole(visits, cities))


def test_ids_of_the_same_people_have_one_type() -> None:
    text = table("notes", FILE, [column("id", "text")], unit="id")
    assert "units are of types integer and text" in said(lambda: whole(private(), text))
    apart = table("notes", FILE, [column("id", "text")], unit="id", people="staff")
    purses = {"people": purse(epsilon=1), "staff": purse(epsilon=2)}
    assert len(catalog([private(), apart], purses).purses) == 2


def test_every_id_space_has_a_budget_of_its_own() -> None:
    staff = private("staff", people="staff")
    assert "each needs a budget of its own" in said(lambda: whole(private(), staff))
    one = {"people": purse(epsilon=1)}
    assert "no budget is stated for 'staff'" in said(lambda: catalog([private(), staff], one))
    assert "no budget is stated for 'people'" in said(lambda: catalog([private()]))
    wrong = {"people": purse(epsilon=1), "pople": purse(epsilon=1)}
    assert "a budget is stated for 'pople'" in said(lambda: catalog([private()], wrong))


def test_public_tables_alone_need_no_budget() -> None:
    assert catalog([table("t", FILE, [AGE], public=True)]).purses == ()


def test_an_epsilon_alone_leaves_nothing_for_discovering_keys() -> None:
    made = purse(epsilon=0.3)
    assert made.budget == Budget(epsilon=Fraction(3, 10), neighbours="add_remove")
    assert made.slack == 0


def test_a_delta_beside_epsilon_is_for_discovering_keys() -> None:
    made = purse(epsilon=3, delta=1e-6)
    assert made.budget == Budget(epsilon=3, neighbours="add_remove")
    assert made.slack == Fraction(1, 10**6)


def test_in_rho_the_delta_is_halved_so_that_both_halves_keep_to_it() -> None:
    made = purse(epsilon=3, delta=1e-6, currency="rho")
    half = Fraction(1, 2 * 10**6)
    assert made.budget == Budget(epsilon=3, delta=half, failures=0, neighbours="add_remove")
    assert made.slack == made.budget.slack == half
    gdp = purse(epsilon=3, delta=1e-6, currency="gdp")
    assert gdp.budget.currency.kind == "gdp"
    assert gdp.slack == gdp.budget.slack == half
    direct = purse(rho=0.5, delta=1e-6)
    assert direct.budget == Budget(rho=0.5, delta=half, failures=0, neighbours="add_remove")
    assert direct.slack == half
    assert purse(rho=1).slack == 0


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({}, "state epsilon"),
        ({"epsilon": 1, "rho": 1}, "state epsilon"),
        ({"delta": 1e-6}, "state epsilon"),
        ({"epsilon": 0}, "epsilon must be a positive number"),
        ({"epsilon": "1"}, "epsilon must be a positive number, got '1'"),
        ({"epsilon": 1, "delta": 1}, "delta must be a number between 0 and 1"),
        ({"epsilon": 1, "currency": "rho"}, "needs a delta"),
        ({"epsilon": 1, "currency": "gdp"}, "'gdp' needs a delta"),
        ({"rho": 1, "currency": "gdp"}, "currency must be 'rho' if rho"),
        ({"epsilon": 1, "currency": "euro"}, "currency must be"),
        ({"rho": 1, "currency": "epsilon"}, "currency must be"),
        ({"rho": -1}, "rho must be a positive number"),
    ],
)
def test_a_wrong_budget_is_refused(entries: dict[str, Any], text: str) -> None:
    found = said(lambda: purse(**entries))
    assert found.startswith("budget: ")
    assert text in found
