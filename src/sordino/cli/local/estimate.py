# SPDX-License-Identifier: Apache-2.0
"""`sordino local estimate`: from files of reports to frequencies, or a mean, with intervals."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from sordino.answer.render import printable
from sordino.cli.local.commands import EstimateRequest
from sordino.cli.local.files import bar, read_pieces, read_protocol
from sordino.cli.local.protocols import AnyProtocol, as_text, name_of
from sordino.cli.outputs import check_picture, draw
from sordino.cli.terminal import console_for, facts_of
from sordino.local.estimate import Estimate, Line, written_down, written_near, written_up
from sordino.local.numbers import MeanEstimate, MeanServer, NumberProtocol
from sordino.local.protocol import Server
from sordino.local.randomizer import Reports
from sordino.numbers.rational import decimal_of

_EXACT = Context(prec=1000)  # More digits than any number here has.
_MOST_PLACES = 30
_MAX_TERMINAL_LINES = 40
_MAX_PIPED_LINES = 10_000
_JSON_LINES_AT_ONCE = 4096
MAX_CONFIDENCE = math.nextafter(1.0, 0.0)


class _Source(NamedTuple):
    path: Path
    people: int


def estimate(request: EstimateRequest) -> None:
    """Count the reports of all files, and print what follows from them."""
    check_picture(request.plot, force=request.force)
    confidence = decimal_of("confidence", request.confidence)
    protocol, sources = _sources(request.files, request.most_categories)
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
            told = {**about, **asdict(mean), "confidence": min(mean.confidence, MAX_CONFIDENCE)}
            typer.echo(json.dumps(told, indent=2))
        else:
            _show_mean(mean, server.protocol, confidence)
        return
    found = server.estimate(confidence=confidence, together=request.together)
    found = found.projected() if request.project else found
    draw(request.plot, found.plot)
    if request.as_json:
        _print_json(about, found, projected=request.project)
    else:
        _show(found, protocol, request, confidence)


def _sources(paths: list[Path], most: int) -> tuple[AnyProtocol, list[_Source]]:
    """Return the one protocol of all files; a file of another one, or named twice, is refused."""
    first, people = read_protocol(paths[0], most=most)
    found = [_Source(paths[0], people)]
    for path in paths[1:]:
        protocol, people = read_protocol(path, most=most)
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


def _refuse_idle_options(request: EstimateRequest) -> None:
    given = {"--together": request.together, "--project": request.project}
    given["--plot"] = request.plot is not None
    for option, is_given in given.items():
        if is_given:
            raise ValueError(f"{option} is for categories, and these reports are about a number")


def _print_json(about: dict[str, Any], found: Estimate, *, projected: bool) -> None:
    """Print all lines, but never hold them all."""
    head = {
        **about,
        "people": found.people,
        "confidence": min(found.confidence, MAX_CONFIDENCE),
        "together": found.together,
        "projected": projected,
    }
    typer.echo(json.dumps(head, indent=2).removesuffix("\n}") + ',\n  "categories": [')
    for start in range(0, len(found), _JSON_LINES_AT_ONCE):
        places = np.arange(start, min(start + _JSON_LINES_AT_ONCE, len(found)))
        lines = [
            "    " + json.dumps({**line._asdict(), "count": line.frequency * found.people})
            for line in _lines(found, places)
        ]
        typer.echo(",\n".join(lines) + "," * (start + _JSON_LINES_AT_ONCE < len(found)))
    typer.echo("  ]\n}")


def _lines(found: Estimate, places: Any) -> list[Line]:
    """Return what is estimated of the categories at some places."""
    labels = [found.labels[place] for place in places.tolist()]
    columns = (found.frequencies, found.low, found.high, found.standard_errors)
    return list(map(Line, labels, *(column[places].tolist() for column in columns)))


def _show(
    found: Estimate, protocol: AnyProtocol, request: EstimateRequest, confidence: Decimal
) -> None:
    console = console_for()
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("category", overflow="fold")
    for heading in ("frequency", "interval", "count"):
        table.add_column(heading, justify="right", no_wrap=True)
    most = _MAX_TERMINAL_LINES if console.is_terminal else _MAX_PIPED_LINES
    order = np.argsort(-found.frequencies, kind="stable")[:most]
    for line in _lines(found, order):
        table.add_row(
            Text(printable(str(line.label))),
            Text(percent(line.frequency), "bold cyan"),
            percents(line.low, line.high),
            f"{round(line.frequency * found.people):,}",
        )
    console.print(table)
    if left_out := len(found) - len(order):
        where = "with --json" if len(found) > _MAX_PIPED_LINES else "in a pipe and with --json"
        console.print(f"... {left_out:,} more, {where}", style="dim")
    console.print(f"\n{_people(protocol, found.people)}")
    for sentence in _meaning(found, confidence, projected=request.project):
        console.print(sentence, style="dim")
    if request.plot is not None:
        console.print(f"drawn to {request.plot}", markup=False)


def _meaning(found: Estimate, confidence: Decimal, *, projected: bool) -> list[str]:
    if found.together:
        said = (
            f"All intervals at once hold the true frequencies with {sure(confidence)} confidence."
        )
    else:
        said = (
            f"Each interval by itself holds the true frequency with {sure(confidence)} confidence."
        )
    if projected:
        return [said, "Frequencies were moved to the nearest that add up to 100 %; intervals not."]
    if (found.frequencies < 0).any():
        return [said, "Below 0 is noise around a rare category; --project moves it away."]
    return [said]


def _show_mean(found: MeanEstimate, protocol: NumberProtocol, confidence: Decimal) -> None:
    scale = protocol.scale
    limits, ends = (found.low, found.high), (scale.low, scale.high)
    mean, low, high = rounded(found.mean, limits, ends, found.standard_error)
    covered = f"{as_text(scale.low)} to {as_text(scale.high)}"
    held = f"which holds the true mean with {sure(confidence)} confidence"
    facts = [
        ("mean", mean),
        ("interval", f"{low} to {high}, {held}"),
        ("range", f"{covered}; a number beyond an end counts as that end"),
        ("reports", _people(protocol, found.people)),
    ]
    console_for().print(facts_of(facts))


def _people(protocol: AnyProtocol, people: int) -> str:
    return f"{people:,} people, {_named(protocol)} for each report"


def rounded(
    number: float, limits: tuple[float, float], ends: tuple[Fraction, Fraction], error: float
) -> tuple[str, str, str]:
    """Write a number and its limits with as many places as its standard error gives a meaning to.

    Limits are rounded outwards, and are no farther than the ends of the range. Without an error
    the length of the range tells how many places.

    >>> rounded(53.49871, (52.996, 54.001), (Fraction(0), Fraction(80)), 0.55)
    ('53.50', '52.99', '54.01')
    >>> rounded(0.173, (-0.0, 0.05), (Fraction(0), Fraction(1, 20)), 0.0)
    ('0.173', '0.000', '0.050')
    """
    size = error if error > 0 else ends[1] - ends[0]
    places = min(max(1 - math.floor(math.log10(size)), 0), _MOST_PLACES)
    low, high = max(Fraction(limits[0]), ends[0]), min(Fraction(limits[1]), ends[1])
    return (
        written_near(number, places),
        written_down(low, places),
        written_up(high, places),
    )


def percent(share: float) -> str:
    """Write a share as a percentage with two places.

    >>> percent(0.123456), percent(-0.00001)
    ('12.35 %', '0.00 %')
    """
    return f"{written_near(100 * Fraction(share), 2)} %"


def percents(low: float, high: float) -> str:
    """Write the limits of a share as percentages, rounded outwards.

    >>> percents(0.12345, 0.12341), percents(0.0, 1.0)
    ('12.34 % to 12.35 %', '0.00 % to 100.00 %')
    """
    first = written_down(100 * Fraction(low), 2)
    last = written_up(100 * Fraction(high), 2)
    return f"{first} % to {last} %"


def sure(confidence: Decimal) -> str:
    """Write a confidence as a percentage with all of its digits, so that it is never 100 %.

    >>> sure(Decimal("0.950")), sure(Decimal("0.9999999999999999999999999999999999"))
    ('95 %', '99.99999999999999999999999999999999 %')
    """
    return f"{_EXACT.multiply(confidence, Decimal(100)).normalize(_EXACT):f} %"
