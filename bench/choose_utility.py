# SPDX-License-Identifier: Apache-2.0
"""How close choices and quantiles come, beside other libraries at the same pure epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table

from bench import choose_peers as peers
from sordino.mechanisms.choose import Exponential, NoisyMax, PermuteAndFlip
from sordino.mechanisms.choose.quantiles.quantiles import Quantiles

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

CANDIDATES = 1_000
USERS = 10_000
EPSILON = 0.1
DRAWS = 500
RECORDS = 10_000
LARGEST = 500_000
DATA_SETS = 10
SLOW_DRAWS = 20  # from each data set, of a mechanism that takes long
ROUNDED = 1_000
STEP = 100


@dataclass(frozen=True)
class Sample:
    """A mean of draws, and how far off it may be."""

    mean: float
    error: float
    draws: int

    @classmethod
    def of(cls, draws: Array) -> Sample:
        """Read draws, a row for each data set; the data sets are fixed, the draws are random."""
        spread = float(draws.var(axis=1, ddof=1).mean())
        return cls(float(draws.mean()), math.sqrt(spread / draws.size), draws.size)

    def __str__(self) -> str:
        return "fails" if math.isnan(self.mean) else f"{self.mean:.2f} ± {self.error:.2f}"


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    return histograms(console) + ranks(console)


def zipf(exponent: float) -> Array:
    """Return how many users each candidate has: whole numbers next to a power of its place."""
    wanted = np.arange(1, CANDIDATES + 1, dtype=float) ** -exponent
    wanted *= USERS / wanted.sum()
    counts = np.floor(wanted).astype(np.int64)
    counts[np.argsort(counts - wanted, kind="stable")[: USERS - counts.sum()]] += 1
    return counts


def histograms(console: Console) -> int:
    """Compare the expected error of our default with the mean of each peer's draws.

    Our mean is exact, summed over the law of the choice, so only the peer's mean has an error of
    sampling: where a peer has the same law as ours, its mean is above ours as often as below, and
    no larger sample would tell them apart. Three standard errors are granted, which the same law
    exceeds about once in 700 comparisons. They are those of the peer's draws or of as many draws
    of ours, whichever is more: a large error that is rare may not show in the draws at all.
    """
    table = Table(
        title=f"mean error of a choice: {CANDIDATES:,} candidates, {USERS:,} users, "
        f"epsilon {EPSILON}, {DRAWS} draws"
    )
    for heading in ("counts", "neighbours", "mechanism", "mean of draws", "exact", "ours, at most",
                    ""):  # fmt: skip
        left = heading in ("counts", "neighbours", "mechanism")
        table.add_column(heading, justify="left" if left else "right")
    missed = 0
    for exponent in (1, 0.5, 0.25):
        counts = zipf(exponent)
        for relation in ("add_remove", "replace_one"):
            # One user more or less moves all counts the same way; one replaced does not.
            missed += _choices(table, f"zipf {exponent}", counts, relation)
    console.print(table)
    if not peers.choosers():
        console.print("(make bench PEERS=1 adds rows for OpenDP and diffprivlib)")
    return missed


def _choices(table: Table, name: str, counts: Array, relation: str) -> int:
    monotone = relation == "add_remove"
    behind = counts.max() - counts
    told: dict[str, Any] = {"sensitivity": 1, "epsilon": EPSILON, "monotone": monotone}
    default = PermuteAndFlip(**told)
    ours: dict[str, PermuteAndFlip | Exponential | NoisyMax] = {
        "permute-and-flip (default)": default,
        "exponential": Exponential(**told),
        "noisy max, Laplace noise": NoisyMax(**told, noise="laplace"),
    }
    for what, mechanism in ours.items():
        draws = np.array([[behind[mechanism.release(counts)] for _ in range(DRAWS)]])
        exact = "-"  # Laplace noise has no law in closed form for so many candidates
        if not isinstance(mechanism, NoisyMax):
            exact = f"{mechanism.probabilities(counts) @ behind:.2f}"
        table.add_row(name, relation, what, str(Sample.of(draws)), exact)
    law = default.probabilities(counts)
    least = float(law @ behind)
    rare = math.sqrt(law @ (behind - least) ** 2 / DRAWS)
    missed = 0
    for what, make in peers.choosers().items():
        choice = make(counts, EPSILON, monotone)
        found = Sample.of(np.array([[behind[choice()] for _ in range(DRAWS)]]))
        most = found.mean + 3 * max(found.error, rare)
        reached = least <= most + 1e-9
        missed += not reached
        table.add_row("", "", what, str(found), "", f"{most:.2f}", verdict(reached))
    table.add_section()
    return missed


def verdict(reached: bool) -> str:
    return "[green]no worse[/]" if reached else "[red]worse[/]"


@dataclass(frozen=True)
class Incomes:
    """Lognormal incomes of one kind; ``step`` is what is publicly known of how they are rounded."""

    name: str
    step: int | None
    change: Callable[[np.random.Generator, Array], Array]

    def data(self, seed: int) -> Array:
        rng = np.random.default_rng(seed)
        plain = rng.lognormal(10.5, 0.8, RECORDS).clip(0, LARGEST)
        return np.sort(self.change(rng, plain))


def _with_atom(rng: np.random.Generator, incomes: Array) -> Array:
    return np.where(rng.random(incomes.size) < 0.3, 36_000.0, incomes)


KINDS = [
    Incomes("no ties", None, lambda _, incomes: incomes),
    Incomes("rounded to 1,000s", ROUNDED, lambda _, x: np.round(x / ROUNDED) * ROUNDED),
    Incomes("30 % at 36,000", None, _with_atom),
]


@dataclass(frozen=True)
class Question:
    """Which quantiles are wanted, at what price, and how often for each data set."""

    name: str
    wanted: tuple[float, ...]
    epsilon: float
    draws: int


QUESTIONS = [
    Question("median", (0.5,), 1.0, 100),
    Question("median", (0.5,), 0.1, 100),
    Question("deciles", tuple(k / 10 for k in range(1, 10)), 1.0, 20),
]


def rank_error(data: Array, wanted: tuple[float, ...], found: Array) -> float:
    """Return the mean distance of the ranks wanted from the ranks that the values found have.

    A value that several records share has all their ranks, from those below it to those up to it.
    """
    if np.isnan(found).any():
        return math.nan
    target = np.array(wanted) * data.size
    below = np.searchsorted(data, found, side="left")
    upto = np.searchsorted(data, found, side="right")
    return float(np.maximum(0, np.maximum(below - target, target - upto)).mean())


def ranks(console: Console) -> int:
    """Compare mean rank errors; everybody is told the range, the rounding and nothing else.

    OpenDP has to be given candidates: multiples of the rounding, or of 100 where there is none. A
    peer that does not take a rounding has its answers rounded, which is free. Ours may be behind a
    peer by three standard errors of the difference.
    """
    table = Table(
        title=f"mean rank error: {RECORDS:,} lognormal incomes in [0, {LARGEST:,}], add_remove, "
        f"{DATA_SETS} data sets"
    )
    for heading in ("incomes", "quantiles", "epsilon", "mechanism", "draws", "mean of draws",
                    "ours, at most", ""):  # fmt: skip
        left = heading in ("incomes", "quantiles", "mechanism")
        table.add_column(heading, justify="left" if left else "right")
    missed = 0
    for kind in KINDS:
        sets = [kind.data(seed) for seed in range(DATA_SETS)]
        for question in QUESTIONS:
            missed += _quantiles(table, kind, sets, question)
    console.print(table)
    return missed


def _quantiles(table: Table, kind: Incomes, sets: list[Array], question: Question) -> int:
    mechanism = Quantiles(
        question.wanted,
        range=(0, LARGEST),
        epsilon=question.epsilon,
        neighbours="add_remove",
        step=kind.step,
    )

    def ours(data: Array) -> Callable[[], list[float]]:
        return lambda: [float(value) for value in mechanism.release(data)]

    mean = _drawn(sets, kind, question, ours, question.draws)
    told = [kind.name, question.name, f"{question.epsilon:g}", f"ours, {mechanism.method}"]
    table.add_row(*told, f"{mean.draws:,}", str(mean))
    missed = 0
    for what, make in peers.rankers().items():

        def theirs(data: Array, make: peers.Ranker = make) -> Callable[[], list[float]]:
            return make(data, question.wanted, question.epsilon, LARGEST, kind.step or STEP)

        draws = SLOW_DRAWS if what in peers.SLOW else question.draws
        found = _drawn(sets, kind, question, theirs, draws)
        most = found.mean + 3 * math.hypot(found.error, mean.error)
        reached = math.isnan(most) or mean.mean <= most
        missed += not reached
        shown = "-" if math.isnan(most) else f"{most:.2f}"
        table.add_row(
            "", "", "", what, f"{found.draws:,}", str(found), shown, verdict(reached)
        )  # fmt: skip
    table.add_section()
    return missed


def _drawn(
    sets: list[Array],
    kind: Incomes,
    question: Question,
    make: Callable[[Array], Callable[[], list[float]]],
    each: int,
) -> Sample:
    """Return the mean rank error of one way to quantiles, over all data sets."""

    def error(data: Array, found: list[float]) -> float:
        at = np.array(found)
        return rank_error(
            data, question.wanted, np.round(at / kind.step) * kind.step if kind.step else at
        )

    draws = np.empty((len(sets), each))
    for row, data in zip(draws, sets, strict=True):
        draw = make(data)
        row[:] = [error(data, draw()) for _ in range(each)]
    return Sample.of(draws)
