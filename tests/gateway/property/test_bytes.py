# SPDX-License-Identifier: Apache-2.0
"""Whatever comes over the wire: an answer below 500 or a closed connection, and life goes on."""

import json
import socket

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sordino.channel.calls import CALLS, Call
from tests.support.gateways import RunningGateway
from tests.support.keepers import FakeKeeper

PATHS = sorted({call.path for call in CALLS})
many = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def sent(gateway: RunningGateway, content: bytes) -> bytes:
    """Send bytes and no more, and return all that comes back."""
    with socket.create_connection((gateway.host, gateway.port), timeout=30) as connection:
        received = b""
        try:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                received += piece
        except ConnectionError:
            pass  # it may hang up before all was sent
        return received


def statuses(received: bytes) -> list[int]:
    lines = [line for line in received.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    return [int(line.split()[1]) for line in lines]


def test_a_client_that_sends_no_more_is_answered(gateway: RunningGateway) -> None:
    received = sent(gateway, b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert statuses(received) == [200]


def check(received: bytes) -> None:
    assert all(status < 500 for status in statuses(received)), received
    assert received == b"" or received.startswith(b"HTTP/1.1 ")


@many
@given(content=st.binary(max_size=600))
def test_any_bytes(gateway: RunningGateway, content: bytes) -> None:
    check(sent(gateway, content))


words = st.sampled_from(
    (
        *(
            b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n",
            b"GET",
            b"POST",
            b"/v1/answers",
            b"/v1/me",
        ),
        *(b" ", b"HTTP/1.1", b"HTTP/1.0", b"\r\n", b"\n", b"\r\n\r\n", b"0\r\n\r\n", b"{}", b":"),
        *(
            b"Host: localhost",
            b"Host:",
            b"Content-Length: 5",
            b"Content-Length: -1",
            b"\x00",
            b"\xff",
        ),
        *(b"Transfer-Encoding: chunked", b"Expect: 100-continue", b"Upgrade: websocket"),
        *(b"Connection: upgrade", b"Content-Type: application/json"),
    )
)


@many
@given(pieces=st.lists(words, max_size=25))
def test_bytes_that_look_like_http(gateway: RunningGateway, pieces: list[bytes]) -> None:
    check(sent(gateway, b"".join(pieces)))


header_names = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-", min_size=1)
known = st.sampled_from(
    (
        *("Authorization", "Idempotency-Key", "Sordino-Seen", "If-None-Match", "Accept", "Host"),
        *("X-Forwarded-For", "Content-Type", "Content-Encoding", "Content-Length", "Connection"),
    )
)


@many
@given(
    call=st.sampled_from(CALLS),
    headers=st.lists(st.tuples(known | header_names, st.binary(max_size=200)), max_size=8),
    body=st.binary(max_size=300),
    query=st.text(max_size=30),
)
def test_any_headers_query_and_body(
    gateway: RunningGateway,
    call: Call,
    headers: list[tuple[str, bytes]],
    body: bytes,
    query: str,
) -> None:
    quoted = str(httpx.QueryParams({"q": query, "from": query})).encode()
    lines = [call.method.encode() + b" " + call.path.encode() + b"?" + quoted + b" HTTP/1.1"]
    lines += [name.encode() + b": " + text for name, text in headers]
    lines += [b"Host: localhost", b"Content-Length: " + str(len(body)).encode(), b"", body]
    check(sent(gateway, b"\r\n".join(lines)))


@pytest.mark.parametrize("path", PATHS)
def test_bodies_at_the_limit_and_beyond(
    gateway: RunningGateway, keeper: FakeKeeper, path: str
) -> None:
    calls = [call for call in CALLS if call.path == path and call.body is not None]
    for call in calls:
        url = gateway.url + path.replace("{", "").replace("}", "")
        headers = {"Content-Type": "application/json"}
        most = 1_048_576 if call.name in ("check", "swap") else 65_536
        for size, status in ((most, call.statuses[0]), (most + 1, 413), (2_000_000, 413)):
            response = httpx.post(url, content=b"7" * size, headers=headers)
            assert response.status_code == status
        pieces = (b"[" * 1000 for _ in range(most // 1000 + 20))
        assert httpx.post(url, content=pieces, headers=headers).status_code == 413
        assert all(len(request.body) <= most for request in keeper.requests)
        keeper.requests.clear()


def test_ten_megabytes_of_nested_json_are_turned_away(
    gateway: RunningGateway, keeper: FakeKeeper
) -> None:
    headers = {"Content-Type": "application/json"}
    response = httpx.post(f"{gateway.url}/v1/prices", content=b"[" * 10_000_000, headers=headers)
    assert response.status_code == 413
    assert keeper.requests == []


def test_headers_beyond_the_limit_are_turned_away(gateway: RunningGateway) -> None:
    request = b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n" + b"A: " + b"b" * 20_000 + b"\r\n\r\n"
    received = sent(gateway, request)
    assert statuses(received) == [431]
    assert json.loads(received.partition(b"\r\n\r\n")[2])["code"] == "header_too_large"


def test_a_body_with_two_lengths_is_turned_away(
    gateway: RunningGateway, keeper: FakeKeeper
) -> None:
    received = sent(
        gateway,
        b"POST /v1/answers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/me HTTP/1.1\r\n"
        b"Host: localhost\r\n\r\n",
    )
    assert statuses(received) == [400]
    assert keeper.requests == []


def test_clients_that_send_slowly_are_not_waited_for(gateway: RunningGateway) -> None:
    head = b"POST /v1/answers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    begun = [b"GET /v1/me HT", head + b"Content-Length: 10\r\n\r\n{", b""]
    connections = [socket.create_connection((gateway.host, gateway.port), 60) for _ in begun]
    for connection, content in zip(connections, begun, strict=True):
        connection.sendall(content)
    received = [connection.recv(65536) for connection in connections]
    for connection in connections:
        connection.close()
    assert [statuses(one) for one in received] == [[408], [408], []]


def test_a_thousand_idle_connections_keep_nobody_out(
    gateway: RunningGateway,
) -> None:
    idle = [socket.create_connection((gateway.host, gateway.port), 60) for _ in range(1_100)]
    assert httpx.get(f"{gateway.url}/v1/me", timeout=60).status_code == 200
    for connection in idle:
        connection.close()
    assert httpx.get(f"{gateway.url}/v1/me", timeout=60).status_code == 200
