# SPDX-License-Identifier: Apache-2.0
"""Broken mechanisms are caught at 99.9 % confidence within 10^6 runs, and their twins pass.

All generators are seeded, so each audit comes out the same every time. Before the seeds were fixed
a twin had a chance of at most 1/1000 to be called broken. What was found is printed: pytest -rP.
"""

from __future__ import annotations

import zlib

import pytest

from sordino.auditing import Report, audit
from tests.auditing.audit import choosing, noise, sparse
from tests.auditing.audit.fixture import Draw, Fixture, Seeded

EVERY = [*choosing.FIXTURES, *noise.FIXTURES, *sparse.FIXTURES]
MOST = 1_000_000
every = pytest.mark.parametrize("fixture", EVERY, ids=repr)


def audited(fixture: Fixture, draw: Draw, runs: int) -> Report:
    """Audit one of the two mechanisms, and print a line."""
    mechanism = Seeded(draw, zlib.crc32(fixture.name.encode()))
    report = audit(
        mechanism,
        fixture.x,
        fixture.y,
        epsilon=fixture.epsilon,
        delta=fixture.delta,
        runs=runs,
        confidence=0.999,
    )
    claimed = f"claimed {fixture.epsilon:g}, {fixture.delta:g}"
    print(  # noqa: T201  # shown by -rP
        f"{fixture.name} | {draw.__name__} | {claimed} | found {report.lower_bound:.3f} | "
        f"{report.runs:,} runs | {report.seconds:.2f} s | {report.verdict} | {report.event[:90]}"
    )
    return report


@every
def test_a_broken_mechanism_is_caught_within_a_million_runs(fixture: Fixture) -> None:
    report = audited(fixture, fixture.broken, MOST)
    assert report.verdict == "violation"
    assert report.runs <= MOST
    assert fixture.epsilon < report.lower_bound <= fixture.loss  # not more than there is


@every
def test_its_correct_twin_passes(fixture: Fixture) -> None:
    report = audited(fixture, fixture.twin, MOST // 10)
    assert report.verdict == "no violation found"
    assert report.lower_bound <= fixture.epsilon


@pytest.mark.soak
@every
def test_its_correct_twin_passes_in_a_million_runs(fixture: Fixture) -> None:
    assert audited(fixture, fixture.twin, MOST).verdict == "no violation found"


def test_every_fixture_has_a_name_of_its_own() -> None:
    assert len({fixture.name for fixture in EVERY}) == len(EVERY) == 18
