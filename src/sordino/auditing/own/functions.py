# SPDX-License-Identifier: Apache-2.0
"""What is audited of sordino's functions on records: scores, ranks and bounds are computed by them.

Data are records, so that a sensitivity that is taken too small, a candidate that comes from the
data or a count that shows through would be seen here, and not in the audit of a mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from sordino.auditing.own.mechanisms import Case
from sordino.mechanisms import smooth
from sordino.mechanisms.bounds import PrivateBounds, private_bounds
from sordino.mechanisms.choose import (
    BestOf,
    Exponential,
    Interval,
    JointTopK,
    Line,
    PermuteAndFlip,
    Quantiles,
    TopK,
    best_of,
    best_price,
    choose,
    choose_in,
    median,
    quantiles,
    top_k,
)
from sordino.mechanisms.keys.selection import KeySelection, select_keys
from sordino.mechanisms.smooth import Smooth

Records: TypeAlias = tuple[Any, ...]

_NAMES = ("a", "b", "c", "d")
_LOW, _HIGH = (0, 0, 0, 6, 6), (0, 0, 6, 6, 6)  # one record replaced: the median jumps
_NONE, _ONE = (0, 0, 0, 0, 0), (0, 0, 0, 0, 6)  # here the largest does
_VOTES, _CHANGED = ("a", "a", "a", "a", "b"), ("a", "a", "a", "b", "b")


def function_cases() -> Iterator[Case]:
    """Yield the functions that release something, each on records and with its claim."""
    yield from _votes()
    yield from _values()
    yield from _smooth()
    yield from _shapes()


def _votes() -> Iterator[Case]:
    def counted(votes: Records) -> list[int]:
        return [votes.count(name) for name in _NAMES]

    def only_those_seen(votes: Records) -> Any:
        seen = sorted(set(votes))
        counts = [votes.count(number) for number in seen]
        return choose(seen, counts, domain_size=9, epsilon=1, monotone=True)

    def kept(votes: Records) -> tuple[Any, ...]:
        seen = sorted(set(votes))
        counts = [votes.count(name) for name in seen]
        found = select_keys(seen, counts, epsilon=1, delta=0.05, neighbours="add_remove")
        return tuple(sorted(found))

    def best(votes: Records) -> Any:
        scores = counted(votes)
        return best_of(lambda: run.release(scores), score=lambda place: place, runs=2, loss=run)

    run = Exponential(sensitivity=1, epsilon=1)
    changed = (_VOTES, _CHANGED)
    more = (_VOTES, (*_VOTES, "c"))
    yield Case(
        "choose",
        PermuteAndFlip,
        lambda votes: choose(_NAMES, counted(votes), epsilon=1),
        *changed,
        1.0,
    )
    yield Case(
        "choose, an unlisted domain",
        PermuteAndFlip,
        only_those_seen,
        (2, 2),
        (2, 2, 7),
        1.0,
    )
    yield Case(
        "top_k",
        TopK,
        lambda votes: tuple(top_k(_NAMES, counted(votes), k=2, epsilon=1)),
        *changed,
        1.0,
    )
    yield Case(
        "top_k, joint",
        JointTopK,
        lambda votes: tuple(
            top_k(
                _NAMES,
                counted(votes),
                k=2,
                epsilon=1,
                method="joint",
                neighbours="add_remove",
            )
        ),
        *more,
        1.0,
    )
    yield Case("select_keys", KeySelection, kept, *more, 1.0, 0.05)
    yield Case("best_of", BestOf, best, *changed, 3.0)


def _values() -> Iterator[Case]:
    def ranked(values: Records) -> Any:
        """Every place between two values is scored by how far it is from the middle rank."""
        scores = [-abs(place - len(values) // 2) for place in range(len(values) + 1)]
        return choose_in(Interval(0, 9), sorted(values), scores, sensitivity=1, epsilon=1)

    def on_line(values: Records) -> Any:
        half = len(values) / 2
        scores = [-abs(rank - half) for rank in range(len(values) + 1)]
        line = Line(centre=3, scale=4)
        return choose_in(line, sorted(values), scores, sensitivity=1, epsilon=1)

    def falling(values: Records) -> Any:
        return choose_in(Line(), values, [0, 0], falls=1, sensitivity=1, epsilon=1)

    def price(bids: Records) -> Any:
        return best_price(bids, [1, 2, 3, 4, 5, 6], epsilon=1)

    def middle(values: Records) -> Any:
        return median(values, range=(0, 6), epsilon=1, neighbours="replace_one")

    def quarters(method: Literal["joint", "recursive"]) -> Callable[[Records], tuple[Any, ...]]:
        return lambda values: tuple(
            quantiles(
                values,
                [0.25, 0.75],
                range=(0, 6),
                epsilon=1,
                neighbours="replace_one",
                method=method,
            )
        )

    def ends(values: Records) -> Any:
        return private_bounds(values, epsilon=1, neighbours="replace_one", powers=(0, 3))

    yield Case("choose_in", Exponential, ranked, _LOW, _HIGH, 1.0)
    yield Case("choose_in, a line with a base", Exponential, on_line, _LOW, _HIGH, 1.0)
    yield Case("choose_in, scores that fall", Exponential, falling, (0,), (1,), 1.0)
    yield Case("best_price", PermuteAndFlip, price, (3, 4), (3, 4, 5), 1.0)
    yield Case("median", Quantiles, middle, _LOW, _HIGH, 1.0)
    yield Case("quantiles, joint", Quantiles, quarters("joint"), _LOW, _HIGH, 1.0)
    yield Case("quantiles, recursive", Quantiles, quarters("recursive"), _LOW, _HIGH, 1.0)
    yield Case("private_bounds", PrivateBounds, ends, _LOW, _HIGH, 1.0)


def _smooth() -> Iterator[Case]:
    bounds = (0, 6)

    def local(_changes: int) -> int:
        """One value can take the largest of all from anywhere to the end of the range."""
        return 6

    functions: tuple[tuple[str, Callable[[Records], Any]], ...] = (
        ("smooth.median", lambda v: smooth.median(v, bounds=bounds, epsilon=1)),
        ("smooth.quantile", lambda v: smooth.quantile(v, rank=3, bounds=bounds, epsilon=1)),
        ("smooth.maximum", lambda v: smooth.maximum(v, bounds=bounds, epsilon=1)),
        ("smooth.trimmed_mean", lambda v: smooth.trimmed_mean(v, trim=1, bounds=bounds, epsilon=1)),
        (
            "smooth.custom",
            lambda v: smooth.custom(max(v), local, global_bound=6, records=len(v), epsilon=1),
        ),
    )
    for name, release in functions:
        pair = (_NONE, _ONE) if name in ("smooth.maximum", "smooth.custom") else (_LOW, _HIGH)
        yield Case(name, Smooth, release, *pair, 1.0)
    yield Case(
        "smooth.median with a delta",
        Smooth,
        lambda v: smooth.median(v, bounds=bounds, epsilon=1, delta=0.01, noise="laplace"),
        _LOW,
        _HIGH,
        1.0,
        0.01,
    )


def _shapes() -> Iterator[Case]:
    """Graphs that differ in an edge or a weight, and points of which one leaves its cluster."""
    square = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2))
    light = ((0, 1, 0), (1, 2, 0), (2, 0, 0), (2, 3, 6), (3, 0, 6))
    heavy = (*light[:3], (2, 3, 0), (3, 0, 6))
    inside = ((0, 1), (0, -1), (9, 0), (9, 1), (9, -1))

    def triangles(edges: Records) -> float:
        return smooth.triangles(edges, nodes=4, epsilon=1)

    def tree(edges: Records) -> float:
        return smooth.spanning_tree(edges, nodes=4, largest=6, epsilon=1)

    def radii(points: Records) -> tuple[float, ...]:
        centres = [(0, 0), (9, 0)]
        return tuple(smooth.cluster_radii(points, centres, trim=1, largest=6, epsilon=1))

    yield Case("smooth.triangles", Smooth, triangles, square, (*square, (1, 3)), 1.0)
    yield Case("smooth.spanning_tree", Smooth, tree, light, heavy, 1.0)
    yield Case("smooth.cluster_radii", Smooth, radii, inside, ((5, 0), *inside[1:]), 1.0)
