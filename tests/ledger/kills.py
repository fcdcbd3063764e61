# SPDX-License-Identifier: Apache-2.0
"""A campaign of kills: workers are forked, killed, and the ledger is looked at after each round.

It runs as a process of its own, which has everything imported and nothing open when it forks:
see ``tests/support/launch.py``. It prints figures as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import random
import select
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from sordino.ledger.verify import verify
from tests.ledger.history import Death, History
from tests.ledger.workers import READY, REFUSED, Worker, declared, frames, open_book, planned
from tests.support.faults import Point, shuffled

RANDOM = "random"
CHARGES = 60  # that a ledger can pay for; then the next one is begun
_TOGETHER = 3  # workers at once, at most
_LONGEST = 60.0  # seconds that a round may take
_SPREAD = 0.02  # seconds in which a kill at random comes


@dataclass
class Campaign:
    """What is to be killed, and what has been."""

    place: Path | str
    kills: dict[str, int]
    seed: int
    duckdb: bool = False
    careless: bool = False
    done: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Kill until every kill has been made; the first broken invariant ends it."""
        dice = random.Random(self.seed)  # noqa: S311 - which worker dies when is no secret
        left = shuffled(self.kills, dice)
        ledgers = 0
        while left:
            ledgers += 1
            self._ledger(ledgers, left, dice)
        self.seen["ledgers"] = ledgers

    def _ledger(self, number: int, left: list[str], dice: random.Random) -> None:
        """Use one ledger up, or make all kills that are left."""
        place = self.place / f"{number}.ledger" if isinstance(self.place, Path) else self.place
        names = [f"ann{k}" for k in range(_TOGETHER)]
        charges = CHARGES if isinstance(place, Path) else 100 * CHARGES
        catalog = declared(charges, names)
        plans, history, full = planned(catalog), History(names), False
        while left and not full:
            deaths = [left.pop() for _ in range(min(len(left), dice.randint(1, _TOGETHER)))]
            workers = [
                Worker(
                    who=who,
                    place=place,
                    catalog=catalog,
                    plans=plans,
                    point=None if name == RANDOM else Point[name],
                    nth=dice.randint(1, 3),
                    duckdb=self.duckdb,
                    careless=self.careless,
                )
                for who, name in zip(names, deaths, strict=False)
            ]
            found = killed(workers, dice)
            for name, death in zip(deaths, found, strict=True):
                if death.killed:
                    self.done[name] += 1
                else:
                    full = True
                    left.append(name)
            book = open_book(place, catalog)
            try:
                self.seen += history.check(book, found)
                verify(book)
            finally:
                book.close()
        dice.shuffle(left)


def killed(workers: list[Worker], dice: random.Random) -> list[Death]:
    """Fork workers, let them die, and return what each of them has sent."""
    pipes, children, sent = [], [], [bytearray() for _ in workers]
    for worker in workers:
        child, pipe = _forked(worker, dice.getrandbits(64))
        pipes.append(pipe)
        children.append(child)
    end = time.monotonic() + _LONGEST
    at: dict[int, float] = {}  # when a worker is killed
    for place, worker in enumerate(workers):
        if worker.point is None and dice.random() < 0.25:  # maybe while it opens the ledger
            at[place] = time.monotonic() + dice.uniform(0, _SPREAD)
    waiting = {pipe: place for place, pipe in enumerate(pipes)}
    while waiting:
        now = time.monotonic()
        for place in [place for place, moment in at.items() if moment <= now]:
            os.kill(children[place], signal.SIGKILL)
            at[place] = end
        if now > end:
            raise AssertionError("a worker hangs")
        ready, _, _ = select.select(list(waiting), [], [], min(at.values(), default=end) - now)
        for pipe in ready:
            place = waiting[pipe]
            got = os.read(pipe, 1 << 16)
            if not got:
                os.close(pipe)
                del waiting[pipe]
            elif not sent[place] and workers[place].point is None:
                at.setdefault(place, time.monotonic() + dice.uniform(0, _SPREAD))
            sent[place] += got
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return [_death(*each) for each in zip(workers, ends, map(bytes, sent), strict=True)]


def _death(worker: Worker, end: int, sent: bytes) -> Death:
    if end not in (-signal.SIGKILL, REFUSED):
        raise AssertionError(f"{worker.who} was to die at {worker.point} and ended with {end}")
    if not READY.startswith(sent[:1]):
        raise AssertionError("what was sent cannot be read")
    return Death(worker.who, worker.point, end == -signal.SIGKILL, frames(sent))


def _forked(worker: Worker, seed: int) -> tuple[int, int]:
    """Return the number of a new process, and the end of a pipe from which it can be read."""
    pipe, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(pipe)
        dice = random.Random(seed)  # noqa: S311 - which question is asked is no secret
        os._exit(worker.run(end, lambda: dice.randrange(100)))
    os.close(end)
    return child, pipe


def main() -> None:
    """Carry out what the argument says, and print what happened."""
    told = json.loads(sys.argv[1])
    place = told.pop("place")
    campaign = Campaign(place if "://" in place else Path(place), **told)
    gc.disable()
    gc.freeze()  # a child that collects would copy every page
    began = time.monotonic()
    campaign.run()
    seconds = time.monotonic() - began
    figures = {"killed": campaign.done, "seen": campaign.seen, "seconds": round(seconds, 1)}
    sys.stdout.write(json.dumps(figures))
    gc.unfreeze()


if __name__ == "__main__":
    main()
