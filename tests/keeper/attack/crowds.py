# SPDX-License-Identifier: Apache-2.0
"""Campaigns of many who ask at once: the same, or more than there is budget for, or for minutes.

Each runs as a process of its own, which forks keeper and gateways, and prints figures as JSON.
"""

from __future__ import annotations

import json
import random
import select
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from sordino.channel.frames import Request, pack
from tests.keeper.attack.load import Asker, Client, Heard, Job
from tests.keeper.attack.program import carry_out
from tests.keeper.attack.records import Records
from tests.keeper.attack.sites import (
    Forked,
    Pass,
    Site,
    listening,
    serve_gateway,
    without_database,
)
from tests.keeper.attack.wires import Wire, asking

_WORKERS = 4
_EQUAL = 64
_SHORT = " WARNING a question about all rows of "  # of a slot, and the machine may be that busy
_ASKED, _PRICE, _GRANTED, _LEFT = 3_000, "0.0007", 1_428, "0.0004"


def equal(folder: Path, rounds: int) -> dict[str, object]:
    """Send the same question 64 times at once, and look at what was charged for it."""
    site = Site(folder / "equal", cap="1000")
    (ann,) = site.admit("ann", ["analyst"], [None])
    records = Records(site)
    keeper = Forked(site.serve_keeper)
    keeper.start()
    keeper.wait_ready()
    wires = [Wire(site.socket) for _ in range(_EQUAL)]
    for number in range(rounds):
        requests = _equal(ann, number)
        for request in requests:
            if request.key is not None:
                records.sends(Job(ann, "POST", "/v1/answers", request.body, request.key))
        for wire, request in zip(wires, requests, strict=True):
            wire.connection.sendall(pack(request))
        replies = [wire.hear() for wire in wires]
        assert {reply.status for reply in replies} == {200}, replies
        assert len({reply.body for reply in replies}) == 1, f"several answers in round {number}"
        new = sum("Sordino-Again" not in reply.headers for reply in replies)
        assert new <= 1, f"{new} answers of round {number} were said to be new"
    keeper.end()
    records.check(whole=True)
    assert len(records.charges) == rounds, f"{len(records.charges)} charges in {rounds} rounds"
    assert not records.unanswered
    return {"rounds": rounds, "charges": len(records.charges)}


def _equal(by: Pass, number: int) -> list[Request]:
    """Return equal requests: without a key, with one key and fresh noise, or with a key each."""
    question: dict[str, object] = {
        "sql": "SELECT COUNT(*) FROM data",
        "epsilon": f"0.{10_000 + number}",
        "fresh": number % 3 == 1,
    }
    keys: list[str | None] = [None] * _EQUAL
    if number % 3:
        keys = [f"{number}" if number % 3 == 1 else f"{number}-{k}" for k in range(_EQUAL)]
    return [asking(by.secret, question, key) for key in keys]


class Crowd:
    """Clients before four gateways and one keeper."""

    def __init__(self, site: Site, clients: int) -> None:
        self.site = site
        self.listener = listening()
        self.clients = [Client(self.listener.getsockname()) for _ in range(clients)]
        self.keeper = Forked(site.serve_keeper, lambda: [self.listener.fileno()])
        self.gateways = [
            Forked(partial(serve_gateway, site, self.listener, _WORKERS)) for _ in range(_WORKERS)
        ]
        for process in (self.keeper, *self.gateways):
            process.start()
        for process in (self.keeper, *self.gateways):
            process.wait_ready()
        for client in self.clients:  # one after the other, so that no worker takes them all
            client.send(Job(Pass("", ""), "GET", "/healthz"))
            while not self.hear():
                pass

    def hear(self) -> list[Heard]:
        """Wait for replies; none of the connections may end."""
        connections = {
            one.connection: one
            for one in self.clients
            if one.job is not None and one.connection is not None
        }
        ready, _, _ = select.select(list(connections), [], [], 60.0)
        assert ready, "nobody is answered for a minute"
        replies = []
        for connection in ready:
            client = connections[connection]
            heard = client.receive()
            assert client.connection is not None, "a gateway has hung up"
            if heard is not None:
                replies.append(heard)
        return replies

    def hear_one(self) -> Heard:
        """Wait for the only reply that is still to come, which may come in pieces."""
        while not (replies := self.hear()):
            pass
        (reply,) = replies
        return reply

    def end(self) -> list[int]:
        """End all processes; return how many requests each of the gateways that had any served."""
        for process in (*self.gateways, self.keeper):
            process.end()
        self.listener.close()
        lines = (self.site.state / "access.log").read_text().splitlines()
        return sorted(Counter(line.split()[1].partition("-")[0] for line in lines).values())


