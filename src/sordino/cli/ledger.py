# SPDX-License-Identifier: Apache-2.0
"""The commands for the ledger: `sordino budget`, `history`, `log` and `ledger`."""

import json
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from csv import writer as csv_writer
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from sordino.cli.options import CATALOG, OWNER, AsJson, CatalogFile, ServerName, whole
from sordino.cli.remote import budget_there, check_alone, history_there
from sordino.cli.usage import Commands, refusals

if TYPE_CHECKING:
    from sordino.ledger.ledger import Ledger

ledger = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None)
_ENTRIES_BETWEEN_STEPS = 500  # of the bar


def budget(
    *,
    catalog: CatalogFile = CATALOG,
    server: ServerName = None,
    who: Annotated[str, typer.Option(help="For whom to say what is left.")] = OWNER,
    as_json: AsJson = False,
) -> None:
    """Show what is left, in all and for each analyst."""
    with refusals(as_json=as_json):
        from sordino.catalog.toml import read_catalog  # this and the following load rich
        from sordino.cli.show import note_stranger, show_budget
        from sordino.cli.terminal import console_for
        from sordino.ledger.history import standing
        from sordino.session.opening import ledger_of, refusal_of
        from sordino.session.service import budget_to_json, check_who

        if server is not None:
            check_alone(catalog=catalog, who=who)
            budget_there(server, as_json=as_json)
            return
        declared = read_catalog(catalog)
        with ledger_of(declared) as book:
            standings = standing(book, who=check_who(who))
        warning = refusal_of(declared)
        if as_json:
            typer.echo(json.dumps(budget_to_json(standings, who, warning=warning), indent=2))
        else:
            note_stranger(declared, who)
            show_budget(console_for(), standings, who, warning)


