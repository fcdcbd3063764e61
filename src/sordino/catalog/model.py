# SPDX-License-Identifier: Apache-2.0
"""What the owner declares: tables, who is protected, public bounds and keys, limits, the budget.

All of it is public. Nothing here is ever read off the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from sordino.errors import CatalogError
from sordino.numbers.rational import is_integer
from sordino.query.types import Range, Type, Value

if TYPE_CHECKING:
    from sordino.privacy.budget import Budget

LARGEST_LIMIT = 1_000_000  # weights of so many rows are still computed in 64 bits
EVERYBODY = "*"  # the name of all analysts that are not named
ROW = "row"  # the unit of a table in which every row is one person, or stands for itself


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file, or several that a pattern such as ``visits/*.parquet`` matches."""

    path: Path


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file with a header; its types are those of the declared columns.

    ``quote`` may be empty: then no character quotes. The formats say how days and moments are
    written, None for ISO 8601, and ``decimal`` how the fractions of real numbers are. ``nulls`` are
    texts that mean a missing value. A file that is not well-formed cannot be read, or, with
    ``malformed = "skip"``, each of its lines stands for itself and those that are not are left out.
    """

    path: Path
    separator: str = ","
    encoding: str = "utf-8"
    quote: str = '"'
    decimal: str = "."
    date_format: str | None = None
    timestamp_format: str | None = None
    nulls: tuple[str, ...] = ("",)
    malformed: str = "refuse"


@dataclass(frozen=True, slots=True)
class DuckdbTable:
    """A table of a DuckDB database file."""

    path: Path
    table: str


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A pandas, polars or Arrow table in memory, kept as Arrow; it is never shown."""

    table: Any = field(repr=False)  # pyarrow.Table


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A table of a PostgreSQL server: the address of a database, and ``schema.name``.

    ``version`` is a word of the owner for the rows that it has now; None for one of the server's.
    """

    address: str
    table: str
    version: str | None = None
    kind: ClassVar[str] = "postgres"

    @property
    def name(self) -> str:
        """What the table is called in its database."""
        return self.table


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table that Apache Spark reads: the address of a Spark Connect server, and a name or a path.

    ``form`` says what ``name`` is: ``table`` for ``catalog.schema.name``, else the format of the
    files at a path that the server knows: ``parquet``, ``delta`` or ``iceberg``. ``version`` is as
    for PostgreSQL.
    """

    address: str
    name: str
    form: str = "table"
    version: str | None = None
    kind: ClassVar[str] = "spark"


LocalSource: TypeAlias = ParquetFile | CsvFile | DuckdbTable | Frame
ServerTable: TypeAlias = PostgresTable | SparkTable
Source: TypeAlias = LocalSource | ServerTable


def file_of(source: Source) -> Path | None:
    """Return the file, or the pattern of files, that a table is read from, if it is read from one.

    >>> file_of(ParquetFile(Path("visits.parquet"))).name
    'visits.parquet'
    """
    return source.path if isinstance(source, ParquetFile | CsvFile | DuckdbTable) else None


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it is declared.

    ``bounds`` is a public interval for numbers (for days and moments: of their years). ``keys`` are
    the public values it may be grouped by, in the order answers have; ``keys_from`` names instead
    a column of a public table that holds them. With ``other``, rows with any other value form a
    group of that name.
    """

    name: str
    type: Type
    bounds: Range | None = None
    keys: tuple[Value, ...] | None = None
    keys_from: tuple[str, str] | None = None
    other: Value = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A path to the unit: ``column`` holds what ``parent_column`` of the table ``parent`` holds.

    The unit of a row is the unit of the parent's row; a row without a parent belongs to nobody and
    is left out.
    """

    column: str
    parent: str
    parent_column: str


