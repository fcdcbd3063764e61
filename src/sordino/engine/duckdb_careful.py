# SPDX-License-Identifier: Apache-2.0
"""Parquet files that DuckDB cannot read without failing at some value, read through Arrow.

DuckDB turns moments in milliseconds into microseconds before any of our SQL sees them, and fails
where they do not fit; decimals of more than 38 digits become doubles. Which files are read here
depends on their schema alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sordino.errors import CatalogError
from sordino.query.arrow import plain, type_of
from sordino.query.catalog import Table
from sordino.query.types import Type

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 65_536  # that are converted at a time


class CarefulFiles:
    """Declared columns of Parquet files of one schema, as a stream that can be read many times.

    Every reading opens the files anew, so that several of them in one statement, or in several
    threads, do not meet.
    """

    def __init__(self, table: Table, files: tuple[str, ...], names: tuple[str, ...]) -> None:
        import pyarrow as pa  # pyarrow is loaded only where it reads
        import pyarrow.parquet as pq

        self._files, self._names = files, names
        self._columns = [column.name for column in table.columns]
        with pq.ParquetFile(files[0], coerce_int96_timestamp_unit="us") as file:
            held = file.schema_arrow
        fields, self._kinds = [], []
        for column, name in zip(table.columns, names, strict=True):
            arrow = held.field(name).type
            kind = _kind(arrow, column.type)
            if kind is None:
                raise CatalogError(
                    f"column {column.name!r} of table {table.name!r} is declared as {column.type}, "
                    f"but the file {files[0]!r} has {arrow}; declare what it holds, or leave the "
                    "column out"
                )
            self._kinds.append(kind)
            fields.append((column.name, _settled(pa.array([], arrow), kind).type))
        self._schema = pa.schema(fields)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new stream from the first row on; Arrow libraries ask for one by this name."""
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in self._files:
            with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
                for batch in file.iter_batches(_ROWS, columns=list(self._names)):
                    arrays = [
                        _settled(batch.column(name), kind)
                        for name, kind in zip(self._names, self._kinds, strict=True)
                    ]
                    yield pa.record_batch(arrays, schema=self._schema)


def _kind(arrow: pa.DataType, declared: Type) -> Type | None:
    """Return what a column is turned into here; SQL turns that into what is declared.

    Decimals that are declared whole numbers become such at once, for doubles would round them.
    """
    import pyarrow as pa

    if pa.types.is_null(arrow):
        return declared
    if pa.types.is_decimal(arrow) and declared is Type.INTEGER:
        return Type.INTEGER
    return type_of(arrow)


def _settled(array: Any, kind: Type) -> Any:
    """Return a column in the one Arrow type of its kind, so that all batches are alike."""
    import pyarrow as pa

    settled = plain(array, kind)
    return settled.cast(pa.large_string()) if kind is Type.TEXT else settled
