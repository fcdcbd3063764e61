# SPDX-License-Identifier: Apache-2.0
"""What leaves the door is a function of a row and the catalog: total, exact, injective on ids.

Every kind of source, every type of column in it, every declared type: tables of poison are read and
compared with the law in plain Python, and with what is read when one person is not there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino.query.types import Type
from tests.engine.contract.doors import Tally, check
from tests.engine.contract.sources import Held, every_held
from tests.session.attack.neighbours.dice import dice

TESTED, SOAKED = 20_000, 500_000
SEEDS, MORE = range(3), 120  # of the long campaign, and random values beside the known ones
SIZE = 14  # types of columns that are read at once


def batches() -> list[tuple[Held, ...]]:
    """Return types of columns of one kind of source each, a few at a time."""
    kinds: dict[str, list[Held]] = {}
    for held in every_held():
        kinds.setdefault(held.kind, []).append(held)
    return [
        tuple(every[start : start + SIZE])
        for every in kinds.values()
        for start in range(0, len(every), SIZE)
    ]


def fewest(every: tuple[Held, ...], *, more: int = 0) -> int:
    """Return how many cases there are at least: those of types that must be accepted.

    Each value is read twice in each declared type, and once as an id in those that ids can have.
    """
    cases = 0
    for held in every:
        ids = sum(held.ids and kind in held.fits for kind in (Type.INTEGER, Type.TEXT))
        cases += len(held.poison(dice(0), more)) * (2 * len(held.fits) + ids)
    return cases


def judge(tally: Tally, least: int) -> None:
    shown = "\n".join(tally.faults[:20])
    assert not tally.faults, f"{len(tally.faults)} violations in {tally.cases}\n{shown}"
    assert tally.cases.total() >= least
    print(f"{tally.cases.total()} cases")  # noqa: T201  # shown with -rP


def name_of(every: tuple[Held, ...]) -> str:
    return f"{every[0].label} to {every[-1].name}"


def test_there_is_enough_poison() -> None:
    kinds = {held.kind for held in every_held()}
    assert kinds == {
        "arrow", "parquet", "files", "dictionary", "pandas", "polars", "csv", "duckdb", "postgres"
    }  # fmt: skip
    assert sum(map(fewest, batches())) >= TESTED
    assert len(SEEDS) * sum(fewest(every, more=MORE) for every in batches()) >= SOAKED


@pytest.mark.parametrize("every", batches(), ids=name_of)
def test_poison_leaves_the_door_as_the_law_says(every: tuple[Held, ...], tmp_path: Path) -> None:
    judge(check(list(every), 0, tmp_path), fewest(every))


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("every", batches(), ids=name_of)
def test_much_poison_leaves_the_door_as_the_law_says(
    every: tuple[Held, ...], seed: int, tmp_path: Path
) -> None:
    tally = check(list(every), seed + 1, tmp_path, more=MORE, questions=9)
    judge(tally, fewest(every, more=MORE))
