# SPDX-License-Identifier: Apache-2.0
"""A server for tests: a gateway in a process of its own, before a keeper in this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sordino.catalog.model import Serving
from sordino.channel.frames import Reply, Request
from sordino.channel.messages import Role
from sordino.keeper.generations import Generation
from sordino.keeper.keeper import Keeper
from sordino.keeper.state import State
from sordino.keeper.tokens import hash_of, scopes_of
from sordino.remote import RemoteSession
from sordino.remote.heads import Heads
from sordino.remote.wire import Wire
from sordino.session import Session
from tests.support.gateways import start_gateway
from tests.support.keepers import FakeKeeper
from tests.support.stopping import Stopping

AT_ONCE = Serving(slot=None, rate=100_000)  # a server that lets answers go when they are ready
ROLES: tuple[Role, ...] = ("analyst",)


class Server(Stopping):
    """A gateway, and behind it a keeper for each session that is served."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="sordino-")
        self.folder = Path(self._folder.name)
        self.frames = FakeKeeper(self.folder / "keeper.sock")
        self.frames.answering = self._answer
        self.frames.start()
        self._gateway = start_gateway(self.frames.path)
        self._states = 0
        self._keepers: dict[str | None, Keeper] = {}  # by the tokens that they have made
        self.keeper: Keeper | None = None

    def _answer(self, request: Request) -> Reply:
        """Let the keeper reply that knows a token, and the newest one to all others."""
        keeper = self._keepers.get(request.credential, self.keeper)
        assert keeper is not None
        return keeper.reply(request)

    @property
    def url(self) -> str:
        return self._gateway.url

    def open(self, session: Session) -> RemoteSession:
        """Serve a session, and return one of the same analyst on the server."""
        self.serve(session)
        return self.connect(session.who, ("analyst", "owner"))

    def serve(self, session: Session, serving: Serving = AT_ONCE) -> Keeper:
        """Let what is asked from now on be asked of a session."""
        self._states += 1
        state = State(self.folder / f"keeper-{self._states}.db")
        generation = Generation("test", replace(session.catalog, serving=serving), session)
        self.keeper = Keeper(generation, state, b"k" * 32)
        return self.keeper

    def token(self, who: str, roles: Sequence[Role] = ROLES, **limits: Any) -> str:
        """Return a token for somebody, who is made known."""
        assert self.keeper is not None
        self.keeper.people.put(who, roles, by="test")
        stated = {"seconds": 3600, "fresh": True, **limits}
        secret, _ = self.keeper.tokens.make(who, scopes_of(roles), **stated)
        self._keepers[secret] = self.keeper
        return secret

    def connect(self, who: str, roles: Sequence[Role] = ROLES, **limits: Any) -> RemoteSession:
        """Return a session of somebody, with receipts that are remembered for it alone."""
        token = self.token(who, roles, **limits)
        heads = Heads(self.url, self.folder / f"heads-{self._states}-{who}")
        return RemoteSession(Wire(self.url, token, heads=heads, waiting=60, patience=5), heads)

    def know(self, session: RemoteSession, who: str) -> None:
        """Let the newest keeper know a session by the token that another one has given it."""
        assert self.keeper is not None
        secret = session._wire._token
        assert secret is not None
        self.keeper.people.put(who, ROLES, by="test")
        _, made = self.keeper.tokens.make(who, scopes_of(ROLES), seconds=3600, fresh=True)
        hashed = hash_of(secret)
        self.keeper.state.change("UPDATE tokens SET secret = ? WHERE id = ?", hashed, made.number)
        self._keepers[secret] = self.keeper

    def stop(self) -> None:
        self._gateway.stop()
        self.frames.stop()
        self._folder.cleanup()
