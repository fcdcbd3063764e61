# SPDX-License-Identifier: Apache-2.0
"""`sordino backup` and `sordino restore`: a server in two folders, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.options import CATALOG, AsJson, CatalogFile
from sordino.cli.server.line import State, state_of
from sordino.cli.usage import refusals

Keys = Annotated[
    Path | None,
    typer.Option(help="The folder of the keys; beside the other one, with -keys, without it."),
]


def backup(
    folder: Annotated[
        Path, typer.Argument(help="A new folder for the copies.", show_default=False)
    ],
    *,
    catalog: CatalogFile = CATALOG,
    state: State = None,
    keys: Keys = None,
    as_json: AsJson = False,
) -> None:
    """Copy what a server keeps, while it runs."""
    with refusals(as_json=as_json):
        from sordino.keeper.backups import back_up  # loads what help does not need

        made = back_up(catalog, state_of(catalog, state), folder, keys_of(folder, keys))
        if as_json:
            typer.echo(json.dumps(made.as_json(), indent=2))
            return
        typer.echo(f"copied into {made.folder}; its ledger verifies")
        typer.echo(f"the keys are in {made.keys}: keep them elsewhere than the copies")
        for head in made.heads.values():
            typer.echo(f"newest entry  {head}")


def restore(
    folder: Annotated[Path, typer.Argument(help="The folder of a backup.", show_default=False)],
    *,
    catalog: CatalogFile = CATALOG,
    state: State = None,
    keys: Keys = None,
    as_json: AsJson = False,
) -> None:
    """Put a backup back, after all of it was checked."""
    with refusals(as_json=as_json):
        from sordino.keeper.backups import restore as put_back  # as above

        place = state_of(catalog, state)
        made, ledger = put_back(folder, keys_of(folder, keys), catalog, place)
        if as_json:
            told = {**made.as_json(), "ledger": str(ledger), "state": str(place)}
            typer.echo(json.dumps(told, indent=2))
            return
        typer.echo(f"put back as of {made.made}: {ledger} and {place}")
        typer.echo(
            "what was asked since then is missing from the ledger, and clients that saw it will "
            "say so; if anything was, lower the budget by it with 'sordino ledger amend'"
        )


def keys_of(folder: Path, keys: Path | None) -> Path:
    """Return the folder of the keys of a backup.

    >>> str(keys_of(Path("copies/monday"), None))
    'copies/monday-keys'
    """
    return folder.with_name(f"{folder.name}-keys") if keys is None else keys
