# SPDX-License-Identifier: Apache-2.0
"""`sordino ledger`: verify it, export it, and put changed limits on record."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from sordino.answer.frames import safe_cell
from sordino.catalog.toml import read_catalog
from sordino.cli.history import in_words
from sordino.cli.reading import check_there, ledger_of
from sordino.cli.shown import console_for, show_facts
from sordino.ledger.anchor import Anchor
from sordino.ledger.entry import FIELDS, write_currency
from sordino.ledger.history import currencies, with_answers
from sordino.ledger.ledger import Ledger
from sordino.ledger.opening import open_ledger
from sordino.ledger.receipt import read_seen
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.ledger.verify import OnProgress, Verified
from sordino.ledger.verify import verify as verify_all

_EVERY = 500  # entries between two movements of the bar


def verify(path: Path, *, anchors: Sequence[Path], receipts: Sequence[str], as_json: bool) -> None:
    """Check all hashes, sums and answers, and all that anchors and receipts have seen."""
    catalog = read_catalog(path)
    seen = [read_seen(receipt) for receipt in receipts]
    book = check_there(catalog)
    for anchor in anchors:
        if not anchor.is_file():
            raise ValueError(f"there is no anchor {str(anchor)!r}; name a file that is one")
    own = [] if book.anchor is None else [book.anchor]
    with ledger_of(catalog) as ledger:
        for anchor in (*own, *anchors):
            seen += Anchor(anchor).all().values()
        for one in seen:
            ledger.hold_to(one)
        if isinstance(ledger.store, SqliteStore):
            ledger.store.check()
        with _bar() as told:
            found = verify_all(ledger, progress=told)
    if as_json:
        typer.echo(json.dumps([_as_json(one) for one in found], indent=2))
    else:
        _show(found, len(seen))


@contextmanager
def _bar() -> Iterator[OnProgress]:
    """Show how much is done, to whoever looks on."""
    console = console_for(errors=True)
    shape = TextColumn("verifying"), BarColumn(), TaskProgressColumn()
    with Progress(
        *shape, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("")

        def told(done: int, total: int) -> None:
            if done % _EVERY == 0 or done == total:
                progress.update(task, completed=done, total=total)

        yield told


def _show(found: Sequence[Verified], seen: int) -> None:
    console = console_for()
    if not found:
        console.print("nothing has been asked yet")
        return
    for one in found:
        charges = f"{one.charges:,} charge{'s' * (one.charges != 1)}"
        answers = f"{one.answers:,} answer{'s' * (one.answers != 1)}"
        show_facts(
            console,
            [
                ("people", one.people),
                ("entries", f"{one.entries:,}: {charges}, {answers}"),
                ("spent", f"{one.spent} of {one.cap}"),
            ],
            whole=("head", str(one.head)),
        )
        console.print()
    many = "the one" if seen == 1 else f"all {seen:,}"
    held = (
        f", also {many} that an anchor or a receipt has seen"
        if seen
        else "; no anchor and no receipt was there to hold it to, so an old copy would pass too"
    )
    console.print(Text.assemble(("all is well", "bold green"), f": every entry is in place{held}"))


def _as_json(one: Verified) -> dict[str, object]:
    return {
        "people": one.people,
        "entries": one.entries,
        "charges": one.charges,
        "answers": one.answers,
        "spent": str(one.spent),
        "spent_nanos": one.spent.nanos,
        "cap": str(one.cap),
        "cap_nanos": one.cap.nanos,
        "delta": float(one.slack),
        "head": str(one.head),
    }


def export(path: Path, *, output: Path | None, form: str, answers: bool) -> None:
    """Write every entry, by id space and number; raises ValueError for what does not go together.

    The first of the JSON lines tells what the first hash of each id space is made of.
    """
    if form not in ("jsonl", "csv"):
        raise ValueError(f"--format must be jsonl or csv, got {form!r}")
    if answers and form == "csv":
        raise ValueError("--answers are written as JSON lines only; leave out --format csv")
    catalog = read_catalog(path)
    check_there(catalog)
    with ledger_of(catalog) as ledger, _opened(output) as file:
        many = _lines(ledger, file, answers=answers) if form == "jsonl" else _csv(ledger, file)
    if output is not None:
        typer.echo(f"wrote {many:,} entries to {output}", err=True)


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    """Open a new file that only its owner can read; nothing is ever written over."""
    if output is None:
        yield sys.stdout
        return
    try:
        held = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ValueError(f"{str(output)!r} is there already; name a new file") from None
    with open(held, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a descriptor
        yield file


def _lines(ledger: Ledger, file: TextIO, *, answers: bool) -> int:
    counted = {people: write_currency(kept) for people, kept in currencies(ledger).items()}
    about = {"ledger": ledger.store.identity, "keyed": ledger.store.keyed, "currencies": counted}
    file.write(json.dumps(about) + "\n")
    many = 0
    for entry, body in with_answers(ledger):
        told: dict[str, object] = entry._asdict()
        if answers and body is not None:
            told["answer"] = json.loads(body)
        file.write(json.dumps(told) + "\n")
        many += 1
    return many


def _csv(ledger: Ledger, file: TextIO) -> int:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(FIELDS)
    many = 0
    for entry, _ in with_answers(ledger):
        writer.writerow(map(safe_cell, entry))
        many += 1
    return many


def amend(path: Path, *, by: str, why: str, as_json: bool) -> None:
    """Put the limits of the catalog on record, and print the entries that did it."""
    catalog = read_catalog(path)
    ledger = open_ledger(catalog, catalog.book)
    try:
        made, counted = ledger.amend(by=by, why=why), currencies(ledger)
    finally:
        ledger.close()
    if as_json:
        typer.echo(json.dumps([entry._asdict() for entry in made], indent=2))
        return
    console = console_for()
    if not made:
        console.print("nothing to change: the ledger has the same limits on record")
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    for entry in made:
        table.add_row(
            Text(entry.people), str(entry.number), Text(in_words(entry, counted[entry.people]))
        )
    console.print(table)
