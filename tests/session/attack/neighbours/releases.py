# SPDX-License-Identifier: Apache-2.0
"""What must hold after the engine: answers see exact numbers through noise, and through nothing.

Noise is replaced by numbers so large that exact ones vanish beside them, and draws by fixed ones.
Then an answer about people must look like the answer about nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from sordino.answer import Answer
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.sealed import Sealed
from sordino.ledger.entry import Receipt
from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.choose import Exponential, PermuteAndFlip, TopK
from sordino.mechanisms.choose.quantiles.quantiles import Quantiles
from sordino.plan.plan import Cells, Chosen, Plan, Ranked, UnitCount
from sordino.release.door import release
from sordino.release.rehearsal import unpaid
from tests.support.trace import Prepared, unsealed

_HUGE, _APART = 2**200, 2**192  # exact numbers vanish beside them even as doubles


class Drowned:
    """Noise that hides everything, and a list of how often what was drawn."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def noise(self, mechanism: object, value: object) -> Any:
        size = np.asarray(value).size
        self.calls.append((repr(mechanism), size))
        drawn = [_HUGE + _APART * ((7 * at + len(self.calls)) % 61) for at in range(size)]
        return np.array([*drawn, None], dtype=object)[:-1] if np.asarray(value).ndim else drawn[0]

    def point(self, rule: object, *given: object, **options: object) -> Any:
        del given, options
        self.calls.append((repr(rule), 1))
        return [len(self.calls) % 2]

    def candidate(self, rule: object, scores: object, **options: object) -> Any:
        del options
        self.calls.append((repr(rule), np.asarray(scores).size))
        return len(self.calls) % np.asarray(scores).size

    def candidates(self, rule: TopK, scores: object) -> Any:
        self.calls.append((repr(rule), np.asarray(scores).size))
        return list(range(rule.k))


def _method(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plain function, which gets the mechanism as its first argument."""

    def release(mechanism: object, *given: object, **options: object) -> Any:
        return draw(mechanism, *given, **options)

    return release


@contextmanager
def drowned() -> Iterator[Drowned]:
    """Replace all that is drawn but the selection of keys."""
    sea = Drowned()
    with (
        mock.patch.object(Laplace, "release", _method(sea.noise)),
        mock.patch.object(Gaussian, "release", _method(sea.noise)),
        mock.patch.object(Quantiles, "release", _method(sea.point)),
        mock.patch.object(Exponential, "release", _method(sea.candidate)),
        mock.patch.object(PermuteAndFlip, "release", _method(sea.candidate)),
        mock.patch.object(TopK, "release", _method(sea.candidates)),
    ):
        yield sea


def release_faults(engine: DuckdbEngine, prepared: Prepared, *, salt: int) -> Iterator[str]:
    """Tell what of an answer shows the data in spite of the noise."""
    receipt = unpaid(prepared)
    tables = unsealed(engine.run(prepared.plan.bounded, receipt, salt=salt))
    if prepared.plan.keys is not None:
        yield from _key_faults(prepared.plan, tables, receipt)
        return
    nobody = tuple(table.slice(0, 0) for table in tables)
    with drowned() as first:
        about_all = release(prepared.plan, Sealed(tables), receipt)
    with drowned() as second:
        about_none = release(prepared.plan, Sealed(nobody), receipt)
    if first.calls != second.calls:
        yield "how much is drawn depends on the data"
    if len(first.calls) > _paid_draws(prepared.plan):
        yield "more is drawn than was paid for"
    if about_all.notes != about_none.notes or about_all.facts != about_none.facts:
        yield "what is said beside the numbers depends on the data"
    yield from _column_faults(about_all, about_none)


def _paid_draws(plan: Plan) -> int:
    """Return how often something may be drawn; noise once for all groups, choices for each."""
    sizes = [
        key.bins.count if key.bins else len({*(key.domain or ()), key.other})
        for key in plan.query.keys
    ]
    groups = math.prod(sizes)
    total = 0
    for one in plan.releases:
        if isinstance(one, Ranked):
            total += groups * (3 if one.toward is None else 2)
        else:
            total += groups if isinstance(one, Chosen) else 1
    return total


def _column_faults(one: Answer, other: Answer) -> Iterator[str]:
    if [(c.title, c.type, len(c.values)) for c in one.columns] != [
        (c.title, c.type, len(c.values)) for c in other.columns
    ]:
        yield "the shape of an answer depends on the data"
        return
    for mine, theirs in zip(one.columns, other.columns, strict=True):
        for name in ("values", "low", "high"):
            pairs = zip(getattr(mine, name) or (), getattr(theirs, name) or (), strict=True)
            if not all(_near(a, b) for a, b in pairs):
                yield f"{name} show exact numbers"


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, float | int) and isinstance(b, float | int):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return bool(a == b)


def _key_faults(plan: Plan, tables: tuple[Any, ...], receipt: Receipt) -> Iterator[str]:
    """Tell keys that few units have: all of them are hidden but for about the slack."""
    assert plan.keys is not None
    part = next(
        place
        for place, cells in enumerate(plan.bounded.parts)
        if isinstance(cells, Cells) and UnitCount() in cells.statistics
    )
    cells = plan.bounded.parts[part]
    assert isinstance(cells, Cells)
    column = f"s{cells.statistics.index(UnitCount())}"
    few = [n for n in range(1, 4) if plan.keys.probability(n) < 1e-4]
    counts = tables[part].column(column).to_pylist()
    rare = [place for place, count in enumerate(counts) if int(count) in few]
    if not rare:
        return
    kept = tuple(table.take(rare) if place == part else table for place, table in enumerate(tables))
    quiet = replace(plan, query=replace(plan.query, post=replace(plan.query.post, having=None)))
    if any(len(c.values) for c in release(quiet, Sealed(kept), receipt).columns):
        yield "a key is told that hardly anybody has"
