# SPDX-License-Identifier: Apache-2.0
"""Composed losses against dp-accounting's privacy loss distributions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from rich.console import Console

import sordino as so
from bench.timing import Figures, Verdicts, best_of
from sordino.privacy import losses
from sordino.privacy.loss import Loss

DELTA = 1e-6
MOST_RATIO = 0.8
MOST_WIDTH = 1e-3
MOST_SECONDS_MANY = 2.0
MANY = 10_000
HISTORY = 100_000
MOST_MILLISECONDS = 1.0


def ours() -> dict[str, tuple[Loss, float]]:
    """Return each case with the seconds its bracket may take."""
    mix = losses.laplace(epsilon=0.05) + losses.gaussian(sigma=20)
    mix += losses.pure(epsilon=0.02) + losses.exponential(epsilon=0.02)
    step = losses.subsampled(losses.gaussian(sigma=1), rate=0.01)
    return {
        "1,000 Gaussian, sigma 50": (1_000 * losses.gaussian(sigma=50), 0.1),
        "1,000 Laplace, epsilon 0.01": (1_000 * losses.laplace(epsilon=0.01), 0.1),
        "mix, 200 each of four": (200 * mix, 1.5),
        "10,000 subsampled Gaussian": (10_000 * step, 2.5),
    }


def theirs() -> list[Callable[[], float]]:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    grid = 1e-4
    pure = pld.from_privacy_parameters(
        common.DifferentialPrivacyParameters(0.02), value_discretization_interval=grid
    )

    def one(make: Callable[[], object], times: int) -> float:
        composed = make().self_compose(times)  # type: ignore[attr-defined]  # the peer has no types
        return float(composed.get_epsilon_for_delta(DELTA))

    def mix() -> float:
        laplace = pld.from_laplace_mechanism(20, value_discretization_interval=grid)
        normal = pld.from_gaussian_mechanism(20, value_discretization_interval=grid)
        whole = laplace.self_compose(200).compose(normal.self_compose(200))
        return float(whole.compose(pure.self_compose(400)).get_epsilon_for_delta(DELTA))

    return [
        partial(one, partial(pld.from_gaussian_mechanism, 50,
                             value_discretization_interval=grid), 1_000),
        partial(one, partial(pld.from_laplace_mechanism, 100,
                             value_discretization_interval=grid), 1_000),
        mix,
        partial(one, partial(pld.from_gaussian_mechanism, 1, sampling_prob=0.01,
                             value_discretization_interval=grid), 10_000),
    ]  # fmt: skip


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    return cases(console) + sizes(console)


def cases(console: Console) -> int:
    headings = "composition", "sordino", "dp-accounting", "of its time", "bracket", "width", "in"
    table = Verdicts(f"epsilon of a composition at delta {DELTA:g}", *headings)
    for (name, (loss, most)), peer in zip(ours().items(), theirs(), strict=True):
        distribution = loss.pld()
        upper = partial(distribution.epsilon_upper, delta=DELTA)
        mine, other = best_of(3, upper, peer)
        bracket = partial(distribution.epsilon, delta=DELTA)
        seconds = best_of(3, bracket)[0]
        found, reference = bracket(), peer()
        width = (found.upper - found.lower) / found.upper
        good = mine <= MOST_RATIO * other and width <= MOST_WIDTH and seconds <= most
        good = good and found.upper <= reference * (1 + 1e-4)
        table.judge(
            good,
            name,
            f"{found.upper:.4f}",
            f"{reference:.4f}",
            f"{mine / other:.2f} (≤ {MOST_RATIO})",
            f"{found.lower:.4f} … {found.upper:.4f}",
            f"{width:.0e}",
            f"{seconds:.2f} s (≤ {most:g})",
        )
    return table.show(console)


def sizes(console: Console) -> int:
    different = so.compose(losses.pure(epsilon=Fraction(n, 10**6)) for n in range(1_000, 11_000))
    seconds = best_of(2, partial(different.epsilon, delta=DELTA))[0]
    budget = so.Budget(epsilon=1, delta=DELTA)
    small = losses.gaussian(sigma=10_000)
    spender = so.Filter(budget)
    for _ in range(HISTORY):
        spender.spend(small)

    def price() -> None:
        for _ in range(100):
            spender.spend(small)

    milliseconds = best_of(3, price)[0] / 100 * 1e3
    figures = Figures("size")
    many = f"{MANY:,} different losses composed"
    figures.figure(many, seconds, MOST_SECONDS_MANY, "s", ".3f")
    history = f"a query priced after {HISTORY:,} others"
    figures.figure(history, milliseconds, MOST_MILLISECONDS, "ms", ".3f")
    return figures.show(console)
