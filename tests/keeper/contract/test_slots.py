# SPDX-License-Identifier: Apache-2.0
"""When answers leave: a fresh one when its slot is over, all else at once."""

from fractions import Fraction
from typing import Any

import pytest

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import SealedError
from sordino.keeper.slots import Slots
from tests.keeper.study import Study, Time, code, question, told

STUDY = {"server": 'slot = "1s"\ndeadline = 3'}


@pytest.mark.parametrize(
    ("ready", "leaves"),
    [(0.0, 1), (0.001, 1), (0.999, 1), (1.0, 1), (1.001, 2), (2.5, 3), (9.1, 10)],
)
def test_an_answer_leaves_at_the_end_of_the_slot_in_which_it_is_ready(
    ready: float, leaves: int
) -> None:
    time = Time()
    slots, arrived = Slots(Fraction(1), 30, clock=time, rest=time.rest), time.now
    time.now += ready
    assert slots.wait(arrived) == leaves
    assert time.now == arrived + leaves
    assert (slots.delivered, slots.overruns) == (1, int(leaves > 1))


def test_without_slots_nothing_waits() -> None:
    time = Time()
    slots = Slots(None, 30, clock=time, rest=time.rest)
    slots.wait(time.now)
    assert time.rests == []
    assert slots.seconds_left(time.now) is None


def test_a_question_is_ended_so_early_that_it_leaves_at_its_deadline() -> None:
    time = Time()
    slots = Slots(Fraction(1, 2), 10, clock=time, rest=time.rest)
    arrived = time.now
    time.now += 1
    left = slots.seconds_left(arrived)
    assert left == 3.75
    time.now += left
    slots.wait(arrived)
    assert time.now == arrived + 5


def test_a_fresh_answer_waits_and_a_stored_one_does_not(served: Study) -> None:
    ann = served.person("ann", "analyst")
    began = served.time.now
    served.ask(ann)
    assert served.time.now == began + 1
    served.ask(ann)
    served.send("answer", ann, path={"answer": "people:2"})
    served.send("prices", ann, {"questions": [question()]})
    served.ask(ann, epsilon=5)
    served.ask(ann, sql="SELECT x FROM visits")
    served.send("rehearse", ann, {"question": question()})
    assert served.time.now == began + 1


def test_a_sealed_failure_waits_too(served: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")

    def fail(*_: object, **__: object) -> None:
        served.time.now += 1.5
        raise SealedError

    monkeypatch.setattr(DuckdbEngine, "run", fail)
    began = served.time.now
    reply = served.ask(ann)
    assert (reply.status, code(reply)) == (500, "sealed")
    assert served.time.now == began + 2
    assert len(served.charges) == 1
    health = told(served.send("health", olga))
    assert (health["delivered"], health["overruns"]) == (1, 1)


def test_the_engine_is_told_when_to_end(served: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = served.person("ann", "analyst")
    told_to: list[float] = []
    run = DuckdbEngine.run

    def watched(self: DuckdbEngine, *arguments: Any, **terms: Any) -> Any:
        told_to.append(terms["deadline"])
        return run(self, *arguments, **terms)

    monkeypatch.setattr(DuckdbEngine, "run", watched)
    served.ask(ann)
    assert 0 < told_to[0] <= 2.5


def test_a_question_that_takes_too_long_is_sealed_and_stays_charged(served: Study) -> None:
    ann = served.person("ann", "analyst")
    served.keeper.slots.set(Fraction(1, 10**6), 1)  # over before the question runs
    sealed = served.ask(ann)
    assert code(sealed) == "sealed"
    assert len(served.charges) == 1
    served.keeper.slots.set(Fraction(1), 30)
    assert served.ask(ann).status == 200
    assert len(served.charges) == 1  # which was taken up


def test_certificates_say_what_the_time_may_tell(served: Study) -> None:
    ann = served.person("ann", "analyst")
    served.ask(ann)
    reply = served.send("answer", ann, path={"answer": "people:2"}, query={"format": "certificate"})
    assert "0 of 1 were not ready after the first" in reply.body.decode()
