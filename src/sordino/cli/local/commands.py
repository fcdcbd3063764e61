# SPDX-License-Identifier: Apache-2.0
"""The commands for the local model: what they take, and how they fail: always in a sentence."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from sordino.cli.options import SURE, AsJson, Force, Plot, whole
from sordino.cli.usage import Commands, refusals

local = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None)

Epsilon: TypeAlias = Annotated[str, typer.Option(help="What one report may reveal.")]
Categories: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The public categories: 'yes,no,unsure', or how many if they are 0, 1, ..."),
]
CategoriesFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="A file with one category in each line, instead.")
]
Low: TypeAlias = Annotated[
    str | None, typer.Option(help="The lower end of the range, where numbers are reported.")
]
High: TypeAlias = Annotated[str | None, typer.Option(help="The upper end of the range.")]

_MOST_PEOPLE = 10**15
_MOST_CATEGORIES = 1_000_000
_TOO_LARGE = "a number is too large or too small to be computed with; take one of usual size"
_NO_MEMORY = "there is not enough memory for this; take fewer categories, or a smaller file"
_FOREIGN = "a file holds what cannot be read; write it again"


@contextmanager
def local_refusals(*, as_json: bool) -> Iterator[None]:
    """Show an error as one message on standard error; the words of libraries are not shown."""
    with refusals(as_json=as_json):
        try:
            yield
        except ArithmeticError:
            raise ValueError(_TOO_LARGE) from None
        except (MemoryError, RecursionError):
            raise ValueError(_NO_MEMORY) from None
        except Exception as error:
            if _is_from_arrow(error):  # its words may show a value
                raise ValueError(_FOREIGN) from None
            raise


def _is_from_arrow(error: Exception) -> bool:
    arrow = sys.modules.get("pyarrow")  # slow to load, and without it there is no such error
    return arrow is not None and isinstance(error, arrow.ArrowException)


@local.callback()
def about() -> None:
    """Randomize answers, and estimate from the reports alone."""


@local.command(
    epilog="\b\nExample:\n  sordino local encode people.csv --column answer \\\n"
    "    --categories yes,no,unsure --epsilon 1 --out reports.parquet"
)
def encode(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one person in each row.")],
    *,
    column: Annotated[str, typer.Option(help="The column that holds the true answers.")],
    epsilon: Epsilon,
    out: Annotated[Path, typer.Option(help="The file of reports to write (.parquet, .csv).")],
    categories: Categories = None,
    categories_file: CategoriesFile = None,
    low: Low = None,
    high: High = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="response, unary, hashing, hadamard or subset; one-bit or piecewise for numbers; "
            "or best, which takes the one of least error."
        ),
    ] = "best",
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out rows without an answer.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Turn a column of true answers into randomized reports."""
    with local_refusals(as_json=as_json):
        from sordino.cli.local import encode as command  # numpy, pyarrow and rich are loaded here
        from sordino.cli.local.protocols import ProtocolRequest

        asked = ProtocolRequest(categories, categories_file, low, high, epsilon, protocol)
        request = command.EncodeRequest(file, column, asked, out, skip_missing, force, as_json)
        command.encode(request)


@local.command(
    epilog="\b\nExample:\n  sordino local estimate north.parquet south.parquet --confidence 0.99"
)
def estimate(
    files: Annotated[
        list[Path], typer.Argument(help="Files of reports that `sordino local encode` wrote.")
    ],
    *,
    confidence: Annotated[str, typer.Option(help="How sure intervals are to be.")] = SURE,
    together: Annotated[
        bool, typer.Option("--together", help="Let all intervals hold at once, not each alone.")
    ] = False,
    project: Annotated[
        bool,
        typer.Option("--project", help="Move frequencies to the nearest that add up to 100 %."),
    ] = False,
    most_categories: Annotated[
        int,
        typer.Option(
            help="How many categories a file may have that it counts and does not list.",
            parser=whole(least=2),
            metavar="<int>",
        ),
    ] = _MOST_CATEGORIES,
    plot: Plot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Estimate from files of reports how frequent each category is."""
    with local_refusals(as_json=as_json):
        from sordino.cli.local import estimate as command  # numpy, pyarrow and rich, only here

        command.estimate(
            command.EstimateRequest(
                tuple(files), confidence, together, project, most_categories, plot, force, as_json
            )
        )


@local.command(
    epilog="\b\nExample:\n  sordino local best --categories 1000 --epsilon 1 --people 100000"
)
def best(
    *,
    epsilon: Epsilon,
    categories: Categories = None,
    categories_file: CategoriesFile = None,
    low: Low = None,
    high: High = None,
    people: Annotated[
        int,
        typer.Option(
            help="How many people report.",
            parser=whole(least=1, most=_MOST_PEOPLE),
            metavar="<int>",
        ),
    ] = 10_000,
    plot: Plot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compare the protocols before anything is collected."""
    with local_refusals(as_json=as_json):
        from sordino.cli.local import best as command  # numpy and rich are loaded only here
        from sordino.cli.local.protocols import ProtocolRequest

        asked = ProtocolRequest(categories, categories_file, low, high, epsilon, "best")
        command.best(asked, people=people, plot=plot, force=force, as_json=as_json)
