# SPDX-License-Identifier: Apache-2.0
"""A plan explained before it is paid for: price, noise, error bars, what the limits do.

It is also drawn: as boxes and arrows, from the tables to the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import assert_never

from sordino.catalog.model import Purse
from sordino.numbers.rational import Number, positive
from sordino.plan.allocate import loss_of_keys
from sordino.plan.intervals import Expected, expected, is_noisy, short
from sordino.plan.plan import Added, Plan, Shares, counted_by, spent_by
from sordino.plan.told import Told
from sordino.plan.words import keys_in_words, limits_in_words, noise, what, why, written
from sordino.privacy.currency import Price
from sordino.query.aggregates import COUNTS
from sordino.query.tree import (
    Derive,
    JoinPublic,
    JoinUnit,
    MeasureRef,
    Output,
    PerUnit,
    Rows,
    Scan,
    Where,
    Window,
    measures_in,
)

_LOUD = 1  # half-widths of a count, in the rows that a group is expected to have
_LARGE = 10  # an epsilon above which little is promised


@dataclass(frozen=True, slots=True)
class Explanation(Told):
    """What an answer would cost and how accurate it would be.

    ``print`` shows it as text and a notebook as a table; ``dot`` and ``svg`` draw the plan.
    """

    plan: Plan
    price: Price
    facts: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, Expected], ...]
    warnings: tuple[str, ...]

    def rows(self) -> list[tuple[str, ...]]:
        """Return a line for each release: what, noise, shift, price and share, as texts."""
        plan, total = self.plan, float(self.price.value)
        counted = counted_by(self.price.currency)
        lines: list[tuple[str, ...]] = []
        for release in plan.releases:
            spent = release.spent(counted)
            part = f"{100 * spent / total:.0f} %"
            lines.append(
                (what(plan, release), noise(release), why(plan, release), f"{spent:.4g}", part)
            )
        if plan.keys is not None:
            spent = spent_by(loss_of_keys(plan.keys), counted)
            moves = f"at most 1 in each of {plan.keys.groups} groups"
            law = "threshold, Gaussian" if plan.keys.method == "gaussian" else "optimal law"
            told = f"{law}, delta {float(plan.slack):.3g}"
            lines.append(("keys", told, moves, f"{spent:.4g}", f"{100 * spent / total:.0f} %"))
        return lines

    def widths(self) -> list[tuple[str, ...]]:
        """Return a line for each column of the answer: title, half-width, what it is about."""
        return [(title, _width(found), found.about) for title, found in self.columns]

    def dot(self) -> str:
        """Return the plan as a graph in the language of Graphviz."""
        return as_dot(self.plan)

    def svg(self) -> str:
        """Return the plan as a picture."""
        return as_svg(self.plan)

    def picture(self) -> str:
        """Return the plan as a picture."""
        return self.svg()


def explain(plan: Plan, purse: Purse, *, expected_rows: Number | None = None) -> Explanation:
    """Explain a plan: nothing is charged, and no data is touched.

    ``expected_rows`` is a public guess at the rows of a group, for the error bars of means.
    """
    rows = None if expected_rows is None else float(positive("expected_rows", expected_rows))
    price = purse.budget.price(plan.loss)
    columns = tuple(
        (output.title, expected(plan, output.scalar, rows=rows))
        for output in plan.query.post.outputs
        if is_noisy(output.scalar)
    )
    return Explanation(
        plan=plan,
        price=price,
        facts=tuple(_facts(plan, purse, price)),
        columns=columns,
        warnings=tuple(_warnings(plan, purse, price, rows)),
    )


def _facts(plan: Plan, purse: Purse, price: Price) -> list[tuple[str, str]]:
    asked = "" if plan.epsilon is None else f", asked for as epsilon {float(plan.epsilon):.6g}"
    cost = str(price) if price.currency.kind == "epsilon" else f"{price}{asked}"
    if plan.slack:
        cost += f", and delta {float(plan.slack):.3g} to discover keys"
    return [
        ("price", f"{cost}; the whole budget is {purse.budget.cap}"),
        ("hidden", f"one of the {plan.people} with all rows, added or removed"),
        ("groups", keys_in_words(plan)),
        ("limits", limits_in_words(plan.bounded)),
        ("error bars", f"hold with {float(100 * plan.confidence):.6g} % each, for what counts"),
    ]


def _warnings(
    plan: Plan,
    purse: Purse,
    price: Price,
    rows: float | None,
) -> list[str]:
    found = []
    if price.nanos > purse.budget.cap.nanos:
        found.append("this costs more than the whole budget")
    if plan.slack > purse.slack:
        found.append("discovering keys costs more delta than the whole budget has")
    elif plan.slack + price.delta > purse.slack + purse.budget.failures:
        found.append("what may fail costs more delta than the whole budget has for it")
    if plan.epsilon is not None and plan.epsilon > _LARGE:
        found.append(f"epsilon {float(plan.epsilon):.4g} promises little to the people in the data")
    if rows is not None:
        loud = [
            output.title
            for output in plan.query.post.outputs
            if _is_count(plan, output) and (_half(plan, output) or 0) > _LOUD * rows
        ]
        found += [f"the noise of {title} is wider than a group is expected to be" for title in loud]
    return found


def _is_count(plan: Plan, output: Output) -> bool:
    scalar = output.scalar
    return isinstance(scalar, MeasureRef) and plan.query.measures[scalar.index].kind in COUNTS


def _half(plan: Plan, output: Output) -> float | None:
    return expected(plan, output.scalar).half_width


def _width(found: Expected) -> str:
    if found.half_width is None:
        return "not known yet"
    return f"{'' if found.rows else '± '}{short(found.half_width)}"


# The plan as boxes and arrows. --------------------------------------------------------------------

PUBLIC, PRIVATE, NOISY = "public", "private", "noisy"


@dataclass(frozen=True, slots=True)
class Box:
    """A step of a plan: a title, a line below it, who may see it, and how far right it stands."""

    title: str
    below: str
    kind: str
    layer: int


@dataclass(slots=True)
class Graph:
    """Boxes, and arrows between their places."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[tuple[int, int]] = field(default_factory=list)

    def add(self, title: str, below: str, kind: str, before: list[int], layer: int = 0) -> int:
        """Add a box to the right of those before it, and return its place."""
        right = max((self.boxes[at].layer + 1 for at in before), default=0)
        self.boxes.append(Box(title, below, kind, max(layer, right)))
        here = len(self.boxes) - 1
        self.arrows += [(at, here) for at in before]
        return here


