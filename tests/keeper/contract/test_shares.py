# SPDX-License-Identifier: Apache-2.0
"""Nobody takes so much of the keeper that others find no place in it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from time import monotonic, sleep
from typing import Any

import pytest

from sordino.session import Session
from tests.keeper.study import Study, code, question

STUDY = {"server": 'slot = "off"'}


class Crowd:
    """Counts who is within a method of the session, and keeps them there until they may go on."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.go_on = Event()
        self.within = self.most = 0
        self._turn = Lock()

    def __call__(self, *arguments: Any, **terms: Any) -> Any:
        with self._turn:
            self.within += 1
            self.most = max(self.most, self.within)
        self.go_on.wait(30)
        try:
            return self.method(*arguments, **terms)
        finally:
            with self._turn:
                self.within -= 1

    def wait_for(self, many: int) -> None:
        """Wait until so many are within, and a little longer for others."""
        until = monotonic() + 30
        while self.within < many and monotonic() < until:
            sleep(0.01)
        sleep(0.2)


def held(monkeypatch: pytest.MonkeyPatch, name: str) -> Crowd:
    crowd = Crowd(getattr(Session, name))

    def entered(session: Session, *arguments: Any, **terms: Any) -> Any:  # which takes the session
        return crowd(session, *arguments, **terms)

    monkeypatch.setattr(Session, name, entered)
    return crowd


def test_a_person_has_64_requests_under_way_and_others_go_on(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    token = served.keeper.tokens.all("ann")[0].number
    crowd = held(monkeypatch, "explain_ask")
    body = {"questions": [question()]}
    with ThreadPoolExecutor(64) as pool:
        replies = [pool.submit(served.send, "prices", ann, body) for _ in range(64)]
        crowd.wait_for(4)
        refused = served.send("me", ann)
        assert (refused.status, code(refused)) == (429, "too_fast")
        assert refused.headers["Retry-After"] == "1"
        assert served.send("revoke", olga, path={"token": token}).status == 204
        assert served.send("me", ann).status == 401
        crowd.go_on.set()
        assert {reply.result(30).status for reply in replies} == {200}
    assert crowd.most == 4


def test_a_place_is_free_again_after_every_request(served: Study) -> None:
    ann = served.person("ann", "analyst")
    for _ in range(40):
        assert served.send("answer", ann, path={"answer": "people:99"}).status == 404
        assert served.send("prices", ann, {"questions": []}).status == 400
    assert served.send("prices", ann, {"questions": [question()]}).status == 200


def test_rehearsals_are_computed_four_at_once(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    crowd = held(monkeypatch, "rehearse_ask")
    body = {"question": question()}
    with ThreadPoolExecutor(9) as pool:
        replies = [pool.submit(served.send, "rehearse", ann, body) for _ in range(8)]
        crowd.wait_for(4)
        assert crowd.within == 4
        replies.append(pool.submit(served.send, "rehearse", bob, body))
        crowd.wait_for(5)
        assert crowd.within == 5
        crowd.go_on.set()
        assert {reply.result(60).status for reply in replies} == {200}


def test_a_batch_counts_as_many_requests_as_it_has_questions(served: Study) -> None:
    ann = served.person("ann", "analyst")
    served.keeper.rates.rate = 2
    assert served.send("prices", ann, {"questions": [question()] * 30}).status == 200
    refused = served.send("me", ann)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "11")
    served.time.now += 10
    assert served.send("me", ann).status == 429
    served.time.now += 1
    assert [served.send("me", ann).status for _ in range(3)] == [200, 200, 429]
