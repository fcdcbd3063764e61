# SPDX-License-Identifier: Apache-2.0
"""Cutting contributions against a plain sort of (unit, hash), only the first step of it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console

from bench.timing import Verdicts, best_of, verdict
from sordino.contributions.bounding import bound_contributions
from sordino.randomness.hashing import keyed_hash

Column = npt.NDArray[Any]

ROWS = 10_000_000
UNITS = 1_000_000
KEYS = 10_000
GROUPS = 4
SECRET = bytes(range(32))
MOST_MEGABYTES = 1_400.0


def run(console: Console) -> int:
    """Print the table; return how many figures fall short."""
    generator = np.random.default_rng()
    dense = generator.integers(0, UNITS, ROWS)
    names = generator.integers(-(2**63), 2**63 - 1, UNITS)
    keys = generator.integers(0, KEYS, ROWS)
    values = generator.integers(-50, 200, ROWS)
    title = f"{ROWS:,} rows of {UNITS:,} units, at most {GROUPS} groups each: seconds"
    headings = "units", "what", "cut and added up", "lexsort", "share", "at most"
    table = Verdicts(title, *headings, left=2)
    for kind, units in (("dense", dense), ("any 64-bit", names[dense])):
        hashes = keyed_hash(units, keys, SECRET)

        def count(units: Column = units) -> object:
            return bound_contributions(units, keys, groups=GROUPS, rows=2, secret=SECRET).totals()

        def amount(units: Column = units) -> object:
            return bound_contributions(
                units, keys, values, groups=GROUPS, low=0, high=100, secret=SECRET
            ).totals()

        def plain(units: Column = units, hashes: Column = hashes) -> object:
            return np.lexsort((hashes, units))

        counted, added, sorting = best_of(2, count, amount, plain)
        for what, ours in (("units and rows", counted), ("amounts", added)):
            seconds = f"{ours:.2f}", f"{sorting:.2f}", f"{ours / sorting:.2f}"
            table.judge(ours <= sorting, kind, what, *seconds, "1.00")
    extra = extra_megabytes()
    reached = extra <= MOST_MEGABYTES
    missed = table.show(console) + (not reached)
    console.print(
        f"memory beyond the columns: {extra:.0f} MB, at most {MOST_MEGABYTES:.0f} "
        f"{verdict(reached)}\n"
    )
    return missed


_MEMORY = f"""
import numpy as np
from sordino.contributions.bounding import bound_contributions
def peak():  # of this process alone; getrusage would count the parent's too
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
generator = np.random.default_rng()
units = generator.integers(0, {UNITS}, {ROWS})
keys = generator.integers(0, {KEYS}, {ROWS})
values = generator.integers(-50, 200, {ROWS})
before = peak()
kept = bound_contributions(
    units, keys, values, groups={GROUPS}, low=0, high=100, secret=bytes(32)
).totals()
print(peak() - before)
"""


def extra_megabytes() -> float:
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY], capture_output=True, text=True, check=True
    )
    return float(done.stdout)
