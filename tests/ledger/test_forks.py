# SPDX-License-Identifier: Apache-2.0
"""A ledger that is open when a process forks: parents and children lose nothing by it."""

import json
import sys
from pathlib import Path

import pytest

from tests.ledger.launch import launched


def families(place: Path, many: int, seed: int) -> None:
    told = {"place": str(place), "families": many, "seed": seed}
    found = launched("tests.ledger.forks", told)
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    assert found["charges"] > many


def test_forks_that_share_a_ledger_lose_no_charge(tmp_path: Path) -> None:
    families(tmp_path, 15, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 11_000, 1_000))
def test_1_000_families_of_forks_lose_no_charge(tmp_path: Path, seed: int) -> None:
    families(tmp_path, 100, seed)
