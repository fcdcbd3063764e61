# SPDX-License-Identifier: Apache-2.0
"""Files of reports, Parquet or CSV: written whole or not at all, and read in pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import typer

from sordino.cli.local.protocols import AnyProtocol, about, foreign, read_about, shape_of
from sordino.cli.outputs import check_target, exists, unwritable
from sordino.cli.usage import INTERRUPTED, show_fault
from sordino.session.progress import watched

Data: TypeAlias = npt.NDArray[Any]

ENDINGS = (".csv", ".parquet")
REPORTS_AT_ONCE = 1 << 16
_BYTES_AT_ONCE = 1 << 23
_CSV_BLOCK = 1 << 20  # It must hold a line.
_COLUMN = "report"
_KEY = b"sordino"
_COMMENT = b"# "
_LONGEST_LINE = 1 << 30


def check_out(path: Path, answers: Path, *, force: bool) -> None:
    """Refuse to write where it could do harm, before anything is drawn."""
    with suppress(OSError):
        if path.is_file() and path.samefile(answers):
            raise ValueError(f"{path} holds the true answers; write the reports to another file")
    check_target("--out", path, ENDINGS, force=force)


def at_once(shape: Data) -> int:
    """Return how many reports are made and read at once: fewer where they are long.

    >>> at_once(np.empty(0, np.uint8)), at_once(np.empty((0, 1 << 20), np.uint8))
    (65536, 8)
    """
    wide = shape.dtype.itemsize * (shape.shape[1] if shape.ndim > 1 else 1)
    return min(max(_BYTES_AT_ONCE // wide, 1), REPORTS_AT_ONCE)


@contextmanager
def reports_file(
    path: Path, protocol: AnyProtocol, people: int, *, force: bool
) -> Iterator[Callable[[Data], None]]:
    """Give a way to write reports; the file gets its name when all of them are in it."""
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            kind = pa_type(shape_of(protocol))
            description = about(protocol, people).encode()
            opened = _into_csv if path.suffix.lower() == ".csv" else _into_parquet
            with opened(file, kind, description) as write:
                yield write
            file.flush()
            os.fsync(file.fileno())
        _name(part, path, force=force)
    except OSError as error:
        raise unwritable("--out", error) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def read_protocol(path: Path, *, most: int) -> tuple[AnyProtocol, int]:
    """Return how the reports of a file were made, and how many it says there are.

    At most so many categories are taken from a file that does not list them.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise foreign(path)
    try:
        with path.open("rb") as file:
            if ending == ".csv":
                return read_about(_first_line(file, path), path, most=most)
            with pq.ParquetFile(file) as table:
                description = (table.schema_arrow.metadata or {}).get(_KEY)
                if description is None:
                    raise foreign(path)
                return read_about(description, path, most=most)
    except OSError as error:
        raise unreadable(path, error) from None
    except pa.ArrowException:
        raise _broken(path) from None


def read_pieces(path: Path, protocol: AnyProtocol) -> Iterator[Data]:
    """Give the reports of a file piece by piece."""
    shape = shape_of(protocol)
    try:
        with path.open("rb") as file:
            if path.suffix.lower() == ".csv":
                yield from _from_csv(file, path, shape)
            else:
                yield from _from_parquet(file, path, shape)
    except OSError as error:
        raise unreadable(path, error) from None
    except pa.ArrowException:
        raise _broken(path) from None


def pa_type(shape: Data) -> Any:
    """Return the type of a column of reports: whole numbers, or rows of as many bytes."""
    if shape.ndim == 1:
        return pa.from_numpy_dtype(shape.dtype)
    return pa.binary(shape.shape[1] * shape.dtype.itemsize)


@contextmanager
def _into_parquet(
    file: IO[bytes], kind: Any, description: bytes
) -> Iterator[Callable[[Data], None]]:
    schema = pa.schema([pa.field(_COLUMN, kind, nullable=False)], metadata={_KEY: description})
    few = pa.types.is_integer(kind)  # rows of bytes hardly ever come twice
    with pq.ParquetWriter(file, schema, use_dictionary=few) as writer:

        def write(data: Data) -> None:
            writer.write_table(pa.table([_array(data, kind)], schema=schema))

        yield write


@contextmanager
def _into_csv(file: IO[bytes], kind: Any, description: bytes) -> Iterator[Callable[[Data], None]]:
    file.write(_COMMENT + description + f"\n{_COLUMN}\n".encode())
    options = pcsv.WriteOptions(include_header=False)

    def write(data: Data) -> None:
        if data.ndim == 1:
            pcsv.write_csv(pa.table({_COLUMN: _array(data, kind)}), file, options)
            return
        letters = np.frombuffer(_little(data).tobytes().hex().encode(), dtype=np.uint8)
        lines = np.full((len(data), 2 * kind.byte_width + 1), ord("\n"), dtype=np.uint8)
        lines[:, :-1] = letters.reshape(len(data), -1)
        file.write(lines.tobytes())

    yield write


