# SPDX-License-Identifier: Apache-2.0
"""Tables that Spark reads: their schemas, their files, and a view of each with plain names.

A view has the files that were there when it was made. Which these are is told by their names,
lengths and times, in one word that Spark computes, so that no listing comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sordino.catalog.model import Catalog, SparkTable, Table
from sordino.catalog.servers import names_in
from sordino.engine.spark.columns import family, type_of
from sordino.engine.spark.connection import Connection
from sordino.errors import CatalogError
from sordino.query.types import Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STORED = ("MANAGED", "EXTERNAL")  # tables whose rows lie somewhere, and are not computed
_LISTED = ("parquet",)  # providers whose rows are those of the files that Spark tells
_READ_AS_WRITTEN = {
    "recursiveFileLookup": "true",  # names of folders are no columns
    "mergeSchema": "true",  # what differs between files is refused before a row is read
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
_WORD = "sha2(concat_ws('\n', sort_array(collect_list(concat_ws(' ', {0})))), 256) AS word"
_WRITTEN = "path, unix_micros(modificationTime)"  # which does not differ by what a person adds


@dataclass(frozen=True, slots=True)
class Source:
    """A table, the types that its declared columns have in Spark, and how its version is told.

    ``is_listed`` if it is told by its files; else by a word of the owner's.
    """

    table: Table
    source: SparkTable
    held: Mapping[str, str]
    is_listed: bool

    @property
    def doubtful(self) -> tuple[str, ...]:
        """The columns of its view that may hold more than Spark can read."""
        return tuple(
            f"c{place}"
            for place, column in enumerate(self.table.columns)
            if family(self.held[column.name]) in ("timestamp", "timestamp_ntz", "decimal")
        )

    def view(self, connection: Connection, name: str) -> str:
        """Make the view anew, of the rows that are there now, and return a word for these.

        Raises CatalogError if its columns have other types than at the opening.
        """
        before = self.stamp(connection)
        frame = _frame(connection, self.source)
        if _held(self.table, frame) != self.held:
            raise CatalogError(
                f"the columns of table {self.table.name!r} have changed; open the catalog again"
            )
        connection.view(name, _plain(self.table, frame))
        return before

    def stamp(self, connection: Connection) -> str:
        """Return a word for the rows that the table has now, which is told to nobody."""
        return self._word(connection, f"{_WRITTEN}, length")

    def version(self, connection: Connection) -> str:
        """Return a word for the rows by when they were written, which goes into the ledger."""
        return self._word(connection, _WRITTEN)

    def _word(self, connection: Connection, told: str) -> str:
        if not self.is_listed:
            return str(self.source.version)
        if self.source.form == "parquet":
            return _word(connection, [self.source.name], told)
        return _word(connection, list(_frame(connection, self.source).inputFiles()), told)


def own_tables(catalog: Catalog, address: str) -> list[tuple[int, Table, SparkTable]]:
    """Return the tables of a catalog that one server reads, each with its place there."""
    return [
        (place, table, table.source)
        for place, table in enumerate(catalog.tables)
        if isinstance(table.source, SparkTable) and table.source.address == address
    ]


def source_of(connection: Connection, table: Table, source: SparkTable) -> Source:
    """Look at the schema of a table and say how it is read; no row is read."""
    is_listed = source.version is None
    if source.form == "table":
        provider = _provider(connection, table, source)
        if is_listed and provider not in _LISTED:
            raise CatalogError(
                f"table {table.name!r}: Spark tells no files of a table of {provider}, by which a "
                'change of its rows could be told; say version = "...", another one whenever '
                "they change"
            )
    elif source.form != "parquet":
        raise CatalogError(
            f"table {table.name!r}: a path of {source.form} is not read; register it as a table "
            "of the server's catalog, and declare that"
        )
    try:
        held = _held(table, _frame(connection, source))
    except CatalogError:
        raise
    except Exception as error:
        raise CatalogError(f"table {table.name!r}: {unread(error)}") from None
    return Source(table, source, held, is_listed)


def schema_of(connection: Connection, source: SparkTable) -> list[tuple[str, str]]:
    """Return the names and types of all columns; no row is read."""
    return _schema(_frame(connection, source))


def unread(error: Exception) -> str:
    """Say why Spark cannot open something, before any row of it is read."""
    return f"Spark cannot read it: {str(error).partition(chr(10))[0]}"


def quoted(name: str) -> str:
    """Return a name as Spark has it, whatever characters it has.

    >>> quoted("odd`name")
    '`odd``name`'
    """
    return "`" + name.replace("`", "``") + "`"


def _frame(connection: Connection, source: SparkTable) -> DataFrame:
    session = connection.session
    if source.form == "parquet":
        return session.read.options(**_READ_AS_WRITTEN).parquet(source.name)
    name = ".".join(map(quoted, names_in(source.name)))
    session.catalog.refreshTable(name)
    return session.table(name)


def _schema(frame: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]


def _held(table: Table, frame: DataFrame) -> dict[str, str]:
    columns = _schema(frame)
    names = [name for name, _ in columns]
    held: dict[str, str] = {}
    for column in table.columns:
        if names.count(column.name) != 1:
            many = "more than one column" if column.name in names else "no column"
            raise CatalogError(
                f"table {table.name!r} has {many} {column.name!r}; Spark has {', '.join(names)}"
            )
        held[column.name] = dict(columns)[column.name]
    return held


def _plain(table: Table, frame: DataFrame) -> DataFrame:
    """Return the declared columns as c0, c1, ...: by place, so that no name is read as SQL."""
    columns = _schema(frame)
    names = [name for name, _ in columns]
    every = frame.toDF(*(f"a{place}" for place in range(len(names))))
    chosen = []
    for place, column in enumerate(table.columns):
        text = f"a{names.index(column.name)}"
        if type_of(dict(columns)[column.name]) is Type.TEXT:  # what is no text is missing
            text = f"try_validate_utf8({text})"
        chosen.append(f"{text} AS c{place}")
    return every.selectExpr(*chosen)


def _provider(connection: Connection, table: Table, source: SparkTable) -> str:
    """Return what keeps the rows of a table; what computes them is refused."""
    name = ".".join(map(quoted, names_in(source.name)))
    try:
        told: list[dict[str, Any]] = connection.rows(f"DESCRIBE TABLE EXTENDED {name}").to_pylist()
    except Exception as error:
        raise CatalogError(f"table {table.name!r}: {unread(error)}") from None
    heads = [row["col_name"].startswith("# Detailed") for row in told]
    facts = {row["col_name"]: row["data_type"] for row in told[heads.index(True) :]}
    if facts.get("Type") not in _STORED:
        raise CatalogError(
            f"table {table.name!r}: {source.name!r} is a view, which may mix rows of several "
            "people or fail on a value; store its rows, by CREATE TABLE ... AS, and declare that"
        )
    return str(facts.get("Provider", "unknown")).lower()


def _word(connection: Connection, places: list[str], told: str) -> str:
    files = connection.session.read.format("binaryFile").option("recursiveFileLookup", "true")
    (row,) = files.load(places).selectExpr(_WORD.format(told)).toArrow().to_pylist()
    return str(row["word"])
