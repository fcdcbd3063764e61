# SPDX-License-Identifier: Apache-2.0
"""Questions from a text to a recorded answer: by one process and by eight on one ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time, sleep, time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import sordino as so
from sordino.session import session as session_module

ROWS, PEOPLE = 50_000, 10_000
MANY = 8  # processes
ASKS, WARM = 60, 12  # of each process
ROUNDS = 3
LEAST_RATIO = 1.0  # of many processes to one; writers take turns, and the rest goes beside
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT AVG(cost) AS m FROM visits WHERE age >= 65",
)
CATALOG = Path(__file__).with_suffix(".toml").read_text("utf-8")
_PRICES = count(1)


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    with TemporaryDirectory(prefix="sordino-asks-", dir=Path.cwd()) as folder:
        catalog = clinic(Path(folder))
        pairs = [(_asked(catalog, 1), _asked(catalog, MANY)) for _ in range(ROUNDS)]
        parts = _parts(catalog)
    alone, shared = (median(side) for side in zip(*[(a[0], b[0]) for a, b in pairs], strict=True))
    ratio = median(b[0] / a[0] for a, b in pairs)
    reached = ratio >= LEAST_RATIO
    table = Table(title="Questions on one ledger, each at a price of its own: asks a second")
    for heading in ("1 process", f"{MANY} processes", "ratio", "at least", "CPU, ms an ask", ""):
        table.add_column(heading, justify="right")
    table.add_row(
        f"{alone:,.0f}",
        f"{shared:,.0f}",
        f"{ratio:.2f}",
        f"{LEAST_RATIO}",
        f"{1_000 * median(a[1] for a, _ in pairs):.1f}",
        "ok" if reached else "[bold red]missed[/]",
    )
    console.print(table)
    whole = sum(parts.values())
    told = ", ".join(f"{name} {1_000 * took:.2f}" for name, took in parts.items())
    console.print(f"of {1_000 * whole:.2f} ms of CPU for one in a warm session: {told}\n")
    return not reached


def clinic(folder: Path, catalog: str = CATALOG) -> Path:
    """Write invented visits, and a catalog of them, into a folder; return where the catalog is."""
    folder.mkdir(exist_ok=True)
    generator = np.random.default_rng(1)
    columns = {
        "person": generator.integers(0, PEOPLE, ROWS),
        "age": generator.integers(0, 110, ROWS),
        "cost": generator.uniform(0, 5000, ROWS),
        "ward": generator.choice(["north", "south", "east", "west"], ROWS),
    }
    pq.write_table(pa.table(columns), folder / "visits.parquet")
    path = folder / "sordino.toml"
    path.write_text(catalog, "utf-8")
    return path


def _asked(catalog: Path, processes: int) -> tuple[float, float]:
    """Return how many asks a second so many processes get answered, and the CPU of one."""
    command = [sys.executable, "-m", "bench.asks", str(catalog)]
    workers = [
        subprocess.Popen(
            [*command, str(next(_PRICES))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "warm\n"
    begin = time() + 0.2  # for all of them at once
    told = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(f"{begin}\n")
        worker.stdin.flush()
    for worker in workers:
        out, _ = worker.communicate()
        assert worker.returncode == 0
        told.append(json.loads(out))
    ended = max(end for end, _ in told)
    return processes * ASKS / (ended - begin), median(busy for _, busy in told) / ASKS


def _work(catalog: Path, number: int) -> None:
    """Be one process: warm up, wait for the others, ask, and tell when and at what cost."""
    prices = (Fraction(number) + Fraction(k, 10**6) for k in count(1))
    with so.open(catalog) as session:
        for k in range(WARM):
            session.ask(QUESTIONS[k % len(QUESTIONS)], epsilon=next(prices))
        print("warm", flush=True)
        sleep(max(0.0, float(sys.stdin.readline()) - time()))
        begun = process_time()
        for k in range(ASKS):
            session.ask(QUESTIONS[k % len(QUESTIONS)], epsilon=next(prices))
        print(json.dumps([time(), process_time() - begun]))


def _parts(catalog: Path) -> dict[str, float]:
    """Return the CPU seconds that the steps of one ask take, of all threads together."""
    spent: dict[str, float] = dict.fromkeys(("plan", "ledger", "engine", "release"), 0.0)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            begun = process_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent[name] += process_time() - begun

        return measured

    prices = (Fraction(1, 2) + Fraction(k, 10**6) for k in count(1))
    with so.open(catalog) as session:
        for k in range(WARM):
            session.ask(QUESTIONS[k % len(QUESTIONS)], epsilon=next(prices))
        held: Any = session
        held._plan = timed("plan", held._plan)
        for step in ("find", "obtain", "record"):
            setattr(held._ledger, step, timed("ledger", getattr(held._ledger, step)))
        held._engine.run = timed("engine", held._engine.run)
        module: Any = session_module
        before, module.release = module.release, timed("release", module.release)
        try:
            begun = process_time()
            for k in range(ASKS):
                session.ask(QUESTIONS[k % len(QUESTIONS)], epsilon=next(prices))
            whole = process_time() - begun
        finally:
            module.release = before
    each = {name: took / ASKS for name, took in spent.items()}
    return {**each, "all else": max(whole / ASKS - sum(each.values()), 0.0)}


if __name__ == "__main__":
    _work(Path(sys.argv[1]), int(sys.argv[2]))
