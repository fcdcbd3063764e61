# SPDX-License-Identifier: Apache-2.0
"""A DuckDB that can read the declared sources and nothing else, connections to it, and dry runs.

The data never depends on these settings; they are a second wall behind the first, which is that no
text of an analyst is ever executed.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import duckdb

from sordino.catalog.model import CsvFile
from sordino.engine.compile.dialect import literal, quoted, select
from sordino.engine.duckdb.attached import CLOSED, unopened
from sordino.engine.duckdb.passes import LEAST_MEMORY, MEMORY_OF_THREAD, memory_of
from sordino.engine.duckdb.sources import LOADING, CsvRows, Sources, doors_of
from sordino.engine.forks import WORK, keep_alive
from sordino.errors import CatalogError

if TYPE_CHECKING:
    from sordino.catalog.csv.files import Block

_MOST = 50 * 10**9  # bytes
_NAME = re.compile(r"sordino-(?P<where>[0-9a-f]{8})-(?P<pid>[1-9][0-9]{0,9})-.+")


def own_prefix() -> str:
    """Return what the names of this process's folders begin with."""
    return f"sordino-{_where()}-{os.getpid()}-"


def _where() -> str:
    """Return what stands for this machine or container, where numbers of processes mean one."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{zlib.crc32(f'{platform.node()} {space}'.encode()):08x}"


def largest_spill(folder: Path) -> str:
    """Return how much a database may put into a folder: half of what is free, and 50 GB at most."""
    return f"{min(shutil.disk_usage(folder).free // 2, _MOST)}B"


def remove_stale(parent: Path | None = None) -> None:
    """Remove folders of our own that a process which is gone has left, say because it was killed.

    A folder of another user or machine, or of a number that some process has now, stays.
    """
    with suppress(OSError):
        for folder in Path(parent or tempfile.gettempdir()).glob("sordino-*"):
            found = _NAME.fullmatch(folder.name)
            if not found or found["where"] != _where():
                continue
            if _is_own(folder) and not _lives(int(found["pid"])):
                shutil.rmtree(folder, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    """Tell whether a folder is one, no link, and belongs to who runs this."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def _lives(pid: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


_BEFORE = {  # the order of all settings matters: external access goes last but one
    **CLOSED,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "perfect_ht_threshold": 17,  # bits of small keys that are grouped without hashing
    # Its users report rows that vanish where joins filter what is still to be read. The other two
    # believe what a file says of its values: text would be packed into as few bytes as that says.
    "disabled_optimizers": (
        "join_filter_pushdown,compressed_materialization,statistics_propagation"
    ),
    # What is put on disk is encrypted, with a key that is in memory alone. DuckDB calls the
    # generator that draws it unsafe; the safe one is in an extension that would have to be
    # downloaded.
    "temp_file_encryption": True,
    "force_mbedtls_unsafe": True,
}
BAD_TEXT = (duckdb.InvalidInputException, duckdb.ConversionException)  # what bad text may raise
_PATIENCE, _STEP = 1.0, 0.005  # seconds to wait for a connection that is in use
_WORN = 4_000  # statements, after which a database is opened anew, for DuckDB keeps some of each
_IDLE = 8  # connections that are kept for the next question


@cache
def _nothing() -> bytes:
    """Return an empty database; making one takes longer than all the rest of opening it."""
    with tempfile.TemporaryDirectory(prefix=own_prefix()) as folder:
        path = Path(folder) / "empty.duckdb"
        duckdb.connect(str(path)).close()
        return path.read_bytes()


def _remove(home: Path, process: int) -> None:
    """Remove a folder, unless this is a child of the process that made it and may be using it."""
    if os.getpid() == process:
        shutil.rmtree(home, ignore_errors=True)


