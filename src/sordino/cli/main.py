# SPDX-License-Identifier: Apache-2.0
"""The `sordino` command: what it can do, and nothing of how."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

import sordino
from sordino.errors import SordinoError

# Plain help text: rich would double the time `sordino --help` takes.
app = typer.Typer(
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@contextmanager
def _refusals() -> Iterator[None]:
    """Show what is wrong with a request as one message, and leave with 2."""
    try:
        yield
    except (SordinoError, ValueError, TypeError) as error:
        typer.echo(f"sordino: {error}", err=True)
        raise typer.Exit(2) from None


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
def demo(
    folder: Annotated[
        Path, typer.Argument(help="Where to write the invented tables and the picture.")
    ] = Path("sordino-demo"),
) -> None:
    """Invent a hospital and ask it a few questions in SQL."""
    from sordino.cli.demo_page import show  # rich and numpy are loaded only here

    show(folder)


@app.command()
def init(
    files: Annotated[
        list[Path], typer.Argument(help="Parquet, CSV or DuckDB files, one table each.")
    ],
    *,
    unit: Annotated[
        str | None,
        typer.Option(help="The column that says whose row it is, or 'row' for rows by themselves."),
    ] = None,
    output: Annotated[Path, typer.Option(help="The file to write.")] = Path("sordino.toml"),
    bounds: Annotated[
        list[str] | None,
        typer.Option(help="Public bounds that you know, such as age=0:120; may be repeated."),
    ] = None,
    declare_public: Annotated[
        list[str] | None,
        typer.Option(
            help="A column whose values you declare public: its bounds or keys are read from the "
            "data; may be repeated."
        ),
    ] = None,
    guess_types: Annotated[
        bool, typer.Option("--guess-types", help="Let the types of a CSV file be guessed from it.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
) -> None:
    """Write a draft of sordino.toml from the names and types of columns."""
    from sordino.cli.catalog import init as write  # rich and pyarrow are loaded only here

    with _refusals():
        write(
            files,
            unit=unit,
            output=output,
            declare_public=declare_public or (),
            bounds=bounds or (),
            guess_types=guess_types,
            force=force,
        )


@app.command()
def check(
    catalog: Annotated[Path, typer.Argument(help="The catalog to look at.")] = Path("sordino.toml"),
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say what is wrong or missing in a catalog."""
    from sordino.cli.catalog import check as look  # rich and pyarrow are loaded only here

    with _refusals():
        look(catalog, as_json=as_json)


@app.command()
def explain(
    sql: Annotated[str, typer.Argument(help="The question.")],
    *,
    catalog: Annotated[Path, typer.Option(help="What is declared.")] = Path("sordino.toml"),
    epsilon: Annotated[str | None, typer.Option(help="What the answer may cost.")] = None,
    rho: Annotated[str | None, typer.Option(help="The same, where the budget counts rho.")] = None,
    within: Annotated[
        str | None, typer.Option(help="How far off the answer may be, instead of what it costs.")
    ] = None,
    confidence: Annotated[str, typer.Option(help="How sure error bars are to be.")] = "0.95",
    delta: Annotated[
        str | None, typer.Option(help="What discovering keys may cost besides.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="How many rows of one unit count.")] = None,
    groups: Annotated[int | None, typer.Option(help="How many groups of one unit count.")] = None,
    diagnostics: Annotated[
        bool, typer.Option("--diagnostics", help="Spend a tenth on saying how much is cut off.")
    ] = False,
    expected_rows: Annotated[
        str | None, typer.Option(help="A public guess at the rows of a group, for error bars.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw the plan into this file (.svg, .dot).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say what an answer would cost and how far off it would be."""
    from sordino.cli.explain import Request  # rich and sqlglot are loaded only here
    from sordino.cli.explain import explain as show

    with _refusals():
        show(
            Request(
                sql=sql,
                catalog=catalog,
                epsilon=epsilon,
                rho=rho,
                within=within,
                confidence=confidence,
                delta=delta,
                rows=rows,
                groups=groups,
                diagnostics=diagnostics,
                expected_rows=expected_rows,
                picture=picture,
                as_json=as_json,
            )
        )


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

    with _refusals():
        show(losses, delta=delta, as_json=as_json, plot=plot)


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
    with _refusals():
        command.choose(request)


def run() -> None:
    """Run the command line; the entry point of the installed script."""
    try:
        app()
    except OSError as error:
        # What could not be written is still waiting; without this, Python would try once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        what = "cannot write the output" if error.filename is None else str(error.filename)
        sys.exit(f"sordino: {what}: {error.strerror}")
