# SPDX-License-Identifier: Apache-2.0
"""The keeper's socket, spoken to directly: as a gateway does, and as whoever is in its place."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec

from sordino.channel import frames
from sordino.channel.frames import Reply, Request


class Wire:
    """One connection to the keeper."""

    def __init__(self, path: Path, *, seconds: float | None = 60.0) -> None:
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.connect(str(path))  # without a limit, so that it waits for its turn
        self.connection.settimeout(seconds)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(self, request: Request) -> Reply:
        """Send a request, and return the reply."""
        self.connection.sendall(frames.pack(request))
        return self.hear()

    def hear(self) -> Reply:
        """Return the next reply."""
        header = self._exactly(frames.HEADER.size)
        return frames.unpack_reply(self._exactly(frames.length(header, frames.LARGEST_REPLY)))

    def _exactly(self, size: int) -> bytes:
        pieces = bytearray()
        while len(pieces) < size:
            piece = self.connection.recv(size - len(pieces))
            if not piece:
                raise ConnectionResetError("the keeper has hung up")
            pieces += piece
        return bytes(pieces)


def asking(secret: str, question: dict[str, object], key: str | None = None) -> Request:
    """Return the request that asks a question, for its record."""
    body = msgspec.json.encode({"question": question})
    return Request("ask", "1", secret, query={"format": "record"}, body=body, key=key)