def _array(data: Data, kind: Any) -> Any:
    if data.ndim == 1:
        return pa.array(data, type=kind)
    return pa.Array.from_buffers(kind, len(data), [None, pa.py_buffer(_little(data))])


def _little(data: Data) -> Data:
    whole = np.ascontiguousarray(data)
    return whole.astype(whole.dtype.newbyteorder("<"), copy=False)


def _from_parquet(file: IO[bytes], path: Path, shape: Data) -> Iterator[Data]:
    with pq.ParquetFile(file) as table:
        if table.schema_arrow.names != [_COLUMN]:
            raise _broken(path)
        for batch in table.iter_batches(batch_size=at_once(shape)):
            column = batch.column(0)
            if column.type != pa_type(shape) or column.null_count:
                raise _broken(path)
            if shape.ndim == 1:
                yield column.to_numpy(zero_copy_only=False)
            else:
                wide = column.type.byte_width
                held = column.buffers()[1].slice(column.offset * wide, len(column) * wide)
                yield _rows(held, shape)


def _from_csv(file: IO[bytes], path: Path, shape: Data) -> Iterator[Data]:
    _first_line(file, path)
    line = 2 * shape.dtype.itemsize * shape.shape[-1] if shape.ndim > 1 else 0
    lines = pcsv.open_csv(
        file,
        read_options=pcsv.ReadOptions(block_size=max(_CSV_BLOCK, 4 * line)),
        parse_options=pcsv.ParseOptions(quote_char=False, ignore_empty_lines=False),
        convert_options=pcsv.ConvertOptions(column_types={_COLUMN: pa.string()}),
    )
    if lines.schema.names != [_COLUMN]:
        raise _broken(path)
    for batch in lines:
        column = batch.column(0)
        if shape.ndim == 1:
            yield _whole(column, path, shape)
        else:
            yield _unhex(column, path, shape)


def _whole(column: Any, path: Path, shape: Data) -> Data:
    if not pc.all(pc.ascii_is_decimal(column), min_count=0).as_py():
        raise _broken(path)
    found: Data = column.cast(pa_type(shape)).to_numpy(zero_copy_only=False)
    return found


def _unhex(column: Any, path: Path, shape: Data) -> Data:
    wide = 2 * pa_type(shape).byte_width
    places = np.frombuffer(column.buffers()[1], dtype=np.int32)
    places = places[column.offset : column.offset + len(column) + 1]
    if (np.diff(places) != wide).any():
        raise _broken(path)
    letters = bytes(column.buffers()[2])[places[0] : places[-1]]
    try:
        held = bytes.fromhex(letters.decode("ascii"))
    except ValueError:
        raise _broken(path) from None
    if 2 * len(held) != wide * len(column):
        raise _broken(path)
    return _rows(held, shape)


def _rows(held: Any, shape: Data) -> Data:
    found = np.frombuffer(held, dtype=shape.dtype.newbyteorder("<"))
    return found.astype(shape.dtype, copy=False).reshape(-1, shape.shape[1])


def _first_line(file: IO[bytes], path: Path) -> bytes:
    if file.read(len(_COMMENT)) != _COMMENT:
        raise foreign(path)
    return file.readline(_LONGEST_LINE)


def _name(part: Path, path: Path, *, force: bool) -> None:
    """Give a file its name, and without force never that of another."""
    if not force:
        try:
            path.hardlink_to(part)
        except FileExistsError:
            raise exists(path) from None
        except OSError:  # a file system without links
            if path.exists():
                raise exists(path) from None
        else:
            return
    part.replace(path)


def _broken(path: Path) -> ValueError:
    return ValueError(f"the reports in {path} are damaged or cut off; have them sent again")


def unreadable(path: Path, error: OSError) -> ValueError:
    """Return the error about a file that cannot be read."""
    why = "it is no such file, or a broken one" if error.strerror is None else error.strerror
    return ValueError(f"the file {path} cannot be read: {why}")


@contextmanager
def bar(doing: str, total: int, *, as_json: bool, nothing: str) -> Iterator[Callable[[int], None]]:
    """Give a way to say that so many more are done: a bar on a terminal, nothing elsewhere."""
    counted = 0
    try:
        with watched(doing, quiet=as_json) as shown:

            def done(count: int) -> None:
                nonlocal counted
                counted += count
                if shown is not None:
                    shown(counted / total, f"{counted:,} of {total:,} reports")

            yield done
    except KeyboardInterrupt:
        show_fault("interrupted", "stopped", nothing, as_json=as_json)
        raise typer.Exit(INTERRUPTED) from None
