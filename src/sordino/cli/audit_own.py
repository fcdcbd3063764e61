# SPDX-License-Identifier: Apache-2.0
"""`sordino audit` without a name: the installed sordino audits itself."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import sordino
from sordino.auditing import audit
from sordino.auditing.own.functions import function_cases
from sordino.auditing.own.local import local_cases
from sordino.auditing.own.mechanisms import Case, cases
from sordino.auditing.own.plans import plan_cases, plans
from sordino.auditing.report import Outcome
from sordino.cli.audit import bar, number, tell, write_page
from sordino.cli.terminal import console_for
from sordino.cli.terminal import facts_of as listed

if TYPE_CHECKING:
    from sordino.cli.audit import Request

RUNS = 100_000  # of each mechanism that makes many at once
_SLOWER = 20  # times fewer of each other one
_FEWEST = 400


def audit_own(request: Request) -> bool:
    """Audit every mechanism and a few plans, show what came out, and tell whether all is well."""
    confidence = number("confidence", request.confidence)
    runs = RUNS if request.runs is None else request.runs
    began = perf_counter()
    outcomes = _outcomes(runs, confidence, as_json=request.as_json)
    seconds = perf_counter() - began
    broken = [one for one in outcomes if not one.private]
    facts = [
        ("version", f"sordino {sordino.__version__}"),
        ("looked at", f"{len(outcomes)} mechanisms and plans, in {seconds:.0f} seconds"),
        *_ways(outcomes),
        ("violations", f"{len(broken)}" if broken else "none found"),
        ("confidence", f"{100 * confidence:.8g} %, of all bounds together"),
    ]
    if runs < RUNS:
        facts.append(("remark", f"fewer runs than {RUNS:,} see little: a bound of 0 tells nothing"))
    if request.as_json:
        told = {
            "version": sordino.__version__,
            "confidence": confidence,
            "violations": len(broken),
            "audits": [one.to_json() for one in outcomes],
        }
        typer.echo(json.dumps(told, indent=2))
    else:
        _show(console_for(), facts, outcomes)
    if request.report is not None:
        write_page(request.report, "sordino, audited by itself", facts, outcomes)
        tell(request, "written", request.report)
    return not broken


def _outcomes(runs: int, confidence: float, *, as_json: bool) -> list[Outcome]:
    """Audit all; the chance of a false alarm is shared out among the mechanisms."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence:g}")
    every = [*cases(), *function_cases(), *local_cases(), *plan_cases()]
    each = 1 - (1 - confidence) / len(every)
    asked = list(plans())
    many = len(every) + len(asked)
    found: list[Outcome] = []
    with bar(as_json=as_json) as begin:
        for case in every:
            report = audit(
                case.mechanism,
                case.x,
                case.y,
                epsilon=case.epsilon,
                delta=case.delta,
                runs=_runs(case, runs),
                confidence=each,
                progress=begin(f"{len(found) + 1} of {many}: {case.name}"),
            )
            found.append(Outcome(case.name, report, case.verify(), described=case.described))
        for plan in asked:
            begin(f"{len(found) + 1} of {many}: {plan.name}")
            found.append(Outcome(plan.name, findings=tuple(map(str, plan.check().findings))))
    return found


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
    return runs if case.quick else max(runs // _SLOWER, min(runs, _FEWEST))


def _show(console: Console, facts: list[tuple[str, str]], outcomes: list[Outcome]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("\nwhat", overflow="fold")
    table.add_column("promised\nepsilon, delta", no_wrap=True)
    table.add_column("at\nleast", justify="right", no_wrap=True)
    table.add_column("\nexact", justify="right", no_wrap=True)
    table.add_column("\nverdict", no_wrap=True)
    for one in outcomes:
        if one.ways == "replayed" and one.private:
            continue  # told by their number alone
        said = one.verdict.replace("no violation found", "none found")  # a terminal is narrow
        verdict = Text(said, "green" if one.private else "bold red")
        table.add_row(Text(one.name), one.promised, one.found, one.exact, verdict)
    console.print(table)
    for one in outcomes:
        if not one.private:
            console.print(Text(f"\n{one.name}: {one.words}", style="red"))
    console.print()
    console.print(listed(facts[1:]))
