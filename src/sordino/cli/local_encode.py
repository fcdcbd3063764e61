# SPDX-License-Identifier: Apache-2.0
"""`sordino local encode`: from a column of true answers to a file of reports."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import typer

from sordino.cli.local_about import shape_of
from sordino.cli.local_choice import AnyProtocol, Asked, as_text, choose_protocol, name_of
from sordino.cli.local_column import read_answers
from sordino.cli.local_files import at_once, check_out, reports_file
from sordino.cli.local_shown import bar, percentage
from sordino.cli.terminal import console_for, facts_of
from sordino.local.protocol import Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """What the command was asked for."""

    file: Path
    column: str
    asked: Asked
    out: Path
    skip_missing: bool
    force: bool
    as_json: bool


def encode(request: Request) -> None:
    """Read the answers, randomize each, write the reports, and say what was done."""
    protocol = choose_protocol(request.asked)
    check_out(request.out, request.file, force=request.force)
    answers = read_answers(request.file, request.column, protocol, skip=request.skip_missing)
    people = len(answers.values)
    nothing = "nothing was written"
    with (
        bar("encoding", people, as_json=request.as_json, nothing=nothing) as done,
        reports_file(request.out, protocol, people, force=request.force) as write,
    ):
        size = at_once(shape_of(protocol))
        for reports in protocol.client().stream(answers.values, at_once=size):
            write(reports.data)
            done(len(reports))
    if request.as_json:
        record = {
            "file": str(request.out),
            "protocol": name_of(protocol),
            "epsilon": as_text(protocol.epsilon),
            "people": people,
            "left_out": answers.missing,
            "standard_error": protocol.standard_error(people),
            "report_bits": protocol.report_bits,
            "fingerprint": protocol.fingerprint,
        }
        typer.echo(json.dumps(record, indent=2))
        return
    left_out = f"; {answers.missing:,} rows without an answer were left out"
    facts = [
        ("protocol", protocol.words),
        ("epsilon", f"{as_text(protocol.epsilon)} for each report"),
        ("people", f"{people:,}" + left_out * bool(answers.missing)),
        ("expected error", _error(protocol, people)),
        ("reports", f"{request.out}, {_bits(protocol.report_bits)} each"),
        ("keep in mind", "each encoding of the same answers costs the epsilon again"),
    ]
    console_for().print(facts_of(facts))


def _error(protocol: AnyProtocol, people: int) -> str:
    error = protocol.standard_error(people)
    if isinstance(protocol, Protocol):
        wide = percentage(protocol.half_width(people))
        return (
            f"{percentage(error)} percentage points for a category that is rare; intervals of at "
            f"most ± {wide}"
        )
    return f"a standard error of the mean of at most {error:.3g}"


def _bits(many: int) -> str:
    return f"{many:,} bit{'s' * (many != 1)}"
