# SPDX-License-Identifier: Apache-2.0
"""The keeper's socket: a thread for each connection, and frames in strict turn."""

from __future__ import annotations

import contextlib
import logging
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from threading import BoundedSemaphore, Condition, Event, Thread

from sordino.channel.frames import (
    HEADER,
    LARGEST_REQUEST,
    USUAL_REQUEST,
    BrokenFrame,
    Reply,
    Request,
    length,
    pack,
    unpack_request,
)
from sordino.channel.listening import listen_at

_LOG = logging.getLogger("sordino.keeper")
MOST_CONNECTIONS = 256
_IDLE = 600.0  # seconds that a connection may lie still between two requests
_SLOW = 30.0  # seconds in which the rest of a frame must come, and a reply be taken
_LARGE_AT_ONCE = 4  # requests that are longer than usual, so that few bytes are held for them
_PAUSE = 0.1  # seconds, where there are too few files or threads for one more connection


def listener_at(path: Path) -> socket.socket:
    """Return a new socket that the owner of this process alone may connect to."""
    try:
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
    except FileNotFoundError:
        pass
    return listen_at(path, hidden=0o177, waiting=MOST_CONNECTIONS)


class Notice:
    """Tells one text to whoever connects, and hangs up; what they say is not read."""

    def __init__(self, path: Path, text: Callable[[], str]) -> None:
        self._text = text
        self._listener = listener_at(path)
        self._path = path
        self._closing = Event()
        Thread(target=self._tell, daemon=True).start()

    def _tell(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                self._closing.wait(_PAUSE)
                continue
            with connection:
                try:
                    connection.settimeout(_SLOW)
                    connection.sendall(self._text().encode())
                except OSError:
                    continue  # whoever wanted to know is gone
                except Exception as error:
                    _LOG.error("what is counted could not be told: %s", type(error).__name__)

    def close(self) -> None:
        """Tell no more."""
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._path.unlink(missing_ok=True)


class Door:
    """Takes connections, and hands over what comes through them.

    Whoever breaks the form is hung up on. A request that was read is done, also if whoever sent it
    goes away: only the reply is lost.
    """

    def __init__(self, path: Path, reply: Callable[[Request], Reply]) -> None:
        self.path = path
        self._reply = reply
        self._listener: socket.socket | None = None
        self._room = BoundedSemaphore(MOST_CONNECTIONS)
        self._large = BoundedSemaphore(_LARGE_AT_ONCE)
        self._busy = 0
        self._changed = Condition()
        self._open: set[socket.socket] = set()
        self._closing = False

    def listen(self, handed: socket.socket | None = None) -> None:
        """Make the socket, unless one is handed over that listens already.

        What another keeper has left in its place is taken away.
        """
        self._listener = listener_at(self.path) if handed is None else handed

    def serve(self) -> None:
        """Take connections until ``close`` is called."""
        listener = self._listener
        if listener is None:
            raise RuntimeError("listen before you serve")
        while not self._closing:
            try:
                connection, _ = listener.accept()
            except OSError:
                self._pause()
                continue
            if not self._room.acquire(blocking=False):
                connection.close()
                continue
            with self._changed:
                self._open.add(connection)
            try:
                Thread(target=self._converse, args=(connection,), daemon=True).start()
            except (RuntimeError, MemoryError):  # there are no more threads
                self._hang_up(connection)
                self._pause()

    def _pause(self) -> None:
        """Wait until others may have left something of what was lacking, or this door closes."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing, _PAUSE)

    def _converse(self, connection: socket.socket) -> None:
        try:
            while not self._closing and self._turn(connection):
                pass
        except (OSError, BrokenFrame):
            return  # hang up
        finally:
            self._hang_up(connection)

    def _hang_up(self, connection: socket.socket) -> None:
        connection.close()
        with self._changed:
            self._open.discard(connection)
            self._changed.notify_all()
        self._room.release()

    def _turn(self, connection: socket.socket) -> bool:
        """Take one request and reply to it; tell whether another one may follow."""
        connection.settimeout(_IDLE)
        first = connection.recv(1)
        if not first:
            return False
        connection.settimeout(_SLOW)
        header = first + _exactly(connection, HEADER.size - 1)
        size = length(header, LARGEST_REQUEST)
        with self._large if size > USUAL_REQUEST else contextlib.nullcontext():
            return self._done(connection, unpack_request(_exactly(connection, size)))

    def _done(self, connection: socket.socket, request: Request) -> bool:
        """Do what was asked for, and reply; tell whether it was."""
        with self._changed:
            if self._closing:
                return False
            self._busy += 1
        try:
            connection.sendall(pack(self._reply(request)))
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()
        return True

    def close(self, patience: float) -> bool:
        """Take no more; wait for what is being done, and tell whether all of it was."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            if self._listener is not None:
                # A thread that waits in accept is woken by this, and not by closing alone.
                with contextlib.suppress(OSError):
                    self._listener.shutdown(socket.SHUT_RDWR)
                self._listener.close()
            done = self._changed.wait_for(lambda: not self._busy, patience)
            for connection in self._open:
                connection.close()
        self.path.unlink(missing_ok=True)
        return done


def _exactly(connection: socket.socket, many: int) -> bytes:
    parts = bytearray()
    while len(parts) < many:
        part = connection.recv(many - len(parts))
        if not part:
            raise BrokenFrame("the connection ended within a frame")
        parts += part
    return bytes(parts)
