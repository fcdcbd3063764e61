# SPDX-License-Identifier: Apache-2.0
"""Exact integer noise against numpy's floats, which are neither exact nor secure."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import sordino as so
from bench import peers
from bench.timing import Figures, best_of, verdict
from sordino.randomness.samplers import Sampler, discrete_gaussian, discrete_laplace

VALUES = 8_000_000
SINGLES = 200_000
MOST_MICROSECONDS = 5.0
MOST_MEGABYTES = 32.0


@dataclass(frozen=True)
class Case:
    """One distribution, and how many times as fast as numpy it is asked to be."""

    gaussian: bool
    scale: float
    name: str
    asked: float


CASES = [
    Case(False, 1, "1", 4.0),
    Case(False, 1e3, "1000", 2.5),
    Case(False, 1e6, "10^6", 1.5),
    Case(False, 2.0**40, "2^40", 1.1),
    Case(True, 10, "10", 3.0),
    Case(True, 1e3, "1000", 1.5),
    Case(True, 1e5, "10^5", 1.1),
    Case(True, 1e8, "10^8", 1.1),
]


def mechanism(case: Case) -> so.Laplace | so.Gaussian:
    if case.gaussian:
        return so.Gaussian(sensitivity=1, sigma=case.scale)
    return so.Laplace(sensitivity=1, epsilon=1 / case.scale)


def sampler(case: Case) -> Sampler:
    """Return what the mechanism draws its noise from."""
    scale = Fraction(case.scale)
    return discrete_gaussian(scale**2) if case.gaussian else discrete_laplace(scale)


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    return arrays(console) + singles(console)


def arrays(console: Console) -> int:
    others = peers.installed()
    table = Table(title=f"{VALUES:,} values: nanoseconds each, drawn alone and added to data")
    for heading in ("noise", "scale", "drawn", "released", "numpy floats", "times as fast", "asked",
                    ""):  # fmt: skip
        table.add_column(heading, justify="left" if heading == "noise" else "right")
    for name in others:
        table.add_column(name, justify="right")
    generator = np.random.default_rng()
    zeros = np.zeros(VALUES, dtype=np.int64)
    missed = 0
    for case in CASES:
        draw = generator.normal if case.gaussian else generator.laplace
        ours, released, theirs = best_of(
            5,
            partial(sampler(case).many, VALUES),
            partial(mechanism(case).release, zeros),
            partial(draw, 0.0, case.scale, VALUES),
        )
        ratio = theirs / ours
        reached = ratio >= case.asked
        missed += not reached
        table.add_row(
            "discrete Gaussian" if case.gaussian else "discrete Laplace",
            case.name,
            f"{ours / VALUES * 1e9:.1f}",
            f"{released / VALUES * 1e9:.1f}",
            f"{theirs / VALUES * 1e9:.1f}",
            f"{ratio:.2f}",
            f"{case.asked:.1f}",
            verdict(reached),
            *(peers.nanoseconds(name, case.scale, case.gaussian) for name in others),
        )
    console.print(table)
    if not others:
        console.print("(make bench PEERS=1 adds columns for OpenDP and diffprivlib)")
    return missed


def singles(console: Console) -> int:
    figures = Figures("one released integer, and memory")
    for case in CASES:
        one = mechanism(case)

        def loop(release: object = one.release) -> None:
            for _ in range(SINGLES):
                release(3)  # type: ignore[operator]  # a bound method

        family = "Gaussian" if case.gaussian else "Laplace"
        value = best_of(3, loop)[0] / SINGLES * 1e6
        figures.figure(f"{family}, scale {case.name}: release(3)", value, MOST_MICROSECONDS, "µs")
    for what in ("laplace", "gaussian"):
        figures.figure(f"{VALUES:,} {what} values: memory beyond the output", extra_megabytes(what),
            MOST_MEGABYTES, "MB")  # fmt: skip
    return figures.show(console)


_MEMORY = """
import sys
import numpy as np
import sordino as so
def peak():  # of this process alone; getrusage would count the parent's too
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
m = (so.Laplace(sensitivity=1, epsilon=1e-6) if sys.argv[1] == "laplace"
     else so.Gaussian(sensitivity=1, sigma=1e5))
values = np.zeros(int(sys.argv[2]), dtype=np.int64)
values[:] = 1
before = peak()
out = m.release(values)
print((peak() - before) / 1024 - out.nbytes / 2**20)
"""


def extra_megabytes(what: str) -> float:
    """Measure the peak in a process of its own, first tables included."""
    command = [sys.executable, "-c", _MEMORY, what, str(VALUES)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return max(0.0, float(done.stdout))
