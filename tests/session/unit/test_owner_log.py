# SPDX-License-Identifier: Apache-2.0
"""The owner's log says why a question failed, and has no value of a row in it."""

import fcntl
import json
import logging
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sordino as so
from sordino.catalog.toml import read_catalog
from sordino.engine.compile.statement import Statement
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError, SealedError
from sordino.plan.plan import Bounded
from sordino.session import Session, owner_log
from sordino.session.owner_log import OwnerLog, line_of, path_of
from tests.session.unit.clinic import SQL, VISITS, clinic, write_catalog

OWNER = logging.getLogger("sordino.owner")
SECRET = "Xyzzy-8812"  # noqa: S105 - a value of a row, as an error may quote it


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def spoil(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every question fail after its charge, with an error that quotes a value."""
    engine = session._engine
    assert isinstance(engine, DuckdbEngine)

    def statement(bounded: Bounded, *, salt: int) -> Statement:
        made = DuckdbEngine.statement(engine, bounded, salt=salt)
        failing = f"SELECT CAST('{SECRET}' || count(*) AS INTEGER) AS s0 FROM t0"  # noqa: S608
        return replace(made, sql=failing, parameters=())

    monkeypatch.setattr(engine, "statement", statement)
    monkeypatch.setattr(engine, "prepare", lambda _: None)


def record(message: str = "it failed", *args: object, **more: Any) -> logging.LogRecord:
    made = OWNER.makeRecord(OWNER.name, logging.ERROR, "file.py", 1, message, args, None)
    vars(made).update(more)
    return made


def test_a_failure_is_in_the_log_and_no_value_of_a_row_is_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    study = tmp_path / "study"
    study.mkdir()
    with so.open(clinic(study)) as session:
        spoil(session, monkeypatch)
        with pytest.raises(SealedError) as caught:
            session.ask(SQL, epsilon=1)
        held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    (line,) = lines(study / "sordino.log")
    assert line["pid"] == os.getpid()
    assert line["level"] == "error"
    assert "failed" in line["what"]
    assert SECRET.encode() not in held
    assert SECRET.encode() not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__} {caught.value.__context__}"
    assert "'sordino log'" in str(caught.value)


def test_the_log_is_there_from_the_beginning_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        so.open(clinic(tmp_path)).close()
    finally:
        os.umask(before)
    path = tmp_path / "sordino.log"
    assert path.read_bytes() == b""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ("", "sordino.log"),
        ('[ledger]\nfile = "other.ledger"', "other.log"),
        ('[ledger]\nfile = "plain.db"', "plain.db.log"),
        ('[ledger]\npostgres = "postgresql://host/name"', "sordino.log"),
        ('[log]\nfile = "logs.txt"', "logs.txt"),
        ("[log]\nfile = false", None),
    ],
)
def test_the_log_is_beside_the_ledger_or_where_the_catalog_says(
    tmp_path: Path, stated: str, name: str | None
) -> None:
    declared = read_catalog(write_catalog(tmp_path, stated, VISITS))
    assert path_of(declared, declared.book) == (None if name is None else tmp_path / name)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("[log]", "state the file, or file = false for no log"),
        ("[log]\nfile = true", "file must be a name, or false for no log, got True"),
        ('[log]\nfile = ""', "file must be a name"),
        ('[log]\nfile = "a"\nlevel = "all"', "level must be 'error' or 'warning', got 'all'"),
        ('[log]\nfile = "a"\nsize = 1', "'size'"),
        ("log = 1", "log"),
    ],
)
def test_a_log_that_is_declared_wrongly_is_refused(tmp_path: Path, stated: str, said: str) -> None:
    path = tmp_path / "sordino.toml"
    path.write_text(f"{stated}\n[budget]\nepsilon = 1\n{VISITS}", "utf-8")
    with pytest.raises(CatalogError, match=said):
        read_catalog(path)


def test_a_ledger_in_memory_has_no_log_unless_one_is_declared(tmp_path: Path) -> None:
    so.open(clinic(tmp_path), ledger="memory").close()
    assert not (tmp_path / "sordino.log").exists()
    so.open(write_catalog(tmp_path, '[log]\nfile = "own.log"', VISITS), ledger="memory").close()
    assert (tmp_path / "own.log").exists()


def test_a_session_writes_to_its_own_log_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (so.open(clinic(tmp_path / name)) for name in ("one", "two"))
    with one, two:
        spoil(one, monkeypatch)
        with pytest.raises(SealedError):
            one.ask(SQL, epsilon=1)
    OWNER.error("this is of no session")
    assert len(lines(tmp_path / "one" / "sordino.log")) == 1
    assert lines(tmp_path / "two" / "sordino.log") == []


@pytest.mark.parametrize("broken", ["folder", "pipe", "no folder"])
def test_a_log_that_cannot_be_written_stops_no_question_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    name = "none/sordino.log" if broken == "no folder" else "own.log"
    if broken == "folder":
        (tmp_path / name).mkdir()
    elif broken == "pipe":
        os.mkfifo(tmp_path / name)
    clinic(tmp_path)
    with so.open(write_catalog(tmp_path, f'[log]\nfile = "{name}"', VISITS)) as session:
        assert len(session.ask(SQL, epsilon=1)) == 1
        spoil(session, monkeypatch)
        for epsilon in (2, 3):
            with pytest.raises(SealedError):
                session.ask(SQL, epsilon=epsilon)
    said = capsys.readouterr().err
    assert said.count("cannot be written") == 1
    assert SECRET not in said


def test_a_line_has_no_argument_no_text_of_an_error_and_no_trace_of_values() -> None:
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        caught = (type(error), error, error.__traceback__)
    for made in (
        record("cannot read %s", SECRET, exc_info=caught),
        record("it failed", exc_info=caught, stack_info=SECRET, secret=SECRET),
        record("it failed", safe=[SECRET], charge={SECRET}),
    ):
        assert SECRET not in json.dumps(line_of(made))
    line = line_of(record("cannot read %s", SECRET, exc_info=caught, charge="people:7"))
    assert (line["failure"], line["charge"], line["what"]) == (
        "ValueError",
        "people:7",
        "cannot read %s",
    )
    assert line["places"][-1].startswith("test_owner_log.py:")
    assert line_of(record("x", safe="a sentence"))["what"] == "a sentence"
    odd = record()
    odd.msg = ValueError(SECRET)
    assert line_of(odd)["what"] == "ValueError"


def test_only_what_is_declared_is_logged(tmp_path: Path) -> None:
    for level, many in (("error", 1), ("warning", 2)):
        log = OwnerLog(tmp_path / f"{level}.log", level=level)
        for number in (logging.ERROR, logging.WARNING, logging.INFO):
            made = record()
            made.levelno = number
            log.tell(made)
        assert len(lines(log.path)) == many


def test_a_full_log_is_put_aside_and_two_are_kept_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_log, "_LARGEST", 2_000)
    log = OwnerLog(tmp_path / "own.log")
    for number in range(100):
        log.tell(record(f"failure {number}"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.log", "own.log.1"]
    kept = lines(tmp_path / "own.log.1") + lines(log.path)
    numbers = [int(line["what"].split()[1]) for line in kept]
    assert numbers == list(range(100 - len(kept), 100))
    assert len(kept) > 20
    assert all(path.stat().st_size <= 2_000 for path in tmp_path.iterdir())
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


_TELL = """
import logging, sys
from pathlib import Path
from sordino.session.owner_log import OwnerLog

log, owner = OwnerLog(Path(sys.argv[1])), logging.getLogger("sordino.owner")
for k in range(200):
    text = f"{sys.argv[2]}:{k} " + "x" * 200
    log.tell(owner.makeRecord("sordino.owner", logging.ERROR, "file.py", 1, text, (), None))
"""


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    command = [sys.executable, "-c", _TELL, str(path)]
    workers = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    assert [worker.wait() for worker in workers] == [0] * 4
    told = [line["what"].split()[0] for line in lines(path)]
    assert sorted(told) == sorted(f"{number}:{k}" for number in range(4) for k in range(200))


CSV = VISITS.replace("parquet", "csv", 1).replace("visits.parquet", "FILE")


@pytest.mark.parametrize(
    "name",
    [
        "sordino.ledger",
        "./../{folder}/sordino.ledger",
        "sordino.ledger-wal",
        "sordino.ledger-shm",
        "sordino.ledger-journal",
        "sordino.ledger.new-0123456789abcdef",
        "sordino.ledger.heads",
        "owner.key",
        "sordino.toml",
        "visits.parquet",
        "link.log",
        "twin.log",
        "rotated",
        "away/sordino.ledger",
    ],
)
def test_a_log_that_is_a_file_of_the_catalog_is_refused_and_left_as_it_is(
    tmp_path: Path, name: str
) -> None:
    clinic(tmp_path)
    (tmp_path / "owner.key").write_bytes(b"k" * 32)
    (tmp_path / "away").symlink_to(tmp_path)
    keyed = '[ledger]\nfile = "sordino.ledger"\nkey = "owner.key"'
    with so.open(write_catalog(tmp_path, keyed, VISITS)) as session:
        session.ask(SQL, epsilon=1)
    (tmp_path / "link.log").symlink_to(tmp_path / "elsewhere.log")
    os.link(tmp_path / "visits.parquet", tmp_path / "twin.log")
    os.link(tmp_path / "visits.parquet", tmp_path / "rotated.1")
    name = name.format(folder=tmp_path.name)
    path = write_catalog(tmp_path, keyed, f'[log]\nfile = "{name}"', VISITS)
    before = {one: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()}
    with pytest.raises(CatalogError, match=r"the owner's log .* under \[log\]"):
        so.open(path)
    assert {one: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()} == before


@pytest.mark.parametrize("source", ["sordino.log", "sordino.log.1", "*.log"])
def test_a_source_that_has_the_name_of_the_log_is_not_written_to(
    tmp_path: Path, source: str
) -> None:
    (tmp_path / source.replace("*", "sordino")).write_text("person,cost\n1,2\n" * 200_000, "utf-8")
    with pytest.raises(CatalogError, match="belongs to"):
        so.open(write_catalog(tmp_path, CSV.replace("FILE", source)))
    assert [path.name for path in tmp_path.iterdir() if ".log" in path.name] == [
        source.replace("*", "sordino")
    ]


def test_a_log_never_touches_the_ledger_of_another_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = clinic(tmp_path)
    one = so.open(path, ledger=tmp_path / "other.log")
    with one, pytest.raises(CatalogError, match="belongs to"):
        so.open(path, ledger=tmp_path / "other.ledger")
    with so.open(path, ledger=tmp_path / "other.log") as one:
        OwnerLog(one.ledger.store.path)  # type: ignore[attr-defined]
    assert "it is a file of a ledger" in capsys.readouterr().err


def test_a_file_that_is_no_log_is_neither_written_to_nor_put_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "somebody else's notes\n" * 100_000
    (tmp_path / "sordino.log").write_text(text, "utf-8")
    with so.open(clinic(tmp_path)) as session:
        assert len(session.ask(SQL, epsilon=1)) == 1
        assert session.owner_log is not None
        session.owner_log.tell(record())
    assert (tmp_path / "sordino.log").read_text("utf-8") == text
    assert not (tmp_path / "sordino.log.1").exists()
    assert capsys.readouterr().err.count("'sordino.log' holds something else") == 1


def test_a_full_log_is_not_put_aside_at_opening_nor_over_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.log"
    log = OwnerLog(path)
    log.tell(record())
    monkeypatch.setattr(owner_log, "_LARGEST", 10)
    OwnerLog(path)
    assert [one.name for one in tmp_path.iterdir()] == ["own.log"]
    (tmp_path / "own.log.1").write_text("a thesis", "utf-8")
    log.tell(record())
    assert (tmp_path / "own.log.1").read_text("utf-8") == "a thesis"
    assert "'own.log.1' holds something else" in capsys.readouterr().err


def test_a_log_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    path.touch(0o644)
    path.chmod(0o644)
    OwnerLog(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("cut", range(1, 80, 3))
def test_a_log_whose_line_was_cut_short_goes_on(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "sordino.log"
    record = logging.LogRecord("sordino.owner", logging.ERROR, "", 0, "it failed", (), None)
    OwnerLog(path).tell(record)
    path.write_bytes(path.read_bytes()[:cut])  # as a full disk leaves it
    for _ in range(3):
        OwnerLog(path).tell(record)
    told = path.read_text("utf-8").splitlines()[-3:]
    assert [json.loads(line)["what"] for line in told] == ["it failed"] * 3


def test_a_line_is_not_lost_where_another_process_is_just_putting_the_log_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sordino.log"
    record = logging.LogRecord("sordino.owner", logging.ERROR, "", 0, "it failed", (), None)
    log = OwnerLog(path)
    log.tell(record)
    monkeypatch.setattr(owner_log, "_LARGEST", 1)
    flock = fcntl.flock

    def slow(file: int, how: int) -> None:
        flock(file, how)
        path.rename(path.with_name("elsewhere"))  # by another process, before this one has looked

    monkeypatch.setattr(fcntl, "flock", slow)
    log.tell(record)
    assert json.loads(path.read_text("utf-8"))["what"] == "it failed"
