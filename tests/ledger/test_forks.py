# SPDX-License-Identifier: Apache-2.0
"""A ledger that is open when a process forks: parents and children lose nothing by it."""

import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sordino.errors import BudgetExceeded
from sordino.ledger.stores.sqlite import files as place
from sordino.ledger.stores.sqlite import files as sqlite_file
from sordino.ledger.stores.sqlite import store as sqlite
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.ledger.verify import verify
from tests.ledger.unit.samples import in_file, in_memory, pay
from tests.support.launch import launched


def families(place: Path, many: int, seed: int) -> None:
    told = {"place": str(place), "families": many, "seed": seed}
    found = launched("tests.ledger.forks", told)
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    assert found["charges"] > many


def test_forks_that_share_a_ledger_lose_no_charge(tmp_path: Path) -> None:
    families(tmp_path, 15, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 11_000, 1_000))
def test_1_000_families_of_forks_lose_no_charge(tmp_path: Path, seed: int) -> None:
    families(tmp_path, 100, seed)


def spend(path: Path) -> None:
    """Pay a hundredth of the budget until it is used up."""
    with closing(in_file(path, anchored=True)) as ledger:
        for _ in range(100):
            try:
                pay(ledger, "0.01")
            except BudgetExceeded:
                return


def paused(function: Callable[..., Any], inside: threading.Event) -> Callable[..., Any]:
    """Let a function take long enough for a fork to come in between."""

    def slow(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        inside.set()
        threading.Event().wait(0.3)
        return result

    return slow


def child_spends(path: Path) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
        child = os.fork()
    if child:
        return child
    status = 1
    try:
        spend(path)
        status = 0
    finally:
        os._exit(status)


def child_ends() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
        child = os.fork()
    if child == 0:
        os._exit(0)
    return child


def check_spent(path: Path, child: int) -> None:
    """Spend what the child leaves, and look that nothing was lost or spent twice."""
    spend(path)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with closing(in_file(path, anchored=True)) as ledger:
        (checked,) = verify(ledger)
        assert (checked.charges, checked.entries) == (100, 101)


def test_a_fork_while_another_thread_makes_a_ledger_loses_no_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, inside = tmp_path / "ledger", threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "check_pages", paused(sqlite_file.check_pages, inside))
        thread = threading.Thread(target=lambda: in_file(path, anchored=True).close())
        thread.start()
        inside.wait()
        child = child_spends(path)
        thread.join()
    check_spent(path, child)


def test_a_ledger_that_is_opened_while_a_fork_begins_loses_no_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, inside = tmp_path / "ledger", threading.Event()

    def opened() -> None:
        inside.wait()
        in_file(path, anchored=True).close()

    with closing(in_file(path, anchored=True)):
        thread = threading.Thread(target=opened)
        thread.start()
        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "hold", paused(SqliteStore.hold, inside))
            patch.setattr(sqlite, "beside", paused(place.beside, inside))  # opened, and not yet all
            child = child_spends(path)
        thread.join()
        check_spent(path, child)


def test_a_handler_that_forks_while_a_ledger_is_opened_again_has_a_child_that_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, children = tmp_path / "ledger", []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        connection = sqlite_file.open_file(*args, **kwargs)
        children.append(child_spends(path))  # as a handler of a signal would
        return connection

    with closing(in_file(path, anchored=True)) as ledger:
        os.waitpid(child_ends(), 0)  # after a fork the file is opened again when it is needed
        with monkeypatch.context() as patch:
            patch.setattr(sqlite, "open_file", interrupted)
            pay(ledger, "0.01")
        (child,) = children
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert verify(ledger)[0].charges == 1


def test_an_interrupt_before_a_fork_leaves_a_ledger_that_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger"
    with closing(in_file(path)) as ledger:
        pay(ledger)
        part = SqliteStore.part

        def interrupted(store: SqliteStore) -> None:
            part(store)
            raise KeyboardInterrupt

        swallowed: list[Any] = []  # by Python, which goes on with the fork
        with monkeypatch.context() as patch:
            patch.setattr(sys, "unraisablehook", lambda told: swallowed.append(told.exc_type))
            patch.setattr(SqliteStore, "part", interrupted)
            os.waitpid(child_ends(), 0)
        assert swallowed == [KeyboardInterrupt]
        with ThreadPoolExecutor(1) as other:
            other.submit(pay, ledger).result(timeout=30)
        assert pay(ledger).number == 4


def test_a_child_reads_a_budget_in_memory_although_a_thread_was_writing_to_it() -> None:
    ledger = in_memory()
    pay(ledger)
    inside, done = threading.Event(), threading.Event()

    def busy() -> None:
        with ledger.store.write("people"):
            inside.set()
            done.wait()

    thread = threading.Thread(target=busy)
    thread.start()
    inside.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
        child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs is ended
        status = 1
        try:
            ledger.left("people", "ann")
            status = 0
        finally:
            os._exit(status)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
