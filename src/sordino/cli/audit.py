# SPDX-License-Identifier: Apache-2.0
"""`sordino audit`: look for what a mechanism, or sordino itself, loses beyond its promise."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

import sordino as so
from sordino.cli.options import AsJson, Plot, argument, count, option, takes_records
from sordino.cli.outputs import PICTURES, check_ending
from sordino.cli.usage import FAILED, INTERRUPTED, refusals

if TYPE_CHECKING:
    from rich.console import Console

    from sordino.auditing import Report
    from sordino.auditing.own.mechanisms import Case
    from sordino.auditing.report import Outcome

_FORM = "write module:function, such as my_module:my_mechanism"
_BRACKETS = re.compile(r"[()\[\]{}]")
_LITERAL_STARTS = "([{'\"-+.0123456789"
RUNS = 1_000_000
OWN_RUNS = 100_000  # Of each mechanism of sordino that makes many at once.
_SLOWER = 20  # Of each other one there are so many times fewer.
_MIN_OWN_RUNS = 400
_FEW_RUNS = 20_000
_MAX_NAME_LENGTH = 40
_PAGES = (".html", ".htm")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What the command was asked for."""

    mechanism: str | None = argument(
        "A function of the data, as module:function, looked for in this folder first. "
        "Without it, sordino audits itself.",
        default=None,
    )
    epsilon: str | None = option("The epsilon that is promised.", default=None)
    delta: str | None = option("The delta that is promised, if any.", default=None)
    neighbours: tuple[str, str] | None = option(
        "Two inputs that differ in one unit, written as in Python: 3 2.", default=None
    )
    batch: bool = option("The function takes the number of runs too.", "--batch", default=False)
    time: bool = option("Also look at how long each run takes.", "--time", default=False)
    runs: int | None = count(
        "How often to run it in all, 1,000,000 if not told; sordino, fewer.", default=None
    )
    confidence: str = option("How sure a violation is to be.", default="0.999")
    plot: Plot = None
    report: Path | None = option(
        "Also write a page with pictures into this file (.html).", default=None
    )
    as_json: AsJson = False


@takes_records
def audit(request: _Request) -> None:
    """Look for what a mechanism, or sordino, loses beyond its promise."""
    with refusals(as_json=request.as_json):
        _check_file("--plot", request.plot, PICTURES)
        _check_file("--report", request.report, _PAGES)
        if request.mechanism is None:
            _refuse_idle_options(request)
            private = _audit_own(request)
        else:
            private = _audit_one(request, request.mechanism)
        if not private:
            raise typer.Exit(FAILED)


def _number(name: str, text: str) -> float:
    """Read a number that was typed, as a double."""
    from sordino.numbers.rational import decimal_of  # numpy is loaded only here

    return float(decimal_of(name, text))


def _write_page(
    path: Path, title: str, facts: list[tuple[str, str]], outcomes: Sequence[Outcome]
) -> None:
    """Write the page of a list of audits."""
    from sordino.auditing.report import page  # numpy is loaded only here

    try:
        path.write_text(page(title, facts, outcomes), "utf-8")
    except OSError as error:
        raise ValueError(f"{path} could not be written: {error.strerror}") from None


@contextmanager
def bar(*, as_json: bool) -> Iterator[Callable[[str], Callable[[int, int], None]]]:
    """Give a way to show how far each audit is: a bar on a terminal, nothing elsewhere.

    Whoever interrupts it is told how far it was.
    """
    from sordino.answer.render import printable  # this and the following load numpy
    from sordino.session.progress import watched

    reached = ""
    try:
        with watched("auditing", quiet=as_json) as shown:

            def begin(name: str) -> Callable[[int, int], None]:
                nonlocal reached
                short = printable(name)[:_MAX_NAME_LENGTH]
                reached = f"at {short}, before its first runs were done"
                if shown is not None:
                    shown.doing = short
                    shown(None)

                def step(done: int, total: int) -> None:
                    nonlocal reached
                    runs = f"{done:,} of {total:,} runs"
                    reached = f"after {runs} of {short}"
                    if shown is not None:
                        shown(done / total, runs)

                return step

            yield begin
    except KeyboardInterrupt:
        if not as_json:
            typer.echo(f"sordino: stopped {reached}; nothing is reported", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _audit_one(request: _Request, target: str) -> bool:
    from sordino.auditing import audit as run_audit  # this and the following load numpy
    from sordino.auditing.report import Outcome

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
            epsilon=_number("epsilon", request.epsilon),
            delta=_number("delta", "0" if request.delta is None else request.delta),
            runs=RUNS if request.runs is None else request.runs,
            confidence=_number("confidence", request.confidence),
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
        _tell(request, "drawn", request.plot)
    if request.report is not None:
        _write_page(request.report, f"Audit of {target}", [], [Outcome(target, report)])
        _tell(request, "written", request.report)
    return report.private


def _neighbours(request: _Request, mechanism: Callable[..., Any]) -> tuple[Any, Any]:
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
    check_ending(option, path, endings)
    if not path.parent.is_dir():
        raise ValueError(f"{path} could not be written: there is no folder {path.parent}")


def _draw(report: Report, path: Path) -> None:
    try:
        report.plot(path)
    except ImportError as error:  # matplotlib is an extra
        raise ValueError(str(error)) from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} could not be drawn: {error}") from None


