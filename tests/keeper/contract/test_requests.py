# SPDX-License-Identifier: Apache-2.0
"""Approval: a machine of states, walked at random beside a model of it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sordino.channel.frames import Reply
from sordino.keeper import requests
from sordino.keeper.requests import SECONDS
from tests.keeper.study import COUNT, DAY, Study, code, question, study, told

DEAR = question(epsilon="0.5")
STUDY = {"server": "approve_above = 0.2"}


@pytest.fixture
def twice(tmp_path: Path) -> Iterator[Study]:
    with study(tmp_path / "study", server="approve_above = 0.2\napprovers = 2") as made:
        yield made


def test_a_dear_question_waits_for_approval_and_is_answered_once(served: Study) -> None:
    ann, pia = served.person("ann", "analyst"), served.person("pia", "approver")
    reply = served.send("ask", ann, {"question": DEAR})
    assert (reply.status, reply.headers["Location"]) == (202, "/v1/requests/1")
    assert served.send("ask", ann, {"question": DEAR}).headers == reply.headers
    assert served.charges == []
    served.send("vote", pia, {"decision": "approve"}, path={"request": "1"})
    assert served.send("ask", ann, {"question": DEAR}).status == 200
    found = told(served.send("request", ann, path={"request": "1"}))
    assert (found["state"], found["charge"]) == ("answered", "people:2")
    fresh = {"question": {**DEAR, "fresh": True}}
    assert served.send("ask", ann, fresh, key="again").status == 202  # an approval is used up


def test_requests_come_in_pages(served: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, pia = served.person("ann", "analyst"), served.person("pia", "approver")
    for price in range(30, 35):
        served.send("ask", ann, {"question": question(epsilon=f"0.{price}")})

    def numbers(**query: str) -> list[int]:
        found = served.send("requests", pia, query=query)
        return [one["number"] for one in told(found)["requests"]]

    assert numbers() == [1, 2, 3, 4, 5]
    assert numbers(**{"from": "2", "count": "3"}) == [2, 3, 4]
    served.send("vote", pia, {"decision": "deny"}, path={"request": "3"})
    assert numbers(**{"from": "2", "count": "2", "state": "sent"}) == [2, 4]
    monkeypatch.setattr(requests, "_MOST", 2)
    assert numbers() == numbers(count="200") == [1, 2]
    assert code(served.send("requests", pia, query={"from": "0"})) == "query"


def test_a_cheap_question_needs_no_approval(served: Study) -> None:
    ann = served.person("ann", "analyst")
    assert served.ask(ann, epsilon="0.2").status == 200
    reply = served.send("petition", ann, {"question": question()})
    assert (reply.status, code(reply)) == (409, "not_dear")


def test_a_comment_that_comes_later_is_kept_until_somebody_has_voted(twice: Study) -> None:
    ann, pia = twice.person("ann", "analyst"), twice.person("pia", "approver")
    assert twice.send("ask", ann, {"question": DEAR}).status == 202  # which sends it without one
    for comment in ("for the report", "for something else", ""):
        body = {"question": DEAR, "comment": comment}
        made = told(twice.send("petition", ann, body))
        assert (made["number"], made["comment"]) == (1, "for the report")
    steps = [one["what"] for one in twice.state.rows("SELECT what FROM journal")]
    assert steps.count("request commented") == 1
    later = {"question": {**DEAR, "epsilon": "0.7"}}
    assert twice.send("ask", ann, later).status == 202
    twice.send("vote", pia, {"decision": "approve"}, path={"request": "2"})
    made = told(twice.send("petition", ann, {**later, "comment": "too late"}))
    assert (made["number"], made["state"], made["comment"]) == (2, "voted", "")


def test_an_approval_is_for_who_has_asked(served: Study) -> None:
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    pia = served.person("pia", "approver")
    served.send("ask", ann, {"question": DEAR})
    served.send("vote", pia, {"decision": "approve"}, path={"request": "1"})
    assert served.send("ask", bob, {"question": DEAR}).status == 202
    assert served.send("ask", ann, {"question": question(epsilon="0.6")}).status == 202


def test_an_approval_is_given_back_where_nothing_was_charged(served: Study) -> None:
    ann, pia = served.person("ann", "analyst"), served.person("pia", "approver")
    served.ask(ann)  # so that there is less left than the budget
    too_dear = {"question": question(epsilon="2.95")}
    assert served.send("ask", ann, too_dear).status == 202
    served.send("vote", pia, {"decision": "approve"}, path={"request": "1"})
    assert served.send("ask", ann, too_dear).status == 409
    assert told(served.send("request", ann, path={"request": "1"}))["state"] == "approved"


@pytest.mark.parametrize("price", ["3.1", "9223372036.854775808", "1e10"])
def test_what_no_budget_has_room_for_is_refused_and_not_sent(served: Study, price: str) -> None:
    ann = served.person("ann", "analyst")
    capped = served.token("ann", ("ask",), cap=10**9)
    served.ask(ann)
    body = {"question": question(epsilon=price)}
    for call in ("ask", "petition"):
        reply = served.send(call, ann, body)
        assert (reply.status, code(reply)) == (409, "budget_exceeded")
    assert told(reply)["arguments"][1:] == ["epsilon 2.9", "epsilon 2.9 or less would fit"]
    assert code(served.send("ask", capped, body)) == "token_spent"
    assert told(served.send("requests", ann))["requests"] == []


def test_a_token_for_some_tables_sees_and_decides_requests_about_these_alone(
    served: Study,
) -> None:
    ann, pia = served.person("ann", "analyst"), served.person("pia", "approver")
    staff = {"question": question("SELECT COUNT(*) AS n FROM staff", epsilon="0.5")}
    limited = served.token("ann", ("price", "ask"), tables=["STAFF"])
    limited_too = served.token("pia", ("decide",), tables=["staff"])
    assert served.send("petition", ann, {"question": DEAR}).status == 201
    assert served.send("petition", limited, staff).status == 201
    for token in (limited, limited_too):
        listed = told(served.send("requests", token))["requests"]
        assert [one["number"] for one in listed] == [2]
        assert served.send("request", token, path={"request": "2"}).status == 200
        hidden = served.send("request", token, path={"request": "1"})
        assert hidden.body == served.send("request", token, path={"request": "99"}).body
    vote = {"decision": "approve"}
    for number, status in (("1", 404), ("2", 200)):
        path = {"request": number}
        assert served.send("vote", limited_too, vote, path=path).status == status
    assert served.send("withdraw", limited, path={"request": "1"}).status == 404
    assert [one["state"] for one in told(served.send("requests", ann))["requests"]] == [
        "sent",
        "approved",
    ]
    assert served.send("vote", pia, vote, path={"request": "1"}).status == 200


def test_a_page_of_requests_is_full_whatever_a_token_may_not_see(served: Study) -> None:
    ann = served.person("ann", "analyst")
    limited = served.token("ann", ("price", "ask"), tables=["staff"])
    staff = "SELECT COUNT(*) AS n FROM staff"
    for number in range(6):
        asked = question(staff if number % 3 == 2 else COUNT, epsilon=f"0.{30 + number}")
        assert served.send("petition", ann, {"question": asked}).status == 201
    listed = told(served.send("requests", limited, query={"count": "2"}))["requests"]
    assert [one["number"] for one in listed] == [3, 6]


def test_nobody_fills_the_list_of_who_decides(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "_MOST_A_DAY", 3)
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")

    def send(who: str, price: int) -> Reply:
        return served.send("petition", who, {"question": question(epsilon=f"0.{price}")})

    for price in (30, 31, 32):
        assert send(ann, price).status == 201
        assert served.send("withdraw", ann, path={"request": str(price - 29)}).status == 200
        served.time.now += 10
    for call in ("petition", "ask"):
        reply = served.send(call, ann, {"question": question(epsilon="0.33")})
        assert (reply.status, code(reply)) == (429, "too_many")
        assert reply.headers["Retry-After"] == str(DAY - 30)
    assert served.charges == []
    assert send(bob, 33).status == 201
    served.time.now += DAY - 30
    ann = served.person("ann", "analyst")
    assert send(ann, 33).status == 201
    assert send(ann, 34).status == 429


def test_nobody_decides_their_own(served: Study) -> None:
    olga = served.person("olga", "owner")
    served.send("ask", olga, {"question": DEAR})
    reply = served.send("vote", olga, {"decision": "approve"}, path={"request": "1"})
    assert (reply.status, code(reply)) == (403, "forbidden")
    assert served.send("ask", olga, {"question": DEAR}).status == 202


def test_votes_are_blind_until_both_are_in(twice: Study) -> None:
    ann = twice.person("ann", "analyst")
    pia, pat = twice.person("pia", "approver"), twice.person("pat", "approver")
    olga = twice.person("olga", "owner")
    twice.send("ask", ann, {"question": DEAR})
    path = {"request": "1"}
    twice.send("vote", pia, {"decision": "deny", "comment": "too much"}, path=path)
    for other in (ann, pat, olga):
        found = told(twice.send("request", other, path=path))
        assert (found["state"], found["votes"]) == ("voted", [])
        assert "too much" not in twice.send("requests", other).body.decode()
    assert "deny" not in twice.send("journal", olga).body.decode()
    assert len(told(twice.send("request", pia, path=path))["votes"]) == 1
    assert code(twice.send("vote", pia, {"decision": "approve"}, path=path)) == "decided"
    found = told(twice.send("vote", pat, {"decision": "approve"}, path=path))
    assert (found["state"], len(found["votes"])) == ("denied", 2)


def test_requests_of_others_are_as_little_there_as_none(served: Study) -> None:
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    served.send("ask", ann, {"question": DEAR})
    nothing = served.send("request", bob, path={"request": "7"})
    assert served.send("request", bob, path={"request": "1"}) == nothing
    assert served.send("withdraw", bob, path={"request": "1"}) == nothing
    assert told(served.send("requests", bob)) == {"requests": []}


class Approvals(RuleBasedStateMachine):
    """One question that two must approve, beside a model that knows the rules."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.served = Study(
            self.folder / "study", server='approve_above = 0.2\napprovers = 2\nslot = "off"'
        )
        self.ann = self.served.person("ann", "analyst")
        self.approvers = {
            name: self.served.person(name, "approver") for name in ("pia", "pat", "pim")
        }
        self.state = ""
        self.votes: dict[str, str] = {}
        self.number = 0
        self.key = 0
        self.charges = 0

    def teardown(self) -> None:
        self.served.close()
        shutil.rmtree(self.folder)

    @rule()
    def ask(self) -> None:
        self.key += 1
        body = {"question": {**DEAR, "fresh": True}}
        reply = self.served.send("ask", self.ann, body, key=str(self.key))
        if self.state == "approved":
            fits = self.charges < 6  # of a budget of 3
            assert reply.status == (200 if fits else 409)
            if fits:
                self.charges += 1
                self.state = "answered"
            return
        assert reply.status == 202
        if self.state not in ("sent", "voted"):
            self.number, self.state, self.votes = self.number + 1, "sent", {}
        assert reply.headers["Location"] == f"/v1/requests/{self.number}"

    @precondition(lambda self: self.number)
    @rule(
        who=st.sampled_from(["pia", "pat", "pim"]),
        decision=st.sampled_from(["approve"] * 3 + ["deny", "return"]),
    )
    def vote(self, who: str, decision: str) -> None:
        reply = self.served.send(
            "vote",
            self.approvers[who],
            {"decision": decision},
            path={"request": str(self.number)},
        )
        if self.state not in ("sent", "voted") or who in self.votes:
            assert reply.status == 409
            return
        assert reply.status == 200
        self.votes[who] = decision
        if len(self.votes) < 2:
            self.state = "voted"
        elif "deny" in self.votes.values():
            self.state = "denied"
        else:
            self.state = "returned" if "return" in self.votes.values() else "approved"

    @precondition(lambda self: self.number)
    @rule()
    def withdraw(self) -> None:
        reply = self.served.send("withdraw", self.ann, path={"request": str(self.number)})
        living = self.state in ("sent", "voted", "approved")
        assert reply.status == (200 if living else 409)
        if living:
            self.state = "withdrawn"

    @rule()
    def wait(self) -> None:
        self.served.time.now += SECONDS
        if self.state in ("sent", "voted", "approved"):
            self.state = "expired"
        # Tokens of a day have ended meanwhile.
        self.ann = self.served.token("ann", ["ask", "price"], fresh=True)
        self.approvers = {name: self.served.token(name, ["decide"]) for name in self.approvers}

    @rule()
    def restart(self) -> None:
        self.served.restart()

    @invariant()
    def what_is_on_record_is_what_the_model_says(self) -> None:
        if self.number:
            found = self.served.send("request", self.ann, path={"request": str(self.number)})
            assert told(found)["state"] == self.state
        assert len(self.served.charges) == self.charges
        self.served.state.check_journal()


TestApprovals = Approvals.TestCase
TestApprovals.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
