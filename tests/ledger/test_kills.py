# SPDX-License-Identifier: Apache-2.0
"""Workers are killed at every point and at random: no answer is ever seen that is not paid for.

What is checked after each round of one to three kills is in ``tests/ledger/history.py``; besides,
the ledger is opened and verified as a whole each time.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.kills import RANDOM
from tests.support.faults import Point
from tests.support.launch import launched
from tests.support.postgres import Server

pytestmark = pytest.mark.long

INSIDE = [point.name for point in Point if point not in (Point.PARSED, Point.SENT)]


def deaths(inside: int, around: int, rest: int) -> dict[str, int]:
    """Return how often to kill at each point from the charge to the response, and elsewhere."""
    ends = dict.fromkeys((Point.PARSED.name, Point.SENT.name), around)
    return {**dict.fromkeys(INSIDE, inside), **ends, RANDOM: rest}


PIECE = deaths(13, 4, 125)  # 250 kills; four times is 1,000 with 52 at each point inside
SOME = deaths(6, 3, 40)  # 100 kills
FEW = deaths(2, 1, 10)  # 30 kills


def campaign(place: Path | str, kills: dict[str, int], seed: int, **more: object) -> dict[str, Any]:
    found = launched(
        "tests.ledger.kills", {"place": str(place), "kills": kills, "seed": seed, **more}
    )
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    assert found["killed"] == kills
    assert found["seen"]["whole answers"] > 0
    assert found["seen"]["burnt charges"] > 0
    return found


@pytest.mark.parametrize("seed", range(4))
def test_no_kill_gives_an_answer_that_is_not_paid_for(tmp_path: Path, seed: int) -> None:
    campaign(tmp_path, PIECE, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 140))
def test_10_000_kills_give_no_answer_that_is_not_paid_for(tmp_path: Path, seed: int) -> None:
    campaign(tmp_path, PIECE, seed)


def test_it_is_the_same_with_a_real_engine(tmp_path: Path) -> None:
    campaign(tmp_path, FEW, 1, duckdb=True)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200, 205))
def test_500_kills_with_a_real_engine(tmp_path: Path, seed: int) -> None:
    campaign(tmp_path, SOME, seed, duckdb=True)


def test_it_is_the_same_with_postgresql(postgres: Server) -> None:
    campaign(postgres.database(), SOME, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(300, 310))
def test_1_000_kills_with_postgresql(postgres: Server, seed: int) -> None:
    campaign(postgres.database(), SOME, seed)


def test_answers_that_are_sent_before_they_are_kept_are_found_out(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="an answer was seen before it was kept"):
        campaign(tmp_path, {Point.HALF_SENT.name: 1}, 1, careless=True)


def made(what: str, place: Path, kills: int, seed: int) -> dict[str, int]:
    told = {"what": what, "place": str(place), "kills": kills, "seed": seed}
    found: dict[str, int] = launched("tests.ledger.makings", told)
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    assert sum(found.values()) == kills
    return found


def test_a_ledger_that_is_being_made_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    found = made("make", tmp_path, 60, 1)
    assert found["before it is named"]
    assert found["with two names"]
    assert found["statement"] >= 50


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(400, 405))
def test_500_kills_while_a_ledger_is_made(tmp_path: Path, seed: int) -> None:
    made("make", tmp_path, 100, seed)


def test_a_ledger_that_is_carried_over_keeps_what_was_spent(tmp_path: Path) -> None:
    found = made("migrate", tmp_path, 50, 1)
    assert found["statement"] >= 40


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(500, 505))
def test_500_kills_while_a_ledger_is_carried_over(tmp_path: Path, seed: int) -> None:
    made("migrate", tmp_path, 100, seed)
