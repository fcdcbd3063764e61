# SPDX-License-Identifier: Apache-2.0
"""Bounded questions on Apache Spark: one statement each, exact integers out, sealed.

The rows stay where Spark has them. What comes here are the sums of groups, and words for schemas
and files.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.catalog.model import Catalog
from sordino.engine.compile.declared import declared_text
from sordino.engine.compile.dialect import Bound, Writer, select
from sordino.engine.compile.public import (
    join_keys,
    most_of,
    public_column,
    public_rows,
    rows_of,
    values_of,
)
from sordino.engine.compile.results import parts_of
from sordino.engine.compile.rows import Base, Tables, id_columns, tables_read
from sordino.engine.compile.statement import Statement, compile_bounded
from sordino.engine.forks import FORKED
from sordino.engine.owner import tell_owner
from sordino.engine.protocol import Exact, Progress
from sordino.engine.sealed import Sealed
from sordino.engine.spark.columns import SparkBase, base_of
from sordino.engine.spark.connection import Connection
from sordino.engine.spark.dialect import SPARK
from sordino.engine.spark.sources import Source, own_tables, source_of
from sordino.errors import CatalogError, SealedError, Unsupported
from sordino.ledger.entry import Receipt
from sordino.plan.bound import check_matches
from sordino.plan.plan import Bounded
from sordino.query.tree import JoinPublic
from sordino.query.types import Type, Value

if TYPE_CHECKING:
    import pyarrow as pa

_STATEMENTS = 8 * MEGABYTE  # of statements that are kept compiled
_JOINS = 256  # of which it is kept how many public rows have one key
_MADE_UP = ("1", "2000-01-01")  # one of them is a value of nearly every type


class RowsChanged(Exception):
    """The files of a table were written while a question read them."""


class SparkEngine:
    """Tables of a catalog that a Spark Connect server reads.

    Opening it reads schemas and no rows, gives its session the settings that statements rest on,
    and refuses a server that does not take them. It may be shared by threads. Everything that fails
    in ``run`` is a SealedError; a session that is lost is opened anew before the next charge.
    """

    def __init__(self, catalog: Catalog, address: str) -> None:
        self.catalog = catalog
        self.dialect = SPARK
        self._address = address
        # A table of the server must not be taken for a view of ours, if it ever lost its views.
        own = secrets.token_hex(8)
        self._views = {
            table.name: f"v{place}_{own}" for place, table, _ in own_tables(catalog, address)
        }
        self._lock = threading.RLock()
        self._is_closed = False
        self._stamps: dict[str, str] = {}
        self._read: dict[str, str] = {}  # of which version all moments and decimals were read
        self._trial: Connection | None = None
        self._connection = Connection(self._address)
        try:
            self._sources = {
                table.name: source_of(self._connection, table, source)
                for _, table, source in own_tables(catalog, address)
            }
            self.bases: Mapping[str, Base] = {
                name: self._base(source) for name, source in self._sources.items()
            }
        except BaseException:
            self._connection.close()
            raise
        self._compiled = kept_on(Shelf(_STATEMENTS, weigh=_weight))(self._compile)
        self._tried = kept_on(Shelf(_STATEMENTS, weigh=_weight))(self._try)
        self._matches = lru_cache(_JOINS)(self._most_matches)
        FORKED.add(self)

    def _base(self, source: Source) -> SparkBase:
        table = source.table
        ids = id_columns(self.catalog, table)
        return base_of(table, self._views[table.name], source.held, ids)

    def prepare(self, bounded: Bounded) -> None:
        """Refuse, before the charge, what could not be carried out afterwards.

        It looks at schemas, at the rows of public tables, and tries the statement on one made-up
        row of each table; at no private row.
        """
        self._alive()
        check_matches(bounded.rows, self._matches_of)
        self._tried(bounded)

    def load(self, bounded: Bounded) -> None:
        """Find the files of the tables of a question as they are now, and refuse what fails.

        Moments and decimals of a file may be beyond what Spark has for them, and then reading them
        fails. They are read once for each version of the rows, before anything is charged for these
        rows: it is told whether that fails, and nothing else.
        """
        with self._told_as_catalog_error(
            "the files of the question cannot be read, so that nothing was charged"
        ):
            names = tables_read(bounded.rows, self.catalog)
            connection, stamps = self._current(names)
            for name, stamp in stamps.items():
                doubtful = self._sources[name].doubtful
                if doubtful and self._read.get(name) != stamp:
                    counts = [f"count({column}) AS {column}" for column in doubtful]
                    connection.answer(select(counts, self._views[name]), (), None, None)
                    self._read[name] = stamp

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
        charge stays. If the files of a table are others at the end it has failed.
        """
        due = None if deadline is None else monotonic() + deadline
        if not isinstance(receipt, Receipt):
            raise TypeError("an engine looks at data for a receipt and for nothing less")
        try:
            if deadline is not None and deadline <= 0:  # however fast this question would be
                raise TimeoutError("the deadline had passed before the question ran")
            statement = self.statement(bounded, salt=salt)
            names = tables_read(bounded.rows, self.catalog)
            connection, stamps = self._current(names)
            table = connection.answer(statement.sql, statement.parameters, progress, due)
            if self._stamps_of(connection, names) != stamps:
                raise RowsChanged
            return Sealed(parts_of(table, statement))
        except Exception as error:
            charge = f"{receipt.people}:{receipt.number}"
            tell_owner("a question failed after its charge", error, charge=charge)
        raise SealedError

    def statement(self, bounded: Bounded, *, salt: int) -> Statement:
        """Return what would be executed; it depends on public things alone."""
        return self._compiled(bounded).with_salt(salt)

    def version(self, tables: Iterable[str]) -> str:
        """Return a name for the rows that tables have now: another one once they were written.

        It tells how a table is declared, and the names and times of its files or the word of the
        owner, and nothing of what is in them: no length, which differs by what a person adds.
        """
        names = sorted(tables)
        told = [self._address, *(declared_text(self.catalog, name) for name in names)]
        with self._told_as_catalog_error("the tables of the question cannot be read"):
            connection = self._alive()
            told += [self._sources[name].version(connection) for name in names]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    def public_values(self, table: str, column: str) -> tuple[Value, ...]:
        """Return the distinct values of a public table's column, sorted, without missing ones."""
        declared, found = public_column(self.catalog, table, column)
        writer, tables = self._tables()
        held = self._public(declared.name, writer, values_of(tables, declared, found))
        return tuple(held.column(0).to_pylist())

    def public_table(self, table: str) -> pa.Table:
        """Return all rows of a public table, its columns in their declared types."""
        declared = public_rows(self.catalog, table)
        writer, tables = self._tables()
        held = self._public(declared.name, writer, rows_of(tables, declared))
        return held.rename_columns([column.name for column in declared.columns])

    def read(self, names: Iterable[str]) -> None:
        """Find the files of tables as they are now."""
        self._current(names)

    def fetch(self, sql: str, bound: Sequence[Bound]) -> list[Any]:
        """Return the rows of a SELECT, exact and for the owner's eyes alone."""
        try:
            held = self._current(self._sources)[0].rows(sql, bound)
        except Exception as error:  # whose words may quote a value
            raise CatalogError(f"it cannot be read: {type(error).__name__}") from None
        return list(zip(*(column.to_pylist() for column in held.columns), strict=True))

    def after_fork(self) -> None:
        """Let go of what a thread may have held when this process was forked from another."""
        self._lock = threading.RLock()

    def close(self) -> None:
        """End the sessions; the engine cannot be used afterwards."""
        with self._lock:
            self._is_closed = True
            self._connection.close()
            if self._trial is not None:
                self._trial.close()

    # Sessions. --------------------------------------------------------------------------------

    def _alive(self) -> Connection:
        """Return a session that the server has; one that was lost is opened anew, with no view."""
        with self._lock:
            if self._is_closed:
                raise ValueError("this engine is closed; open it again")
            if not self._connection.is_usable:
                self._connection.close()
                self._connection = Connection(self._address)
                self._stamps, self._trial = {}, None
            return self._connection

    def _current(self, names: Iterable[str]) -> tuple[Connection, dict[str, str]]:
        """Return a session with views of the rows that tables have now, and words for these."""
        with self._lock:
            connection = self._alive()
            for name in sorted(names):
                source = self._sources[name]
                held = self._stamps.get(name)
                if held is None or not source.is_listed or source.stamp(connection) != held:
                    self._stamps[name] = source.view(connection, self._views[name])
            return connection, {name: self._stamps[name] for name in sorted(names)}

    def _stamps_of(self, connection: Connection, names: Iterable[str]) -> dict[str, str]:
        return {name: self._sources[name].stamp(connection) for name in sorted(names)}

    # Before the charge. -------------------------------------------------------------------------

    def _compile(self, bounded: Bounded) -> Statement:
        return compile_bounded(bounded, self.catalog, salt=0, bases=self.bases, dialect=SPARK)

    def _try(self, bounded: Bounded) -> Statement:
        """Return the statement of a question, once it has been carried out on made-up rows."""
        try:
            statement = self.statement(bounded, salt=0)
            with self._lock:
                rows = self._made_up().rows(statement.sql, statement.parameters)
            parts_of(rows, statement)
        except Unsupported:
            raise
        except Exception as error:
            tell_owner("a question cannot be carried out", error, public=True)
        else:
            return statement
        raise Unsupported(
            "construct",
            "the engine cannot carry out this question; nothing was charged for it",
            hint="write it in another way; the owner's log says why",
        )

    def _made_up(self) -> Connection:
        """Return a session in which each table has one row, made from types alone."""
        if self._trial is None or not self._trial.is_usable:
            trial = Connection(self._address)
            for name, source in self._sources.items():
                columns = ", ".join(
                    f"{_made_up(source.held[column.name])} AS c{place}"
                    for place, column in enumerate(source.table.columns)
                )
                trial.view(self._views[name], trial.session.sql(f"SELECT {columns}"))
            self._trial = trial
        return self._trial

    def _matches_of(self, join: JoinPublic) -> int:
        _, tables = self._tables()
        return self._matches(join.table, self.version([join.table]), join_keys(tables, join))

    def _most_matches(self, name: str, _: str, keys: tuple[tuple[str, Type], ...]) -> int:
        writer, tables = self._tables()
        return int(self._public(name, writer, most_of(tables, name, keys)).column(0)[0].as_py())

    def _tables(self) -> tuple[Writer, Tables]:
        writer = Writer(SPARK)
        return writer, Tables(writer, self.catalog, self.bases, units=False)

    def _public(self, name: str, writer: Writer, text: str) -> pa.Table:
        """Return the rows of a SELECT on a public table, and on no other."""
        sql, bound, _ = writer.statement(text)
        # Nothing private may be read here: no question has been paid for.
        with self._told_as_catalog_error(f"the public table {name!r} cannot be read"):
            return self._current([name])[0].rows(sql, bound)

    @contextmanager
    def _told_as_catalog_error(self, what: str) -> Iterator[None]:
        try:
            yield
        except (CatalogError, ValueError):
            raise
        except Exception as error:
            tell_owner(what, error)
            raise CatalogError(
                f"{what}; the owner's log says of which kind the failure was"
            ) from None


def _weight(statement: Statement) -> int:
    """Return about how many bytes a statement takes, and what it was compiled from."""
    return 10_000 + 4 * (len(statement.sql) + len(repr(statement.parameters)))


def _made_up(held: str) -> str:
    values = ", ".join(f"try_cast('{text}' AS {held})" for text in _MADE_UP)
    return "NULL" if held == "void" else f"COALESCE({values})"
