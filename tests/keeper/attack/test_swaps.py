# SPDX-License-Identifier: Apache-2.0
"""The catalog is swapped while questions are asked: every answer is one of one catalog."""

import json
import sys

import pytest

from tests.support.launch import launched

pytestmark = pytest.mark.long


def swapped(questions: int) -> None:
    found = launched("tests.keeper.attack.swaps", {"questions": questions}, seconds=1_800)
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    assert found["answers"] > questions / 2
    assert set(found["of each"]) == {"1", "2"}, "only one of the two catalogs was ever asked"
    assert found["statuses"]["answer 412"] > 0, "no quote ever met another catalog"
    assert found["statuses"]["swaps"] > 1


def test_300_questions_while_catalogs_are_swapped_are_answered_under_one_each() -> None:
    swapped(300)


@pytest.mark.soak
def test_10_000_questions_while_catalogs_are_swapped_are_answered_under_one_each() -> None:
    swapped(10_000)
