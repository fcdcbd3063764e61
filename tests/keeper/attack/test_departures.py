# SPDX-License-Identifier: Apache-2.0
"""What an analyst can see of when an answer was ready, by all that they may call meanwhile."""

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from sordino.channel.frames import Reply
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError, LedgerError, SealedError
from sordino.keeper import asking
from sordino.keeper.asking import resume
from sordino.keeper.slots import Slots
from sordino.keeper.turns import Places
from tests.keeper.study import COUNT, Study, code, question, raising, study, told

STUDY = {"server": 'slot = "1s"\ndeadline = 3\nresume = true'}


def in_a_thread(work: Callable[[], Any]) -> Any:
    """Do something as another connection would, and return what came of it."""
    got: list[Any] = []
    thread = Thread(target=lambda: got.append(work()))
    thread.start()
    thread.join(30)
    return got[0]


def watched_rest(served: Study, look: Callable[[], Any]) -> list[Any]:
    """Look at something, as others may, whenever an answer that is ready waits for its slot."""
    seen: list[Any] = []
    rest = served.time.rest

    def look_and_rest(seconds: float) -> None:
        seen.append(in_a_thread(look))
        rest(seconds)

    served.keeper.slots._rest = look_and_rest
    return seen


def watch(served: Study, ann: str) -> Callable[[], Any]:
    """Return all that tells whether an answer is on record."""

    def look() -> Any:
        history = told(served.send("history", ann))["entries"]
        answer = served.send("answer", ann, path={"answer": "people:2"}).status
        return [entry["kind"] for entry in history], answer, served.send("heads", ann).body

    return look


def test_nothing_tells_that_an_answer_is_ready_before_its_slot_is_over(served: Study) -> None:
    ann = served.person("ann", "analyst")
    seen = watched_rest(served, watch(served, ann))
    assert served.ask(ann).status == 200
    assert len(seen) == 1
    kinds, answer, heads = seen[0]
    assert "answer" not in kinds
    assert answer == 404
    assert heads != served.send("heads", ann).body
    assert served.send("answer", ann, path={"answer": "people:2"}).status == 200


