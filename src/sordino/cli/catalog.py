# SPDX-License-Identifier: Apache-2.0
"""`sordino init` and `sordino check`: from files to a catalog that holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from sordino.cli.reading import refusal_of
from sordino.cli.shown import console_for
from sordino.engine.duckdb_files import READER
from sordino.errors import CatalogError
from sordino.query.catalog import Catalog
from sordino.query.doctor import Finding, Severity
from sordino.query.doctor import check as findings_of
from sordino.query.draft import draft
from sordino.query.toml import read_catalog

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}


def init(
    paths: Sequence[Path],
    *,
    unit: str | None = None,
    output: Path = Path("sordino.toml"),
    declare_public: Sequence[str] = (),
    bounds: Sequence[str] = (),
    guess_types: bool = False,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Write a draft of a catalog, and say what to do next; raises CatalogError."""
    if output.exists() and not force:
        raise CatalogError(f"{str(output)!r} is there already; add --force to write over it")
    text = draft(
        paths,
        unit=unit,
        declare_public=declare_public,
        bounds=dict(_ends(entry) for entry in bounds),
        guess_types=guess_types,
        folder=output.parent,
        reader=READER,
    )
    output.write_text(text, "utf-8")
    todo = sum("# TODO" in line or "; TODO" in line for line in text.splitlines())
    if as_json:
        typer.echo(json.dumps({"wrote": str(output), "todo": todo}, indent=2))
        return
    console = console_for()
    console.print(f"wrote [bold]{escape(str(output))}[/]")
    if todo:
        console.print(f"next: go through its {todo} lines marked TODO")
    console.print("then: sordino check" + ("" if output.name == "sordino.toml" else f" {output}"))


def check(path: Path = Path("sordino.toml"), *, as_json: bool = False) -> None:
    """Print what is wrong or doubtful about a catalog; leave with 1 if there is an error.

    A ledger that would answer no question is one. Raises CatalogError if there is no such file.
    """
    try:
        catalog = read_catalog(path)
        found = [*_ledger(catalog), *findings_of(catalog, READER)]
    except CatalogError as error:
        if not path.exists():
            raise
        found = [Finding(Severity.ERROR, str(path), str(error), "correct the file")]
    if as_json:
        typer.echo(json.dumps([finding.as_json() for finding in found], indent=2))
    else:
        _show(path, found)
    if any(finding.severity is Severity.ERROR for finding in found):
        raise typer.Exit(1)


def _ledger(catalog: Catalog) -> list[Finding]:
    said = refusal_of(catalog)
    hint = "until then no question is answered"
    return [Finding(Severity.ERROR, "the ledger", said, hint)] if said else []


def _ends(entry: str) -> tuple[str, tuple[str, str]]:
    name, equals, ends = entry.rpartition("=")
    low, colon, high = ends.partition(":")
    if not (name and equals and colon):
        raise CatalogError(f"--bounds must be written as column=low:high, got {entry!r}")
    return name, (low.strip(), high.strip())


def _show(path: Path, found: list[Finding]) -> None:
    console = console_for()
    if found:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("", "where", "what", "what to do"):
            table.add_column(heading, overflow="fold")
        for finding in found:
            words = (finding.severity, finding.where, finding.message, finding.hint)
            table.add_row(*map(escape, words), style=_STYLES[finding.severity])
        console.print(table)
    many = {kind: sum(finding.severity is kind for finding in found) for kind in Severity}
    said = ", ".join(f"{many[kind]} {kind}{'s' * (many[kind] != 1)}" for kind in Severity)
    verdict = "cannot be used yet" if many[Severity.ERROR] else "can be used"
    console.print(f"{escape(str(path))} {verdict}: {said}")
