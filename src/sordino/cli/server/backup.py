# SPDX-License-Identifier: Apache-2.0
"""`sordino backup` and `sordino restore`: a server in two folders, and back."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.options import CATALOG, AsJson, CatalogFile, option, takes_records
from sordino.cli.server.line import State, state_of
from sordino.cli.usage import refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where a server is and where the keys of its backup are, as it was typed."""

    catalog: CatalogFile = CATALOG
    state: State = None
    keys: Path | None = option(
        "The folder of the keys; beside the other one, with -keys, without it.", default=None
    )
    as_json: AsJson = False

    @property
    def place(self) -> Path:
        """The state folder of the server."""
        return state_of(self.catalog, self.state)


@takes_records
def backup(
    folder: Annotated[
        Path, typer.Argument(help="A new folder for the copies.", show_default=False)
    ],
    *,
    where: Folders,
) -> None:
    """Copy what a server keeps, while it runs."""
    with refusals(as_json=where.as_json):
        from sordino.keeper.backups import back_up  # loads what help does not need

        made = back_up(where.catalog, where.place, folder, keys_of(folder, where.keys))
        if where.as_json:
            typer.echo(json.dumps(made.as_json(), indent=2))
            return
        typer.echo(f"copied into {made.folder}; its ledger verifies")
        typer.echo(f"the keys are in {made.keys}: keep them elsewhere than the copies")
        for head in made.heads.values():
            typer.echo(f"newest entry  {head}")


@takes_records
def restore(
    folder: Annotated[Path, typer.Argument(help="The folder of a backup.", show_default=False)],
    *,
    where: Folders,
) -> None:
    """Put a backup back, after all of it was checked."""
    with refusals(as_json=where.as_json):
        from sordino.keeper.backups import restore as put_back  # as above

        made, ledger = put_back(folder, keys_of(folder, where.keys), where.catalog, where.place)
        if where.as_json:
            told = {**made.as_json(), "ledger": str(ledger), "state": str(where.place)}
            typer.echo(json.dumps(told, indent=2))
            return
        typer.echo(f"put back as of {made.made}: {ledger} and {where.place}")
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
