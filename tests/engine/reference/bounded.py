# SPDX-License-Identifier: Apache-2.0
"""What the engine must compute, in plain Python, straight from what ``plan.bounded`` says."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from sordino.catalog.model import Catalog
from sordino.plan import plan
from sordino.query.tree import Key
from tests.engine.reference.rows import Cut, Stored, rows_of, value_of

Group: TypeAlias = tuple[Any, ...]
Part_: TypeAlias = dict[Group, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Kept:
    """A row that counts: its unit, group, values and what is left of it."""

    unit: Any
    group: Group
    row: dict[str, Any]
    share: Fraction


def bounded_reference(bounded: plan.Bounded, stored: Stored, catalog: Catalog) -> tuple[Part_, ...]:
    """Return for each part the integers of every group; of every group and bucket for v.

    Raises Cut where a salted hash would have to choose.
    """
    keyed = list(_keyed(bounded, stored, catalog))
    kept: list[Kept] | None = None
    made = []
    for part in bounded.parts:
        if isinstance(part, plan.Distinct):
            made.append(_distinct(part, keyed))
        elif isinstance(part, plan.Crowded):
            made.append({(): (crowded(keyed, bounded.shares),)})
        else:
            kept = _weighed(keyed, bounded.shares) if kept is None else kept
            made.append(_part(part, kept, bounded.shares))
    return tuple(made)


Keyed: TypeAlias = tuple[Any, Group, dict[str, Any]]


def _keyed(bounded: plan.Bounded, stored: Stored, catalog: Catalog) -> Iterable[Keyed]:
    """Go through the rows whose keys count, with the group of each."""
    for unit, row in rows_of(bounded.rows, stored, catalog):
        group = tuple(_key(key, row) for key in bounded.keys)
        if not any(value is _OUT for value in group):
            yield unit, group, row


_OUT = object()


def _key(key: Key, row: dict[str, Any]) -> Any:
    value = value_of(key.scalar, row)
    if key.bins is not None:
        return _bin(value, key)
    if key.domain is None or value in key.domain:
        return value
    return _OUT if key.other is None else key.other


def _bin(value: Any, key: Key) -> Any:
    assert key.bins is not None
    if value is None:
        return _OUT
    low, high, count = key.bins.range.low, key.bins.range.high, key.bins.count
    if math.isinf(value):
        return _OUT
    place = math.floor((Fraction(value) - low) * count / (high - low))
    if value == high:
        place = count - 1
    return place if 0 <= place < count else _OUT


def _weighed(keyed: list[Keyed], shares: plan.Shares) -> list[Kept]:
    if shares.alone:
        return [Kept(unit, group, row, Fraction(1)) for unit, group, row in keyed]
    sizes: dict[Any, dict[Group, int]] = {}
    for unit, group, _ in keyed:
        own = sizes.setdefault(unit, {})
        own[group] = own.get(group, 0) + 1
    if shares.groups is not None and any(len(own) > shares.groups for own in sizes.values()):
        raise Cut
    most = shares.rows_per_group
    shared: dict[Any, dict[Group, Fraction]] = {}
    for unit, own in sizes.items():
        first = {g: Fraction(1) if most is None else min(Fraction(1), Fraction(most, n))
                 for g, n in own.items()}  # fmt: skip
        total = sum((own[g] * share for g, share in first.items()), Fraction(0))
        then = min(Fraction(1), shares.rows / total)
        shared[unit] = {g: share * then for g, share in first.items()}
    return [Kept(unit, group, row, shared[unit][group]) for unit, group, row in keyed]


def _part(part: plan.Part, kept: list[Kept], shares: plan.Shares) -> Part_:
    match part:
        case plan.Cells():
            return _cells(part, kept, shares)
        case plan.Ranks() | plan.Votes():
            return _weights(part, kept, shares)
        case plan.Distinct() | plan.Crowded():
            raise AssertionError("these do not look at shares")
        case _ as never:
            assert_never(never)


def _cells(part: plan.Cells, kept: list[Kept], shares: plan.Shares) -> Part_:
    groups: dict[Group, list[Kept]] = {}
    for row in kept:
        groups.setdefault(row.group, []).append(row)
    return {
        group: tuple(_statistic(s, rows, shares) for s in part.statistics)
        for group, rows in groups.items()
    }


def _statistic(statistic: plan.Statistic, rows: list[Kept], shares: plan.Shares) -> int:
    match statistic:
        case plan.UnitCount():
            return len({row.unit for row in rows})
        case plan.RowCount():
            wanted = statistic.argument
            there = [r for r in rows if wanted is None or value_of(wanted, r.row) is not None]
            return sum(_weight(r, shares.steps) for r in there)
        case plan.Total():
            total = 0
            for row in rows:
                q = on_grid(value_of(statistic.argument, row.row), statistic)
                if q is not None:
                    total += _weight(row, shares.steps) * (q - statistic.offset) ** statistic.power
            return total
        case _ as never:
            assert_never(never)


def _weight(row: Kept, steps: int) -> int:
    return math.floor(steps * row.share)


def on_grid(value: Any, statistic: plan.Total | plan.Ranks) -> int | None:
    """Return a number in whole steps between low and high, or None if it is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    value = float(value)
    if math.isinf(value):
        return statistic.high if value > 0 else statistic.low
    steps = Fraction(value) / Fraction(2) ** statistic.exponent
    return min(max(round(steps), statistic.low), statistic.high)


def _weights(part: plan.Ranks | plan.Votes, kept: list[Kept], shares: plan.Shares) -> Part_:
    made: dict[Group, int] = {}
    for row in kept:
        value = value_of(part.argument, row.row)
        place: int | None
        if isinstance(part, plan.Ranks):
            q = on_grid(value, part)
            place = None if q is None else (q - part.low) // part.width
        else:
            place = part.domain.index(value) if value in part.domain else None
        if place is not None:
            group = (*row.group, place)
            made[group] = made.get(group, 0) + _weight(row, shares.coarse_steps)
    return {group: (weight,) for group, weight in made.items()}


def _distinct(part: plan.Distinct, keyed: list[Keyed]) -> Part_:
    pairs: dict[Any, set[tuple[Group, Any]]] = {}
    for unit, group, row in keyed:
        value = value_of(part.argument, row)
        if value is not None:
            pairs.setdefault(unit, set()).add((group, value))
    if any(len(own) > part.most for own in pairs.values()):
        raise Cut
    values: dict[Group, set[Any]] = {}
    for own in pairs.values():
        for group, value in own:
            values.setdefault(group, set()).add(value)
    return {group: (len(found),) for group, found in values.items()}


def crowded(keyed: list[Keyed], shares: plan.Shares) -> int:
    """Return how many units have more rows, or more groups, than count in full."""
    sizes: dict[Any, dict[Group, int]] = {}
    for unit, group, _ in keyed:
        own = sizes.setdefault(unit, {})
        own[group] = own.get(group, 0) + 1
    return sum(_is_crowded(own, shares) for own in sizes.values())


def _is_crowded(own: dict[Group, int], shares: plan.Shares) -> bool:
    return (
        sum(own.values()) > shares.rows
        or (shares.groups is not None and len(own) > shares.groups)
        or (shares.rows_per_group is not None and max(own.values()) > shares.rows_per_group)
    )
