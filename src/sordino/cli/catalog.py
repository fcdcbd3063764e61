# SPDX-License-Identifier: Apache-2.0
"""`sordino init` and `sordino check`: from files to a catalog that holds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sordino.cli.options import CATALOG, AsJson, Force, argument, option, takes_records
from sordino.cli.usage import refusals
from sordino.errors import CatalogError

if TYPE_CHECKING:
    from rich.console import Console

    from sordino.catalog.doctor import Finding
    from sordino.catalog.model import Book, Catalog
    from sordino.engine.inspection import Inspection

_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """What a catalog is drafted from, and what its owner states already."""

    files: list[str] = argument(
        "Parquet, CSV or DuckDB files, one table each, or postgresql://host/name."
    )
    unit: list[str] | None = option(
        "The column that says whose row it is, or 'row' for rows by themselves.", default=None
    )
    output: Path = option("The file to write.", default=CATALOG)
    bounds: list[str] | None = option(
        "Public bounds that you know, such as age=0:120; may be repeated.", default=None
    )
    declare_public: list[str] | None = option(
        "A column whose values you declare public: its bounds or keys are read from the data; may "
        "be repeated.",
        default=None,
    )
    guess_types: bool = option(
        "Let the types of a CSV file be guessed from it.", "--guess-types", default=False
    )
    encoding: str | None = option(
        "The encoding of CSV files, such as cp1252; utf-8 without it.", default=None
    )
    nulls: list[str] | None = option(
        "A word that means a missing value in CSV files, such as 'k. A.'; may be repeated.",
        default=None,
    )
    date_format: str | None = option(
        "How days are written in CSV files, such as %d/%m/%Y.", default=None
    )
    force: Force = False
    as_json: AsJson = False


@takes_records
def init(request: DraftRequest) -> None:
    """Draft a sordino.toml from the names and types of columns."""
    with refusals(as_json=request.as_json):
        write_draft(request)


def write_draft(request: DraftRequest) -> None:
    """Write a draft of a catalog, and say what to do next; raises CatalogError."""
    from rich.markup import escape  # this and the following load rich and pyarrow

    from sordino.catalog.draft import draft
    from sordino.cli.terminal import console_for
    from sordino.engine.reading import READER
    from sordino.plan.words import several

    output, units = request.output, request.unit or []
    if len(units) > 1:
        raise ValueError(
            "--unit names one column, for all files that have it; to name another one for some "
            "of them, leave --unit out and replace TODO in the draft"
        )
    if not output.parent.is_dir():
        raise CatalogError(
            f"there is no folder {str(output.parent)!r} to write {output.name!r} to; make it first"
        )
    if output.exists() and not request.force:
        raise CatalogError(f"{str(output)!r} is there already; add --force to write over it")
    stated: dict[str, object] = {"encoding": request.encoding, "date_format": request.date_format}
    csv = {name: value for name, value in stated.items() if value is not None}
    if request.nulls:
        csv["nulls"] = ("", *request.nulls)
    remarks: list[str] = []
    text = draft(
        request.files,
        unit=units[0] if units else None,
        declare_public=request.declare_public or (),
        bounds=dict(_ends(entry) for entry in request.bounds or ()),
        guess_types=request.guess_types,
        csv=csv,
        folder=output.parent,
        reader=READER,
        tell=remarks.append,
    )
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        said = (error.strerror or "").lower()
        raise CatalogError(
            f"{str(output)!r} cannot be written: {said}; name another file, by --output"
        ) from None
    todo = sum("# TODO" in line or "; TODO" in line for line in text.splitlines())
    if request.as_json:
        told = {"wrote": str(output), "todo": todo, "remarks": remarks}
        typer.echo(json.dumps(told, indent=2))
        return
    console = console_for()
    console.print(f"wrote [bold]{escape(str(output))}[/]")
    for remark in remarks:
        console.print(f"note: {escape(remark)}")
    if todo:
        console.print(f"next: go through its {several(todo, 'line')} marked TODO")
    console.print("then: sordino check" + ("" if output.name == "sordino.toml" else f" {output}"))


def check(
    catalog: Annotated[
        Path | None, typer.Argument(help="The catalog to look at; sordino.toml without it.")
    ] = None,
    *,
    named: Annotated[
        Path | None, typer.Option("--catalog", help="The same, as other commands take it.")
    ] = None,
    read: Annotated[
        bool,
        typer.Option("--read", help="Read all rows too; what is told of them is private."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong or missing in a catalog."""
    with refusals(as_json=as_json):
        if catalog is not None and named is not None:
            raise ValueError("name one catalog to look at, with --catalog or without")
        check_catalog(catalog or named or CATALOG, read=read, as_json=as_json)


def check_catalog(path: Path = CATALOG, *, read: bool = False, as_json: bool = False) -> None:
    """Print what is wrong or doubtful about a catalog; leave with 1 if there is an error.

    A ledger that would answer no question is one. With ``read`` all rows are read too, and what is
    odd about them is told. Raises CatalogError if there is no such file.
    """
    catalog, found = _findings(path)
    seen: Inspection | None = None
    if catalog is not None and not _is_wrong(found):
        try:
            if read:
                seen = _inspected(catalog)
            else:
                _open(catalog)
        except CatalogError as error:
            found.append(_mistake(path, str(error)))
    wrong = _is_wrong([*found, *(seen.findings if seen else ())])
    if as_json:
        told: object = [finding.as_json() for finding in found]
        if read:
            from sordino.engine.inspection import Inspection  # only where rows are read

            told = {"findings": told, "private": (seen or Inspection(())).as_json()}
        typer.echo(json.dumps(told, indent=2))
    else:
        _show(path, found)
        if read:
            _show_rows(seen)
        elif not wrong:
            named = "" if path.name == str(path) == "sordino.toml" else f" {path}"
            typer.echo(
                f"to see how its rows are read, which is for the owner: sordino check{named} --read"
            )
    if wrong:
        raise typer.Exit(1)


