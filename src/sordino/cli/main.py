# SPDX-License-Identifier: Apache-2.0
"""The `sordino` command: what it can do, and nothing of how."""

import os
import sys
from typing import Annotated

import typer

import sordino
from sordino.cli.account import account
from sordino.cli.ask import ask, explain
from sordino.cli.audit import audit
from sordino.cli.catalog import check, init
from sordino.cli.choose import choose
from sordino.cli.demo import demo
from sordino.cli.ledger import budget, history, ledger, log
from sordino.cli.local.commands import local
from sordino.cli.remote import login
from sordino.cli.repl import repl
from sordino.cli.server.backup import backup, restore
from sordino.cli.server.catalogs import catalog, journal
from sordino.cli.server.metrics import metrics
from sordino.cli.server.people import people, token
from sordino.cli.server.requests import request
from sordino.cli.server.serve import serve
from sordino.cli.usage import MEANINGS, Commands

# Plain help text: rich would double the time `sordino --help` takes.
app = typer.Typer(
    cls=Commands,
    add_completion=False,
    epilog=MEANINGS,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sordino {sordino.__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Answer questions about people without giving any one of them away."""


for command in (demo, init, check, explain, ask, repl, budget, history, log, login):
    app.command()(command)
app.add_typer(ledger, name="ledger")
app.add_typer(local, name="local")
for command in (serve, metrics, backup, restore):
    app.command()(command)
app.add_typer(people, name="people")
app.add_typer(token, name="token")
app.add_typer(request, name="request")
app.add_typer(catalog, name="catalog")
app.command()(journal)
for command in (account, choose, audit):
    app.command()(command)


def run() -> None:
    """Run the command line; the entry point of the installed script."""
    try:
        app()
    except OSError as error:
        # What could not be written is still waiting; without this, Python would try once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        what = "cannot write the output" if error.filename is None else str(error.filename)
        sys.exit(f"sordino: {what}: {error.strerror}")
