# SPDX-License-Identifier: Apache-2.0
"""Many ask at once: what is equal is charged once, and what is granted is what there is."""

import json
import sys
from typing import Any

import pytest

from tests.support.launch import launched

pytestmark = pytest.mark.long


def crowd(what: str, **more: object) -> dict[str, Any]:
    found = launched("tests.keeper.attack.crowds", {"what": what, **more}, seconds=1_200)
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    return found


def test_64_equal_requests_at_once_are_charged_once() -> None:
    assert crowd("equal", rounds=200)["charges"] == 200


@pytest.mark.soak
def test_64_equal_requests_at_once_are_charged_once_in_1_000_rounds() -> None:
    assert crowd("equal", rounds=1_000, duckdb=True)["charges"] == 1_000


def scarce(**more: object) -> None:
    found = crowd("scarce", **more)
    assert found["granted"] == 1_428
    assert len(found["gateways"]) > 1, "one worker has served all"


def test_through_four_gateways_exactly_what_fits_is_granted() -> None:
    scarce()


@pytest.mark.soak
def test_it_is_the_same_with_a_real_engine() -> None:
    scarce(duckdb=True)


@pytest.mark.soak
def test_64_clients_ask_for_five_minutes_and_nothing_fails() -> None:
    assert crowd("lasting", seconds=300, duckdb=True)["charges"] > 1_000
