# SPDX-License-Identifier: Apache-2.0
"""More than 400 compositions beside other accountants: never below the truth, hardly above it.

All times are of the processor, so that neighbours on the machine do not count.
``python -m bench.compositions`` goes through all of them, and with ``--write`` the whole table goes
to docs/compositions.md; ``make bench`` takes every twentieth.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import os
import platform
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib.metadata import version
from itertools import pairwise
from operator import add
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench import accountants
from bench.accountants import ANSWERS, Answer, Mechanism
from sordino.privacy import losses
from sordino.privacy.loss import Loss

MOST_EXCESS = 1e-4  # relatively above the best peer that is not below the truth
MOST_SECONDS = 10.0
UNFELT_SECONDS = 0.05  # what takes no longer is not compared
LEAST_SECONDS = 1e-3  # about what the clock tells apart
MONOTONE = 1e-12  # relatively: what rounding may do to a series
LEAST_EPSILON = 1e-6  # below it no accountant has a grid, and differences are absolute
PEER_SECONDS = 2.0  # after which a peer is given up
ENOUGH_SECONDS = 0.1  # a peer that took so long is not asked to be more precise
ROUNDS = 3  # of which the fastest counts, where times are close
FEW = 20
PAGE = Path(__file__).parents[1] / "docs" / "compositions.md"
TRUTH_MARGIN = 1e-6  # relatively: a peer this little below the certain end is counted as right


@dataclass(frozen=True)
class Case:
    """A composition and a delta."""

    parts: tuple[tuple[Mechanism, int], ...]
    delta: float

    @property
    def family(self) -> str:
        return self.parts[0][0].family if len(self.parts) == 1 else "mix"

    @property
    def name(self) -> str:
        steps = " and ".join(f"{times:,} {mechanism.name}" for mechanism, times in self.parts)
        return f"{steps}, delta {self.delta:g}"

    @property
    def loss(self) -> Loss:
        return reduce(add, (times * mechanism.loss for mechanism, times in self.parts))

    def epsilon(self) -> float:
        return self.loss.epsilon(delta=self.delta)

    def lower(self) -> float:
        """Return an epsilon below which nobody can be right."""
        if self.family != "exponential":
            return self.loss.pld().epsilon(delta=self.delta).lower
        # One such mechanism is a choice of two with the losses epsilon / 2 and -epsilon / 2.
        [(mechanism, times)] = self.parts
        choices = times * losses.pure(epsilon=mechanism.strength / 2)
        return choices.epsilon(delta=self.delta) * (1 - TRUTH_MARGIN)


@dataclass(frozen=True)
class Peer:
    """What another accountant makes of a case."""

    name: str
    epsilon: float
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What came out of a case: our epsilon, the certain lower end, our time, and the peers."""

    case: Case
    epsilon: float
    lower: float
    seconds: float
    peers: tuple[Peer, ...]

    @property
    def wrong(self) -> list[Peer]:
        """The peers that are below the truth."""
        least = self.lower * (1 - TRUTH_MARGIN)
        return [peer for peer in self.peers if peer.epsilon < least]

    @property
    def best(self) -> Peer | None:
        """The fastest one of those peers that come close to the least valid epsilon."""
        wrong = self.wrong
        valid = [peer for peer in self.peers if peer not in wrong and math.isfinite(peer.epsilon)]
        if not valid:
            return None
        least = min(peer.epsilon for peer in valid)
        close = [peer for peer in valid if peer.epsilon <= least * (1 + MOST_EXCESS)]
        return min(close, key=lambda peer: peer.seconds)

    @property
    def excess(self) -> float:
        """How far we are above the best valid peer, relatively; negative where we are below."""
        if self.best is None:
            return -math.inf
        return (self.epsilon - self.best.epsilon) / max(self.best.epsilon, LEAST_EPSILON)

    @property
    def is_tighter(self) -> bool:
        """Whether no peer comes close to our epsilon, so that its time buys less."""
        return self.excess < -MOST_EXCESS

    @property
    def ratio(self) -> float:
        """Our time over that peer's; 0 where nobody feels ours."""
        if self.best is None or self.seconds <= UNFELT_SECONDS:
            return 0.0
        return self.seconds / max(self.best.seconds, LEAST_SECONDS)

    @property
    def faults(self) -> list[str]:
        """Name the laws that do not hold."""
        laws = {
            "below the truth": self.lower <= self.epsilon * (1 + MONOTONE),
            "above a peer": self.excess <= MOST_EXCESS,
            "slower than it": self.ratio <= 1 or self.is_tighter,
            "too slow": self.seconds <= MOST_SECONDS,
        }
        return [law for law, holds in laws.items() if not holds]


def cases() -> list[Case]:
    """List all compositions."""
    return [
        Case(parts, delta)
        for groups in (_gaussian(), _bounded(), _discrete(), _sampled(), _mixed())
        for parts, deltas in groups
        for delta in deltas
    ]


Group = tuple[tuple[tuple[Mechanism, int], ...], tuple[float, ...]]


