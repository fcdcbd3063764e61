# SPDX-License-Identifier: Apache-2.0
"""How far one unit can move what the engine computes."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from sordino.plan.bounded import (
    Bounded,
    Cells,
    Crowded,
    Distinct,
    Ranks,
    RowCount,
    Shares,
    Statistic,
    Total,
    UnitCount,
    Votes,
)
from sordino.sensitivity.neighbours import Neighbours
from sordino.sensitivity.norms import Sensitivity


def shift(statistic: Statistic, shares: Shares, *, grouped: bool) -> Sensitivity:
    """Return how far one unit moves a statistic over all groups, in steps of it.

    >>> shift(RowCount(), Shares(rows=4, groups=2, rows_per_group=3, alone=False), grouped=True).l1
    Fraction(262144, 1)

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; noise is scaled to it.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 2.
    """
    match statistic:
        case UnitCount():
            most = _groups(shares) if grouped else 1
            return _sensitivity("units", total=most, each=1)
        case RowCount():
            size, name = 1, "rows"
        case Total():
            size, name = statistic.largest, "total"
        case _:
            assert_never(statistic)
    total, each = weights(shares, grouped=grouped)
    return _sensitivity(name, total=total * size, each=each * size)


def column_shift(bounded: Bounded, part: int, column: int) -> Sensitivity:
    """Return how far one unit moves a column of a part over all groups, in steps of it.

    For ranks and votes it is about the coarse weights by bucket or candidate.

    Guarantee: as for shift.
    """
    found, grouped = bounded.parts[part], bool(bounded.keys)
    match found:
        case Cells():
            return shift(found.statistics[column], bounded.shares, grouped=grouped)
        case Distinct():
            return _sensitivity("values", total=found.most, each=found.most)
        case Ranks() | Votes():
            most = coarse_weight(bounded)
            return _sensitivity("records", total=most, each=most)
        case Crowded():
            return _sensitivity("units", total=1, each=1)
        case _:
            assert_never(found)


def column_step(bounded: Bounded, part: int, column: int) -> Fraction:
    """Return what one step of a column is worth.

    Guarantee: none needed; public inputs only.
    """
    found, steps = bounded.parts[part], bounded.shares.steps
    if not isinstance(found, Cells):
        return Fraction(1)
    match found.statistics[column]:
        case RowCount():
            return Fraction(1, steps)
        case UnitCount():
            return Fraction(1)
        case Total(exponent=exponent, power=power):
            return Fraction(2) ** (exponent * power) / steps
        case _ as other:
            assert_never(other)


def coarse_weight(bounded: Bounded) -> int:
    """Return the most that one unit weighs in quantiles and votes, in all groups together.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; choices are scaled to it.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 4.
    """
    shares = bounded.shares
    total, _ = weights(shares, grouped=bool(bounded.keys))
    return total // shares.steps * shares.coarse_steps


def weights(shares: Shares, *, grouped: bool) -> tuple[int, int]:
    """Return the most that one unit weighs in all groups together, and in one of them.

    Guarantee: none needed; public inputs only.
    """
    if shares.alone:
        return 1, 1
    total, each = shares.rows, shares.rows
    if shares.rows_per_group is not None:
        each = min(each, shares.rows_per_group)
        most = shares.groups if grouped else 1
        total = total if most is None else min(total, most * each)
    return total * shares.steps, each * shares.steps


def _groups(shares: Shares) -> int:
    if shares.alone:
        return 1
    if shares.groups is None:
        raise ValueError("units are counted by group only where their groups are limited")
    return shares.groups


def _sensitivity(name: str, *, total: int, each: int) -> Sensitivity:
    """Return the norms of what has at most ``each`` in one place and ``total`` in all."""
    full, rest = divmod(total, each) if each else (0, 0)
    return Sensitivity(
        query=name,
        l1=total,
        l2_squared=full * each * each + rest * rest,
        linf=each,
        neighbours=Neighbours.add_remove,
        whole=True,
    )
