# SPDX-License-Identifier: Apache-2.0
"""What an engine is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sordino.engine.sealed import Sealed
from sordino.ledger.entry import Receipt
from sordino.plan.plan import Bounded

if TYPE_CHECKING:
    import pyarrow as pa

Exact: TypeAlias = "Sealed[tuple[pa.Table, ...]]"  # one table for each part
Progress: TypeAlias = "Callable[[float], None]"  # told how much is done, from 0 to 1


class Engine(Protocol):
    """Computes the parts of a bounded question; no receipt, no look.

    Whatever goes wrong after the charge is a SealedError, whose text is the same for all data.
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
        """Return one table of exact integers for each part, sealed.

        What takes longer than ``deadline`` seconds is ended, and is a SealedError.
        """
        ...

    def version(self, tables: Iterable[str]) -> str:
        """Return a name for the rows that tables have now: another one once they were written."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...
