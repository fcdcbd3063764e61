# SPDX-License-Identifier: Apache-2.0
"""The `sordino` command: what it can do, and nothing of how."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import sordino

# Plain help text: rich would double the time `sordino --help` takes.
app = typer.Typer(
    add_completion=False,
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


@app.command()
def demo() -> None:
    """Show private answers about an invented hospital."""
    from sordino.cli.demo_page import show  # rich and numpy are loaded only here

    show()


@app.command()
def account(
    losses: Annotated[
        str,
        typer.Argument(
            help="A sum of losses, such as 'laplace(epsilon=0.1) * 50 + gaussian(sigma=20) * 200'."
        ),
    ],
    *,
    delta: Annotated[
        str, typer.Option(help="The delta that the total epsilon goes with.")
    ] = "1e-6",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the theorems into this file (.png, .svg, .pdf).")
    ] = None,
) -> None:
    """Tell what mechanisms cost together, theorem by theorem."""
    from sordino.cli.account import account as show  # rich and scipy are loaded only here

    try:
        show(losses, delta=delta, as_json=as_json, plot=plot)
    except (ValueError, TypeError) as error:
        typer.echo(f"sordino: {error}", err=True)
        raise typer.Exit(2) from None


@app.command()
def choose(
    file: Annotated[Path, typer.Argument(help="A CSV file of private rows, - for standard input.")],
    *,
    column: Annotated[str, typer.Option(help="The column that names a candidate.")],
    candidates: Annotated[
        str,
        typer.Option(
            help="The public candidates: 'a,b,c', or @file with one in each line. "
            "Rows that name anything else are ignored."
        ),
    ],
    epsilon: Annotated[str, typer.Option(help="The privacy to spend.")],
    neighbours: Annotated[
        str, typer.Option(help="What is hidden of a row: add_remove or replace_one.")
    ],
    scores: Annotated[
        str | None,
        typer.Option(
            help="A column that says how much a row adds, clamped to 0..sensitivity; an empty "
            "field counts 0. Without it each row counts 1."
        ),
    ] = None,
    sensitivity: Annotated[
        str | None, typer.Option(help="The most that one row may add; needed with --scores.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Choose the candidate that most rows name."""
    from sordino.cli import choose as command  # numpy is loaded only here

    request = command.Request(
        file, column, scores, candidates, epsilon, sensitivity, neighbours, as_json
    )
    try:
        command.choose(request)
    except (ValueError, TypeError) as error:
        typer.echo(f"sordino: {error}", err=True)
        raise typer.Exit(2) from None


def run() -> None:
    """Run the command line; the entry point of the installed script."""
    try:
        app()
    except OSError as error:
        # What could not be written is still waiting; without this, Python would try once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        what = "cannot write the output" if error.filename is None else str(error.filename)
        sys.exit(f"sordino: {what}: {error.strerror}")
