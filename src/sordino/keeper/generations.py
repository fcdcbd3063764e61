# SPDX-License-Identifier: Apache-2.0
"""Generations: the catalog that is served now, with its session."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Thread

from sordino.catalog.model import Catalog
from sordino.catalog.toml import read_catalog
from sordino.ledger.rules import terms_of
from sordino.session import Session
from sordino.session.opening import open_session

_DIGITS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """A catalog as it is served: its name, which anybody may know, and the session on it."""

    name: str
    catalog: Catalog
    session: Session


def name_of(text: bytes, catalog: Catalog) -> str:
    """Return the name of a catalog: another one for each change of its text or its limits."""
    terms = sorted((people, repr(terms)) for people, terms in terms_of(catalog).items())
    return hashlib.sha256(text + repr(terms).encode()).hexdigest()[:_DIGITS]


def open_generation(path: Path) -> Generation:
    """Open the catalog in a file, and its ledger."""
    text = path.read_bytes()
    catalog = read_catalog(path)
    return Generation(name_of(text, catalog), catalog, open_session(catalog))


class Generations:
    """The generation that is served; one that is replaced ends with the last of its questions."""

    def __init__(self, first: Generation) -> None:
        self._now = first
        self._users: dict[int, int] = {}  # by the identity of a generation
        self._changed = Condition()

    @property
    def now(self) -> Generation:
        """The generation that new requests meet."""
        return self._now

    def using(self) -> Use:
        """Use the present generation, as a context: it is not closed meanwhile."""
        return Use(self)

    def swap(self, new: Generation) -> Thread:
        """Let new requests meet another generation.

        The old one is closed once nobody uses it, by the thread that is returned: who swaps it is
        such a user.
        """
        with self._changed:
            old, self._now = self._now, new
        closing = Thread(target=self._close, args=(old,), daemon=True)
        closing.start()
        return closing

    def _close(self, old: Generation) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._users.get(id(old)))
        old.session.close()

    def take(self) -> Generation:
        """Count one more user of the present generation."""
        with self._changed:
            self._users[id(self._now)] = self._users.get(id(self._now), 0) + 1
            return self._now

    def leave(self, generation: Generation) -> None:
        """Count one user less."""
        with self._changed:
            self._users[id(generation)] -= 1
            if not self._users[id(generation)]:
                del self._users[id(generation)]
            self._changed.notify_all()


class Use:
    """The generation that one request meets, from its beginning to its end."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._held: Generation | None = None

    def __enter__(self) -> Generation:
        self._held = self._generations.take()
        return self._held

    def __exit__(self, *failure: object) -> None:
        if self._held is not None:
            self._generations.leave(self._held)
