# SPDX-License-Identifier: Apache-2.0
"""A question in SQL, asked of two neighbouring sets of tables: what differs before noise is drawn.

No ledger is charged and nothing is released. Exact values are compared with what the plan declares,
so this is for invented data only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from sordino.auditing.replays.differences import Change, Finding, Kind, raised
from sordino.auditing.replays.recording import Replayed
from sordino.catalog.model import Catalog
from sordino.numbers.rational import Number, positive
from sordino.plan.plan import Added, Release
from sordino.release.rehearsal import Counted, Exact, Group, Prepared, Shift, rehearse

# What must be the same for all data, and what kind of finding it is if it is not.
_PUBLIC: tuple[tuple[str, str, Kind], ...] = (
    ("sql", "the SQL that is executed", "sql"),
    ("parameters", "what is bound to the SQL", "sql"),
    ("price", "the price", "price"),
    ("slack", "the slack", "price"),
    ("mechanisms", "the mechanisms", "mechanisms"),
    ("shifts", "the declared shifts", "mechanisms"),
    ("columns", "the columns of the answer", "output"),
    ("types", "the types of the answer", "output"),
    ("plan", "the plan", "mechanisms"),
)


def replay_question(
    x: Catalog, y: Catalog | Mapping[str, Any], sql: str, *, epsilon: Number, salt: int = 0
) -> Replayed:
    """Ask a question of two neighbouring sets of tables and say what differs before noise.

    ``x`` is a catalog with its tables in memory; ``y`` another one, or the tables that one person
    more or less makes different, by name. Compared are the SQL, the price, the mechanisms, the form
    of the answer, errors, and how far the exact integers moved with the shift that the plan
    declares. An error that both give alike is raised. ``salt`` is what sampling of a person's rows
    starts from; it is the same on both.
    """
    price = positive("epsilon", epsilon)
    tables, second = ({}, y) if isinstance(y, Catalog) else (y, x)
    one, other = _asked(x, {}, sql, price, salt), _asked(second, tables, sql, price, salt)
    if isinstance(one, Exception) or isinstance(other, Exception):
        mine, yours = raised(one), raised(other)
        if mine == yours and isinstance(one, Exception):
            raise one  # the question cannot be asked at all
        told = Finding("error", f"x gives {mine}, y gives {yours}")
        return Replayed((told,), (), (0, 0), 0, (None, None))
    findings, moved = list(_public(one[0], other[0])), []
    releases = one[0].plan.releases
    if not findings:
        parts = one[0].plan.bounded.parts
        for release, shift in zip(releases, one[0].shifts, strict=True):
            part, column = parts.index(release.part), _column(release)
            where = f"part {part + 1}, column {column + 1}"
            steps = _moved(one[1][part], other[1][part], column)
            moved.append(_change(release, where, steps, shift))
            findings += _beyond(where, steps, shift)
    counts = (len(releases), len(other[0].plan.releases))
    return Replayed(tuple(findings), tuple(moved), counts, 0, (one[0].columns, other[0].columns))


def _asked(
    catalog: Catalog, tables: Mapping[str, Any], sql: str, epsilon: Fraction, salt: int
) -> tuple[Prepared, Exact] | Exception:
    """Return what a question does before noise, or the error that it ends in."""
    try:
        return rehearse(catalog, tables, sql, epsilon=epsilon, salt=salt)
    except Exception as error:  # an error is an outcome like any other
        return error


def _public(one: Prepared, other: Prepared) -> Iterator[Finding]:
    for name, words, kind in _PUBLIC:
        mine, yours = getattr(one, name), getattr(other, name)
        if mine != yours:
            shown = "" if name in {"sql", "parameters", "plan"} else f": {mine} and {yours}"
            yield Finding(kind, f"{words} depends on the data{shown}")


def _change(release: Release, where: str, moved: list[int], shift: Shift) -> Change:
    """Say how far one release moved, in steps, over all groups."""
    added = isinstance(release, Added)
    return Change(
        kind=type(release.mechanism if added else release).__name__,
        where=where,
        l1=float(sum(map(abs, moved))),
        l2=float(sum(d * d for d in moved)) ** 0.5,
        linf=float(max(map(abs, moved), default=0)),
        norm="l1",
        loss=None,
        declared=float(shift.l1),
    )


def _moved(one: Counted, other: Counted, column: int) -> list[int]:
    """Return how far a column moves in each group; a group that is not there is 0."""

    def held(groups: Counted, group: Group) -> int:
        return groups[group][column] if group in groups else 0

    return [held(one, group) - held(other, group) for group in one.keys() | other.keys()]


def _beyond(where: str, moved: list[int], shift: Shift) -> Iterator[Finding]:
    """Yield a finding if a release moved further than the plan declares; all in exact integers."""
    sizes = sum(map(abs, moved)), sum(d * d for d in moved), max(map(abs, moved), default=0)
    limits = shift.l1, shift.l2_squared, shift.linf
    for norm, size, limit in zip(("l1", "squared l2", "linf"), sizes, limits, strict=True):
        if size > limit:
            words = f"one person moves the exact values by {size} in {norm}, declared is {limit}"
            yield Finding("sensitivity", words, where)
            return


def _column(release: Release) -> int:
    return release.column if isinstance(release, Added) else 0
