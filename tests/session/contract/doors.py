# SPDX-License-Identifier: Apache-2.0
"""What the laws of asking are tried on: small sessions, and what they are asked through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

import sordino as so
from sordino.catalog.frames import frame_catalog
from sordino.ledger.opening import open_ledger
from sordino.remote import RemoteSession
from sordino.session import Session
from tests.session.unit.interrupted import Interrupted

Either: TypeAlias = "Session | RemoteSession"
Door: TypeAlias = Callable[[Session], Either]
Sessions: TypeAlias = Callable[..., Either]
Broken: TypeAlias = Callable[[BaseException], Either]

FRAME = pa.table(
    {
        "person": [k % 400 for k in range(1_000)],
        "ward": ["north", "south"] * 500,
        "cost": [float(k % 97) for k in range(1_000)],
    }
)


def small(**budget: Any) -> Session:
    """A thousand rows of four hundred people, with any budget."""
    return so.table(
        FRAME,
        unit="person",
        bounds={"cost": (0, 100)},
        keys={"ward": ["north", "south", "west"]},
        rows=3,
        **(budget or {"epsilon": 10, "delta": 1e-6}),
    )


def failing(error: BaseException) -> Session:
    """A session whose engine always fails in one way."""
    catalog = frame_catalog(FRAME, unit="person", epsilon=1)
    return Session(catalog, engine=Interrupted(error), ledger=open_ledger(catalog, None))
