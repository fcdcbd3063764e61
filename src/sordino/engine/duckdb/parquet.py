# SPDX-License-Identifier: Apache-2.0
"""Parquet files of one table: what their footers say, and how files of each schema are read.

Files that one program writes month by month often differ: a column without a missing value is of
whole numbers, and one with them is of doubles. The reader of DuckDB takes the types of the first
file and casts the others, and a cast fails. So files are sorted by schema, and each kind of file is
read by a SELECT of its own that turns its columns into the declared types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb

from sordino.catalog.arrow import plain, type_of
from sordino.catalog.model import Table
from sordino.engine.compile.dialect import inner, literal, quoted, select
from sordino.engine.duckdb.columns import MOMENTS, Base, check_fit, held_of, typed
from sordino.engine.duckdb.dialect import DUCKDB
from sordino.errors import CatalogError
from sordino.query.types import Type

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 65_536  # that are converted at a time
_INT96 = "INT96"
_TEXT, _UUID = "VARCHAR", "UUID"
_DECIMAL = re.compile(r"DECIMAL\((\d+),\d+\)")
_BYTES = ((4, 2), (9, 4), (18, 8), (38, 16))  # in which DuckDB keeps decimals, by their digits
_LONGEST = 16  # bytes
_FEW_BITS = re.compile(r"IntType\(bitWidth=(\x08|\x10|8|16),")  # DuckDB shows the bare byte
_SIZES = {"INT32": 4, "INT64": 8}
_NARROW = ("TINYINT", "SMALLINT", "UTINYINT", "USMALLINT")
_MOMENT = ("INT64", _INT96)
_STORED = {  # how a type may be stored; where it is not so, bytes of other rows could be read
    **dict.fromkeys((*_NARROW, "INTEGER", "UINTEGER", "DATE"), ("INT32",)),
    **dict.fromkeys(("BIGINT", "UBIGINT"), ("INT64",)),
    **dict.fromkeys((*MOMENTS,), _MOMENT),
    "FLOAT": ("FLOAT", "FIXED_LEN_BYTE_ARRAY"),
    "BOOLEAN": ("BOOLEAN",),
    "VARCHAR": ("BYTE_ARRAY",),
    "UUID": ("FIXED_LEN_BYTE_ARRAY",),
}
_LENGTHS = {"FLOAT": 2, "UUID": 16}  # of what is stored in bytes
_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4")
_FOOTER = (
    "name",
    "type",
    "num_children",
    "converted_type",
    "logical_type",
    "duckdb_type",
    "precision",
    "type_length",
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A column as a footer has it; files with the same entries are read alike."""

    name: str
    physical: str | None
    converted: str | None
    logical: str | None
    held: str
    digits: int | None
    length: int | None  # in bytes, where it is fixed
    is_split: bool = False  # of fixed length, and its bytes are apart, which DuckDB does not read

    @property
    def is_careful(self) -> bool:
        """Tell whether DuckDB would convert it on the way, and fail or round where it does not fit.

        Milliseconds beyond all microseconds fail. Decimals that are stored in more bytes than
        DuckDB keeps them in lose the others, or fail, and long ones would become doubles; of those
        in as many bytes as a number of 128 bits has, the least one has no double. Moments of 96
        bits mean other things to Arrow, and it reads them in all files.
        """
        milliseconds = self.converted == "TIMESTAMP_MILLIS" or "MILLIS=Milli" in (
            self.logical or ""
        )
        decimal = _DECIMAL.fullmatch(self.held)
        if decimal:
            most = next(size for digits, size in _BYTES if int(decimal[1]) <= digits)
            stored = _SIZES.get(str(self.physical), self.length)
            return self.is_split or stored is None or stored > most or stored >= _LONGEST
        long = self.held == "DOUBLE" and self.physical != "DOUBLE"
        return milliseconds or long or self.is_split or self.physical == _INT96

    @property
    def is_narrow(self) -> bool:
        """Tell whether whole numbers are stored in more bits than their type has.

        DuckDB and Arrow both leave the others out, so that two numbers could become one.
        """
        return self.held in _NARROW or bool(_FEW_BITS.search(self.logical or ""))

    @property
    def fits(self) -> bool:
        """Tell whether it is stored as values of its type are."""
        is_stored = self.physical in _STORED.get(self.held, (self.physical,))
        in_bytes = self.physical == "FIXED_LEN_BYTE_ARRAY" and self.held in _LENGTHS
        return is_stored and (not in_bytes or self.length == _LENGTHS[self.held])


