# SPDX-License-Identifier: Apache-2.0
"""Prices and refusals are the same bytes on two data sets that differ by one unit.

Schemas, poisoned data and questions are those by which the session itself is attacked. All that
is public is equal on both sides: the clock, the key of quotes, the people and their tokens.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sordino.catalog.checks import serving
from sordino.catalog.model import Catalog
from sordino.channel.frames import Reply, Request
from sordino.keeper.generations import Generation
from sordino.keeper.keeper import Keeper
from sordino.keeper.state import State
from sordino.keeper.tokens import scopes_of
from sordino.privacy.budget import Budget
from sordino.session.opening import open_session
from tests.session.attack.neighbours.data import frames, make_world
from tests.session.attack.neighbours.dice import dice
from tests.session.attack.neighbours.queries import make_question
from tests.session.attack.neighbours.schemas import make_schema

TESTED, PIECES = 200, 4
SOAKED, LONG_PIECES = 2_000, 20
OF_EACH = 10  # questions about one schema
KEY = bytes(32)
NOW = 1_900_000_000.0
CALLS = ("catalog", "budget", "history", "me")


class Side:
    """A keeper of one of two data sets."""

    def __init__(self, catalog: Catalog, file: Path) -> None:
        served = replace(
            catalog,
            serving=serving(slot="off", rate=10_000),
            purses=tuple(
                (people, replace(purse, budget=_small(purse.budget)))
                for people, purse in catalog.purses
            ),
        )
        session = open_session(served, ledger="memory", threads=1)
        state = State(file, clock=lambda: NOW)
        self.keeper = Keeper(Generation("0" * 16, served, session), state, KEY)
        self.keeper.people.put("alice", ["analyst"], by="owner")
        self.token, made = self.keeper.tokens.make("alice", scopes_of(["analyst"]), seconds=600)
        self.number = made.number

    def send(self, call: str, body: dict[str, Any] | None = None) -> Reply:
        sent = b"" if body is None else json.dumps(body).encode()
        return self.keeper.reply(Request(call, "1", credential=self.token, body=sent))

    def cap(self, people: str) -> int:
        return int(self.keeper.generations.now.catalog.purse(people).budget.cap.nanos)

    def charges(self) -> int:
        return sum(head[1] for head in self.keeper.generations.now.session.ledger.heads())

    def close(self) -> None:
        self.keeper.close()


def _small(budget: Budget) -> Budget:
    """Return a budget of the same kind, for which every question is too dear."""
    if budget.currency.kind == "rho":
        return Budget(epsilon=Fraction(1, 1000), delta=Fraction(1, 10**6))
    return Budget(epsilon=Fraction(1, 1000))


def terms(random: Random) -> dict[str, Any]:
    """Return a random price, some of which no budget has, and random limits."""
    stated: dict[str, Any] = {"epsilon": random.choice(("0.5", "1", "0.02", "3"))}
    if random.random() < 0.15:
        stated = {"within": random.choice(("5", "10%", "0.1", "1e-9"))}
    for name in ("rows", "groups", "rows_per_group"):
        if random.random() < 0.1:
            stated[name] = random.choice((1, 2, 5))
    if random.random() < 0.1:
        stated["diagnostics"] = True
    if random.random() < 0.1:
        stated["delta"] = random.choice(("1e-9", "1e-3"))
    return stated


def compare(random: Random, folder: Path, name: str) -> tuple[int, int]:
    """Ask about one schema on two neighbours; return how many were priced and refused."""
    schema = make_schema(random)
    world = make_world(random, schema, leaving=1)
    sides = []
    for number, present in enumerate(world.sets()):
        tables = frames(schema, world.rows(present, random))
        sides.append(Side(schema.catalog(tables), folder / f"{name}-{number}.db"))
    priced = refused = 0

    def same(call: str, body: dict[str, Any] | None = None) -> Reply:
        one, other = (side.send(call, body) for side in sides)
        if call == "me":  # where the number of a token stands, which is drawn
            texts = [side.number.encode() for side in sides]
            other = replace_body(other, other.body.replace(texts[1], texts[0]))
        assert one == other, (name, call, body)
        assert one.status not in (500, 503), (name, call, body, one)
        return one

    try:
        for _ in range(OF_EACH):
            question = {"sql": make_question(random, schema).sql, **terms(random)}
            told = json.loads(same("prices", {"questions": [question]}).body)["prices"][0]
            if "problem" in told:
                refused += 1
                assert same("ask", {"question": question}).status == told["problem"]["status"]
            else:
                priced += 1
                if told["price_nanos"] > sides[0].cap(told["people"]):
                    assert same("ask", {"question": question}).status == 409, question
        for call in CALLS:
            assert same(call).status == 200
        assert [side.charges() for side in sides] == [0, 0]
    finally:
        for side in sides:
            side.close()
    return priced, refused


def replace_body(reply: Reply, body: bytes) -> Reply:
    return Reply(reply.status, reply.media, body, reply.headers)


def campaign(folder: Path, seed: int, questions: int) -> None:
    random, priced, refused = dice(f"service {seed}"), 0, 0
    while priced + refused < questions:
        more = compare(random, folder, f"{seed}-{priced + refused}")
        priced, refused = priced + more[0], refused + more[1]
    assert priced >= questions // 2, (priced, refused)
    assert refused, (priced, refused)


@pytest.mark.parametrize("seed", range(PIECES))
def test_prices_and_refusals_are_the_same_bytes_on_neighbours(seed: int, tmp_path: Path) -> None:
    campaign(tmp_path, seed, TESTED // PIECES)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 100 + LONG_PIECES))
def test_thousands_of_prices_and_refusals_are_the_same_bytes(seed: int, tmp_path: Path) -> None:
    campaign(tmp_path, seed, SOAKED // LONG_PIECES)
