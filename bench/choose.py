# SPDX-License-Identifier: Apache-2.0
"""Exact choices against numpy's largest of scores with Gumbel noise, which is a float's choice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table

from bench import choose_peers as peers
from bench.timing import Figures, best_of, verdict
from sordino.mechanisms.choose import Exponential, NoisyMax, PermuteAndFlip, choose
from sordino.mechanisms.choose.top_k import TopK

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Selector: TypeAlias = "type[Exponential] | type[PermuteAndFlip]"

CANDIDATES = 10_000_000
ROUNDS = 3
MOST_MEGABYTES = 16.0
LISTED = 100_000
DOMAIN = 10**18
MOST_MILLISECONDS = 15.0
REPEATS = 5
CHUNK = 1_000_000
PEER_CANDIDATES = 1_000_000
FEW = 100
RATES = (1e-6, 0.05, 5.0)


@dataclass(frozen=True)
class Asked:
    """A mechanism, and the share of numpy's time that it may take."""

    name: str
    make: Selector
    most: float


ASKED = [
    Asked("exponential", Exponential, 0.35),
    Asked("permute-and-flip", PermuteAndFlip, 0.45),
]


def _uniform(rng: np.random.Generator, size: int) -> Array:
    return rng.integers(0, 5_000, size)


def _zipf(rng: np.random.Generator, size: int) -> Array:
    return rng.zipf(1.5, size).clip(max=10**6)


def _ascending(_: np.random.Generator, size: int) -> Array:
    return np.arange(size) // 2_000


def _huge(rng: np.random.Generator, size: int) -> Array:
    return rng.integers(-(2**62), 2**62, size)


def _uniform_floats(rng: np.random.Generator, size: int) -> Array:
    return rng.random(size) * 5_000


def _zipf_floats(rng: np.random.Generator, size: int) -> Array:
    return rng.pareto(0.5, size).clip(max=1e6)


def _huge_floats(rng: np.random.Generator, size: int) -> Array:
    return rng.standard_normal(size) * 10.0 ** rng.integers(-300, 300, size)


def _near(rng: np.random.Generator, size: int) -> Array:
    return 1_000 + rng.random(size) * 1e-9


@dataclass(frozen=True)
class Shape:
    """Scores of one kind, and the rates at which they are chosen from."""

    name: str
    make: Callable[[np.random.Generator, int], Array]
    rates: tuple[float, ...] = RATES

    def scores(self, size: int) -> Array:
        return self.make(np.random.default_rng(7), size)


SHAPES = [
    Shape("whole, below 5,000", _uniform),
    Shape("whole, zipf counts", _zipf),
    Shape("whole, all equal", lambda _, size: np.full(size, 3), (0.05,)),
    Shape("whole, ascending", _ascending),
    Shape("whole, up to 2^62", _huge, (1e-18, 0.05)),
    Shape("floats, below 5,000", _uniform_floats),
    Shape("floats, zipf-like", _zipf_floats),
    Shape("floats, all equal", lambda _, size: np.full(size, 0.1), (0.05,)),
    Shape("floats, 1e-9 apart", _near, (0.05, 5.0)),
    Shape("floats, up to 1e300", _huge_floats, (1e-18, 5.0)),
]


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    missed = arrays(console) + limits(console)
    for_scale(console)
    return missed


def numpy_choice(scores: Array, rate: float) -> Callable[[], object]:
    rng = np.random.default_rng()

    def largest() -> object:
        return (scores * rate + rng.gumbel(size=scores.size)).argmax()

    return largest


def mechanism(make: Selector, rate: float) -> Exponential | PermuteAndFlip:
    """Return the mechanism with this rate: one that is monotone, with this epsilon."""
    return make(sensitivity=1, epsilon=rate, monotone=True)


def arrays(console: Console) -> int:
    table = Table(title=f"choosing among {CANDIDATES:,}: times the time of numpy's float choice")
    table.add_column("scores")
    table.add_column("rate", justify="right")
    table.add_column("numpy", justify="right")
    for asked in ASKED:
        for heading in (asked.name, "at most", ""):
            table.add_column(heading, justify="right")
    missed = 0
    for shape in SHAPES:
        scores = shape.scores(CANDIDATES)
        for rate in shape.rates:
            ours = [partial(mechanism(asked.make, rate).release, scores) for asked in ASKED]
            *times, theirs = best_of(ROUNDS, *ours, numpy_choice(scores, rate))
            row = [shape.name, f"{rate:g}", f"{theirs * 1e3:.0f} ms"]
            for asked, time in zip(ASKED, times, strict=True):
                reached = time / theirs <= asked.most
                missed += not reached
                row += [f"{time / theirs:.2f}", f"{asked.most:.2f}", verdict(reached)]
            table.add_row(*row)
    console.print(table)
    return missed


