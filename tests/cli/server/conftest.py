# SPDX-License-Identifier: Apache-2.0
"""One demonstration for all tests that only look at a server."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.servers import RunningServer, serving


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short name, for the path of a socket has at most 107 bytes."""
    with TemporaryDirectory(prefix="s-") as folder:
        yield Path(folder)


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving("--demo", errors=tmp_path_factory.mktemp("demo") / "errors") as server:
        yield server


@pytest.fixture
def owners(demo: RunningServer, tmp_path: Path) -> Path:
    """A file with the owner's token."""
    file = tmp_path / "token"
    file.write_text(demo.token("owner"), "utf-8")
    file.chmod(0o600)
    return file
