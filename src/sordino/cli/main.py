# SPDX-License-Identifier: Apache-2.0
"""The `sordino` command: what it can do, and nothing of how."""

from typing import Annotated

import typer

import sordino

# Plain help text: rich would double the time `sordino --help` takes.
app = typer.Typer(
    add_completion=False,
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


@app.command()
def demo() -> None:
    """Show a few private answers about an invented hospital, with error bars and costs."""
    from sordino.cli.demo_page import show  # rich and numpy are loaded only here

    show()


def run() -> None:
    """Run the command line; the entry point of the installed script."""
    app()
