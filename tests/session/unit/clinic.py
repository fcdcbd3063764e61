# SPDX-License-Identifier: Apache-2.0
"""A small clinic on disk: its rows, its catalog, and what its ledger says."""

import os
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sordino.ledger.history import entries
from sordino.remote import RemoteSession
from sordino.session import Session

PEOPLE = 100
SQL = "SELECT COUNT(*) AS n FROM visits"
COLUMNS = '[tables.visits.columns]\nperson = "integer"\ncost = { type = "real", bounds = [0, 9] }\n'
VISITS = f'[tables.visits]\nparquet = "visits.parquet"\nunit = "person"\n{COLUMNS}'
_SECONDS = count(1)
DEAR = 1000  # so much that a count is exact but for a chance of e**-1000


def rows(people: int = PEOPLE) -> pa.Table:
    return pa.table({"person": list(range(people)), "cost": [float(k % 9) for k in range(people)]})


def write_rows(path: Path, people: int = PEOPLE) -> None:
    """Write so many people, at a time at which the file was not written before."""
    pq.write_table(rows(people), path)
    written_later(path)


def written_later(path: Path) -> None:
    """Give a file a time that it did not have before, however coarse the clock of the disk is."""
    moment = path.stat().st_mtime_ns + next(_SECONDS) * 10**9
    os.utime(path, ns=(moment, moment))


def write_catalog(folder: Path, *sections: str, budget: str = "epsilon = 10000") -> Path:
    path = folder / "sordino.toml"
    path.write_text("\n".join([f"[budget]\n{budget}", *(sections or (VISITS,))]), "utf-8")
    return path


def clinic(folder: Path, **stated: Any) -> Path:
    """Write a clinic of a hundred people and return its catalog."""
    write_rows(folder / "visits.parquet")
    return write_catalog(folder, **stated)


def charges(session: Session | RemoteSession) -> int:
    if isinstance(session, RemoteSession):
        return sum(entry["kind"] == "charge" for entry in session.history(last=10**6))
    return sum(entry.kind == "charge" for entry in entries(session.ledger))


def spent(session: Session | RemoteSession) -> float:
    """What is gone of the one budget, by all together."""
    (found,) = session.budget
    return float(found.cap.value - found.in_all.value)