@dataclass(frozen=True, slots=True)
class ParquetDoor:
    """How a table of Parquet files is read.

    ``view`` is a SELECT of the declared columns. ``frames`` are what it reads from besides files,
    by name, on a ``connection`` that is used for nothing else.
    """

    table: Table
    view: str
    base: Base
    connection: duckdb.DuckDBPyConnection = field(repr=False)
    frames: Mapping[str, Any] = field(repr=False)
    parts: tuple[_Part, ...] = field(repr=False)
    is_settled: bool  # the view casts to the declared types, for its parts have others

    @property
    def probes(self) -> dict[str, str]:
        """Return, for each file with text that DuckDB reads, a SELECT that reads all of its text.

        It fails if some of it is not UTF-8. Of what is read the engine knows nothing beforehand.
        """
        found: dict[str, str] = {}
        for part in self.parts:
            texts = [DUCKDB.opaque.format(quoted(part.names[place])) for place in part.places]
            if texts:
                read = f"bit_xor(hash({', '.join(texts)}))"
                found |= {file: select([read], scan_of([file])) for file in part.files}
        return found

    def patched(self, broken: frozenset[str]) -> tuple[str, dict[str, Any]]:
        """Return a view in which text of some files may be anything, and what it reads from.

        The text of these files is read through Arrow, where it is missing if it is not UTF-8. All
        other columns are read as before, and the types of all are the same.
        """
        frames = dict(self.frames)
        views: list[str] = []
        for part in self.parts:
            stay = [file for file in part.files if file not in broken]
            if len(stay) == len(part.files) or not part.places:
                views.append(self._shown(part, part.view))
                continue
            if stay:
                views.append(self._shown(part, part.read(stay)))
            gone = tuple(file for file in part.files if file in broken)
            frames[part.spare] = CarefulFiles(
                self.connection, self.table, gone, part.names, texts=part.places
            )
            views.append(self._shown(part, part.patched))
        return "\nUNION ALL\n".join(views), frames

    def _shown(self, part: _Part, view: str) -> str:
        return _settled(self.table, view, part.held, self.base.ids) if self.is_settled else view


def parquet_door(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    name: str,
    files: tuple[str, ...],
    ids: frozenset[str],
) -> ParquetDoor:
    """Read the footers of all files, and no row; refuse what does not fit, and name the file."""
    groups: dict[tuple[_Entry, ...], list[str]] = {}
    for file, entries in _footers(connection, table, files).items():
        groups.setdefault(_declared(table, file, entries), []).append(file)
    frames: dict[str, Any] = {}
    parts: list[_Part] = []
    for place, (schema, alike) in enumerate(groups.items()):
        part = _Alike(connection, table, f"{name}p{place}", tuple(alike), schema).part()
        for column, entry in zip(table.columns, schema, strict=True):
            is_id = column.name in ids
            if is_id:
                _check_id(table, column.name, alike[0], entry)
            try:
                if entry.physical == "BYTE_ARRAY" and not entry.is_careful:
                    check_fit(table.name, column.name, column.type, entry.held, is_id=is_id)
                check_fit(table.name, column.name, column.type, part.held[column.name], is_id=is_id)
            except CatalogError as error:
                raise CatalogError(f"{error} (in the file {alike[0]!r})") from None
        frames |= part.frames
        parts.append(part)
    if len(parts) == 1:
        (part,) = parts
        base = Base(name, part.held, ids)
        return ParquetDoor(table, part.view, base, connection, frames, (part,), is_settled=False)
    views = "\nUNION ALL\n".join(_settled(table, part.view, part.held, ids) for part in parts)
    types = {column.name: DUCKDB.types[column.type] for column in table.columns}
    base = Base(name, types, ids)
    return ParquetDoor(table, views, base, connection, frames, tuple(parts), is_settled=True)


