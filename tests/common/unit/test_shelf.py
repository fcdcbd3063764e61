# SPDX-License-Identifier: Apache-2.0
import os
import sys
import threading
from collections import OrderedDict
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino import cache as shelf_module
from sordino.cache import Shelf, kept_on

ROOM = 20


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 25)), max_size=60))
def test_a_shelf_keeps_what_was_used_last_and_has_room(wanted: list[tuple[int, int]]) -> None:
    shelf: Shelf[tuple[int, int]] = Shelf(ROOM, weigh=lambda thing: thing[1])
    model: OrderedDict[int, tuple[int, int]] = OrderedDict()
    for key, weight in wanted:
        made: list[int] = []

        def make(key: int = key, weight: int = weight, made: list[int] = made) -> tuple[int, int]:
            made.append(key)
            return key, weight

        thing = shelf.take(key, make)
        assert bool(made) == (key not in model)
        assert thing == model.get(key, (key, weight))
        if key in model:
            model.move_to_end(key)
        elif weight <= ROOM:
            model[key] = thing
            while sum(held for _, held in model.values()) > ROOM:
                model.popitem(last=False)
        assert (len(shelf), shelf.held) == (len(model), sum(w for _, w in model.values()))


def test_things_of_no_weight_are_kept_too() -> None:
    shelf: Shelf[object] = Shelf(0, weigh=lambda _: 0)
    first = shelf.take("a", object)
    assert shelf.take("a", object) is first


def test_a_full_shelf_works_out_the_hashes_of_few_keys() -> None:
    """That of a question is slow, and a server keeps hundreds of them."""
    worked_out: list[int] = []

    class Key(int):
        def __hash__(self) -> int:
            worked_out.append(self)
            return int(self)

    shelf: Shelf[int] = Shelf(100, weigh=lambda _: 1)
    for number in range(300):
        worked_out.clear()
        shelf.take(Key(number), lambda: 7)
        assert len(worked_out) <= 4  # to look twice, to keep it, and to let the oldest go
    assert len(shelf) == 100


def test_what_cannot_be_made_is_not_kept() -> None:
    shelf: Shelf[int] = Shelf(10, weigh=lambda _: 1)
    with pytest.raises(ZeroDivisionError):
        shelf.take("a", lambda: 1 // 0)
    assert shelf.take("a", lambda: 7) == 7


def test_functions_on_one_shelf_do_not_take_each_others_results() -> None:
    shelf: Shelf[str] = Shelf(10, weigh=len)

    @kept_on(shelf)
    def small(text: str, *, end: str = "") -> str:
        return text.lower() + end

    @kept_on(shelf)
    def large(text: str) -> str:
        return text.upper()

    assert (small("a"), large("a"), small("a", end="b")) == ("a", "A", "ab")
    assert small("a") is small("a")
    assert len(shelf) == 3
    small.cache_clear()
    assert len(shelf) == 0


def test_threads_that_make_one_thing_at_once_get_the_same_one() -> None:
    shelf: Shelf[object] = Shelf(10, weigh=lambda _: 1)
    together = threading.Barrier(4)
    found: list[object] = []

    def make() -> object:
        together.wait()
        return object()

    threads = [
        threading.Thread(target=lambda: found.append(shelf.take("a", make))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    assert shelf.held == 1


@pytest.mark.parametrize("at", range(1, 120))
def test_an_interrupt_anywhere_leaves_a_shelf_that_keeps_things_and_has_room(at: int) -> None:
    """Interrupted once while it makes room for a thing, before a bytecode that is counted."""
    shelf: Shelf[str] = Shelf(ROOM, weigh=len)
    for key in "abcd":
        shelf.take(key, lambda key=key: key * 5)  # type: ignore[misc]
    left = at

    def press(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != shelf_module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return press

    before = sys.gettrace()
    sys.settrace(press)
    try:
        with suppress(KeyboardInterrupt):
            shelf.take("e", lambda: "eeeeee")
    finally:
        sys.settrace(before)
    for key in "fghijkl":
        thing = shelf.take(key, lambda key=key: key * 5)  # type: ignore[misc]
        assert shelf.take(key, lambda: "made again") is thing
        assert sum(weight for _, weight in shelf._things.values()) <= ROOM
    assert len(shelf) == 4
    assert shelf.held == ROOM


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks beside other threads
def test_a_child_is_not_stopped_by_a_lock_that_was_held_when_it_was_made() -> None:
    shelf: Shelf[int] = Shelf(10, weigh=lambda _: 1)
    shelf._lock.acquire()
    child = os.fork()
    if child == 0:
        os._exit(shelf.take("a", lambda: 42))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 42
