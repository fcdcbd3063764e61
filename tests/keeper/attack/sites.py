# SPDX-License-Identifier: Apache-2.0
"""Servers for campaigns: keepers and gateways that are forked, from a process that has none open.

They run the product's own code from its beginning to its end. Unless ``duckdb`` is wanted, the
engine alone is replaced by one that counts without a database, which makes a start cheap.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sordino.catalog.model import Catalog
from sordino.catalog.toml import read_catalog
from sordino.channel.messages import Role
from sordino.gateway.main import main as run_gateway
from sordino.keeper import catalogs
from sordino.keeper.main import LOG, SOCKET, STATE, make_folder, serve
from sordino.keeper.people import People
from sordino.keeper.state import State
from sordino.keeper.tokens import Tokens, scopes_of
from sordino.session import opening, rehearsals
from tests.ledger.workers import Counted

FAILED = 9
_A_DAY = 24 * 3600
_CATALOG = """\
[budget]
epsilon = {cap}

[server]
slot = "{slot}"
deadline = 600
resume = {resume}
rate = 10000

[tables.data]
csv = "data.csv"
unit = "person"

[tables.data.columns]
person = "integer"
ward = {{ type = "text", keys = ["north", "south"] }}
"""


class Counting(Counted):
    """The engine that counts without a database, as it is opened on a catalog."""

    def __init__(self, catalog: Catalog, **_: Any) -> None:
        self.catalog = catalog

    def public_values(self, *_: Any) -> Any:
        raise AssertionError("no table is public")


def without_database() -> None:
    """Let all keepers of this process, and those forked from it, count without a database."""
    for module in (opening, rehearsals, catalogs):
        vars(module)["DuckdbEngine"] = Counting


@dataclass(frozen=True)
class Pass:
    """A token, with whose it is and the most it may spend, in nano-units."""

    who: str
    secret: str
    cap: int | None = None


@dataclass
class Site:
    """The folder of one server, with its catalog and its people."""

    folder: Path
    cap: str = "1"
    slot: str = "off"
    resume: bool = False
    catalog_text: str = _CATALOG
    csv: str = "person,ward\n" + "".join(f"{n},{'north' if n % 2 else 'south'}\n" for n in range(9))

    def __post_init__(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True)
        self.path.write_text(self.text(self.cap))
        (self.folder / "data.csv").write_text(self.csv)
        make_folder(self.state)
        self.catalog = read_catalog(self.path)

    def text(self, cap: str) -> str:
        """Return the text of its catalog, with a cap."""
        return self.catalog_text.format(cap=cap, slot=self.slot, resume=str(self.resume).lower())

    @property
    def path(self) -> Path:
        return self.folder / "site.toml"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def socket(self) -> Path:
        return self.state / SOCKET

    @property
    def log(self) -> Path:
        return self.state / LOG

    def opened_state(self) -> State:
        """Open the keeper's own memory, while there is no keeper."""
        return State(self.state / STATE)

    def admit(self, who: str, roles: Iterable[Role], caps: Iterable[int | None]) -> list[Pass]:
        """Add somebody with a token for each cap."""
        state, roles = self.opened_state(), list(roles)
        try:
            People(state).put(who, roles, by="owner")
            made = Tokens(state)
            return [
                Pass(
                    who,
                    made.make(who, scopes_of(roles), seconds=_A_DAY, cap=cap, fresh=True)[0],
                    cap,
                )
                for cap in caps
            ]
        finally:
            state.close()

    def serve_keeper(self, ready: int) -> None:
        """Be the keeper of this site."""
        serve(self.path, self.state, ready=ready)


def listening() -> socket.socket:
    """Return a socket that outlives the gateways which take connections from it."""
    bound = socket.create_server(("127.0.0.1", 0), backlog=512)
    found = socket.socket(fileno=bound.detach())
    found.set_inheritable(True)
    return found


def serve_gateway(site: Site, listener: socket.socket, workers: int, ready: int) -> None:
    """Be one of the gateways before a keeper."""
    run_gateway(
        [
            *("--keeper", str(site.socket), "--fd", str(listener.fileno())),
            *("--access-log", str(site.state / "access.log"), "--ready", str(ready)),
            *(() if workers == 1 else ("--of", str(workers))),
        ]
    )


@dataclass(eq=False)
class Forked:
    """A process that was forked, and the end of the pipe on which it says that it is ready."""

    run: Callable[[int], None]
    inherited: Callable[[], Iterable[int]] = tuple  # descriptors that are none of its business
    child: int = 0
    pipe: int = -1
    seconds: float = 0.0  # of processors, that all that were forked so have used
    said: bytes = field(default=b"", init=False)

    def start(self) -> None:
        """Fork it."""
        reading, writing = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            faulthandler.enable()  # where it dies by itself, it says by what
            try:
                for one in (reading, *self.inherited()):
                    os.close(one)
                self.run(writing)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(FAILED)
        os.close(writing)
        self.pipe, self.said = reading, b""
        _RUNNING.append(self)

    def read(self) -> bool:
        """Read what it says on the pipe; tell whether it is ready."""
        piece = os.read(self.pipe, 4096)
        self.said += piece
        if not piece and not self.said:
            raise AssertionError("it ended before it was ready")
        return not piece or piece.endswith(b"\n")

    def wait_ready(self) -> None:
        """Wait until it is ready."""
        while not self.read():
            pass

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        """End it by a signal, and return how it ended."""
        os.kill(self.child, number)
        os.close(self.pipe)
        _, status, used = os.wait4(self.child, 0)
        self.seconds += used.ru_utime + used.ru_stime
        self.child, self.pipe = 0, -1
        _RUNNING.remove(self)
        return os.waitstatus_to_exitcode(status)


_RUNNING: list[Forked] = []


def end_all() -> None:
    """End all that is still running, as after a broken invariant."""
    while _RUNNING:
        _RUNNING[-1].end()
