# SPDX-License-Identifier: Apache-2.0
"""Parquet files of which DuckDB cannot read some columns without failing at some value.

DuckDB turns moments in milliseconds into microseconds before any of our SQL sees them, and fails
where they do not fit; decimals of more than 38 digits become doubles; and it fails at text that is
not UTF-8. Arrow reads such columns. It reads no others: of whole numbers that DuckDB writes there
are some that Arrow fails at. So each column of a file has one reader, which its type decides, but
for text, which Arrow reads once some of it turned out not to be UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from sordino.catalog.arrow import plain, type_of
from sordino.catalog.model import Table
from sordino.engine.compile.dialect import literal, quoted
from sordino.engine.compile.text import select
from sordino.errors import CatalogError
from sordino.query.types import Type

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_ROWS = 65_536  # that are converted at a time


class CarefulFiles:
    """Declared columns of Parquet files of one schema, as a stream that can be read many times.

    Every reading opens the files anew, so that several of them in one statement, or in several
    threads, do not meet. The columns at the places ``careful`` and ``texts`` are read through
    Arrow, and text that is not valid UTF-8 is missing there. DuckDB reads all others, on cursors of
    a connection that nobody else uses, row by row beside them.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: Table,
        files: tuple[str, ...],
        names: tuple[str, ...],
        *,
        texts: frozenset[int],
        careful: frozenset[int] = frozenset(),
    ) -> None:
        import pyarrow as pa  # pyarrow is loaded only where it reads

        self._connection, self._files = connection, files
        self._turns: dict[str, tuple[str, Callable[[Any], Any]]] = {}  # by the declared name
        kinds: dict[str, pa.DataType] = {}
        beside: list[str] = []
        for place, (column, name) in enumerate(zip(table.columns, names, strict=True)):
            if place not in texts and place not in careful:
                beside.append(f"{quoted(name)} AS {quoted(column.name)}")
        for path in files:
            held, columns = _schemas(table, path)
            for place, (column, name) in enumerate(zip(table.columns, names, strict=True)):
                if place not in texts and place not in careful:
                    continue
                arrow = held.field(name).type
                said = f"column {column.name!r} of table {table.name!r}"
                _check_path(said, path, name, columns)
                _check_decimal(said, path, arrow, columns, name)
                kind = Type.TEXT if place in texts else _kind(arrow, column.type)
                turn = _text if place in texts else partial(_settled, kind=kind or column.type)
                try:
                    turned = turn(pa.array([], arrow))
                    turned.cast(kinds.setdefault(column.name, turned.type))
                except (CatalogError, pa.ArrowException):
                    kind = None
                if kind is None:
                    raise CatalogError(
                        f"{said} is declared as {column.type}, but the file {path!r} has {arrow}; "
                        "declare what it holds, or leave the column out"
                    )
                self._turns.setdefault(column.name, (name, turn))
        self._beside = beside
        if beside:
            with self._connection.cursor() as cursor:
                empty = cursor.sql(f"{self._selected(files[0])} LIMIT 0").to_arrow_table()
            kinds |= {field.name: field.type for field in empty.schema}
        self._schema = pa.schema([(column.name, kinds[column.name]) for column in table.columns])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new stream from the first row on; Arrow libraries ask for one by this name."""
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _selected(self, path: str) -> str:
        return select(self._beside, scan_of([path]))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = [name for name, _ in self._turns.values()]
        for path in self._files:
            with _opened(path) as file, self._connection.cursor() as cursor:
                beside = _Beside(cursor, self._selected(path)) if self._beside else None
                for batch in file.iter_batches(_ROWS, columns=names):
                    arrays = {} if beside is None else beside.next(batch.num_rows)
                    for column, (name, turn) in self._turns.items():
                        kind = self._schema.field(column).type
                        # Files may spell one type differently.
                        arrays[column] = turn(batch.column(name)).cast(kind)
                    ordered = [arrays[column] for column in self._schema.names]
                    yield pa.record_batch(ordered, schema=self._schema)
                if beside is not None:
                    beside.check_end()


class _Beside:
    """Rows that DuckDB reads in the order of the file, as many at a time as are asked for."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, text: str) -> None:
        self._reader = cursor.sql(text).to_arrow_reader(_ROWS)
        self._rest: Any = None

    def next(self, rows: int) -> dict[str, Any]:
        """Return the columns of the next rows, by name."""
        import pyarrow as pa

        parts = []
        while rows:
            if not self._rest:
                self._rest = self._reader.read_next_batch()  # there are more, or the file changed
            parts.append(self._rest.slice(0, rows))
            self._rest = self._rest.slice(rows)
            rows -= parts[-1].num_rows
        schema = self._reader.schema
        arrays = [
            pa.concat_arrays([part.column(place) for part in parts] or [pa.array([], field.type)])
            for place, field in enumerate(schema)
        ]
        return dict(zip(schema.names, arrays, strict=True))

    def check_end(self) -> None:
        """Refuse a file that changed between the two readers, of which one has more rows."""
        if self._rest or any(len(batch) for batch in self._reader):
            raise ValueError("a file was written while it was being read")


