# SPDX-License-Identifier: Apache-2.0
"""A line to the keeper: calls over its socket, for whoever may open its state folder."""

from __future__ import annotations

import json
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias
from urllib.parse import quote

import typer

from sordino.cli.options import CATALOG, AsJson, CatalogFile, ServerName
from sordino.cli.usage import refusals
from sordino.errors import ServerError

if TYPE_CHECKING:
    from sordino.channel.frames import Reply

KEEPER, OWNER_ONLY = "keeper.sock", "owner.sock"  # in the state folder
VARIABLE: Final = "SORDINO_TOKEN"
SECONDS: Final = 60.0
_LONGEST_PATH = 107  # bytes that the name of a Unix socket may have

Body: TypeAlias = Mapping[str, object] | None
Words: TypeAlias = Mapping[str, str]
State: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="The server's folder; that of the catalog without it, such as sordino.server."
    ),
]
TokenFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="A file of mode 600 that holds your token; SORDINO_TOKEN is read without it."
    ),
]


def state_of(catalog: Path, state: Path | None) -> Path:
    """Return the state folder: the one that is named, or that of a catalog.

    >>> str(state_of(Path("study/sordino.toml"), None))
    'study/sordino.server'
    """
    return catalog.with_name(f"{catalog.stem}.server") if state is None else state


def check_path(path: Path) -> Path:
    """Refuse a name that no Unix socket can have."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise ValueError(
            f"{str(path)!r} is too long for a socket, which has at most {_LONGEST_PATH} bytes; "
            "name a shorter folder with --state"
        )
    return path


def token_of(file: Path | None) -> str:
    """Return the token to call with, from a file that only its owner can read, or SORDINO_TOKEN."""
    if file is None:
        token = os.environ.get(VARIABLE, "").strip()
        if not token:
            raise ValueError(
                f"this needs your token; put it into a file of mode 600 and name it with "
                f"--token-file, or into the variable {VARIABLE}"
            )
        return token
    try:
        mode, token = file.stat().st_mode, file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the token cannot be read from {str(file)!r}: {error}") from None
    if mode & 0o077:
        raise ValueError(f"others can read {str(file)!r}; chmod 600 it, and make another token")
    return token


class Way(ABC):
    """A way to make calls."""

    def call(
        self,
        name: str,
        body: Body = None,
        *,
        path: Words | None = None,
        query: Words | None = None,
    ) -> Any:
        """Make one call, and return the JSON of its reply; raises ServerError for a problem."""
        return self._call(name, body, path or {}, query or {})

    @abstractmethod
    def _call(self, name: str, body: Body, path: Words, query: Words) -> Any: ...


@dataclass
class Line(Way):
    """A connection to a keeper; ``token`` says who calls."""

    state: Path
    token: str | None = None

    def __enter__(self) -> Line:
        self._connection = _connected(self.state / KEEPER)
        return self

    def __exit__(self, *failure: object) -> None:
        self._connection.close()

    def _call(self, name: str, body: Body, path: Words, query: Words) -> Any:
        from sordino.channel.frames import Request  # loads what commands without a server lack

        request = Request(
            call=name,
            number="cli",
            credential=self.token,
            path=dict(path),
            query=dict(query),
            body=b"" if body is None else json.dumps(body).encode(),
        )
        reply = self._exchange(request)
        told: Any = json.loads(reply.body) if reply.body else None
        if reply.status >= 400:
            raise ServerError(told["code"], told["detail"], hint=told.get("hint", ""))
        return told

    def _exchange(self, request: Any) -> Reply:
        from sordino.channel import frames  # as above

        try:
            self._connection.sendall(frames.pack(request))
            size = frames.length(self._exactly(frames.HEADER.size), frames.LARGEST_REPLY)
            return frames.unpack_reply(self._exactly(size))
        except (OSError, frames.BrokenFrame) as error:
            raise ServerError("server", f"the keeper did not reply: {error}") from None

    def _exactly(self, size: int) -> bytes:
        pieces = bytearray()
        while len(pieces) < size:
            piece = self._connection.recv(min(size - len(pieces), 1 << 18))
            if not piece:
                raise ConnectionResetError("it hung up")
            pieces += piece
        return bytes(pieces)


class Away(Way):
    """Calls to a server over HTTP, in the name of the token that a profile keeps."""

    def __init__(self, server: str) -> None:
        from sordino.remote.connecting import wire_to  # as above

        self._wire = wire_to(server)

    def __enter__(self) -> Away:
        return self

    def __exit__(self, *failure: object) -> None:
        self._wire.close()

    def _call(self, name: str, body: Body, path: Words, query: Words) -> Any:
        from sordino.channel.calls import BY_NAME  # as above

        call = BY_NAME[name]
        place = call.path.format_map({key: quote(text, safe="") for key, text in path.items()})
        match call.method:
            case "GET":
                return self._wire.get(place, **query).json()
            case "POST":
                return self._wire.post(place, body or {}).json()
            case "DELETE":
                return self._wire.delete(place).json()


class Reached(ABC):
    """What says how to reach a server, and how its reply is shown."""

    as_json: AsJson

    @contextmanager
    def line(self) -> Iterator[Way]:
        """Call the server; an error, on the way or later, ends the command with a message."""
        with refusals(as_json=self.as_json), self._way() as way:
            yield way

    @abstractmethod
    def _way(self) -> Line | Away: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BySocket(Reached):
    """What says how to reach the keeper in a folder."""

    catalog: CatalogFile = CATALOG
    state: State = None
    token_file: TokenFile = None
    as_json: AsJson = False

    def _way(self) -> Line:
        return Line(state_of(self.catalog, self.state), token_of(self.token_file))


@dataclass(frozen=True, slots=True, kw_only=True)
class Anywhere(Reached):
    """The same for a server that may also be named, and is called over HTTP then."""

    catalog: CatalogFile = CATALOG
    server: ServerName = None
    state: State = None
    token_file: TokenFile = None
    as_json: AsJson = False

    def _way(self) -> Line | Away:
        if self.server is None:
            return Line(state_of(self.catalog, self.state), token_of(self.token_file))
        if (self.state, self.token_file) != (None, None) or self.catalog != CATALOG:
            raise ValueError(
                "a server is called over HTTP or by its folder: leave out --server, which "
                "SORDINO_SERVER may state, or --catalog, --state and --token-file"
            )
        return Away(self.server)


def text_of(path: Path) -> str:
    """Return all that is said at a socket that takes no requests."""
    with _connected(path) as connection, connection.makefile("r", encoding="utf-8") as said:
        return said.read()


def _connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(SECONDS)
        connection.connect(str(check_path(path)))
    except OSError as error:
        connection.close()
        raise ServerError(
            "server",
            f"no server is running in {str(path.parent)!r}: {error.strerror or error}",
            hint="start it with 'sordino serve', or name its folder with --state",
        ) from None
    return connection
