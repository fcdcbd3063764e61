# SPDX-License-Identifier: Apache-2.0
"""`sordino repl`: a prompt for SQL; what it takes, and in this folder what it does."""

from typing import Annotated

import typer

from sordino.cli.options import (
    CATALOG,
    OWNER,
    SURE,
    CatalogFile,
    Confidence,
    Delta,
    Receipt,
    Rho,
    ServerName,
    Typed,
    Who,
    Within,
)
from sordino.cli.remote import check_alone
from sordino.cli.usage import refusals


def repl(
    *,
    catalog: CatalogFile = CATALOG,
    server: ServerName = None,
    epsilon: Annotated[
        str | None, typer.Option(help="What each answer may cost; \\epsilon changes it.")
    ] = None,
    rho: Rho = None,
    within: Within = None,
    confidence: Confidence = SURE,
    delta: Delta = None,
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

        typed = Typed(epsilon=epsilon, rho=rho, within=within, confidence=confidence, delta=delta)
        manner = Manner(yes=yes, no_history=no_history, as_json=as_json)
        if server is not None:
            from sordino.cli.repl.remote import start_there  # httpx is loaded only here

            check_alone(catalog=catalog, who=who, receipt=receipt)
            raise typer.Exit(start_there(server, typed, manner))
        raise typer.Exit(start(catalog, who, typed, receipt, manner))
