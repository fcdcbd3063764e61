# SPDX-License-Identifier: Apache-2.0
"""What goes over the wire: sent again where that cannot pay twice, and refused in clear words."""

import logging
import os
import pickle
import ssl
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from sordino.answer.answer import to_bytes
from sordino.errors import (
    ApprovalNeeded,
    BudgetExceeded,
    LedgerError,
    NotConnected,
    QuestionTooDear,
    SealedError,
    ServerError,
    UnknownAnalyst,
    UnknownName,
)
from sordino.remote import RemoteSession
from sordino.remote.wire import Wire, checked_token, checked_url
from tests.answer.unit.sample import FULL
from tests.remote.unit.conftest import TOKEN, Connect
from tests.support.scripted import Scripted, ScriptedServer, problem, said

SQL = "SELECT COUNT(*) AS n FROM visits"
RECORD = {"Content-Type": "application/vnd.sordino.answer"}
ANSWER = Scripted(200, to_bytes(FULL), RECORD)
GONE = Scripted(hang_up=True)


def keys(server: ScriptedServer) -> list[str]:
    return [sent.headers["idempotency-key"] for sent in server.requests]


def test_a_question_is_sent_with_the_token_a_key_and_every_digit(
    server: ScriptedServer, connect: Connect
) -> None:
    server.script = [ANSWER]
    assert connect().ask(SQL, epsilon=0.1, delta=1e-7, within=None, rows=3) == FULL
    (sent,) = server.requests
    assert (sent.method, sent.path) == ("POST", "/v1/answers")
    assert sent.headers["authorization"] == f"Bearer {TOKEN}"
    assert sent.headers["accept"] == "application/vnd.sordino.answer"
    assert len(sent.headers["idempotency-key"]) == 32
    assert b'"epsilon":"0.1"' in sent.body
    assert TOKEN not in sent.path + sent.body.decode()


@pytest.mark.parametrize(
    "trouble",
    [
        GONE,
        problem(503, "keeper_unavailable", headers={"Retry-After": "1"}),
        problem(503, "busy"),
        problem(429, "too_fast", headers={"Retry-After": "3"}),
        Scripted(502, b"<html>", {"Content-Type": "text/html"}),
    ],
    ids=["hung up", "keeper", "busy", "too fast", "proxy"],
)
def test_trouble_that_passes_is_waited_for_with_one_key(
    trouble: Scripted, server: ScriptedServer, connect: Connect, pauses: list[float]
) -> None:
    server.script = [trouble, trouble, ANSWER]
    assert connect().ask(SQL, epsilon=1, fresh=True) == FULL
    assert len(set(keys(server))) == 1
    assert len({sent.body for sent in server.requests}) == 1
    stated = trouble.headers.get("Retry-After")
    assert pauses == ([float(stated)] * 2 if stated else [0.2, 0.5])


def test_a_question_whose_outcome_is_not_known_keeps_its_key(
    server: ScriptedServer, connect: Connect
) -> None:
    session = connect()
    server.script = [GONE]
    with pytest.raises(NotConnected, match="answered without paying again"):
        session.ask(SQL, epsilon=1, fresh=True)
    server.script = [problem(500, "sealed", kind="sealed-error")]
    with pytest.raises(SealedError):
        session.ask(SQL, epsilon=1, fresh=True)
    server.script = [ANSWER]
    session.ask(SQL, epsilon=1, fresh=True)
    assert len(set(keys(server))) == 1
    session.ask(SQL, epsilon=1, fresh=True)  # the last one was answered, so that this is another
    assert len(set(keys(server))) == 2


def test_a_refusal_is_not_sent_again_and_ends_its_key(
    server: ScriptedServer, connect: Connect, pauses: list[float]
) -> None:
    session = connect()
    server.script = [problem(409, "token_spent", "this costs more than the token may spend")]
    for _ in range(2):
        with pytest.raises(ServerError, match="more than the token may spend"):
            session.ask(SQL, epsilon=1)
    assert len(set(keys(server))) == 2
    assert pauses == []