def _each(
    mechanisms: Iterable[Mechanism], uses: Sequence[int], deltas: tuple[float, ...]
) -> Iterator[Group]:
    for mechanism in mechanisms:
        for times in uses:
            yield ((mechanism, times),), deltas


def _gaussian() -> Iterator[Group]:
    mechanisms = map(accountants.gaussian, (0.3, 1, 5, 20, 100))
    return _each(mechanisms, (1, 10, 1000, 10**6), (1e-2, 1e-6, 1e-10, 1e-15))


def _bounded() -> Iterator[Group]:
    kinds = (accountants.pure, accountants.laplace, accountants.exponential)
    mechanisms = (kind(epsilon) for kind in kinds for epsilon in (0.01, 0.1, 1))
    return _each(mechanisms, (5, 100, 10_000, 10**6), (1e-2, 1e-6, 1e-15))


def _discrete() -> Iterator[Group]:
    mechanisms = [
        *(accountants.discrete_laplace(epsilon, 2) for epsilon in (0.1, 0.5, 1)),
        *(accountants.discrete_gaussian(sigma) for sigma in (1, 5, 20)),
        *(accountants.response(epsilon, 4) for epsilon in (0.1, 1)),
    ]
    return _each(mechanisms, (2, 30, 1000), (1e-2, 1e-6, 1e-12))


def _sampled() -> Iterator[Group]:
    mechanisms = (
        accountants.sampled_gaussian(rate, sigma)
        for rate in (1e-6, 1e-4, 1e-2, 0.1, 1)
        for sigma in (0.3, 1, 5, 100)
    )
    return _each(mechanisms, (1, 100, 10_000, 10**6), (1e-2, 1e-7, 1e-15))


def _mixed() -> Iterator[Group]:
    for epsilon, sigma, times in ((0.05, 20, 200), (0.5, 3, 5), (0.01, 100, 5000), (0.2, 10, 30)):
        laplace, gaussian = accountants.laplace(epsilon), accountants.gaussian(sigma)
        parts = ((laplace, times), (gaussian, times), (accountants.pure(epsilon), 1))
        yield parts, (1e-2, 1e-5, 1e-9, 1e-13)


def monotone_violations(epsilons: dict[Case, float]) -> list[tuple[Case, Case]]:
    """List pairs of cases of which the second must cost no less than the first, and costs less.

    They differ in one respect: the second has more uses, a smaller delta, or a stronger mechanism
    of the same kind at the same rate.
    """
    single = [case for case in epsilons if len(case.parts) == 1]
    mixed = [case for case in epsilons if len(case.parts) > 1]

    def kind(case: Case) -> tuple[str, str]:
        [(mechanism, _)] = case.parts
        return mechanism.family, mechanism.kind

    def along(
        key: Callable[[Case], Any], rank: Callable[[Case], float], listed: list[Case] = single
    ) -> Iterator[tuple[Case, Case]]:
        series: dict[Any, list[Case]] = {}
        for case in listed:
            series.setdefault(key(case), []).append(case)
        for members in series.values():
            yield from pairwise(sorted(members, key=rank))

    def strength(case: Case) -> float:
        return case.parts[0][0].strength

    def uses(case: Case) -> int:
        return case.parts[0][1]

    def settings(case: Case) -> tuple[tuple[str, int], ...]:
        return tuple((mechanism.name, times) for mechanism, times in case.parts)

    pairs = [
        *along(lambda case: (kind(case), strength(case), case.delta), uses),
        *along(lambda case: (kind(case), strength(case), uses(case)), lambda case: -case.delta),
        *along(lambda case: (kind(case), uses(case), case.delta), strength),
        *along(settings, lambda case: -case.delta, mixed),
    ]
    return [(a, b) for a, b in pairs if epsilons[a] > epsilons[b] * (1 + MONOTONE)]


