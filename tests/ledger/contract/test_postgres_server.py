# SPDX-License-Identifier: Apache-2.0
"""The server of the tests: it runs whoever starts it, and leaves nothing behind."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from stat import S_IXOTH

import psycopg
import pytest

from tests.support.postgres import OTHERS, PATIENCE, Server, binaries

SUPPORT = Path(__file__).resolve().parents[2] / "support"
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from postgres import Server, psycopg
server = Server()
with psycopg.connect(server.database()) as connection:
    assert connection.execute("SHOW fsync").fetchone() == ("on",)
print(server.folder, flush=True)
"""
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")


def in_another_process(ending: str, **options: object) -> tuple[Path, int]:
    """Start a server in a process of its own, and return where it was and how the process ended."""
    command = [sys.executable, "-W", "error", "-c", SCRIPT + ending, str(SUPPORT)]
    ended = subprocess.run(  # type: ignore[call-overload]  # options are those of another user
        command, stdout=subprocess.PIPE, cwd="/", text=True, check=False, **options
    )
    return Path(ended.stdout.strip()), ended.returncode


def is_gone(folder: Path) -> bool:
    until = time.monotonic() + PATIENCE
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.05)
    return not folder.exists()


def test_every_database_is_new_and_empty(postgres: Server) -> None:
    first, second = postgres.database(), postgres.database()
    assert first != second
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE things (one integer)")
    with psycopg.connect(second) as connection:
        found = connection.execute("SELECT to_regclass('things')").fetchone()
    assert found == (None,)


def test_what_was_committed_outlives_a_loss_of_power(postgres: Server) -> None:
    address = postgres.database()
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE things AS SELECT 7 AS one")
    postgres.stop_at_once()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(address)
    postgres.start()
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT one FROM things").fetchone() == (7,)


def unreadable(path: Path) -> Path | None:
    """Return a folder on the way to a file that keeps others out."""
    closed = (folder for folder in path.resolve().parents if not folder.stat().st_mode & S_IXOTH)
    return next(closed, None)


@as_root
def test_an_ordinary_user_can_run_it() -> None:
    closed = unreadable(Path(sys.executable)) or unreadable(SUPPORT)
    if closed is not None:
        pytest.skip(f"others may not enter {closed}, where this Python or these tests are")
    other = pwd.getpwnam(OTHERS[-1])
    options = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
    folder, code = in_another_process("server.stop()", **options)
    assert code == 0
    assert is_gone(folder)


@as_root
def test_binaries_that_others_cannot_read_are_copied(tmp_path: Path) -> None:
    found = binaries()[0]
    root, libraries = found.parents[1], found.parents[1].with_name(f"{found.parents[1].name}.libs")
    if not libraries.exists():
        pytest.skip("only the binaries of the wheel lie where others may not read them")
    hidden = tmp_path / "hidden"
    shutil.copytree(found.parent, hidden / root.name / found.parent.name)
    shutil.copytree(libraries, hidden / libraries.name)
    hidden.chmod(0o700)
    server = Server(hidden / found.relative_to(root.parent))
    try:
        psycopg.connect(server.database()).close()
        assert (server.folder / "binaries").exists()
    finally:
        server.stop()
    assert not server.folder.exists()


def test_nothing_is_left_when_the_tests_are_killed() -> None:
    folder, code = in_another_process("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert code == -signal.SIGKILL
    assert is_gone(folder)
