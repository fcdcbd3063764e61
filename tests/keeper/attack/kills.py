# SPDX-License-Identifier: Apache-2.0
"""A campaign of kills under load: of the keeper, of the gateway, and of both at once.

It runs as a process of its own, which has everything imported and nothing open when it forks. It
is the clients, too: eight connections on which there is always a question under way. It prints
figures as JSON.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path

from sordino.keeper.main import open_keeper
from sordino.ledger.opening import open_ledger
from sordino.session import Session
from tests.keeper.attack.load import QUESTIONS, Asker, Client, Heard, Job
from tests.keeper.attack.records import Records
from tests.keeper.attack.sites import (
    Counting,
    Forked,
    Pass,
    Site,
    end_all,
    listening,
    serve_gateway,
    without_database,
)
from tests.support.faults import shuffled

KEEPER, GATEWAY, BOTH = "keeper", "gateway", "both"
_CLIENTS = 8
_ROUNDS = 45  # kills of one site, at most
_CAP = "0.5"  # of a site; with this many clients it is used up in most of them
_TOKEN_CAP = 20_000_000  # nano-units, of the tokens that have a cap
_LONGEST = 120.0  # seconds that a round may take
_GONE = ("keeper_unavailable", "busy")
_REST = 0.03  # seconds that a client waits after it was told that there is no keeper
_KNOWN = {200, 201, 409, 503}  # what may be heard while keepers are killed


@dataclass
class Campaign:
    """What is to be killed, and what was seen."""

    kills: dict[str, int]
    seed: int
    duckdb: bool = False
    done: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)

    def run(self) -> None:
        """Kill until every kill has been made; the first broken invariant ends it."""
        dice = random.Random(self.seed)  # noqa: S311 - which process dies when is no secret
        left = shuffled(self.kills, dice)
        with tempfile.TemporaryDirectory(prefix="kills-") as folder:
            while left:
                number = self.seen["sites"]
                site = Site(
                    Path(folder) / str(number),
                    cap=_CAP,
                    slot="10ms" if number % 3 == 1 else "off",
                    resume=number % 2 == 1,
                )
                Rounds(self, site, dice).run(left)
                self.seen["sites"] += 1


class Rounds:
    """The kills of one site."""

    def __init__(self, campaign: Campaign, site: Site, dice: random.Random) -> None:
        self.campaign, self.site, self.dice = campaign, site, dice
        passes = [
            one
            for who in ("ann", "bob")
            for one in site.admit(who, ["analyst"], [None, _TOKEN_CAP])
        ]
        (self.owner,) = site.admit("olga", ["owner"], [None])
        self.records = Records(site)
        self.asker = Asker(passes, self.owner, dice, site=site)
        self.tokens: list[str] = []  # that were made, and handed out
        self.listener = listening()
        self.clients = [Client(self.listener.getsockname()) for _ in range(_CLIENTS)]
        self.keeper = Forked(site.serve_keeper, self._descriptors)
        self.gateway = Forked(partial(serve_gateway, site, self.listener, 1), self._connections)
        self.heard = 0
        self.burnt = 0  # charges without an answer when there was no keeper last

    def run(self, left: list[str]) -> None:
        """Kill as often as one site is killed, and look at everything in the end."""
        rounds = min(_ROUNDS, len(left))
        try:
            for _ in range(rounds):
                name = left.pop()
                self._round(name)
                self.campaign.done[name] += 1
            self._last_look()
        finally:
            end_all()
            for client in self.clients:
                client.hang_up()
            self.listener.close()
        looks = self.records.seen["verified"] + self.records.seen["no ledger yet"]
        assert looks == rounds + 1, "a kill was not looked at"
        self.campaign.seen += self.records.seen
        self.campaign.seen["never answered"] += len(self.records.unanswered)

    def _descriptors(self) -> list[int]:
        return [self.listener.fileno(), *self._connections()]

    def _connections(self) -> list[int]:
        """Return what no other process must hold open."""
        held = [one.connection.fileno() for one in self.clients if one.connection is not None]
        return held + [one.pipe for one in (self.keeper, self.gateway) if one.pipe >= 0]

    def _round(self, name: str) -> None:
        """Start what is not there, ask, kill, and look at the ledger."""
        starting = [one for one in (self.keeper, self.gateway) if not one.child]
        for process in starting:
            process.start()
        if self.dice.random() < 0.15:  # it dies before it is ready, or just then
            self._pump(replies=10**9, seconds=self.dice.uniform(0, 0.03))
        else:
            self._wait_ready(starting)
            self._pump(replies=self.dice.randrange(8), seconds=2.0)
            self._pump(replies=10**9, seconds=self.dice.uniform(0, 0.004))
        for process in (self.keeper, self.gateway):
            if name in (BOTH, KEEPER if process is self.keeper else GATEWAY):
                ended = process.end()
                assert ended == -signal.SIGKILL, f"it ended by itself, with {ended}"
        if self.gateway.child == 0:
            self._pump(replies=10**9, seconds=0.0)  # what had been sent is there to be read
        self.records.check(whole=True)
        if self.keeper.child == 0:  # else some that are without an answer are only under way
            burnt = len(self.records.unanswered) - self.burnt
            assert burnt <= _CLIENTS, f"{burnt} charges without an answer"
            self.burnt += burnt
            self.campaign.seen["charges cut off"] += max(0, burnt)

    def _wait_ready(self, starting: list[Forked]) -> None:
        end = time.monotonic() + _LONGEST
        waiting = {process.pipe: process for process in starting}
        while waiting:
            assert time.monotonic() < end, "a process does not start"
            ready, _, _ = select.select(list(waiting), [], [], 1.0)
            for pipe in ready:
                if waiting[pipe].read():
                    del waiting[pipe]

    def _pump(self, *, replies: int, seconds: float) -> None:
        """Ask on all connections until so many replies were heard, or so long."""
        end, until = time.monotonic() + seconds, self.heard + replies
        while True:
            for client in self.clients:
                if client.job is not None and client.connection is None:
                    self._unknown(client.job)
                    client.job = None
                if client.job is None and self.gateway.child and time.monotonic() >= client.rests:
                    job = self.asker.next()
                    self.records.sends(job)
                    client.send(job)
            open_ = {one.connection: one for one in self.clients if one.connection is not None}
            left = min(_REST, max(0.0, end - time.monotonic()))
            ready = select.select(list(open_), [], [], left)[0] if open_ else []
            for connection in ready:
                client = open_[connection]
                heard = client.receive()
                if heard is not None:
                    self._hear(heard)
                    client.rests = time.monotonic() + (_REST if heard.status == 503 else 0)
            if self.heard >= until or (not ready and time.monotonic() >= end):
                return

    def _unknown(self, job: Job) -> None:
        """Sometimes ask again what has been cut off; who has no key may, too."""
        if job.path == "/v1/answers" and self.dice.random() < 0.8:
            self.asker.again.append(job)

    def _hear(self, heard: Heard) -> None:
        self.heard += 1
        job, status = heard.job, heard.status
        self.campaign.statuses[status] += 1
        assert status in _KNOWN, f"{status} for {job}: {heard.body!r}"
        if status == 503:
            codes = _GONE if not self.asker.swaps else (*_GONE, "ledger")  # while limits change
            assert json.loads(heard.body)["code"] in codes, heard.body
            self._unknown(job)
        elif job.path == "/v1/answers" and status == 200:
            self.records.hears(heard)
            if job.key is not None:
                self.asker.done.append(job)
        elif job.path == "/v1/catalogs":
            self.campaign.seen["swaps"] += 1
        elif status == 201:
            self.tokens.append(json.loads(heard.body)["secret"])

    def _last_look(self) -> None:
        """Let all that are cut off be asked once more; nothing that was handed out may be lost."""
        starting = [one for one in (self.keeper, self.gateway) if not one.child]
        for process in starting:
            process.start()
        self._wait_ready(starting)
        cut_off = [one.job for one in self.clients if one.job is not None]
        for client in self.clients:
            client.hang_up()
            client.job = None
        for job in [*self.asker.again, *cut_off]:
            if job.key is not None:
                status, body = self._ask_until_served(job)
                assert status in (200, 409), f"{status} for {job}: {body!r}"
                if status == 200:
                    self.campaign.seen["answered in the end"] += 1
        assert self._ask_until_served(Job(self.owner, "GET", "/readyz"))[0] == 200
        for secret in self.tokens:
            assert self._get(Pass("", secret), "/v1/me")[0] == 200, "a token was lost"
        self._check_listed()
        assert self.keeper.end() == -signal.SIGKILL
        self.records.check(whole=True)
        self._check_state()
        self.campaign.seen["keeper, ms"] += round(1000 * self.keeper.seconds)
        self.campaign.seen["gateway, ms"] += round(1000 * self.gateway.seconds)

    def _ask_until_served(self, job: Job) -> tuple[int, bytes]:
        """Ask as a client does, who comes again while it is told that nobody can serve it yet."""
        for _ in range(100):
            status, body = self._ask(job)
            if status != 503:
                break
            time.sleep(0.05)
        return status, body

    def _ask(self, job: Job) -> tuple[int, bytes]:
        client = Client(self.listener.getsockname())
        self.records.sends(job)
        client.send(job)
        try:
            while (heard := client.receive()) is None:
                assert client.connection is not None, "the gateway has hung up"
        finally:
            client.hang_up()
        if job.path == "/v1/answers" and heard.status == 200:
            self.records.hears(heard)
        return heard.status, heard.body

    def _get(self, by: Pass, path: str) -> tuple[int, bytes]:
        return self._ask(Job(by, "GET", path))

    def _check_listed(self) -> None:
        """The owner is told of every charge without an answer, and of no other."""
        listed: list[int] = []
        for _ in range(200):  # those that are taken up after a start may still be under way
            listed = [
                one["number"]
                for one in json.loads(self._get(self.owner, "/v1/unanswered")[1])["charges"]
            ]
            self.records.check()
            if listed == self.records.unanswered:
                return
            time.sleep(0.05)
        raise AssertionError(f"listed {listed}, and without answer {self.records.unanswered}")

    def _check_state(self) -> None:
        """The keeper's own memory agrees with the ledger, and is in order itself."""
        state = self.site.opened_state()
        try:
            state.check_journal()
            for row in state.rows("SELECT * FROM questions WHERE state = 'answered'"):
                assert row["charge"] in self.records.answers, dict(row)
            assert not state.rows("SELECT * FROM questions WHERE attempts > 1")
            resumed = [row["about"] for row in state.rows(
                "SELECT about FROM journal WHERE what = 'resume'"
            )]  # fmt: skip
            assert self.site.resume or not resumed
            assert len(set(resumed)) == len(resumed), "a charge was taken up twice"
            self.campaign.seen["taken up by the keeper"] += len(resumed)
            spent = state.row("SELECT min(cap - spent) AS left FROM tokens WHERE cap IS NOT NULL")
            assert spent is not None
            assert spent["left"] >= 0
        finally:
            state.close()


