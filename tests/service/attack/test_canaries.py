# SPDX-License-Identifier: Apache-2.0
"""What data, questions, tokens and passwords hold is in no log, metric, environment or argument.

A server runs as it does in use. Everything is said to it that should stay between it and whoever
says it, rightly and wrongly, and then all is searched that others than they could come to see.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.servers import RunningServer, serving
from tests.support.services import clinic

DATA, QUESTION, PASSWORD = "zq4canaryofdata", "zq4canaryofquestion", "zq4 canary of a password"
WRONG = "zq4canaryofwrong"
NUMBER = 918_273_645  # of a person, and of what they cost
SERVER = 'slot = "250ms"\ndeadline = 8\nrate = 10000'


class Talk:
    """A connection to a server; ``tokens`` are all that it has ever made."""

    def __init__(self, server: RunningServer) -> None:
        place = urlsplit(server.url)
        self._line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        self.tokens: list[str] = []

    def say(self, method: str, path: str, body: object = None, token: str = "") -> tuple[int, Any]:
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body)
        self._line.request(method, path, data, headers)
        answer = self._line.getresponse()
        heard = answer.read()
        told = json.loads(heard) if "json" in answer.headers.get("content-type", "") else heard
        if isinstance(told, dict) and "secret" in told:
            self.tokens.append(told["secret"])
        return answer.status, told


def canary_clinic(folder: Path) -> Path:
    """Write data in which one person has canaries everywhere."""
    people = [*range(90), NUMBER]
    return clinic(
        folder,
        {
            "person": people,
            "age": [number % 100 for number in range(90)] + [NUMBER],
            "cost": [13.5 * (number % 100) for number in range(90)] + [float(NUMBER)],
            "ward": ["north"] * 90 + [DATA],
        },
        server=SERVER,
    )


def speak(talk: Talk, owner: str) -> None:
    """Say everything that should be told to nobody else."""
    alice = {"name": "alice", "roles": ["analyst"], "password": PASSWORD}
    assert talk.say("POST", "/v1/people", alice, owner)[0] == 201
    login = {"name": "alice", "password": PASSWORD}
    assert talk.say("POST", "/v1/sessions", login)[0] == 201
    token = talk.tokens[-1]
    assert talk.say("POST", "/v1/sessions", {**login, "password": WRONG})[0] == 401
    assert talk.say("GET", "/v1/me", token=WRONG)[0] == 401
    assert talk.say("GET", f"/v1/answers/{WRONG}", token=token)[0] == 404
    assert talk.say("GET", f"/v1/history?from={WRONG}", token=token)[0] == 400
    assert talk.say("GET", f"/{WRONG}?{WRONG}={WRONG}", token=token)[0] == 404
    right = "SELECT COUNT(*) AS n, AVG(cost) AS m FROM visits"
    for sql, status in (
        (f"{right} WHERE ward = '{QUESTION}'", 200),
        (f"{right} WHERE ward <> '{QUESTION}' GROUP BY age", 200),
        (f"SELECT {QUESTION} FROM visits", 422),  # noqa: S608  # for our own parser
        (f"SELECT COUNT(*) FROM {QUESTION}", 422),  # noqa: S608
        (f"SELECT '{QUESTION}", 422),
    ):
        body = {"sql": sql, "epsilon": "0.5"}
        assert talk.say("POST", "/v1/answers", {"question": body}, token)[0] == status, sql
        assert talk.say("POST", "/v1/prices", {"questions": [body]}, token)[0] == 200
    dear = {"sql": f"{right} WHERE ward = '{QUESTION}'", "epsilon": "100000"}
    assert talk.say("POST", "/v1/answers", {"question": dear}, token)[0] == 409
    assert talk.say("POST", "/v1/answers", {WRONG: QUESTION}, token)[0] == 400


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def about_processes(server: RunningServer) -> dict[str, bytes]:
    """Return arguments, environments and limits of all processes of a server."""
    told = {}
    for number in (server.process.pid, *server.children().values()):
        for name in ("cmdline", "environ", "limits"):
            told[f"{number} {name}"] = Path(f"/proc/{number}/{name}").read_bytes()
    return told


def metrics(state: Path) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.connect(str(state / "owner.sock"))
        pieces = b""
        while piece := line.recv(1 << 16):
            pieces += piece
    return pieces


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with TemporaryDirectory(prefix="so-") as name:
        (Path(name) / "tmp").mkdir()
        monkeypatch.setenv("TMPDIR", str(Path(name) / "tmp"))
        yield Path(name)


def test_canaries_are_where_they_belong_and_nowhere_else(folder: Path) -> None:
    catalog, errors = canary_clinic(folder / "c"), folder / "errors"
    options = (str(catalog), "--state", str(folder / "s"))
    with serving(*options, errors=errors) as server:
        talk = Talk(server)
        owner = str(server.told["owner"])
        talk.tokens.append(owner)
        speak(talk, owner)
        seen = {"metrics": metrics(folder / "s"), **about_processes(server)}
        temporary = listing(folder / "tmp")
    limits = [text for name, text in seen.items() if name.endswith("limits")]
    assert len(limits) == 3
    for text in limits:
        line = next(line for line in text.splitlines() if line.startswith(b"Max core file size"))
        assert line.split()[4:6] == [b"0", b"0"], line
    kept = {**listing(folder / "s"), **listing(folder / "c")}
    kept = {name: text for name, text in kept.items() if not name.endswith(".parquet")}
    logs = {name: text for name, text in kept.items() if "log" in Path(name).suffix}
    logs |= {"errors": errors.read_bytes()}
    assert len(logs) >= 3, kept.keys()
    assert any(b"/v1/answers" in text for text in logs.values()), "the access log was looked at"
    shown = {**seen, **logs, **temporary}
    secrets = [*talk.tokens, PASSWORD, WRONG, DATA, str(NUMBER)]
    found = [(name, text) for name, held in shown.items()
             for text in (*secrets, QUESTION) if text.encode() in held]  # fmt: skip
    assert not found
    found = [(name, text) for name, held in kept.items() for text in secrets
             if text.encode() in held]  # fmt: skip
    assert not found, "what is kept for good has neither of them"
    assert any(QUESTION.encode() in held for held in kept.values()), "where questions are kept"
