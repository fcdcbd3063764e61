# SPDX-License-Identifier: Apache-2.0
"""The law of the door finds faults: each mutant of the code that reads sources is noticed.

A mutant reads one type of column, its aim. Without a mutant nothing is found in any of them.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sordino.errors import CatalogError
from tests.engine.contract.doors import Tally, check
from tests.engine.contract.sources import every_held
from tests.session.attack.mutants.reading import READING

HELD = {held.label: held for held in every_held()}
LEAST = 40  # mutants
ERRORS = (CatalogError, LookupError, TypeError, ValueError, duckdb.Error, pa.ArrowException)


class Noticed(Exception):
    """Something is against the law; no more of it need be known."""


class Alarm(Tally):
    """A tally that ends the check at the first fault."""

    def note(self, fault: str) -> None:
        raise Noticed(fault)


def verdict(label: str, folder: Path) -> str | None:
    """Return what the law has against reading one type of column; to fail is against it too."""
    try:
        check([HELD[label]], 0, folder, questions=2, tally=Alarm())
    except Noticed as fault:
        return str(fault)
    except ERRORS as error:
        return f"opening fails: {type(error).__name__}"
    return None


def test_there_are_many_mutants() -> None:
    assert len(READING) >= LEAST


@pytest.mark.parametrize("label", sorted({label for label, _ in READING.values()}))
def test_nothing_is_found_without_a_mutant(label: str, tmp_path: Path) -> None:
    assert verdict(label, tmp_path) is None


@pytest.mark.parametrize("name", READING)
def test_every_mutant_is_found(name: str, tmp_path: Path) -> None:
    label, mutate = READING[name]
    with mutate():
        found = verdict(label, tmp_path)
    assert found is not None, f"nobody noticed that {name}"
    print(f"{name}: {found}")  # noqa: T201  # shown with -rP
