# SPDX-License-Identifier: Apache-2.0
"""`ledger verify`, `export` and `amend`: what they say, and what makes them leave with 4."""

import csv
import io
import json
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from sordino.ledger.entry import FIELDS, Entry, digest_with, first_hash, hash_of
from tests.cli.unit.conftest import CATALOG, Run

COUNT = "SELECT COUNT(*) AS n FROM visits"
LEDGER = ("sordino.ledger", "sordino.ledger.heads")


@pytest.fixture
def asked(run: Run) -> str:
    """Two questions; the receipt of the second."""
    run("ask", COUNT, "--epsilon", "0.1")
    told = json.loads(run("ask", COUNT, "--epsilon", "0.2", "--json").stdout)
    return str(told["receipt"])


def test_a_whole_ledger_is_verified_with_receipts_and_anchors(run: Run, asked: str) -> None:
    shutil.copy("sordino.ledger.heads", "copy.heads")
    done = run("ledger", "verify", "--receipt", asked, "--anchor", "copy.heads")
    assert done.exit_code == 0, done.output
    assert "entries  5: 2 charges, 2 answers" in done.stdout
    assert "spent    epsilon 0.3 of epsilon 1" in done.stdout
    assert "head     people:5:" in done.stdout
    assert "all is well: every entry is in place, also all 3 that an anchor" in done.stdout
    (told,) = json.loads(run("ledger", "verify", "--json").stdout)
    assert (told["entries"], told["charges"], told["answers"]) == (5, 2, 2)
    assert told["spent_nanos"] == 300_000_000
    assert told["head"].startswith("people:5:")


def test_a_ledger_that_does_not_exist_is_not_well(run: Run, clinic: Path) -> None:
    done = run("ledger", "verify")
    assert done.exit_code == 4
    assert done.stderr.startswith("sordino: there is no ledger ")
    assert run("ledger", "export").exit_code == 4
    assert not (clinic / "sordino.ledger").exists()


def test_a_ledger_without_entries_is_told_to_be_so(run: Run, clinic: Path) -> None:
    run("ask", COUNT, "--epsilon", "2")
    assert (clinic / "sordino.ledger").exists()
    assert run("ledger", "verify").stdout == "nothing has been asked yet\n"


def test_an_old_copy_is_found_out_by_its_anchor_and_by_receipts(
    run: Run, clinic: Path, asked: str
) -> None:
    (clinic / "new.heads").write_bytes((clinic / "sordino.ledger.heads").read_bytes())
    for name in LEDGER:
        (clinic / name).unlink()
    run("ask", COUNT, "--epsilon", "0.1")
    assert run("ledger", "verify").exit_code == 0
    for arguments in (["--receipt", asked], ["--anchor", "new.heads"]):
        done = run("ledger", "verify", *arguments)
        assert done.exit_code == 4
        assert "the ledger lacks entry" in done.stderr
    (clinic / "new.heads").replace(clinic / "sordino.ledger.heads")
    assert run("ledger", "verify").exit_code == 4


