# SPDX-License-Identifier: Apache-2.0
"""Forks: no connection to a SQLite file may be in two processes.

SQLite keeps one record of its locks for each file and process. A child that inherited an open
connection would believe that it holds locks which it does not, and its charges could be lost. So no
connection is open at the moment of a fork; each process opens its own when it needs it. Nor is one
being opened: while a ledger is made or opened, a connection to its file belongs to no store yet.
"""

from __future__ import annotations

import os
from threading import local
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from sordino.errors import LedgerError
from sordino.gate import Gate

if TYPE_CHECKING:
    from sordino.ledger.stores.sqlite.store import SqliteStore

STORES: WeakValueDictionary[int, SqliteStore] = WeakValueDictionary()
OPENING = Gate(patience=60.0)


class _Held(local):
    """The stores that the thread which forks holds meanwhile."""

    def __init__(self) -> None:
        self.stores: list[SqliteStore] = []


_HELD = _Held()


def check_not_inherited(name: str, file: tuple[int, int]) -> None:
    """Refuse a file of which this process inherited a connection after all."""
    if OPENING.is_cut:
        raise LedgerError(
            f"the ledger {name!r} cannot be used in this process: it was forked while another "
            "thread was opening a ledger; fork before, or start a process of its own"
        )
    if any(store.is_inherited(file) for store in stores()):
        raise LedgerError(
            f"the ledger {name!r} was in use when this process was forked; use it in a process "
            "that was forked before or after"
        )


def stores() -> list[SqliteStore]:
    """Return the stores that there are, whatever other threads add meanwhile."""
    return [store for held in STORES.valuerefs() if (store := held()) is not None]


def _before_fork() -> None:
    OPENING.close()  # first, so that no store comes to those that are held
    for store in sorted(stores(), key=id):  # in one order, so that no two threads wait in a ring
        _HELD.stores.append(store)  # first, because an interrupt may come into holding it
        store.hold()


def _go_on() -> None:
    while _HELD.stores:
        _HELD.stores.pop().go_on()


def _after_in_parent() -> None:
    _go_on()
    OPENING.open()


def _after_in_child() -> None:
    _go_on()
    OPENING.begin_in_child()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
