# SPDX-License-Identifier: Apache-2.0
"""A fork waits for calls that are under way; where it cannot, its child is told."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from sordino import gate as gate_module
from sordino.gate import Gate

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


def held(gate: Gate, seconds: float) -> threading.Thread:
    """Return a thread that has passed a gate and stays for a while."""
    inside = threading.Event()

    def work() -> None:
        with gate.passing():
            inside.set()
            time.sleep(seconds)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    return thread


def forked(gate: Gate) -> bool:
    """Fork as whoever has the gate would; return whether the child was told of a call."""
    gate.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
        child = os.fork()
    if child == 0:
        gate.begin_in_child()
        with gate.passing():
            os._exit(int(gate.is_cut))
    gate.open()
    return bool(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def test_a_fork_waits_for_a_call() -> None:
    gate = Gate(patience=60)
    thread = held(gate, 0.2)
    assert not forked(gate)
    assert not thread.is_alive()


def test_a_fork_does_not_wait_for_ever_and_its_child_is_told() -> None:
    gate = Gate(patience=0.01)
    thread = held(gate, 0.5)
    assert forked(gate)
    thread.join()
    assert not gate.is_cut
    assert not forked(gate)


def test_a_child_is_told_of_a_call_that_the_forking_thread_itself_is_in() -> None:
    gate = Gate(patience=60)
    with gate.passing(), gate.passing():
        assert forked(gate)
    assert not forked(gate)


def test_a_child_of_a_child_that_was_told_is_told() -> None:
    gate = Gate(patience=60)
    gate.is_cut = True
    assert forked(gate)


def test_while_somebody_forks_new_calls_wait_and_nested_ones_do_not() -> None:
    gate, passed = Gate(patience=0), []

    def work(note: Callable[[str], None]) -> None:
        with gate.passing():
            note("outer")

    with gate.passing():
        forker = threading.Thread(target=gate.close)
        forker.start()
        forker.join()
        with gate.passing():
            passed.append("nested")
        other = threading.Thread(target=work, args=(passed.append,))
        other.start()
        time.sleep(0.05)
    assert passed == ["nested"]
    gate.forking.clear()
    other.join()
    assert passed == ["nested", "outer"]


def test_an_interrupted_call_is_not_under_way() -> None:
    gate = Gate(patience=60)

    def interrupted() -> None:
        passing = gate.passing()
        passing.__enter__()
        raise KeyboardInterrupt  # before a with statement has got hold of it

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert threading.get_ident() not in gate.visits


def test_a_fork_in_a_handler_never_waits_for_what_it_has_interrupted() -> None:
    """Interrupt whoever passes a gate before each bytecode, by a fork that closes it."""
    gate, told = Gate(patience=60), []

    def closes(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != gate_module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            sys.settrace(None)
            gate.close()
            told.append(gate.forking[threading.get_ident()])
            gate.open()
            sys.settrace(closes)
        return closes

    before = sys.gettrace()
    sys.settrace(closes)
    try:
        with gate.passing(), gate.passing():
            pass
    finally:
        sys.settrace(before)
    assert {True, False} == set(told)
    assert threading.get_ident() not in gate.visits


def test_a_thread_that_works_for_another_passes_at_once() -> None:
    gate = Gate(patience=0)
    gate.close()
    with gate.passing(at_once=True):
        assert threading.get_ident() in gate.visits
    gate.open()
