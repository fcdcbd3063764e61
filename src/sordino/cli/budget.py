# SPDX-License-Identifier: Apache-2.0
"""`sordino budget`: what is left for each id space, for one analyst and in all."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sordino.answer.render import printable
from sordino.catalog.toml import read_catalog
from sordino.cli.analysts import check_who, note_stranger
from sordino.cli.reading import ledger_of, refusal_of
from sordino.cli.shown import and_delta, console_for, facts_of, gauge
from sordino.ledger.history import Part, Standing, Sum, standing


def budget(path: Path, *, who: str, as_json: bool) -> None:
    """Print what is left, by the limits on record."""
    catalog = read_catalog(path)
    with ledger_of(catalog) as ledger:
        found = standing(ledger, who=check_who(who))
    warning = refusal_of(catalog)
    if as_json:
        listed = [_as_json(one, who) for one in found]
        typer.echo(json.dumps({"who": who, "people": listed, "warning": warning}, indent=2))
    else:
        note_stranger(catalog, who)
        show_budget(console_for(), found, who, warning)


def show_budget(console: Console, found: tuple[Standing, ...], who: str, warning: str = "") -> None:
    """Print how every id space stands, with a bar of what is left."""
    for number, one in enumerate(found):
        if number:
            console.print()
        cap, left = one.cap.price, one.left.price
        part = Fraction(left.nanos, cap.nanos) if cap.nanos else Fraction(0)
        console.print(Text.assemble((one.people, "bold"), f": {left} of {cap} left"))
        console.print(gauge(min(part, Fraction(1)), console))
        console.print(facts_of(_facts(one, who)))
        if len(one.parts) > 1:
            console.print()
            console.print(_shares(one.parts))
    if warning:
        console.print()
        console.print(Text.assemble(("warning: ", "yellow"), warning))


def _facts(one: Standing, who: str) -> list[tuple[str, str]]:
    facts = [("spent", _written(one.spent))]
    own = one.part(who)
    if own is not None and (len(one.parts) > 1 or own.left != one.left):
        facts.append((f"for {who}", f"{_written(own.left)} left"))
    kept = [f"{_written(part.kept)} for {part.who}" for part in one.parts if _is_some(part.kept)]
    if kept:
        facts.append(("kept", ", ".join(kept)))
    if one.question is not None:
        facts.append(("one question", f"at most {one.question}"))
    if one.others is not None:
        facts.append(("all others", f"at most {_written(one.others)} each"))
    if one.cap.delta:
        left, cap = float(one.left.delta), float(one.cap.delta)
        facts.append(("keys", f"delta {left:.3g} of {cap:.3g} left to discover them"))
    return facts


def _shares(parts: tuple[Part, ...]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in ("analyst", "spent", "at most", "kept", "left"):
        table.add_column(title, overflow="fold")
    for part in parts:
        most = "no limit" if part.most is None else str(part.most.price)
        kept = str(part.kept.price) if _is_some(part.kept) else "nothing"
        table.add_row(
            Text(printable(part.who)),
            str(part.spent.price),
            most,
            kept,
            Text(str(part.left.price), "cyan"),
        )
    return table


def _written(amount: Sum) -> str:
    return and_delta(amount.price, amount.delta)


def _is_some(amount: Sum) -> bool:
    return bool(amount.price.nanos or amount.delta)


def _as_json(one: Standing, who: str) -> dict[str, Any]:
    own = one.part(who)
    return {
        "people": one.people,
        "currency": str(one.cap.price.currency),
        "cap": _sum(one.cap),
        "spent": _sum(one.spent),
        "left": _sum(one.left),
        "left_for_who": None if own is None else _sum(own.left),
        "held": _sum(one.held),
        "question_nanos": None if one.question is None else one.question.nanos,
        "others": None if one.others is None else _sum(one.others),
        "analysts": [
            {
                "who": part.who,
                "spent": _sum(part.spent),
                "left": _sum(part.left),
                "most": None if part.most is None else _sum(part.most),
                "kept": _sum(part.kept),
            }
            for part in one.parts
        ],
    }


def _sum(amount: Sum) -> dict[str, Any]:
    return {
        "price": str(amount.price),
        "nanos": amount.price.nanos,
        "delta": float(amount.delta),
    }
