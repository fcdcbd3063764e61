# SPDX-License-Identifier: Apache-2.0
"""Accepted statements mean what they mean in SQL: exact numbers against plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import pytest

from sordino.catalog.model import Limits
from sordino.engine.protocol import OpenEngine
from sordino.query.tree import KeyRef
from tests.engine.engines import ENGINES
from tests.engine.reference.noiseless import Noiseless, slack_of
from tests.engine.reference.sql import evaluate
from tests.fixtures.hospital import DISEASES, REGIONS, filled, hospital
from tests.fixtures.sql_cases import accepted
from tests.session.attack.neighbours.dice import dice
from tests.support.trace import look, prepare

NOTES = (None, "OK", " ok ", "abc", "abd x", "5", "3.5", "high fever", "a_b", "AxB", "2023-06-01")
CITIES = ("ayton", "Beeford", "ceeham", "nowhere", None)
WIDE = Limits(rows=64, groups=64)  # nobody has so many


def _rows() -> dict[str, list[dict[str, Any]]]:
    """Return rows within all declared bounds; costs are whole, so that grids hold them."""
    random = dice(2024)
    visits: list[dict[str, Any]] = []
    for patient in range(120):
        for _ in range(random.randint(1, 4)):
            day = date(2023, 1, 1) + timedelta(days=random.randrange(730))
            cost = random.choice((None, *(random.randrange(5001) for _ in range(9))))
            visit = {
                "patient_id": patient,
                "visit_id": len(visits),
                "disease": random.choice((*DISEASES, DISEASES[0], None)),
                "ward": random.randint(1, 40),
                "cost": None if cost is None else float(cost),
                "age": random.choice((None, *(random.randint(0, 120) for _ in range(9)))),
                "day": random.choice((None, day, day, day)),
                "note": random.choice(NOTES),
                "urgent": random.choice((True, False, None)),
            }
            visits.append(visit)
    patients = [
        {
            "patient_id": patient,
            "sex": random.choice("fmx"),
            "born": random.randint(1900, 2024),
            "city": random.choice(CITIES),
        }
        for patient in range(0, 120, 2)
    ]
    prescriptions = [
        {
            "visit_id": random.choice((None, *range(0, len(visits), 7))),
            "drug": random.choice(("aspirin", "ibuprofen")),
            "dose": float(random.randrange(1001)),
        }
        for _ in range(80)
    ]
    cities = [
        {"name": name, "region": region}
        for name, region in zip(("ayton", "beeford", "Beeford", "ceeham"), REGIONS, strict=True)
    ]
    survey = [
        {"q1": random.randint(1, 5), "income": float(random.randrange(200_001))} for _ in range(200)
    ]
    return {
        "visits": visits,
        "patients": patients,
        "prescriptions": prescriptions,
        "cities": cities,
        "survey": survey,
    }


@pytest.fixture(scope="module")
def engines() -> Iterator[list[OpenEngine]]:
    tables = {name: filled(name, rows) for name, rows in ROWS.items()}
    made = [ENGINES[name](hospital(tables), threads=1) for name in sorted(ENGINES)]
    yield made
    for engine in made:
        engine.close()


ROWS = _rows()


@pytest.mark.parametrize("sql", accepted())
def test_a_statement_means_what_it_means_in_sql(sql: str, engines: list[OpenEngine]) -> None:
    wanted = evaluate(sql, ROWS, engines[0].catalog)
    for engine in engines:
        prepared = prepare(engine, sql, epsilon=Fraction(1000), limits=WIDE)
        found = Noiseless(prepared.plan, look(engine, prepared)).rows()
        slack = slack_of(prepared.plan)
        # A group without a key of its public list is told in SQL and is left out here.
        rows = [row for row in wanted.rows if not _unlisted(row, prepared.plan.query)]
        assert len(found) == len(rows)
        if not wanted.ordered:
            found, rows = sorted(found, key=_order), sorted(rows, key=_order)
        for mine, theirs in zip(found, rows, strict=True):
            assert all(_near(a, b, slack) for a, b in zip(mine, theirs, strict=True)), (
                mine,
                theirs,
            )


def _unlisted(row: tuple[Any, ...], query: Any) -> bool:
    """Tell whether a key of a row, as an output shows it, is on no list."""
    for value, output in zip(row, query.post.outputs, strict=True):
        if isinstance(output.scalar, KeyRef):
            key = query.keys[output.scalar.index]
            if key.domain is not None and key.bins is None and value not in key.domain:
                return True
    return False


def _order(row: tuple[Any, ...]) -> tuple[str, ...]:
    numbers = (int, float, Fraction)
    return tuple(f"{float(v):.3f}" if isinstance(v, numbers) else str(v) for v in row)


def _near(a: Any, b: Any, slack: float) -> bool:
    if isinstance(a, int | float | Fraction) and isinstance(b, int | float | Fraction):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=slack)
    return bool(a == b)
