# SPDX-License-Identifier: Apache-2.0
"""Every call of the table is served, and what reaches the keeper is what was sent."""

import re
from typing import Any

import httpx
import pytest

from sordino.channel.calls import CALLS, Call
from sordino.channel.frames import Reply
from tests.support.gateways import RunningGateway
from tests.support.keepers import FakeKeeper

BY_ID = {call.name: call for call in CALLS}
SAFE = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def send(gateway: RunningGateway, call: Call, **more: Any) -> httpx.Response:
    path = re.sub(r"\{\w+\}", "people:12", call.path)
    json: dict[str, Any] | None = {} if call.body is not None else None
    return httpx.request(call.method, gateway.url + path, json=json, **more)


def check_problem(response: httpx.Response, status: int, code: str) -> None:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told["code"] == code
    assert told["status"] == status
    assert told["type"] == "urn:sordino:" + code.replace("_", "-")
    assert {"title", "detail", "why", "hint", "span"} <= told.keys()


@pytest.mark.parametrize("name", BY_ID)
def test_a_call_reaches_the_keeper_as_it_was_sent(
    gateway: RunningGateway, keeper: FakeKeeper, name: str
) -> None:
    call = BY_ID[name]
    headers = {
        "Authorization": "Bearer sd_something",
        "Idempotency-Key": "k-1",
        "Sordino-Seen": "people:1:ab,others:2:cd",
        "If-None-Match": '"0123"',
    }
    query = dict.fromkeys(call.query, "csv")
    response = send(gateway, call, headers=headers, params=query)
    assert response.status_code == call.statuses[0]
    (request,) = keeper.requests
    assert request.call == name
    assert request.credential == "sd_something"
    assert request.key == "k-1"
    assert request.seen == "people:1:ab,others:2:cd"
    assert request.tag == '"0123"'
    assert request.query == query
    assert request.path == dict.fromkeys(re.findall(r"\{(\w+)\}", call.path), "people:12")
    assert request.body == (b"{}" if call.body is not None else b"")
    assert request.address == "127.0.0.1"
    assert request.number == response.headers["sordino-request"]
    assert SAFE.items() <= dict(response.headers).items()
    assert "server" not in response.headers


@pytest.mark.parametrize("path", sorted({call.path for call in CALLS} | {"/healthz"}))
def test_no_path_has_a_method_that_the_table_does_not_have(
    gateway: RunningGateway, keeper: FakeKeeper, path: str
) -> None:
    known = {call.method for call in CALLS if call.path == path} or {"GET"}
    for method in set(METHODS) - known:
        response = httpx.request(method, gateway.url + re.sub(r"\{\w+\}", "x", path))
        check_problem(response, 405, "no_such_method")
        assert set(response.headers["allow"].split(", ")) - {"HEAD"} == known
        assert SAFE.items() <= dict(response.headers).items()
    assert keeper.requests == []


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/me/", "/v1/answers/a/b", "/v1/answers/", "/x"])
def test_no_other_path_is_served(gateway: RunningGateway, keeper: FakeKeeper, path: str) -> None:
    check_problem(httpx.get(gateway.url + path), 404, "no_such_path")
    assert keeper.requests == []


def test_the_gateway_says_by_itself_that_it_is_up(
    gateway: RunningGateway, keeper: FakeKeeper
) -> None:
    response = httpx.get(f"{gateway.url}/healthz")
    assert response.json() == {"status": "ok"}
    assert keeper.requests == []


def test_head_has_no_body(gateway: RunningGateway, keeper: FakeKeeper) -> None:
    response = httpx.head(f"{gateway.url}/v1/me")
    assert response.status_code == 200
    assert response.content == b""
    assert keeper.requests[0].call == "me"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("application/vnd.sordino.answer", "record"),
        ("text/csv;q=0.9, application/json", "csv"),
        ("application/vnd.apache.arrow.stream", "arrow"),
        ("application/json, text/csv", None),
        ("*/*", None),
    ],
)
def test_accept_names_the_form_of_an_answer(
    gateway: RunningGateway, keeper: FakeKeeper, accept: str, form: str | None
) -> None:
    send(gateway, BY_ID["ask"], headers={"Accept": accept})
    assert keeper.requests[0].query.get("format") == form


