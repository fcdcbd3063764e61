# SPDX-License-Identifier: Apache-2.0
"""Clients that send a question and vanish: it is charged once, and answered to who comes again."""

import json
import socket
import struct
import time
from typing import Any

import httpx
import pytest

from tests.support.servers import RunningServer, serving

CLIENTS = 10
RESET = struct.pack("ii", 1, 0)  # linger for no time: what was not sent is thrown away


def body_of(number: int) -> bytes:
    question = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": f"0.01{number}"}
    return json.dumps({"question": {**question, "fresh": True}}).encode()


def vanish(server: RunningServer, token: str, number: int, *, reset: bool) -> None:
    """Send a question whole, and go away before it can be answered."""
    address = httpx.URL(server.url)
    body = body_of(number)
    lines = (
        "POST /v1/answers HTTP/1.1",
        f"Host: {address.host}",
        f"Authorization: Bearer {token}",
        f"Idempotency-Key: gone-{number}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    with socket.create_connection((address.host, address.port or 80), timeout=30) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        time.sleep(0.1)  # an answer comes after a slot of 250 milliseconds
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


@pytest.mark.parametrize("reset", [False, True])
def test_who_vanishes_has_paid_once_and_gets_the_answer_later(reset: bool) -> None:
    with serving("--demo") as server, httpx.Client(base_url=server.url, timeout=60) as client:
        owner = server.token("owner")
        client.headers["Authorization"] = f"Bearer {owner}"
        made = client.post("/v1/tokens", json={"name": "alice", "fresh": True}).json()
        token = made["secret"]
        for number in range(CLIENTS):
            vanish(server, token, number, reset=reset)
        client.headers["Authorization"] = f"Bearer {token}"

        def again(number: int) -> Any:
            headers = {"Idempotency-Key": f"gone-{number}", "Content-Type": "application/json"}
            reply = client.post("/v1/answers", content=body_of(number), headers=headers)
            assert reply.status_code == 200, reply.text
            return reply.json()

        receipts = [again(number)["receipt"] for number in range(CLIENTS)]
        assert [again(number)["receipt"] for number in range(CLIENTS)] == receipts
        entries = client.get("/v1/history").json()["entries"]
        charges = [entry for entry in entries if entry["kind"] == "charge"]
        assert len(charges) == len(set(receipts)) == CLIENTS
        assert client.get("/readyz").status_code == 200
