# SPDX-License-Identifier: Apache-2.0
"""Processes that fork while they have a ledger open, and all go on with it.

It runs as a process of its own, see ``tests/support/launch.py``. It prints figures as JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from threading import Event, Thread

from sordino.ledger.ledger import Ledger
from sordino.ledger.verify import verify
from sordino.privacy import losses
from tests.ledger.workers import PRICE, declared, open_book
from tests.support.faults import end_process

PEOPLE = "people"
_LOSS = losses.pure(epsilon=PRICE).under("add_remove")
_CATALOG = declared(10_000)


class Family:
    """A ledger that a process shares with its children and theirs."""

    def __init__(self, place: Path | str, seed: int) -> None:
        self.place = place
        self.dice = random.Random(seed)  # noqa: S311 - who forks when is no secret
        self.book = open_book(place, _CATALOG)
        self.told, self.tell = os.pipe()

    def pay(self) -> None:
        """Be charged, and say so only then."""
        receipt = self.book.charge(PEOPLE, _LOSS, slack=Fraction(0), plan="question", who="ann")
        os.write(self.tell, f"{receipt.number} {receipt.head}\n".encode())

    def live(self, generation: int) -> None:
        """Pay, have children, close at some moment, and wait for the children."""
        self._pay_some()
        children = [self._child(generation) for _ in range(self.dice.randint(1, 2))]
        early = self.dice.random() < 0.5
        if early:
            self.book.close()
        else:
            self._pay_some()
        for child in children:
            _, status = os.waitpid(child, 0)
            assert status in (0, 9), f"a child ended with {status}"
        if not early:
            self._pay_some()
            self.book.close()

    def live_with_a_thread(self) -> None:
        """The same while another thread is paying; it is the parent's alone, forks have none."""
        end = Event()

        def work() -> None:
            while not end.is_set():
                self.pay()

        thread = Thread(target=work)
        thread.start()
        try:
            children = [self._child(1) for _ in range(3)]
        finally:
            end.set()
            thread.join()
        for child in children:
            assert os.waitpid(child, 0)[1] in (0, 9)
        self.book.close()

    def _pay_some(self) -> None:
        for _ in range(self.dice.randint(0, 3)):
            self.pay()

    def _child(self, generation: int) -> int:
        seed, kill = self.dice.getrandbits(64), self.dice.random() < 0.3
        child = os.fork()
        if child:
            return child
        try:
            self.dice.seed(seed)
            self._pay_some()
            if generation < 2:
                self.live(generation + 1)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        if kill:
            end_process()
        os._exit(0)

    def check(self) -> int:
        """Find every charge that somebody was told of, once, and no other."""
        os.close(self.tell)
        with open(self.told) as lines:  # noqa: PTH123 - a pipe
            told = Counter(line.strip() for line in lines)
        with closing(open_book(self.place, _CATALOG)) as book:
            verify(book)
            kept = Counter(_charges(book))
        assert told == kept, f"lost: {told - kept}, unknown: {kept - told}"
        return told.total()


def _charges(book: Ledger) -> list[str]:
    with book.store.read() as pages:
        entries = list(pages.entries(PEOPLE))
    return [f"{entry.number} {entry.hash}" for entry in entries if entry.kind == "charge"]


def main() -> None:
    """Carry out what the argument says, and print what happened."""
    told = json.loads(sys.argv[1])
    charges = 0
    for number in range(told["families"]):
        family = Family(Path(told["place"]) / str(number), told["seed"] + number)
        if number % 3:
            family.live(0)
        else:
            family.live_with_a_thread()
        charges += family.check()
    sys.stdout.write(json.dumps({"families": told["families"], "charges": charges}))


if __name__ == "__main__":
    main()
