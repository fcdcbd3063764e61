# SPDX-License-Identifier: Apache-2.0
"""What HTTP adds to a question, how many answers a second there are, and what a keeper holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from shutil import copytree
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from rich.console import Console

import sordino as so
from bench.asks import CATALOG, clinic
from bench.timing import Figures, Verdicts, seconds

ROUNDS, OF_EACH = 400, 20
MOST_ADDED = 5.0  # milliseconds, in the median
LEAST_A_SECOND = 300.0  # stored answers
CLIENTS, BURST = 16, 3_000
ASKS, FRESH = 20_000, 2_000  # how many of them are new questions
MOST_MEMORY = 50.0  # MB above the start
STORED = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT AVG(cost) AS m FROM visits WHERE age >= 65",
)
SERVER = '\n[server]\nslot = "off"\nrate = 10000\n'


@dataclass(frozen=True, slots=True)
class Server:
    """A keeper and a gateway of processes of their own, and the token of an analyst."""

    keeper: int
    port: int
    token: str

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=60)

    def memory(self) -> float:
        """Return what the keeper holds, in MB."""
        status = Path(f"/proc/{self.keeper}/status").read_text("ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def send(self, line: HTTPConnection, path: str, body: object, token: str = "") -> bytes:
        headers = {
            "Authorization": f"Bearer {token or self.token}",
            "Content-Type": "application/json",
        }
        line.request("POST", path, json.dumps(body), headers)
        answer = line.getresponse()
        heard = answer.read()
        assert answer.status in (200, 201), (answer.status, heard)
        return heard


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    with TemporaryDirectory(prefix="sordino-service-", dir=Path.cwd()) as name:
        catalog = clinic(Path(name) / "served", CATALOG + SERVER)
        beside = Path(name) / "direct"
        copytree(catalog.parent, beside)
        with serving(catalog) as server:
            start = server.memory()
            missed = _added(console, server, beside / catalog.name)
            missed += _rate(console, server)
            missed += _memory(console, server, start)
    return missed


@contextmanager
def serving(catalog: Path, *options: str) -> Iterator[Server]:
    """Start a keeper and a gateway as `sordino serve` does, and end both."""
    with TemporaryDirectory(prefix="sordino-") as name:  # short, as the name of a socket has to be
        state = Path(name)
        keeper, told = _started("sordino.keeper", str(catalog), "--state", name)
        try:
            socket = str(state / "keeper.sock")
            log = str(state / "access.log")
            gateway, place = _started(
                "sordino.gateway", "--keeper", socket, "--port", "0", "--access-log", log, *options
            )
            try:
                server = Server(keeper.pid, place["port"], told["owner"])
                line = server.connect()
                server.send(line, "/v1/people", {"name": "alice", "roles": ["analyst"]})
                made = server.send(line, "/v1/tokens", {"name": "alice", "fresh": True})
                line.close()
                yield Server(keeper.pid, place["port"], json.loads(made)["secret"])
            finally:
                _end(gateway)
        finally:
            _end(keeper)


def _started(module: str, *arguments: str) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    """Start a program that says in a line of JSON that it is ready."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", module, *arguments, "--ready", str(writing)]
    process = subprocess.Popen(command, pass_fds=(writing,))
    os.close(writing)
    with os.fdopen(reading) as announced:
        return process, json.loads(announced.readline())


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(60)


def _added(console: Console, server: Server, catalog: Path) -> int:
    """Show what HTTP adds to a stored answer and to a price, in rounds by turns."""
    figures = Figures("HTTP in place of calling the session: what it adds, in the median")
    line, prices = server.connect(), count(1)
    with so.open(catalog) as session:
        for sql in STORED:
            question = {"sql": sql, "epsilon": "0.5"}
            server.send(line, "/v1/answers", {"question": question})
            session.ask(sql, epsilon=Decimal("0.5"))

        def new(sql: str) -> dict[str, str]:
            return {"sql": sql, "epsilon": f"{next(prices)}e-6"}  # whose plan nobody has made yet

        works: dict[str, tuple[Callable[[str], object], Callable[[str], object]]] = {
            "a stored answer": (
                lambda sql: server.send(
                    line, "/v1/answers", {"question": {"sql": sql, "epsilon": "0.5"}}
                ),
                lambda sql: session.ask(sql, epsilon=Decimal("0.5")),
            ),
            "a price": (
                lambda sql: server.send(line, "/v1/prices", {"questions": [new(sql)]}),
                lambda sql: session.explain(sql, epsilon=Decimal(f"{next(prices)}e-6")),
            ),
        }
        for what, (remote, direct) in works.items():
            took: tuple[list[float], list[float]] = ([], [])
            for number in range(ROUNDS):
                sql = STORED[number % len(STORED)]
                for work, side in zip((remote, direct), took, strict=True):
                    side.append(seconds(lambda work=work, sql=sql: work(sql)))  # type: ignore[misc]
            there, here = (1_000 * median(side) for side in took)
            figures.figure(f"{what} ({here:.2f} ms by itself)", there - here, MOST_ADDED, "ms")
    line.close()
    return figures.show(console)


def _rate(console: Console, server: Server) -> int:
    """Show how many stored answers a second clients get that ask at once."""
    bodies = [{"question": {"sql": sql, "epsilon": "0.5"}} for sql in STORED]

    def ask(many: int) -> None:
        line = server.connect()
        for number in range(many):
            server.send(line, "/v1/answers", bodies[number % len(bodies)])
        line.close()

    with ThreadPoolExecutor(CLIENTS) as threads:
        begun = perf_counter()
        list(threads.map(ask, [BURST // CLIENTS] * CLIENTS))
        rate = (BURST // CLIENTS) * CLIENTS / (perf_counter() - begun)
    table = Verdicts("stored answers over HTTP", "clients", "a second", "at least")
    table.judge(rate >= LEAST_A_SECOND, str(CLIENTS), f"{rate:,.0f}", f"{LEAST_A_SECOND:,.0f}")
    return table.show(console)


def _memory(console: Console, server: Server, start: float) -> int:
    """Show by how much a keeper grows over many questions, of which one in ten is new.

    What it held at the ``start`` was before any question; all that came before this counts, too.
    """
    prices, line = count(1), server.connect()
    begun = perf_counter()
    for number in range(ASKS):
        sql, is_new = STORED[number % len(STORED)], number % (ASKS // FRESH) == 0
        epsilon = f"{next(prices)}e-5" if is_new else "0.5"
        server.send(line, "/v1/answers", {"question": {"sql": sql, "epsilon": epsilon}})
    took = perf_counter() - begun
    line.close()
    figures = Figures("memory of a keeper")
    figures.figure(
        f"above the {start:,.0f} MB of the start, after {ASKS:,} questions and those above, "
        f"{FRESH:,} of them new, in {took:,.0f} s",
        server.memory() - start,
        MOST_MEMORY,
        "MB",
        ".1f",
    )
    return figures.show(console)
