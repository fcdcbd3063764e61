# SPDX-License-Identifier: Apache-2.0
"""Smooth sensitivity of the median against one sort of the data, and the price of a release."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import numpy.typing as npt
from rich.console import Console

from bench.timing import Figures, Verdicts, best_of
from sordino.mechanisms.smooth import Smooth
from sordino.sensitivity import smooth

SIZES = {100_000: None, 1_000_000: 0.3, 10_000_000: 2.0}  # seconds at most
BETAS = (0.5, 1e-2, 1e-4, 1e-6)
MOST_GROWTH = 1.1
RELEASES = 200
MOST_MILLISECONDS = 5.0
RANGE = (0, 100)

Floats = npt.NDArray[np.float64]


def data(shape: str, size: int) -> Floats:
    generator = np.random.default_rng(1)
    if shape == "normal":
        return generator.normal(50, 10, size)
    if shape == "skew":
        return generator.lognormal(1, 1.5, size)
    return np.where(generator.random(size) < 0.999, 50.0, generator.uniform(0, 100, size))


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    return medians(console) + releases(console)


def medians(console: Console) -> int:
    title = "smooth sensitivity of the median: seconds, the longest of all betas asked"
    headings = "data", "values", "beta", "median", "trimmed mean", "np.sort", "at most"
    table = Verdicts(title, *headings)
    for shape in ("normal", "skew", "ties"):
        longest: dict[int, float] = {}
        for size, most in SIZES.items():
            values = data(shape, size)
            for beta in BETAS:
                ours, trimmed, plain = best_of(
                    3,
                    partial(smooth.median, values, bounds=RANGE, beta=beta),
                    partial(smooth.trimmed_mean, values, trim=size // 10, bounds=RANGE, beta=beta),
                    partial(np.sort, values),
                )
                longest[size] = max(longest.get(size, 0.0), ours)
                reached = most is None or ours <= most
                table.judge(
                    reached,
                    shape,
                    f"{size:,}",
                    f"{beta:g}",
                    f"{ours:.4f}",
                    f"{trimmed:.4f}",
                    f"{plain:.4f}",
                    "" if most is None else f"{most:g}",
                )
        first, *_, last = longest
        growth = math.log(longest[last] / longest[first]) / math.log(last / first)
        reached = growth <= MOST_GROWTH
        growths = "growth", "", f"n^{growth:.2f}", "", "", f"n^{MOST_GROWTH}"
        table.judge(reached, shape, *growths)
    return table.show(console)


def releases(console: Console) -> int:
    title = "one release with noise for smooth sensitivity, rounded to 2^-30 of a unit"
    figures = Figures(title, "noise")
    for noise in ("cauchy", "lomax", "student", "laplace"):
        delta = 1e-6 if noise == "laplace" else 0
        mechanism = Smooth(noise=noise, epsilon=1, delta=delta, step=2**-30)

        def loop(release: Smooth = mechanism) -> None:
            for _ in range(RELEASES):
                release.release(3.0, 1.0)

        value = best_of(3, loop)[0] / RELEASES * 1e3
        figures.figure(noise, value, MOST_MILLISECONDS, "ms")
    return figures.show(console)
