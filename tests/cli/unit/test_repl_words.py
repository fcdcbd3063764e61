# SPDX-License-Identifier: Apache-2.0
"""What is offered while typing: tables after FROM, columns of the tables that are named, words."""

from pathlib import Path

import pytest

from sordino.catalog.model import Catalog
from sordino.catalog.toml import read_catalog
from sordino.cli.repl.input import candidates, completer

COMMANDS = ("\\help", "\\history", "\\quit")
TEXT = """
[budget]
epsilon = 1
[tables.visits]
csv = "visits.csv"
unit = "id"
[tables.visits.columns]
id = "integer"
cost = { type = "real", bounds = [0, 1] }
"Kunden-Nr" = "text"
[tables.cities]
csv = "cities.csv"
public = true
[tables.cities.columns]
city = "text"
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "sordino.toml").write_text(TEXT, "utf-8")
    return read_catalog(tmp_path / "sordino.toml")


@pytest.mark.parametrize(
    ("before", "text", "offered"),
    [
        ("", "\\h", ["\\help", "\\history"]),
        ("", "sel", ["select"]),
        ("", "SEL", ["SELECT"]),
        ("SELECT COUNT(*) FROM ", "", ["visits", "cities"]),
        ("select count(*) from ", "VI", ["visits"]),
        ("SELECT 1 FROM visits\nJOIN ", "c", ["cities"]),
        ("SELECT AVG(", "cos", ["cost"]),
        ("SELECT ", "CO", ["cost", "COUNT(", "COUNT_IF(", "COALESCE("]),
        ("SELECT ", "ci", ["city", "cities"]),
        ("SELECT COUNT(*) FROM visits GROUP BY ", "ci", ["cities"]),
        ("SELECT ", "visits.", ["visits.id", "visits.cost", 'visits."Kunden-Nr"']),
        ("SELECT ", "nothing.", []),
        ("SELECT ", "kund", []),
        ("SELECT ", "zzz", []),
    ],
)
def test_what_is_offered_fits_the_place(
    catalog: Catalog, before: str, text: str, offered: list[str]
) -> None:
    assert candidates(catalog, COMMANDS, before, text) == offered


def test_a_name_that_needs_quotes_is_offered_with_them(catalog: Catalog) -> None:
    assert '"Kunden-Nr"' in candidates(catalog, COMMANDS, "SELECT ", "")


def test_readline_gets_one_after_the_other_until_there_is_none(catalog: Catalog) -> None:
    complete = completer(catalog, COMMANDS, lambda: "SELECT 1 FROM ")
    assert [complete("", state) for state in range(3)] == ["visits", "cities", None]
