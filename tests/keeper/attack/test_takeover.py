# SPDX-License-Identifier: Apache-2.0
"""Who takes the gateway over can spend, and can neither read nor overspend."""

import json
import sys
from typing import Any

import pytest

from tests.support.launch import launched

pytestmark = pytest.mark.long


def taken_over(seconds: float, seed: int) -> dict[str, Any]:
    found = launched(
        "tests.keeper.attack.takeover", {"seconds": seconds, "seed": seed}, seconds=600
    )
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    assert found["status 200"] > 0
    assert found["refused for a cap"] > 0
    assert found["made up, and replied to"] > 0
    assert found["idle"] == 1_000
    return found


def test_any_frames_for_ten_seconds_read_nothing_exact_and_exceed_no_cap() -> None:
    taken_over(10, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [2, 3])
def test_any_frames_for_two_minutes_read_nothing_exact_and_exceed_no_cap(seed: int) -> None:
    found = taken_over(120, seed)
    replies = sum(many for name, many in found.items() if name.startswith("status "))
    assert found["status 401"] < replies / 2, "most credentials were soon good for nothing"
