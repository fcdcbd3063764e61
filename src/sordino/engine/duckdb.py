# SPDX-License-Identifier: Apache-2.0
"""Bounded questions on DuckDB: one statement each, exact integers out, sealed."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.engine.compile import Statement, compile_bounded
from sordino.engine.compile_tables import Tables
from sordino.engine.dialect import DUCKDB
from sordino.engine.duckdb_connection import Database
from sordino.engine.duckdb_sources import ARROW, bases_of, narrowed, sources_of, view_name
from sordino.engine.protocol import Exact, Progress
from sordino.engine.sealed import Sealed
from sordino.engine.select import select
from sordino.engine.writer import Writer
from sordino.errors import CatalogError, SealedError
from sordino.ledger.receipt import Receipt
from sordino.plan.bounded import Bounded
from sordino.query.catalog import Catalog, CsvFile, DuckdbTable
from sordino.query.types import Value

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_OWNER = logging.getLogger("sordino.owner")
_OWNER.addHandler(logging.NullHandler())  # what is logged is for the owner, not for stderr
_STATEMENTS = 256  # that are kept compiled
_FEW = 5_000  # rows that are fetched as tuples
_LOOK = 0.1  # seconds between two looks at the progress


class DuckdbEngine:
    """The tables of a catalog in an embedded DuckDB.

    Opening it reads schemas and no rows; of a CSV file, the first line. Sources that are missing or
    do not fit what is declared are a CatalogError. It may be shared by threads. ``spill_limit``
    bounds what is put on disk; if None, by half of what is free there, and 50 GB.

    Everything that fails in ``run`` is a SealedError; the cause goes to the log ``sordino.owner``.
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
        sources = sources_of(catalog)
        self._files = [Path(file) for file in sources.files]
        self._files_of = sources.of
        self._frames = {table.name: secrets.token_hex(16) for table in catalog.tables}
        self._opened = _opened(catalog, sources.of)
        self._stamps = _stamps(self._files)
        self.database = Database(
            sources, threads=threads, memory_limit=memory_limit, spill_limit=spill_limit
        )
        try:
            with self.database.connection() as connection:
                self.bases = bases_of(catalog, connection)
        except CatalogError:
            self.database.close()
            raise
        self._compiled = lru_cache(_STATEMENTS)(self._compile)

    def run(
        self, bounded: Bounded, receipt: Receipt, *, salt: int, progress: Progress | None = None
    ) -> Exact:
        """Return one table of exact integers for each part, sealed.

        An interrupt from the keyboard ends the question; the charge stays.
        """
        if not isinstance(receipt, Receipt):
            raise TypeError("an engine looks at data for a receipt and for nothing less")
        try:
            statement = self.statement(bounded, salt=salt)
            self.database.load()
            with self.database.connection(watched=progress is not None) as connection:
                self._check_files(connection)
                table = _fetch(connection, statement, progress)
            return Sealed(_parts(table, statement))
        except Exception as error:
            _OWNER.error("a question failed after its charge", exc_info=error)
        raise SealedError

    def _check_files(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Refuse files that have got columns of other types since they were opened."""
        stamps = _stamps(self._files)
        if stamps == self._stamps:
            return
        if bases_of(self.catalog, connection) != self.bases:
            raise CatalogError("the columns of a file have changed; open the catalog again")
        self._stamps = stamps

    def statement(self, bounded: Bounded, *, salt: int) -> Statement:
        """Return what would be executed; it depends on public things alone."""
        return self._compiled(bounded).with_salt(salt)

    def public_values(self, table: str, column: str) -> tuple[Value, ...]:
        """Return the distinct values of a public table's column, sorted, without missing ones."""
        declared = self.catalog.table(table)
        found = declared.column(column) if declared else None
        if declared is None or found is None or not declared.public:
            raise CatalogError(f"{table!r} is no public table with a column {column!r}")
        writer = Writer(DUCKDB)
        tables = Tables(writer, self.catalog, self.bases, units=False)
        base = tables.base(declared, [("v", found.name)])
        text = select(["v"], base, where=["v IS NOT NULL"], distinct=True) + " ORDER BY v"
        sql, bound, _ = writer.statement(text)
        try:
            # Nothing private may be read here: no question has been paid for.
            self.database.load(view_name(self.catalog.tables.index(declared)))
            with self.database.connection() as connection:
                result = connection.sql(sql, params=list(bound))
                return tuple(result.to_arrow_table().column("v").to_pylist())
        except Exception as error:
            _OWNER.error("a public table could not be read", exc_info=error)
        raise CatalogError(f"the public table {declared.name!r} cannot be read")

    def swap(self, table: str, frame: Any) -> None:
        """Put other rows in the place of a table in memory; its columns must have the same types.

        For the owner, as rows arrive, and for tests that compare two sets of rows.
        """
        places = [place for place, held in enumerate(self.catalog.tables) if held.name == table]
        (place,) = places or [-1]
        if place < 0:
            raise CatalogError(f"there is no table {table!r}")
        declared = self.catalog.tables[place]
        self.database.swap(view_name(place), narrowed(declared, frame))
        self._frames[table] = secrets.token_hex(16)

    def version(self, tables: Iterable[str]) -> str:
        """Return a name for the rows that tables have now: another one once they were written.

        It tells how a table is declared, when its files were last written, and nothing of what is
        in them, so that it does not differ by what a person adds. Of files that are read or
        attached once it tells when they had been written then. Rows in memory have a new version
        in every process.
        """
        folder = Path.cwd() if self.catalog.path is None else self.catalog.path.parent.resolve()
        told = []
        for table in sorted(tables):
            told.append(_declared(self.catalog, table))
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
        self.database.close()

    def _compile(self, bounded: Bounded) -> Statement:
        return compile_bounded(bounded, self.catalog, salt=0, bases=self.bases)


def _declared(catalog: Catalog, name: str) -> str:
    """Say how the rows of a table are read and whose they are."""
    table = catalog.table(name)
    if table is None:
        raise CatalogError(f"there is no table {name!r}")
    source, read = table.source, ""
    if isinstance(source, DuckdbTable):
        read = source.table
    elif isinstance(source, CsvFile):
        read = source.separator
    columns = [(column.name, column.type.value) for column in table.columns]
    return repr((name, table.unit, table.parent, table.public, read, columns))


def _opened(catalog: Catalog, files: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Return when the files were written whose rows stay those they had at the opening."""
    once = [table for table in catalog.tables if isinstance(table.source, CsvFile | DuckdbTable)]
    return {file: _written(file) for table in once for file in files[table.name]}


def _written(file: str) -> int:
    """Return when a file was last written, in nanoseconds, or 0 if it is not there."""
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0


def _stamps(files: list[Path]) -> list[tuple[int, int] | None]:
    """Return what tells that a file is another one: when it was written, and its size."""
    found: list[tuple[int, int] | None] = []
    for file in files:
        try:
            seen = file.stat()
        except OSError:
            found.append(None)
        else:
            found.append((seen.st_mtime_ns, seen.st_size))
    return found


def _fetch(
    connection: duckdb.DuckDBPyConnection, statement: Statement, progress: Progress | None
) -> pa.Table:
    """Execute a statement; the keyboard can interrupt it where the keyboard is heard."""
    if progress is None and threading.current_thread() is not threading.main_thread():
        return _execute(connection, statement)
    outcome: list[pa.Table | BaseException] = []
    done = threading.Event()  # a thread that was joined in vain may not be joined again

    def work() -> None:
        try:
            outcome.append(_execute(connection, statement))
        except BaseException as error:
            outcome.append(error)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True).start()
    try:
        _watch(done, connection, progress)
    except BaseException:
        while not done.wait(_LOOK):
            connection.interrupt()
        raise
    (result,) = outcome
    if isinstance(result, BaseException):
        raise result
    return result


def _watch(
    done: threading.Event, connection: duckdb.DuckDBPyConnection, progress: Progress | None
) -> None:
    if progress is None:
        done.wait()
        return
    while not done.wait(_LOOK):
        share = connection.query_progress()
        if share >= 0:
            progress(min(share / 100, 1.0))
    progress(1.0)


def _execute(connection: duckdb.DuckDBPyConnection, statement: Statement) -> pa.Table:
    """Return the rows of all parts; how they are fetched depends on public things alone."""
    parameters = list(statement.parameters)
    if statement.most is None or statement.most > _FEW:
        return connection.sql(statement.sql, params=parameters).to_arrow_table()
    # A relation is planned twice, once to learn its columns; that costs more than a few tuples.
    rows = connection.execute(statement.sql, parameters).fetchall()
    return as_arrow(rows, statement)


def _parts(table: pa.Table, statement: Statement) -> tuple[pa.Table, ...]:
    """Return the rows of each part, with its own columns in their own types."""
    import pyarrow as pa  # pyarrow is loaded where results are
    import pyarrow.compute as pc

    parts = []
    for place, (names, wide) in enumerate(zip(statement.columns, statement.wide, strict=True)):
        rows = table
        if len(statement.columns) > 1:
            rows = table.filter(pc.equal(table.column("part"), place))
        columns = {
            name: _narrow(rows.column(name), pa.int64())
            if name[0] == "s" and name not in wide
            else rows.column(name)
            for name in names
        }
        parts.append(pa.table(columns))
    return tuple(parts)


def _narrow(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)


def as_arrow(rows: list[Any], statement: Statement) -> pa.Table:
    """Return tuples as Arrow, in the types that the statement gives."""
    import pyarrow as pa  # pyarrow is loaded where results are

    keys = {f"k{place}": ARROW[kind] for place, kind in enumerate(statement.types)}
    wide = frozenset[str]().union(*statement.wide)
    columns = list(zip(*rows, strict=True)) or [()] * len(statement.every)
    arrays = {
        name: pa.array(column, keys.get(name, pa.decimal128(38, 0) if name in wide else pa.int64()))
        for name, column in zip(statement.every, columns, strict=True)
    }
    return pa.table(arrays)
