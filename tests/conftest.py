# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: how long one case takes depends on the machine and is no failure."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support.postgres import Server

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server that the tests of one worker share; it is made when first asked for."""
    with Server() as server:
        yield server