def history(
    *,
    catalog: CatalogFile = CATALOG,
    server: ServerName = None,
    who: Annotated[str | None, typer.Option(help="Only entries about this analyst.")] = None,
    people: Annotated[str | None, typer.Option(help="Only entries of this id space.")] = None,
    last: Annotated[
        int,
        typer.Option(
            help="How many entries of each id space, the newest.",
            parser=whole(least=1),
            metavar="<int>",
        ),
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the newest entries of the ledger, the last one last."""
    with refusals(as_json=as_json):
        from sordino.catalog.toml import read_catalog  # this and the following load rich
        from sordino.cli.show import show_entries
        from sordino.cli.terminal import console_for
        from sordino.ledger.history import currencies, entries
        from sordino.session.opening import ledger_of
        from sordino.session.service import history_to_json

        if server is not None:
            check_alone(catalog=catalog, who=who)
            history_there(server, people=people, last=last, as_json=as_json)
            return
        with ledger_of(read_catalog(catalog)) as book:
            spaces = sorted({*currencies(book), *book.terms})
            if people is not None and people not in spaces:
                raise ValueError(f"there is no id space {people!r}; there are {', '.join(spaces)}")
            newest = list(entries(book, people=people, who=who, last=last))
            if as_json:
                typer.echo(json.dumps(history_to_json(book, newest), indent=2))
                return
            filters = [f"for {who!r}"] if who else []
            filters += [f"of {people!r}"] if people else []
            show_entries(console_for(), book, newest, " ".join(filters))


def log(
    *,
    catalog: CatalogFile = CATALOG,
    last: Annotated[
        int,
        typer.Option(help="How many lines, the newest.", parser=whole(least=1), metavar="<int>"),
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the owner's log: why questions failed after their charge."""
    with refusals(as_json=as_json):
        from sordino.catalog.toml import read_catalog  # this and the following load rich
        from sordino.cli.show import show_log
        from sordino.cli.terminal import console_for
        from sordino.session.owner_log import check_log

        declared = read_catalog(catalog)
        path = check_log(declared, declared.book)
        if path is None:
            raise ValueError("this catalog keeps no log; state a file under [log] to have one")
        lines = _newest_lines(path, last)
        if as_json:
            typer.echo(json.dumps(lines, indent=2))
        else:
            show_log(console_for(), lines)


def _newest_lines(path: Path, last: int) -> list[dict[str, Any]]:
    """Return the newest lines, those that were put aside first."""
    from sordino.session.owner_log import OLDER  # as above

    newest: deque[bytes] = deque(maxlen=last)
    there = False
    for part in (path.with_name(path.name + OLDER), path):
        try:
            with part.open("rb") as file:
                newest.extend(file)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ValueError(f"the log {str(part)!r} cannot be read: {error.strerror}") from None
        there = True
    if not there:
        raise ValueError(f"there is no log {str(path)!r} yet; the first session makes it")
    return [_read(line) for line in newest]


def _read(line: bytes) -> dict[str, Any]:
    """Return what a line tells; one that was cut short is shown as it is."""
    text = line.decode("utf-8", "replace").rstrip("\n")
    try:
        record = json.loads(text)
    except ValueError:
        record = None
    return record if isinstance(record, dict) else {"what": text}


@ledger.callback()
def about() -> None:
    """Verify, export or amend the ledger."""


@ledger.command()
def verify(
    *,
    catalog: CatalogFile = CATALOG,
    anchor: Annotated[
        list[Path] | None,
        typer.Option(help="Another anchor file to hold the ledger to; may be repeated."),
    ] = None,
    receipt: Annotated[
        list[str] | None,
        typer.Option(help="A receipt to hold the ledger to; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every hash, sum and answer; leave with 4 if one is wrong."""
    with refusals(as_json=as_json):
        from sordino.catalog.toml import read_catalog  # this and the following load rich
        from sordino.cli.show import show_verified
        from sordino.cli.terminal import console_for
        from sordino.ledger.chain import Anchor
        from sordino.ledger.entry import read_seen
        from sordino.ledger.stores.sqlite.store import SqliteStore
        from sordino.ledger.verify import verify as verify_all
        from sordino.session.opening import check_there, ledger_of
        from sordino.session.progress import watched
        from sordino.session.service import verified_to_json

        declared = read_catalog(catalog)
        seen = [read_seen(text) for text in receipt or ()]
        book = check_there(declared)
        for path in anchor or ():
            if not path.is_file():
                raise ValueError(f"there is no anchor {str(path)!r}; name a file that is one")
        own = [] if book.anchor is None else [book.anchor]
        with ledger_of(declared) as opened, watched("verifying") as bar:
            for path in (*own, *(anchor or ())):
                seen += Anchor(path).all().values()
            for head in seen:
                opened.hold_to(head)
            if isinstance(opened.store, SqliteStore):
                opened.store.check()

            def show(done: int, total: int) -> None:
                if bar is not None and (done % _ENTRIES_BETWEEN_STEPS == 0 or done == total):
                    bar(done / total)

            verified = verify_all(opened, progress=show)
        if as_json:
            typer.echo(json.dumps([verified_to_json(one) for one in verified], indent=2))
        else:
            show_verified(console_for(), verified, len(seen))


@ledger.command()
def export(
    *,
    catalog: CatalogFile = CATALOG,
    output: Annotated[
        Path | None, typer.Option(help="A new file to write; standard output without it.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="jsonl: a line of JSON for each entry; or csv.")
    ] = "jsonl",
    answers: Annotated[
        bool, typer.Option("--answers", help="With the answers that were given.")
    ] = False,
) -> None:
    """Write all entries, in a stable order."""
    with refusals():
        from sordino.catalog.toml import read_catalog  # this and the following load numpy
        from sordino.session.opening import check_there, ledger_of

        if form not in ("jsonl", "csv"):
            raise ValueError(f"--format must be jsonl or csv, got {form!r}")
        if answers and form == "csv":
            raise ValueError("--answers are written as JSON lines only; leave out --format csv")
        declared = read_catalog(catalog)
        check_there(declared)
        with ledger_of(declared) as book, _opened(output) as file:
            count = _lines(book, file, answers=answers) if form == "jsonl" else _csv(book, file)
        if output is not None:
            typer.echo(f"wrote {count:,} entries to {output}", err=True)


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


def _lines(book: "Ledger", file: TextIO, *, answers: bool) -> int:
    """Write JSON lines; the first says what the first hash of each id space is made of."""
    from sordino.ledger.entry import write_currency  # as above
    from sordino.ledger.history import currencies, with_answers

    counted = {people: write_currency(kept) for people, kept in currencies(book).items()}
    about = {"ledger": book.store.identity, "keyed": book.store.keyed, "currencies": counted}
    file.write(json.dumps(about) + "\n")
    count = 0
    for entry, body in with_answers(book):
        record: dict[str, object] = entry._asdict()
        if answers and body is not None:
            record["answer"] = json.loads(body)
        file.write(json.dumps(record) + "\n")
        count += 1
    return count


def _csv(book: "Ledger", file: TextIO) -> int:
    from sordino.answer.frames import safe_cell  # as above
    from sordino.ledger.entry import FIELDS
    from sordino.ledger.history import with_answers

    writer = csv_writer(file, lineterminator="\n")
    writer.writerow(FIELDS)
    count = 0
    for entry, _ in with_answers(book):
        writer.writerow(map(safe_cell, entry))
        count += 1
    return count


@ledger.command()
def amend(
    *,
    catalog: CatalogFile = CATALOG,
    by: Annotated[str, typer.Option(help="Who changes the limits.")],
    why: Annotated[str, typer.Option(help="Why they are changed.")],
    as_json: AsJson = False,
) -> None:
    """Put the limits of the catalog on record."""
    with refusals(as_json=as_json):
        from sordino.catalog.toml import read_catalog  # this and the following load rich
        from sordino.cli.show import show_amended
        from sordino.cli.terminal import console_for
        from sordino.ledger.history import currencies
        from sordino.ledger.opening import open_ledger

        declared = read_catalog(catalog)
        book = open_ledger(declared, declared.book)
        try:
            made, counted = book.amend(by=by, why=why), currencies(book)
        finally:
            book.close()
        if as_json:
            typer.echo(json.dumps([entry._asdict() for entry in made], indent=2))
        else:
            show_amended(console_for(), made, counted)
