# SPDX-License-Identifier: Apache-2.0
"""The local model: encoding and counting beside numpy's insecure equivalent, and squared errors."""

from __future__ import annotations

import tracemalloc
from statistics import median
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.progress import track

from bench.timing import Verdicts, seconds
from sordino.local import Protocol, Response, Unary, candidates

PEOPLE, CATEGORIES, ROUNDS = 10_000_000, 100, 5
LEAST_ENCODED, LEAST_ADDED = 20e6, 50e6  # a second
LEAST_RATIO = 0.5  # of numpy's speed
FEW = 100_000  # people, beside ten times as many: memory must not grow
MOST_GROWTH = 1.1

SURVEYED, KINDS, EPSILON = 1_000_000, 1_000, 1
SURVEYS = {"randomized response": 60, "Hadamard response": 60}
FEWEST_SURVEYS = (
    20  # the mean of 1,000 squared errors is off by 4.5 percent; of 20 times that, by 1
)
MOST_OFF = 0.05


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    return _speed(console) + _memory(console) + _errors(console)


def _speed(console: Console) -> int:
    protocol = Response(CATEGORIES, epsilon=1)
    client, rng = protocol.client(), np.random.default_rng(1)
    values = rng.integers(0, CATEGORIES, PEOPLE)
    truth = float(protocol.truth)

    def insecure() -> np.ndarray:
        kept = rng.random(PEOPLE) < truth
        other = rng.integers(0, CATEGORIES - 1, PEOPLE)
        other += other >= values
        return np.where(kept, values, other)

    reports, theirs = client.encode(values), insecure()
    ours: dict[str, list[float]] = {"encode": [], "add": []}
    peers: dict[str, list[float]] = {"encode": [], "add": []}
    for _ in track(range(ROUNDS), "encoding", transient=True):
        server = protocol.server()
        ours["encode"].append(seconds(lambda: client.encode(values)))
        peers["encode"].append(seconds(insecure))
        ours["add"].append(seconds(lambda s=server: s.add(reports)))  # type: ignore[misc]
        peers["add"].append(seconds(lambda: np.bincount(theirs, minlength=CATEGORIES)))
    title = f"Randomized response, {CATEGORIES} categories, {PEOPLE:,} people: millions a second"
    headings = "", "sordino", "at least", "numpy, insecure", "ratio", "at least"
    table = Verdicts(title, *headings)
    for name, least in (("encode", LEAST_ENCODED), ("add", LEAST_ADDED)):
        speed, beside = (PEOPLE / median(found[name]) for found in (ours, peers))
        reached = speed >= least and speed / beside >= LEAST_RATIO
        speeds = (f"{rate / 1e6:,.0f}" for rate in (speed, least, beside))
        table.judge(reached, name, *speeds, f"{speed / beside:.2f}", f"{LEAST_RATIO}")
    return table.show(console)


def _memory(console: Console) -> int:
    """Look at the most memory that coding and counting in pieces take, for more and more people."""
    title = "Memory of encoding and counting in pieces, beside the values: MB"
    headings = "", f"{FEW:,} people", f"{10 * FEW:,} people", "ratio", "at most"
    table = Verdicts(title, *headings)
    for protocol in (
        *candidates(CATEGORIES, EPSILON),
        Unary(CATEGORIES, epsilon=1, optimised=False),
    ):
        few, many = (_peak(protocol, people) for people in (FEW, 10 * FEW))
        reached = many / few <= MOST_GROWTH
        peaks = f"{few / 1e6:.1f}", f"{many / 1e6:.1f}"
        table.judge(reached, protocol.words, *peaks, f"{many / few:.2f}", f"{MOST_GROWTH}")
    return table.show(console)


def _peak(protocol: Protocol, people: int) -> int:
    values = np.arange(people) % CATEGORIES
    tracemalloc.start()
    server = protocol.server()
    for reports in protocol.client().stream(values):
        server.add(reports)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def _errors(console: Console) -> int:
    """Collect reports of people whose categories follow Zipf's law, many times."""
    shares = 1 / np.arange(1, KINDS + 1)
    ends = np.round(np.cumsum(shares / shares.sum()) * SURVEYED).astype(int)
    values = np.repeat(np.arange(KINDS), np.diff(ends, prepend=0))
    truth = np.bincount(values, minlength=KINDS) / SURVEYED
    title = (
        f"Mean squared error over theory: Zipf, {KINDS:,} categories, {SURVEYED:,} people, "
        f"epsilon {EPSILON}"
    )
    headings = "", "bits", "surveys", "error/theory", "give or take", "at most off", "s each"
    table = Verdicts(title, *headings)
    kinds = (*candidates(KINDS, EPSILON), Unary(KINDS, epsilon=EPSILON, optimised=False))
    for protocol in kinds:
        surveys = SURVEYS.get(protocol.words, FEWEST_SURVEYS)
        begun, found = perf_counter(), []
        for _ in track(range(surveys), protocol.words, transient=True):
            server = protocol.server()
            for reports in protocol.client().stream(values):
                server.add(reports)
            errors = server.estimate().frequencies - truth
            found.append(float((errors**2).sum()) / protocol.total_error(SURVEYED))
        each = (perf_counter() - begun) / surveys
        mean, spread = np.mean(found), np.std(found, ddof=1) / np.sqrt(surveys)
        reached = bool(abs(mean - 1) <= MOST_OFF)
        table.judge(
            reached,
            protocol.words,
            f"{protocol.report_bits}",
            f"{surveys}",
            f"{mean:.3f}",
            f"{spread:.3f}",
            f"{MOST_OFF}",
            f"{each:.2f}",
        )
    return table.show(console)