def _check_id(table: Table, column: str, file: str, entry: _Entry) -> None:
    """Refuse ids of types in which several stored values may be one."""
    said = f"column {column!r} of table {table.name!r} holds ids, but in the file {file!r} it is "
    if entry.physical == _INT96:
        raise CatalogError(f"{said}of type INT96, of which some stand for one moment")
    if entry.is_narrow:
        raise CatalogError(
            f"{said}of whole numbers of 8 or 16 bits, which are stored in 32 of which only those "
            "are read; write it with 32 or 64 bits"
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """How files of one schema are read, and which types their declared columns have.

    ``names`` are those that the files have for the declared columns, and ``places`` are of those
    that DuckDB reads as text. ``spare`` is what files are called that are read otherwise.
    """

    view: str
    held: Mapping[str, str]
    frames: Mapping[str, Any]
    files: tuple[str, ...]
    chosen: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    places: frozenset[int] = frozenset()
    spare: str = ""

    def read(self, files: Iterable[str]) -> str:
        """Return a SELECT of the declared columns of some files, read by DuckDB."""
        return select(self.chosen, scan_of(files))

    @property
    def patched(self) -> str:
        """A SELECT of the declared columns where text is read through Arrow.

        All columns pass through Arrow then, which has UUIDs as text.
        """
        names = {name: quoted(name) for name in self.held}
        return select(
            [
                f"CAST({names[name]} AS {_UUID}) AS {names[name]}" if kind == _UUID else names[name]
                for name, kind in self.held.items()
            ],
            self.spare,
        )


@dataclass(frozen=True, slots=True)
class _Alike:
    """Files of one schema, whose declared columns have these entries."""

    connection: duckdb.DuckDBPyConnection
    table: Table
    name: str
    files: tuple[str, ...]
    entries: tuple[_Entry, ...]

    def part(self) -> _Part:
        """Return how they are read: by DuckDB, where it reads all that Arrow does, else by both."""
        if any(entry.is_careful for entry in self.entries):
            return self._careful()
        names = self._stored()
        columns = zip(self.table.columns, names, strict=True)
        chosen = tuple(f"{quoted(held)} AS {quoted(column.name)}" for column, held in columns)
        view = select(chosen, scan_of(self.files))
        held = _held(self.connection, view)
        texts = frozenset(place for place, kind in enumerate(held.values()) if kind == _TEXT)
        part = _Part(view, held, {}, self.files, chosen, names, texts, f"{self.name}x")
        if not texts:
            return part
        reader = CarefulFiles(self.connection, self.table, self.files, names, texts=texts)
        try:
            self.connection.register(part.spare, reader)
            is_alike = _held(self.connection, part.patched) == held
        except duckdb.Error:  # a type of Arrow that DuckDB does not take
            is_alike = False
        return part if is_alike else self._careful()

    def _careful(self) -> _Part:
        """Return how files are read of which Arrow reads all text, and what DuckDB fails at."""
        placed = list(enumerate(self.entries))
        texts = frozenset(place for place, entry in placed if entry.held == _TEXT)
        careful = frozenset(place for place, entry in placed if entry.is_careful)
        names = self._stored()
        reader = CarefulFiles(
            self.connection, self.table, self.files, names, texts=texts, careful=careful
        )
        self.connection.register(self.name, reader)
        view = select(_names(self.table), self.name)
        return _Part(view, _held(self.connection, view), {self.name: reader}, self.files)

    def _stored(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.entries)


def _names(table: Table) -> list[str]:
    return [quoted(column.name) for column in table.columns]


def _settled(table: Table, view: str, held: Mapping[str, str], ids: frozenset[str]) -> str:
    return select(typed(table, held, ids), inner(view))


def _held(connection: duckdb.DuckDBPyConnection, view: str) -> dict[str, str]:
    relation = connection.sql(view)
    return dict(zip(relation.columns, map(held_of, relation.types), strict=True))


def _footers(
    connection: duckdb.DuckDBPyConnection, table: Table, files: tuple[str, ...]
) -> dict[str, list[_Entry]]:
    """Return the columns of each file; those within others are part of them."""
    found: dict[str, list[_Entry]] = {}
    for file in files:
        text = select(_FOOTER, f"parquet_schema({literal(file)})")
        try:
            rows = connection.execute(text).fetchall()
        except duckdb.Error:
            raise CatalogError(
                f"table {table.name!r}: {file!r} is not a Parquet file, or it is damaged"
            ) from None
        split = _check_readable(connection, table, file)
        found[file] = [replace(entry, is_split=entry.name in split) for entry in _top(rows)]
    return found


def _check_readable(
    connection: duckdb.DuckDBPyConnection, table: Table, file: str
) -> frozenset[str]:
    """Refuse what cannot be read, before any charge, and return what DuckDB alone cannot read."""
    text = select(["encryption_algorithm"], f"parquet_file_metadata({literal(file)})")
    try:
        is_encrypted = connection.execute(text).fetchall() != [(None,)]
    except duckdb.Error:  # the key's name is given as text, which it need not be
        is_encrypted = True
    if is_encrypted:
        raise CatalogError(
            f"table {table.name!r}: the file {file!r} is encrypted, and nothing here has its key; "
            "write it without encryption"
        )
    split = set()
    for name, physical, codec, encodings in chunks_of(table, file):
        if codec not in _CODECS:
            raise CatalogError(
                f"table {table.name!r}: the file {file!r} is compressed in a way that cannot be "
                "read; write it with ZSTD or SNAPPY"
            )
        if physical == "FIXED_LEN_BYTE_ARRAY" and "BYTE_STREAM_SPLIT" in encodings:
            split.add(name)
    return frozenset(split)


def _top(rows: list[tuple[Any, ...]]) -> list[_Entry]:
    entries: list[_Entry] = []
    place = 1
    while place < len(rows):
        name, physical, _, converted, logical, held, digits, length = rows[place]
        length = None if length is None else int(length)
        entries.append(_Entry(name, physical, converted, logical, str(held), digits, length))
        left = 1
        while left:  # past all that is within it
            left += (rows[place][2] or 0) - 1
            place += 1
    return entries


def _declared(table: Table, file: str, entries: list[_Entry]) -> tuple[_Entry, ...]:
    """Return the entries of the declared columns; no two columns may have one name.

    DuckDB gives another name to the second of two, which a third column may have.
    """
    names: set[str] = set()
    for entry in entries:
        if entry.name.lower() in names:
            raise CatalogError(
                f"table {table.name!r}: the file {file!r} has several columns that are called "
                f"{entry.name!r}, or differ from it in upper and lower case alone; rename them"
            )
        names.add(entry.name.lower())
    chosen = []
    for column in table.columns:
        alike = [entry for entry in entries if entry.name.lower() == column.name.lower()]
        if not alike:
            raise CatalogError(
                f"table {table.name!r}: the file {file!r} has no column {column.name!r}; it has "
                f"{', '.join(entry.name for entry in entries)}"
            )
        if not alike[0].fits:
            raise CatalogError(
                f"table {table.name!r}: in the file {file!r} the column {column.name!r} is of type "
                f"{alike[0].held}, which is not what is stored there; write the file anew"
            )
        chosen.append(alike[0])
    return tuple(chosen)


# Columns that Arrow reads. ------------------------------------------------------------------------
#
# Of some Parquet files DuckDB cannot read all columns without failing at some value. It turns
# moments in milliseconds into microseconds before any of our SQL sees them, and fails where they do
# not fit; decimals of more than 38 digits become doubles; and it fails at text that is not UTF-8.
# Arrow reads such columns. It reads no others: of whole numbers that DuckDB writes there are some
# that Arrow fails at. So each column of a file has one reader, which its type decides, but for
# text, which Arrow reads once some of it turned out not to be UTF-8.


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
                turn = (
                    _text if place in texts else partial(_settled_array, kind=kind or column.type)
                )
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


def _settled_array(array: Any, kind: Type) -> Any:
    """Return a column in the one Arrow type of its kind, so that all batches are alike."""
    import pyarrow as pa

    settled = plain(array, kind)
    return settled.cast(pa.large_string()) if kind is Type.TEXT else settled


def _text(array: Any) -> Any:
    """Return text, also of columns that Arrow has as bytes; what is not UTF-8 is missing."""
    import pyarrow as pa

    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        array = array.cast(pa.large_binary()).view(pa.large_string())
    return _settled_array(array, Type.TEXT)
