# SPDX-License-Identifier: Apache-2.0
"""Floods and accidents: of guesses, of one person's requests, of keys, of a clock that jumps."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

from sordino.channel.frames import Reply
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.keeper import people, reading
from sordino.keeper.requests import SECONDS, Requests
from sordino.keeper.tokens import Tokens
from tests.keeper.study import DAY, Study, code, question, study, told, until

YEAR = 365 * DAY
STUDY = {"server": 'slot = "off"', "epsilon": "1000"}


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> Iterator[list[int]]:
    """Let calls wait, and say how many do, until the context is left."""
    inner, let_go, waiting = getattr(owner, name), Event(), [0]

    def wait(*arguments: Any, **named: Any) -> Any:
        waiting[0] += 1
        assert let_go.wait(60)
        return inner(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, wait)
        try:
            yield waiting
        finally:
            let_go.set()


def test_a_flood_of_guesses_leaves_the_server_to_those_who_have_a_token(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst", password="correct horse battery")  # noqa: S106

    def guess(number: int) -> Reply:
        body = {"name": f"n{number}", "password": "wrong horse battery"}
        return served.send("login", None, body, address=f"198.51.100.{number % 250}")

    with ThreadPoolExecutor(16) as threads:
        with held(monkeypatch, people, "is_password") as waiting:
            first = [threads.submit(guess, number) for number in range(16)]
            until(lambda: waiting[0] == 16)
            refused = [guess(number) for number in range(16, 300)]
            assert {(one.status, code(one)) for one in refused} == {(503, "busy")}
            assert {one.headers["Retry-After"] for one in refused} == {"1"}
            assert waiting == [16]
            assert served.send("me", ann).status == 200
            assert served.ask(ann).status == 200
        assert {one.result().status for one in first} == {401}
    body = {"name": "ann", "password": "correct horse battery"}
    assert served.send("login", None, body, address="203.0.113.1").status == 201


def test_a_line_with_many_addresses_is_one_guesser(served: Study) -> None:
    served.keeper.state.change("UPDATE people SET password = NULL")

    def guess(number: int, network: str = "2001:db8:0:1") -> int:
        body = {"name": f"n{number}", "password": "wrong horse battery"}
        return served.send("login", None, body, address=f"{network}::{number:x}").status

    assert [guess(number) for number in range(20)] == [401] * 20
    assert guess(20) == 429
    assert guess(21, "2001:db8:0:2") == 401


def test_addresses_of_version_4_are_told_apart_where_one_socket_takes_both_versions(
    served: Study,
) -> None:
    def guess(number: int, address: str) -> int:
        body = {"name": f"n{number}", "password": "wrong horse battery"}
        return served.send("login", None, body, address=address).status

    assert [guess(number, "::ffff:198.51.100.7") for number in range(20)] == [401] * 20
    assert guess(20, "::ffff:198.51.100.7") == 429
    assert guess(21, "198.51.100.7") == 429
    assert guess(22, "::ffff:203.0.113.9") == 401


def test_the_65th_request_is_turned_away_and_a_stolen_token_can_still_be_ended(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    stolen, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    own = served.token("ann", ["price", "ask"])
    number = told(served.send("me", stolen))["token"]
    with ThreadPoolExecutor(64) as threads:
        with held(monkeypatch, DuckdbEngine, "run"):
            asked = [
                threads.submit(served.ask, stolen, epsilon=f"0.0{k + 100}", key=str(k))
                for k in range(64)
            ]
            until(lambda: served.keeper._under_way._under_way["ann"] == 64)
            for credential in (stolen, own):
                refused = served.send("me", credential)
                assert (refused.status, code(refused)) == (429, "too_fast")
                assert refused.headers == {"Retry-After": "1"}
            assert served.send("me", bob).status == 200
            assert served.send("revoke", own, path={"token": number}).status == 204
            assert served.send("me", stolen).status == 401
        replies = [one.result() for one in asked]
    assert {reply.status for reply in replies} == {200}
    assert len(served.charges) == 64
    assert not served.keeper._under_way._under_way
    assert served.send("me", own).status == 200


def test_ending_tokens_has_a_rate_of_its_own(tmp_path: Path) -> None:
    with study(tmp_path / "study", server='slot = "off"') as served:
        served.keeper.rates.rate = 2
        ann = served.person("ann", "analyst")
        number = told(served.send("me", ann))["token"]
        while served.send("me", ann).status == 200:
            pass
        statuses = [served.send("revoke", ann, path={"token": "none"}).status for _ in range(11)]
        assert statuses == [404] * 10 + [429]
        served.time.now += 1
        assert served.send("revoke", ann, path={"token": number}).status == 204


@pytest.mark.parametrize(
    ("call", "owner", "name"),
    [
        ("requests", Requests, "all"),
        ("history", reading, "_entries"),
        ("ledger", reading, "_entries"),
        ("tokens", Tokens, "all"),
    ],
)
def test_few_long_lists_of_one_person_are_made_at_once(
    served: Study, monkeypatch: pytest.MonkeyPatch, call: str, owner: object, name: str
) -> None:
    olga, bob = served.person("olga", "owner"), served.person("bob", "owner")
    with ThreadPoolExecutor(20) as pool, held(monkeypatch, owner, name) as waiting:
        own = [pool.submit(served.send, call, olga) for _ in range(10)]
        until(lambda: waiting[0] == 4)
        other = pool.submit(served.send, call, bob)
        until(lambda: waiting[0] == 5)
        time.sleep(0.05)
        assert waiting[0] == 5
    assert [one.result().status for one in (*own, other)] == [200] * 11


def test_nobody_fills_the_disk_with_tokens(served: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "_TOKENS_A_DAY", 2)
    monkeypatch.setattr(people, "_LOGINS_A_DAY", 2)
    word = "correct horse battery"
    ann, olga = served.person("ann", "analyst", password=word), served.person("olga", "owner")
    login = {"name": "ann", "password": word}
    for call, by, body, status in (("token", ann, {}, 201), ("login", None, login, 201)):
        for _ in range(2):
            made = served.send(call, by, body)
            assert made.status == status
            assert served.send("revoke", ann, path={"token": told(made)["id"]}).status == 204
        refused = served.send(call, by, body)
        assert (refused.status, code(refused)) == (429, "too_many")
    wrong = served.send("login", None, {**login, "password": "another one"})
    assert code(wrong) == "login_refused"  # as if there were no limit
    for _ in range(3):
        assert served.send("token", olga, {"name": "ann"}).status == 201
    served.time.now += DAY - 1
    olga = served.person("olga", "owner")
    assert served.send("token", served.person("ann", "analyst"), {}).status == 429
    served.time.now += 1
    assert served.send("token", served.person("ann", "analyst"), {}).status == 201
    assert served.send("login", None, login).status == 201


def test_nobody_fills_the_disk_with_passwords(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "_PASSWORDS_A_DAY", 2)
    word = "correct horse battery"
    ann, olga = served.person("ann", "analyst", password=word), served.person("olga", "owner")

    def change(by: str) -> Reply:
        return served.send("password", by, {"password": word, "old": word}, path={"name": "ann"})

    assert [change(ann).status for _ in range(2)] == [204] * 2
    refused = change(ann)
    assert (refused.status, code(refused)) == (429, "too_many")
    assert [change(olga).status for _ in range(3)] == [204] * 3
    served.time.now += DAY
    assert change(served.person("ann", "analyst")).status == 204


def test_an_approved_question_that_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    with study(tmp_path / "study", server='slot = "off"\napprove_above = 0.2') as served:
        ann, pia = served.person("ann", "analyst"), served.person("pia", "approver")
        served.ask(ann)
        dear = {"question": question(epsilon="2.95")}
        assert served.send("ask", ann, dear).status == 202
        served.send("vote", pia, {"decision": "approve"}, path={"request": "1"})
        steps = served.state.check_journal()
        assert {served.send("ask", ann, dear).status for _ in range(3)} == {409}
        assert served.state.check_journal() == steps


def test_a_token_that_has_ended_is_ended_once_in_the_journal(served: Study) -> None:
    ann = served.person("ann", "analyst")
    made = told(served.send("token", ann, {}))["id"]
    for _ in range(3):
        assert served.send("revoke", ann, path={"token": made}).status == 204
    steps = served.state.rows("SELECT * FROM journal WHERE what = 'revoke'")
    assert [step["about"] for step in steps] == [f"{made} of ann"]


@pytest.mark.parametrize("fresh", [False, True])
def test_keys_that_are_used_again_with_other_bodies_charge_once_each(
    served: Study, fresh: bool
) -> None:
    """Twelve threads send eight keys, each with five bodies, in every order and several times."""
    passes = [served.person("ann", "analyst"), served.person("bob", "analyst")]
    bodies = [f"0.{k + 11}" for k in range(5)]
    jobs = [(by, key, body) for by in (0, 1) for key in range(8) for body in bodies] * 3
    Random(1).shuffle(jobs)  # noqa: S311 - no secret

    def send(job: tuple[int, int, str]) -> tuple[tuple[int, int], str, Reply]:
        by, key, body = job
        reply = served.ask(passes[by], epsilon=body, key=f"key-{key}", fresh=fresh)
        return (by, key), body, reply

    with ThreadPoolExecutor(12) as threads:
        heard = list(threads.map(send, jobs))
    assert {reply.status for _, _, reply in heard} == {200, 422}
    assert {code(reply) for _, _, reply in heard if reply.status == 422} == {"key_reused"}
    answers: dict[tuple[int, int], set[tuple[str, str]]] = {}
    for key, body, reply in heard:
        if reply.status == 200:
            answers.setdefault(key, set()).add((body, told(reply)["receipt"]))
    charged = Counter(entry.why for entry in served.charges)
    if fresh:
        assert len(answers) == 16
        assert all(len(given) == 1 for given in answers.values())  # one body, and one receipt
        assert len(served.charges) == 16
        assert len(charged) == 8  # each key, of two people
    else:  # what was answered before is given to any key, which then stands for no charge
        of_each = {(by, *one) for (by, _), given in answers.items() for one in given}
        assert len({(by, body) for by, body, _ in of_each}) == len(of_each)
        assert len(served.charges) == len(of_each) <= 10


@pytest.mark.parametrize("jump", [YEAR, -YEAR, SECONDS + 1, -60])
def test_a_clock_that_jumps_and_comes_back_grants_nothing(tmp_path: Path, jump: int) -> None:
    with study(tmp_path / "study", server='slot = "off"\napprove_above = 0.2') as served:
        ann, pia = served.person("ann", "analyst"), served.person("pia", "approver")
        capped = served.token("ann", ["price", "ask"], cap=100_000_000)
        body = {"question": question(epsilon="0.15")}
        quote = told(served.send("prices", ann, {"questions": [body["question"]]}))["prices"][0]
        dear = {"question": question(epsilon="0.5")}
        assert served.send("ask", ann, dear).status == 202
        served.send("vote", pia, {"decision": "approve"}, path={"request": "1"})
        assert served.ask(ann, key="one").status == 200
        served.state._clock = lambda: served.time.now + jump
        there = Counter(
            served.send(call, ann, sent, key=key).status
            for call, sent, key in (
                ("me", None, None),
                ("ask", {"quote": quote["quote"]}, "two"),
                ("ask", {"question": question()}, "one"),
                ("health", None, None),
            )
        )
        assert there.keys() <= {200, 400, 401, 403, 412, 422}
        served.restart()  # and the clock is right again
        assert served.send("me", ann).status == 200
        assert served.ask(ann, key="one").status == 200
        assert code(served.ask(capped, epsilon="0.17")) == "token_spent"
        again = served.send("ask", ann, dear)
        assert again.status in (200, 202)  # 202 where the approval has expired meanwhile
        assert served.send("ask", ann, dear).status == again.status
        assert served.send("ask", ann, {"question": question(epsilon="0.51")}).status == 202
        assert sum(entry.price == 500_000_000 for entry in served.charges) <= 1
        assert served.state.check_journal() > 0
