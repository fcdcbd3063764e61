# SPDX-License-Identifier: Apache-2.0
"""Places for ledgers: each test that asks for one runs for every kind of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ledger.contract.ledgers import KEY, Place, places

KINDS = ("memory", "sqlite", "postgres")
NAMES = [f"{kind}{keyed}" for kind in KINDS for keyed in ("", " with a key")]


def _place(name: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    kind, _, keyed = name.partition(" ")
    key = KEY if keyed else None

    def database() -> str:
        address: str = request.getfixturevalue("postgres").database()
        return address

    place = Place(kind, key, places(kind, folder, database, keyed=key is not None))
    try:
        yield place
        place.check()
    finally:
        place.remove()


@pytest.fixture(params=NAMES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place of every kind, with and without a key; the ledger in it is verified at the end."""
    yield from _place(request.param, tmp_path, request)


@pytest.fixture(params=KINDS)
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place of every kind, without a key."""
    yield from _place(request.param, tmp_path, request)


@pytest.fixture(params=KINDS[1:])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place in a file or on a server, which outlives the process."""
    yield from _place(request.param, tmp_path, request)
