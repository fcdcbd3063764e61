# SPDX-License-Identifier: Apache-2.0
"""Bounded questions on PostgreSQL: one statement each, on one snapshot; exact integers, sealed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.catalog.model import Catalog, PostgresTable, Table
from sordino.engine.compile.declared import declared_text
from sordino.engine.compile.dialect import Bound, Writer
from sordino.engine.compile.public import (
    join_keys,
    most_of,
    public_column,
    public_rows,
    rows_of,
    values_of,
)
from sordino.engine.compile.results import as_arrow, parts_of
from sordino.engine.compile.rows import Base, Tables, tables_read
from sordino.engine.compile.statement import Statement, compile_bounded
from sordino.engine.forks import FORKED
from sordino.engine.owner import tell_owner as _tell_owner
from sordino.engine.postgres.connection import SNAPSHOT, Connection, Server, Unreachable, place_of
from sordino.engine.postgres.dialect import POSTGRES
from sordino.engine.postgres.tables import (
    Shape,
    base_of,
    check_casts,
    made_up,
    shape_of,
    source_of,
)
from sordino.engine.protocol import Exact, Progress
from sordino.engine.sealed import Sealed
from sordino.errors import CatalogError, SealedError, Unsupported
from sordino.ledger.entry import Receipt
from sordino.plan.bound import check_matches
from sordino.plan.plan import Bounded
from sordino.query.tree import JoinPublic
from sordino.query.types import ARROW_TYPES, Type, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_STATEMENTS = 8 * MEGABYTE  # of statements that are kept compiled
_JOINS = 256  # of which it is kept how many public rows have one key
_DRY_RUN = 60.0  # seconds
_MOST_SECONDS = 2**31 // 1_000 - 1  # a timeout has 31 bits of milliseconds
_GONE = (errors.UndefinedTable, errors.InsufficientPrivilege, errors.InvalidSchemaName)
# What a server says when it is stopped, full or lost quotes no value of a row.
tell_owner = partial(_tell_owner, safe=(psycopg.OperationalError,))


class PostgresEngine:
    """The tables of a catalog that lie in one PostgreSQL database.

    Opening it reads schemas and no rows. Each question is one transaction that reads one snapshot
    and leaves nothing behind. It may be shared by threads, each of which has a connection of its
    own, and a child of the process makes its own ones.

    Everything that fails in ``run`` is a SealedError; of what kind it was goes to the log
    ``sordino.owner``.
    """

    def __init__(self, catalog: Catalog, address: str) -> None:
        self.catalog = catalog
        self.dialect = POSTGRES
        self.address = address
        self._server = Server(address)
        self._own: dict[str, tuple[Table, PostgresTable]] = {
            table.name: (table, table.source)
            for table in catalog.tables
            if isinstance(table.source, PostgresTable) and table.source.address == address
        }
        try:
            with self._server.transaction(SNAPSHOT) as connection:
                check_casts(connection)
                self._shapes = self._shapes_of(connection, self._own)
            self.bases: dict[str, Base] = {}
            self._made_up: dict[str, Base] = {}
            for name, (table, source) in self._own.items():
                base = base_of(catalog, table, source, self._shapes[name])
                self.bases[name] = base
                self._made_up[name] = made_up(base, self._shapes[name], table)
        except BaseException:
            self._server.close()
            raise
        self._compiled = kept_on(Shelf(_STATEMENTS, weigh=_weight))(self._compile)
        self._tried = kept_on(Shelf(_STATEMENTS, weigh=_weight))(self._try)
        self._matches = lru_cache(_JOINS)(self._most_matches)
        FORKED.add(self)

    def prepare(self, bounded: Bounded) -> None:
        """Refuse, before the charge, what could not be carried out afterwards.

        It looks at the schemas of tables, at the rows of public tables, and tries the statement on
        made-up rows; at no private row.
        """
        names = tables_read(bounded.rows, self.catalog)
        with self._asking(names), self._server.transaction(self._begin(names)) as connection:
            self._check_unchanged(connection, names)
        check_matches(bounded.rows, self._matches_of)
        self._tried(bounded)

    def load(self, bounded: Bounded) -> None:
        """Nothing is kept in memory."""

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
        charge stays. PostgreSQL tells nothing of how far a statement is.
        """
        due = None if deadline is None else monotonic() + deadline
        if not isinstance(receipt, Receipt):
            raise TypeError("an engine looks at data for a receipt and for nothing less")
        try:
            if deadline is not None and deadline <= 0:  # however fast this question would be
                raise TimeoutError("the deadline had passed before the question ran")
            statement = self.statement(bounded, salt=salt)
            names = tables_read(bounded.rows, self.catalog)
            with self._server.transaction(
                self._begin(names, deadline), deadline=deadline
            ) as connection:
                self._check_unchanged(connection, names)
                if due is not None and monotonic() > due:
                    raise TimeoutError("the deadline has passed")
                rows = (
                    psycopg.RawCursor(connection)
                    .execute(statement.sql, statement.parameters)
                    .fetchall()
                )
            if progress is not None:
                progress(1.0)
            return Sealed(parts_of(as_arrow(rows, statement), statement))
        except Exception as error:
            charge = f"{receipt.people}:{receipt.number}"
            tell_owner("a question failed after its charge", error, charge=charge)
        raise SealedError

    def statement(self, bounded: Bounded, *, salt: int) -> Statement:
        """Return what would be executed; it depends on public things alone."""
        return self._compiled(bounded).with_salt(salt)

    def version(self, tables: Iterable[str]) -> str:
        """Return a name for the rows that tables have now: another one once they were written.

        It is the owner's word for the rows where one is declared, and otherwise the snapshot of the
        server: which transactions have ended. Rows can be others only if a transaction has ended
        since, here or in another table of the server; nothing of what is in them is told.
        """
        names = sorted(tables)
        told = [self.address]
        for name in names:
            _, source = self._own_table(name)
            told.append(f"{declared_text(self.catalog, name)} {source.version!r}")
        if any(self._own_table(name)[1].version is None for name in names):
            with self._asking(names), self._server.transaction(SNAPSHOT) as connection:
                told += map(str, _rows(connection, "SELECT pg_current_snapshot()::text")[0])
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    def public_values(self, table: str, column: str) -> tuple[Value, ...]:
        """Return the distinct values of a public table's column, sorted, without missing ones."""
        declared, found = public_column(self.catalog, table, column)
        writer, tables = self._begun()
        return tuple(
            value for (value,) in self._public(declared, writer, values_of(tables, declared, found))
        )

    def public_table(self, table: str) -> pa.Table:
        """Return all rows of a public table, its columns in their declared types."""
        import pyarrow as pa  # pyarrow is loaded where rows are

        declared = public_rows(self.catalog, table)
        writer, tables = self._begun()
        rows = self._public(declared, writer, rows_of(tables, declared))
        columns = list(zip(*rows, strict=True)) or [()] * len(declared.columns)
        return pa.table(
            {
                column.name: pa.array(values, ARROW_TYPES[column.type])
                for column, values in zip(declared.columns, columns, strict=True)
            }
        )

    def read(self, names: Iterable[str]) -> None:
        """Nothing is kept in memory."""

    def fetch(self, sql: str, bound: Sequence[Bound]) -> list[Any]:
        """Return the rows of a SELECT, exact and for the owner's eyes alone."""
        try:
            with self._server.transaction(SNAPSHOT) as connection:
                return psycopg.RawCursor(connection).execute(sql, list(bound)).fetchall()
        except psycopg.Error as error:  # whose words may quote a value
            raise CatalogError(f"it cannot be read: {type(error).__name__}") from None

    def close(self) -> None:
        """Close the connections; the engine cannot be used afterwards."""
        self._server.close()

    def after_fork(self) -> None:
        """Let go of what a thread may have held when this process was forked from another."""
        self._server.after_fork()

    # How it is done. ----------------------------------------------------------------------------

    def _own_table(self, name: str) -> tuple[Table, PostgresTable]:
        declared = self.catalog.table(name)
        if declared is None or declared.name not in self._own:
            raise CatalogError(f"there is no table {name!r} in {place_of(self.address)}")
        return self._own[declared.name]

    def _begin(self, names: Iterable[str], deadline: float | None = None) -> str:
        """Return how a transaction begins: first the locks, then the snapshot.

        TRUNCATE and ALTER TABLE may take rows from a snapshot that is older than they are. Whoever
        has the lock first is not overtaken by them.
        """
        begin = [SNAPSHOT]
        if deadline is not None:
            most = max(1, math.ceil(min(deadline, _MOST_SECONDS) * 1_000))
            begin.append(f"SET LOCAL statement_timeout = {most:d}")
        tables = [  # rows of a view are replaced so that older snapshots see them, and no lock fits
            source_of(self._own_table(name)[1])
            for name in sorted(names)
            if self._shapes[name].kind != "m"
        ]
        if tables:
            begin.append(f"LOCK TABLE {', '.join(tables)} IN ACCESS SHARE MODE")
        return "; ".join(begin)

    def _shapes_of(self, connection: Connection, names: Iterable[str]) -> dict[str, Shape]:
        return {name: shape_of(connection, *self._own_table(name)) for name in names}

    def _check_unchanged(self, connection: Connection, names: Iterable[str]) -> None:
        for name, shape in self._shapes_of(connection, names).items():
            if shape != self._shapes[name]:
                raise CatalogError(
                    f"the table {name!r} is another one than when the catalog was opened, or has "
                    "other columns; open the catalog again"
                )

    @contextmanager
    def _asking(
        self, names: Iterable[str], failure: type[psycopg.Error] = psycopg.Error
    ) -> Iterator[None]:
        """Turn a failure before the charge, in which no row was looked at, into a refusal.

        ``failure`` is of which kind it has to be.
        """
        try:
            yield
        except Unreachable as error:
            tell_owner("a database cannot be reached", error, public=True)
            raise CatalogError(
                f"the database {place_of(self.address)} cannot be reached, so that nothing is "
                "asked of it or charged; the owner's log says why"
            ) from None
        except _GONE:
            raise CatalogError(
                f"a table of {', '.join(sorted(names))} is not there any more, or may not be read; "
                "nothing was charged"
            ) from None
        except failure as error:
            tell_owner("a database cannot be asked", error, public=True)
            raise CatalogError(
                f"the database {place_of(self.address)} cannot be asked now, and nothing was "
                "charged; the owner's log says why"
            ) from None

    def _begun(self) -> tuple[Writer, Tables]:
        writer = Writer(POSTGRES)
        return writer, Tables(writer, self.catalog, self.bases, units=False)

    def _public(self, table: Table, writer: Writer, text: str) -> list[Any]:
        """Return the rows of a SELECT on a public table, and on no other."""
        sql, bound, _ = writer.statement(text)
        names = [table.name]
        with self._asking(names), self._server.transaction(self._begin(names)) as connection:
            self._check_unchanged(connection, names)
            return psycopg.RawCursor(connection).execute(sql, list(bound)).fetchall()

    def _compile(self, bounded: Bounded) -> Statement:
        return compile_bounded(bounded, self.catalog, salt=0, bases=self.bases, dialect=POSTGRES)

    def _try(self, bounded: Bounded) -> Statement:
        """Return the statement of a question, once it was carried out on made-up rows."""
        statement = self.statement(bounded, salt=0)
        try:
            dry = compile_bounded(
                bounded, self.catalog, salt=0, bases=self._made_up, dialect=POSTGRES
            )
            begin = f"{SNAPSHOT}; SET LOCAL statement_timeout = {_DRY_RUN * 1_000:.0f}"
            names = tables_read(bounded.rows, self.catalog)
            with (
                self._asking(names, psycopg.OperationalError),
                self._server.transaction(begin, deadline=_DRY_RUN) as connection,
            ):
                rows = psycopg.RawCursor(connection).execute(dry.sql, dry.parameters).fetchall()
            parts_of(as_arrow(rows, dry), dry)
        except (psycopg.Error, UnicodeError) as error:
            tell_owner("a question cannot be carried out", error, public=True)
        else:
            return statement
        raise Unsupported(
            "construct",
            "the engine cannot carry out this question; nothing was charged for it",
            hint="write it in another way; the owner's log says why",
        )

    def _matches_of(self, join: JoinPublic) -> int:
        _, tables = self._begun()
        return self._matches(join.table, self.version([join.table]), join_keys(tables, join))

    def _most_matches(self, name: str, _: str, keys: tuple[tuple[str, Type], ...]) -> int:
        writer, tables = self._begun()
        ((many,),) = self._public(tables.table(name), writer, most_of(tables, name, keys))
        return int(many)


def _rows(connection: Connection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


def _weight(statement: Statement) -> int:
    """Return about how many bytes a statement takes, and what it was compiled from."""
    return 10_000 + 4 * (len(statement.sql) + len(repr(statement.parameters)))
