# SPDX-License-Identifier: Apache-2.0
"""A DuckDB that can read the declared sources and nothing else, and connections to it.

The data never depends on these settings; they are a second wall behind the first, which is that no
text of an analyst is ever executed.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb

from sordino.engine.dialect import quoted
from sordino.engine.duckdb_folders import largest_spill, own_prefix, remove_stale
from sordino.engine.duckdb_sources import LOADING, Sources, literal
from sordino.errors import CatalogError

_BEFORE = {  # the order of all settings matters: external access goes last but one
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "perfect_ht_threshold": 17,  # bits of small keys that are grouped without hashing
}
_IDLE = 8  # connections that are kept for the next question


@cache
def _nothing() -> bytes:
    """Return an empty database; making one takes longer than all the rest of opening it."""
    with tempfile.TemporaryDirectory(prefix=own_prefix()) as folder:
        path = Path(folder) / "empty.duckdb"
        duckdb.connect(str(path)).close()
        return path.read_bytes()


class Database:
    """An empty read-only database that sees the sources, shared by many connections.

    Whatever is made on a connection is temporary and dies with it. ``watched`` questions can be
    asked for their progress, one at a time.
    """

    def __init__(
        self,
        sources: Sources,
        *,
        threads: int | None,
        memory_limit: str | None,
        spill_limit: str | None = None,
    ) -> None:
        self._sources = sources
        self._frames = dict(sources.frames)
        self._unloaded = dict(sources.loaded)
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._version = 0
        self._lock = Lock()
        self._watching = Lock()
        remove_stale()
        self._home = Path(tempfile.mkdtemp(prefix=own_prefix()))  # of mode 0700
        self._cleanup = weakref.finalize(self, shutil.rmtree, self._home, ignore_errors=True)
        settings: dict[str, Any] = dict(_BEFORE)
        settings["temp_directory"] = str(self._home / "spill")
        settings["max_temp_directory_size"] = spill_limit or largest_spill(self._home)
        if threads is not None:
            settings["threads"] = threads
        if memory_limit is not None:
            settings["memory_limit"] = memory_limit
        empty = self._home / "empty.duckdb"
        empty.write_bytes(_nothing())
        try:
            self._root = duckdb.connect(str(empty), read_only=True, config=settings)
        except duckdb.Error as error:
            self._cleanup()
            raise CatalogError(f"the engine cannot be opened: {error}") from None
        try:
            self._watched = self._open()
        except duckdb.Error as error:
            self._root.close()
            self._cleanup()
            raise CatalogError(f"the sources cannot be opened: {error}") from None

    def _open(self) -> duckdb.DuckDBPyConnection:
        """Close every door, and return the one connection that tells its progress."""
        root = self._root
        files = ", ".join(map(literal, self._sources.files))
        root.execute(f"SET allowed_paths = [{files}]")
        for path, name in self._sources.databases.items():
            root.execute(f"ATTACH {literal(path)} AS {quoted(name)} (READ_ONLY)")
        root.execute("SET enable_external_access = false")
        watched = root.cursor()
        watched.execute("SET enable_progress_bar = true")
        watched.execute("SET enable_progress_bar_print = false")
        root.execute("SET lock_configuration = true")
        self._furnish(watched)
        return watched

    def _furnish(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Give a connection the tables: they are temporary, so each one has its own."""
        for name, text in self._sources.views.items():
            connection.execute(f"CREATE TEMP VIEW {name} AS {text}")
        for name, frame in self._frames.items():
            connection.register(name, frame)

    def load(self, only: str | None = None) -> None:
        """Read what is kept in memory, once: all of it, or what has one name."""
        while self._unloaded if only is None else only in self._unloaded:
            with self._watching, self._lock:
                name = next(iter(self._unloaded), None) if only is None else only
                if name is None or name not in self._unloaded:
                    return
                text, typed = self._unloaded[name]
                self._watched.register(LOADING, self._watched.sql(text).to_arrow_table())
                frame = self._watched.sql(typed).to_arrow_table()
                self._watched.unregister(LOADING)
                self._put(name, frame)
                del self._unloaded[name]

    @contextmanager
    def connection(self, *, watched: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a connection; one that failed is not used again."""
        if watched and self._watching.acquire(blocking=False):
            try:
                yield self._watched
            finally:
                self._watching.release()
            return
        with self._lock:
            connection, version = self._idle.pop() if self._idle else None, self._version
        if connection is None:
            connection = self._root.cursor()
            self._furnish(connection)
        try:
            yield connection
        except BaseException:
            with suppress(duckdb.Error):  # it may still be busy, if the keyboard was impatient
                connection.close()
            raise
        with self._lock:
            if len(self._idle) < _IDLE and version == self._version:
                self._idle.append(connection)
                return
        connection.close()

    def swap(self, name: str, frame: Any) -> None:
        """Put another frame with the same columns in the place of one."""
        with self._watching, self._lock:
            self._put(name, frame)

    def _put(self, name: str, frame: Any) -> None:
        self._frames[name] = frame
        self._version += 1  # those that are lent have the old one, and are not taken back
        for connection in (*self._idle, self._watched):
            connection.register(name, frame)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for connection in (*self._idle, self._watched, self._root):
                connection.close()
            self._idle.clear()
        self._cleanup()
