# SPDX-License-Identifier: Apache-2.0
"""`sordino history`: the entries of the ledger, the newest last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sordino.answer.numbers import printable
from sordino.cli.reading import ledger_of
from sordino.cli.shown import and_delta, console_for
from sordino.ledger.entry import ATTO, Entry
from sordino.ledger.history import currencies, entries
from sordino.privacy.currency import Currency, Price
from sordino.query.toml import read_catalog

_SHORT = 8  # digits of a fingerprint


def history(path: Path, *, who: str | None, people: str | None, last: int, as_json: bool) -> None:
    """Print the newest entries of each id space."""
    with ledger_of(read_catalog(path)) as ledger:
        found = list(entries(ledger, people=people, who=who, last=last))
        counted = currencies(ledger)
    if as_json:
        typer.echo(json.dumps([entry._asdict() for entry in found], indent=2))
    else:
        show_entries(console_for(), found, counted)


def show_entries(console: Console, found: Iterable[Entry], counted: Mapping[str, Currency]) -> None:
    """Print entries as a table: when, who, what, and what was left of the whole budget."""
    listed = list(found)
    if not listed:
        console.print("nothing has been asked yet")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    several = len({entry.people for entry in listed}) > 1
    titles = ("number", "when", "who", "what", "left")
    for title in ("people", *titles) if several else titles:
        whole = title in ("number", "when")
        side: Literal["left", "right"] = "right" if title == "number" else "left"
        table.add_column(title, justify=side, overflow="fold", no_wrap=whole)
    for entry in listed:
        currency = counted[entry.people]
        left = Price(currency, max(0, entry.cap - entry.spent))
        cells = [
            Text(str(entry.number)),
            Text(entry.at.replace("T", " ").removesuffix("Z")),
            Text(printable(entry.who or entry.by)),
            Text(in_words(entry, currency), "" if entry.kind == "charge" else "dim"),
            Text(str(left) if entry.kind != "answer" else ""),
        ]
        table.add_row(*([Text(entry.people)] if several else []), *cells)
    console.print(table)


def in_words(entry: Entry, currency: Currency) -> str:
    """Say what an entry is about."""
    match entry.kind:
        case "open" | "limits":
            begun = "opened" if entry.kind == "open" else "limits set"
            cap = _written(currency, entry.cap, entry.cap_slack)
            most = "" if entry.most is None else f", one question {Price(currency, entry.most)}"
            each = _limit(currency, entry.others, entry.others_slack)
            others = "" if each is None else f", all others {each} each"
            return f"{begun}: {cap}{most}{others}{_reason(entry)}"
        case "share":
            most = _limit(currency, entry.share, entry.share_slack) or "no limit"
            kept = _written(currency, entry.kept, entry.kept_slack)
            return f"share of {printable(entry.who)}: {most}, kept {kept}{_reason(entry)}"
        case "charge":
            price = _written(currency, entry.price, entry.price_slack)
            return f"charge of {price}, plan {entry.plan[:_SHORT]}"
        case "answer":
            return f"answer to {entry.charge}"


def _reason(entry: Entry) -> str:
    return f" ({printable(entry.by)}: {printable(entry.why)})" if entry.why else ""


def _limit(currency: Currency, nanos: int | None, slack: int | None) -> str | None:
    return None if nanos is None else _written(currency, nanos, slack or 0)


def _written(currency: Currency, nanos: int, slack: int) -> str:
    return and_delta(Price(currency, nanos), Fraction(slack, ATTO))