def _tell(request: _Request, done: str, path: Path) -> None:
    """Say what became of a file that was asked for."""
    if not request.as_json:
        typer.echo(f"{done} to {path}")


def _show(target: str, report: Report) -> None:
    from rich.text import Text  # this and the following load rich

    from sordino.auditing.report import facts_of
    from sordino.cli.terminal import console_for
    from sordino.cli.terminal import facts_of as listed

    console = console_for()
    style = "bold green" if report.private else "bold red"
    said = f"{report.verdict}: "
    console.print(Text.assemble((said, style), (target, "bold")), "", sep="\n")
    console.print(listed(facts_of(report)))
    if report.private:
        few = "so few runs see little" if report.runs < _FEW_RUNS else "more runs see more"
        console.print(f"\nThat nothing was found proves nothing; {few}.", style="dim")


def _refuse_idle_options(request: _Request) -> None:
    given = {
        "--epsilon": request.epsilon is not None,
        "--delta": request.delta is not None,
        "--neighbours": request.neighbours is not None,
        "--batch": request.batch,
        "--time": request.time,
        "--plot": request.plot is not None,
    }
    for name, is_given in given.items():
        if is_given:
            raise ValueError(
                f"{name} goes with a function to audit, such as my_module:my_mechanism; "
                "without one sordino audits itself"
            )


def _audit_own(request: _Request) -> bool:
    """Audit every mechanism and a few plans, show what came out, and tell whether all is well."""
    from sordino.cli.terminal import console_for  # rich is loaded only here

    confidence = _number("confidence", request.confidence)
    runs = OWN_RUNS if request.runs is None else request.runs
    began = perf_counter()
    outcomes = _outcomes(runs, confidence, as_json=request.as_json)
    seconds = perf_counter() - began
    broken = [one for one in outcomes if not one.private]
    facts = [
        ("version", f"sordino {so.__version__}"),
        ("looked at", f"{len(outcomes)} mechanisms and plans, in {seconds:.0f} seconds"),
        *_ways(outcomes),
        ("violations", f"{len(broken)}" if broken else "none found"),
        ("confidence", f"{100 * confidence:.8g} %, of all bounds together"),
    ]
    if runs < OWN_RUNS:
        facts.append(
            ("remark", f"fewer runs than {OWN_RUNS:,} see little: a bound of 0 tells nothing")
        )
    if request.as_json:
        told = {
            "version": so.__version__,
            "confidence": confidence,
            "violations": len(broken),
            "audits": [one.to_json() for one in outcomes],
        }
        typer.echo(json.dumps(told, indent=2))
    else:
        _show_own(console_for(), facts, outcomes)
    if request.report is not None:
        _write_page(request.report, "sordino, audited by itself", facts, outcomes)
        _tell(request, "written", request.report)
    return not broken


