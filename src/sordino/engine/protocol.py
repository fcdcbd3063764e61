# SPDX-License-Identifier: Apache-2.0
"""What an engine is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from sordino.catalog.model import Catalog
from sordino.engine.compile.dialect import Bound, Dialect
from sordino.engine.compile.rows import Base
from sordino.engine.compile.statement import Statement
from sordino.engine.sealed import Sealed
from sordino.ledger.entry import Receipt
from sordino.plan.plan import Bounded
from sordino.query.types import Value

if TYPE_CHECKING:
    import pyarrow as pa

Exact: TypeAlias = "Sealed[tuple[pa.Table, ...]]"  # one table for each part
Progress: TypeAlias = "Callable[[float], None]"  # told how much is done, from 0 to 1


class Engine(Protocol):
    """Computes the parts of a bounded question; no receipt, no look.

    Whatever goes wrong after the charge is a SealedError, whose text is the same for all data, and
    the next question is answered as if nothing had happened.
    """

    def prepare(self, bounded: Bounded) -> None:
        """Refuse what cannot be carried out, before it is charged.

        What is raised depends on public things alone: the question, the catalog, schemas, and the
        rows of public tables.
        """
        ...

    def load(self, bounded: Bounded) -> None:
        """Read files that are kept in memory and refuse those that are not well-formed.

        It comes before the charge, and tells nothing else of private rows: docs/proofs/queries.md
        has a section on it.
        """
        ...

    def run(
        self,
        bounded: Bounded,
        receipt: Receipt,
        *,
        salt: int,
        progress: Progress | None = None,
        deadline: float | None = None,
    ) -> Exact:
        """Return one table of exact integers for each part, sealed; all of one snapshot.

        What takes longer than ``deadline`` seconds is ended, and is a SealedError; so does an
        interrupt from the keyboard end it, as a KeyboardInterrupt. An engine that cannot tell how
        much is done tells ``progress`` nothing.
        """
        ...

    def version(self, tables: Iterable[str]) -> str:
        """Return a name for the rows that tables have now: another one once they were written.

        It tells nothing of what is in them.
        """
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...


class OpenEngine(Engine, Protocol):
    """An engine that is open on a catalog, with all that is asked of it beside questions.

    It has those tables of the catalog that are of its kind, and leaves the others alone. Opening it
    looks at schemas and at no row, and refuses with a CatalogError what does not fit. It may be
    shared by threads, and used in a child of the process that opened it.
    """

    @property
    def catalog(self) -> Catalog:
        """What is declared."""
        ...

    @property
    def dialect(self) -> Dialect:
        """How its SQL is spelt."""
        ...

    @property
    def bases(self) -> Mapping[str, Base]:
        """Its tables by name: where each is read from, and how."""
        ...

    def statement(self, bounded: Bounded, *, salt: int) -> Statement:
        """Return what would be executed; it depends on public things alone."""
        ...

    def public_values(self, table: str, column: str) -> tuple[Value, ...]:
        """Return the distinct values of a public table's column, sorted, without missing ones."""
        ...

    def public_table(self, table: str) -> pa.Table:
        """Return all rows of a public table, its columns in their declared types."""
        ...

    def read(self, names: Iterable[str]) -> None:
        """Read the rows of tables that are kept in memory, for what ``fetch`` looks at."""
        ...

    def fetch(self, sql: str, bound: Sequence[Bound]) -> list[Any]:
        """Return the rows of a SELECT, exact and for the owner's eyes alone.

        A failure is a CatalogError, which does not quote a value.
        """
        ...
