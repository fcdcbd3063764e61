# SPDX-License-Identifier: Apache-2.0
"""Sordino audited by itself: every mechanism keeps its claim, by its law and in runs.

Runs draw from the random numbers of the system. All audits of this file together call a mechanism
broken that is not with a chance of at most 1e-6.
"""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

import sordino
from sordino.auditing import Report
from sordino.auditing.own.mechanisms import Case, cases, function_cases, local_cases
from sordino.auditing.own.plans import LEAVERS, Question, _catalog, plan_cases, plans
from sordino.auditing.questions import replay_question
from sordino.local.numbers import NumberProtocol
from sordino.local.protocol import Protocol
from sordino.mechanisms import ADDING, CHOOSING, RELEASING, smooth
from tests.local.contract.protocols import concrete

MECHANISMS = list(cases())
ASKED = list(plan_cases())
FUNCTIONS = list(function_cases())
LOCAL = list(local_cases())
EVERY = [*MECHANISMS, *FUNCTIONS, *LOCAL, *ASKED]
QUESTIONS = list(plans())
WITH_LAW = [case for case in (*MECHANISMS, *LOCAL) if case.law is not None]
SHARE = 1e-6 / len(EVERY)


def name(case: Case | Question) -> str:
    return case.name


def audited(case: Case, runs: int) -> Report:
    report = case.audit(runs, confidence=1 - SHARE)
    print(  # noqa: T201  # shown by -rP
        f"{case.name} | claimed {case.epsilon:.4g}, {case.delta:g} | "
        f"found {report.lower_bound:.3f} | {report.runs:,} runs | {report.verdict}"
    )
    return report


def test_every_mechanism_of_the_contract_list_is_audited() -> None:
    assert {case.kind for case in MECHANISMS} == {*ADDING, *CHOOSING, *RELEASING}
    assert len({case.name for case in MECHANISMS}) == len(MECHANISMS)


def test_every_local_protocol_is_audited() -> None:
    kinds = concrete(Protocol) | concrete(NumberProtocol)
    assert {case.kind for case in LOCAL} == kinds
    assert all(case.law is not None for case in LOCAL)


def test_every_function_that_releases_is_audited() -> None:
    """Those that are exported by the mechanisms and take an epsilon or runs to pay for."""
    places = [(sordino, name, name) for name in sordino.__all__ if name.islower()]
    places += [(smooth, name, f"smooth.{name}") for name in smooth.__all__ if name.islower()]
    found = {
        told
        for home, name, told in places
        if inspect.isfunction(value := getattr(home, name))
        and value.__module__.startswith("sordino.mechanisms")
        and {"epsilon", "runs"} & set(inspect.signature(value).parameters)
    }
    found -= {"price_accuracy"}  # which knows of public numbers only
    covered = {case.name.split(",")[0].split(" ")[0] for case in FUNCTIONS}
    assert found == covered
    assert len(found) == 17


def test_all_kinds_are_verified_from_their_law() -> None:
    local = {case.kind for case in LOCAL}
    assert {case.kind for case in WITH_LAW} == {*ADDING, *CHOOSING, *RELEASING, *local}


@pytest.mark.parametrize("case", WITH_LAW, ids=name)
def test_the_law_keeps_the_claim_and_no_much_smaller_one(case: Case) -> None:
    found = case.verify()
    assert found is not None
    assert found.verdict == "holds"
    if case.epsilon == 0:  # nothing is told, and nothing less can be claimed
        assert found.least_epsilon == found.least_delta == 0
        return
    assert 0 < found.least_epsilon <= case.epsilon * (1 + 1e-9)
    less = replace(case, epsilon=0.99 * found.least_epsilon).verify()
    assert less is not None
    assert less.verdict == "violation"


@pytest.mark.parametrize("case", EVERY, ids=name)
def test_runs_show_no_violation(case: Case) -> None:
    runs = 20_000 if case.quick else 600 if case in FUNCTIONS else 2_000
    assert audited(case, runs).verdict == "no violation found"


@pytest.mark.soak
@pytest.mark.parametrize("case", EVERY, ids=name)
def test_many_runs_show_no_violation(case: Case) -> None:
    assert audited(case, 1_000_000 if case.quick else 30_000).verdict == "no violation found"


QUICK = [case for case in [*MECHANISMS, *LOCAL, *ASKED] if case.quick and not case.delta]


@pytest.mark.parametrize("case", QUICK, ids=name)
def test_runs_refute_a_claim_of_a_tenth(case: Case) -> None:
    """The loss is there to be seen: far above a tenth of it, 20 standard deviations or more."""
    report = audited(replace(case, epsilon=case.epsilon / 10), 100_000)
    assert report.verdict == "violation"


@pytest.mark.parametrize("place", range(len(QUESTIONS)))
def test_a_question_tells_nothing_before_noise(place: int) -> None:
    """One of the people who are hard to hide leaves, each in turn."""
    found = QUESTIONS[place].check((LEAVERS[place % len(LEAVERS)],))
    assert found.findings == ()
    assert found.verdict == "no violation found"


@pytest.mark.soak
@pytest.mark.parametrize("question", QUESTIONS, ids=name)
def test_a_question_tells_nothing_whoever_leaves(question: Question) -> None:
    assert question.check(tuple(range(24))).findings == ()


def test_two_people_who_leave_together_are_found() -> None:
    """They are no neighbours; more rows go than the plan declares."""
    found = replay_question(_catalog(), _catalog(0, 1), "SELECT COUNT(*) FROM visits", epsilon=1)
    assert found.verdict == "violation"
