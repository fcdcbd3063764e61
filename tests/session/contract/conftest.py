# SPDX-License-Identifier: Apache-2.0
"""Each law is tried twice: on a session, and on the same session behind a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

import sordino as so
from sordino.catalog.frames import frame_catalog
from sordino.ledger.opening import open_ledger
from sordino.remote import RemoteSession
from sordino.session import Session
from tests.session.unit.interrupted import Interrupted
from tests.support.remotes import Server

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


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[], Server]]:
    """A server, started for the first test that needs one."""
    with ExitStack() as stack:
        started: list[Server] = []

        def server() -> Server:
            if not started:
                started.append(stack.enter_context(Server()))
            return started[0]

        yield server


@pytest.fixture(params=["local", "remote"])
def door(request: pytest.FixtureRequest, servers: Callable[[], Server]) -> Iterator[Door]:
    """Return what a session is asked through: itself, or a server in front of it."""
    with ExitStack() as stack:

        def ask(session: Session) -> Either:
            stack.enter_context(session)
            if request.param == "local":
                return session
            return stack.enter_context(servers().open(session))

        yield ask


@pytest.fixture
def session(door: Door) -> Sessions:
    """Return what opens the same small table with any budget."""

    def opened(**budget: Any) -> Either:
        return door(
            so.table(
                FRAME,
                unit="person",
                bounds={"cost": (0, 100)},
                keys={"ward": ["north", "south", "west"]},
                rows=3,
                **(budget or {"epsilon": 10, "delta": 1e-6}),
            )
        )

    return opened


@pytest.fixture
def broken(door: Door) -> Broken:
    """Return what opens a session whose engine always fails in one way."""

    def opened(error: BaseException) -> Either:
        catalog = frame_catalog(FRAME, unit="person", epsilon=1)
        engine = Interrupted(error)
        return door(Session(catalog, engine=engine, ledger=open_ledger(catalog, None)))

    return opened
