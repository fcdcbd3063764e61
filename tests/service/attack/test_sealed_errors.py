# SPDX-License-Identifier: Apache-2.0
"""What goes wrong after a charge is told in the same bytes, whatever it was."""

from __future__ import annotations

import builtins
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sordino.errors
from sordino.channel.frames import Reply, Request
from sordino.engine.duckdb import engine as duckdb_engine
from sordino.engine.sealed import Sealed
from sordino.keeper.slots import Departure
from sordino.release import door
from tests.support.services import HeldKeeper, clinic

VALUE = "canary-4711"
LEAST = 200
_PRICES = count(1)
_QUESTION = "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY ward"

Fault = Callable[[HeldKeeper, pytest.MonkeyPatch], None]


def kinds() -> Iterator[Exception]:
    """Return an error of each kind that code here could raise, all with a value of a row."""
    for module in (builtins, duckdb, pa.lib, sordino.errors):
        for name, kind in sorted(vars(module).items()):
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                continue
            if issubclass(kind, Warning | BaseExceptionGroup | StopIteration | StopAsyncIteration):
                continue
            if issubclass(kind, UnicodeError) and kind is not UnicodeError:
                continue
            made = next((one for many in (1, 2, 3, 0) if (one := _made(kind, many))), None)
            assert made is not None, f"make a {name} here"
            yield made


def _made(kind: type[Exception], many: int) -> Exception | None:
    try:
        return kind(*[VALUE] * many)
    except TypeError:  # it takes another number of arguments
        return None


def _raises(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


def in_the_database(error: Exception) -> Fault:
    def fault(_: HeldKeeper, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(duckdb_engine, "_answered", _raises(error))

    return fault


def in_the_engine(error: Exception) -> Fault:
    def fault(keeper: HeldKeeper, patch: pytest.MonkeyPatch) -> None:
        session = keeper.keeper.generations.now.session
        patch.setattr(session._engine, "run", _raises(error))

    return fault


def in_the_release(error: Exception) -> Fault:
    def fault(_: HeldKeeper, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(door, "add_noise", _raises(error))

    return fault


def returned(*tables: object) -> Fault:
    def fault(keeper: HeldKeeper, patch: pytest.MonkeyPatch) -> None:
        session = keeper.keeper.generations.now.session
        patch.setattr(session._engine, "run", lambda *_, **__: Sealed(tuple(tables)))

    return fault


def broken_tables() -> Iterator[Fault]:
    """Return engines that give back what is no result."""
    whole = pa.table({"k0": ["north"], "s0": [1], "s1": [1], "s2": [1]})
    yield returned()
    yield returned(whole, whole, whole)
    yield returned(None)
    yield returned([1, 2])
    for columns in ({}, {"k0": ["north"]}, {"s0": [VALUE]}, {"k0": [VALUE], "s0": [None]}):
        yield returned(pa.table(columns))
    for value in (1.5, np.float64("nan"), VALUE, None, b"x", True, 2**63 - 1):
        yield returned(pa.table({"k0": ["north"] * 2, "s0": [value] * 2}))


def causes() -> list[Fault]:
    raised = [
        place(error) for place in (in_the_database, in_the_engine, in_the_release)
        for error in kinds()
    ]  # fmt: skip
    return [*raised, *broken_tables()]


@pytest.fixture(scope="module")
def keeper() -> Iterator[HeldKeeper]:
    with TemporaryDirectory(prefix="sordino-") as name:
        catalog = clinic(Path(name), epsilon="100000")
        with HeldKeeper(catalog) as held:
            yield held


@contextmanager
def silent() -> Iterator[None]:
    """Keep what the owner is told of failures off the screen."""
    logs = [logging.getLogger(name) for name in ("sordino.owner", "sordino.keeper")]
    before = [log.propagate for log in logs]
    for log in logs:
        log.propagate = False
    yield
    for log, propagates in zip(logs, before, strict=True):
        log.propagate = propagates


def ask(keeper: HeldKeeper, form: str) -> Reply:
    """Ask what was never asked."""
    price = f"{next(_PRICES)}e-6"
    body = json.dumps({"question": {"sql": _QUESTION, "epsilon": price}}).encode()
    token = keeper.tokens["analyst"]
    return keeper.keeper.reply(
        Request("ask", "1", credential=token, body=body, query={"format": form})
    )


def test_two_hundred_causes_are_told_in_the_same_bytes(
    keeper: HeldKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults, replies = causes(), set()
    assert len(faults) >= LEAST
    assert ask(keeper, "json").status == 200
    with silent():
        for number, fault in enumerate(faults):
            before = keeper.heads
            with monkeypatch.context() as patch:
                fault(keeper, patch)
                reply = ask(keeper, ("json", "record", "csv", "arrow", "text")[number % 5])
            assert keeper.heads != before, "it was charged"
            replies.add((reply.status, reply.media, reply.body, tuple(reply.headers.items())))
    assert len(replies) == 1, replies
    status, _, body, _ = replies.pop()
    assert status == 500
    assert VALUE.encode() not in body
    assert ask(keeper, "json").status == 200


def test_the_same_question_is_then_answered_for_the_same_charge(
    keeper: HeldKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps({"question": {"sql": _QUESTION, "epsilon": "0.5"}}).encode()
    request = Request("ask", "1", credential=keeper.tokens["analyst"], body=body)
    with silent(), monkeypatch.context() as patch:
        in_the_engine(sordino.errors.BudgetExceeded(VALUE, VALUE, VALUE))(keeper, patch)
        assert keeper.keeper.reply(request).status == 500
    charged = sum(head[1] for head in keeper.heads)
    assert keeper.keeper.reply(request).status == 200
    assert sum(head[1] for head in keeper.heads) == charged + 1  # the answer, and no charge


def test_a_deadline_is_told_in_these_bytes_too(
    keeper: HeldKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Departure, "seconds_left", lambda _: 1e-9)
    with silent():
        late = ask(keeper, "json")
        with monkeypatch.context() as patch:
            in_the_database(ValueError(VALUE))(keeper, patch)
            assert ask(keeper, "json") == late
    assert late.status == 500
