# SPDX-License-Identifier: Apache-2.0
"""A catalog and its ledger are opened together, and refuse what does not fit."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import sordino as so
from sordino.catalog.toml import read_catalog
from sordino.errors import BudgetExceeded, LedgerError, QuestionTooDear
from sordino.ledger.entry import read_seen
from sordino.ledger.opening import book_at, open_ledger
from tests.session.unit.clinic import SQL, VISITS, charges, clinic, rows, spent, write_catalog

SHARED = (
    VISITS,
    '[analysts.ann]\nshare = 0.5\nreserved = 0.3\n[analysts."*"]\nshare = 0.25\n',
)
NOBODY = ("", " ", " ann", "ann\n", "a\x00b", "\ud800", "x" * 101)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"sordino.toml", "visits.parquet"}


def copied(folder: Path, to: Path, *, anchor: bool) -> None:
    """Copy a ledger with all of its files, and maybe its anchor."""
    to.mkdir(exist_ok=True)
    for path in folder.glob("sordino.ledger*"):
        if anchor or path.suffix != ".heads":
            shutil.copy2(path, to / path.name)


def test_the_ledger_lies_beside_the_catalog_and_its_anchor_beside_it(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        data.ask(SQL, epsilon=1)
    assert names(tmp_path) == {"sordino.ledger", "sordino.ledger.heads", "sordino.log"}


def test_a_ledger_in_memory_leaves_nothing_behind_and_begins_anew(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    for _ in range(2):
        with so.open(path, ledger="memory") as data:
            data.ask(SQL, epsilon=1)
            assert spent(data) == 1
    assert names(tmp_path) == set()


@pytest.mark.parametrize("kind", [str, Path])
def test_a_ledger_can_lie_elsewhere(tmp_path: Path, kind: Any) -> None:
    path, place = clinic(tmp_path), tmp_path / "books" / "clinic.ledger"
    place.parent.mkdir()
    for again in (False, True):
        with so.open(path, ledger=kind(place)) as data:
            assert data.ask(SQL, epsilon=1).again is again
            assert spent(data) == 1
    assert names(tmp_path) == {"books"}
    assert {file.name for file in place.parent.iterdir()} == {
        "clinic.ledger",
        "clinic.ledger.heads",
        "clinic.log",
    }


def test_the_catalog_says_where_the_ledger_lies(tmp_path: Path) -> None:
    write = (VISITS, '[ledger]\nfile = "our.ledger"\nanchor = "our.anchor"\n')
    clinic(tmp_path)
    with so.open(write_catalog(tmp_path, *write)) as data:
        data.ask(SQL, epsilon=1)
    assert names(tmp_path) == {"our.ledger", "our.anchor", "our.log"}


def test_a_ledger_that_is_open_can_be_handed_over(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    ledger = open_ledger(read_catalog(path), book_at(tmp_path / "x.ledger"))
    with so.open(path, ledger=ledger) as data:
        data.ask(SQL, epsilon=1)
        assert data.ledger is ledger


def test_a_table_in_memory_can_keep_its_ledger_in_a_file(tmp_path: Path) -> None:
    stated: dict[str, Any] = {"unit": "person", "epsilon": 1, "ledger": tmp_path / "kept.ledger"}
    with so.table(rows(), **stated) as data:
        data.ask("SELECT COUNT(*) FROM data", epsilon=1)
    with so.table(rows(), **stated) as data, pytest.raises(BudgetExceeded):
        data.ask("SELECT COUNT(*) FROM data", epsilon=1)
    with pytest.raises(LedgerError, match="epsilon 1 on record and epsilon 2 stated"):
        so.table(rows(), **stated | {"epsilon": 2})


def test_two_sessions_see_what_the_other_has_spent(tmp_path: Path) -> None:
    path = clinic(tmp_path, budget="epsilon = 1")
    with so.open(path) as one, so.open(path) as other:
        one.ask(SQL, epsilon=0.75)
        assert str(other.budget[0]) == "people: epsilon 0.25 of epsilon 1 left"
        with pytest.raises(BudgetExceeded):
            other.ask(SQL, epsilon=0.5)


def test_asking_for_the_price_alone_is_not_charged(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        data.explain(SQL, epsilon=1)
        assert (charges(data), spent(data)) == (0, 0)


def test_a_receipt_of_an_earlier_answer_is_accepted_ever_after(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path) as data:
        receipts = [data.ask(SQL, epsilon=price).receipt for price in (1, 2, 3)]
    for receipt in receipts:
        seen = read_seen(receipt)
        with so.open(path, receipt=receipt) as data:
            with data.ledger.store.read() as pages:
                found = pages.entry("people", seen.number)
            assert found is not None
            assert (found.kind, found.hash) == ("charge", seen.head)


def test_a_ledger_behind_a_receipt_is_refused(tmp_path: Path) -> None:
    path, old = clinic(tmp_path), tmp_path / "old"
    with so.open(path) as data:
        early = data.ask(SQL, epsilon=1).receipt
    copied(tmp_path, old, anchor=True)
    with so.open(path) as data:
        late = data.ask(SQL, epsilon=2).receipt
    copied(old, tmp_path, anchor=True)
    with pytest.raises(LedgerError, match="restored from an old copy; put the newest copy back"):
        so.open(path, receipt=late)
    with so.open(path, receipt=early) as data:
        assert spent(data) == 1


def test_a_ledger_behind_its_anchor_is_refused_without_a_receipt(tmp_path: Path) -> None:
    path, old = clinic(tmp_path), tmp_path / "old"
    with so.open(path) as data:
        data.ask(SQL, epsilon=1)
    copied(tmp_path, old, anchor=False)
    with so.open(path) as data:
        data.ask(SQL, epsilon=2)
    copied(old, tmp_path, anchor=False)
    with pytest.raises(LedgerError, match="which has been seen"):
        so.open(path)


def test_a_ledger_that_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path) as data:
        data.ask(SQL, epsilon=1)
    (tmp_path / "sordino.ledger").unlink()
    with pytest.raises(LedgerError, match="what was spent is only there"):
        so.open(path)
    assert names(tmp_path) == {"sordino.ledger.heads", "sordino.log"}


def test_a_receipt_of_another_ledger_is_refused(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path, ledger="memory") as data:
        foreign = data.ask(SQL, epsilon=1).receipt
    with so.open(path) as data:
        data.ask(SQL, epsilon=1)
    with pytest.raises(LedgerError, match="which has been seen"):
        so.open(path, receipt=foreign)


@pytest.mark.parametrize("receipt", ["", "people", "people:0:" + "0" * 64, "people:1:abc"])
def test_what_is_no_receipt_is_refused(tmp_path: Path, receipt: str) -> None:
    with pytest.raises(ValueError, match="a receipt is written as people:number:hash"):
        so.open(clinic(tmp_path), receipt=receipt)


@pytest.mark.parametrize(
    ("budget", "more", "said"),
    [
        ("epsilon = 2", "", "epsilon 1 on record and epsilon 2 stated"),
        ("epsilon = 0.5", "", "epsilon 1 on record and epsilon 0.5 stated"),
        ("epsilon = 1\nquestion = 0.1", "", "the most for one question"),
        ("epsilon = 1", "[analysts.ann]\nshare = 0.5\n", "the share of 'ann'"),
        ("epsilon = 1", '[analysts."*"]\nshare = 0.5\n', "the share of all others"),
    ],
)
def test_limits_that_differ_from_those_on_record_are_refused_with_a_way_out(
    tmp_path: Path, budget: str, more: str, said: str
) -> None:
    path = clinic(tmp_path, budget="epsilon = 1")
    with so.open(path) as data:
        data.ask(SQL, epsilon=0.25)
    write_catalog(tmp_path, VISITS, more, budget=budget)
    with pytest.raises(LedgerError) as caught:
        so.open(path)
    text = str(caught.value)
    assert said in text
    assert text.endswith(
        "set them back in the catalog, or put the change on record with 'sordino ledger amend'"
    )
    changed = read_catalog(path)
    ledger = open_ledger(changed, changed.book)
    ledger.amend(by="owner", why="agreed with the ethics board")
    ledger.close()
    with so.open(path) as data:
        assert spent(data) == 0.25


def test_a_budget_in_another_currency_is_refused(tmp_path: Path) -> None:
    path = clinic(tmp_path, budget="epsilon = 1\ndelta = 1e-6")
    with so.open(path) as data:
        data.ask(SQL, epsilon=0.25)
    write_catalog(tmp_path, budget='epsilon = 1\ndelta = 1e-6\ncurrency = "rho"')
    with pytest.raises(LedgerError, match="fixed when an id space is opened"):
        so.open(path)


def test_an_opening_that_fails_can_be_tried_again(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with pytest.raises(LedgerError):
        so.open(path, receipt="people:1:" + "0" * 64)
    with so.open(path) as data:
        assert not data.ask(SQL, epsilon=1).again


def test_who_asks_is_charged_by_name(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path), who="ann") as data:
        answer = data.ask(SQL, epsilon=1)
        assert answer.charge.who == data.who == "ann"
        with data.ledger.store.read() as pages:
            assert pages.analysts("people") == ["ann"]


@pytest.mark.parametrize("who", NOBODY, ids=ascii)
def test_whoever_has_no_proper_name_is_refused(tmp_path: Path, who: str) -> None:
    with pytest.raises(ValueError, match="an analyst has a name of 1 to 100 letters"):
        so.open(clinic(tmp_path), who=who)


def test_the_budget_says_what_is_left_for_the_analyst_and_in_all(tmp_path: Path) -> None:
    clinic(tmp_path)
    path = write_catalog(tmp_path, *SHARED, budget="epsilon = 4\nquestion = 0.2")
    with so.open(path, who="ann") as ann, so.open(path, who="bob") as bob:
        dear = "at most epsilon 0.8 for one question"
        assert str(ann.budget[0]) == (
            f"people: epsilon 2 left for 'ann', epsilon 4 of epsilon 4 in all, {dear}"
        )
        assert str(bob.budget[0]) == (
            f"people: epsilon 1 left for 'bob', epsilon 4 of epsilon 4 in all, {dear}"
        )
        bob.ask(SQL, epsilon=0.75)
        assert str(bob.budget[0]) == (
            "people: epsilon 0.25 left for 'bob', epsilon 3.25 of epsilon 4 in all"
        )
        assert str(ann.budget[0]) == (
            f"people: epsilon 2 left for 'ann', epsilon 3.25 of epsilon 4 in all, {dear}"
        )
        with pytest.raises(BudgetExceeded, match=r"epsilon 0\.25 for 'bob' is left"):
            bob.ask(SQL, epsilon=0.5)
        with pytest.raises(QuestionTooDear, match=r"at most epsilon 0\.8"):
            ann.ask(SQL, epsilon=1)
        assert repr(bob.budget) == str(bob.budget[0])


def test_what_is_kept_for_one_is_not_left_for_others(tmp_path: Path) -> None:
    clinic(tmp_path)
    kept = '[analysts.ann]\nreserved = 0.75\n[analysts."*"]\n'
    path = write_catalog(tmp_path, VISITS, kept, budget="epsilon = 4")
    with so.open(path, who="ann") as ann, so.open(path, who="bob") as bob:
        assert str(ann.budget[0]) == "people: epsilon 4 of epsilon 4 left"
        assert (
            str(bob.budget[0]) == "people: epsilon 1 left for 'bob', epsilon 4 of epsilon 4 in all"
        )
        ann.ask(SQL, epsilon=3)
        assert str(bob.budget[0]) == "people: epsilon 1 of epsilon 4 left"


def test_every_id_space_has_its_line_in_the_order_of_the_catalog(tmp_path: Path) -> None:
    clinic(tmp_path)
    nurses = VISITS.replace("tables.visits", "tables.shifts").replace(
        "unit", 'people = "nurses"\nunit'
    )
    path = tmp_path / "sordino.toml"
    budgets = "[budget.people]\nepsilon = 2\ndelta = 1e-6\n[budget.nurses]\nepsilon = 1\n"
    path.write_text(budgets + VISITS + nurses, "utf-8")
    with so.open(path) as data:
        data.ask("SELECT COUNT(*) AS n FROM shifts", epsilon=0.5)
        assert repr(data.budget).splitlines() == [
            "people: epsilon 2 of epsilon 2 left, and delta 1e-06 to discover keys",
            "nurses: epsilon 0.5 of epsilon 1 left",
        ]
        assert repr(data).startswith("<Session of visits, shifts; people: epsilon 2")
