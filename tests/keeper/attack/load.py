# SPDX-License-Identifier: Apache-2.0
"""Clients that ask over HTTP, all from one thread, so that the process they run in may fork."""

from __future__ import annotations

import random
import re
import socket
from dataclasses import dataclass, field

import msgspec

from tests.keeper.attack.sites import Pass, Site

RECORD = "application/vnd.sordino.answer"
QUESTIONS = tuple(
    {"sql": sql, "epsilon": epsilon}
    for sql in ("SELECT COUNT(*) FROM data", "SELECT COUNT(*) FROM data WHERE ward = 'north'")
    for epsilon in ("0.001", "0.002")
)
_LENGTH = re.compile(rb"content-length: ([0-9]+)", re.IGNORECASE)


@dataclass(eq=False)
class Job:
    """One request, which is sent as often as it takes until its outcome is known."""

    by: Pass
    method: str
    path: str
    body: bytes = b""
    key: str | None = None
    fresh: bool = False
    sent: int = 0  # how often

    @property
    def request(self) -> bytes:
        """All bytes of it."""
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: Bearer {self.by.secret}",
            *(["Content-Type: application/json", f"Accept: {RECORD}"] if self.body else []),
            *([] if self.key is None else [f"Idempotency-Key: {self.key}"]),
            f"Content-Length: {len(self.body)}",
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


@dataclass(frozen=True)
class Heard:
    """What came back for a job."""

    job: Job
    status: int
    body: bytes


@dataclass(eq=False)
class Client:
    """One connection, on which one request is under way at a time."""

    address: tuple[str, int]
    job: Job | None = None
    connection: socket.socket | None = None
    got: bytes = b""
    rests: float = 0.0  # until when it sends nothing

    def send(self, job: Job) -> None:
        """Send a job; whether it arrives is seen when something is read."""
        if self.connection is None:
            self.connection = socket.create_connection(self.address)
        self.job, self.got = job, b""
        job.sent += 1
        try:
            self.connection.sendall(job.request)
        except ConnectionError:
            self.hang_up()

    def receive(self) -> Heard | None:
        """Read what has come; returns an answer once all of it is there.

        Where the connection has ended, ``job`` is left, and nobody knows what became of it.
        """
        assert self.connection is not None
        try:
            piece = self.connection.recv(1 << 18)
        except ConnectionError:
            piece = b""
        if not piece:
            self.hang_up()
            return None
        self.got += piece
        head, end, body = self.got.partition(b"\r\n\r\n")
        if not end:
            return None
        length = _LENGTH.search(head)
        if len(body) < (0 if length is None else int(length[1])):
            return None
        job, self.job, self.got = self.job, None, b""
        assert job is not None
        if b"connection: close" in head.lower():
            self.hang_up()
        return Heard(job, int(head[9:12]), body)

    def hang_up(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


@dataclass
class Asker:
    """What clients ask next: new questions, those whose outcome is unknown, those of before."""

    passes: list[Pass]
    owner: Pass
    dice: random.Random
    again: list[Job] = field(default_factory=list)  # their outcome is unknown
    done: list[Job] = field(default_factory=list)  # that were answered
    keys: int = 0
    site: Site | None = None  # whose cap is raised now and then, by another catalog
    swaps: int = 0

    def next(self) -> Job:
        """Return what is sent next."""
        if self.again and self.dice.random() < 0.6:
            return self.again.pop(self.dice.randrange(len(self.again)))
        chance = self.dice.random()
        if self.done and chance < 0.08:
            return self.dice.choice(self.done)
        by = self.dice.choice(self.passes)
        if chance < 0.12:
            body = msgspec.json.encode({"name": by.who, "days": 1, "scopes": ["price"]})
            return Job(self.owner, "POST", "/v1/tokens", body)
        if chance < 0.16:
            return Job(by, "GET", "/v1/budget")
        if self.site is not None and chance < 0.23:
            self.swaps += 1
            text = self.site.text(f"{self.site.cap}{self.swaps:06}")
            body = msgspec.json.encode({"why": "more", "text": text})
            return Job(self.owner, "POST", "/v1/catalogs", body)
        fresh = chance < 0.75
        question = {**self.dice.choice(QUESTIONS), "fresh": fresh}
        key = None
        if fresh or chance < 0.85:
            self.keys += 1
            key = f"key-{self.keys}"
        body = msgspec.json.encode({"question": question})
        return Job(by, "POST", "/v1/answers", body, key, fresh)