def test_patience_ends(server: ScriptedServer, connect: Connect, pauses: list[float]) -> None:
    server.script = [problem(503, "busy", "too many requests", headers={"Retry-After": "50"})]
    with pytest.raises(ServerError, match="too many requests"):
        connect().ask(SQL, epsilon=1)
    assert pauses == [50, 50]  # a third one would be more than two minutes


def test_a_server_that_is_away_is_tried_for_some_time(
    server: ScriptedServer, connect: Connect, pauses: list[float]
) -> None:
    session = connect()
    server.stop()
    with pytest.raises(NotConnected, match="cannot be reached"):
        session.ask(SQL, epsilon=1)
    assert pauses == [0.2, 0.5, 1.0, 2.0, 4.0]


def test_an_answer_that_takes_too_long_is_not_asked_for_again_by_itself(
    server: ScriptedServer, connect: Connect, pauses: list[float]
) -> None:
    server.script = [replace(ANSWER, seconds=0.5), ANSWER]
    session = connect(waiting=0.1)
    with pytest.raises(NotConnected, match="took too long"):
        session.ask(SQL, epsilon=1)
    assert pauses == []
    assert session.ask(SQL, epsilon=1) == FULL
    assert len(set(keys(server))) == 1


@pytest.mark.parametrize(
    ("reply", "kind", "said_there"),
    [
        (problem(401, "unauthenticated", "unknown token"), ServerError, "sordino login"),
        (problem(403, "forbidden", "this token may not do that"), ServerError, "may not do that"),
        (problem(412, "generation_changed", "changed"), ServerError, "look at the price again"),
        (problem(400, "argument", "epsilon must", kind="value-error"), ValueError, "epsilon must"),
        (problem(400, "argument", "say what", kind="type-error"), TypeError, "say what"),
        (problem(500, "sealed", kind="sealed-error"), SealedError, "the charge stays"),
        (problem(503, "ledger", "not now", kind="ledger-error"), LedgerError, "not now"),
        (problem(409, "budget_exceeded", arguments=["epsilon 2", "epsilon 1", "ask for less"]),
         BudgetExceeded, "this asks for epsilon 2, but epsilon 1 is left; ask for less"),
        (problem(409, "question_too_dear", arguments=["epsilon 2", "epsilon 1"]),
         QuestionTooDear, "one question may cost at most epsilon 1"),
        (problem(409, "unknown_analyst", arguments=["eve", ["ann"]]), UnknownAnalyst, "'eve'"),
        (problem(409, "budget_exceeded", arguments=["epsilon 2"]), ServerError, "no"),
        (Scripted(500, b"<html>"), ServerError, "status 500; is there a proxy"),
        (Scripted(200, b"<html>", {"Content-Type": "text/html"}), ServerError, "none of a sordino"),
        (Scripted(200, b"{}", RECORD), ServerError, "none of a sordino"),
        (Scripted(200, b'{"answer":1,"columns":3}', RECORD), ServerError, "none of a sordino"),
        (Scripted(302, b"", {"Location": "https://evil.example"}), ServerError, "none of a sordin"),
    ],
)  # fmt: skip
def test_refusals_are_raised_as_what_they_are(
    reply: Scripted, kind: type[Exception], said_there: str, server: ScriptedServer,
    connect: Connect,
) -> None:  # fmt: skip
    server.script = [reply]
    with pytest.raises(kind, match=said_there):
        connect().ask(SQL, epsilon=1)


def test_a_refused_question_shows_where(server: ScriptedServer, connect: Connect) -> None:
    server.script = [
        problem(422, "unknown_column", "no column", kind="unknown-name", span=[7, 12], hint="n?")
    ]
    with pytest.raises(UnknownName) as refused:
        connect().ask(SQL, epsilon=1)
    assert str(refused.value).splitlines()[1:] == [f"  {SQL}", "         ^^^^^", "hint: n?"]


def test_a_dear_question_waits_for_approval(server: ScriptedServer, connect: Connect) -> None:
    server.script = [Scripted(202, b"{}", {"Location": "/v1/requests/r7"})]
    with pytest.raises(ApprovalNeeded, match="request r7 was made") as needed:
        connect().ask(SQL, epsilon=9)
    assert (needed.value.request, needed.value.status) == ("r7", 202)


