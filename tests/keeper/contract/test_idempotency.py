# SPDX-License-Identifier: Apache-2.0
"""A key makes one request of all that carry it, also across a crash."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from threading import Barrier
from typing import Any

import pytest

from sordino.keeper import asking, quotes
from sordino.keeper.state import State
from sordino.ledger.ledger import Ledger
from sordino.ledger.verify import verify
from sordino.release import Options
from sordino.session.first_identity import first_identity
from sordino.session.session import tables_of
from tests.keeper.study import COUNT, Study, code, question, raising, told


def test_fresh_noise_needs_a_key_and_a_token_for_it(served: Study) -> None:
    ann = served.person("ann", "analyst")
    plain = served.token("ann", ["ask"])
    assert code(served.ask(plain, fresh=True, key="k")) == "forbidden"
    assert served.ask(ann, fresh=True).status == 428
    assert served.charges == []


def test_a_key_pays_once_for_fresh_noise(served: Study) -> None:
    ann = served.person("ann", "analyst")
    first = told(served.ask(ann, fresh=True, key="one"))
    again = told(served.ask(ann, fresh=True, key="one"))
    other = told(served.ask(ann, fresh=True, key="two"))
    assert first["receipt"] == again["receipt"] != other["receipt"]
    assert (first["again"], again["again"]) == (False, True)
    assert len(served.charges) == 2


def test_a_key_is_for_one_body(served: Study) -> None:
    ann = served.person("ann", "analyst")
    served.ask(ann, key="one")
    reply = served.ask(ann, key="one", epsilon="0.2")
    assert (reply.status, code(reply)) == (422, "key_reused")
    assert len(served.charges) == 1


def test_a_key_is_for_one_person(served: Study) -> None:
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    assert served.ask(ann, fresh=True, key="one").status == 200
    assert served.ask(bob, fresh=True, key="one").status == 200
    assert [charge.who for charge in served.charges] == ["ann", "bob"]


def test_a_refused_question_does_not_use_up_its_key(served: Study) -> None:
    ann = served.person("ann", "analyst")
    assert served.ask(ann, key="one", epsilon=5).status == 409
    assert served.ask(ann, key="one", epsilon=1).status == 200


@pytest.mark.parametrize("key", ["", "x" * 201, "é", "a\nb"])
def test_a_key_is_printable_and_short(served: Study, key: str) -> None:
    assert served.ask(served.person("ann", "analyst"), key=key).status == 400


def test_a_key_at_once_is_charged_once(served: Study) -> None:
    ann = served.person("ann", "analyst")
    start = Barrier(12)

    def one(_: int) -> Any:
        start.wait()
        return told(served.ask(ann, fresh=True, key="one"))["receipt"]

    with ThreadPoolExecutor(12) as pool:
        receipts = set(pool.map(one, range(12)))
    assert len(receipts) == len(served.charges) == 1


class Killed(BaseException):
    """The process has ended here."""


killed = raising(Killed)


def asked_until_killed(served: Study, monkeypatch: pytest.MonkeyPatch, step: str) -> str:
    """Ask with a key until the process ends at a step of the ledger; returns who asked."""
    ann = served.person("ann", "analyst")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, step, killed)
        with pytest.raises(Killed):
            served.ask(ann, fresh=True, key="one")
    return ann


def test_a_key_finds_its_charge_after_a_crash_before_the_record(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = asked_until_killed(served, monkeypatch, "record")
    assert len(served.charges) == 1
    served.keeper.generations.now.session._drawn.clear()  # which ends with a process
    served.keeper.generations.now.session._owed.clear()
    served.restart()
    answer = told(served.ask(ann, fresh=True, key="one"))
    assert answer["receipt"].startswith("people:2:")
    assert len(served.charges) == 1
    (verified,) = verify(served.keeper.generations.now.session.ledger)
    assert (verified.charges, verified.answers) == (1, 1)


def test_a_key_charges_after_a_crash_before_the_charge(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = asked_until_killed(served, monkeypatch, "charge")
    assert served.charges == []
    served.restart()
    assert served.ask(ann, fresh=True, key="one").status == 200
    assert len(served.charges) == 1


def test_a_question_is_written_down_before_it_is_charged(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    seen: list[str] = []
    obtain = Ledger.obtain

    def watched(self: Ledger, *arguments: Any, **terms: Any) -> Any:
        seen.extend(row["state"] for row in served.state.rows("SELECT state FROM questions"))
        return obtain(self, *arguments, **terms)

    monkeypatch.setattr(Ledger, "obtain", watched)
    served.ask(ann)
    assert seen == ["begun"]
    assert [row["state"] for row in served.state.rows("SELECT state FROM questions")] == [
        "answered"
    ]


def quoted(served: Study, credential: str, **terms: Any) -> dict[str, Any]:
    """A body that buys a question at the price that was told for it."""
    reply = served.send("prices", credential, {"questions": [question(**terms)]})
    return {"quote": told(reply)["prices"][0]["quote"]}


def expired(served: Study) -> None:
    served.time.now += quotes.SECONDS


def swapped(served: Study) -> None:
    olga = served.person("olga", "owner")
    body = {"text": served.text(epsilon="4"), "why": "more"}
    assert served.send("swap", olga, body).status == 201


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("change", [expired, swapped])
def test_a_repetition_is_answered_where_its_quote_is_good_no_more(
    served: Study, change: Callable[[Study], None], fresh: bool
) -> None:
    ann = served.person("ann", "analyst")
    body = quoted(served, ann, fresh=fresh)
    first = told(served.send("ask", ann, body, key="one"))
    change(served)
    again = told(served.send("ask", ann, body, key="one"))
    assert (again["receipt"], again["again"]) == (first["receipt"], True)
    assert served.send("ask", ann, body, key="two").status in (400, 412)
    assert len(served.charges) == 1


@pytest.mark.parametrize("change", [expired, swapped])
@pytest.mark.parametrize("place", ["record", "state"])
def test_a_charged_question_is_answered_where_its_quote_is_good_no_more(
    served: Study,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Study], None],
    place: str,
) -> None:
    ann = served.person("ann", "analyst")
    body = quoted(served, ann, fresh=True)
    with monkeypatch.context() as patched:
        if place == "record":
            patched.setattr(Ledger, "record", killed)
        else:  # the answer is on record, and the keeper's own file does not know of it yet
            patched.setattr(State, "change", killed_at_the_answer(State.change))
        with pytest.raises(Killed):
            served.send("ask", ann, body, key="one")
    assert len(served.charges) == 1
    served.keeper.generations.now.session._drawn.clear()  # which ends with a process
    served.keeper.generations.now.session._owed.clear()
    served.restart()
    change(served)
    answer = told(served.send("ask", ann, body, key="one"))
    assert answer["receipt"].startswith("people:2:")
    assert len(served.charges) == 1


def killed_at_the_answer(change: Callable[..., int]) -> Callable[..., int]:
    def changed(self: State, sql: str, *values: object) -> int:
        if "'answered'" in sql:
            raise Killed
        return change(self, sql, *values)

    return changed


def test_nothing_says_that_a_charged_question_was_not_charged(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "record", killed)
        with pytest.raises(Killed):
            served.ask(ann, key="one")
    served.keeper.generations.now.session._drawn.clear()
    served.keeper.generations.now.session._owed.clear()
    served.restart()
    text = served.text().replace('ward = { type = "text", keys = ["north", "south"] }\n', "")
    assert served.send("swap", olga, {"text": text, "why": "no wards"}).status == 201
    reply = served.ask(ann, key="one")
    assert (reply.status, code(reply)) == (500, "sealed")
    assert len(served.charges) == 1


def test_a_key_without_a_charge_does_not_make_an_old_quote_good(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    body = quoted(served, ann, fresh=True)
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "charge", killed)
        with pytest.raises(Killed):
            served.send("ask", ann, body, key="one")
    served.restart()
    expired(served)
    assert code(served.send("ask", ann, body, key="one")) == "quote_expired"
    assert served.charges == []


def put_back(served: Study, work: Callable[[], object]) -> None:
    """Do something, and put back the ledger that there was before, but not the keeper's file."""
    served.close()
    kept = {path: path.read_bytes() for path in served.folder.glob("sordino.ledger*")}
    served.open()
    work()
    served.close()
    for path in served.folder.glob("sordino.ledger*"):
        path.unlink()
    for path, content in kept.items():
        path.write_bytes(content)
    served.open()


