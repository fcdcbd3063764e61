# SPDX-License-Identifier: Apache-2.0
"""Mutants of what happens after the engine: noise, keys, choices, what is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from sordino.plan.plan import Added
from sordino.release import door, draw
from tests.support.rewrite import Mutant, mutant


def _adding(changed: Callable[[Added, Any], Any]) -> Mutant:
    """Let noise be added in another way, which may add it in the right one too."""
    return lambda: mock.patch.object(door, "add_noise", changed)


def _exact_counts(release: Added, exact: Any) -> Any:
    """Leave counts of rows as they are, so that means are divided by true counts."""
    noisy = draw.add_noise(release, exact)
    counts = release.step.numerator == 1 and release.step.denominator == 2**16
    return draw.Noisy(release, exact) if counts else noisy


def _exact_zeros(release: Added, exact: Any) -> Any:
    """Fill groups that nobody has with 0 and no noise."""
    noisy = draw.add_noise(release, exact)
    return draw.Noisy(release, np.where(exact == 0, exact, noisy.steps))


def _drawn_twice(release: Added, exact: Any) -> Any:
    """Draw noise twice and take the smaller."""
    one, other = draw.add_noise(release, exact), draw.add_noise(release, exact)
    return one if abs(one.steps).sum() < abs(other.steps).sum() else other


_KEPT = "np.flatnonzero(found.kept if isinstance(found, Selected) else found)"

NOISY: dict[str, Mutant] = {
    "the true count divides": _adding(_exact_counts),
    "absent groups are filled without noise": _adding(_exact_zeros),
    "groups are sorted before noise": mutant(
        door.draw,
        "groups = declared(plan.bounded)",
        "found = declared(plan.bounded)\n"
        "        names = [n for n in tables[0].column_names if n[0] == 'k']\n"
        "        keys = zip(*(tables[0].column(n).to_pylist() for n in names))\n"
        "        size = {k: int(n) for k, n in zip(keys, tables[0].column('s0').to_pylist())}\n"
        "        order = tuple(sorted(found.keys, key=lambda k: -size.get(k, 0)))\n"
        "        groups = Groups(order, {k: at for at, k in enumerate(order)})",
    ),
    "noise is drawn twice": _adding(_drawn_twice),
    "all keys are told": mutant(draw.discovered, _KEPT, "np.arange(len(counts))"),
    "keys pass a threshold without noise": mutant(
        draw.discovered, _KEPT, "np.flatnonzero(np.array(counts, dtype=np.int64) > 1)"
    ),
    "the quantile is exact": mutant(
        draw._draw,
        "int(rule.release(pile.buckets, pile.counts)[0])",
        "int(pile.buckets.max(initial=0))",
    ),
    "the mode is exact": mutant(
        draw.draw_choices, "found = rule.release(scores)", "found = [int(scores.argmax())]"
    ),
    "notes tell how many groups there are": mutant(
        door._logged,
        "notes_of(drawn, columns)",
        "(*notes_of(drawn, columns), str(sealed.open(KEY)[0].num_rows))",
    ),
}
