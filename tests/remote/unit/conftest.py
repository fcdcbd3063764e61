# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sordino.remote import RemoteSession
from sordino.remote.heads import Heads
from sordino.remote.wire import Wire
from tests.support.scripted import ScriptedServer

TOKEN = "sd_" + "s3cr3t" * 8

Connect = Callable[..., RemoteSession]


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep profiles and receipts of tests out of the home of whoever runs them."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        yield started


@pytest.fixture
def pauses() -> list[float]:
    """The seconds that a client has waited; nobody really waits."""
    return []


@pytest.fixture
def connect(server: ScriptedServer, pauses: list[float], tmp_path: Path) -> Iterator[Connect]:
    """Return what connects to the scripted server."""
    with ExitStack() as stack:

        def connected(**stated: Any) -> RemoteSession:
            heads = Heads(server.url, tmp_path / "heads")
            wire = Wire(server.url, TOKEN, heads=heads, rest=pauses.append, **stated)
            return stack.enter_context(RemoteSession(wire, heads))

        yield connected
