# SPDX-License-Identifier: Apache-2.0
"""A catalog whose tables lie in several engines: each question is answered by one of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sordino.catalog.model import Catalog
from sordino.engine.compile.dialect import Bound, Dialect
from sordino.engine.compile.rows import Base, tables_read
from sordino.engine.compile.statement import Statement
from sordino.engine.protocol import Exact, OpenEngine, Progress
from sordino.errors import CatalogError, SealedError, Unsupported
from sordino.ledger.entry import Receipt
from sordino.plan.plan import Bounded
from sordino.query.types import Value

if TYPE_CHECKING:
    import pyarrow as pa


Place: TypeAlias = "tuple[str, str]"  # the name of an engine, and the address of its server


class Engines:
    """Several engines as one: a question goes to the one that has all of its tables.

    A question about tables of different engines is refused before it is charged: their rows would
    have to meet somewhere, and neither is the place for those of the other.
    """

    def __init__(
        self, catalog: Catalog, engines: Mapping[Place, OpenEngine], of: Mapping[str, Place]
    ) -> None:
        self.catalog = catalog
        self._engines = dict(engines)
        self._of = dict(of)  # where each table is
        self.bases: Mapping[str, Base] = {
            table: engine.bases[table]
            for name, engine in engines.items()
            for table in of
            if of[table] == name
        }

    @property
    def dialect(self) -> Dialect:
        raise CatalogError("tables of several engines have no SQL in common")

    def of_table(self, table: str) -> OpenEngine:
        """Return the engine of one table."""
        declared = self.catalog.table(table)
        if declared is None:
            raise CatalogError(f"there is no table {table!r}")
        return self._engines[self._of[declared.name]]

    def prepare(self, bounded: Bounded) -> None:
        """Refuse what no engine can carry out alone, and what its own cannot."""
        self._for(bounded).prepare(bounded)

    def load(self, bounded: Bounded) -> None:
        self._for(bounded).load(bounded)

    def run(
        self,
        bounded: Bounded,
        receipt: Receipt,
        *,
        salt: int,
        progress: Progress | None = None,
        deadline: float | None = None,
    ) -> Exact:
        try:
            engine = self._for(bounded)
        except Unsupported:
            raise SealedError from None
        return engine.run(bounded, receipt, salt=salt, progress=progress, deadline=deadline)

    def statement(self, bounded: Bounded, *, salt: int) -> Statement:
        return self._for(bounded).statement(bounded, salt=salt)

    def version(self, tables: Iterable[str]) -> str:
        names, told = list(tables), []
        for place, engine in self._engines.items():
            own = [table for table in names if self._of[self._declared(table)] == place]
            if own:
                told.append(engine.version(own))
        if len(told) == 1:  # as if there were no other engine
            return told[0]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    def public_values(self, table: str, column: str) -> tuple[Value, ...]:
        return self.of_table(table).public_values(table, column)

    def public_table(self, table: str) -> pa.Table:
        return self.of_table(table).public_table(table)

    def read(self, names: Iterable[str]) -> None:
        for name in names:
            self.of_table(name).read([name])

    def fetch(self, _sql: str, _bound: Sequence[Bound]) -> list[Any]:
        raise CatalogError("tables of several engines have no SQL in common")

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()

    def _declared(self, table: str) -> str:
        declared = self.catalog.table(table)
        if declared is None:
            raise CatalogError(f"there is no table {table!r}")
        return declared.name

    def _for(self, bounded: Bounded) -> OpenEngine:
        tables = sorted(tables_read(bounded.rows, self.catalog))
        held: dict[Place, str] = {}  # one table of each engine
        for table in tables:
            held.setdefault(self._of[table], table)
        if len(held) == 1:
            return self._engines[next(iter(held))]
        where = " and ".join(f"{table!r} in {name}" for (name, _), table in held.items())
        raise Unsupported(
            "join",
            f"the question needs tables that lie in different databases: {where}",
            why="rows of one database are never carried into another",
            hint="store them in one place, and declare them there",
        )
