# SPDX-License-Identifier: Apache-2.0
"""Timing by the best of several rounds in turn, or by those in which nobody else was busy.

What is measured is shown beside the most that it may be.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from rich.console import Console
from rich.table import Table

Work = Callable[[], object]

_PATIENCE = 60  # seconds to wait for a machine that others use as well
_DISTURBED = 1.1  # a loop that takes so much longer than it can is disturbed
_TRIES = 8  # for one round that counts
_ENOUGH = 0.4  # of the rounds that are wanted


def seconds(work: Work) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def verdict(reached: bool) -> str:
    return "[green]reached[/]" if reached else "[red]short[/]"


class Verdicts(Table):
    """A table whose last column says of each row whether it is as good as it has to be."""

    def __init__(self, title: str, *headings: str, left: int = 1) -> None:
        """Make the columns; the texts of the first are at the ``left``, numbers at the right."""
        super().__init__(title=title)
        self.missed = 0
        for place, heading in enumerate((*headings, "")):
            self.add_column(heading, justify="left" if place < left else "right")

    def judge(self, reached: bool, *cells: str) -> None:
        self.missed += not reached
        self.add_row(*cells, verdict(reached))

    def show(self, console: Console) -> int:
        """Print the table; return how many rows fall short."""
        console.print(self)
        return self.missed


class Figures(Verdicts):
    """A table of figures, each with the most that it may be."""

    def __init__(self, title: str, first: str = "what") -> None:
        super().__init__(title, first, "measured", "at most")

    def figure(self, what: str, value: float, most: float, unit: str, digits: str = ".2f") -> None:
        """Add a figure, written with so many digits."""
        self.judge(value <= most, what, f"{value:{digits}} {unit}", f"{most:g} {unit}")


def best_of(rounds: int, *works: Work) -> list[float]:
    """Return the least time of each piece of work, taken in turn, after one unmeasured round."""
    for work in works:
        work()
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def undisturbed(rounds: int, timed: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Return what rounds took that nobody else disturbed, and what all of them took.

    A neighbour on the same core slows everything down for seconds at a time, which tells nothing
    about the work. So a loop that never changes is timed before each round, and the round counts
    if the loop was about as fast as it ever was, however long the work itself takes then. Where
    too few rounds are left, all of them count.
    """
    begun = perf_counter()
    fastest = min(seconds(_loop) for _ in range(2_000))
    found: list[tuple[float, float]] = []
    while len(found) < rounds or (
        len(found) < _TRIES * rounds
        and perf_counter() < begun + _PATIENCE
        and sum(probe <= _DISTURBED * fastest for probe, _ in found) < rounds
    ):
        probe = seconds(_loop)
        fastest = min(fastest, probe)
        found.append((probe, timed()))
    everything = [took for _, took in found]
    quiet = [took for probe, took in found if probe <= _DISTURBED * fastest]
    return quiet if len(quiet) >= _ENOUGH * rounds else everything, everything


def _loop() -> None:
    total = 0
    for i in range(20_000):
        total += i * i
