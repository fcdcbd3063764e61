# SPDX-License-Identifier: Apache-2.0
"""A small study with a keeper on it, and people who make calls, as a gateway passes them on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sordino.channel.frames import Reply, Request
from sordino.channel.messages import Role, Scope
from sordino.keeper.generations import open_generation
from sordino.keeper.keeper import Keeper
from sordino.keeper.quotes import read_key
from sordino.keeper.state import State
from sordino.keeper.tokens import scopes_of

COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
DAY = 24 * 3600

CATALOG = """
[budget]
epsilon = {epsilon}

[server]
rate = 10000
{server}

[tables.visits]
parquet = "visits.parquet"
unit = "patient"
[tables.visits.columns]
patient = "integer"
ward = {{ type = "text", keys = ["north", "south"] }}
age = {{ type = "integer", bounds = [0, 100] }}

[tables.staff]
parquet = "staff.parquet"
unit = "row"
people = "people"
[tables.staff.columns]
years = {{ type = "integer", bounds = [0, 50] }}
"""


class Time:
    """A clock that goes on when somebody rests, or by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.rests: list[float] = []

    def __call__(self) -> float:
        return self.now

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds


def question(sql: str = COUNT, **terms: Any) -> dict[str, Any]:
    """A question that costs little, unless a price is stated."""
    priced = {"epsilon", "rho", "within"} & terms.keys()
    return {"sql": sql, **({} if priced else {"epsilon": "0.1"}), **terms}


@dataclass
class Study:
    """A keeper in this process, with a clock of its own."""

    folder: Path
    server: str = 'slot = "1s"'
    epsilon: str = "3"
    time: Time = field(default_factory=Time)
    rows: int = 200

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.catalog = self.folder / "sordino.toml"
        self.write()
        self.open()

    def write(self) -> None:
        """Write data and catalog."""
        self.catalog.write_text(self.text())
        patients = [k % 100 for k in range(self.rows)]
        wards = [("north", "south")[k % 2] for k in range(self.rows)]
        visits = {"patient": patients, "ward": wards, "age": [k % 90 for k in range(self.rows)]}
        pq.write_table(pa.table(visits), self.folder / "visits.parquet")
        pq.write_table(pa.table({"years": list(range(40))}), self.folder / "staff.parquet")

    def text(self, **changes: str) -> str:
        """The text of the catalog."""
        return CATALOG.format(**{"server": self.server, "epsilon": self.epsilon, **changes})

    def open(self) -> None:
        """Begin, as after a restart."""
        self.state = State(self.folder / "keeper.db", clock=self.time)
        self.keeper = Keeper(
            open_generation(self.catalog),
            self.state,
            read_key(self.folder / "secret.key"),
            clock=self.time,
            rest=self.time.rest,
        )

    def close(self) -> None:
        self.keeper.close()

    def restart(self) -> None:
        self.close()
        self.open()

    def person(self, name: str, *roles: Role, password: str | None = None) -> str:
        """Add somebody; return a token with which they may do all that they may."""
        self.keeper.people.put(name, roles, by="test", password=password)
        return self.token(name, scopes_of(roles), fresh=True)

    def token(self, name: str, scopes: Iterable[Scope], **terms: Any) -> str:
        secret, _ = self.keeper.tokens.make(name, scopes, seconds=DAY, **terms)
        return secret

    def send(
        self,
        call: str,
        credential: str | None = None,
        body: object = None,
        *,
        raw: bytes | None = None,
        **parts: Any,
    ) -> Reply:
        """Make a call."""
        sent = b"" if body is None else json.dumps(body).encode()
        request = Request(
            call=call,
            number="1",
            credential=credential,
            body=sent if raw is None else raw,
            **parts,
        )
        return self.keeper.reply(request)

    def ask(self, credential: str, **terms: Any) -> Reply:
        """Ask a question that costs little."""
        parts = {name: terms.pop(name) for name in ("key", "query", "seen") if name in terms}
        return self.send("ask", credential, {"question": question(**terms)}, **parts)

    @property
    def charges(self) -> list[Any]:
        """All charges, in their order."""
        return [entry for entry in self.entries if entry.kind == "charge"]

    @property
    def entries(self) -> Sequence[Any]:
        ledger = self.keeper.generations.now.session.ledger
        with ledger.store.read() as pages:
            return [entry for people in pages.spaces() for entry in pages.entries(people)]


def told(reply: Reply) -> Any:
    """What a reply says."""
    return json.loads(reply.body)


def code(reply: Reply) -> str:
    """The code of a problem."""
    assert reply.media == "application/problem+json", reply
    found: str = told(reply)["code"]
    return found


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    due = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < due
        time.sleep(0.001)


def raising(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    """Return what raises an error, however it is called."""

    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


@contextmanager
def study(folder: Path, **terms: Any) -> Iterator[Study]:
    """A study that is closed afterwards."""
    made = Study(folder, **terms)
    try:
        yield made
    finally:
        made.close()