def _outcomes(runs: int, confidence: float, *, as_json: bool) -> list[Outcome]:
    """Audit all; the chance of a false alarm is shared out among the mechanisms."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence:g}")
    from sordino.auditing import own  # this and the following load the whole package
    from sordino.auditing.report import Outcome

    every = [*own.cases(), *own.function_cases(), *own.local_cases(), *own.plan_cases()]
    each = 1 - (1 - confidence) / len(every)
    questions = list(own.plans())
    count = len(every) + len(questions)
    outcomes: list[Outcome] = []
    with bar(as_json=as_json) as begin:
        for case in every:
            report = case.audit(
                _runs(case, runs),
                confidence=each,
                progress=begin(f"{len(outcomes) + 1} of {count}: {case.name}"),
            )
            outcomes.append(Outcome(case.name, report, case.verify(), described=case.described))
        for question in questions:
            begin(f"{len(outcomes) + 1} of {count}: {question.name}")
            outcomes.append(
                Outcome(question.name, findings=tuple(map(str, question.check().findings)))
            )
    return outcomes


def _ways(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    """Say how many were looked at in each way."""
    sampled = sum(one.report is not None for one in outcomes)
    verified = sum(one.verified is not None for one in outcomes)
    asked = [one for one in outcomes if one.findings is not None]
    found = sum(bool(one.findings) for one in asked)
    return [
        ("sampled", f'{sampled}; "at least" is what their runs show'),
        (
            "verified",
            f'{verified} of these from their law; "exact" is the least epsilon that holds',
        ),
        ("replayed", f"{len(asked)} questions in SQL, with findings in {found or 'none'}"),
    ]


def _runs(case: Case, runs: int) -> int:
    """Return how often to run a case: seldom, if each run is a call of its own."""
    return runs if case.quick else max(runs // _SLOWER, min(runs, _MIN_OWN_RUNS))


def _show_own(console: Console, facts: list[tuple[str, str]], outcomes: list[Outcome]) -> None:
    from rich.text import Text  # this and the following load rich

    from sordino.cli.terminal import facts_of, table_with

    table = table_with(gap=2)
    table.add_column("\nwhat", overflow="fold")
    table.add_column("promised\nepsilon, delta", no_wrap=True)
    table.add_column("at\nleast", justify="right", no_wrap=True)
    table.add_column("\nexact", justify="right", no_wrap=True)
    table.add_column("\nverdict", no_wrap=True)
    for one in outcomes:
        if one.ways == "replayed" and one.private:
            continue  # told by their number alone
        is_sampled_only = one.private and one.verified is None
        words = "none found" if is_sampled_only else one.verdict  # a terminal is narrow
        verdict = Text(words, "green" if one.private else "bold red")
        table.add_row(Text(one.name), one.promised, one.found, one.exact, verdict)
    console.print(table)
    for one in outcomes:
        if not one.private:
            console.print(Text(f"\n{one.name}: {one.words}", style="red"))
    console.print()
    console.print(facts_of(facts[1:]))


def load(target: str) -> Callable[..., Any]:
    """Import a function by its name, from the current folder first."""
    module, colon, name = target.partition(":")
    if module.endswith(".py"):
        stem = Path(module).stem
        raise ValueError(
            f"{target!r} names a file; go to its folder and write {stem}:{name or 'function'}"
        )
    parts = [*module.split("."), *name.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise ValueError(f"{target!r} does not name a function; {_form(target)}")
    with _current_folder():
        found = _module(module)
    try:
        mechanism = attrgetter(name)(found)
    except AttributeError:
        raise ValueError(_no_name(found, module, name)) from None
    except Exception as error:  # what a file does when a name of it is looked up
        raise ValueError(f"looking up {target} failed with {_told(error)}") from None
    if not callable(mechanism):
        kind = type(mechanism).__name__
        raise ValueError(
            f"{target} is of type {kind} and cannot be called; name a function of the data"
        )
    return mechanism  # type: ignore[no-any-return]  # whatever the file holds


def read_value(text: str) -> Any:
    """Read a value as Python writes it; what is a plain word is text, and code is refused.

    >>> read_value("[1, 2]"), read_value("-3"), read_value("alice")
    ([1, 2], -3, 'alice')
    """
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        if not text.strip() or (
            text.strip()[0] not in _LITERAL_STARTS and not _BRACKETS.search(text)
        ):
            return text
    raise ValueError(
        f"the neighbour {text} cannot be read; write it as Python does, such as 3, [1, 2] or 'a'"
    )


def _form(target: str) -> str:
    """Say how a function is named; a dot may stand where the colon belongs."""
    module, dot, name = target.rpartition(".")
    if dot and all(part.isidentifier() for part in [*module.split("."), name]):
        return f"write {module}:{name}"
    return _FORM


@contextmanager
def _current_folder() -> Iterator[None]:
    """Let imports look into the current folder, as `python -m` does."""
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise ValueError(
                f"there is no module {error.name!r}; go to the folder that holds it, or install it"
            ) from None
        raise _failed(name, error) from None
    except (Exception, SystemExit) as error:
        raise _failed(name, error) from None


def _failed(name: str, error: BaseException) -> ValueError:
    return ValueError(
        f"importing {name} failed with {_told(error)}; see that 'python -c \"import {name}\"' works"
    )


def _told(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _no_name(found: Any, module: str, name: str) -> str:
    held = getattr(found, "__dict__", {})  # what a module would load on demand is not asked for
    public = [one for one, value in held.items() if callable(value) and one[:1] != "_"]
    near = get_close_matches(name, public, n=1)
    hint = f"did you mean {near[0]}?" if near else _FORM
    return f"module {module} has no {name}; {hint}"
