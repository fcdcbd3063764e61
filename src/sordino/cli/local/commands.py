# SPDX-License-Identifier: Apache-2.0
"""The commands for the local model: what they take, and how they fail: always in a sentence."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from sordino.cli.options import SURE, AsJson, Force, Plot, argument, count, option, takes_records
from sordino.cli.usage import Commands, refusals

local = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None)

_MOST_PEOPLE = 10**15
_MOST_CATEGORIES = 1_000_000
_TOO_LARGE = "a number is too large or too small to be computed with; take one of usual size"
_NO_MEMORY = "there is not enough memory for this; take fewer categories, or a smaller file"
_FOREIGN = "a file holds what cannot be read; write it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What people may answer, and what one report may reveal, as it was typed."""

    epsilon: str = option("What one report may reveal.")
    categories: str | None = option(
        "The public categories: 'yes,no,unsure', or how many if they are 0, 1, ...", default=None
    )
    categories_file: Path | None = option(
        "A file with one category in each line, instead.", default=None
    )
    low: str | None = option(
        "The lower end of the range, where numbers are reported.", default=None
    )
    high: str | None = option("The upper end of the range.", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeRequest:
    """What is encoded, and where to."""

    file: Path = argument("A CSV or Parquet file, one person in each row.")
    column: str = option("The column that holds the true answers.")
    out: Path = option("The file of reports to write (.parquet, .csv).")
    protocol: str = option(
        "response, unary, hashing, hadamard or subset; one-bit or piecewise for numbers; "
        "or best, which takes the one of least error.",
        default="best",
    )
    skip_missing: bool = option(
        "Leave out rows without an answer.", "--skip-missing", default=False
    )
    force: Force = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateRequest:
    """Which reports are counted, and what is told of them."""

    files: list[Path] = argument("Files of reports that `sordino local encode` wrote.")
    confidence: str = option("How sure intervals are to be.", default=SURE)
    together: bool = option(
        "Let all intervals hold at once, not each alone.", "--together", default=False
    )
    project: bool = option(
        "Move frequencies to the nearest that add up to 100 %.", "--project", default=False
    )
    most_categories: int = count(
        "How many categories a file may have that it counts and does not list.",
        default=_MOST_CATEGORIES,
        least=2,
    )
    plot: Plot = None
    force: Force = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BestRequest:
    """For how many people protocols are compared, and what is told of them."""

    people: int = count("How many people report.", default=10_000, least=1, most=_MOST_PEOPLE)
    plot: Plot = None
    force: Force = False
    as_json: AsJson = False


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
@takes_records
def encode(answers: Answers, request: EncodeRequest) -> None:
    """Turn a column of true answers into randomized reports."""
    with local_refusals(as_json=request.as_json):
        from sordino.cli.local import encode as command  # numpy, pyarrow and rich are loaded here

        command.encode(answers, request)


@local.command(
    epilog="\b\nExample:\n  sordino local estimate north.parquet south.parquet --confidence 0.99"
)
@takes_records
def estimate(request: EstimateRequest) -> None:
    """Estimate from files of reports how frequent each category is."""
    with local_refusals(as_json=request.as_json):
        from sordino.cli.local import estimate as command  # numpy, pyarrow and rich, only here

        command.estimate(request)


@local.command(
    epilog="\b\nExample:\n  sordino local best --categories 1000 --epsilon 1 --people 100000"
)
@takes_records
def best(answers: Answers, request: BestRequest) -> None:
    """Compare the protocols before anything is collected."""
    with local_refusals(as_json=request.as_json):
        from sordino.cli.local import best as command  # numpy and rich are loaded only here

        command.best(answers, request)
