# SPDX-License-Identifier: Apache-2.0
"""What sordino.toml says of the ledger: its place, shares, and the dearest question."""

from fractions import Fraction
from pathlib import Path

import pytest

from sordino.catalog.checks import analyst, book, part, read_analysts
from sordino.catalog.model import Analyst, Book, Catalog
from sordino.catalog.toml import read_catalog
from sordino.errors import CatalogError

TABLE = '[tables.t]\ncsv = "t.csv"\nunit = "id"\ncolumns = { id = "text" }\n'


def read(folder: Path, text: str, budget: str = "epsilon = 1") -> Catalog:
    path = folder / "sordino.toml"
    path.write_text(f"[budget]\n{budget}\n{text}\n{TABLE}", "utf-8")
    return read_catalog(path)


def said(folder: Path, text: str, budget: str = "epsilon = 1") -> str:
    with pytest.raises(CatalogError) as caught:
        read(folder, text, budget)
    return str(caught.value)


def test_a_ledger_lies_beside_the_catalog_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    assert read(tmp_path, "").book == Book(
        tmp_path / "sordino.ledger", anchor=tmp_path / "sordino.ledger.heads"
    )
    stated = '[ledger]\nfile = "sub/x.ledger"\nanchor = "/far/heads"\nkey = "secret"'
    assert read(tmp_path, stated).book == Book(
        tmp_path / "sub/x.ledger", anchor=Path("/far/heads"), key=tmp_path / "secret"
    )
    assert read(tmp_path, '[ledger]\nfile = "x"').book == Book(
        tmp_path / "x", anchor=tmp_path / "x.heads"
    )


def test_a_ledger_in_postgres_has_an_anchor_only_if_one_is_stated(tmp_path: Path) -> None:
    address = "postgresql://host/name"
    assert read(tmp_path, f'[ledger]\npostgres = "{address}"').book == Book(address)
    assert read(tmp_path, f'[ledger]\npostgres = "{address}"\nanchor = "heads"').book == Book(
        address, anchor=tmp_path / "heads"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('ledger = "x"', "ledger must be a table of entries"),
        ('[ledger]\npath = "x"', "ledger has no entry 'path'; there are file, postgres"),
        ("[ledger]\nfile = 5", "file must be text, got 5"),
        ("[ledger]\nkey = true", "key must be text"),
        ('[ledger]\nfile = "x"\npostgres = "postgresql://h/n"', "exclude each other"),
        ('[ledger]\npostgres = "mysql://host/name"', "postgres must be an address"),
        ('[ledger]\nfile = "/"', "ledger: "),
    ],
)
def test_a_wrong_place_is_said_with_its_name(tmp_path: Path, text: str, words: str) -> None:
    found = said(tmp_path, text) if text.startswith("[") else _said_first(tmp_path, text)
    assert found.startswith("sordino.toml: ")
    assert words in found


def _said_first(folder: Path, text: str) -> str:
    path = folder / "sordino.toml"
    path.write_text(f"{text}\n[budget]\nepsilon = 1\n{TABLE}", "utf-8")
    with pytest.raises(CatalogError) as caught:
        read_catalog(path)
    return str(caught.value)


def test_shares_are_read_as_they_are_written(tmp_path: Path) -> None:
    text = (
        "[analysts.alice]\nshare = 0.1\nreserved = 0.05\n"
        '[analysts."bob b."]\nreserved = 0.3\n[analysts."*"]\nshare = 0.3\n[analysts.eve]'
    )
    assert read(tmp_path, text).analysts == (
        Analyst("alice", Fraction(1, 10), Fraction(1, 20)),
        Analyst("bob b.", None, Fraction(3, 10)),
        Analyst("*", Fraction(3, 10)),
        Analyst("eve"),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[analysts]\nalice = 0.5", "analyst 'alice' must be a table of entries"),
        ("[analysts.alice]\npart = 0.5", "has no entry 'part'; there are share, reserved"),
        ("[analysts.alice]\nshare = 0", "share must be a positive number"),
        ("[analysts.alice]\nshare = -0.1", "share must be a positive number"),
        ("[analysts.alice]\nshare = 1.5", "share is a part of the budget, from 0 to 1"),
        ("[analysts.alice]\nshare = nan", "share must be a positive number"),
        ("[analysts.alice]\nshare = inf", "share must be a positive number"),
        ("[analysts.alice]\nshare = true", "share must be a positive number"),
        ('[analysts.alice]\nshare = "half"', "share must be a positive number"),
        ("[analysts.alice]\nreserved = -0.1", "reserved must be a number that is not negative"),
        ("[analysts.alice]\nreserved = 1.1", "reserved must be at most the share, or 1"),
        ("[analysts.alice]\nshare = 0.2\nreserved = 0.3", "reserved must be at most the share"),
        ('[analysts."*"]\nreserved = 0.1', "nothing can be reserved for everybody"),
        ('[analysts.""]\nshare = 0.1', "a name has 1 to 100 letters"),
        ('[analysts." alice"]\nshare = 0.1', "no space at its ends"),
        ('[analysts."a\\nb"]\nshare = 0.1', "a name has 1 to 100 letters"),
        (f"[analysts.{'x' * 101}]\nshare = 0.1", "a name has 1 to 100 letters"),
        (
            "[analysts.a]\nreserved = 0.6\n[analysts.b]\nreserved = 0.5",
            "more is reserved than there is",
        ),
        (
            '[analysts.bob]\nreserved = 0.3\n[analysts."*"]\nshare = 0.1',
            "analyst 'bob': more is reserved than the share of everybody; state a share too",
        ),
    ],
)
def test_a_wrong_share_is_said_with_its_analyst(tmp_path: Path, text: str, words: str) -> None:
    assert words in said(tmp_path, text)


def test_reservations_may_take_all_there_is(tmp_path: Path) -> None:
    text = "".join(f"[analysts.a{i}]\nreserved = 0.1\n" for i in range(10))
    assert len(read(tmp_path, text).analysts) == 10


def test_the_dearest_question_is_a_part_of_the_budget(tmp_path: Path) -> None:
    made = read(tmp_path, "", "epsilon = 2\nquestion = 0.1")
    assert made.purse("people").question == Fraction(1, 10)
    assert read(tmp_path, "").purse("people").question is None
    assert read(tmp_path, "", "rho = 2\nquestion = 1").purse("people").question == 1


@pytest.mark.parametrize("value", ["0", "-0.5", "1.1", "nan", "true", '"all"', "[0.1]"])
def test_a_question_that_is_no_part_is_refused(tmp_path: Path, value: str) -> None:
    found = said(tmp_path, "", f"epsilon = 2\nquestion = {value}")
    assert "budget: question" in found


def test_parts_and_analysts_can_be_declared_in_python() -> None:
    assert part("share", 0.1) == Fraction(1, 10)
    assert read_analysts([analyst("ann", share=1, reserved=1)]) == (
        Analyst("ann", Fraction(1), Fraction(1)),
    )
    assert book(Path("study"), file="x").place == Path("study/x")
    with pytest.raises(CatalogError, match="more is reserved"):
        read_analysts([analyst("ann", reserved=1), analyst("bob", reserved=1e-9)])
