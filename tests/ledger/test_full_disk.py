# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, failing or read-only: no answer without its charge, and no work for anybody.

Every session asks, meets the fault, goes on when the fault is gone, and is then held to what it
gave out: each answer that left must be in the ledger, paid for, byte by byte.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest

import sordino as so
from sordino.answer.answer import to_bytes
from sordino.catalog.frames import frame_catalog
from sordino.errors import LedgerError
from sordino.ledger import chain as chains
from sordino.ledger.chain import Anchor
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.sqlite.files import STANDARD, Driver
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.ledger.verify import verify
from sordino.session.opening import open_catalog
from tests.ledger.disk import Disk, Fault, error, full, no_entry, read_only
from tests.ledger.images import dice

FRAME = {"ward": ["a", "b"] * 20}
CATALOG = frame_catalog(FRAME, unit="row", keys={"ward": ["a", "b"]}, epsilon=100)
SQL = "SELECT ward, COUNT(*) FROM data GROUP BY ward"
NANOS = 100_000_000
TESTED, PIECES = 50, 2
SOAKED, LONG_PIECES = 500, 10
# What fails when a file is closed cannot be passed on, and apsw says so to nobody in particular.
silent = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. None:pytest.PytestUnraisableExceptionWarning"
)
FAULTS: dict[str, tuple[Callable[[], Exception], tuple[Any, ...], int]] = {
    "full": (full, ("create", "write", "cut"), 90),
    "write error": (error(apsw.SQLITE_IOERR_WRITE), ("write",), 90),
    "sync error": (error(apsw.SQLITE_IOERR_FSYNC), ("sync",), 14),
    "cut error": (error(apsw.SQLITE_IOERR_TRUNCATE), ("cut", "sync"), 14),
    "read-only": (read_only, ("create", "write", "cut"), 90),
    "no entry": (no_entry, ("create",), 3),
    "all": (error(apsw.SQLITE_IOERR), ("create", "write", "cut", "sync", "delete"), 120),
}  # what is raised, at which kinds of calls, and how many of them a run makes at least
WORDS = (
    "the disk is full",
    "the disk may be full",
    "the disk reports an error",
    "cannot be written to",
    "cannot be opened",
)


def open_session(path: Path, driver: Driver = STANDARD) -> so.Session:
    """Open a session on a ledger at a path, with the anchor beside it."""
    store = SqliteStore(path, driver=driver)
    try:
        book = Ledger(store, terms_of(CATALOG), anchor=Anchor(path.with_suffix(".heads")))
    except BaseException:
        store.close()
        raise
    return open_catalog(CATALOG, ledger=book, threads=1)


def ask(session: so.Session) -> so.Answer:
    """Ask for new noise, at the price of NANOS."""
    return session.ask(SQL, epsilon=0.1, fresh=True)


def hold(path: Path, given: list[so.Answer], faults: int) -> None:
    """Hold the ledger to the answers that were given out: all are there, once, and paid for."""
    store = SqliteStore(path)
    try:
        book = Ledger(store, terms_of(CATALOG), anchor=Anchor(path.with_suffix(".heads")))
        (found,) = verify(book)
        with store.read() as pages:
            kept = [pages.body(e) for e in pages.entries("people") if e.charge]
    finally:
        store.close()
    assert found.spent.nanos == found.charges * NANOS
    assert len(given) <= found.charges <= len(given) + faults
    assert len(given) <= found.answers <= found.charges
    bodies = Counter(kept)
    assert all(bodies[to_bytes(answer)] == 1 for answer in given)
    assert max(bodies.values()) == 1


def inject(path: Path, seed: int) -> tuple[str, int]:
    """Let a fault strike once or for long; return its name and how many questions it cost.

    The seeds go through the faults, and for each through the calls that it can strike.
    """
    luck = dice(f"fault {seed}")
    turn, which = divmod(seed, len(FAULTS))
    name, (make, kinds, calls) = list(FAULTS.items())[which]
    disk, given, told = Disk(), [], []
    driver = disk.driver(checkpoint=luck.choice((4, 1_000)))
    fault = Fault(make, after=turn * 37 % calls, lasting=luck.random() < 0.5, kinds=kinds)
    disk.fault = fault
    session = None
    for _ in range(4):
        try:
            session = session or open_session(path, driver)
            given.append(ask(session))
        except LedgerError as refusal:
            told.append(str(refusal))
    assert all(any(words in text for words in WORDS) for text in told), told
    assert fault.struck or not told
    disk.fault = None
    session = session or open_session(path, driver)
    given += [ask(session), ask(session)]  # the same objects go on by themselves
    session.close()
    hold(path, given, len(told))
    return name, len(told)


