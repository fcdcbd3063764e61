# SPDX-License-Identifier: Apache-2.0
"""The PostgreSQL server is stopped without care under load: what was acknowledged stays."""

import hashlib
import random
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from threading import Event, Thread

import pytest

from sordino.errors import LedgerError
from sordino.ledger.ledger import Ledger
from sordino.ledger.verify import Verified, verify
from sordino.privacy import losses
from tests.ledger.workers import PRICE, declared, open_book
from tests.support.postgres import Server

PEOPLE = "people"
CATALOG = declared(100_000)
LOSS = losses.pure(epsilon=PRICE).under("add_remove")
STOPS = 20
PATIENCE = 60.0  # seconds


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that nobody else uses."""
    with Server() as own:
        yield own


class Client(Thread):
    """Pays and keeps answers until it is told to end, and remembers what it was told."""

    def __init__(self, address: str, name: str) -> None:
        super().__init__(name=name)
        self.book: Ledger = open_book(address, CATALOG)
        self.paid: dict[int, str] = {}
        self.kept: dict[int, bytes] = {}
        self.tries = 0
        self.failed = 0
        self.end = Event()

    def run(self) -> None:
        while not self.end.is_set():
            self.tries += 1
            body = f"{self.name} {self.tries}".encode()
            try:
                receipt = self.book.charge(
                    PEOPLE, LOSS, slack=Fraction(0), plan="question", who=self.name
                )
                self.paid[receipt.number] = receipt.head
                self.book.record(receipt, body)
                self.kept[receipt.number] = body
            except LedgerError:
                self.failed += 1
                time.sleep(0.01)
        self.book.close()


def found_after(address: str, clients: list[Client]) -> Verified:
    """Open the ledger anew, and find all that was acknowledged before."""
    paid = {number: head for client in clients for number, head in list(client.paid.items())}
    kept = {number: body for client in clients for number, body in list(client.kept.items())}
    book = open_book(address, CATALOG)
    try:
        (found,) = verify(book)
        with book.store.read() as pages:
            entries = {entry.number: entry for entry in pages.entries(PEOPLE)}
            answers = {e.charge: e for e in entries.values() if e.kind == "answer"}
            assert all(entries[number].hash == head for number, head in paid.items())
            for number, body in kept.items():
                assert answers[number].body == hashlib.sha256(body).hexdigest()
        newest = list(kept)[-5:]
        with book.store.read() as pages:
            assert [pages.body(answers[number]) for number in newest] == [
                kept[number] for number in newest
            ]
    finally:
        book.close()
    return found


def wait_for_answers(clients: list[Client]) -> None:
    """Wait until the clients have found the server again by themselves."""
    before = sum(len(client.kept) for client in clients)
    until = time.monotonic() + PATIENCE
    while sum(len(client.kept) for client in clients) < before + len(clients):
        assert time.monotonic() < until, "the clients do not get on"
        time.sleep(0.005)


def stopped(server: Server, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - when the server is stopped is no secret
    address = server.database()
    clients = [Client(address, f"ann{k}") for k in range(4)]
    for client in clients:
        client.start()
    try:
        for _ in range(STOPS):
            wait_for_answers(clients)
            time.sleep(dice.uniform(0, 0.05))
            server.stop_at_once()
            server.start()
            found_after(address, clients)
    finally:
        for client in clients:
            client.end.set()
        for client in clients:
            client.join()
    found = found_after(address, clients)
    paid, tries = sum(len(c.paid) for c in clients), sum(c.tries for c in clients)
    failed = sum(client.failed for client in clients)
    sys.stdout.write(f"\n{STOPS} stops, {paid} acknowledged of {tries}, {failed} failed\n")
    assert paid <= found.charges <= tries
    assert failed >= STOPS  # else it was not under load


def test_20_stops_lose_nothing_that_was_acknowledged(server: Server) -> None:
    stopped(server, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 110))
def test_200_stops_lose_nothing_that_was_acknowledged(server: Server, seed: int) -> None:
    stopped(server, seed)
