# SPDX-License-Identifier: Apache-2.0
"""Gates: calls of a library that a fork must not cut in two.

A child has one thread, and all locks as they were. A lock that another thread of the parent held at
that moment is held for ever in the child, within the library, where nobody can replace it: the next
call waits without end, or works on what was half done. So a fork waits a while for the calls that
are under way and holds up new ones; and where that did not help, the child is told.

Nothing here takes a lock: a handler of a signal, which may fork, can come at any moment.
"""

from __future__ import annotations

from threading import get_ident
from time import monotonic, sleep
from typing import Generic, TypeVar
from weakref import ref

V = TypeVar("V", bound=object)

_STEP = 0.001  # seconds between two looks


class Visits(Generic[V]):
    """What threads are in the middle of, one visit each; it counts as long as it lives.

    So an interrupt at any moment leaves no visit behind, once its traceback is gone.
    """

    __slots__ = ("_visits",)

    def __init__(self) -> None:
        self._visits: dict[int, ref[V]] = {}

    def __contains__(self, thread: int) -> bool:
        visit = self._visits.get(thread)
        return visit is not None and visit() is not None

    def begin(self, visit: V) -> None:
        """Let a visit of this thread begin; nothing can come between that and the end of this."""
        self._visits[get_ident()] = ref(visit)

    def end(self) -> None:
        """Let the visit of this thread end."""
        self._visits.pop(get_ident(), None)

    def others(self) -> bool:
        """Tell whether any other thread is in the middle of something."""
        me = get_ident()
        visits = list(self._visits.items())  # at once, whatever other threads do
        return any(thread != me and visit() is not None for thread, visit in visits)


class Gate:
    """What calls of a library pass, and a fork closes for ``patience`` seconds at most.

    Whoever has a gate closes it before a fork and opens it afterwards, in the parent or the child.
    ``is_cut`` tells a child that a call was under way all the same: the library is not to be used.
    ``advice`` is what whoever uses it all the same is told.
    """

    def __init__(self, patience: float, advice: str = "") -> None:
        self.is_cut = False
        self.advice = advice
        self.visits: Visits[Passing] = Visits()
        self.forking: dict[int, bool] = {}  # whether all was quiet, by the thread that forks
        self._patience = patience

    def passing(self, *, at_once: bool = False) -> Passing:
        """Make calls of the library, as a context; who is at it already does not wait for a fork.

        ``at_once`` is for a thread that a fork waits for anyway, because it works for one which has
        passed, or holds a lock that is taken before the fork.
        """
        return Passing(self, at_once=at_once)

    def check_whole(self) -> None:
        """Refuse to use the library in a process that was forked in the midst of its work."""
        if self.is_cut:
            raise RuntimeError(self.advice)

    def close(self) -> None:
        """Let nobody pass, and wait for those who have; this thread does not wait for itself."""
        me, until = get_ident(), monotonic() + self._patience
        self.forking[me] = False
        while self.visits.others():
            if monotonic() > until:
                return
            sleep(_STEP)
        self.forking[me] = me not in self.visits

    def open(self) -> None:
        """Let everybody pass again, in the parent."""
        self.forking.pop(get_ident(), None)

    def begin_in_child(self) -> None:
        """Let everybody pass in the child, where nobody has, and keep whether a call was cut."""
        self.is_cut = self.is_cut or not self.forking.get(get_ident(), False)
        self.visits = Visits()
        self.forking = {}


class Passing:
    """A call that is under way; a class, because an interrupt may come into a generator."""

    __slots__ = ("__weakref__", "_at_once", "_gate", "_nested")

    def __init__(self, gate: Gate, *, at_once: bool) -> None:
        self._gate = gate
        self._at_once = at_once
        self._nested = False

    def __enter__(self) -> None:
        gate = self._gate
        self._nested = get_ident() in gate.visits
        while not self._nested:
            gate.visits.begin(self)  # first, and then the look: a fork does it the other way round
            if self._at_once or not gate.forking:
                return
            gate.visits.end()
            sleep(_STEP)

    def __exit__(self, *failure: object) -> None:
        if not self._nested:
            self._gate.visits.end()