class _Late(Exception):
    """The peer took too long."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _Late


def _asked(answer: Answer) -> tuple[float, float]:
    """Return what a peer answers, or infinity, and the seconds it takes."""
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, PEER_SECONDS)
    start = time.process_time()
    epsilon = math.inf
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(io.StringIO()):  # autodp prints its searches
                epsilon = answer()
    except (_Late, ArithmeticError, ValueError, MemoryError, IndexError, RuntimeError):
        epsilon = math.inf  # what a peer cannot compute is no answer
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return epsilon if epsilon >= 0 else math.inf, time.process_time() - start


def _peers(case: Case) -> Iterator[Peer]:
    """Ask each peer, more and more precisely as long as it is quick."""
    for name in accountants.installed():
        for answer in ANSWERS[name](case.parts, case.delta):
            epsilon, seconds = _asked(answer)
            yield Peer(name.replace("_", "-"), epsilon, seconds)
            if seconds > ENOUGH_SECONDS:
                break


def measure(case: Case, *, rounds: int = ROUNDS) -> Outcome:
    """Compute a case by everybody; where we seem slower, the fastest of some rounds counts."""
    start = time.process_time()
    epsilon = case.epsilon()
    seconds = time.process_time() - start
    outcome = Outcome(case, epsilon, case.lower(), seconds, tuple(_peers(case)))
    for _ in range(1, rounds):
        if outcome.ratio <= 1 or outcome.is_tighter:
            break
        start = time.process_time()
        case.epsilon()
        seconds = min(seconds, time.process_time() - start)
        outcome = Outcome(case, epsilon, outcome.lower, seconds, outcome.peers)
    return outcome


def run(console: Console, *, every: int = FEW) -> int:
    """Print the cases that fall short and a summary; return how many do."""
    return report(console, [measure(case) for case in warm(cases())[::every]])


def warm(listed: list[Case]) -> list[Case]:
    """Load every library before anything is timed."""
    for case in listed[-1:]:
        case.epsilon()
        for name in accountants.installed():
            for answer in ANSWERS[name](case.parts, case.delta)[:1]:
                _asked(answer)
    return listed


def report(console: Console, outcomes: list[Outcome]) -> int:
    short = [outcome for outcome in outcomes if outcome.faults]
    if short:
        table = Table(title="compositions that fall short")
        for heading in ("composition", "certain", "sordino", "in", "best peer", "", "in", "fault"):
            table.add_column(heading, justify="left" if heading == "composition" else "right")
        for outcome in short:
            table.add_row(*_cells(outcome), ", ".join(outcome.faults))
        console.print(table)
    turned = monotone_violations({outcome.case: outcome.epsilon for outcome in outcomes})
    for before, after in turned:
        console.print(f"[red]not monotone:[/] {before.name}; {after.name}")
    peers = ", ".join(name.replace("_", "-") for name in accountants.installed())
    excess = max(outcome.excess for outcome in outcomes)
    console.print(
        f"{len(outcomes)} compositions beside {peers}: at most {excess:.1e} above the best valid "
        f"one, at most {max(outcome.seconds for outcome in outcomes):.1f} s; "
        f"{sum(bool(outcome.wrong) for outcome in outcomes)} with a peer below the truth, "
        f"{len(turned)} not monotone, {len(short)} fall short"
    )
    return len(short) + len(turned)


def _cells(outcome: Outcome) -> tuple[str, ...]:
    best = outcome.best
    return (
        outcome.case.name,
        f"{outcome.lower:.6g}",
        f"{outcome.epsilon:.6g}",
        f"{outcome.seconds:.2f} s",
        "" if best is None else f"{best.epsilon:.6g}",
        "none" if best is None else best.name,
        "" if best is None else f"{best.seconds:.2f} s",
    )


def summary(outcomes: list[Outcome]) -> list[str]:
    """Return a table of all families in Markdown."""
    lines = [
        "| family | cases | a peer answers | largest excess | slowest | times over a close peer's, "
        "median | worst | slower than a looser peer | a peer below the truth |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for family in dict.fromkeys(outcome.case.family for outcome in outcomes):
        members = [outcome for outcome in outcomes if outcome.case.family == family]
        beside = [outcome for outcome in members if outcome.best is not None]
        close = [outcome.ratio for outcome in beside if not outcome.is_tighter]
        excess = max((outcome.excess for outcome in beside), default=-math.inf)
        looser = sum(outcome.ratio > 1 and outcome.is_tighter for outcome in beside)
        lines.append(
            f"| {family} | {len(members)} | {len(beside)} | {excess:.0e} | "
            f"{max(outcome.seconds for outcome in members):.2f} s | "
            f"{median(close or [0.0]):.2f} | {max(close, default=0.0):.2f} | {looser} | "
            f"{sum(bool(outcome.wrong) for outcome in members)} |"
        )
    return lines


def page(outcomes: list[Outcome]) -> str:
    """Return docs/compositions.md."""
    names = ("dp-accounting", "autodp", "prv-accountant", "numpy", "scipy")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    lines = [
        "# Compositions beside other accountants",
        "",
        f"{len(outcomes)} of {len(cases())} compositions; `python -m bench.compositions --write` "
        f"measures all of them again. These are with {versions}, Python "
        f"{platform.python_version()}, on {os.cpu_count()} cores ({platform.machine()}). "
        "[How tight the accounting is](accounting.md) says what the columns mean.",
        "",
        "## By family",
        "",
        *summary(outcomes),
        "",
        "## One by one",
        "",
        "| composition | certain | sordino | in | best valid peer | which | in | below the truth |",
        "|---|---:|---:|---:|---:|---|---:|---|",
    ]
    for outcome in outcomes:
        wrong = ", ".join(dict.fromkeys(peer.name for peer in outcome.wrong))
        lines.append("| " + " | ".join((*_cells(outcome), wrong)) + " |")
    return "\n".join([*lines, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare compositions with other accountants.")
    parser.add_argument("every", nargs="?", type=int, default=1, help="take every so many")
    parser.add_argument("--write", action="store_true", help="write docs/compositions.md")
    options = parser.parse_args()
    console = Console(width=170)
    outcomes = [measure(case) for case in warm(cases())[:: options.every]]
    if options.write:
        PAGE.write_text(page(outcomes), encoding="utf-8")
    return report(console, outcomes)


if __name__ == "__main__":
    raise SystemExit(main())
