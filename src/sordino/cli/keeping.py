# SPDX-License-Identifier: Apache-2.0
"""The commands for the ledger, `budget`, `history` and `ledger`: what they take."""

from pathlib import Path
from typing import Annotated

import typer

from sordino.cli import options
from sordino.cli.exits import refusals
from sordino.cli.options import CATALOG, OWNER
from sordino.cli.usage import Commands
from sordino.cli.wholes import whole

ledger = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None)


def budget(
    *,
    catalog: options.CatalogFile = CATALOG,
    who: Annotated[str, typer.Option(help="For whom to say what is left.")] = OWNER,
    as_json: options.AsJson = False,
) -> None:
    """Show what is left, in all and for each analyst."""
    with refusals(as_json=as_json):
        from sordino.cli.budget import budget as show  # rich is loaded only here

        show(catalog, who=who, as_json=as_json)


def history(
    *,
    catalog: options.CatalogFile = CATALOG,
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
    as_json: options.AsJson = False,
) -> None:
    """Show the newest entries of the ledger, the last one last."""
    with refusals(as_json=as_json):
        from sordino.cli.history import history as show  # rich is loaded only here

        show(catalog, who=who, people=people, last=last, as_json=as_json)


def log(
    *,
    catalog: options.CatalogFile = CATALOG,
    last: Annotated[
        int,
        typer.Option(
            help="How many lines, the newest.",
            parser=whole(least=1),
            metavar="<int>",
        ),
    ] = 20,
    as_json: options.AsJson = False,
) -> None:
    """Show the owner's log: why questions failed after their charge."""
    with refusals(as_json=as_json):
        from sordino.cli.log import log as show  # rich is loaded only here

        show(catalog, last=last, as_json=as_json)


@ledger.callback()
def about() -> None:
    """Verify, export or amend the ledger."""


@ledger.command()
def verify(
    *,
    catalog: options.CatalogFile = CATALOG,
    anchor: Annotated[
        list[Path] | None,
        typer.Option(help="Another anchor file to hold the ledger to; may be repeated."),
    ] = None,
    receipt: Annotated[
        list[str] | None,
        typer.Option(help="A receipt to hold the ledger to; may be repeated."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Check every hash, sum and answer; leave with 4 if one is wrong."""
    with refusals(as_json=as_json):
        from sordino.cli.ledger import verify as check  # rich is loaded only here

        check(catalog, anchors=anchor or (), receipts=receipt or (), as_json=as_json)


@ledger.command()
def export(
    *,
    catalog: options.CatalogFile = CATALOG,
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
        from sordino.cli.ledger import export as write  # rich is loaded only here

        write(catalog, output=output, form=form, answers=answers)


@ledger.command()
def amend(
    *,
    catalog: options.CatalogFile = CATALOG,
    by: Annotated[str, typer.Option(help="Who changes the limits.")],
    why: Annotated[str, typer.Option(help="Why they are changed.")],
    as_json: options.AsJson = False,
) -> None:
    """Put the limits of the catalog on record."""
    with refusals(as_json=as_json):
        from sordino.cli.ledger import amend as write  # rich is loaded only here

        write(catalog, by=by, why=why, as_json=as_json)
