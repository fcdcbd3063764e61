# SPDX-License-Identifier: Apache-2.0
"""`sordino audit`: look for what a mechanism loses beyond its promise."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from sordino.answer.render import printable
from sordino.auditing import audit as run_audit
from sordino.auditing.page import facts_of, page
from sordino.auditing.report import Outcome
from sordino.cli.audit_target import load, read_value
from sordino.cli.terminal import console_for
from sordino.cli.terminal import facts_of as listed
from sordino.cli.usage import FAILED, INTERRUPTED
from sordino.numbers.rational import decimal_of

if TYPE_CHECKING:
    from sordino.auditing import Report

RUNS = 1_000_000  # of a mechanism that is named
_LONGEST = 40  # letters of a name beside a bar
_FEW = 20_000  # runs
_PICTURES = (".png", ".svg", ".pdf")
_PAGES = (".html", ".htm")


@dataclass(frozen=True, slots=True)
class Request:
    """What the command was asked for."""

    target: str | None
    epsilon: str | None
    delta: str | None
    neighbours: tuple[str, str] | None
    batch: bool
    time: bool
    runs: int | None
    confidence: str
    plot: Path | None
    report: Path | None
    as_json: bool


def audit(request: Request) -> None:
    """Audit what was named, or sordino itself; leave with 1 if a violation was found."""
    _check_file("--plot", request.plot, _PICTURES)
    _check_file("--report", request.report, _PAGES)
    if request.target is None:
        _refuse_idle_options(request)
        from sordino.cli.audit_own import audit_own  # the whole package is loaded only here

        private = audit_own(request)
    else:
        private = _audit_one(request, request.target)
    if not private:
        raise typer.Exit(FAILED)


def number(name: str, text: str) -> float:
    """Read a number that was typed, as a double."""
    return float(decimal_of(name, text))


def write_page(
    path: Path, title: str, facts: list[tuple[str, str]], outcomes: Sequence[Outcome]
) -> None:
    """Write the page of a list of audits."""
    try:
        path.write_text(page(title, facts, outcomes), "utf-8")
    except OSError as error:
        raise ValueError(f"{path} could not be written: {error.strerror}") from None


@contextmanager
def bar(*, as_json: bool) -> Iterator[Callable[[str], Callable[[int, int], None]]]:
    """Give a way to show how far each audit is: a bar on a terminal, nothing elsewhere.

    Whoever interrupts it is told how far it was.
    """
    console = console_for(errors=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
    )
    shown = Progress(
        *columns, console=console, transient=True, disable=as_json or not console.is_terminal
    )

    reached = [""]

    def begin(name: str) -> Callable[[int, int], None]:
        for old in shown.task_ids:
            shown.remove_task(old)
        short = printable(name)[:_LONGEST]
        task = shown.add_task(short, total=None, told="")
        reached[0] = f"at {short}, before its first runs were done"

        def step(done: int, total: int) -> None:
            told = f"{done:,} of {total:,} runs"
            reached[0] = f"after {told} of {short}"
            shown.update(task, completed=done, total=total, told=told)

        return step

    try:
        with shown:
            yield begin
    except KeyboardInterrupt:
        if not as_json:
            typer.echo(f"sordino: stopped {reached[0]}; nothing is reported", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _audit_one(request: Request, target: str) -> bool:
    if request.epsilon is None:
        raise ValueError("say what the mechanism promises, such as --epsilon 1")
    with redirect_stdout(sys.stderr):  # what a file prints when it is read is no report
        mechanism = load(target)
    x, y = _neighbours(request, mechanism)
    with bar(as_json=request.as_json) as begin, redirect_stdout(sys.stderr):
        report = run_audit(
            mechanism,
            x,
            y,
            epsilon=number("epsilon", request.epsilon),
            delta=number("delta", "0" if request.delta is None else request.delta),
            runs=RUNS if request.runs is None else request.runs,
            confidence=number("confidence", request.confidence),
            batch=True if request.batch else None,
            time=request.time,
            progress=begin(target),
        )
    if request.as_json:
        typer.echo(json.dumps({"mechanism": target, **report.to_json()}, indent=2))
    else:
        _show(target, report)
    if request.plot is not None:
        _draw(report, request.plot)
        tell(request, "drawn", request.plot)
    if request.report is not None:
        write_page(request.report, f"Audit of {target}", [], [Outcome(target, report)])
        tell(request, "written", request.report)
    return report.private


def _neighbours(request: Request, mechanism: Callable[..., Any]) -> tuple[Any, Any]:
    if request.neighbours is not None:
        x, y = map(read_value, request.neighbours)
        return x, y
    declared = getattr(mechanism, "neighbours", None)
    if isinstance(declared, tuple | list) and len(declared) == 2:
        return declared[0], declared[1]
    raise ValueError("say which two inputs differ in one unit, such as --neighbours 3 2")


def _check_file(option: str, path: Path | None, endings: tuple[str, ...]) -> None:
    """Refuse a file that could not be written before anything is run."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise ValueError(
            f"{option} must name a file that ends in {' or '.join(endings)}, got {path}"
        )
    if not path.parent.is_dir():
        raise ValueError(f"{path} could not be written: there is no folder {path.parent}")


def _draw(report: Report, path: Path) -> None:
    from sordino.auditing.plot import plot  # matplotlib is an extra

    try:
        plot(report, path)
    except ImportError as error:
        raise ValueError(str(error)) from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} could not be drawn: {error}") from None


def tell(request: Request, done: str, path: Path) -> None:
    """Say what became of a file that was asked for."""
    if not request.as_json:
        typer.echo(f"{done} to {path}")


def _show(target: str, report: Report) -> None:
    console = console_for()
    style = "bold green" if report.private else "bold red"
    said = f"{report.verdict}: "
    console.print(Text.assemble((said, style), (target, "bold")), "", sep="\n")
    console.print(listed(facts_of(report)))
    if report.private:
        few = "so few runs see little" if report.runs < _FEW else "more runs see more"
        console.print(f"\nThat nothing was found proves nothing; {few}.", style="dim")


def _refuse_idle_options(request: Request) -> None:
    given = {
        "--epsilon": request.epsilon is not None,
        "--delta": request.delta is not None,
        "--neighbours": request.neighbours is not None,
        "--batch": request.batch,
        "--time": request.time,
        "--plot": request.plot is not None,
    }
    for option, is_given in given.items():
        if is_given:
            raise ValueError(
                f"{option} goes with a function to audit, such as my_module:my_mechanism; "
                "without one sordino audits itself"
            )
