# SPDX-License-Identifier: Apache-2.0
"""Forks: no connection to a SQLite file may be in two processes.

SQLite keeps one record of its locks for each file and process. A child that inherited an open
connection would believe that it holds locks which it does not, and its charges could be lost. So no
connection is open at the moment of a fork; each process opens its own when it needs it.
"""

from __future__ import annotations

import os
from threading import local
from typing import TYPE_CHECKING
from weakref import WeakSet

from sordino.errors import LedgerError

if TYPE_CHECKING:
    from sordino.ledger.sqlite import SqliteStore

STORES: WeakSet[SqliteStore] = WeakSet()


class _Held(local):
    """The stores that the thread which forks holds meanwhile."""

    def __init__(self) -> None:
        self.stores: list[SqliteStore] = []


_HELD = _Held()


def check_not_inherited(name: str, file: tuple[int, int]) -> None:
    """Refuse a file of which this process inherited a connection after all."""
    if any(store.is_inherited(file) for store in STORES):
        raise LedgerError(
            f"the ledger {name!r} was in use when this process was forked; use it in a process "
            "that was forked before or after"
        )


def _before_fork() -> None:
    for store in sorted(STORES, key=id):  # in one order, so that no two threads wait in a ring
        store.hold()
        _HELD.stores.append(store)


def _after_fork() -> None:
    while _HELD.stores:
        _HELD.stores.pop().go_on()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