def check(folder: Path, seeds: range) -> None:
    struck: Counter[str] = Counter()
    failures = 0
    for seed in seeds:
        name, failed = inject(folder / f"{seed}.ledger", seed)
        struck[name] += failed > 0
        failures += failed
    print(f"{dict(struck)}, {failures} failures")  # noqa: T201  # shown by -rP
    assert struck.total() >= len(seeds) // 3
    assert not list(folder.glob("*.new-*")), "something is left of ledgers that were not made"


@silent
@pytest.mark.parametrize("piece", range(PIECES))
def test_a_disk_that_fails_costs_no_more_than_the_questions_it_met(
    piece: int, tmp_path: Path
) -> None:
    many = TESTED // PIECES
    check(tmp_path, range(piece * many, (piece + 1) * many))


@silent
@pytest.mark.soak
@pytest.mark.parametrize("piece", range(LONG_PIECES))
def test_500_faults_cost_no_more_than_the_questions_they_met(piece: int, tmp_path: Path) -> None:
    many = SOAKED // LONG_PIECES
    check(tmp_path, range(1_000 + piece * many, 1_000 + (piece + 1) * many))


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_an_anchor_that_cannot_be_written_lets_no_answer_out(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "study.ledger"
    with open_session(path) as session:
        with monkeypatch.context() as patched:
            patched.setattr(os, call, fails)
            if call == "fsync":
                patched.setattr(chains, "sync_folder", fails)
            with pytest.raises(LedgerError, match=r"anchor .* cannot be written: No space left"):
                ask(session)
        given = [ask(session)]
    hold(path, given, faults=1)


# The system says no. -----------------------------------------------------------------------------

OURS = """
import os, resource, sys, types
from pathlib import Path
tests = sys.modules["tests"] = types.ModuleType("tests")  # some libraries bring one of their own
tests.__path__ = [sys.argv[1]]
"""
LIMITED = f"""{OURS}
from sordino.errors import LedgerError
from tests.ledger.test_full_disk import ask, hold, open_session
path, limit = Path(sys.argv[2]), int(sys.argv[3])
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
given, told, session = [], [], None
for number in range(12):
    if number == 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    try:
        session = session or open_session(path)
        given.append(ask(session))
    except LedgerError as error:
        told.append(str(error))
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
given.append(ask(session))
session.close()
hold(path, given, len(told))
print(len(given), len(told), told[-1] if told else "")
"""
TESTS = Path(__file__).resolve().parents[1]


def run(code: str, *words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, str(TESTS), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("limit", [0, 20_000, 60_000, 100_000])
def test_a_quota_lets_no_answer_out_that_is_not_paid_for(limit: int, tmp_path: Path) -> None:
    given, failed, told = run(LIMITED, tmp_path / "study.ledger", limit).split(" ", 2)
    assert int(given) + int(failed) == 13
    assert int(failed) > 0
    assert any(words in told for words in (*WORDS, "cannot be written"))


READ_ONLY = f"""{OURS}
from sordino.errors import LedgerError
from tests.ledger.test_full_disk import ask, open_session
path, me = Path(sys.argv[2]), int(sys.argv[3])
if os.getuid() == 0:
    os.setgid(me)
    os.setuid(me)
try:
    session = open_session(path)
    ask(session)
    print("answered")
except LedgerError as error:
    print(error)
"""
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder that an ordinary user can reach; those of pytest are for its own user alone."""
    with TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("what", ["the file", "the folder", "both"])
def test_a_ledger_that_may_not_be_written_is_refused_in_words(what: str, folder: Path) -> None:
    path = folder / "study.ledger"
    with open_session(path) as session:
        given = [ask(session)]
    me = NOBODY if os.getuid() == 0 else os.getuid()
    if not all(parent.stat().st_mode & 0o001 for parent in folder.parents):
        pytest.skip("an ordinary user cannot reach the temporary folder")
    for one in (folder, *folder.iterdir()):
        os.chown(one, me, -1)
        one.chmod(0o444 if one.is_file() and what != "the folder" else 0o755)
    folder.chmod(0o755 if what == "the file" else 0o555)
    try:
        told = run(READ_ONLY, path, me)  # as an ordinary user, for whom permissions count
    finally:
        folder.chmod(0o755)
        for one in folder.iterdir():
            one.chmod(0o644)
    assert "answered" not in told
    assert "cannot be" in told
    with open_session(path) as session:  # nothing has to be mended by hand
        given.append(ask(session))
    hold(path, given, faults=1)
