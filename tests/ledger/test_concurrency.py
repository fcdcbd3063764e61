# SPDX-License-Identifier: Apache-2.0
"""Eight processes of sixteen threads want ten times as much as there is: they get exactly that.

What each of them saw is held against the ledger in ``tests/ledger/races.py``.
"""

import json
import sys
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import pytest

from tests.support.launch import launched
from tests.support.postgres import Server

pytestmark = pytest.mark.long

ANALYSTS = 4


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a new ledger can be made; the server is started only if it is needed."""
    if request.param == "sqlite":
        return str(tmp_path / "a.ledger")
    server: Server = request.getfixturevalue("postgres")
    return server.database()


def race(place: str, attempts: int, share: Fraction | None) -> dict[str, Any]:
    """Let a tenth of all attempts be granted, and check that exactly so many were."""
    grants = attempts // 10
    analysts = 1 if share is None else ANALYSTS
    told = {"place": place, "attempts": attempts, "grants": grants, "analysts": analysts}
    found = launched("tests.ledger.races", {**told, "share": str(share or 1)})
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    budget = grants + Fraction(1, 2)  # in prices, so that half of one is left over
    own = floor(budget * (share or 1))
    assert found["granted"] == min(grants, analysts * own)
    assert found["attempts"] == attempts
    return found


@pytest.mark.parametrize(
    ("share", "attempts"), [(None, 5_000), (Fraction(2, 5), 2_500), (Fraction(1, 5), 2_500)]
)
def test_exactly_what_there_is_is_granted(
    place: str, share: Fraction | None, attempts: int
) -> None:
    race(place, attempts, share)


@pytest.mark.soak
@pytest.mark.parametrize("piece", range(20))
def test_exactly_what_there_is_is_granted_in_a_million_attempts(place: str, piece: int) -> None:
    race(place, 25_000, (None, None, Fraction(2, 5), Fraction(1, 5))[piece % 4])
