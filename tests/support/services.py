# SPDX-License-Identifier: Apache-2.0
"""A keeper of this process behind a socket, and a gateway before it in this process as well."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from starlette.types import Message

from sordino.channel.frames import Reply, Request
from sordino.channel.messages import Role
from sordino.gateway.access import AccessLog, Numbers
from sordino.gateway.app import Gateway
from sordino.gateway.forwarded import Proxies
from sordino.gateway.headers import LOOPBACK, Names
from sordino.gateway.limits import Limits
from sordino.gateway.link import Link
from sordino.keeper.main import open_keeper
from sordino.keeper.socket import Door
from sordino.keeper.tokens import scopes_of

ROLES: tuple[Role, ...] = ("analyst", "approver", "owner", "auditor", "operator")
_DAY = 24 * 3600

CLINIC = """\
[budget]
epsilon = {epsilon}

[tables.visits]
parquet = "visits.parquet"
unit = "person"
limits = {{ rows = 5 }}

[tables.visits.columns]
person = "integer"
age = {{ type = "integer", bounds = [0, 110] }}
cost = {{ type = "real", bounds = [0, 5000] }}
ward = {{ type = "text", keys = ["north", "south", "east", "west"] }}

[server]
{server}
"""


def clinic(
    folder: Path,
    columns: Mapping[str, Sequence[Any]] | None = None,
    *,
    epsilon: str = "1000",
    server: str = 'slot = "off"\nrate = 10000',
) -> Path:
    """Write some visits and their catalog into a folder, and return where the catalog is."""
    folder.mkdir(exist_ok=True)
    visits = columns or {
        "person": [number // 3 for number in range(300)],
        "age": [number * 7 % 100 for number in range(300)],
        "cost": [number * 13.5 % 4000 for number in range(300)],
        "ward": [("north", "south", "east")[number % 3] for number in range(300)],
    }
    pq.write_table(pa.table(dict(visits)), folder / "visits.parquet")
    path = folder / "sordino.toml"
    path.write_text(CLINIC.format(epsilon=epsilon, server=server), "utf-8")
    return path


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a request that reached the keeper."""

    call: str
    status: int
    is_charged: bool


class HeldKeeper:
    """A keeper on a catalog, listening at ``socket``; one person and one token for each role."""

    def __init__(self, catalog: Path, state: Path | None = None) -> None:
        folder = state or catalog.with_name("state")
        folder.mkdir(mode=0o700, exist_ok=True)
        self.keeper = open_keeper(catalog, folder)
        self.socket = folder / "keeper.sock"
        self._door = Door(self.socket, self._reply)
        self._turn = threading.Lock()
        self.done: list[Done] = []
        self.tokens: dict[str, str] = {}
        for role in ROLES:
            self.enter(f"the-{role}", [role])

    def _reply(self, request: Request) -> Reply:
        """Have a request done, one at a time, and note what became of it and of the ledger."""
        with self._turn:
            before = self.heads
            reply = self.keeper.reply(request)
            self.done.append(Done(request.call, reply.status, self.heads != before))
            return reply

    def enter(self, name: str, roles: Sequence[Role]) -> str:
        """Let somebody in, or in again, and return a new token of theirs."""
        if self.keeper.people.get(name) is None:
            self.keeper.people.put(name, roles, by="the-owner")
        secret, _ = self.keeper.tokens.make(
            name, sorted(scopes_of(roles)), seconds=_DAY, fresh=True
        )
        for role in roles:
            self.tokens[role] = secret
        return secret

    @property
    def heads(self) -> list[tuple[Any, ...]]:
        """What the ledger has come to: any charge changes it."""
        return [tuple(head) for head in self.keeper.generations.now.session.ledger.heads()]

    def __enter__(self) -> HeldKeeper:
        self._door.listen()
        threading.Thread(target=self._door.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close(30)
        self.keeper.close()


@dataclass(frozen=True, slots=True)
class Heard:
    """What came back for a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def media(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]


class Service:
    """A gateway of this process before a keeper's socket, driven without a network.

    What is sent is handed over as uvicorn would do it, so it may be anything that a client can
    make uvicorn hand over: any bytes in headers, the same header twice, a body in pieces.
    """

    def __init__(self, keeper: Path, log: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._log = AccessLog(log)
        self._gateway = Gateway(
            Link(keeper),
            names=Names([*LOOPBACK]),
            log=self._log,
            numbers=Numbers(),
            proxies=Proxies(),
            limits=Limits(),
        )

    def send(
        self,
        method: str,
        target: str,
        *,
        token: str | None = None,
        body: bytes | None = None,
        headers: Iterable[tuple[str, str]] = (),
        pieces: int = 1,
    ) -> Heard:
        """Send a request whose body comes in so many pieces, and return what came back."""
        path, _, query = target.partition("?")
        sent = [("host", "127.0.0.1"), *headers]
        if body is not None and "content-type" not in {name.lower() for name, _ in sent}:
            sent.append(("content-type", "application/json"))
        if token is not None:
            sent.append(("authorization", f"Bearer {token}"))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), _bytes(value)) for name, value in sent],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000),
        }
        return self._loop.run_until_complete(self._exchange(scope, body or b"", pieces))

    async def _exchange(self, scope: dict[str, Any], body: bytes, pieces: int) -> Heard:
        size = max(1, -(-len(body) // pieces))
        left = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
        said: list[Message] = []

        async def receive() -> Message:
            if not left:
                return {"type": "http.disconnect"}
            piece = left.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(left)}

        async def send(message: Message) -> None:
            said.append(message)

        await self._gateway(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in said[0]["headers"]}
        return Heard(said[0]["status"], headers, b"".join(m.get("body", b"") for m in said[1:]))

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self._gateway.close()
        self._loop.close()
        self._log.close()


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
