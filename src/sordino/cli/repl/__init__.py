# SPDX-License-Identifier: Apache-2.0
"""`sordino repl`: a prompt for SQL; what it takes, and in this folder what it does."""

from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from sordino.cli.options import (
    CATALOG,
    OWNER,
    CatalogFile,
    Price,
    Receipt,
    ServerName,
    Typed,
    Who,
    option,
    takes_records,
)
from sordino.cli.remote import check_alone
from sordino.cli.usage import refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices(Price):
    """What each answer may cost, until something else is typed."""

    epsilon: str | None = option("What each answer may cost; \\epsilon changes it.", default=None)


@takes_records
def repl(
    *,
    catalog: CatalogFile = CATALOG,
    server: ServerName = None,
    prices: Prices,
    who: Who = OWNER,
    receipt: Receipt = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Pay without being asked; needed if input is piped.")
    ] = False,
    no_history: Annotated[
        bool, typer.Option("--no-history", help="Neither read nor keep what was typed.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each answer as one line of JSON.")
    ] = False,
) -> None:
    """Open a prompt for SQL that shows prices first."""
    with refusals(as_json=as_json):
        from sordino.cli.repl.prompt import Manner, start  # rich and sqlglot are loaded only here

        typed = Typed(**asdict(prices))
        manner = Manner(yes=yes, no_history=no_history, as_json=as_json)
        if server is not None:
            from sordino.cli.repl.remote import start_there  # httpx is loaded only here

            check_alone(catalog=catalog, who=who, receipt=receipt)
            raise typer.Exit(start_there(server, typed, manner))
        raise typer.Exit(start(catalog, who, typed, receipt, manner))
