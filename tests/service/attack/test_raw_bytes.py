# SPDX-License-Identifier: Apache-2.0
"""Bytes on connections to a gateway of its own process: none gets a 5xx, and none is charged."""

from __future__ import annotations

import json
import re
import select
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.service.attack.hostile import any_bytes
from tests.support.gateways import RunningGateway, start_gateway
from tests.support.services import HeldKeeper, clinic

SENT, LONG_SENT = 300, 8_000
IDLE = 1_000
QUIET = 0.25  # seconds after which no more is expected of bytes that are no request
RIGHT = (
    b"POST /v1/answers HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Authorization: Bearer TOKEN\r\nContent-Length: %d\r\n%b\r\n%b"
)
BODY = b'{"question": {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.25"}}'


@dataclass(frozen=True, slots=True)
class Line:
    """A gateway and the keeper behind it; ``send`` opens a connection for each piece of bytes."""

    keeper: HeldKeeper
    gateway: RunningGateway

    def connect(self, seconds: float = 20) -> socket.socket:
        return socket.create_connection((self.gateway.host, self.gateway.port), seconds)

    def send(self, data: bytes, patience: float = 20) -> bytes:
        """Send bytes, and return all that comes back until it is quiet for so many seconds."""
        with self.connect() as connection:
            try:
                connection.sendall(data.replace(b"TOKEN", self.token))
            except (BrokenPipeError, ConnectionResetError):
                return b""  # it hung up on us before all was sent
            connection.settimeout(patience)
            return everything(connection)

    def ask(self, more: bytes = b"") -> bytes:
        """Send a request that is right, with more headers, and hang up after the answer."""
        return self.send(RIGHT % (len(BODY), b"Connection: close\r\n" + more, BODY))

    @property
    def token(self) -> bytes:
        return self.keeper.tokens["analyst"].encode()


def everything(connection: socket.socket) -> bytes:
    """Return what comes until the other side hangs up, or nothing comes in time."""
    pieces = b""
    try:
        while piece := connection.recv(1 << 16):
            pieces += piece
    except (TimeoutError, ConnectionResetError):
        pass  # what came counts
    return pieces


def statuses(answer: bytes) -> list[int]:
    """Return the statuses in what came back, of which there may be several."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


@pytest.fixture(scope="module")
def line() -> Iterator[Line]:
    with TemporaryDirectory(prefix="sordino-") as name:
        catalog = clinic(Path(name), epsilon="100000")
        log = Path(name) / "access.log"
        with (
            HeldKeeper(catalog) as keeper,
            start_gateway(keeper.socket, "--access-log", str(log)) as gateway,
        ):
            yield Line(keeper, gateway)


def send_bytes(line: Line, examples: int) -> Counter[str]:
    seen: Counter[str] = Counter()

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    @given(data=st.lists(any_bytes(), min_size=1, max_size=2).map(b"".join))
    def send(data: bytes) -> None:
        first = len(line.keeper.done)
        heard = statuses(line.send(data, QUIET))
        seen["sent"] += 1
        seen.update(map(str, heard))
        assert all(status < 500 for status in heard), (data, heard)
        for one in line.keeper.done[first:]:
            assert one.status < 500, (data, one)
            assert not one.is_charged or (one.call, one.status) == ("ask", 200), (data, one)
            seen["reached the keeper"] += 1

    send()
    assert seen["sent"] == examples
    assert line.gateway.process.poll() is None
    assert statuses(line.ask()) == [200]
    return seen


def test_bytes_that_are_nearly_http_are_refused(line: Line) -> None:
    send_bytes(line, SENT)


@pytest.mark.soak
def test_thousands_of_times_bytes_that_are_nearly_http_are_refused(line: Line) -> None:
    seen = send_bytes(line, LONG_SENT)
    sys.stdout.write(f"\n{json.dumps(seen)}\n")
    assert seen["400"] > LONG_SENT / 4
    assert seen["reached the keeper"] > LONG_SENT / 100


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (b"Content-Length: 5\r\n", 400),
        (b"Transfer-Encoding: chunked\r\n", 400),
        (b"Authorization: Bearer TOKEN\r\n", 400),
        (b"Content-Type: text/plain\r\n", 400),
        (b"Content-Encoding: gzip\r\n", 415),
        (b"Host: 127.0.0.1\r\n", 400),
        (b"Idempotency-Key: " + b"k" * 300 + b"\r\n", 400),
        (b"X: " + b"x" * 20_000 + b"\r\n", 431),
        (b"X: x\r\n" * 5_000, 431),
        (b"X : x\r\n", 400),
        (b"X: a\0b\r\n", 400),
    ],
    ids=range(11),
)
def test_a_wrong_header_beside_right_ones_is_refused(
    line: Line, headers: bytes, expected: int
) -> None:
    before = line.keeper.heads
    heard = statuses(line.ask(headers))
    assert heard[:1] in ([expected], []), heard  # nothing comes where it hangs up while we send
    assert 200 not in heard
    assert line.keeper.heads == before


def test_a_body_in_chunks_is_a_body(line: Line) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"
    head = RIGHT.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n"
    head += b"Connection: close\r\n\r\n"
    assert statuses(line.send(head + chunks)) == [200]


def test_what_comes_after_a_body_is_not_part_of_it(line: Line) -> None:
    smuggled = b"GET /v1/people HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    heard = statuses(line.send(RIGHT % (len(BODY), b"", BODY) + smuggled))
    assert heard == [200, 401]  # a request of its own, and without a credential


@pytest.mark.parametrize(
    "target",
    [
        b"/v1/answers%2fpeople:1", b"/v1/../v1/people", b"/v1/./people", b"/v1/answers/..%2f..",
        b"//v1/people", b"/v1/people/", b"/v1/answers/%00", b"/V1/people", b"/v1/people%00",
        b"/v1/answers/people:1%0d%0aX:%20y", b"/v1/people;a=b", b"/%2e%2e/etc/passwd", b"*",
        b"/v1/answers/%ff%fe", b"/v1/answers/" + b"a" * 10_000, b"/.git/config", b"/v1\\people",
    ],
)  # fmt: skip
def test_a_path_that_is_none_is_not_there(line: Line, target: bytes) -> None:
    head = b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n" % target
    answer = line.send(head + b"Connection: close\r\nAuthorization: Bearer TOKEN\r\n\r\n")
    assert statuses(answer) in ([400], [403], [404]), answer
    assert b"\r\nX: y" not in answer
    assert b"root:" not in answer


def test_who_sends_slowly_is_hung_up_on_and_keeps_nobody_waiting(line: Line) -> None:
    slow = [line.connect(60) for _ in range(20)]
    whole = RIGHT % (len(BODY), b"", BODY)
    for place, connection in enumerate(slow):
        connection.sendall(whole[: 20 + place * 9])  # some within the headers, some in the body
    assert statuses(line.ask()) == [200]
    assert not select.select(slow, [], [], 0)[0]  # all are there still: nobody waited for their end
    for connection in slow:
        with connection:
            assert statuses(last_words(connection)) in ([408], [])


def last_words(connection: socket.socket) -> bytes:
    """Return what comes until the other side hangs up, which it must in time."""
    pieces = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(1 << 16):
            pieces += piece
    return pieces


def test_a_thousand_idle_connections_keep_nobody_waiting(line: Line) -> None:
    idle: list[Any] = []
    try:
        idle.extend(line.connect() for _ in range(IDLE))
        for _ in range(3):
            assert statuses(line.ask()) == [200]
    finally:
        for connection in idle:
            connection.close()
    assert line.gateway.process.poll() is None
