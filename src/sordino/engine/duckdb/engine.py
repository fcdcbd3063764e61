# SPDX-License-Identifier: Apache-2.0
"""Bounded questions on DuckDB: one statement each, exact integers out, sealed."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import duckdb

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.catalog.model import Catalog, CsvFile
from sordino.catalog.schemas import Malformed
from sordino.engine.compile.declared import declared_text
from sordino.engine.compile.dialect import Bound, Writer
from sordino.engine.compile.passes import Passes, can_be_split, compile_passes
from sordino.engine.compile.public import (
    join_keys,
    most_of,
    public_column,
    public_rows,
    rows_of,
    values_of,
)
from sordino.engine.compile.results import parts_of
from sordino.engine.compile.rows import Tables, tables_read
from sordino.engine.compile.statement import Statement, compile_bounded
from sordino.engine.duckdb.columns import view_name
from sordino.engine.duckdb.connection import BAD_TEXT, Database, DryRun, columns_of
from sordino.engine.duckdb.dialect import DUCKDB
from sordino.engine.duckdb.passes import (
    MORE_PASSES,
    MOST_PASSES,
    InPasses,
    execute,
    how_many_passes,
)
from sordino.engine.duckdb.sources import narrowed, own_tables, sources_of
from sordino.engine.forks import FORKED, WORK
from sordino.engine.owner import tell_owner as _tell_owner
from sordino.engine.protocol import Exact, Progress
from sordino.engine.sealed import Sealed
from sordino.errors import CatalogError, SealedError, Unsupported
from sordino.ledger.entry import Receipt
from sordino.plan.bound import check_matches
from sordino.plan.plan import Bounded
from sordino.query.tree import JoinPublic
from sordino.query.types import Type, Value

if TYPE_CHECKING:
    import pyarrow as pa

_SAFE_TO_QUOTE = (
    duckdb.OutOfMemoryException,
    duckdb.IOException,
    duckdb.InterruptException,
)
tell_owner = partial(_tell_owner, safe=_SAFE_TO_QUOTE)
_T = TypeVar("_T")
Work: TypeAlias = "Callable[[duckdb.DuckDBPyConnection], pa.Table]"
_STATEMENTS = 8 * MEGABYTE  # of statements that are kept compiled
_JOINS = 256  # of which it is kept how many public rows have one key
_LOOK = 0.1  # seconds between two looks at the progress
_STOPPING = 0.01  # seconds between two interrupts of a statement
_FATAL = (duckdb.InternalException, duckdb.FatalException)  # after which nothing is answered


class DeadlinePassed(Exception):
    """A question took longer than it may."""


class DuckdbEngine:
    """The tables of a catalog in an embedded DuckDB.

    Opening it reads schemas and no rows; of a CSV file, the first line. Sources that are missing or
    do not fit what is declared are a CatalogError. It may be shared by threads. ``spill_limit``
    bounds what is put on disk; if None, by half of what is free there, and 50 GB.

    Everything that fails in ``run`` is a SealedError; of what kind it was goes to the log
    ``sordino.owner``. In a child of the process that opened it, it opens its sources anew.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        threads: int | None = None,
        memory_limit: str | None = None,
        spill_limit: str | None = None,
    ) -> None:
        self.catalog = catalog
        self.dialect = DUCKDB
        sources = sources_of(catalog)
        self._files_of = sources.of
        self._frames = {table.name: secrets.token_hex(16) for table in catalog.tables}
        self._opened = _opened(catalog, sources.of)
        self._stamps = self._stamps_of(table.name for table in catalog.tables)
        self._is_closed = False
        self._reopening = threading.Lock()
        self.database = Database(
            sources, threads=threads, memory_limit=memory_limit, spill_limit=spill_limit
        )
        self.bases = self.database.doors.bases
        names = [view_name(place) for place, _ in own_tables(catalog)]
        with self.database.connection() as connection:
            self._dry_run = DryRun(columns_of(connection, names))
        self._compiled = kept_on(Shelf(_STATEMENTS, weigh=_weight))(self._compile)
        self._tried = kept_on(Shelf(_STATEMENTS, weigh=_weight))(self._try)
        self._matches = lru_cache(_JOINS)(self._most_matches)
        FORKED.add(self)

    def prepare(self, bounded: Bounded) -> None:
        """Refuse, before the charge, what could not be carried out afterwards.

        It looks at the schemas of files, at the rows of public tables, and tries the statement on
        tables with made-up rows; at no private row.
        """
        try:
            self._alive(tables_read(bounded.rows, self.catalog), renew=True)
            check_matches(bounded.rows, self._matches_of)
            self._tried(bounded)
        except Exception as error:
            if _is_interrupt(error):
                raise KeyboardInterrupt from None
            raise

    def load(self, bounded: Bounded) -> None:
        """Read the CSV files that a question needs, before it is charged.

        One that is not well-formed is a CatalogError, which tells that and no more.
        """
        self.read(tables_read(bounded.rows, self.catalog))

    def run(
        self,
        bounded: Bounded,
        receipt: Receipt,
        *,
        salt: int,
        progress: Progress | None = None,
        deadline: float | None = None,
    ) -> Exact:
        """Return one table of exact integers for each part, sealed.

        An interrupt from the keyboard ends the question, and so does a ``deadline`` in seconds; the
        charge stays.
        """
        due = None if deadline is None else monotonic() + deadline
        if not isinstance(receipt, Receipt):
            raise TypeError("an engine looks at data for a receipt and for nothing less")
        try:
            if deadline is not None and deadline <= 0:  # however fast this question would be
                raise TimeoutError("the deadline had passed before the question ran")
            statement = self.statement(bounded, salt=salt)
            names = tables_read(bounded.rows, self.catalog)
            database, stamps = self._loaded(names), self._stamps_of(names)

            def carry_out(work: Work) -> pa.Table:
                return _read(database, lambda: _answered(database, work, progress, due))

            many = self._how_many_passes(bounded, database, names)
            if many == 1:
                try:
                    table = carry_out(partial(execute, statement=statement))
                except duckdb.OutOfMemoryException:
                    if not can_be_split(bounded, self.catalog):
                        raise
                    many = MORE_PASSES
            if many > 1:
                table = self._in_passes(bounded, salt, many, carry_out)
                if self._stamps_of(names) != stamps:
                    raise CatalogError("a file was written while it was read")
            return Sealed(parts_of(table, statement))
        except Exception as error:
            charge = f"{receipt.people}:{receipt.number}"
            tell_owner("a question failed after its charge", error, charge=charge)
        raise SealedError

    def _how_many_passes(self, bounded: Bounded, database: Database, names: Iterable[str]) -> int:
        """Return in how many passes a question is carried out, by the rows of private tables."""
        if not can_be_split(bounded, self.catalog):
            return 1
        private = [
            view_name(place)
            for place, table in own_tables(self.catalog)
            if table.name in names and not table.public
        ]
        try:
            rows = sum(database.rows(name) for name in private)
            many = how_many_passes(bounded, rows, database.memory)
            return many if many == 1 or self._can_pass(bounded) else 1
        except Exception as error:
            if _is_interrupt(error):
                raise KeyboardInterrupt from None
            raise

    def _can_pass(self, bounded: Bounded) -> bool:
        """Tell whether DuckDB carries out the passes of a question, on made-up rows."""
        try:
            self._dry_run.run(InPasses(self._passes(bounded, salt=0), 2))
        except Exception as error:
            if _is_interrupt(error):
                raise
            tell_owner("a question is not carried out in passes", error, public=True)
            return False
        return True

    def _in_passes(
        self, bounded: Bounded, salt: int, many: int, carry_out: Callable[[Work], pa.Table]
    ) -> pa.Table:
        """Return the rows of all parts, from more passes yet where memory ends."""
        passes = self._passes(bounded, salt=salt)
        while True:
            try:
                return carry_out(InPasses(passes, many))
            except duckdb.OutOfMemoryException:
                if many >= MOST_PASSES:
                    raise
            many = min(MORE_PASSES * many, MOST_PASSES)

    def _passes(self, bounded: Bounded, *, salt: int) -> Passes:
        return compile_passes(bounded, self.catalog, salt=salt, bases=self.bases, dialect=DUCKDB)

    def read(self, names: Iterable[str]) -> None:
        """Read the rows of tables that are kept in memory, from files as they were at opening."""
        self._loaded(names)

    def _loaded(self, names: Iterable[str]) -> Database:
        """Return a database that has the rows of tables; one that takes its place may not."""
        names = frozenset(names)
        database = self._alive(names)
        for place, table in enumerate(self.catalog.tables):
            if table.name not in names or database.is_loaded(view_name(place)):
                continue
            try:
                self._check_unwritten(table.name)
                _read(database, partial(database.load, view_name(place)))
                self._check_unwritten(table.name)
            except Malformed as error:
                tell_owner(f"table {table.name!r} cannot be read", error, public=True)
                raise CatalogError(
                    f"table {table.name!r}: its file is not well-formed, so that nothing is asked "
                    "of it or charged; its owner can see where, by 'sordino check --read'"
                ) from None
            except CatalogError:
                raise
            except Exception as error:
                if _is_interrupt(error):
                    raise KeyboardInterrupt from None
                tell_owner(f"table {table.name!r} cannot be read", error)
                raise CatalogError(
                    f"table {table.name!r}: its file cannot be read, so that nothing is asked of "
                    "it or charged; the owner's log says of which kind the failure was"
                ) from None
        return database

    def _check_unwritten(self, name: str) -> None:
        for file in self._files_of[name]:
            if self._opened[file] != _written(file):
                raise CatalogError(
                    f"table {name!r}: its file was written or taken away since the catalog was "
                    "opened; open it again"
                )

    def _alive(self, names: Iterable[str], *, renew: bool = False) -> Database:
        """Return a database that this process can use, of the files of tables as they are now.

        Another one takes its place where it cannot, or where one of these files was written since.
        With ``renew`` so is one replaced that is worn; that is done before a charge, because it may
        fail. Who uses the old one closes it as the last.
        """
        with self._reopening:
            return self._current(names, renew=renew)

    def _current(self, names: Iterable[str], *, renew: bool = False) -> Database:
        if self._is_closed:
            raise ValueError("this engine is closed; open it again")
        held, stamps = self.database, self._stamps_of(names)
        is_usable = not (held.is_inherited or held.is_broken or (renew and held.is_worn))
        if is_usable and stamps.items() <= self._stamps.items():
            return held
        stamps = self._stamps_of(table.name for table in self.catalog.tables)
        database = held.again()
        if database.doors.bases != self.bases:
            database.close()
            raise CatalogError("the columns of a file have changed; open the catalog again")
        self.database, self._stamps = database, stamps
        return database

    def _stamps_of(self, names: Iterable[str]) -> dict[str, tuple[int, int] | None]:
        """Return what tells that a file is another one, but for files that are read once."""
        files = [file for name in names for file in self._files_of.get(name, ())]
        return {file: _stamp(Path(file)) for file in files if file not in self._opened}

    def after_fork(self) -> None:
        """Let go of what a thread may have held when this process was forked from another."""
        self._reopening = threading.Lock()
        self.database.leave()
        self._dry_run = self._dry_run.again()

    def _try(self, bounded: Bounded) -> Statement:
        """Return the statement of a question, once it has been carried out on made-up rows."""
        try:
            statement = self.statement(bounded, salt=0)
            self._dry_run.run(lambda database: parts_of(execute(database, statement), statement))
        except Exception as error:
            if _is_interrupt(error):
                raise KeyboardInterrupt from None
            tell_owner("a question cannot be carried out", error, public=True)
        else:
            return statement
        raise Unsupported(
            "construct",
            "the engine cannot carry out this question; nothing was charged for it",
            hint="write it in another way; the owner's log says why",
        )

    def _matches_of(self, join: JoinPublic) -> int:
        tables = Tables(Writer(DUCKDB), self.catalog, self.bases, units=False)
        return self._matches(join.table, self.version([join.table]), join_keys(tables, join))

    def _most_matches(self, name: str, _: str, keys: tuple[tuple[str, Type], ...]) -> int:
        writer = Writer(DUCKDB)
        tables = Tables(writer, self.catalog, self.bases, units=False)
        (many,) = self._read_public(name, writer, most_of(tables, name, keys))
        return int(many)

    def statement(self, bounded: Bounded, *, salt: int) -> Statement:
        """Return what would be executed; it depends on public things alone."""
        return self._compiled(bounded).with_salt(salt)

    def public_values(self, table: str, column: str) -> tuple[Value, ...]:
        """Return the distinct values of a public table's column, sorted, without missing ones."""
        declared, found = public_column(self.catalog, table, column)
        writer = Writer(DUCKDB)
        tables = Tables(writer, self.catalog, self.bases, units=False)
        return tuple(self._read_public(declared.name, writer, values_of(tables, declared, found)))

    def public_table(self, table: str) -> pa.Table:
        """Return all rows of a public table, its columns in their declared types."""
        declared = public_rows(self.catalog, table)
        writer = Writer(DUCKDB)
        tables = Tables(writer, self.catalog, self.bases, units=False)
        held = self._public(declared.name, writer, rows_of(tables, declared))
        return held.rename_columns([column.name for column in declared.columns])

    def _read_public(self, name: str, writer: Writer, text: str) -> list[Any]:
        values: list[Any] = self._public(name, writer, text).column(0).to_pylist()
        return values

    def _public(self, name: str, writer: Writer, text: str) -> pa.Table:
        """Return the rows of a SELECT on a public table, and on no other."""
        sql, bound, _ = writer.statement(text)
        try:
            # Nothing private may be read here: no question has been paid for.
            database = self._loaded([name])
            return _read(database, lambda: _fetched(database, sql, list(bound)))
        except Exception as error:
            if _is_interrupt(error):
                raise KeyboardInterrupt from None
            tell_owner("a public table could not be read", error)
        raise CatalogError(f"the public table {name!r} cannot be read")

    def fetch(self, sql: str, bound: Sequence[Bound]) -> list[Any]:
        """Return the rows of a SELECT, exact and for the owner's eyes alone."""
        try:
            with self.database.connection() as connection:
                return connection.execute(sql, list(bound)).fetchall()
        except duckdb.Error as error:  # whose words may quote a value
            raise CatalogError(f"it cannot be read: {type(error).__name__}") from None

    def swap(self, table: str, frame: Any) -> None:
        """Put other rows in the place of a table in memory; its columns must have the same types.

        For the owner, as rows arrive, and for tests that compare two sets of rows.
        """
        places = [place for place, held in enumerate(self.catalog.tables) if held.name == table]
        (place,) = places or [-1]
        if place < 0:
            raise CatalogError(f"there is no table {table!r}")
        declared = self.catalog.tables[place]
        with self._reopening:  # one that took its place would have the rows of before
            self._current(()).swap(view_name(place), narrowed(declared, frame))
            self._frames[table] = secrets.token_hex(16)

    def version(self, tables: Iterable[str]) -> str:
        """Return a name for the rows that tables have now: another one once they were written.

        It tells how a table is declared, when its files were last written, and nothing of what is
        in them, so that it does not differ by what a person adds. Of CSV files, read once,
        it tells when they had been written at the opening. Rows in memory have a new version in
        every process.
        """
        folder = Path.cwd() if self.catalog.path is None else self.catalog.path.parent.resolve()
        told = []
        for table in sorted(tables):
            told.append(declared_text(self.catalog, table))
            files = self._files_of.get(table)
            if files is None:
                told.append(self._frames[table])
                continue
            for file in files:
                written = self._opened[file] if file in self._opened else _written(file)
                told.append(f"{os.path.relpath(file, folder)} {written}")
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    def close(self) -> None:
        """Close the database; the engine cannot be used afterwards."""
        with self._reopening:
            self._is_closed = True
            self.database.close()

    def _compile(self, bounded: Bounded) -> Statement:
        return compile_bounded(bounded, self.catalog, salt=0, bases=self.bases, dialect=DUCKDB)