def scan_of(files: Iterable[str]) -> str:
    """Return a scan of files that takes nothing from the names of folders."""
    listed = ", ".join(map(literal, files))
    return (
        f"read_parquet([{listed}], hive_partitioning = false, union_by_name = false, "
        "int96_as = 'timestamp', can_have_nan = true, utf8_validation = 'strict')"
    )


def chunks_of(table: Table, path: str) -> set[tuple[str, str, str, tuple[str, ...]]]:
    """Return name, physical type, codec and encodings of all columns, wherever these differ.

    Arrow tells them, because DuckDB tells them together with statistics, of which some cannot be
    shown: these are values of rows.
    """
    file = _readable(table, path)
    with file:
        metadata = file.metadata
        chunks = (
            metadata.row_group(group).column(place)
            for group in range(metadata.num_row_groups)
            for place in range(metadata.num_columns)
        )
        return {
            (chunk.path_in_schema, chunk.physical_type, chunk.compression, chunk.encodings)
            for chunk in chunks
        }


def _schemas(table: Table, path: str) -> tuple[Any, list[Any]]:
    """Return what a file holds as Arrow has it, and how it is stored."""
    with _readable(table, path) as file:
        return file.schema_arrow, [*map(file.schema.column, range(len(file.schema)))]


def _readable(table: Table, path: str) -> Any:
    """Open a file; one whose schema Arrow cannot make sense of is refused."""
    import pyarrow as pa

    try:
        file = _opened(path)
        file.schema_arrow  # noqa: B018 - it is made here, and may fail
    except (pa.ArrowException, OSError):  # what it says may quote what is in the file
        raise CatalogError(
            f"table {table.name!r}: the schema of the file {path!r} is damaged, or has types that "
            "do not fit how they are stored; write the file anew"
        ) from None
    return file


def _opened(path: str) -> Any:
    """Open a file; of text with a dictionary Arrow would look at each entry, and fail."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us", binary_type=pa.large_binary())


def _check_path(said: str, file: str, name: str, columns: list[Any]) -> None:
    """Refuse a name with a dot that also leads to a column within another, which Arrow would read.

    Arrow takes what is within a column by such names, and may fail at it.
    """
    if (
        "." in name
        and sum(one.path == name or one.path.startswith(f"{name}.") for one in columns) > 1
    ):
        raise CatalogError(
            f"{said} has a name in the file {file!r} that is also that of a column within another; "
            "rename it"
        )


def _check_decimal(said: str, file: str, arrow: Any, columns: list[Any], name: str) -> None:
    """Refuse decimals of which some could not be read."""
    import pyarrow as pa

    stored = next(column for column in columns if column.path == name)
    if pa.types.is_decimal(arrow) and not _holds(arrow, stored):
        raise CatalogError(
            f"{said} holds decimals in the file {file!r} that are stored in bytes of any number, "
            f"or in more than a decimal of {arrow.precision} digits has, so that some cannot be "
            "read; write them as numbers of 64 bits, or leave the column out"
        )


def _holds(arrow: pa.DataType, stored: Any) -> bool:
    """Tell whether each stored value is a decimal of its type; of which precision is tested later.

    Arrow fails at bytes that are too long for it, and at none at all.
    """
    if stored.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return bool(stored.length <= arrow.byte_width)
    return stored.physical_type in ("INT32", "INT64")


def _kind(arrow: pa.DataType, declared: Type) -> Type | None:
    """Return what a column is turned into here; SQL turns that into what is declared.

    Decimals that are declared whole numbers become such at once, for doubles would round them, and
    whole numbers that are declared real ones, for not all of them have 64 bits with a sign.
    """
    import pyarrow as pa

    if pa.types.is_null(arrow):
        return declared
    if pa.types.is_decimal(arrow) and declared is Type.INTEGER:
        return Type.INTEGER
    kind = type_of(arrow)
    return Type.REAL if kind is Type.INTEGER and declared is Type.REAL else kind


def _settled(array: Any, kind: Type) -> Any:
    """Return a column in the one Arrow type of its kind, so that all batches are alike."""
    import pyarrow as pa

    settled = plain(array, kind)
    return settled.cast(pa.large_string()) if kind is Type.TEXT else settled


def _text(array: Any) -> Any:
    """Return text, also of columns that Arrow has as bytes; what is not UTF-8 is missing."""
    import pyarrow as pa

    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        array = array.cast(pa.large_binary()).view(pa.large_string())
    return _settled(array, Type.TEXT)