def limits(console: Console) -> int:
    figures = Figures("choices: memory, and domains too large to list")
    for place, asked in enumerate(ASKED):
        for kind in ("whole", "floats"):
            value, where = max(
                (extra_megabytes("release", place, at, rate), f"{shape.name}, rate {rate:g}")
                for at, shape in enumerate(SHAPES)
                if shape.name.startswith(kind)
                for rate in shape.rates[:2]
            )
            figures.figure(f"{asked.name}: memory beyond the scores, worst: {where}", value,
                MOST_MEGABYTES, "MB", ".1f")  # fmt: skip
        value = extra_megabytes("stream", place, 0, 0.05)
        figures.figure(
            f"{asked.name}: memory of a stream, beyond one chunk",
            value,
            MOST_MEGABYTES,
            "MB",
            ".1f",
        )
    for name, call in sparse_choices():
        # the mean of some: how long a choice takes is random
        value = best_of(3, partial(repeated, call))[0] / REPEATS
        figures.figure(name, value * 1e3, MOST_MILLISECONDS, "ms", ".1f")
    return figures.show(console)


def repeated(work: Callable[[], object]) -> None:
    for _ in range(REPEATS):
        work()


def sparse_choices() -> Iterator[tuple[str, Callable[[], object]]]:
    rng = np.random.default_rng(7)
    keys = rng.integers(0, DOMAIN, LISTED)
    counts = rng.zipf(1.5, LISTED).clip(max=10**6)
    for scores, kind in ((counts, "whole"), (counts + rng.random(LISTED), "float")):
        for name in ("exponential", "permute_and_flip"):
            for epsilon in (1, 1e-4):  # listed candidates win; the others win
                what = f"{name.replace('_', '-')}: {LISTED:,} {kind} scores of 10^18 candidates"
                yield (
                    f"{what}, epsilon {epsilon:g}",
                    partial(
                        choose, keys, scores, domain_size=DOMAIN, epsilon=epsilon, mechanism=name
                    ),
                )


def stream_choice(make: Selector, chunks: list[Array], rate: float) -> int:
    stream = mechanism(make, rate).stream()
    for chunk in chunks:
        stream.add(chunk)
    return int(stream.choose())


_MEMORY = """
import sys
from pathlib import Path
from bench.choose import ASKED, CANDIDATES, CHUNK, SHAPES, mechanism
def status(name):  # of this process alone; getrusage would count the parent's too
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
work, place, shape, rate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
one = mechanism(ASKED[place].make, rate)
scores = SHAPES[shape].scores(CANDIDATES if work == "release" else CHUNK)
Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on
before = status("VmRSS")
if work == "release":
    one.release(scores)
else:
    stream = one.stream()
    for _ in range(CANDIDATES // CHUNK):
        stream.add(scores)
    stream.choose()
print((status("VmHWM") - before) / 1024)
"""


def extra_megabytes(work: str, place: int, shape: int, rate: float) -> float:
    """Measure the peak in a process of its own, first tables included."""
    command = [sys.executable, "-c", _MEMORY, work, str(place), str(shape), str(rate)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return max(0.0, float(done.stdout))


def for_scale(console: Console) -> None:
    """Print what nothing is asked of: other ways to choose, small choices, other libraries."""
    table = Table(title="choices, for scale: whole scores below 5,000, rate 0.05")
    for heading in ("what", "candidates", "time", "times numpy's"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    rate = 0.05
    scores = SHAPES[0].scores(CANDIDATES)
    works: dict[str, Callable[[], object]] = {}
    for asked in ASKED:
        chunks = np.split(scores, CANDIDATES // CHUNK)
        works[f"{asked.name}, a stream of chunks of {CHUNK:,}"] = partial(
            stream_choice, asked.make, chunks, rate
        )
    laplace = NoisyMax(sensitivity=1, epsilon=rate, monotone=True, noise="laplace")
    works["noisy max, Laplace noise"] = partial(laplace.release, scores)
    ten = TopK(k=10, sensitivity=1, epsilon=10 * rate, monotone=True)
    works["the ten best, one after the other"] = partial(ten.release, scores)
    _rows(table, works, scores, rate, rounds=2)

    some = scores[:PEER_CANDIDATES]
    works = {a.name: partial(mechanism(a.make, rate).release, some) for a in ASKED}
    works |= {name: make(some, rate, True) for name, make in peers.choosers().items()}
    _rows(table, works, some, rate, rounds=2)

    few = scores[:FEW]
    works = {a.name: partial(mechanism(a.make, rate).release, few) for a in ASKED}
    works["choose(list, list, epsilon=1)"] = partial(
        choose, list(range(FEW)), few.tolist(), epsilon=1
    )
    works |= {name: make(few, rate, True) for name, make in peers.choosers().items()}
    _rows(table, works, few, rate, rounds=200)
    console.print(table)
    if not peers.choosers():
        console.print("(make bench PEERS=1 adds rows for OpenDP and diffprivlib)")


def _rows(
    table: Table,
    works: dict[str, Callable[[], object]],
    scores: Array,
    rate: float,
    rounds: int,
) -> None:
    *times, theirs = best_of(rounds, *works.values(), numpy_choice(scores, rate))
    for name, time in zip(works, times, strict=True):
        shown = f"{time * 1e3:,.1f} ms" if time > 1e-3 else f"{time * 1e6:,.0f} µs"
        table.add_row(name, f"{scores.size:,}", shown, f"{time / theirs:,.2f}")
    table.add_section()
