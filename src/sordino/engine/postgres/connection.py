# SPDX-License-Identifier: Apache-2.0
"""Connections to a PostgreSQL server: read-only, with settings of their own, and few of them.

What a question means must not depend on how a server or a role is set up, so every connection
states what it rests on: where names are looked for, the time zone, how numbers are written. They
are a second wall, too: nothing can be written, and a row policy that would hide rows is an error.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from threading import Lock, Timer
from typing import Any, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict

from sordino.engine.postgres.dialect import OLDEST
from sordino.errors import CatalogError

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

_CONNECTING: dict[str, int | str] = {  # unless the address says otherwise
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,  # milliseconds
    "application_name": "sordino",
}
_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",  # last, so that nothing temporary comes first
    "client_encoding": "UTF8",
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "extra_float_digits": "1",
    "transform_null_equals": "off",
    "standard_conforming_strings": "on",
    "row_security": "off",  # a policy that would hide rows is an error, and hides none
    "jit": "off",  # it takes longer to compile a statement than most of them run
    "default_transaction_read_only": "on",
    "client_min_messages": "error",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
}
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_IDLE = 4  # connections that are kept for the next question
_GRACE = 2.0  # seconds that a server has for ending what took too long, before it is hung up on
_LOCAL = ("localhost", "")


class Unreachable(CatalogError):
    """The server cannot be reached, or does not let us in; nothing was asked of it."""


class Server:
    """The database at an address, and connections to it, of which few are kept."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = Lock()
        self._idle: dict[int, list[Connection]] = {}  # by process; those of a parent stay untouched
        self._closed = False

    @contextmanager
    def transaction(self, begin: str, *, deadline: float | None = None) -> Iterator[Connection]:
        """Lend a connection in a transaction that ends without a trace; one that failed is closed.

        A connection that was lost while nobody used it is made anew. Where ``deadline`` seconds
        have passed the server ends what it does, and is hung up on if it does not.
        """
        connection = self._begun(begin)
        timer = None if deadline is None else Timer(deadline + _GRACE, _hang_up, [connection])
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
            yield connection
            connection.execute("ROLLBACK")
        except BaseException:
            with suppress(psycopg.Error):
                connection.close()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        self._keep(connection)

    def close(self) -> None:
        """Close the connections of this process."""
        with self._lock:
            self._closed = True
            idle = self._idle.pop(os.getpid(), [])
        for connection in idle:
            with suppress(psycopg.Error):
                connection.close()

    def after_fork(self) -> None:
        """Let go of a lock that a thread of the parent may have held."""
        self._lock = Lock()

    def _begun(self, begin: str) -> Connection:
        while True:
            with self._lock:
                if self._closed:
                    raise ValueError("this engine is closed; open it again")
                idle = self._idle.setdefault(os.getpid(), [])
                kept = idle.pop() if idle else None
            connection = kept or connect(self._address)
            try:
                connection.execute(begin)  # nothing was asked yet, so it may be asked once more
            except BaseException as error:
                with suppress(psycopg.Error):
                    connection.close()
                if kept is None or not isinstance(error, psycopg.OperationalError):
                    raise
            else:
                return connection

    def _keep(self, connection: Connection) -> None:
        with self._lock:
            idle = self._idle.setdefault(os.getpid(), [])
            if len(idle) < _IDLE and not self._closed:
                idle.append(connection)
                return
        connection.close()


def connect(address: str) -> Connection:
    """Return a connection that can only read, and that means the same on every server."""
    try:
        stated: dict[str, Any] = {**_CONNECTING, **conninfo_to_dict(address)}
        if not _is_stated(stated) and not all(map(_is_local, _hosts(stated))):
            stated["sslmode"] = "verify-full"
        connection = psycopg.connect(autocommit=True, prepare_threshold=None, **stated)
    except psycopg.Error as error:
        raise Unreachable(
            f"the PostgreSQL server {place_of(address)} cannot be reached; see to the address, to "
            f"its certificate, and whether it runs: {_last_line(error)}"
        ) from None
    try:
        _check(connection, stated)
        names = ", ".join(f"set_config(${2 * n + 1}, ${2 * n + 2}, false)" for n in range(_MANY))
        bound = [text for setting in _SETTINGS.items() for text in setting]
        psycopg.RawCursor(connection).execute(f"SELECT {names}", bound)
    except psycopg.Error as error:
        connection.close()
        raise Unreachable(
            f"the PostgreSQL server {place_of(address)} cannot be used: {_last_line(error)}"
        ) from None
    except BaseException:
        connection.close()
        raise
    return connection


_MANY = len(_SETTINGS)


def place_of(address: str) -> str:
    """Return a server and a database as they are told to whoever asks: without users and options.

    >>> place_of("postgresql://reader@db.example:5433/clinic?sslmode=verify-full")
    "'clinic' at db.example"
    """
    try:
        stated = conninfo_to_dict(address)
    except psycopg.Error:
        return "of the catalog"
    host = str(stated.get("host") or "this machine")
    name = repr(str(stated.get("dbname", "")))
    return f"{name} at {'this machine' if host.startswith('/') else host}"


def _hosts(stated: dict[str, Any]) -> list[str]:
    """Return where a server is sought; a service may name any, and is not taken for a local one."""
    if "service" in stated or "PGSERVICE" in os.environ:
        return ["?"]
    host = stated.get("hostaddr") or stated.get("host") or os.environ.get("PGHOST", "")
    return str(host).split(",")


def _is_local(host: str) -> bool:
    if host in _LOCAL or host.startswith(("/", "@")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_stated(stated: dict[str, Any]) -> bool:
    """Tell whether the owner has said how the server is to prove who it is."""
    return "sslmode" in stated or "PGSSLMODE" in os.environ


def _check(connection: Connection, stated: dict[str, Any]) -> None:
    """Refuse servers that are too old, and texts that may not be turned into UTF-8."""
    del stated
    if connection.info.server_version < OLDEST:
        raise Unreachable(
            f"the PostgreSQL server has version {connection.info.server_version // 10_000}, and "
            f"{OLDEST // 10_000} is the oldest that is read; take a newer one"
        )
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise Unreachable(
            "the database is not in UTF8, and turning its texts into it may fail on some of them; "
            "make one with the encoding UTF8"
        )
    if connection.info.parameter_status("integer_datetimes") != "on":
        raise Unreachable("the server keeps moments as real numbers; take a newer one")


def _last_line(error: psycopg.Error) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__


def _hang_up(connection: Connection) -> None:
    """End what a connection waits for, whatever the server does."""
    with suppress(OSError, psycopg.Error):
        line = socket.socket(fileno=os.dup(connection.fileno()))
        try:
            line.shutdown(socket.SHUT_RDWR)
        finally:
            line.close()
