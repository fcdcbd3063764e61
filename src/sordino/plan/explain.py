# SPDX-License-Identifier: Apache-2.0
"""A plan explained before it is paid for: price, noise, error bars, what the limits do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sordino.catalog.model import Purse
from sordino.numbers.rational import Number, positive
from sordino.plan.allocate import loss_of_keys
from sordino.plan.graph import as_dot, as_svg
from sordino.plan.intervals import Expected, expected, is_noisy, short
from sordino.plan.parts import counted_by, spent_by
from sordino.plan.plan import Plan
from sordino.plan.words import keys_in_words, limits_in_words, noise, what, why
from sordino.privacy.currency import Price
from sordino.query.aggregates import COUNTS
from sordino.query.tree import MeasureRef, Output

RELEASES = ("released", "noise", "one unit moves it by", "price", "share")
COLUMNS = ("column", "half-width", "about")
_LOUD = 1  # half-widths of a count, in the rows that a group is expected to have
_LARGE = 10  # an epsilon above which little is promised


@dataclass(frozen=True, slots=True)
class Explanation:
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

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.facts)
        lines = [f"{name:<{width}}  {text}" for name, text in self.facts]
        lines += ["", *_table(COLUMNS, self.widths()), ""]
        lines += _table((*RELEASES[:3], str(self.price.currency), RELEASES[4]), self.rows())
        lines += ["", *(f"warning: {text}" for text in self.warnings)] if self.warnings else []
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self.facts
        )
        warnings = "".join(f"<p><b>warning:</b> {escape(text)}</p>" for text in self.warnings)
        return (
            f'<div class="sordino-plan"><table>{facts}</table>'
            f"{_html(COLUMNS, self.widths())}{_html(RELEASES, self.rows())}{warnings}"
            f"{self.svg()}</div>"
        )


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


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    sizes = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    rule = ["-" * size for size in sizes]
    return [
        "  ".join(cell.ljust(size) for cell, size in zip(line, sizes, strict=True))
        for line in (head, rule, *lines)
    ]


def _html(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
