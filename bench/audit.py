# SPDX-License-Identifier: Apache-2.0
"""How many runs an audit looks at in a second, how much memory it takes, and what it proves."""

from __future__ import annotations

import math
import resource
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from bench.timing import Verdicts
from sordino.auditing import Report, audit, batched

RUNS = 10_000_000
MOST_SECONDS = 10.0
MOST_MEGABYTES = 300.0  # above what the process had before
MILLION = 1_000_000
LEAST_SHARE = 0.9  # of the true epsilon
GRID = 2.0**20

Mechanism = Callable[..., Any]


class Known(NamedTuple):
    """A mechanism, a pair, what it loses there and what it claims."""

    mechanism: Mechanism
    x: Any
    y: Any
    epsilon: float
    claimed: float
    least: float  # to be proved


def rounded(generator: np.random.Generator, size: int | tuple[int, int]) -> Any:
    return np.round(generator.laplace(size=size) * GRID) / GRID


def laplace(generator: np.random.Generator) -> Mechanism:
    return batched(lambda data, runs: data + rounded(generator, runs))


def float_laplace(generator: np.random.Generator) -> Mechanism:
    return batched(lambda data, runs: data + generator.laplace(size=runs))


def vector(generator: np.random.Generator) -> Mechanism:
    return batched(lambda data, runs: np.array(data) + rounded(generator, (runs, len(data))))


def geometric(generator: np.random.Generator) -> Mechanism:
    chance = -math.expm1(-1.0)
    return batched(
        lambda data, runs: (
            data + generator.geometric(chance, runs) - generator.geometric(chance, runs)
        )
    )


def response(generator: np.random.Generator) -> Mechanism:
    truth = math.e / (1 + math.e)
    return batched(lambda data, runs: np.where(generator.random(runs) < truth, data, 1 - data))


def exponential(generator: np.random.Generator) -> Mechanism:
    return batched(lambda data, runs: generator.random(runs) < 1 / (1 + math.exp(-data)))


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    return throughput(console) + power(console)


def throughput(console: Console) -> int:
    headings = "outputs", "seconds", "at most", "memory", "at most", "proved"
    table = Verdicts(f"{RUNS:,} sampled runs audited", *headings)
    generator = np.random.default_rng(1)
    audit(laplace(generator), 0, 1, runs=10_000)  # loads what is loaded once
    for name, mechanism, x, y in (
        ("numbers", laplace(generator), 0, 1),
        ("integers", geometric(generator), 0, 1),
        ("four coordinates", vector(generator), (0, 0, 0, 0), (1, 0, 0, 0)),
    ):
        before = peak()
        began = perf_counter()
        report = audit(mechanism, x, y, epsilon=1.05, runs=RUNS)
        seconds, megabytes = perf_counter() - began, peak() - before
        reached = seconds <= MOST_SECONDS and megabytes <= MOST_MEGABYTES and report.runs == RUNS
        took = f"{seconds:.2f}", f"{MOST_SECONDS:g}"
        memory = f"{megabytes:.0f} MB", f"{MOST_MEGABYTES:.0f} MB"
        table.judge(reached, name, *took, *memory, f"{report.lower_bound:.4f}")
    return table.show(console)


def power(console: Console) -> int:
    generator = np.random.default_rng(2)
    rare = 1 + math.log1p(math.exp(-4)) - math.log1p(math.exp(-3))
    known = {
        "Laplace": Known(laplace(generator), 0, 1, 1.0, 1.0, LEAST_SHARE),
        "geometric": Known(geometric(generator), 0, 1, 1.0, 1.0, LEAST_SHARE),
        "randomised response": Known(response(generator), 0, 1, 1.0, 1.0, LEAST_SHARE),
        "exponential": Known(exponential(generator), -4, -3, rare, rare, LEAST_SHARE * rare),
        "Laplace, claims 0.9": Known(laplace(generator), 0, 1, 1.0, 0.9, 0.9),
        "Laplace of floats": Known(float_laplace(generator), 0, 1, math.inf, 1.0, 1.0),
    }
    headings = "mechanism", "true", "claimed", "proved", "least", "runs", "seconds"
    table = Verdicts(f"what at most {MILLION:,} runs prove at 99.9 % confidence", *headings)
    for name, case in known.items():
        report = audit(case.mechanism, case.x, case.y, epsilon=case.claimed, runs=MILLION)
        reached = report.lower_bound >= case.least and right(report, case)
        numbers = case.epsilon, case.claimed, report.lower_bound, case.least
        took = f"{report.runs:,}", f"{report.seconds:.2f}"
        table.judge(reached, name, *(f"{number:.4f}" for number in numbers), *took)
    return table.show(console)


def right(report: Report, case: Known) -> bool:
    return report.private is (case.claimed >= case.epsilon)


def peak() -> float:
    """Return the most memory that the process has had, in megabytes."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
