# SPDX-License-Identifier: Apache-2.0
"""Keeper and gateway are killed at random moments under load: nothing is charged or answered twice.

What is checked after each kill of a keeper is in ``records.py``, with every hash of the ledger
computed anew; at the end of each site all that was cut off is asked again, and what the owner is
told of charges without an answer is compared with what there is.
"""

import json
import sys

import pytest

from tests.support.launch import launched

pytestmark = pytest.mark.long

PIECE = {"keeper": 200, "gateway": 200, "both": 100}
FEW = {"keeper": 6, "gateway": 6, "both": 4}


def campaign(kills: dict[str, int], seed: int, **more: object) -> None:
    told = {"kills": kills, "seed": seed, **more}
    found = launched("tests.keeper.attack.kills", told, seconds=1_200)
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    assert found["killed"] == kills
    assert found["seen"]["charges"] > 0
    assert found["seen"]["handed out after a repetition"] > 0
    assert found["seen"]["charges cut off"] > 0


@pytest.mark.parametrize("seed", range(2))
def test_1_000_kills_charge_nothing_twice_and_lose_nothing(seed: int) -> None:
    campaign(PIECE, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 110))
def test_5_000_kills_charge_nothing_twice_and_lose_nothing(seed: int) -> None:
    campaign(PIECE, seed)


def test_it_is_the_same_with_a_real_engine() -> None:
    campaign(FEW, 1, duckdb=True)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200, 204))
def test_400_kills_with_a_real_engine(seed: int) -> None:
    campaign({"keeper": 40, "gateway": 40, "both": 20}, seed, duckdb=True)