DEFAULT_ROWS = 10  # of one unit that count in full where nothing is stated


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of one unit counts.

    ``rows``: a unit with more rows than this counts with so many, each row with an equal part.
    ``groups``: at most so many groups of a unit count. ``rows_per_group``: the same as ``rows``
    within each group. None means that nothing was stated.
    """

    rows: int | None = None
    groups: int | None = None
    rows_per_group: int | None = None


def read_limits(
    *, rows: object = None, groups: object = None, rows_per_group: object = None
) -> Limits:
    """Read how much of one unit counts; raises ValueError for what is no limit."""
    return Limits(
        rows=_limit("rows", rows),
        groups=_limit("groups", groups),
        rows_per_group=_limit("rows_per_group", rows_per_group),
    )


def _limit(name: str, value: object) -> int | None:
    if value is None:
        return None
    if not is_integer(value) or not 1 <= value <= LARGEST_LIMIT:
        raise ValueError(
            f"limits: {name} must be a whole number from 1 to {LARGEST_LIMIT:,}, got {value!r}"
        )
    return int(value)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: where it lies, its columns, and whom its rows belong to.

    A public table has ``public=True`` and no unit. Otherwise ``unit`` is the column that holds the
    person's id, or ``"row"``, or there is a foreign key that leads to one. ``people`` names the id
    space: tables of one id space are about the same people, share their budget and can be joined.
    """

    name: str
    source: Source
    columns: tuple[Column, ...]
    unit: str | None = None
    parent: ForeignKey | None = None
    people: str = "people"
    limits: Limits = Limits()
    public: bool = False

    def column(self, name: str) -> Column | None:
        """Return the column of a name, in any case of letters, or None."""
        wanted = name.casefold()
        return next((c for c in self.columns if c.name.casefold() == wanted), None)

    @property
    def each_row(self) -> bool:
        """Tell whether every row stands for itself."""
        return self.unit == ROW


@dataclass(frozen=True, slots=True)
class Purse:
    """What may be spent: a budget in one currency, and beside it a ``delta`` for discovering keys.

    ``slack`` is the part of the total delta that key selection may spend; the budget has the rest.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: all answers together keep to the budget's epsilon and to the sum of both deltas, even
            if every question is chosen after seeing the earlier answers.
        Numerics: sums of integers, prices rounded up.
        Proof: docs/proofs/queries.md, theorem 6.
    """

    budget: Budget
    slack: Fraction = Fraction(0)
    question: Fraction | None = None  # the part of the budget that one question may cost


@dataclass(frozen=True, slots=True)
class Analyst:
    """What one analyst may spend, in parts of every budget; ``"*"`` is everybody not named.

    ``share`` is the most they may spend, None for no limit of their own, and ``reserved`` what
    nobody else may spend. Where analysts are named and ``"*"`` is not, others may spend nothing.
    """

    name: str
    share: Fraction | None = None
    reserved: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Book:
    """Where the ledger is kept.

    ``place`` is a file for SQLite, or the address of a PostgreSQL database; ``anchor`` a file that
    remembers the newest entries, and ``key`` one that holds the owner's key for their hashes.
    """

    place: Path | str
    anchor: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """Where the owner's log is, None for no log, and what goes there: errors, or warnings too."""

    file: Path | None
    level: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class Serving:
    """How questions are served to analysts who do not hold the data; all of it is public.

    A fresh answer leaves when a ``slot`` of so many seconds is over, None for at once, and is ended
    after ``deadline`` slots. ``resume`` answers, once, what was charged and had no answer when the
    keeper began. One question that costs more than ``approve_above`` in the currency of its budget
    must be approved, by so many ``approvers``. ``show_all`` lets analysts see what is left in all.
    ``rate`` is how many requests a person may send in a second.
    """

    slot: Fraction | None = Fraction(1)
    deadline: int = 30
    resume: bool = False
    approve_above: Fraction | None = None
    approvers: int = 1
    show_all: bool = False
    rate: int = 20


@dataclass(frozen=True, slots=True)
class Catalog:
    """All that is declared; names are unique in any case of letters."""

    tables: tuple[Table, ...]
    purses: tuple[tuple[str, Purse], ...] = ()  # by id space
    path: Path | None = None
    analysts: tuple[Analyst, ...] = ()
    book: Book | None = None  # None: in the memory of the process
    log: Log | None = None  # None: beside the ledger
    serving: Serving = Serving()

    def table(self, name: str) -> Table | None:
        """Return the table of a name, in any case of letters, or None."""
        wanted = name.casefold()
        return next((t for t in self.tables if t.name.casefold() == wanted), None)

    def purse(self, people: str) -> Purse:
        """Return what may be spent on the people of an id space."""
        for name, purse in self.purses:
            if name == people:
                return purse
        raise CatalogError(f"no budget is declared for {people!r}")
