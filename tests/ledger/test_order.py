# SPDX-License-Identifier: Apache-2.0
"""No byte of an answer leaves before what it costs, and the answer itself, are on the disk."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sordino as so
from sordino.catalog.frames import frame_catalog
from sordino.ledger.chain import Anchor
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.session.opening import open_catalog
from tests.ledger.disk import Disk, Event

FRAME = {"ward": ["a", "b"] * 50}
LOG = "study.ledger-wal"
TESTED, SOAKED = 100, 1_000


@contextmanager
def watched(
    folder: Path, log: list[Event], instead: tuple[str, str]
) -> Iterator[tuple[so.Session, so.Session]]:
    """Open sessions of two analysts whose ledger lies on a disk that is watched."""
    catalog = frame_catalog(FRAME, unit="row", keys={"ward": ["a", "b"]}, epsilon=1_000)
    driver = Disk(log).driver(instead=instead, checkpoint=40)
    store = SqliteStore(folder / "study.ledger", driver=driver)
    book = Ledger(store, terms_of(catalog), anchor=Anchor(folder / "study.heads"))
    with (
        open_catalog(catalog, ledger=book, who="ann") as ann,
        open_catalog(catalog, ledger=book, who="bob") as bob,
    ):
        yield ann, bob


def too_early(folder: Path, answers: int, instead: tuple[str, str] = ("", "")) -> list[int]:
    """Ask so many questions; return which responses came before the log was synced.

    For each there must be two syncs of the log that nothing is written after: one before the engine
    is asked, for the charge, and one before the response, for the answer. An analyst asks twice
    before the other does, so that some charges follow an entry of theirs and some do not.
    """
    log: list[Event] = []
    with watched(folder, log, instead) as sessions:
        for session in sessions:

            def looked(*about: object, run: Any = session._engine.run, **more: object) -> object:
                log.append(Event("mark", "look"))
                return run(*about, **more)

            session._engine.run = looked  # type: ignore[method-assign,assignment]  # to see when
        for number in range(answers):
            session = sessions[number // 2 % 2]
            session.ask("SELECT ward, COUNT(*) FROM data GROUP BY ward", epsilon=0.1, fresh=True)
            log.append(Event("mark", "response", number))
    early, unsynced, synced = [], 0, 0
    for event in log:
        if event.name == LOG and event.kind == "write":
            unsynced += 1
        elif event.name == LOG and event.kind == "sync":
            synced += unsynced > 0
            unsynced = 0
        elif event.kind == "mark":
            if unsynced or not synced:
                early.append(event.at)
            synced = 0
    assert sum(event.kind == "mark" for event in log) == 2 * answers
    return early


def test_an_answer_leaves_after_its_charge_and_itself_are_synced(tmp_path: Path) -> None:
    assert too_early(tmp_path, TESTED) == []


@pytest.mark.soak
def test_a_thousand_answers_leave_after_they_are_synced(tmp_path: Path) -> None:
    assert too_early(tmp_path, SOAKED) == []


def test_an_answer_that_is_not_synced_is_seen_to_leave(tmp_path: Path) -> None:
    instead = ("PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL")
    assert len(too_early(tmp_path, 10, instead)) > 10


# The same as the system sees it. ---------------------------------------------------------------

ASKING = """
import os, sys
import sordino as so
keys = {{"ward": ["a", "b"]}}
about = dict(unit="row", keys=keys, epsilon=1000, ledger=sys.argv[1])
tables = [so.table({frame!r}, **about) for _ in range(2)]
for number in range(int(sys.argv[2])):
    data = tables[number // 3 % 2]  # each adds after its own entries and after those of the other
    data.ask("SELECT ward, COUNT(*) FROM data GROUP BY ward", epsilon=0.1, fresh=True)
    os.write(1, b"response\\n")
for data in tables:
    data.close()
"""
TRACED = "trace=write,pwrite64,fsync,fdatasync,openat"


def calls(folder: Path, answers: int) -> Iterator[tuple[str, str]]:
    """Ask under strace, with Python's own SQLite; yield the calls and the files they are about."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    asking = [sys.executable, "-c", ASKING.format(frame=FRAME)]
    told = folder / "told"
    traced = [strace, "-f", "-y", "-qq", "-e", TRACED, "-o", str(told)]
    done = subprocess.run(
        [*traced, *asking, str(folder / "study.ledger"), str(answers)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 and "ptrace" in done.stderr:
        pytest.skip("this system does not let a process be traced")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "response\n" * answers
    for line in told.read_text("utf-8", "replace").splitlines():
        if '"response\\n"' in line:
            yield "response", ""
        elif found := re.match(r"\d+ +(pwrite64|fsync|fdatasync)\(\d+<([^>]*)>", line):
            yield found[1], Path(found[2]).name if found[2] != str(folder) else "folder"


def check_calls(folder: Path, answers: int) -> None:
    responses, unsynced, synced, folder_synced, before = 0, 0, 0, False, ""
    for call, name in calls(folder, answers):
        if call == "response":
            assert unsynced == 0
            assert synced >= 2
            assert folder_synced, "the name of the log is not durable"
            responses, synced = responses + 1, 0
        elif name == LOG and call == "pwrite64":
            unsynced += 1
        elif name == LOG:
            synced += unsynced > 0
            unsynced = 0
        elif name == "folder":
            folder_synced = folder_synced or (before == LOG and unsynced == 0)
        before = name
    assert responses == answers


def test_the_system_is_asked_to_sync_before_each_response(tmp_path: Path) -> None:
    check_calls(tmp_path, TESTED)


@pytest.mark.soak
def test_the_system_is_asked_to_sync_before_each_of_a_thousand(tmp_path: Path) -> None:
    check_calls(tmp_path, SOAKED)
