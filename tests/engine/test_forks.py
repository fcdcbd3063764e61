# SPDX-License-Identifier: Apache-2.0
"""A session in a child of the process that opened it: it answers, and it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sordino as so
from sordino.engine.forks import WORK
from sordino.errors import LedgerError, SealedError
from sordino.session.session import Session

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")

SQL = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
_PATIENCE = 60.0  # seconds; a child that takes longer hangs
CATALOG = """
[budget]
epsilon = 100

[tables.visits]
parquet = "visits.parquet"
unit = "who"

[tables.visits.columns]
who = "integer"
ward = { type = "text", keys = ["north", "south"] }
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    held = pa.table({"who": list(range(1_000)), "ward": ["north", "south"] * 500})
    pq.write_table(held, tmp_path / "visits.parquet")
    path = tmp_path / "sordino.toml"
    path.write_text(CATALOG, "utf-8")
    return path


@pytest.fixture
def data(catalog: Path) -> Iterator[Session]:
    with so.open(catalog) as session:
        session.ask(SQL, epsilon=1)
        yield session


def forked(work: Callable[[], object]) -> int | None:
    """Return how a child ended that did some work, or None if it hung and was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    start = time.monotonic()
    while time.monotonic() - start < _PATIENCE:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def asks(data: Session) -> None:
    answer = data.ask(SQL, epsilon=1, fresh=True)
    assert [row["ward"].value for row in answer] == ["north", "south"]
    count = answer.cell(0, "COUNT(*)").value
    assert isinstance(count, int)
    assert abs(count - 500) < 400  # at a scale of 10, for 10 rows of each count


def test_a_child_answers(data: Session) -> None:
    assert forked(lambda: asks(data)) == 0
    assert str(data.budget).startswith("people: epsilon 98 ")
    asks(data)


def test_a_child_may_close_and_the_parent_goes_on(data: Session) -> None:
    assert forked(data.close) == 0
    asks(data)


ENDING = """
import os, sys, warnings
import sordino as so

warnings.simplefilter("ignore", DeprecationWarning)
data = so.open(sys.argv[1])
data.ask(sys.argv[2], epsilon=1)
home = data._engine.database._home
if os.fork() == 0:
    data.ask(sys.argv[2], epsilon=1, fresh=True)
    sys.exit(7)
_, status = os.wait()
print(os.waitstatus_to_exitcode(status), home.is_dir())
"""


def test_a_child_that_ends_like_any_program_ends_well(catalog: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING, str(catalog), SQL],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=True,
    )
    assert done.stdout.split() == ["7", "True"]


def test_children_answer_while_threads_of_the_parent_ask(data: Session) -> None:
    done = threading.Event()

    def busy() -> None:
        while not done.is_set():
            data.ask(SQL, epsilon=0.001, fresh=True)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert [forked(lambda: asks(data)) for _ in range(5)] == [0] * 5
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_a_child_that_was_forked_in_the_midst_of_an_answer_refuses_before_the_charge(
    data: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WORK, "_patience", 0.01)
    inside, done = threading.Event(), threading.Event()

    def busy() -> None:
        with WORK.passing():
            inside.set()
            done.wait()

    def refused() -> None:
        before = str(data.budget)
        with pytest.raises(RuntimeError, match="forked while a question was being answered"):
            data.ask(SQL, epsilon=1, fresh=True)
        assert data.catalog.path is not None
        with pytest.raises(RuntimeError, match="forked while a question was being answered"):
            so.open(data.catalog.path)
        assert str(data.budget) == before

    thread = threading.Thread(target=busy)
    thread.start()
    inside.wait()
    try:
        assert forked(refused) == 0
    finally:
        done.set()
        thread.join()
    assert forked(lambda: asks(data)) == 0


def test_a_session_may_be_closed_while_threads_ask(catalog: Path) -> None:
    data = so.open(catalog)
    failures: list[BaseException] = []

    def busy() -> None:
        try:
            while True:
                data.ask(SQL, epsilon=0.001, fresh=True)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    data.close()
    for thread in threads:
        thread.join(_PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert {type(failure) for failure in failures} <= {ValueError, SealedError, LedgerError}, (
        failures
    )


def test_workers_of_multiprocessing_answer(data: Session) -> None:
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        workers = [context.Process(target=asks, args=(data,)) for _ in range(2)]
        for worker in workers:
            worker.start()
    for worker in workers:
        worker.join(_PATIENCE)
        if worker.is_alive():
            worker.kill()
    assert [worker.exitcode for worker in workers] == [0, 0]