def _weight(statement: Statement) -> int:
    """Return about how many bytes a statement takes, and what it was compiled from."""
    return 10_000 + 4 * (len(statement.sql) + len(repr(statement.parameters)))


def _opened(catalog: Catalog, files: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Return when the files were written whose rows stay those they had at the opening."""
    once = [table for table in catalog.tables if isinstance(table.source, CsvFile)]
    return {file: _written(file) for table in once for file in files[table.name]}


def _written(file: str) -> int:
    """Return when a file was last written, in nanoseconds, or 0 if it is not there."""
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        seen = file.stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size


def _read(database: Database, reading: Callable[[], _T]) -> _T:
    """Return what is read; where text turns out not to be UTF-8, it is all read once more.

    Then that text is missing. The outcome is that of all other rows, and only the time differs. It
    ends, for each time there are more files that are known to have such text.
    """
    while True:
        known = database.broken  # another thread may find more meanwhile
        try:
            return reading()
        except BAD_TEXT:
            if not database.patch(known):
                raise
        except _FATAL:
            database.is_broken = True
            raise


def _is_interrupt(error: Exception) -> bool:
    """Tell whether it is how DuckDB says that the keyboard has interrupted a statement."""
    if isinstance(error, duckdb.InterruptException):
        return True
    return type(error) is RuntimeError and "interrupted" in str(error)


def _fetched(database: Database, sql: str, bound: list[Any]) -> pa.Table:
    with database.connection() as connection:
        return connection.sql(sql, params=bound).to_arrow_table()


def _answered(
    database: Database, work: Work, progress: Progress | None, due: float | None
) -> pa.Table:
    if progress is not None and isinstance(work, InPasses):
        progress = work.overall(progress)
    with database.connection(watched=progress is not None) as connection:
        return _fetch(connection, work, progress, due)


def _fetch(
    connection: duckdb.DuckDBPyConnection,
    carry_out: Work,
    progress: Progress | None,
    due: float | None,
) -> pa.Table:
    """Carry out a question; the keyboard can interrupt it where it is heard, and so can time."""
    is_main = threading.current_thread() is threading.main_thread()
    if progress is None and due is None and not is_main:
        return carry_out(connection)
    outcome: list[pa.Table | BaseException] = []
    done = threading.Event()  # a thread that was joined in vain may not be joined again

    def work() -> None:
        try:
            with WORK.passing(at_once=True):  # of its own: whoever waits for it may be interrupted
                outcome.append(carry_out(connection))
        except BaseException as error:
            outcome.append(error)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True).start()
    try:
        _watch(done, connection, progress, due)
    except BaseException:
        while not done.wait(_STOPPING):
            connection.interrupt()
        raise
    (result,) = outcome
    if isinstance(result, BaseException):
        raise result
    return result


def _watch(
    done: threading.Event,
    connection: duckdb.DuckDBPyConnection,
    progress: Progress | None,
    due: float | None,
) -> None:
    if progress is None:
        if not done.wait(None if due is None else max(0.0, due - monotonic())):
            raise DeadlinePassed
        return
    while not done.wait(_LOOK):
        if due is not None and monotonic() > due:
            raise DeadlinePassed
        share = connection.query_progress()
        if share >= 0:
            progress(min(share / 100, 1.0))
    progress(1.0)