def _findings(path: Path) -> tuple[Catalog | None, list[Finding]]:
    """Return the catalog if there is nothing wrong with what is declared, and what there is."""
    from sordino.catalog.doctor import check, sources_of  # this and the following load pyarrow
    from sordino.catalog.toml import read_all
    from sordino.engine.reading import READER

    try:
        reading = read_all(path)
    except CatalogError as error:
        if not path.exists():
            raise
        return None, [_mistake(path, str(error))]
    if reading.catalog is None:
        wrong = [_mistake(path, mistake) for mistake in reading.mistakes]
        return None, [*wrong, *sources_of(reading.tables, READER)]
    return reading.catalog, [*_ledger(reading.catalog), *check(reading.catalog, READER)]


def _mistake(path: Path, said: str) -> Finding:
    from sordino.catalog.doctor import mistake  # as above

    return mistake(str(path), said, f"correct that in {path.name}")


def _open(catalog: Catalog) -> None:
    """Open the sources as a question does, which reads no rows and refuses what cannot be asked."""
    from sordino.engine.opening import open_engine  # the engine takes a while to load

    open_engine(catalog).close()


def _is_wrong(found: Iterable[Finding]) -> bool:
    from sordino.catalog.doctor import Severity  # as above

    return any(finding.severity is Severity.ERROR for finding in found)


def _inspected(catalog: Catalog) -> Inspection:
    """Read all rows, with a sign of life for whoever waits in a terminal."""
    from sordino.answer.render import printable  # this and the following load the engine
    from sordino.engine.inspection import inspect
    from sordino.session.progress import watched

    with watched("reading") as bar:

        def watch(name: str, rows: int) -> None:
            if bar is not None:
                bar.doing = f"reading {printable(name)}"
                bar(None, f"{rows:,} rows" if rows else "")

        return inspect(catalog, watch)


def _show_rows(seen: Inspection | None) -> None:
    from rich.markup import escape  # this and the following load rich

    from sordino.cli.terminal import console_for

    console = console_for()
    if seen is None:
        console.print("the rows were not read; correct the errors first")
        return
    from sordino.engine.inspection import PRIVATE  # as above

    console.print(f"\n[bold]{PRIVATE}[/]\n")
    for table in seen.tables:
        console.print(escape(str(table)))
    _show_findings(console, seen.findings)


def _ledger(catalog: Catalog) -> list[Finding]:
    from sordino.catalog.doctor import Finding, Severity  # this and the following load pyarrow
    from sordino.session.opening import refusal_of

    said = refusal_of(catalog)
    hint = "until then no question is answered"
    found = [Finding(Severity.ERROR, "the ledger", said, hint)] if said else []
    odd = _unwritten(catalog.book)
    return [*found, *(Finding(Severity.ERROR, "the ledger", *words) for words in odd)]


def _unwritten(book: Book | None) -> Iterator[tuple[str, str]]:
    """Say of the files that a question writes which cannot be written, and what to do."""
    files = () if book is None else (("ledger", book.place), ("anchor", book.anchor))
    for what, file in files:
        if not isinstance(file, Path):
            continue
        if not file.parent.is_dir():
            said = f"there is no folder {str(file.parent)!r} for the {what}"
            yield said, f"make the folder, or state another {what} in [ledger]"
        elif not os.access(file if file.exists() else file.parent, os.W_OK):
            yield (
                f"the {what} {str(file)!r} cannot be written by who runs this",
                "let whoever asks questions write the file and its folder",
            )


def _ends(entry: str) -> tuple[str, tuple[str, str]]:
    name, equals, ends = entry.rpartition("=")
    low, colon, high = ends.partition(":")
    if not (name and equals and colon):
        raise CatalogError(f"--bounds must be written as column=low:high, got {entry!r}")
    return name, (low.strip(), high.strip())


def _show(path: Path, found: list[Finding]) -> None:
    from rich.markup import escape  # this and the following load rich

    from sordino.catalog.doctor import Severity
    from sordino.cli.terminal import console_for

    console = console_for()
    _show_findings(console, found)
    many = {kind: sum(finding.severity is kind for finding in found) for kind in Severity}
    said = ", ".join(f"{many[kind]} {kind}{'s' * (many[kind] != 1)}" for kind in Severity)
    verdict = "cannot be used yet" if many[Severity.ERROR] else "can be used"
    console.print(f"{escape(str(path))} {verdict}: {said}")


def _show_findings(console: Console, found: Sequence[Finding]) -> None:
    from rich.markup import escape  # this and the following load rich
    from rich.table import Table

    if not found:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "where", "what", "what to do"):
        table.add_column(heading, overflow="fold")
    for finding in found:
        words = (finding.severity, finding.where, finding.message, finding.hint)
        table.add_row(*map(escape, words), style=_STYLES[finding.severity])
    console.print(table)
