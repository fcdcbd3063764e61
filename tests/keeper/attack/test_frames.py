# SPDX-License-Identifier: Apache-2.0
"""A gateway that was taken over sends what it likes: the keeper lives, and nothing is charged."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sordino.channel.calls import CALLS
from sordino.channel.frames import HEADER, LARGEST_REPLY, Reply, Request, length, pack, unpack_reply
from sordino.channel.messages import Role
from sordino.keeper.socket import Door
from tests.keeper.study import Study, question, study, told

NAMES = [call.name for call in CALLS]
TEXTS = st.text(max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    with study(tmp_path_factory.mktemp("study"), server='slot = "off"') as made:
        yield made


@pytest.fixture(scope="module")
def tokens(served: Study) -> list[str]:
    """Whole tokens of five people, one of each role."""
    roles: tuple[Role, ...] = get_args(Role)
    return [served.person(f"the {role}", role) for role in roles]


@pytest.fixture(scope="module")
def door(served: Study) -> Iterator[Path]:
    path = served.folder / "keeper.sock"
    made = Door(path, served.keeper.reply)
    made.listen()
    Thread(target=made.serve, daemon=True).start()
    yield path
    made.close(5)


def lives(path: Path) -> bool:
    """Tell whether the keeper replies to a request."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(path))
        connection.sendall(pack(Request("ready", "1")))
        file = connection.makefile("rb")
        return unpack_reply(file.read(length(file.read(HEADER.size), LARGEST_REPLY))).status == 200


LYING = st.builds(
    lambda size, body: HEADER.pack(size) + body, st.integers(0, 2**32 - 1), st.binary(max_size=200)
)
WRONG = st.builds(
    lambda value: HEADER.pack(len(body := msgspec.msgpack.encode(value))) + body,
    st.recursive(
        st.none() | st.integers(-(2**63), 2**64 - 1) | st.binary(max_size=20) | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
        ),
        max_leaves=8,
    ),
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=300), LYING, WRONG))
def test_broken_frames_are_hung_up_on_and_the_keeper_lives(door: Path, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(door))
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            received = connection.recv(100)
        except (BrokenPipeError, ConnectionResetError):
            received = b""
    assert received == b""
    assert lives(door)


REQUESTS = st.builds(
    Request,
    call=st.sampled_from([*NAMES, "", "reply", "__init__"]),
    number=TEXTS,
    credential=st.none() | TEXTS,
    path=st.dictionaries(st.sampled_from(["answer", "request", "name", "token"]), TEXTS),
    query=st.dictionaries(st.sampled_from(["format", "from", "count", "people", "state"]), TEXTS),
    body=st.binary(max_size=200) | VALUES.map(lambda value: json.dumps(value).encode()),
    key=st.none() | TEXTS,
    seen=st.none() | TEXTS,
    tag=st.none() | TEXTS,
    address=TEXTS,
)


@settings(max_examples=400, deadline=None)
@given(REQUESTS)
def test_nobody_gets_anything_without_a_token(served: Study, request: Request) -> None:
    if request.call == "login":
        return  # which is slow on purpose, and has tests of its own
    reply = served.keeper.reply(request)
    assert reply.status in ((200, 400) if request.call == "ready" else (401, 404))


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(REQUESTS, st.integers(0, 4))
def test_nothing_that_is_sent_is_the_servers_fault(
    served: Study, tokens: list[str], request: Request, place: int
) -> None:
    if request.call in ("login", "logout"):
        return  # the one is slow on purpose, and the other would end the token
    reply = served.keeper.reply(msgspec.structs.replace(request, credential=tokens[place]))
    assert reply.status < 500, (request, reply)
    assert served.entries == []


def test_a_question_of_a_stranger_is_charged_to_nobody(served: Study) -> None:
    for body in (
        {"question": question(), "who": "ann"},
        {"question": {**question(), "who": "ann"}},
    ):
        assert served.send("ask", served.person("ann", "analyst"), body).status == 400
    assert served.entries == []


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 60_000,
        b'{"question":' * 5_000,
        b'{"question": {"sql": "' + b"(" * 60_000 + b'"}}',
        b'{"question": {"sql": "SELECT 1", "epsilon": NaN}}',
        b'{"question": {"sql": "SELECT 1", "epsilon": Infinity}}',
        b'{"question": {"sql": "SELECT 1", "epsilon": 1e400}}',
        b'{"question": {"sql": "SELECT 1", "epsilon": ' + b"9" * 400 + b"}}",
        b'{"question": {"sql": "SELECT 1", "epsilon": 1, "epsilon": 2}}',
        b'{"question": {"sql": "\\ud800", "epsilon": 1}}',
        b'{"question": {"sql": "\xff", "epsilon": 1}}',
        b'{"question": {"sql": "SELECT 1", "epsilon": 1}} x',
        b"\xef\xbb\xbf{}",
        b"",
        b"null",
        b"x" * 70_000,
    ],
)
def test_a_broken_body_is_refused(served: Study, raw: bytes) -> None:
    reply: Reply = served.send("ask", served.person("ann", "analyst"), raw=raw)
    assert reply.status in (400, 413, 422), reply
    assert told(reply)["detail"]
    assert served.entries == []
