# SPDX-License-Identifier: Apache-2.0
"""The commands for questions, `explain`, `ask` and `repl`: what they take, and nothing of how."""

from pathlib import Path
from typing import Annotated

import typer

from sordino.cli import options
from sordino.cli.exits import refusals
from sordino.cli.options import CATALOG, OWNER, SURE


def explain(
    sql: options.Sql,
    *,
    catalog: options.CatalogFile = CATALOG,
    epsilon: options.Epsilon = None,
    rho: options.Rho = None,
    within: options.Within = None,
    confidence: options.Confidence = SURE,
    delta: options.Delta = None,
    rows: options.Rows = None,
    groups: options.Groups = None,
    rows_per_group: options.RowsPerGroup = None,
    expected_rows: options.ExpectedRows = None,
    diagnostics: options.Diagnostics = False,
    who: options.Who = OWNER,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw the plan into this file (.svg, .dot).")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Say what an answer would cost and how far off it would be."""
    with refusals(as_json=as_json):
        from sordino.cli.explain import Request  # rich and sqlglot are loaded only here
        from sordino.cli.explain import explain as show
        from sordino.cli.question import Wish

        wish = Wish(
            epsilon=epsilon,
            rho=rho,
            within=within,
            confidence=confidence,
            delta=delta,
            rows=rows,
            groups=groups,
            rows_per_group=rows_per_group,
            expected_rows=expected_rows,
            diagnostics=diagnostics,
        )
        show(Request(sql, wish, catalog, who, picture, as_json))


def ask(
    sql: options.Sql,
    *,
    catalog: options.CatalogFile = CATALOG,
    epsilon: options.Epsilon = None,
    rho: options.Rho = None,
    within: options.Within = None,
    confidence: options.Confidence = SURE,
    delta: options.Delta = None,
    rows: options.Rows = None,
    groups: options.Groups = None,
    rows_per_group: options.RowsPerGroup = None,
    expected_rows: options.ExpectedRows = None,
    diagnostics: options.Diagnostics = False,
    nonnegative: Annotated[
        bool, typer.Option("--nonnegative", help="Show 0 for counts that the noise took below 0.")
    ] = False,
    consistent: Annotated[
        bool,
        typer.Option("--consistent", help="Make counts of groups whole, not negative, adding up."),
    ] = False,
    who: options.Who = OWNER,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Pay again and get new noise, if it was asked before.")
    ] = False,
    receipt: options.Receipt = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the answer into this file (.png, .svg, .pdf).")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Also write the answer with its error bars as CSV.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Ask a question: it is charged, answered, and kept."""
    with refusals(as_json=as_json):
        from sordino.cli.ask import Request  # rich and sqlglot are loaded only here
        from sordino.cli.ask import ask as show
        from sordino.cli.question import Wish
        from sordino.release import Options

        wish = Wish(
            epsilon=epsilon,
            rho=rho,
            within=within,
            confidence=confidence,
            delta=delta,
            rows=rows,
            groups=groups,
            rows_per_group=rows_per_group,
            expected_rows=expected_rows,
            diagnostics=diagnostics,
        )
        shape = Options(nonnegative=nonnegative, consistent=consistent)
        show(
            Request(
                sql=sql,
                wish=wish,
                catalog=catalog,
                who=who,
                fresh=fresh,
                receipt=receipt,
                options=shape,
                plot=plot,
                csv=csv,
                as_json=as_json,
            )
        )


def repl(
    *,
    catalog: options.CatalogFile = CATALOG,
    epsilon: Annotated[
        str | None, typer.Option(help="What each answer may cost; \\epsilon changes it.")
    ] = None,
    rho: options.Rho = None,
    within: options.Within = None,
    confidence: options.Confidence = SURE,
    delta: options.Delta = None,
    who: options.Who = OWNER,
    receipt: options.Receipt = None,
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
        from sordino.cli.question import Wish
        from sordino.cli.repl import Request  # rich and sqlglot are loaded only here
        from sordino.cli.repl import repl as start

        wish = Wish(epsilon=epsilon, rho=rho, within=within, confidence=confidence, delta=delta)
        raise typer.Exit(start(Request(catalog, who, wish, receipt, yes, no_history, as_json)))
