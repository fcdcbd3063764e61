# SPDX-License-Identifier: Apache-2.0
"""A plan as boxes and arrows, from the tables to the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from sordino.plan.bounded import Shares
from sordino.plan.naming import written
from sordino.plan.plan import Added, Direct, Formula, Mean, Plan, Spread
from sordino.plan.words import noise, what
from sordino.query.tree import (
    Derive,
    JoinPublic,
    JoinUnit,
    KeyRef,
    Literal,
    MeasureRef,
    PerUnit,
    PostCall,
    PostScalar,
    Rows,
    Scan,
    Where,
    Window,
)

PUBLIC, PRIVATE, NOISY = "public", "private", "noisy"


@dataclass(frozen=True, slots=True)
class Box:
    """A step of a plan: a title, a line below it, who may see it, and how far right it stands.

    Guarantee: none needed; public inputs only.
    """

    title: str
    below: str
    kind: str
    layer: int


@dataclass(slots=True)
class Graph:
    """Boxes, and arrows between their places.

    Guarantee: none needed; public inputs only.
    """

    boxes: list[Box] = field(default_factory=list)
    arrows: list[tuple[int, int]] = field(default_factory=list)

    def add(self, title: str, below: str, kind: str, before: list[int], layer: int = 0) -> int:
        """Add a box to the right of those before it, and return its place.

        Guarantee: none needed; public inputs only.
        """
        right = max((self.boxes[at].layer + 1 for at in before), default=0)
        self.boxes.append(Box(title, below, kind, max(layer, right)))
        here = len(self.boxes) - 1
        self.arrows += [(at, here) for at in before]
        return here


def graph_of(plan: Plan) -> Graph:
    """Return the boxes and arrows of a plan.

    Guarantee: none needed; public inputs only.
    """
    graph = Graph()
    rows = _rows(graph, plan.bounded.rows)
    if plan.bounded.keys:
        names = ", ".join(key.title for key in plan.bounded.keys)
        rows = graph.add("group by", names, PRIVATE, [rows])
    rows = graph.add("limit", _limit(plan.bounded.shares), PRIVATE, [rows])
    selected: list[int] = []
    if plan.keys is not None:
        units = graph.add("units by group", "exact", PRIVATE, [rows])
        needed = f"from {plan.keys.count_for(0.95):,} units on"
        selected = [graph.add("keys", needed, NOISY, [units])]
    noisy = []
    for release in plan.releases:
        kind = "exact" if isinstance(release, Added) else "weights by value"
        exact = graph.add(what(plan, release), kind, PRIVATE, [rows])
        title = "noise" if isinstance(release, Added) else "draw"
        noisy.append(graph.add(title, noise(release), NOISY, [exact]))
    last = max((graph.boxes[at].layer for at in noisy), default=0) + 1
    used: set[int] = set()
    for output in plan.query.post.outputs:
        before = sorted({at for index in _measures(output.scalar) for at in _made(plan, index)})
        used.update(before)
        places = [noisy[at] for at in before] or selected
        if places:
            graph.add(output.title, "answer", PUBLIC, places, layer=last)
    for title, at in plan.diagnostics:
        if at not in used:
            graph.add(title, "diagnostic", PUBLIC, [noisy[at]], layer=last)
    return graph


def _rows(graph: Graph, rows: Rows) -> int:
    match rows:
        case Scan():
            return graph.add(rows.table, "private table", PRIVATE, [])
        case Where():
            return graph.add("where", written(rows.condition), PRIVATE, [_rows(graph, rows.rows)])
        case Derive():
            return _rows(graph, rows.rows)  # only names and expressions
        case JoinPublic():
            private = _rows(graph, rows.rows)
            beside = graph.boxes[private].layer
            public = graph.add(rows.table, "public table", PUBLIC, [], layer=beside)
            return graph.add("join", "public", PRIVATE, [private, public])
        case JoinUnit():
            sides = [_rows(graph, rows.rows), _rows(graph, rows.other)]
            return graph.add("join", "on the unit", PRIVATE, sides)
        case PerUnit() | Window():
            below = "one row each" if isinstance(rows, PerUnit) else "beside its rows"
            return graph.add("per unit", below, PRIVATE, [_rows(graph, rows.rows)])
        case _:
            assert_never(rows)


def _limit(shares: Shares) -> str:
    if shares.alone:
        return "one row a unit"
    rows = f"{shares.rows} row{'' if shares.rows == 1 else 's'} a unit"
    return rows if shares.groups is None else f"{rows}, {shares.groups} groups"


def _measures(scalar: PostScalar) -> list[int]:
    match scalar:
        case MeasureRef():
            return [scalar.index]
        case PostCall():
            return [index for x in scalar.arguments for index in _measures(x)]
        case KeyRef() | Literal():
            return []
        case _:
            assert_never(scalar)


def _made(plan: Plan, index: int) -> list[int]:
    formula: Formula = plan.formulas[index]
    match formula:
        case Direct():
            return [formula.release]
        case Mean():
            return [formula.total, formula.count]
        case Spread():
            return [formula.total, formula.square, formula.count]
        case _:
            assert_never(formula)
