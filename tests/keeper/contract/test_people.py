# SPDX-License-Identifier: Apache-2.0
"""People, passwords and tokens: no token makes one that may do more, and an end is at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from argon2 import PasswordHasher

from sordino.channel.calls import Call
from sordino.channel.frames import Reply, Request
from sordino.keeper import passwords
from sordino.keeper.tokens import Caller
from tests.keeper.study import DAY, Study, code, question, study, told

PASSWORD = "correct horse battery"  # noqa: S105 - of nobody
STUDY = {"server": 'slot = "off"'}


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash at little cost, which the tests of passwords themselves do not."""
    monkeypatch.setattr(
        passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    )
    passwords._nobodys.cache_clear()


def secret(served: Study, credential: str, **terms: Any) -> str:
    reply = served.send("token", credential, terms)
    assert reply.status == 201, reply
    found: str = told(reply)["secret"]
    return found


def test_a_revoked_token_ends_at_once(served: Study) -> None:
    ann = served.person("ann", "analyst")
    other = secret(served, ann)
    number = told(served.send("me", other))["token"]
    assert served.send("revoke", ann, path={"token": number}).status == 204
    assert served.send("me", other).status == 401
    assert served.send("me", ann).status == 200


def test_a_token_expires(served: Study) -> None:
    ann = served.person("ann", "analyst")
    served.time.now += DAY - 1
    assert served.send("me", ann).status == 200
    served.time.now += 1
    assert served.send("me", ann).status == 401


def test_who_is_dismissed_is_known_no_more(served: Study) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    assert served.send("dismiss", olga, path={"name": "ann"}).status == 200
    assert served.send("me", ann).status == 401
    served.person("ann", "analyst")
    assert served.send("me", ann).status == 401  # whoever comes back needs a new token


def test_roles_hold_at_once(served: Study) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    assert served.send("person", olga, {"name": "ann", "roles": ["operator"]}).status == 201
    assert served.send("catalog", ann).status == 403


def test_the_last_owner_stays(served: Study) -> None:
    olga = served.person("olga", "owner")
    body = {"name": "olga", "roles": ["analyst"]}
    assert code(served.send("person", olga, body)) == "last_owner"
    assert code(served.send("dismiss", olga, path={"name": "olga"})) == "last_owner"
    assert served.keeper.people.get("olga")["roles"] == "owner"  # type: ignore[index]
    assert served.send("me", olga).status == 200
    served.person("otto", "owner")
    assert served.send("dismiss", olga, path={"name": "olga"}).status == 200


