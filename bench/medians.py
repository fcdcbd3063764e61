# SPDX-License-Identifier: Apache-2.0
"""How far off private medians are: five ways, six kinds of data, and the page that shows it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

import sordino as so

Floats: TypeAlias = "npt.NDArray[np.float64]"
Draw: TypeAlias = "Callable[[], float]"

DELTA = 1e-6  # for the one way that needs a delta
EPSILONS = (1.0, 0.1)
DATA_SETS = 20
QUICK, THOROUGH = 15, 100  # draws from each data set: for the console, and for the page
SURE = 1.5  # standard errors on both sides; two figures apart differ by more than two of their own
DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = DOCS / "accuracy.md", DOCS / "images" / "medians.png"
START, END = "<!-- written by bench/medians.py -->", "<!-- up to here -->"


@dataclass(frozen=True)
class Shape:
    """A kind of data, with what is public of it: the range, and a rounding if there is one."""

    name: str
    told: str
    unit: str
    range: tuple[float, float]
    make: Callable[[np.random.Generator], Floats]
    step: int | None = None

    def data(self, seed: int) -> Floats:
        return np.sort(self.make(np.random.default_rng(seed)).clip(*self.range))


def _heights(rng: np.random.Generator, size: int) -> Floats:
    return rng.normal(170, 10, size)


def _incomes(rng: np.random.Generator, size: int) -> Floats:
    return rng.lognormal(10.5, 0.8, size)


def _two_modes(rng: np.random.Generator) -> Floats:
    return np.concatenate([rng.normal(20, 2, 501), rng.normal(80, 2, 500)])


def _hours(rng: np.random.Generator) -> Floats:
    return np.where(rng.random(1001) < 0.4, 40.0, rng.integers(0, 61, 1001))


SHAPES = (
    Shape("heights", "1,001 normal values around 170, spread 10", "cm", (0.0, 300.0),
          lambda rng: _heights(rng, 1001)),
    Shape("incomes", "1,001 lognormal values, half of them below 36,000", "a year", (0.0, 5e5),
          lambda rng: _incomes(rng, 1001)),
    Shape("few incomes", "25 of the same incomes", "a year", (0.0, 5e5),
          lambda rng: _incomes(rng, 25)),
    Shape("many ties", "1,001 weekly hours in whole numbers, 40 % of them 40", "hours",
          (0.0, 168.0), _hours, step=1),
    Shape("two modes", "501 values around 20 and 500 around 80, spread 2", "points", (0.0, 100.0),
          _two_modes),
    Shape("careless range", "101 heights, said to be from 0 to a billion", "cm", (0.0, 1e9),
          lambda rng: _heights(rng, 101)),
)  # fmt: skip


def middle(data: Floats) -> float:
    """Return the median of sorted values, the lower of two middle ones."""
    return float(data[(data.size - 1) // 2])


def _chosen(data: Floats, shape: Shape, epsilon: float) -> Draw:
    ends: Any = shape.range if shape.step is None else tuple(map(int, shape.range))
    rule = so.Quantiles(
        [0.5], range=ends, step=shape.step, epsilon=epsilon, neighbours="replace_one"
    )
    return lambda: float(rule.release(data)[0])


def _smooth(noise: Any, delta: float = 0) -> Callable[[Floats, Shape, float], Draw]:
    def ready(data: Floats, shape: Shape, epsilon: float) -> Draw:
        told: dict[str, Any] = {"bounds": shape.range, "epsilon": epsilon, "delta": delta}
        return lambda: so.smooth.median(data, noise=noise, **told)

    return ready


def _naive(data: Floats, shape: Shape, epsilon: float) -> Draw:
    furthest = so.sensitivity.quantile(
        at=0.5, bounds=shape.range, size=data.size, neighbours=so.replace_one
    )
    noise, exact = so.Laplace(sensitivity=furthest, epsilon=epsilon), middle(data)
    return lambda: float(np.clip(noise.release(exact), *shape.range))


WAYS: dict[str, Callable[[Floats, Shape, float], Draw]] = {
    "so.median": _chosen,
    "smooth, Cauchy": _smooth("cauchy"),
    "smooth, Lomax": _smooth("lomax"),
    "smooth, Laplace": _smooth("laplace", DELTA),
    "global, Laplace": _naive,
}


def ranks_off(data: Floats, found: Floats) -> Floats:
    """Return how many records the ranks of values are off; a shared value has several ranks."""
    below = np.searchsorted(data, found, side="left")
    upto = np.searchsorted(data, found, side="right")
    half = data.size / 2
    off: Floats = np.maximum(0.0, np.maximum(below - half, half - upto))
    return off


@dataclass(frozen=True)
class Errors:
    """The errors of one way, a row for each data set, and the widths of their middle halves."""

    absolute: Floats
    ranks: Floats
    width: Floats
    records: int


@dataclass(frozen=True)
class Figure:
    """A number to print, and between which numbers chance leaves it."""

    value: float
    low: float
    high: float

    @classmethod
    def mean(cls, errors: Floats) -> Figure:
        sets = errors.mean(axis=1)
        value, off = float(sets.mean()), SURE * float(sets.std(ddof=1)) / math.sqrt(sets.size)
        return cls(value, value - off, value + off)

    @classmethod
    def typical(cls, errors: Floats) -> Figure:
        off = SURE / math.sqrt(errors.size) / 2
        half, low, high = np.quantile(errors, [0.5, max(0, 0.5 - off), min(1, 0.5 + off)])
        return cls(float(half), float(low), float(high))

    def __str__(self) -> str:
        return two_digits(self.value)


def two_digits(x: float) -> str:
    """Write a number that is not negative with two digits that count, and no exponent.

    >>> two_digits(0.0512), two_digits(3.0), two_digits(36_127.0), two_digits(0.0)
    ('0.051', '3', '36,000', '0')
    """
    if x < 1e-6:
        return "0"
    places = 1 - math.floor(math.log10(x))
    shown = f"{round(x, places):,.{max(places, 0)}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


class Measure(NamedTuple):
    """How errors become one figure, and beyond which figure an answer says nothing."""

    read: Callable[[Errors], Figure]
    most: Callable[[Errors], float]


def _width(errors: Errors) -> float:
    return float(errors.width.mean())


MEASURES = {
    "mean absolute error": Measure(lambda errors: Figure.mean(errors.absolute), _width),
    "typical absolute error": Measure(lambda errors: Figure.typical(errors.absolute), _width),
    "mean rank error": Measure(
        lambda errors: Figure.mean(errors.ranks), lambda errors: errors.records / 4
    ),
}
Results: TypeAlias = "dict[tuple[Shape, float], dict[str, Errors]]"


def measure(draws: int, data_sets: int) -> Results:
    """Draw medians in every way from every kind of data, so often from each data set."""
    return {
        (shape, epsilon): {
            name: _errors(shape, epsilon, way, draws, data_sets) for name, way in WAYS.items()
        }
        for shape in SHAPES
        for epsilon in EPSILONS
    }


def _errors(
    shape: Shape,
    epsilon: float,
    way: Callable[[Floats, Shape, float], Draw],
    draws: int,
    data_sets: int,
) -> Errors:
    absolute, ranks = np.empty((2, data_sets, draws))
    width, records = np.empty(data_sets), 0
    for seed in range(data_sets):
        data = shape.data(seed)
        draw = way(data, shape, epsilon)
        found = np.array([draw() for _ in range(draws)])
        if shape.step is not None:
            found = np.round(found / shape.step) * shape.step  # what is released may be rounded
        absolute[seed] = np.abs(found - middle(data))
        ranks[seed] = ranks_off(data, found)
        records = data.size
        width[seed] = np.subtract(*np.quantile(data, [0.75, 0.25]))
    return Errors(absolute, ranks, width, records)


def best_of(figures: list[Figure], most: float) -> list[bool]:
    """Tell which figures are the least, or so close to it that chance may have decided.

    None is, if even the least is more than ``most``.
    """
    least = min(figures, key=lambda figure: figure.value)
    return [figure.low <= least.high and least.value <= most for figure in figures]


def lines(results: Results, measure: Measure) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table: the data, epsilon, and a figure for each way."""
    for (shape, epsilon), errors in results.items():
        figures = [measure.read(errors[name]) for name in WAYS]
        most = max(map(measure.most, errors.values()))
        cells = [
            f"**{figure}**" if best else str(figure)
            for figure, best in zip(figures, best_of(figures, most), strict=True)
        ]
        yield shape.name, f"{epsilon:g}", *cells


