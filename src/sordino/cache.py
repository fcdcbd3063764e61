# SPDX-License-Identifier: Apache-2.0
"""Shelves: what was made lately is kept for the next use, by how much memory it takes.

A cache that counts its entries grows with their size, and in a process that lives long that is the
size of the largest ones. A shelf has room for so many bytes, and what was used least lately goes.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Hashable
from functools import update_wrapper
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

MEGABYTE = 1 << 20


class Shelf(Generic[T]):
    """Things by key, as many of those used last as there is room for.

    What takes more than all the room is handed over and not kept. A shelf may be shared by threads:
    two that look for the same thing at once may both make it, and get the same one.
    """

    __slots__ = ("__weakref__", "_held", "_lock", "_room", "_things", "_weigh")

    def __init__(self, room: int, weigh: Callable[[T], int]) -> None:
        self._room, self._weigh = room, weigh
        self._lock = RLock()  # a handler of a signal may take things, too
        # What was used least lately is first. An OrderedDict would work out the hash of every key
        # whenever its values are counted, and that of a question is slow.
        self._things: dict[Hashable, tuple[T, int]] = {}
        self._held = 0
        _shelves.add(self)

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept by a key, or make it and keep it."""
        with self._lock:
            kept = self._things.pop(key, None)
            if kept is not None:
                self._things[key] = kept  # as the last one
                return kept[0]
        made = make()
        weight = self._weigh(made)
        with self._lock:
            first = self._things.get(key)
            if first is not None:
                return first[0]
            if weight <= self._room:
                self._make_room(weight)
                # An interrupt in between leaves too much counted, which is counted anew when there
                # seems to be no room.
                self._held += weight
                self._things[key] = made, weight
        return made

    def _make_room(self, weight: int) -> None:
        if self._held + weight <= self._room:
            return
        things = list(self._things.items())  # at once, whoever interrupts
        held = sum(one for _, (_, one) in things)
        for key, (_, less) in things:
            if held + weight <= self._room:
                break
            self._things.pop(key, None)
            held -= less
        self._held = held

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._things.clear()
            self._held = 0

    @property
    def held(self) -> int:
        """How many bytes are kept."""
        return self._held

    def __len__(self) -> int:
        return len(self._things)

    def _renew(self) -> None:
        """Begin anew in a child process, where another thread may have left things half done."""
        self._lock = RLock()
        self._things = {}
        self._held = 0


_shelves: weakref.WeakSet[Shelf[Any]] = weakref.WeakSet()


def _renew_all() -> None:
    for shelf in list(_shelves):
        shelf._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


class Kept(Generic[P, T]):
    """A function whose results are on a shelf, by its arguments."""

    __wrapped__: Callable[P, T]

    def __init__(self, function: Callable[P, T], shelf: Shelf[T]) -> None:
        update_wrapper(self, function)
        self.shelf = shelf

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        key = self.__wrapped__, args, tuple(sorted(kwargs.items()))
        return self.shelf.take(key, lambda: self.__wrapped__(*args, **kwargs))

    def cache_clear(self) -> None:
        """Forget all results, as for ``functools.lru_cache``."""
        self.shelf.clear()


def kept_on(shelf: Shelf[T]) -> Callable[[Callable[P, T]], Kept[P, T]]:
    """Keep the results of a function on a shelf, which other functions may share.

    >>> @kept_on(Shelf(100, weigh=len))
    ... def word(times: int) -> str:
    ...     return "ha" * times
    >>> [len(word(times)) for times in (30, 20, 60)], word.shelf.held
    ([60, 40, 120], 100)
    """
    return lambda function: Kept(function, shelf)
