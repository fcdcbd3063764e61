# SPDX-License-Identifier: Apache-2.0
"""Each law is tried twice: on a session, and on the same session behind a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from sordino.session import Session
from tests.session.contract.doors import Broken, Door, Either, Sessions, failing, small
from tests.support.remotes import Server


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
    return lambda **budget: door(small(**budget))


@pytest.fixture
def broken(door: Door) -> Broken:
    """Return what opens a session whose engine always fails in one way."""
    return lambda error: door(failing(error))