def scarce(folder: Path) -> dict[str, object]:
    """Ask for more than there is, from 24 clients: all that fits is granted, and no more."""
    site = Site(folder / "scarce", cap="1")
    passes = [site.admit(who, ["analyst"], [None])[0] for who in ("ann", "bob", "cleo")]
    records = Records(site)
    crowd = Crowd(site, 24)
    question = {"sql": "SELECT COUNT(*) FROM data", "epsilon": _PRICE, "fresh": True}
    body = msgspec.json.encode({"question": question})
    jobs = [
        Job(passes[n % 3], "POST", "/v1/answers", body, f"key-{n}", fresh=True)
        for n in range(_ASKED)
    ]
    statuses: Counter[int] = Counter()
    while jobs or any(one.job is not None for one in crowd.clients):
        for client in crowd.clients:
            if client.job is None and jobs:
                job = jobs.pop()
                records.sends(job)
                client.send(job)
        for heard in crowd.hear():
            statuses[heard.status] += 1
            if heard.status == 200:
                records.hears(heard)
            else:
                assert heard.status == 409, heard
                assert json.loads(heard.body)["code"] == "budget_exceeded", heard
    client = crowd.clients[0]
    client.send(Job(passes[0], "GET", "/v1/budget"))
    told = crowd.hear_one()
    left = json.loads(told.body)["people"][0]["left_for_who"]["price"]
    gateways = crowd.end()
    records.check(whole=True)
    assert statuses == {200: _GRANTED, 409: _ASKED - _GRANTED}, statuses
    assert len(records.charges) == _GRANTED
    assert not records.unanswered
    assert left.removeprefix("epsilon ") == _LEFT, left
    return {"granted": statuses[200], "left": left, "gateways": gateways}


def lasting(folder: Path, seconds: float) -> dict[str, object]:
    """Ask all kinds of things from 64 clients for a while: nothing fails on the server's side."""
    site = Site(folder / "lasting", cap="1000000", slot="50ms")  # and nobody waits for 600 of them
    passes = [site.admit(f"ann{n}", ["analyst"], [None])[0] for n in range(8)]
    (owner,) = site.admit("olga", ["owner"], [None])
    records = Records(site)
    asker = Asker(passes, owner, random.Random(1))  # noqa: S311 - what is asked is no secret
    crowd = Crowd(site, 64)
    statuses: Counter[int] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end or any(one.job is not None for one in crowd.clients):
        for client in crowd.clients:
            if client.job is None and time.monotonic() < end:
                job = asker.next()
                records.sends(job)
                client.send(job)
        for heard in crowd.hear():
            statuses[heard.status] += 1
            assert heard.status < 500, heard
            assert heard.status in (200, 201, 429), heard
            if heard.job.path == "/v1/answers" and heard.status == 200:
                records.hears(heard)
                if heard.job.key is not None and len(asker.done) < 1_000:
                    asker.done.append(heard.job)
    crowd.end()
    records.check(whole=True)
    assert not records.unanswered
    log = [line for line in site.log.read_text().splitlines() if _SHORT not in line]
    assert not log, log
    return {"statuses": statuses, "charges": len(records.charges)}


def main() -> None:
    """Carry out what the argument says, and print what happened."""
    told = json.loads(sys.argv[1])
    if not told.pop("duckdb", False):
        without_database()
    crowds: dict[str, Callable[..., dict[str, object]]] = {
        "equal": equal,
        "scarce": scarce,
        "lasting": lasting,
    }
    carry_out(crowds[told.pop("what")], told)


if __name__ == "__main__":
    main()
