# SPDX-License-Identifier: Apache-2.0
"""Questions in SQL that sordino is audited on: invented visits to a hospital, with and without one.

Each question is asked of all people and of all but one, for several people who are hard to hide:
many rows, values beyond the bounds, wards that were not declared, nothing at all. Before noise the
SQL, the price, the mechanisms and the form of the answer must be the same, and no exact number may
move further than the plan declares. And some are asked many times, to look at the answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.auditing.own.mechanisms import Case
from sordino.auditing.questions import replay_question
from sordino.auditing.replays.differences import Finding
from sordino.catalog.frames import frame_catalog
from sordino.catalog.model import Catalog
from sordino.session import Session, table

_PEOPLE = 24
_WARDS = ("Children", "Emergency", "Surgery")
_MEASURES = (
    "COUNT(*)",
    "COUNT(DISTINCT person)",
    "SUM(cost)",
    "AVG(cost)",
    "SUM(days), COUNT(cost)",
    "MEDIAN(days)",
    "STDDEV(cost)",
    "SUM(cost * days)",
)
_FILTERS = ("", "urgent", "cost > 50 OR days IS NULL")
LEAVERS = (0, 1, 2, 3)


@dataclass(frozen=True)
class Checked:
    """What the neighbours of one question have told."""

    findings: tuple[Finding, ...]
    neighbours: int

    @property
    def verdict(self) -> str:
        """Whether anything tells neighbours apart."""
        return "violation" if self.findings else "no violation found"

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.verdict}, {self.neighbours} neighbours", *map(str, self.findings)]
        )


@dataclass(frozen=True)
class Question:
    """A question in SQL about the invented visits."""

    sql: str

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return self.sql

    def check(self, leavers: tuple[int, ...] = LEAVERS) -> Checked:
        """Ask it of all people and of all but one, for each of those who leave."""
        findings: list[Finding] = []
        everybody = _catalog()
        for person in leavers:
            found = replay_question(everybody, _catalog(person), self.sql, epsilon=1)
            findings += found.findings
        return Checked(tuple(findings), len(leavers))


def plans() -> Iterator[Question]:
    """Yield a sample of questions: every aggregate with every filter, in turn with groups."""
    for place, (measure, given) in enumerate(itertools.product(_MEASURES, _FILTERS)):
        keys, groups = ("ward, ", " GROUP BY ward") if place % 2 else ("", "")
        where = f" WHERE {given}" if given else ""
        yield Question(f"SELECT {keys}{measure} FROM visits{where}{groups}")  # noqa: S608 - ours


def plan_cases() -> Iterator[Case]:
    """Yield questions that are asked many times, through a session that charges and answers.

    A table has many wards, all with as many people, and nobody is in two wards; so each ward is
    one run of its own, and its neighbour is the same ward with one person more.
    """
    for measure in ("COUNT(*)", "SUM(cost)", "AVG(cost)"):
        sql = f"SELECT ward, {measure} AS told FROM visits GROUP BY ward"  # noqa: S608 - ours
        name = f"SQL, {measure} by ward"
        yield Case(name, Session, _Wards(sql), 2, 3, 1.0, described=sql)


def _catalog(*leavers: int) -> Catalog:
    """Everybody but some: the rows of each person depend on the number of the person alone."""
    rows = [row for person in range(_PEOPLE) if person not in leavers for row in _visits(person)]
    names = ("person", "ward", "cost", "days", "urgent")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return frame_catalog(
        columns,
        unit="person",
        name="visits",
        bounds={"cost": (0, 100), "days": (0, 10)},
        keys={"ward": _WARDS},
        types={
            "person": "integer",
            "ward": "text",
            "cost": "real",
            "days": "integer",
            "urgent": "boolean",
        },
        rows=3,
        epsilon=10,
    )


def _visits(person: int) -> Iterator[tuple[Any, ...]]:
    match person:
        case 0:  # in every ward, at every bound, more rows than count
            for visit in range(12):
                yield person, _WARDS[visit % 3], 100.0, 10, True
        case 1:  # beyond the bounds
            for visit in range(3):
                yield person, _WARDS[visit], 1e300, -(10**9), True
        case 2:  # nothing is known
            yield person, None, None, None, None
            yield person, "Cellar", float("nan"), None, False
        case 3:  # far below, in one ward
            for _ in range(3):
                yield person, _WARDS[0], -float("inf"), 10, False
        case _:
            yield person, _WARDS[person % 3], float(7 * person % 100), person % 11, person % 2 == 0


class _Wards:
    """Answers of many wards at once; the data are how many people each ward has."""

    batch = True
    wards = 2_000

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._sessions: dict[int, Session] = {}

    def __call__(self, people: int, runs: int) -> Any:
        session = self._sessions.get(people)
        if session is None:
            session = self._sessions[people] = self._open(people)
        asks = -(-runs // self.wards)
        answers = [session.ask(self._sql, epsilon=1, fresh=True) for _ in range(asks)]
        values = [answer.column("told").values for answer in answers]
        return np.array(values, dtype=np.float64).ravel()[:runs]

    def _open(self, people: int) -> Session:
        wards = np.arange(self.wards)
        size = self.wards * people
        columns = {
            "person": np.arange(size),
            "ward": np.tile(wards, people),
            "cost": np.repeat([10.0, 90.0, 100.0][:people], self.wards),
        }
        return table(
            columns,
            unit="person",
            name="visits",
            bounds={"cost": (0, 100)},
            keys={"ward": wards.tolist()},
            types={"ward": "integer"},
            rows=1,
            epsilon=10**6,
        )
