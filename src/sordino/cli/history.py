# SPDX-License-Identifier: Apache-2.0
"""`sordino history`: the entries of the ledger, the newest last."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sordino.answer.codec import from_bytes, is_readable
from sordino.answer.render import printable
from sordino.catalog.toml import read_catalog
from sordino.cli.reading import ledger_of
from sordino.cli.shown import and_delta, console_for
from sordino.ledger.entry import Entry
from sordino.ledger.history import currencies, entries
from sordino.ledger.ledger import Ledger
from sordino.privacy.currency import ATTO, Currency, Price

SHORT = 8  # digits of a fingerprint


def history(path: Path, *, who: str | None, people: str | None, last: int, as_json: bool) -> None:
    """Print the newest entries of each id space."""
    console = console_for()
    with ledger_of(read_catalog(path)) as ledger:
        spaces = sorted({*currencies(ledger), *ledger.terms})
        if people is not None and people not in spaces:
            raise ValueError(f"there is no id space {people!r}; there are {', '.join(spaces)}")
        found = list(entries(ledger, people=people, who=who, last=last))
        if not as_json:
            filters = [f"for {who!r}"] if who else []
            filters += [f"of {people!r}"] if people else []
            show_entries(console, ledger, found, " ".join(filters))
            return
        asked = _questions(ledger, found)
    told = [{**entry._asdict(), "question": asked.get(_place(entry))} for entry in found]
    typer.echo(json.dumps(told, indent=2))


def show_entries(console: Console, ledger: Ledger, listed: list[Entry], wanted: str = "") -> None:
    """Print entries as a table: when, who, what, and what was left of the whole budget."""
    if not listed:
        told = f"nothing is on record {wanted}" if wanted else "nothing has been asked yet"
        console.print(Text(printable(told)))
        return
    counted, asked = currencies(ledger), _questions(ledger, listed)
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
            Text(
                in_words(entry, currency) + _quoted(asked.get(_place(entry)), entry, console),
                "" if entry.kind == "charge" else "dim",
            ),
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
            return f"charge of {price}, plan {entry.plan[:SHORT]}"
        case "answer":
            return f"answer to {entry.charge}"


def _questions(ledger: Ledger, found: Iterable[Entry]) -> dict[tuple[str, int], str]:
    """Return the questions of charges, by id space and number; they stand in stored answers."""
    asked = {}
    for entry in found:
        if entry.kind == "answer":
            with ledger.store.read() as pages:
                body = pages.body(entry)
            if isinstance(body, bytes) and is_readable(body):
                asked[_place(entry)] = str(from_bytes(body).facts["question"])
    return asked


def _place(entry: Entry) -> tuple[str, int]:
    """Return the place of the charge that an entry is or speaks of."""
    return entry.people, entry.charge if entry.kind == "answer" else entry.number


def _quoted(question: str | None, entry: Entry, console: Console) -> str:
    """Return a question behind its answer, on one line and no longer than suits the console."""
    if question is None or entry.kind != "answer":
        return ""
    text, most = printable(" ".join(question.split())), console.width // 2
    return f": {text}" if len(text) <= most else f": {text[:most].rstrip()}..."


def _reason(entry: Entry) -> str:
    return f" ({printable(entry.by)}: {printable(entry.why)})" if entry.why else ""


def _limit(currency: Currency, nanos: int | None, slack: int | None) -> str | None:
    return None if nanos is None else _written(currency, nanos, slack or 0)


def _written(currency: Currency, nanos: int, slack: int) -> str:
    return and_delta(Price(currency, nanos), Fraction(slack, ATTO))