def test_a_ledger_that_cannot_be_used_names_the_receipts(
    server: ScriptedServer, connect: Connect
) -> None:
    session = connect()
    server.script = [ANSWER]
    session.ask(SQL, epsilon=1)
    server.script = [problem(503, "ledger", "not now", kind="ledger-error")]
    with pytest.raises(LedgerError, match=r"the newest receipt in '.*heads.*' went along"):
        session.ask(SQL, epsilon=2)
    assert server.requests[-1].headers["sordino-seen"] == FULL.receipt


def test_the_token_is_in_no_repr_log_error_or_pickle(
    server: ScriptedServer, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    session = connect()
    server.script = [problem(403, "forbidden"), GONE]
    told = [repr(session), repr(session._wire), str(session)]
    with caplog.at_level(logging.DEBUG):
        for _ in range(2):
            with pytest.raises(ServerError) as refused:
                session.ask(SQL, epsilon=1)
            told += traceback.format_exception(refused.value)
            assert refused.value.__context__ is None
            assert "request" not in vars(refused.value)
    with pytest.raises(TypeError, match="has a token"):
        pickle.dumps(session)
    assert "s3cr3t" not in "".join(told) + caplog.text


def test_a_session_that_is_closed_asks_no_more(server: ScriptedServer, connect: Connect) -> None:
    session = connect()
    with session:
        server.script = [said({"name": "ann"})]
        assert session.who == "ann"
    with pytest.raises(ValueError, match="this session is closed"):
        session.ask(SQL, epsilon=1)


def test_a_child_of_the_process_has_connections_of_its_own(
    server: ScriptedServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = connect()
    server.script = [said({"name": "ann"})]
    before = session._wire._here()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert session._wire._here() is not before
    before.close()


@pytest.mark.parametrize(
    "url",
    ["study.example", "ftp://study.example", "https://ann:x@study.example", "https://",
     "https://study.example/?token=x", "https://study.example/#x", "http://study.example",
     "http://127.0.0.1.example", "http://10.0.0.1"],
)  # fmt: skip
def test_addresses_that_would_tell_or_mean_nothing_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"address|show the token"):
        checked_url(url)


@pytest.mark.parametrize(
    "url", ["http://localhost:8000", "http://127.0.0.9", "http://[::1]:1", "https://a.example/b"]
)
def test_addresses_of_servers_are_taken(url: str) -> None:
    assert checked_url(f"{url}/") == url


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "schlüssel", 7])
def test_what_is_no_token_is_refused_and_not_told(token: Any) -> None:
    with pytest.raises(ValueError, match="a token is a text") as refused:
        checked_token(token)
    assert not str(token) or str(token) not in str(refused.value)


def test_a_certificate_that_nobody_vouches_for_is_refused_and_one_of_our_own_is_taken(
    server: ScriptedServer, tmp_path: Path
) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    server.wrap(lambda listening: context.wrap_socket(listening, server_side=True))
    url = server.url.replace("http://127.0.0.1", "https://localhost")
    session = RemoteSession(Wire(url, TOKEN))
    with session, pytest.raises(ServerError, match="is not trusted") as refused:
        session.ask(SQL, epsilon=1)
    assert (refused.value.code, server.requests) == ("untrusted", [])
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    server.script = [ANSWER]
    with RemoteSession(Wire(url, TOKEN, ca=str(path))) as trusting:
        assert trusting.ask(SQL, epsilon=1) == FULL
    (tmp_path / "none.pem").write_text("x", "utf-8")
    for name in ("none.pem", "missing.pem"):
        with pytest.raises(ValueError, match="cannot be read"):
            Wire(url, TOKEN, ca=str(tmp_path / name))


def test_no_proxy_is_asked_for_this_machine(
    server: ScriptedServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    server.script = [ANSWER]
    assert connect().ask(SQL, epsilon=1) == FULL