def headings() -> tuple[str, ...]:
    return "data", "epsilon", *WAYS


def run(console: Console) -> int:
    """Print the tables, which hold no promise that could be missed."""
    results = measure(QUICK, DATA_SETS)
    for what, rule in MEASURES.items():
        title = f"{what} of a private median, replace_one, {DATA_SETS * QUICK} draws"
        table = Table(
            title=title, caption="bold: the best, or within chance of it, unless all are useless"
        )
        for heading in headings():
            table.add_column(heading, justify="left" if heading == "data" else "right")
        for row in lines(results, rule):
            table.add_row(*(f"[bold]{x.strip('*')}[/]" if x[:2] == "**" else x for x in row))
        console.print(table)
    return 0


def tables(results: Results) -> str:
    """Return the part of the page that is made from draws."""
    blocks = [
        "| data | what it is | range |",
        "| --- | --- | --- |",
        *(
            f"| {shape.name} | {shape.told} | 0 to {shape.range[1]:,.0f} {shape.unit} |"
            for shape in SHAPES
        ),
    ]
    for what, rule in MEASURES.items():
        blocks += ["", f"## {what.capitalize()}", ""]
        blocks.append(f"| {' | '.join(headings())} |")
        blocks.append("| --- |" + " ---: |" * (len(headings()) - 1))
        blocks += [f"| {' | '.join(row)} |" for row in lines(results, rule)]
    return "\n".join(blocks)


def write(results: Results, *, page: Path = PAGE, picture: Path = PICTURE) -> None:
    """Put the tables into the page, between its two marks, and draw the picture."""
    before, _, rest = page.read_text("utf-8").partition(START)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"the page has no marks {START} and {END} for the tables")
    page.write_text(f"{before}{START}\n\n{tables(results)}\n\n{END}{after}", "utf-8")
    from bench.medians_plot import draw  # matplotlib is only needed here

    draw(results, picture)


def main() -> int:
    console = Console()
    results = measure(THOROUGH, DATA_SETS)
    write(results)
    console.print(f"wrote {PAGE.name} and {PICTURE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
