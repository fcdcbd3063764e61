# SPDX-License-Identifier: Apache-2.0
"""The `sordino` command: what it can do, and nothing of how."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import sordino
from sordino.cli.ask import ask, explain, repl
from sordino.cli.ledger import budget, history, ledger, log
from sordino.cli.local.commands import local
from sordino.cli.options import CATALOG, AsJson, whole
from sordino.cli.usage import MEANINGS, Commands, refusals

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


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Argument(help="Where to write the invented tables and the picture.")
    ] = Path("sordino-demo"),
    *,
    as_json: AsJson = False,
) -> None:
    """Invent a hospital and ask it a few questions in SQL."""
    with refusals(as_json=as_json):
        from sordino.cli.demo import show, show_json  # rich and numpy are loaded only here

        show_json(folder) if as_json else show(folder)


@app.command()
def init(
    files: Annotated[
        list[Path], typer.Argument(help="Parquet, CSV or DuckDB files, one table each.")
    ],
    *,
    unit: Annotated[
        list[str] | None,
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
    encoding: Annotated[
        str | None,
        typer.Option(help="The encoding of CSV files, such as cp1252; utf-8 without it."),
    ] = None,
    nulls: Annotated[
        list[str] | None,
        typer.Option(
            help="A word that means a missing value in CSV files, such as 'k. A.'; may be repeated."
        ),
    ] = None,
    date_format: Annotated[
        str | None,
        typer.Option(help="How days are written in CSV files, such as %d/%m/%Y."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draft a sordino.toml from the names and types of columns."""
    from sordino.cli.catalog import init as write  # rich and pyarrow are loaded only here

    with refusals(as_json=as_json):
        if unit is not None and len(unit) > 1:
            raise ValueError(
                "--unit names one column, for all files that have it; to name another one for some "
                "of them, leave --unit out and replace TODO in the draft"
            )
        write(
            files,
            unit=unit[0] if unit else None,
            output=output,
            declare_public=declare_public or (),
            bounds=bounds or (),
            guess_types=guess_types,
            encoding=encoding,
            nulls=nulls or (),
            date_format=date_format,
            force=force,
            as_json=as_json,
        )


@app.command()
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
    from sordino.cli.catalog import check as look  # rich and pyarrow are loaded only here

    with refusals(as_json=as_json):
        if catalog is not None and named is not None:
            raise ValueError("name one catalog to look at, with --catalog or without")
        look(catalog or named or CATALOG, read=read, as_json=as_json)


app.command()(explain)
app.command()(ask)
app.command()(repl)
app.command()(budget)
app.command()(history)
app.command()(log)
app.add_typer(ledger, name="ledger")
app.add_typer(local, name="local")


@app.command()
def account(
    losses: Annotated[
        str,
        typer.Argument(
            help="A sum of losses, such as 'laplace(epsilon=0.1) * 50 + gaussian(sigma=20) * 200' "
            "or 'shuffled(epsilon=1, people=10000)' for local reports without their senders."
        ),
    ],
    *,
    delta: Annotated[
        str, typer.Option(help="The delta that the total epsilon goes with.")
    ] = "1e-6",
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the theorems into this file (.png, .svg, .pdf).")
    ] = None,
) -> None:
    """Tell what mechanisms cost together, theorem by theorem."""
    from sordino.cli.account import account as show  # rich and scipy are loaded only here

    with refusals(as_json=as_json):
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
    as_json: AsJson = False,
) -> None:
    """Choose the candidate that most rows name."""
    from sordino.cli import choose as command  # numpy is loaded only here

    request = command.Request(
        file, column, scores, candidates, epsilon, sensitivity, neighbours, as_json
    )
    with refusals(as_json=as_json):
        command.choose(request)


@app.command()
def audit(
    mechanism: Annotated[
        str | None,
        typer.Argument(
            help="A function of the data, as module:function, looked for in this folder first. "
            "Without it, sordino audits itself."
        ),
    ] = None,
    *,
    epsilon: Annotated[str | None, typer.Option(help="The epsilon that is promised.")] = None,
    delta: Annotated[str | None, typer.Option(help="The delta that is promised, if any.")] = None,
    neighbours: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Two inputs that differ in one unit, written as in Python: 3 2."),
    ] = None,
    batch: Annotated[
        bool,
        typer.Option("--batch", help="The function takes the number of runs too."),
    ] = False,
    time: Annotated[
        bool, typer.Option("--time", help="Also look at how long each run takes.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(
            help="How often to run it in all, 1,000,000 if not told; sordino, fewer.",
            parser=whole(),
            metavar="<int>",
        ),
    ] = None,
    confidence: Annotated[str, typer.Option(help="How sure a violation is to be.")] = "0.999",
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it into this file (.png, .svg, .pdf).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write a page with pictures into this file (.html).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look for what a mechanism, or sordino, loses beyond its promise."""
    with refusals(as_json=as_json):
        from sordino.cli import audit as command  # numpy and rich are loaded only here

        request = command.AuditRequest(
            mechanism, epsilon, delta, neighbours, batch, time, runs, confidence, plot, report,
            as_json,
        )  # fmt: skip
        command.audit(request)


def run() -> None:
    """Run the command line; the entry point of the installed script."""
    try:
        app()
    except OSError as error:
        # What could not be written is still waiting; without this, Python would try once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        what = "cannot write the output" if error.filename is None else str(error.filename)
        sys.exit(f"sordino: {what}: {error.strerror}")