def test_a_credential_that_is_no_token_is_none(gateway: RunningGateway, keeper: FakeKeeper) -> None:
    for text in ("Basic YTpi", "Bearer", "sd_abc"):
        httpx.get(f"{gateway.url}/v1/me", headers={"Authorization": text})
    assert [request.credential for request in keeper.requests] == [None, None, None]


def test_a_query_is_refused_that_the_call_does_not_know(
    gateway: RunningGateway, keeper: FakeKeeper
) -> None:
    for query in ("who=alice", "from=1&from=2", "from=1&x"):
        check_problem(httpx.get(f"{gateway.url}/v1/history?{query}"), 400, "bad_query")
    assert keeper.requests == []


@pytest.mark.parametrize(
    "headers",
    [
        [("Idempotency-Key", "a"), ("Idempotency-Key", "b")],
        [("Authorization", "Bearer a"), ("Authorization", "Bearer b")],
        [("Idempotency-Key", "k" * 201)],
        [("Idempotency-Key", "schl\u00fcssel".encode("latin-1"))],
        [("Sordino-Seen", "")],
    ],
)
def test_headers_are_refused_that_could_be_read_in_two_ways(
    gateway: RunningGateway, keeper: FakeKeeper, headers: Any
) -> None:
    check_problem(httpx.get(f"{gateway.url}/v1/me", headers=headers), 400, "bad_header")
    assert keeper.requests == []


def test_only_json_is_taken(gateway: RunningGateway, keeper: FakeKeeper) -> None:
    url = f"{gateway.url}/v1/answers"
    kinds = [{}, {"Content-Type": "text/plain"}, {"Content-Type": "application/jsonx"}]
    kinds += [{"Content-Type": "application/json", "Content-Encoding": "gzip"}]
    for headers in kinds:
        check_problem(httpx.post(url, content=b"{}", headers=headers), 415, "media_type")
    assert keeper.requests == []
    typed = {"Content-Type": "application/json; charset=utf-8"}
    assert httpx.post(url, content=b"{}", headers=typed).status_code == 200


def test_a_call_that_takes_no_body_gets_none(gateway: RunningGateway, keeper: FakeKeeper) -> None:
    url = f"{gateway.url}/v1/ledger/verify"
    check_problem(httpx.post(url, content=b"{}"), 400, "no_body_taken")
    assert httpx.post(url).status_code == 200
    assert len(keeper.requests) == 1


def test_a_host_that_is_not_the_servers_is_refused(
    gateway: RunningGateway, keeper: FakeKeeper
) -> None:
    for host in ("evil.example", "localhost.evil.example", "", "127.0.0.1:x", "127.0.0.1.:80"):
        response = httpx.get(f"{gateway.url}/v1/me", headers={"Host": host})
        check_problem(response, 421, "wrong_host")
        assert SAFE.items() <= dict(response.headers).items()
    assert keeper.requests == []
    for host in ("localhost:8000", "[::1]", "LOCALHOST"):
        assert httpx.get(f"{gateway.url}/v1/me", headers={"Host": host}).status_code == 200


def test_what_the_keeper_says_is_handed_on(gateway: RunningGateway, keeper: FakeKeeper) -> None:
    headers = {"ETag": '"abc"', "Retry-After": "3", "Location": "/v1/requests/4"}
    keeper.answering = lambda _: Reply(409, "application/problem+json", b"{}", headers)
    response = httpx.get(f"{gateway.url}/v1/me")
    assert response.status_code == 409
    assert response.content == b"{}"
    for name, text in headers.items():
        assert response.headers[name] == text