def graph_of(plan: Plan) -> Graph:
    """Return the boxes and arrows of a plan."""
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
        measured = measures_in(output.scalar)
        before = sorted({at for index in measured for at in plan.formulas[index].places})
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


_WIDTH, _HEIGHT, _ACROSS, _DOWN, _EDGE = 190, 46, 52, 16, 16
_LONGEST = 24  # letters that fit into a box
_FILL = {PRIVATE: "#f3e3e0", NOISY: "#e3ecf6", PUBLIC: "#e4f1e4"}
_LINE = {PRIVATE: "#a4584b", NOISY: "#3f6ea3", PUBLIC: "#4b8a4f"}
_LEGEND = {PRIVATE: "exact, never shown", NOISY: "noise is added", PUBLIC: "may be seen"}


def as_dot(plan: Plan) -> str:
    """Return the plan as a graph in the language of Graphviz."""
    graph = graph_of(plan)
    lines = ["digraph plan {", "  rankdir=LR;", '  node [shape=box, style="filled,rounded"];']
    for at, box in enumerate(graph.boxes):
        label = f"{_quoted(box.title)}\\n{_quoted(box.below)}"
        lines.append(f'  b{at} [label="{label}", fillcolor="{_FILL[box.kind]}"];')
    lines += [f"  b{before} -> b{after};" for before, after in graph.arrows]
    return "\n".join([*lines, "}"])


def as_svg(plan: Plan) -> str:
    """Return the plan as an SVG picture, from left to right."""
    graph = graph_of(plan)
    places = _places(graph)
    right = max(x for x, _ in places) + _WIDTH + _EDGE
    bottom = max(y for _, y in places) + _HEIGHT + _EDGE
    arrows = [_arrow(places[before], places[after]) for before, after in graph.arrows]
    boxes = [_box(box, place) for box, place in zip(graph.boxes, places, strict=True)]
    legend = _legend(bottom + 4)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(right, 470)} {bottom + 30}"'
            f' width="{max(right, 470)}" height="{bottom + 30}" role="img"'
            ' font-family="system-ui, sans-serif" font-size="12">',
            "<title>plan of a question</title>",
            *arrows,
            *boxes,
            *legend,
            "</svg>",
        ]
    )


def _places(graph: Graph) -> list[tuple[int, int]]:
    """Return the upper left corners: layers from left to right, each in the middle."""
    layers: dict[int, list[int]] = {}
    for at, box in enumerate(graph.boxes):
        layers.setdefault(box.layer, []).append(at)
    tallest = max(len(layer) for layer in layers.values())
    found = {}
    for layer, members in layers.items():
        first = (tallest - len(members)) * (_HEIGHT + _DOWN) // 2
        for row, at in enumerate(members):
            x = _EDGE + layer * (_WIDTH + _ACROSS)
            found[at] = (x, _EDGE + first + row * (_HEIGHT + _DOWN))
    return [found[at] for at in range(len(graph.boxes))]


def _arrow(start: tuple[int, int], stop: tuple[int, int]) -> str:
    x, y = start[0] + _WIDTH, start[1] + _HEIGHT // 2
    to_x, to_y = stop[0] - 6, stop[1] + _HEIGHT // 2
    bend = (to_x - x) // 2
    head = f"M{to_x - 1} {to_y - 4} l7 4 l-7 4 z"
    return (
        f'<path d="M{x} {y} C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}" fill="none"'
        f' stroke="#8a8a8a"/><path d="{head}" fill="#8a8a8a"/>'
    )


def _box(box: Box, place: tuple[int, int]) -> str:
    x, y = place
    middle = x + _WIDTH // 2
    return (
        f'<g><title>{escape(box.title)}: {escape(box.below)}</title><rect x="{x}" y="{y}"'
        f' width="{_WIDTH}" height="{_HEIGHT}" rx="7" fill="{_FILL[box.kind]}"'
        f' stroke="{_LINE[box.kind]}"/>'
        f'<text x="{middle}" y="{y + 20}" text-anchor="middle" font-weight="600"'
        f' fill="#222">{escape(_cut(box.title))}</text>'
        f'<text x="{middle}" y="{y + 36}" text-anchor="middle" font-size="11"'
        f' fill="#555">{escape(_cut(box.below))}</text></g>'
    )


def _legend(y: int) -> list[str]:
    return [
        f'<rect x="{_EDGE + 150 * at}" y="{y}" width="12" height="12" rx="3" fill="{_FILL[kind]}"'
        f' stroke="{_LINE[kind]}"/><text x="{_EDGE + 150 * at + 18}" y="{y + 10}" font-size="11"'
        f' fill="#555">{text}</text>'
        for at, (kind, text) in enumerate(_LEGEND.items())
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _quoted(text: str) -> str:
    """Write a text inside the quotes of Graphviz."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')
