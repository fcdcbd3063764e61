# SPDX-License-Identifier: Apache-2.0
"""Whether the time of an answer tells if one person with very many rows is in the data.

A peer asks new questions of two keepers that differ by this person, times the replies at the
socket, and tries to tell the keepers apart by the times alone. The area under the curve of the
best threshold, in either direction, is 0.5 if nothing can be told.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory
from threading import Lock
from time import monotonic, perf_counter, sleep
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.channel import frames
from sordino.channel.frames import Reply, Request
from sordino.keeper.slots import Slots
from tests.support.services import CLINIC

ROWS, OF_ONE = 2_000, 400_000
QUESTION = "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits WHERE age < 90 GROUP BY ward"
TELLING, SILENT = 0.8, 0.55
WITHOUT, WITH = 200, 5_000  # times that are measured
SLOT = 2.0
AT_ONCE = 12
_PRICES = count(1)


def area(fewer: Sequence[float], more: Sequence[float]) -> float:
    """Return the area under the curve of a threshold between two samples, in the better direction.

    Of two samples of 2,500 that nothing tells apart it is above 0.55 once in a thousand million
    times: its standard deviation is then 0.0082, so that 0.55 is six of them away.
    """
    times = np.concatenate([fewer, more])
    values, places = np.unique(times, return_inverse=True)
    counts = np.bincount(places, minlength=len(values))
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    wins = ranks[len(fewer) :].sum() - len(more) * (len(more) + 1) / 2
    share = float(wins) / (len(fewer) * len(more))
    return max(share, 1 - share)


@dataclass
class Clock:
    """A clock that goes forward only when somebody rests or works."""

    now: float = 0.0

    def rest(self, seconds: float) -> None:
        self.now += seconds


def test_a_classifier_sees_what_there_is_to_see() -> None:
    random = SystemRandom()
    same = [[random.random() for _ in range(2_500)] for _ in range(2)]
    assert area(*same) <= SILENT
    assert area([1.0, 2.0], [3.0, 4.0]) == area([3.0, 4.0], [1.0, 2.0]) == 1
    assert area([1.0] * 9, [1.0] * 5) == 0.5


@pytest.mark.parametrize("work", [0.7, 1.9])
def test_an_answer_leaves_at_the_same_moment_however_long_the_work_was(work: float) -> None:
    """Without slots the times of work tell all; with slots nothing, up to a slot that is over."""
    clock, random = Clock(), SystemRandom()
    slots = Slots(None, 10, clock=lambda: clock.now, rest=clock.rest)
    times: dict[bool, tuple[list[float], list[float]]] = {False: ([], []), True: ([], [])}
    for has_slots in times:
        slots.set(2 if has_slots else None, 10)  # type: ignore[arg-type]
        for number in range(200):
            begun = clock.now
            clock.rest(work * (1 if number % 2 else random.uniform(0.1, 0.6)))
            slots.wait(begun)
            times[has_slots][number % 2].append(round(clock.now - begun, 9))
    assert area(*times[False]) == 1
    assert area(*times[True]) == 0.5


@dataclass
class Running:
    """A keeper of a process of its own, and times of its replies to new questions."""

    path: Path
    token: str
    times: list[float] = field(default_factory=list)
    _turn: Lock = field(default_factory=Lock)

    def send(self, call: str, body: object = None) -> tuple[Reply, float]:
        sent = b"" if body is None else json.dumps(body).encode()
        request = Request(call, "1", credential=self.token, body=sent)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.connect(str(self.path))
            begun = perf_counter()
            line.sendall(frames.pack(request))
            header = _exactly(line, frames.HEADER.size)
            reply = _exactly(line, frames.length(header, frames.LARGEST_REPLY))
            took = perf_counter() - begun
        return frames.unpack_reply(reply), took

    def time(self) -> None:
        """Ask what was never asked, and note how long the answer took."""
        question = {"sql": QUESTION, "epsilon": f"{next(_PRICES)}e-6"}
        reply, took = self.send("ask", {"question": question})
        assert reply.status == 200, reply
        with self._turn:
            self.times.append(took)

    def overruns(self) -> int:
        """Return how many answers were not ready after one slot."""
        reply, _ = self.send("health")
        assert reply.status == 200, reply
        return int(json.loads(reply.body)["overruns"])


def _exactly(line: socket.socket, many: int) -> bytes:
    pieces = b""
    while len(pieces) < many:
        piece = line.recv(many - len(pieces))
        assert piece
        pieces += piece
    return pieces


def make_clinic(folder: Path, of_one: int, slot: str) -> Path:
    """Write visits of many, and so many of one person more."""
    folder.mkdir()
    generator = np.random.default_rng(7)
    many = ROWS + of_one
    person = np.concatenate([np.arange(ROWS) // 2, np.full(of_one, ROWS)])
    visits: dict[str, Any] = {
        "person": person,
        "age": generator.integers(0, 110, many),
        "cost": generator.uniform(0, 5000, many),
        "ward": pa.array(["north", "south"] * (many // 2)).dictionary_encode(),
    }
    visits["ward"] = visits["ward"].cast(pa.string())
    pq.write_table(pa.table(visits), folder / "visits.parquet")
    path = folder / "sordino.toml"
    server = f'slot = "{slot}"\nrate = 10000'
    path.write_text(CLINIC.format(epsilon="100000", server=server), "utf-8")
    return path


@contextmanager
def running(catalog: Path) -> Iterator[Running]:
    """Run a keeper, with one analyst and a question that has warmed it up."""
    reading, writing = os.pipe()
    state = catalog.with_name("s")
    command = [sys.executable, "-m", "sordino.keeper", str(catalog), "--state", str(state)]
    process = subprocess.Popen([*command, "--ready", str(writing)], pass_fds=(writing,))
    os.close(writing)
    try:
        with os.fdopen(reading) as announced:
            owner = json.loads(announced.readline())["owner"]
        keeper = Running(state / "keeper.sock", owner)
        for _ in range(6):
            keeper.time()
        keeper.times.clear()
        yield keeper
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def both(folder: Path, slot: str) -> Iterator[tuple[Running, Running]]:
    """Run the keeper without the one person, and the one with them."""
    off = slot.replace("off", "none")
    with (
        running(make_clinic(folder / f"a{off}", 0, slot)) as fewer,
        running(make_clinic(folder / f"b{off}", OF_ONE, slot)) as more,
    ):
        yield fewer, more


def measure(sides: Sequence[Running], many: int, at_once: int) -> float:
    """Time so many answers, each of a side by the fall of a coin, and return the area."""
    coins = SystemRandom()
    order = [sides[0], sides[1]] * (many // 2)
    coins.shuffle(order)
    began, spread = monotonic(), SLOT / at_once

    def ask(side: Running, number: int) -> None:
        if at_once > 1:  # peers that do not all come at the same moment
            sleep(max(0.0, began + number * spread - monotonic()))
        side.time()

    with ThreadPoolExecutor(at_once) as peers:
        list(peers.map(ask, order, range(many)))
    return area(sides[0].times, sides[1].times)


@pytest.mark.soak
def test_five_thousand_times_tell_nothing_with_slots_and_much_without() -> None:
    with TemporaryDirectory(prefix="so-") as name:
        folder = Path(name)
        with both(folder, "off") as sides:
            without = measure(sides, WITHOUT, 1)
        with both(folder, f"{SLOT:g}s") as sides:
            told = measure(sides, WITH, AT_ONCE)
            overruns = [side.overruns() for side in sides]
            times = [len(side.times) for side in sides]
    found = {"without": without, "with": told, "times": times, "overruns": overruns}
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    assert times == [WITH // 2] * 2
    assert without >= TELLING, found
    assert overruns == [0, 0], "the machine is too busy for these slots, and late answers tell"
    assert told <= SILENT, found
