# SPDX-License-Identifier: Apache-2.0
"""Audits of correct mechanisms raise no more alarms than their confidence allows.

Each mechanism claims exactly what it loses on the pair it is run on. At 99 % confidence one audit
in a hundred may be wrong, so the number of alarms is at most binomial with chance 0.01; the tests
fail above its quantile at 1 - 1e-6, which is their own rate of false alarms.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from sordino.auditing import audit, batched
from tests.auditing.statistical.audited import CORRECT

ALPHA = 1e-6
SLOW = {"objects": 60, "vectors": 80}  # audits; they take ten times as long
AUDITS = 310
RUNS = 3_000


def alarms(name: str, audits: int, runs: int, seed: int) -> int:
    case = CORRECT[name]
    mechanism = case.make(np.random.default_rng(seed))
    epsilon, delta = case.epsilon, case.delta
    reports = (
        audit(mechanism, case.x, case.y, epsilon=epsilon, delta=delta, runs=runs, confidence=0.99)
        for _ in range(audits)
    )
    return sum(not report.private for report in reports)


def most(audits: int) -> int:
    return int(binom.ppf(1 - ALPHA / len(CORRECT), audits, 0.01))


def test_two_thousand_audits_are_made() -> None:
    assert sum(SLOW.get(name, AUDITS) for name in CORRECT) == 2_000


@pytest.mark.parametrize("name", CORRECT)
def test_correct_mechanisms_raise_no_more_alarms_than_expected(name: str) -> None:
    audits = SLOW.get(name, AUDITS)
    assert alarms(name, audits, RUNS, seed=11) <= most(audits)


@pytest.mark.soak
@pytest.mark.parametrize("name", CORRECT)
@pytest.mark.parametrize("runs", [1_000, 20_000, 100_000])
def test_correct_mechanisms_raise_no_more_alarms_in_long_campaigns(name: str, runs: int) -> None:
    audits = max(50, 10**7 // runs // (10 if name in SLOW else 1))
    assert alarms(name, audits, runs, seed=12) <= most(audits)


def told_apart(mechanism: Callable[..., Any], audits: int) -> int:
    reports = (
        audit(mechanism, 0, 1, epsilon=0.0, confidence=0.5, runs=2_000) for _ in range(audits)
    )
    return sum(not report.private for report in reports)


def test_noise_alone_is_seldom_told_apart_even_at_half_confidence() -> None:
    """A bound that saw the runs it was chosen on would tell almost every pair apart."""
    generator = np.random.default_rng(14)

    @batched
    def mechanism(_data: int, runs: int) -> Any:
        return generator.normal(size=(runs, 2))

    audits = 150
    assert told_apart(mechanism, audits) <= binom.ppf(1 - ALPHA, audits, 0.5)


def test_noise_that_comes_again_would_be_told_apart() -> None:
    """The test above can fail: here the fresh runs repeat the runs that the event is chosen on."""

    def again(seed: int) -> Callable[..., Any]:
        drawn = [np.random.default_rng((seed, side)).normal(size=(250, 2)) for side in (0, 1)]

        @batched
        def mechanism(data: int, runs: int) -> Any:
            return np.resize(drawn[data], (runs, 2))

        return mechanism

    audits = 40
    found = sum(told_apart(again(seed), 1) for seed in range(audits))
    assert found > binom.ppf(1 - ALPHA, audits, 0.5)


@pytest.mark.parametrize("name", ["laplace", "geometric", "words", "gaussian"])
def test_the_same_audits_do_raise_alarms_when_too_little_is_claimed(name: str) -> None:
    case = CORRECT[name]
    mechanism = case.make(np.random.default_rng(13))
    found = [
        audit(mechanism, case.x, case.y, epsilon=0.4, delta=case.delta, runs=RUNS, confidence=0.99)
        for _ in range(5)
    ]
    assert not any(report.private for report in found)