def test_a_changed_answer_is_found_out(run: Run, clinic: Path, asked: str) -> None:
    connection = sqlite3.connect(clinic / "sordino.ledger")
    try:
        triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        connection.execute("UPDATE entries SET bytes = ? WHERE kind = 'answer'", (b"{}",))
        connection.commit()
    finally:
        connection.close()
    done = run("ledger", "verify")
    assert asked
    assert (done.exit_code, done.stdout) == (4, "")
    assert json.loads(run("ledger", "verify", "--json").stderr)["code"] == "ledger"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["verify", "--receipt", "nonsense"], 2, "people:number:hash"),
        (["verify", "--anchor", "none.heads"], 2, "there is no anchor 'none.heads'"),
        (["verify", "--anchor", "visits.csv"], 4, "the anchor 'visits.csv' is damaged"),
        (["export", "--format", "xml"], 2, "--format must be jsonl or csv, got 'xml'"),
        (["export", "--format", "csv", "--answers"], 2, "leave out --format csv"),
        (["export", "--output", "sordino.ledger"], 2, "'sordino.ledger' is there already"),
        (["amend", "--by", " ", "--why", "x"], 2, "a change of limits needs a name and a reason"),
        (["amend", "--by", "x"], 2, "--why"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(
    run: Run, asked: str, arguments: list[str], code: int, said: str
) -> None:
    done = run("ledger", *arguments)
    assert (done.exit_code, said in done.stderr) == (code, True), done.stderr
    assert run("ledger", "verify", "--receipt", asked).exit_code == 0


def test_an_export_holds_all_that_the_hashes_are_made_of(run: Run, asked: str) -> None:
    about, *lines = map(json.loads, run("ledger", "export").stdout.splitlines())
    assert about["keyed"] is False
    assert about["currencies"] == {"people": "epsilon"}
    digest = digest_with(None)
    before = first_hash(about["ledger"], "people", "epsilon", digest)
    for line in lines:
        entry = Entry(**line)
        assert hash_of(entry, before, digest) == entry.hash
        before = entry.hash
    assert [line["number"] for line in lines] == [1, 2, 3, 4, 5]
    assert f"people:4:{lines[3]['hash']}" == asked
    assert run("ledger", "export").stdout == run("ledger", "export").stdout


def test_answers_are_exported_if_wanted(run: Run, asked: str) -> None:
    lines = run("ledger", "export", "--answers").stdout.splitlines()[1:]
    answers = [told["answer"] for told in map(json.loads, lines) if "answer" in told]
    assert [answer["charge"]["number"] for answer in answers] == [2, 4]
    assert asked.startswith("people:4:")


def test_an_export_to_a_file_is_for_its_owner_alone_and_never_written_over(
    run: Run, clinic: Path, asked: str
) -> None:
    done = run("ledger", "export", "--output", "out.csv", "--format", "csv")
    assert (done.stdout, done.stderr) == ("", "wrote 5 entries to out.csv\n")
    assert stat.S_IMODE((clinic / "out.csv").stat().st_mode) == 0o600
    head, *rows = csv.reader(io.StringIO((clinic / "out.csv").read_text("utf-8")))
    assert tuple(head) == FIELDS
    assert [row[2] for row in rows] == ["open", "charge", "answer", "charge", "answer"]
    assert asked
    assert run("ledger", "export", "--output", "out.csv").exit_code == 2


def test_changed_limits_are_put_on_record(run: Run, clinic: Path, asked: str) -> None:
    (clinic / "sordino.toml").write_text(CATALOG.replace("epsilon = 1", "epsilon = 2"), "utf-8")
    refused = run("ask", COUNT, "--epsilon", "0.1")
    assert (refused.exit_code, "'sordino ledger amend'" in refused.stderr) == (4, True)
    done = run("ledger", "amend", "--by", "Ada", "--why", "a second year")
    assert done.stdout == "people  6  limits set: epsilon 2 (Ada: a second year)\n"
    assert "nothing to change" in run("ledger", "amend", "--by", "Ada", "--why", "again").stdout
    assert "epsilon 1.7 of epsilon 2 left" in run("budget").stdout
    assert run("ledger", "verify", "--receipt", asked).exit_code == 0
    (clinic / "sordino.toml").write_text(CATALOG, "utf-8")
    (made,) = json.loads(run("ledger", "amend", "--by", "A", "--why", "back", "--json").stdout)
    assert (made["kind"], made["cap"], made["by"]) == ("limits", 10**9, "A")


def test_one_charge_is_not_called_several_and_what_nothing_vouches_for_is_told(
    run: Run, clinic: Path
) -> None:
    run("ask", COUNT, "--epsilon", "0.1")
    done = run("ledger", "verify")
    assert "entries  3: 1 charge, 1 answer\n" in done.stdout
    assert "no receipt was there" not in done.stdout
    (clinic / "sordino.ledger.heads").unlink()
    bare = run("ledger", "verify")
    assert bare.exit_code == 0
    assert "no anchor and no receipt was there to hold it to" in bare.stdout
