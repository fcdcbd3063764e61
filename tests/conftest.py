# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: how long one case takes depends on the machine and is no failure."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support.postgres import Server, shared, stop_shared
from tests.support.spark import stop_shared as stop_spark

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep all tests for good: looking through them for garbage, again and again, finds none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Let the end of the process find everything, or libraries say that something has leaked."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest: a worker that has nothing left cannot take part of a test."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def postgres() -> Server:
    """A PostgreSQL server that the tests of one worker share; it is made when first asked for."""
    return shared()


def pytest_sessionfinish() -> None:
    """Stop the servers that the tests of this worker shared, if any was asked for."""
    stop_shared()
    stop_spark()
