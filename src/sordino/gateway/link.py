# SPDX-License-Identifier: Apache-2.0
"""The link to the keeper: connections to its socket, each with one request at a time.

A request is sent once and never again by the gateway: one whose reply was lost may have been
carried out, and only its client knows whether that may happen twice. A connection that the keeper
has closed is noticed before anything is sent on it, so a keeper that was started anew is found by
the next request.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sordino.channel import frames
from sordino.channel.frames import BrokenFrame, Reply, Request

CONNECTIONS_OF_KEEPER = 256
_SPARE = 16  # connections that are left for the command line of whoever runs the server


class KeeperGone(Exception):
    """No reply came: the keeper is not there, hung up, or broke the form."""


class KeeperBusy(Exception):
    """All connections are in use, and none became free in time."""


class Link:
    """A pool of connections of one process.

    ``connect`` is how many seconds a connection may take, ``wait`` how many one may be waited for,
    and ``patience`` how many the keeper may take for one reply; an answer that is
    under way is worth waiting for, so only a keeper that hangs is given up on.
    """

    def __init__(
        self,
        path: Path,
        *,
        workers: int = 1,
        connect: float = 2.0,
        wait: float = 10.0,
        patience: float = 3600.0,
    ) -> None:
        self._path = str(path)
        self._turns = asyncio.Semaphore(max(1, (CONNECTIONS_OF_KEEPER - _SPARE) // workers))
        self._idle: list[socket.socket] = []
        self._connect, self._wait, self._patience = connect, wait, patience

    async def call(self, request: Request) -> Reply:
        """Return the keeper's reply; raises KeeperGone or KeeperBusy."""
        frame = frames.pack(request)
        async with self._turn():
            connection = await self._connection()
            try:
                async with asyncio.timeout(self._patience):
                    reply = await _exchange(connection, frame)
            except (OSError, BrokenFrame, TimeoutError) as error:
                connection.close()
                raise KeeperGone from error
            except BaseException:
                connection.close()  # the reply is still to come, and belongs to nobody else
                raise
            self._idle.append(connection)
            return reply

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._wait):
                await self._turns.acquire()
        except TimeoutError as error:
            raise KeeperBusy from error
        try:
            yield
        finally:
            self._turns.release()

    async def _connection(self) -> socket.socket:
        while self._idle:
            connection = self._idle.pop()
            if _is_quiet(connection):
                return connection
            connection.close()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            async with asyncio.timeout(self._connect):
                await asyncio.get_running_loop().sock_connect(connection, self._path)
        except (OSError, TimeoutError) as error:
            connection.close()
            raise KeeperGone from error
        return connection


def _is_quiet(connection: socket.socket) -> bool:
    """Tell whether a connection is open and nothing waits on it, as between two requests."""
    with contextlib.suppress(BlockingIOError):
        try:
            connection.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            return False
        return False  # it was closed, or bytes came that nobody asked for
    return True


async def _exchange(connection: socket.socket, frame: bytes) -> Reply:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, frame)
    header = await _exactly(connection, frames.HEADER.size)
    body = await _exactly(connection, frames.length(header, frames.LARGEST_REPLY))
    return frames.unpack_reply(body)


async def _exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes; what is held grows with what came, and not with what was claimed."""
    loop = asyncio.get_running_loop()
    pieces = bytearray()
    while len(pieces) < size:
        piece = await loop.sock_recv(connection, min(size - len(pieces), 1 << 18))
        if not piece:
            raise BrokenFrame("the keeper hung up in the middle of a frame")
        pieces += piece
    return bytes(pieces)
