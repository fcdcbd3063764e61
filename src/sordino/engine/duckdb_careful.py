# SPDX-License-Identifier: Apache-2.0
"""Parquet files that DuckDB cannot read without failing at some value, read through Arrow.

DuckDB turns moments in milliseconds into microseconds before any of our SQL sees them, and fails
where they do not fit; decimals of more than 38 digits become doubles. Which files are read here
for that depends on their schema alone. So are files read in which text was met that is not UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
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
    threads, do not meet. With ``texts`` the columns of these numbers become text where they are
    valid UTF-8, and the others stay as they are.
    """

    def __init__(
        self,
        table: Table,
        files: tuple[str, ...],
        names: tuple[str, ...],
        *,
        texts: frozenset[int] | None = None,
    ) -> None:
        import pyarrow as pa  # pyarrow is loaded only where it reads

        self._files, self._names = files, names
        self._columns = [column.name for column in table.columns]
        held, columns = _schemas(table, files[0])
        stored = {column.path: column for column in columns}
        fields, self._turns = [], list[Callable[[Any], Any]]()
        for place, (column, name) in enumerate(zip(table.columns, names, strict=True)):
            arrow = held.field(name).type
            if pa.types.is_decimal(arrow) and not _holds(arrow, stored[name]):
                raise CatalogError(
                    f"column {column.name!r} of table {table.name!r} holds decimals in the file "
                    f"{files[0]!r} that are stored in bytes of any number, or in more than a "
                    f"decimal of {arrow.precision} digits has, so that some cannot be read; write "
                    "them as numbers of 64 bits, or leave the column out"
                )
            if texts is not None:
                turn = _text if place in texts else _bare
            else:
                kind = _kind(arrow, column.type)
                if kind is None:
                    raise CatalogError(
                        f"column {column.name!r} of table {table.name!r} is declared as "
                        f"{column.type}, but the file {files[0]!r} has {arrow}; declare what it "
                        "holds, or leave the column out"
                    )
                turn = partial(_settled, kind=kind)
            self._turns.append(turn)
            fields.append((column.name, turn(pa.array([], arrow)).type))
        self._schema = pa.schema(fields)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new stream from the first row on; Arrow libraries ask for one by this name."""
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for path in self._files:
            with _opened(path) as file:
                for batch in file.iter_batches(_ROWS, columns=list(self._names)):
                    arrays = [
                        turn(batch.column(name)).cast(kind)  # which files may spell differently
                        for name, turn, kind in zip(
                            self._names, self._turns, self._schema.types, strict=True
                        )
                    ]
                    yield pa.record_batch(arrays, schema=self._schema)


def arrow_types(table: Table, path: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the types that Arrow gives to columns of a file, in words that tell them apart."""
    held, _ = _schemas(table, path)
    return tuple(str(held.field(name).type) for name in names)


def _schemas(table: Table, path: str) -> tuple[Any, list[Any]]:
    """Return what a file holds as Arrow has it, and how it is stored."""
    import pyarrow as pa

    try:
        with _opened(path) as file:
            return file.schema_arrow, [*map(file.schema.column, range(len(file.schema)))]
    except (pa.ArrowException, OSError):  # what it says may quote what is in the file
        raise CatalogError(
            f"table {table.name!r}: the schema of the file {path!r} is damaged, or has types that "
            "do not fit how they are stored; write the file anew"
        ) from None


def _opened(path: str) -> Any:
    """Open a file; of text with a dictionary Arrow would look at each entry, and fail."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us", binary_type=pa.large_binary())


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


def _bare(array: Any) -> Any:
    """Return a column as it is, in a type that DuckDB takes from Arrow as it does from a file."""
    import pyarrow as pa

    if pa.types.is_float16(array.type):
        return array.cast(pa.float32())
    return array.cast(pa.int64()) if pa.types.is_duration(array.type) else array