def warm(site: Site, *, duckdb: bool) -> None:
    """Let all be done once, so that what is the same in all keepers is made once.

    A database is opened by a child alone; what it has to import for that is imported here, too.
    """
    if not duckdb:
        with Session(
            site.catalog, engine=Counting(site.catalog), ledger=open_ledger(site.catalog, None)
        ) as session:
            for question in QUESTIONS:
                session.ask(question["sql"], epsilon=Fraction(question["epsilon"]))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        keeper = open_keeper(site.path, site.state)
        keeper.generations.now.session.ask(QUESTIONS[0]["sql"], epsilon=Fraction(1, 1000))
        os.write(writing, "\n".join(sys.modules).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        names = told.read().split()
    os.waitpid(child, 0)
    for name in names:
        if name.startswith(("sordino.", "pandas", "pyarrow.")):
            importlib.import_module(name)


def main() -> None:
    """Carry out what the argument says, and print what happened."""
    campaign = Campaign(**json.loads(sys.argv[1]))
    if not campaign.duckdb:
        without_database()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        warm(Site(Path(folder) / "warm"), duckdb=campaign.duckdb)
    gc.disable()
    gc.freeze()  # a child that collects would copy every page
    campaign.run()
    used = os.times()
    figures = {
        "killed": campaign.done,
        "seen": campaign.seen,
        "statuses": campaign.statuses,
        "seconds of processors": round(sum(used[:4]), 1),
    }
    sys.stdout.write(json.dumps(figures))
    gc.unfreeze()


if __name__ == "__main__":
    main()
