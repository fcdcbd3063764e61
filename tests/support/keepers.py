# SPDX-License-Identifier: Apache-2.0
"""A keeper that speaks frames and knows nothing: what a gateway is tested against by itself."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from sordino.channel import frames
from sordino.channel.calls import BY_NAME
from sordino.channel.frames import Reply, Request

Answering = Callable[[Request], Reply]


def echo(request: Request) -> Reply:
    """Reply with what came, in JSON, as one that is carried out."""
    status = BY_NAME[request.call].statuses[0]
    body = b"" if status == 204 else msgspec.json.encode(request)
    return Reply(status, "application/json", body)


class FakeKeeper:
    """Listens at a socket, and replies as ``answering`` says; one thread for each connection.

    Everybody who knocks may come in, and is not counted.
    """

    def __init__(self, path: Path, answering: Answering = echo) -> None:
        self.path = path
        self.answering = answering
        self.requests: list[Request] = []
        self.connections: list[socket.socket] = []
        self._listening: socket.socket | None = None

    def __enter__(self) -> FakeKeeper:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self.path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(self.path))
        self._listening.listen(256)
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def stop(self) -> None:
        """End as a process does that is killed: everything is closed at once."""
        if self._listening is not None:
            self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None
        self.hang_up()

    def hang_up(self) -> None:
        """Close all connections, and go on listening."""
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it was closed by the other side
        self.connections.clear()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            while True:
                try:
                    header = _exactly(connection, frames.HEADER.size)
                    size = frames.length(header, frames.LARGEST_REQUEST)
                    request = frames.unpack_request(_exactly(connection, size))
                    if request.knocks:
                        connection.sendall(frames.pack(Reply(204, "", b"")))
                        continue
                    self.requests.append(request)
                    connection.sendall(frames.pack(self.answering(request)))
                except OSError:
                    return


def _exactly(connection: socket.socket, size: int) -> bytes:
    pieces = b""
    while len(pieces) < size:
        piece = connection.recv(size - len(pieces))
        if not piece:
            raise ConnectionResetError
        pieces += piece
    return pieces
