# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from sordino.cli.wholes import whole

AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON, for programs; errors are JSON too.")
]
CatalogFile: TypeAlias = Annotated[
    Path, typer.Option("--catalog", help="The file that declares the tables and the budget.")
]
Who: TypeAlias = Annotated[str, typer.Option(help="Who asks, and whose share is charged.")]
Sql: TypeAlias = Annotated[
    str, typer.Argument(help="The question in SQL, or - to read it from standard input.")
]
Epsilon: TypeAlias = Annotated[str | None, typer.Option(help="What the answer may cost.")]
Rho: TypeAlias = Annotated[str | None, typer.Option(help="The same, where the budget counts rho.")]
Within: TypeAlias = Annotated[
    str | None,
    typer.Option(help="How far off the answer may be, such as 50 or 5%, instead of what it costs."),
]
Confidence: TypeAlias = Annotated[str, typer.Option(help="How sure error bars are to be.")]
Delta: TypeAlias = Annotated[
    str | None, typer.Option(help="What discovering keys may cost besides.")
]
Rows: TypeAlias = Annotated[
    int | None,
    typer.Option(help="How many rows of one unit count.", parser=whole(), metavar="<int>"),
]
Groups: TypeAlias = Annotated[
    int | None,
    typer.Option(help="How many groups of one unit count.", parser=whole(), metavar="<int>"),
]
RowsPerGroup: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many rows of one unit count in each group.", parser=whole(), metavar="<int>"
    ),
]
ExpectedRows: TypeAlias = Annotated[
    str | None, typer.Option(help="A public guess at the rows of a group, for error bars.")
]
Diagnostics: TypeAlias = Annotated[
    bool, typer.Option("--diagnostics", help="Spend a tenth on saying how much is cut off.")
]
Receipt: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The receipt of an earlier answer; a ledger that lacks it is refused."),
]

CATALOG = Path("sordino.toml")
OWNER = "owner"
SURE = "0.95"
