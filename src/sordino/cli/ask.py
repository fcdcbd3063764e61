# SPDX-License-Identifier: Apache-2.0
"""The commands for one question: `sordino explain` and `sordino ask`."""

import importlib.util
import json
from csv import writer as csv_writer
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sordino.cli.options import (
    CATALOG,
    OWNER,
    AsJson,
    CatalogFile,
    Receipt,
    ServerName,
    Sql,
    Typed,
    Who,
    option,
    read_sql,
    takes_records,
)
from sordino.cli.remote import ask_there, check_alone, explain_there
from sordino.cli.usage import INTERRUPTED, refusals, show_fault
from sordino.errors import BudgetExceeded, LedgerError, SordinoError

if TYPE_CHECKING:
    from sordino.answer import Answer
    from sordino.catalog.model import Catalog
    from sordino.plan.ask import Ask
    from sordino.plan.explain import Explanation
    from sordino.session import Session

_PICTURES = (".png", ".svg", ".pdf")
_INTERRUPT_HINT = (
    "if a charge was made, 'sordino history' shows it, and asking the same again is answered "
    "without paying again"
)


@takes_records
def explain(
    sql: Sql,
    *,
    catalog: CatalogFile = CATALOG,
    server: ServerName = None,
    typed: Typed,
    who: Who = OWNER,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw the plan into this file (.svg, .dot).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what an answer would cost and how far off it would be."""
    with refusals(as_json=as_json):
        import sordino as so  # this and the following load rich and sqlglot
        from sordino.catalog.toml import read_catalog
        from sordino.cli.show import note_stranger, show_explanation
        from sordino.cli.terminal import console_for
        from sordino.session import service
        from sordino.session.opening import refusal_of

        ask = typed.read(sql)
        if server is not None:
            check_alone(catalog=catalog, who=who)
            if picture is not None:
                raise ValueError("a server draws no plan; leave out --picture or --server")
            explain_there(server, read_sql(ask), as_json=as_json)
            return
        if picture is not None and picture.suffix not in (".svg", ".dot"):
            raise ValueError("the picture of a plan is written to a file ending in .svg or .dot")
        declared = read_catalog(catalog)
        _check_target(picture, declared)
        service.check_who(who)
        if not as_json:
            note_stranger(declared, who)
        with so.open(declared, ledger="memory") as session:
            explanation = session.explain_ask(read_sql(ask))
        left = _left(explanation, declared, who)
        refusal = refusal_of(declared)
        warnings = [f"no question is answered: {refusal}"] if refusal else []
        if as_json:
            shape = service.explanation_to_json(explanation, left=left, warnings=warnings)
            typer.echo(json.dumps(shape, indent=2))
        else:
            facts = [("left", left), ("plan", service.number_of(explanation.plan))]
            show_explanation(console_for(), explanation, facts, [*explanation.warnings, *warnings])
        if picture is not None:
            drawn = explanation.svg() if picture.suffix == ".svg" else explanation.dot()
            picture.write_text(drawn, "utf-8")
            typer.echo(f"wrote {picture}", err=True)


def _left(explanation: "Explanation", catalog: "Catalog", who: str) -> str:
    """Say what is left before the question, and for how many questions like it that is enough."""
    from sordino.ledger.history import left_of
    from sordino.ledger.left import left_in_words  # as above
    from sordino.session.opening import ledger_of

    plan = explanation.plan
    try:
        with ledger_of(catalog) as ledger:
            (left,) = left_of(ledger, [plan.people], who)
    except LedgerError:
        return "not known: the ledger cannot be used"
    return left_in_words(left, explanation.price, plan.slack, more="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Typed):
    """The terms of a question, how its answer is shown, and where it is written."""

    nonnegative: bool = option(
        "Show 0 for counts that the noise took below 0.", "--nonnegative", default=False
    )
    consistent: bool = option(
        "Make counts of groups whole, not negative, adding up.", "--consistent", default=False
    )
    fresh: bool = option(
        "Pay again and get new noise, if it was asked before.", "--fresh", default=False
    )
    plot: Path | None = option(
        "Also draw the answer into this file (.png, .svg, .pdf).", default=None
    )
    csv: Path | None = option("Also write the answer with its error bars as CSV.", default=None)


@takes_records
def ask(
    sql: Sql,
    *,
    catalog: CatalogFile = CATALOG,
    server: ServerName = None,
    typed: Asked,
    who: Who = OWNER,
    receipt: Receipt = None,
    as_json: AsJson = False,
) -> None:
    """Ask a question: it is charged, answered, and kept."""
    with refusals(as_json=as_json):
        import sordino as so  # this and the following load rich and sqlglot
        from sordino.catalog.toml import read_catalog
        from sordino.cli.show import note_stranger, show_answer
        from sordino.cli.terminal import console_for
        from sordino.session import service

        shown = {"nonnegative": typed.nonnegative, "consistent": typed.consistent}
        asked, plot, csv = typed.read(sql, fresh=typed.fresh, **shown), typed.plot, typed.csv
        _check_plot(plot)
        if server is not None:
            check_alone(catalog=catalog, who=who, receipt=receipt)
            for path in (plot, csv):
                _check_free(path)
            _write(ask_there(server, read_sql(asked), as_json=as_json), csv, plot)
            return
        declared = read_catalog(catalog)
        for path in (plot, csv):
            _check_target(path, declared)
        service.check_who(who)
        if not as_json:
            note_stranger(declared, who, refused=True)
        try:
            with so.open(declared, who=who, receipt=receipt) as session:
                asked = read_sql(asked)
                plan = session.plan_ask(asked)
                before = {seen.people: seen.number for seen in session.ledger.heads()}
                try:
                    answer = session.answer(plan, asked.options, fresh=asked.fresh)
                except BudgetExceeded as error:
                    hint = error.hint + _affordable(session, asked, plan.people)
                    raise BudgetExceeded(error.asked, error.left, hint) from None
                left = session.budget.of(plan.people)
        except KeyboardInterrupt:
            show_fault("interrupted", "interrupted", _INTERRUPT_HINT, as_json=as_json)
            raise typer.Exit(INTERRUPTED) from None
        taken_up = not answer.again and answer.charge.number <= before.get(plan.people, 0)
        if as_json:
            number = service.number_of(plan, asked.options)
            shape = {**service.answer_to_json(answer, left), "plan": number, "taken_up": taken_up}
            typer.echo(json.dumps(shape, indent=2))
        else:
            show_answer(console_for(), answer, left, taken_up=taken_up)
        _write(answer, csv, plot)


def _write(answer: "Answer", csv: Path | None, plot: Path | None) -> None:
    """Write an answer into the files that were named."""
    if csv is not None:
        _write_csv(answer, csv)
        typer.echo(f"wrote {csv}", err=True)
    if plot is not None:
        answer.plot(plot)
        typer.echo(f"wrote {plot}", err=True)


def _affordable(session: "Session", ask: "Ask", people: str) -> str:
    """Say which width would fit what is left of epsilon, where one was asked for all columns."""
    from decimal import ROUND_UP, Context  # as above
    from fractions import Fraction

    from sordino.plan.ask import Epsilon as EpsilonPrice
    from sordino.plan.ask import Within as WithinPrice

    left = session.budget.of(people).left
    in_width = isinstance(ask.price, WithinPrice) and isinstance(ask.price.widths, Fraction)
    if not in_width or left.currency.kind != "epsilon" or not left.nanos:
        return ""
    try:
        columns = session.explain_ask(replace(ask, price=EpsilonPrice(left.value))).columns
    except (SordinoError, ValueError):  # so little is left that no question can be asked
        return ""
    widest = max(expected.half_width or 0 for _, expected in columns)
    return f", and so would --within {Context(prec=3, rounding=ROUND_UP).create_decimal(widest):f}"


def _check_target(path: Path | None, catalog: "Catalog") -> None:
    """Refuse to write over what is needed: the catalog, the data, the ledger and what goes with it.

    It is looked at before anything is charged, and so is whether the folder is there.
    """
    from sordino.session.owner_log import belongs_to  # as above

    _check_free(path)
    if path is not None and belongs_to(path, catalog):
        raise ValueError(f"{str(path)!r} belongs to the catalog; write to another file")


def _check_free(path: Path | None) -> None:
    """Refuse to write where no file can be."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; name a file to write")


def _check_plot(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix not in _PICTURES:
        raise ValueError(f"a picture is written to a file ending in {', '.join(_PICTURES)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError("--plot needs matplotlib: pip install 'sordino[plot]'")


def _write_csv(answer: "Answer", path: Path) -> None:
    """Write each noisy column followed by its half-widths and both ends."""
    from sordino.answer.frames import safe_cell  # as above

    table = answer.to_arrow()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv_writer(file, lineterminator="\n")
        writer.writerow(map(safe_cell, table.column_names))
        columns = ([safe_cell(cell) for cell in column.to_pylist()] for column in table.columns)
        writer.writerows(zip(*columns, strict=True))