def test_a_key_stands_for_no_other_question_after_an_older_ledger_was_put_back(
    served: Study,
) -> None:
    ann = served.person("ann", "analyst")
    capped = served.token("ann", ["ask"], cap=10**9)
    served.ask(ann)
    replies: list[Any] = []
    put_back(served, lambda: replies.append(told(served.ask(ann, key="one", epsilon="0.2"))))
    other = told(served.ask(ann, epsilon="0.3"))
    assert other["place"] == replies[0]["place"]  # which is another one's by now
    again = told(served.ask(capped, key="one", epsilon="0.2"))
    assert (again["price"], again["again"]) == ("epsilon 0.2", False)
    assert told(served.ask(capped, key="one", epsilon="0.2"))["receipt"] == again["receipt"]
    assert told(served.send("me", capped))["spent_nanos"] == 200_000_000
    assert len(served.charges) == 3


def test_a_key_that_was_not_answered_is_free_after_an_older_ledger_was_put_back(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    capped = served.token("ann", ["ask"], cap=10**9)
    served.ask(ann)

    def die() -> None:
        served.ask(ann, epsilon="0.3")
        with monkeypatch.context() as broken:
            broken.setattr(Ledger, "record", raising(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                served.ask(ann, key="one", epsilon="0.2")

    put_back(served, die)
    assert told(served.ask(capped, key="one", epsilon="0.2"))["price"] == "epsilon 0.2"
    assert told(served.send("me", capped))["spent_nanos"] == 200_000_000
    assert len(served.charges) == 2


def test_a_key_stands_for_no_other_key_after_an_older_ledger_was_put_back(served: Study) -> None:
    ann = served.person("ann", "analyst")
    served.ask(ann)
    replies: list[Any] = []
    put_back(served, lambda: replies.append(told(served.ask(ann, key="one", fresh=True))))
    other = told(served.ask(ann, key="two", fresh=True))
    assert other["place"] == replies[0]["place"]
    one = told(served.ask(ann, key="one", fresh=True))
    assert (one["again"], one["place"] != other["place"]) == (False, True)
    for key, first in (("one", one), ("two", other)):
        assert told(served.ask(ann, key=key, fresh=True))["receipt"] == first["receipt"]
    assert len(served.charges) == 3


def test_two_who_find_at_once_that_a_key_is_free_again_are_charged_once(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    served.ask(ann)
    put_back(served, lambda: served.ask(ann, key="one", fresh=True))
    inner = asking._is_forgotten
    others: list[Any] = []

    def late(*arguments: Any) -> bool:
        is_forgotten = inner(*arguments)
        if not others:
            others.append(None)
            with ThreadPoolExecutor() as pool:
                others[0] = told(pool.submit(served.ask, ann, key="one", fresh=True).result())
        return is_forgotten

    monkeypatch.setattr(asking, "_is_forgotten", late)
    one = told(served.ask(ann, key="one", fresh=True))
    assert one["receipt"] == others[0]["receipt"]
    assert len(served.charges) == 2


@pytest.mark.parametrize("fresh", [False, True])
def test_a_key_that_was_not_charged_before_a_swap_is_charged_once_after_it(
    served: Study, monkeypatch: pytest.MonkeyPatch, fresh: bool
) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    with monkeypatch.context() as patched:
        for name in ("charge", "obtain"):
            patched.setattr(Ledger, name, killed)
        with pytest.raises(Killed):
            served.ask(ann, key="one", fresh=fresh)
    text = served.text().replace('"south"]', '"south", "west"]')
    assert served.send("swap", olga, {"text": text, "why": "another ward"}).status == 201
    first = told(served.ask(ann, key="one", fresh=fresh))
    served.write()  # so that the same question would be charged again
    again = told(served.ask(ann, key="one", fresh=fresh))
    assert (again["receipt"], again["again"]) == (first["receipt"], True)
    assert len(served.charges) == 1


def test_a_key_whose_charge_is_in_the_words_of_version_1_is_not_charged_again(
    served: Study,
) -> None:
    ann = served.person("ann", "analyst")
    session = served.keeper.generations.now.session.of("ann")
    plan = session.plan(COUNT, epsilon=Fraction(1, 10))
    asked = first_identity(plan, Options())
    assert asked is not None
    data = session._engine.version(tables_of(plan, session.catalog))
    session.ledger.charge(
        plan.people, plan.loss, slack=plan.slack, plan=asked, who="ann", data=data
    )
    served.restart()
    first = told(served.ask(ann, key="one"))
    served.write()  # so that the same question would be charged again
    again = told(served.ask(ann, key="one"))
    assert (again["receipt"], again["again"]) == (first["receipt"], True)
    assert len(served.charges) == 1