def test_nothing_tells_when_a_charge_is_answered_after_a_restart(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    with monkeypatch.context() as broken:
        broken.setattr(DuckdbEngine, "run", raising(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            served.ask(ann)
    served.restart()
    began = served.time.now
    seen = watched_rest(served, watch(served, ann))
    resume(served.keeper)
    assert served.time.now == began + 1
    kinds, answer, _ = seen[0]
    assert "answer" not in kinds
    assert answer == 404
    assert served.send("answer", ann, path={"answer": "people:2"}).status == 200


@pytest.fixture
def timed(tmp_path: Path) -> Iterator[Study]:
    """A study on the clock on the wall, whose questions take 0.3 of a slot."""
    with study(tmp_path / "timed", server='slot = "1s"\ndeadline = 9') as made:
        made.keeper.slots = Slots(made.keeper.slots.length, 9)
        made.keeper.clock = time.monotonic
        yield made


def seconds_of(work: Callable[[], Reply]) -> tuple[float, Reply]:
    began = time.monotonic()
    reply = work()
    return time.monotonic() - began, reply


def test_who_waits_under_a_key_and_is_refused_is_not_told_when_the_first_was_ready(
    timed: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = timed.person("ann", "analyst")
    run, looked, both = DuckdbEngine.run, asking._stored, Barrier(2)

    def slow(self: DuckdbEngine, *arguments: Any, **terms: Any) -> Any:
        time.sleep(0.3)
        return run(self, *arguments, **terms)

    arrived: list[None] = []

    def together(*arguments: Any) -> Any:
        found = looked(*arguments)
        if len(arrived) < 2:
            arrived.append(None)
            both.wait(10)
        return found

    monkeypatch.setattr(DuckdbEngine, "run", slow)
    monkeypatch.setattr(asking, "_stored", together)
    got: list[tuple[float, Reply]] = []

    def send(epsilon: str) -> None:
        got.append(seconds_of(lambda: timed.ask(ann, epsilon=epsilon, key="k")))

    threads = [Thread(target=send, args=(epsilon,)) for epsilon in ("0.1", "0.2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(reply.status for _, reply in got) == [200, 422]
    assert all(seconds >= 0.99 for seconds, _ in got)


def spent_meanwhile(served: Study, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    """Let bob spend most of the budget, and some time pass, whenever ann is about to be charged."""
    bob, inner = served.person("bob", "analyst"), getattr(owner, name)
    asked: list[None] = []

    def late(*arguments: Any, **terms: Any) -> Any:
        if not asked:
            asked.append(None)
            assert in_a_thread(lambda: served.ask(bob, epsilon="2")).status == 200
            served.time.now += 0.3
        return inner(*arguments, **terms)

    monkeypatch.setattr(owner, name, late)


@pytest.mark.parametrize(("owner", "name"), [(Places, "take"), (DuckdbEngine, "load")])
def test_a_refusal_after_waiting_for_others_or_for_files_does_not_tell_how_long_that_took(
    served: Study, monkeypatch: pytest.MonkeyPatch, owner: type, name: str
) -> None:
    ann = served.person("ann", "analyst")
    spent_meanwhile(served, monkeypatch, owner, name)
    began = served.time.now
    assert code(served.ask(ann, epsilon="2")) == "budget_exceeded"
    assert served.time.now == began + 2  # bob's took one slot and 0.3 of the next


def test_what_the_budget_has_no_room_for_is_refused_before_a_place_and_before_files_are_read(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, began = served.person("ann", "analyst"), served.time.now
    for owner, name in ((Places, "take"), (DuckdbEngine, "load")):
        monkeypatch.setattr(owner, name, raising(AssertionError))
    assert code(served.ask(ann, epsilon="100")) == "budget_exceeded"
    assert served.time.now == began


@pytest.mark.parametrize("waited", [0, 1200, 2400])
def test_waiting_for_a_place_leaves_less_time_to_compute(
    served: Study, monkeypatch: pytest.MonkeyPatch, waited: int
) -> None:
    ann, began = served.person("ann", "analyst"), served.time.now
    served.keeper.slots.set(Fraction(1000), 3)
    late(served, monkeypatch, waited)
    run, stated = DuckdbEngine.run, []

    def noted(*arguments: Any, **terms: Any) -> Any:
        stated.append(terms["deadline"])
        return run(*arguments, **terms)

    monkeypatch.setattr(DuckdbEngine, "run", noted)
    assert served.ask(ann).status == 200
    assert 0 < stated[0] <= 2500 - waited  # half a slot before the deadline of three
    assert served.time.now == began + 1000 * (1 + waited // 1000)


def test_who_gets_a_place_when_no_time_is_left_is_charged_nothing(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, began = served.person("ann", "analyst"), served.time.now
    late(served, monkeypatch, 2.6)
    assert code(served.ask(ann)) == "busy"
    assert served.charges == []
    assert served.time.now == began + 3


def late(served: Study, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let whoever wants a place wait for so long."""
    take = Places.take

    def slow(*arguments: Any) -> Any:
        served.time.now += seconds
        return take(*arguments)

    monkeypatch.setattr(Places, "take", slow)


def test_a_failure_is_over_for_those_who_wait_for_it_when_its_slot_is(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    monkeypatch.setattr(DuckdbEngine, "run", raising(SealedError))
    seen = watched_rest(served, lambda: dict(served.keeper.turns._locks))
    assert code(served.ask(ann, key="k")) == "sealed"
    assert len(seen) == 1
    assert len(seen[0]) == 2  # of the key, and of the question


def test_a_slot_keeps_its_length_until_it_is_over(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    run = DuckdbEngine.run

    def swapped(self: DuckdbEngine, *arguments: Any, **terms: Any) -> Any:
        served.keeper.slots.set(None, 30)  # as by another catalog meanwhile
        served.time.now += 0.3
        return run(self, *arguments, **terms)

    monkeypatch.setattr(DuckdbEngine, "run", swapped)
    began = served.time.now
    assert served.ask(ann).status == 200
    assert served.time.now == began + 1


def test_a_form_that_there_is_not_is_refused_before_the_charge(served: Study) -> None:
    ann = served.person("ann", "analyst")
    began = served.time.now
    reply = served.send("ask", ann, {"question": question(COUNT)}, query={"format": "spoken"})
    assert (reply.status, code(reply)) == (400, "query")
    assert served.charges == []
    assert served.time.now == began


@pytest.mark.parametrize("error", [CatalogError("a stray quote"), LedgerError("busy")])
def test_nothing_is_given_back_before_a_refusal_leaves(
    served: Study, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """What was spent with a token, or the state of a request, would tell how long files are."""
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    capped = served.token("ann", ["ask", "price"], cap=10**9)
    text = served.text(server='slot = "1s"\ndeadline = 3\napprove_above = 0.05')
    assert served.send("swap", olga, {"text": text, "why": "dear"}).status == 201
    assert served.ask(capped).status == 202
    vote = served.send("vote", olga, {"decision": "approve"}, path={"request": "1"})
    assert vote.status == 200

    def look() -> Any:
        spent = told(served.send("me", capped))["spent_nanos"]
        state = told(served.send("request", ann, path={"request": "1"}))["state"]
        return spent, state, served.state.rows("SELECT state FROM questions")[:1] != []

    seen = watched_rest(served, look)
    monkeypatch.setattr(DuckdbEngine, "load", raising(error))
    assert served.ask(capped, key="one").status == 503
    assert seen == [(100_000_000, "answered", True)]
    assert look() == (0, "approved", False)
    assert served.charges == []
