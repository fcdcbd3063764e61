# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sordino as so
from sordino.errors import SealedError
from sordino.ledger.history import entries
from tests.cli.unit.conftest import CATALOG, Run

LINE = {"at": "2026-01-02T03:04:05.678+00:00", "pid": 77, "level": "error", "what": "it failed",
        "charge": "people:3", "failure": "OutOfMemoryException"}  # fmt: skip


def write(path: Path, *lines: object) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def test_the_log_shows_when_what_and_of_which_kind(run: Run, clinic: Path) -> None:
    write(clinic / "sordino.log", LINE)
    shown = run("log").stdout
    for part in ("2026-01-02T03:04:05.678", "77", "people:3", "it failed: OutOfMemoryException"):
        assert part in shown
    assert json.loads(run("log", "--json").stdout) == [LINE]


def test_the_newest_lines_are_shown_also_of_what_was_put_aside(run: Run, clinic: Path) -> None:
    write(clinic / "sordino.log.1", *({**LINE, "what": f"old {k}"} for k in range(5)))
    write(clinic / "sordino.log", *({**LINE, "what": f"new {k}"} for k in range(2)))
    told = json.loads(run("log", "--last", "4", "--json").stdout)
    assert [line["what"] for line in told] == ["old 3", "old 4", "new 0", "new 1"]


def test_a_log_that_is_not_there_is_told(run: Run, clinic: Path) -> None:
    done = run("log")
    assert (done.exit_code, "there is no log" in done.stderr) == (2, True)
    (clinic / "sordino.toml").write_text(CATALOG + "\n[log]\nfile = false\n", "utf-8")
    done = run("log")
    assert (done.exit_code, "state a file under [log]" in done.stderr) == (2, True)


def test_after_a_question_that_went_well_the_log_is_empty(run: Run) -> None:
    run("ask", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.1")
    assert run("log").stdout == "nothing has failed after its charge\n"


def test_lines_that_are_none_are_shown_and_steer_no_terminal(run: Run, clinic: Path) -> None:
    (clinic / "sordino.log").write_bytes(b'\x1b[31m{"cut\n[1]\n\xff\n')
    shown = run("log").stdout
    assert "\\x1b[31m" in shown
    assert all(line.isprintable() for line in shown.splitlines())


def test_nothing_is_written_over_the_log(run: Run, clinic: Path) -> None:
    write(clinic / "sordino.log", LINE)
    done = run(
        "ask", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.1", "--csv", "sordino.log"
    )
    assert (done.exit_code, "belongs to the catalog" in done.stderr) == (2, True)


def test_a_damaged_file_is_in_the_log_with_its_kind_and_its_charge(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pa.table({"person": list(range(5_000)), "ward": ["north"] * 5_000})
    path = tmp_path / "visits.parquet"
    pq.write_table(rows, path, compression="none", use_dictionary=False)
    (tmp_path / "sordino.toml").write_text(
        '[budget]\nepsilon = 1\n[tables.visits]\nparquet = "visits.parquet"\nunit = "person"\n'
        '[tables.visits.columns]\nperson = "integer"\nward = { type = "text", keys = ["north"] }\n',
        "utf-8",
    )
    seen = path.stat()
    with so.open(tmp_path / "sordino.toml") as session:
        with path.open("r+b") as file:
            file.seek(4)
            file.write(b"\xff" * 200)
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        with pytest.raises(SealedError):
            session.ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=0.25)
        (charge,) = (entry for entry in entries(session.ledger) if entry.kind == "charge")
    (line,) = json.loads(run("log", "--json").stdout)
    assert line["charge"] == f"people:{charge.number}"
    assert re.match(r"a question failed after its charge: \w*(Exception|Error)\b", line["what"])
    shown = " ".join(run("log").stdout.split())
    assert line["charge"] in shown
    assert "a question failed after its charge: " in shown
