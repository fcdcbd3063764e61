# SPDX-License-Identifier: Apache-2.0
"""A gateway in a process of its own before a keeper that only speaks frames."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.gateways import RunningGateway, start_gateway
from tests.support.keepers import FakeKeeper, echo


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder with a short name: that of a socket has at most 107 bytes."""
    with TemporaryDirectory(prefix="sordino-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def running_keeper(folder: Path) -> Iterator[FakeKeeper]:
    with FakeKeeper(folder / "keeper.sock") as keeper:
        yield keeper


@pytest.fixture
def keeper(running_keeper: FakeKeeper) -> FakeKeeper:
    running_keeper.answering = echo
    running_keeper.requests.clear()
    return running_keeper


@pytest.fixture(scope="module")
def gateway(running_keeper: FakeKeeper, folder: Path) -> Iterator[RunningGateway]:
    log = folder / "access.log"
    with start_gateway(running_keeper.path, "--access-log", str(log)) as gateway:
        yield gateway