class Database:
    """An empty read-only database that sees the sources, shared by many connections.

    Whatever is made on a connection is temporary and dies with it. ``watched`` questions can be
    asked for their progress, one at a time. ``is_broken`` is set once it can answer nothing more.
    Of what is read into memory, the ``unloaded`` is still to be read; if None, all of it.
    ``memory`` is how many bytes it may take. It ``is_worn`` after some thousand statements: DuckDB
    keeps some kilobytes of each until a database is closed.
    """

    def __init__(
        self,
        sources: Sources,
        *,
        threads: int | None,
        memory_limit: str | None,
        spill_limit: str | None = None,
        unloaded: Iterable[str] | None = None,
    ) -> None:
        WORK.check_whole()
        self._sources = sources
        self._limits = (threads, memory_limit, spill_limit)
        self._frames = dict(sources.frames)
        self._unloaded = set(sources.loaded if unloaded is None else unloaded)
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._counted: dict[str, int] = {}
        self._version = 0
        self._broken = frozenset[str]()
        self._lock = Lock()
        self._watching = Lock()
        self._loading = {name: Lock() for name in sources.loaded}
        self._process = os.getpid()
        self.is_broken = False
        self._served = 0
        remove_stale()
        self._home = Path(tempfile.mkdtemp(prefix=own_prefix()))  # of mode 0700
        self._cleanup = weakref.finalize(self, _remove, self._home, self._process)
        settings: dict[str, Any] = dict(_BEFORE)
        settings["temp_directory"] = str(self._home / "spill")
        settings["max_temp_directory_size"] = spill_limit or largest_spill(self._home)
        if threads is not None:
            settings["threads"] = threads
        if memory_limit is not None:
            settings["memory_limit"] = memory_limit
        with WORK.passing():
            self._connect(settings)

    def _connect(self, settings: dict[str, Any]) -> None:
        empty = self._home / "empty.duckdb"
        empty.write_bytes(_nothing())
        try:
            self._root = duckdb.connect(str(empty), read_only=True, config=settings)
        except duckdb.Error as error:
            self._cleanup()
            raise CatalogError(f"the engine cannot be opened: {error}") from None
        try:
            self.memory = _fit_threads(self._root)
            self._watched = self._open()
            self._schemas = self._root.cursor()  # for schemas, and readers of other statements
            self.doors = doors_of(self._sources, self._schemas)
            self._furnish(self._watched)
        except (duckdb.Error, CatalogError) as error:
            self._root.close()
            self._cleanup()
            if isinstance(error, CatalogError):
                raise
            raise CatalogError(f"the sources cannot be opened: {error}") from None

    def _open(self) -> duckdb.DuckDBPyConnection:
        """Close every door, and return the one connection that tells its progress."""
        root = self._root
        files = ", ".join(map(literal, self._sources.files))
        root.execute(f"SET allowed_paths = [{files}]")
        for path, name in self._sources.databases.items():
            try:
                root.execute(f"ATTACH {literal(path)} AS {quoted(name)} (READ_ONLY)")
            except duckdb.Error as error:
                raise unopened(Path(path), error) from None
        root.execute("SET enable_external_access = false")
        watched = root.cursor()
        watched.execute("SET enable_progress_bar = true")
        watched.execute("SET enable_progress_bar_print = false")
        root.execute("SET lock_configuration = true")
        return watched

    def _furnish(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Give a connection the tables: they are temporary, so each one has its own.

        A table whose files cannot be opened any more is left out: who reads it fails, and nobody
        else.
        """
        for name, frame in (*self.doors.frames.items(), *self._frames.items()):
            connection.register(name, frame)
        for name, text in self.doors.views.items():
            try:
                door = self.doors.parquet.get(name)
                view, frames = (text, {}) if door is None else door.patched(self._broken)
                for other, frame in frames.items():
                    connection.register(other, frame)
                connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {view}")
            except (duckdb.Error, CatalogError):
                connection.execute(f"DROP VIEW IF EXISTS {name}")

    @property
    def broken(self) -> frozenset[str]:
        """The Parquet files in which text was met that is not UTF-8; there it is missing."""
        return self._broken

    def patch(self, known: frozenset[str]) -> bool:
        """Look for files with text that is not UTF-8, after those that are known; tell if any are.

        They are read in another way from now on, in which such text is missing.
        """
        with WORK.passing(), self._cursor() as connection:
            found = [
                file
                for door in self.doors.parquet.values()
                for file, probe in door.probes.items()
                if file not in self._broken and not _is_read(connection, probe)
            ]
        with WORK.passing(), self._watching, self._lock:
            if not self._broken.issuperset(found):
                self._broken = self._broken.union(found)
                self._version += 1  # those that are lent are not taken back
                for connection in (*self._idle, self._watched):
                    self._furnish(connection)
            return self._broken != known

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            return self._root.cursor()

    @property
    def is_worn(self) -> bool:
        """Tell whether it has served so long that another one should take its place.

        Not if files are attached: as the old one lets go of them the system forgets that the new
        one has them locked, and other programs could write them.
        """
        return self._served >= _WORN and not self._sources.databases

    @property
    def is_inherited(self) -> bool:
        """Tell whether another process opened it, whose threads this one does not have."""
        return self._process != os.getpid()

    def leave(self) -> None:
        """Leave it to the process that opened it, of which this one is a child."""
        keep_alive(self._root)

    def again(self) -> Database:
        """Return a new database on the same sources, with the rows that are in memory now."""
        WORK.check_whole()  # before a lock that nobody would open
        threads, memory_limit, spill_limit = self._limits
        with WORK.passing(), self._lock:  # rows that are being read are there, or to be read
            frames, unloaded = dict(self._frames), set(self._unloaded)
        return Database(
            replace(self._sources, frames=frames),
            threads=threads,
            memory_limit=memory_limit,
            spill_limit=spill_limit,
            unloaded=unloaded,
        )

    def load(self, name: str) -> None:
        """Read the rows of what is kept in memory under a name, once.

        Raises Malformed or CatalogError, and is as it was before. Who reads something else
        meanwhile does not wait for it: that would tell how many rows there are.
        """
        if name not in self._unloaded:
            return
        with WORK.passing(), self._loading[name]:
            if name not in self._unloaded:
                return
            with self._lent(watched=False) as connection:
                frame = self._read(connection, name, *self._sources.loaded[name])
            with self._watching, self._lock:
                self._put(name, frame)
                self._unloaded.remove(name)

    def rows(self, name: str) -> int:
        """Return how many rows there are under a name: a private number, for use after a charge.

        They are counted once, for the files of a database are those that it was opened on.
        """
        held = self._frames.get(name)
        if held is not None:
            return len(held)
        if name not in self._counted:
            with self.connection() as connection:
                text = select(["count(*)"], name)
                ((self._counted[name],),) = connection.execute(text).fetchall()
        return self._counted[name]

    def is_loaded(self, name: str) -> bool:
        """Tell whether the rows under a name are there."""
        return name not in self._unloaded

    def loaded(self, name: str) -> tuple[CsvRows, str] | None:
        """Return how the rows under a name are read into memory, or None if they are not."""
        return self._sources.loaded.get(name)

    def _read(
        self, connection: duckdb.DuckDBPyConnection, name: str, rows: CsvRows, typed: str
    ) -> Any:
        import pyarrow as pa  # only where there is a CSV file

        blocks = (
            block for file in rows.files for block in read_typed(connection, file, rows, typed)
        )
        # Not what is there now: an interrupt may have come when it was put there and not told yet.
        empty = self._frames[name].schema.empty_table()
        return pa.concat_tables([empty, *(table for _, table in blocks)])

    @contextmanager
    def connection(self, *, watched: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a connection; one that failed is not used again."""
        self._served += 1
        with WORK.passing(), self._lent(watched=watched) as connection:
            yield connection

    @contextmanager
    def _lent(self, *, watched: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        if watched and self._watching.acquire(blocking=False):
            try:
                yield self._watched
            finally:
                self._watching.release()
            return
        with self._lock:
            is_new, version = not self._idle, self._version
            connection = self._root.cursor() if is_new else self._idle.pop()
        if is_new:
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
        with WORK.passing(), self._watching, self._lock:
            self._put(name, frame)

    def _put(self, name: str, frame: Any) -> None:
        self._frames[name] = frame
        self._version += 1  # those that are lent have the old one, and are not taken back
        for connection in (*self._idle, self._watched):
            connection.register(name, frame)

    def close(self) -> None:
        """Close all connections, unless they are those of another process."""
        if self.is_inherited:
            return
        with WORK.passing(), self._watching, self._lock:
            for connection in (*self._idle, self._watched, self._schemas, self._root):
                _close(connection)
            self._idle.clear()
        self._cleanup()


def _fit_threads(root: duckdb.DuckDBPyConnection) -> int:
    """Return how many bytes of memory there are, and take no more threads than fit into them.

    With too little memory every question would be charged and fail, so it is refused.
    """
    memory = memory_of(root)
    if memory < LEAST_MEMORY:
        raise CatalogError(
            f"the engine needs memory_limit = {LEAST_MEMORY // 10**6} MB at least, and better "
            f"{MEMORY_OF_THREAD // 10**6} MB for each thread; it was given {memory // 10**6} MB"
        )
    ((threads,),) = root.execute("SELECT current_setting('threads')").fetchall()
    most = max(1, memory // MEMORY_OF_THREAD)
    if int(threads) > most:
        root.execute(f"SET threads = {most}")
    return memory


def _is_read(connection: duckdb.DuckDBPyConnection, probe: str) -> bool:
    """Tell whether no text of a file is known to be broken; one that cannot be opened has none."""
    try:
        connection.execute(probe).fetchall()
    except BAD_TEXT:
        return False
    except duckdb.Error:  # who reads this file fails at it, and nobody else
        return True
    return True


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection; where another thread has it in use, wait for that a while.

    One that stays in use is closed when it is used no more, and nobody else has it.
    """
    until = monotonic() + _PATIENCE
    while True:
        try:
            connection.close()
        except duckdb.Error:
            if monotonic() < until:
                sleep(_STEP)
                continue
        return


def read_typed(
    connection: duckdb.DuckDBPyConnection, file: CsvFile, rows: CsvRows, typed: str
) -> Iterator[tuple[Block, Any]]:
    """Read a CSV file: blocks of text, each with the same rows as values of the declared types."""
    import pyarrow as pa  # only where there is a CSV file

    from sordino.catalog.csv.files import read_blocks

    names = [column.name for column in rows.columns]
    for block in read_blocks(file, rows.columns):
        texts = [text.column for text in block.texts]
        connection.register(LOADING, pa.table(texts, names=names))
        try:
            table = connection.sql(typed).to_arrow_table()
        finally:
            connection.unregister(LOADING)
        yield block, table


_MADE_UP = ("1", "2000-01-01")  # one of them is a value of nearly every type


class DryRun:
    """A dry run of statements before they are charged: on tables of the same columns, made up.

    A database has defects of its own, and what it cannot plan it cannot answer for any data. These
    tables are made from types alone, so whether a dry run succeeds depends on public things alone.
    They are in a database of their own, which is opened when it is needed: one in which DuckDB has
    failed badly answers nothing any more.
    """

    def __init__(self, columns: Mapping[str, Mapping[str, str]]) -> None:
        self._columns = columns  # the types of columns by table
        self._database: duckdb.DuckDBPyConnection | None = None
        self._served = 0
        self._lock = Lock()

    def again(self) -> DryRun:
        """Return another one for the same tables, for a process that was forked."""
        if self._database is not None:
            keep_alive(self._database)
        return DryRun(self._columns)

    def run(self, carry_out: Callable[[duckdb.DuckDBPyConnection], object]) -> None:
        """Carry something out; whatever it raises is raised here."""
        WORK.check_whole()
        with WORK.passing(), self._lock:
            database = self._database or self._open()
            self._database = None  # one that fails is not used again
            carry_out(database)
            self._served += 1
            if self._served % _WORN:
                self._database = database

    def _open(self) -> duckdb.DuckDBPyConnection:
        database = duckdb.connect(config=CLOSED | {"threads": 1})
        database.execute("SET enable_external_access = false")
        for name, types in self._columns.items():
            columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in types.items())
            database.execute(f"CREATE TABLE {name} ({columns})")
            row = ", ".join(map(_made_up, types.values()))
            database.execute(f"INSERT INTO {name} SELECT {row}")
        return database


def _made_up(kind: str) -> str:
    values = ", ".join(f"TRY_CAST({literal(text)} AS {kind})" for text in _MADE_UP)
    return f"COALESCE({values})"


def columns_of(
    connection: duckdb.DuckDBPyConnection, names: list[str]
) -> dict[str, dict[str, str]]:
    """Return the types of the columns of tables that a connection has; no row is read."""
    columns: dict[str, dict[str, str]] = {}
    for name in names:
        relation = connection.sql(select(["*"], name))
        columns[name] = dict(zip(relation.columns, map(str, relation.types), strict=True))
    return columns