@pytest.mark.parametrize("way", ["person", "dismiss"])
def test_two_owners_who_end_each_other_leave_one(
    served: Study, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Both are let in before either has ended the other, as two at the same moment can be."""
    let_in, both_in = served.keeper._caller, Barrier(2, timeout=30)

    def caller(request: Request, call: Call) -> Caller | None:
        found = let_in(request, call)
        both_in.wait()
        return found

    monkeypatch.setattr(served.keeper, "_caller", caller)

    def end(by: str, name: str) -> Reply:
        if way == "person":
            return served.send("person", by, {"name": name, "roles": ["analyst"]})
        return served.send("dismiss", by, path={"name": name})

    for _ in range(10):
        olga, otto = served.person("olga", "owner"), served.person("otto", "owner")
        steps = served.state.check_journal()
        with ThreadPoolExecutor(2) as threads:
            replies = [threads.submit(end, olga, "otto"), threads.submit(end, otto, "olga")]
            statuses = [reply.result().status for reply in replies]
        assert sorted(statuses) in ([200, 409], [201, 409])
        left = [row["name"] for row in served.keeper.people.all() if row["roles"] == "owner"]
        current = [name for name in left if served.keeper.people.get(name)]
        assert current == ["olga" if statuses[0] < 400 else "otto"]
        assert served.state.check_journal() == steps + 1  # what was undone is no step


def test_a_first_owner_is_made_where_there_was_none(served: Study) -> None:
    served.person("ann", "analyst")
    served.person("ann", "auditor")
    assert served.send("people", served.person("olga", "owner")).status == 200


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        ({"cap": 10**8}, {}),
        ({"tables": ["staff"]}, {}),
        ({}, {"fresh": True}),
        ({}, {"scopes": ["own"]}),
        ({}, {"scopes": ["ask"]}),
        ({}, {"name": "bob"}),
    ],
)
def test_no_token_makes_one_that_may_do_more(served: Study, own: Any, wanted: Any) -> None:
    served.person("bob", "analyst")
    served.person("ann", "analyst")
    limited = served.token("ann", ["price"], **own)
    reply = served.send("token", limited, wanted)
    assert (reply.status, code(reply)) == (403, "forbidden")


def test_a_token_makes_one_of_its_own_scopes(served: Study) -> None:
    served.person("ann", "analyst")
    made = secret(served, served.token("ann", ["price", "ask"]), days=1)
    assert told(served.send("me", made))["scopes"] == ["ask", "price"]


def test_no_token_makes_one_that_lives_longer(served: Study) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    own = told(served.send("me", ann))["expires"]
    child = secret(served, ann, days=90)
    grandchild = secret(served, child, days=90)
    assert told(served.send("me", child))["expires"] == own
    assert told(served.send("me", grandchild))["expires"] == own
    assert told(served.send("me", secret(served, olga, name="ann", days=90)))["expires"] > own


def test_what_a_revoked_token_has_made_ends_with_it(served: Study) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    child, sibling = secret(served, ann), secret(served, ann)
    grandchild = secret(served, child)
    number = told(served.send("me", child))["token"]
    assert served.send("revoke", olga, path={"token": number}).status == 204
    statuses = [served.send("me", one).status for one in (ann, sibling, child, grandchild)]
    assert statuses == [200, 200, 401, 401]
    assert served.send("logout", ann).status == 204
    assert served.send("me", sibling).status == 401


def test_what_an_owner_has_made_outlives_the_token_it_was_made_with(served: Study) -> None:
    served.person("ann", "analyst")
    first = served.person("olga", "owner")
    for_ann, for_herself = secret(served, first, name="ann"), secret(served, first)
    number = told(served.send("me", first))["token"]
    assert served.send("revoke", for_herself, path={"token": number}).status == 204
    assert [served.send("me", one).status for one in (first, for_ann, for_herself)] == [
        401,
        200,
        200,
    ]


def test_the_owner_makes_tokens_within_the_roles_of_others(served: Study) -> None:
    olga = served.person("olga", "owner")
    served.person("ann", "analyst")
    assert served.send("token", olga, {"name": "ann", "scopes": ["own"]}).status == 403
    for reply in (
        served.send("token", olga, {"name": "nobody"}),
        served.send("dismiss", olga, path={"name": "nobody"}),
    ):
        assert (reply.status, code(reply)) == (404, "not_there")
        assert told(reply)["detail"] == "there is nobody called 'nobody' here"
    made = secret(served, olga, name="ann", cap="0.25", fresh=True)
    assert told(served.send("me", made))["cap_nanos"] == 250_000_000


def test_a_cap_is_kept_to_and_only_charges_count(served: Study) -> None:
    served.person("ann", "analyst")
    capped = served.token("ann", ["ask"], cap=250_000_000, fresh=True)
    assert served.ask(capped, epsilon="0.1").status == 200
    assert served.ask(capped, epsilon="0.1").status == 200  # the same answer
    assert served.ask(capped, epsilon="5").status == 409  # the ledger refuses it
    assert served.ask(capped, epsilon="0.15").status == 200
    reply = served.ask(capped, epsilon="0.000001")
    assert (reply.status, code(reply)) == (409, "token_spent")
    assert sum(charge.price for charge in served.charges) == 250_000_000
    assert told(served.send("me", capped))["spent_nanos"] == 250_000_000


def test_a_spent_token_says_what_is_left_of_it_and_what_to_do(served: Study) -> None:
    served.person("ann", "analyst")
    capped = served.token("ann", ["ask", "price"], cap=250_000_000)
    served.ask(capped, epsilon="0.1")
    reply = told(served.ask(capped, epsilon="0.2"))
    assert reply["code"] == "token_spent"
    assert "epsilon 0.2" in reply["detail"]
    assert "epsilon 0.15 may still be spent" in reply["detail"]
    assert "larger cap" in reply["hint"]


def test_prices_say_whether_a_token_can_afford_them(served: Study) -> None:
    ann = served.person("ann", "analyst")
    capped = served.token("ann", ["ask", "price"], cap=250_000_000)
    served.ask(capped, epsilon="0.1")
    questions = {"questions": [question(epsilon=epsilon) for epsilon in ("0.15", "0.2")]}
    prices = told(served.send("prices", capped, questions))["prices"]
    assert [one["fits_token"] for one in prices] == [True, False]
    assert {one["left_of_token"] for one in prices} == {"epsilon 0.15"}
    prices = told(served.send("prices", ann, questions))["prices"]
    assert [(one["fits_token"], one["left_of_token"]) for one in prices] == [(True, None)] * 2


def test_a_refused_question_is_not_counted(served: Study) -> None:
    served.person("ann", "analyst")
    capped = served.token("ann", ["ask"], cap=9 * 10**9)
    assert served.ask(capped, epsilon="5").status == 409
    assert told(served.send("me", capped))["spent_nanos"] == 0


def test_tokens_are_kept_as_hashes_alone(served: Study) -> None:
    ann = served.person("ann", "analyst", password=PASSWORD)
    served.send("me", ann)
    served.close()
    kept = b"".join(path.read_bytes() for path in served.folder.glob("keeper.db*"))
    assert ann.encode() not in kept
    assert PASSWORD.encode() not in kept
    served.open()
    assert ann not in served.send("tokens", ann).body.decode()


def test_a_name_and_a_password_give_a_token(served: Study) -> None:
    served.person("ann", "analyst", password=PASSWORD)
    reply = served.send("login", None, {"name": "ann", "password": PASSWORD})
    assert reply.status == 201
    made = told(reply)["secret"]
    assert served.send("me", made).status == 200
    assert served.send("logout", made).status == 204
    assert served.send("me", made).status == 401


def test_a_wrong_name_and_a_wrong_password_are_refused_in_the_same_bytes(served: Study) -> None:
    served.person("ann", "analyst", password=PASSWORD)
    served.person("bob", "analyst")
    bodies = {
        served.send("login", None, {"name": name, "password": "wrong" * 4}).body
        for name in ("ann", "bob", "nobody", "*", "")
        if name
    }
    assert len(bodies) == 1


def test_guessing_ends_and_begins_again(served: Study) -> None:
    served.person("ann", "analyst", password=PASSWORD)
    wrong = {"name": "ann", "password": "wrong" * 4}
    right = {"name": "ann", "password": PASSWORD}
    assert [served.send("login", None, wrong, address="a").status for _ in range(5)] == [401] * 5
    reply = served.send("login", None, right, address="b")
    assert (reply.status, code(reply)) == (429, "too_fast")
    served.time.now += int(reply.headers["Retry-After"])
    assert served.send("login", None, right, address="b").status == 201


def test_an_address_has_few_guesses_at_many_accounts(served: Study) -> None:
    statuses = [
        served.send("login", None, {"name": f"n{k}", "password": "x"}, address="a").status
        for k in range(25)
    ]
    assert statuses == [401] * 20 + [429] * 5
    assert served.send("login", None, {"name": "z", "password": "x"}, address="b").status == 401


def test_who_sets_their_own_password_knows_the_old_one(served: Study) -> None:
    ann = served.person("ann", "analyst", password=PASSWORD)
    new = {"password": "another password"}
    path = {"name": "ann"}
    assert served.send("password", ann, new, path=path).status == 403
    assert served.send("password", ann, {**new, "old": PASSWORD}, path=path).status == 204
    login = {"name": "ann", "password": "another password"}
    assert served.send("login", None, login).status == 201


def test_a_limited_token_sets_no_password(served: Study) -> None:
    served.person("ann", "analyst")
    for limited in (
        served.token("ann", ["price"], fresh=True),
        served.token("ann", ["price", "ask", "rehearse"], fresh=True, cap=1),
        served.token("ann", ["price", "ask", "rehearse"]),
    ):
        reply = served.send("password", limited, {"password": PASSWORD}, path={"name": "ann"})
        assert reply.status == 403


def test_the_owner_sets_passwords_of_others_and_nobody_else_does(served: Study) -> None:
    olga, ann = served.person("olga", "owner"), served.person("ann", "analyst")
    served.person("bob", "analyst")
    body, path = {"password": PASSWORD}, {"name": "bob"}
    assert served.send("password", ann, body, path=path).status == 404
    assert served.send("password", olga, body, path=path).status == 204
    assert served.send("login", None, {"name": "bob", "password": PASSWORD}).status == 201


def test_too_many_requests_wait(tmp_path: Path) -> None:
    with study(tmp_path / "study") as served:
        ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
        served.keeper.rates.rate = 2
        statuses = [served.send("me", ann).status for _ in range(12)]
        assert statuses == [200] * 10 + [429] * 2
        assert served.send("me", ann).headers["Retry-After"] == "1"
        assert served.send("me", bob).status == 200
        served.time.now += 1
        assert [served.send("me", ann).status for _ in range(3)] == [200, 200, 429]


def test_what_is_left_in_all_is_told_where_the_owner_wants_it(tmp_path: Path) -> None:
    for stated, seen in (("false", False), ("true", True)):
        with study(tmp_path / stated, server=f"show_all = {stated}\nslot = 'off'") as served:
            ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
            served.ask(bob, epsilon="0.7")
            text = served.send("budget", ann).body.decode()
            assert ("epsilon 0.7" in text) is seen
            assert "bob" not in text


def test_a_history_is_ones_own(served: Study) -> None:
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    olga = served.person("olga", "owner")
    served.ask(ann)
    served.ask(bob, epsilon="0.2")
    assert {entry["who"] for entry in told(served.send("history", ann))["entries"]} == {"ann"}
    everything = told(served.send("history", olga))["entries"]
    assert {"ann", "bob"} <= {entry["who"] for entry in everything}
    assert question()["sql"] in str(everything)
