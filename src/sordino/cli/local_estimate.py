# SPDX-License-Identifier: Apache-2.0
"""`sordino local estimate`: from files of reports to frequencies, or a mean, with intervals."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from sordino.answer.numbers import printable
from sordino.cli.local_choice import AnyProtocol, as_text, name_of, number
from sordino.cli.local_files import read_pieces, read_protocol
from sordino.cli.local_shown import bar, check_picture, draw, rounded
from sordino.cli.shown import console_for, facts_of
from sordino.local.estimate import Estimate
from sordino.local.mean import MeanEstimate, MeanServer
from sordino.local.numbers import NumberProtocol
from sordino.local.reports import Reports
from sordino.local.server import Server

_MOST_LINES = 40  # in a terminal


@dataclass(frozen=True, slots=True)
class Request:
    """What the command was asked for."""

    files: tuple[Path, ...]
    confidence: str
    together: bool
    project: bool
    plot: Path | None
    as_json: bool


class _Source(NamedTuple):
    path: Path
    people: int


def estimate(request: Request) -> None:
    """Count the reports of all files, and print what follows from them."""
    check_picture(request.plot)
    confidence = number("confidence", request.confidence)
    protocol, sources = _sources(request.files)
    server = protocol.server()
    if isinstance(server, MeanServer):
        _refuse_idle_options(request)
    total = sum(source.people for source in sources)
    nothing = "nothing is estimated"
    with bar("counting", total, as_json=request.as_json, nothing=nothing) as done:
        for source in sources:
            _count(server, source, protocol, done)
    about: dict[str, Any] = {"protocol": name_of(protocol), "epsilon": as_text(protocol.epsilon)}
    about["files"] = [str(source.path) for source in sources]
    if isinstance(server, MeanServer):
        mean = server.estimate(confidence=confidence)
        if request.as_json:
            typer.echo(json.dumps({**about, **asdict(mean)}, indent=2))
        else:
            _show_mean(mean, server.protocol)
        return
    found = server.estimate(confidence=confidence, together=request.together)
    found = found.projected() if request.project else found
    draw(request.plot, found.plot)
    if request.as_json:
        typer.echo(json.dumps({**about, **_record(found, projected=request.project)}, indent=2))
    else:
        _show(found, protocol, request)


def _sources(paths: tuple[Path, ...]) -> tuple[AnyProtocol, list[_Source]]:
    """Return the one protocol of all files; a file of another one, or named twice, is refused."""
    first, people = read_protocol(paths[0])
    found = [_Source(paths[0], people)]
    for path in paths[1:]:
        protocol, people = read_protocol(path)
        if any(path.samefile(source.path) for source in found):
            raise ValueError(f"{path} is named twice; its reports would be counted twice")
        if protocol.fingerprint != first.fingerprint:
            raise ValueError(
                f"the reports in {path} were made by {_named(protocol)}, and those in {paths[0]} "
                f"by {_named(first)}; only reports of one protocol, with one epsilon and the same "
                "categories or range, can be counted together"
            )
        found.append(_Source(path, people))
    return first, found


def _named(protocol: AnyProtocol) -> str:
    return f"{protocol.words} with epsilon {as_text(protocol.epsilon)}"


def _count(server: Server | MeanServer, source: _Source, protocol: AnyProtocol, done: Any) -> None:
    before = server.people
    for data in read_pieces(source.path, protocol):
        try:
            server.add(Reports(protocol.fingerprint, data))
        except ValueError as error:
            raise ValueError(f"{source.path}: {error}") from None
        done(len(data))
    many = server.people - before
    if many != source.people:
        raise ValueError(
            f"{source.path} holds {many:,} reports and says that it has {source.people:,}; have it "
            "sent again"
        )


def _refuse_idle_options(request: Request) -> None:
    given = {"--together": request.together, "--project": request.project}
    given["--plot"] = request.plot is not None
    for option, is_given in given.items():
        if is_given:
            raise ValueError(f"{option} is for categories, and these reports are about a number")


def _record(found: Estimate, *, projected: bool) -> dict[str, Any]:
    told = found.to_json()
    for line, count in zip(told["categories"], found.counts.tolist(), strict=True):
        line["count"] = count
    return {**told, "projected": projected}


def _show(found: Estimate, protocol: AnyProtocol, request: Request) -> None:
    console = console_for()
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("category", overflow="fold")
    for heading in ("frequency", "interval", "count"):
        table.add_column(heading, justify="right", no_wrap=True)
    lines = sorted(found, key=lambda line: -line.frequency)
    shown = lines[:_MOST_LINES] if console.is_terminal else lines
    for line in shown:
        table.add_row(
            Text(printable(str(line.label))),
            Text(_percent(line.frequency), "bold cyan"),
            f"{_percent(line.low)} to {_percent(line.high)}",
            f"{line.frequency * found.people:,.0f}",
        )
    console.print(table)
    if len(shown) < len(lines):
        console.print(
            f"... {len(lines) - len(shown):,} more, in a pipe and with --json", style="dim"
        )
    console.print(f"\n{_people(protocol, found.people)}")
    for sentence in _meaning(found, projected=request.project):
        console.print(sentence, style="dim")
    if request.plot is not None:
        console.print(f"drawn to {request.plot}")


def _meaning(found: Estimate, *, projected: bool) -> list[str]:
    sure = f"{100 * found.confidence:.10g} %"
    if found.together:
        said = f"All intervals at once hold the true frequencies with {sure} confidence."
    else:
        said = f"Each interval by itself holds the true frequency with {sure} confidence."
    if projected:
        return [said, "Frequencies were moved to the nearest that add up to 100 %; intervals not."]
    if (found.frequencies < 0).any():
        return [said, "Below 0 is noise around a rare category; --project moves it away."]
    return [said]


def _show_mean(found: MeanEstimate, protocol: NumberProtocol) -> None:
    mean, low, high = rounded((found.mean, found.low, found.high), found.standard_error)
    sure = f"{100 * found.confidence:.10g} %"
    ends = f"{as_text(protocol.scale.low)} to {as_text(protocol.scale.high)}"
    facts = [
        ("mean", mean),
        ("interval", f"{low} to {high}, which holds the true mean with {sure} confidence"),
        ("range", f"{ends}; a number beyond an end counts as that end"),
        ("reports", _people(protocol, found.people)),
    ]
    console_for().print(facts_of(facts))


def _people(protocol: AnyProtocol, people: int) -> str:
    return f"{people:,} people, {_named(protocol)} for each report"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
