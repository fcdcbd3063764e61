# SPDX-License-Identifier: Apache-2.0
"""Every kind of source with every type of column that it can hold, written from raw values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeAlias
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from sordino.catalog.frames import to_arrow
from sordino.catalog.model import CsvFile, DuckdbTable, Frame, ParquetFile, Source
from sordino.query.types import Type
from tests.engine.contract import servers
from tests.engine.contract.poisons import (
    WORDS,
    Maker,
    Pair,
    crowded_decimals,
    day_ticks,
    days,
    decimals,
    far_days,
    far_days_of,
    floats,
    integers,
    nul_texts,
    objects,
    only,
    raw_texts,
    texts,
    ticks,
    truths,
    uuids,
    without_missing,
    words,
)

_WIDE = Context(prec=80)
FEW_BITS = ("int8", "int16", "uint8", "uint16")  # which are stored in more
BESIDE = ("FILE_ROW_NUMBER", "file_index", "filename", "rowid", "u", "n0", "place", "t0")
RATES = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
Build: TypeAlias = Callable[[list[Any]], Any]  # a column of raw values


@dataclass(frozen=True, slots=True)
class Held:
    """A type of column in a kind of source: its poison, and how a column is built.

    ``fits`` are declared types with which it must be accepted, so that nothing is lost by being
    refused.
    """

    kind: str
    name: str
    poison: Maker
    build: Build
    fits: tuple[Type, ...] = ()
    objects: bool = False
    parts: tuple[Held, ...] = ()  # of files of one table that have other types
    ids: bool = True  # whether it is accepted for ids where it is for values
    written: tuple[tuple[str, Any], ...] = ()  # how a file of it is written

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Written:
    """A table to be read: a file, or a frame that is read by given declared types."""

    file: Source | None = None
    frame: Any = None

    def source(self, types: Mapping[str, Type]) -> Source:
        """Return what a catalog has; a frame may be refused here already."""
        return self.file or _held_in_memory(self.frame, types)


NUMBERS = (Type.INTEGER, Type.REAL)
TIMES = (Type.DATE, Type.TIMESTAMP)


def _arrow(arrow: Any) -> Build:
    return lambda values: pa.array(values, arrow)


def _viewed(bottom: Any, top: Any) -> Build:
    return lambda values: pa.array(values, bottom).view(top)


def _decimal(arrow: Any) -> Build:
    size = arrow.bit_width // 8

    def build(values: list[Any]) -> Any:
        raw = b"".join((value or 0).to_bytes(size, "little", signed=True) for value in values)
        there = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
        return pa.Array.from_buffers(arrow, len(values), [there, pa.py_buffer(raw)])

    return build


def _dictionary(build: Build) -> Build:
    """Return a column that has its values in a dictionary, some of them twice or never used."""

    def built(values: list[Any]) -> Any:
        entries = build([*values, *values[:3]])
        return pa.DictionaryArray.from_arrays(pa.array(range(len(values)), pa.int16()), entries)

    return built


def _chunked(build: Build) -> Build:
    """Return a column in pieces, one of them empty and all of them cut out of longer ones."""

    def built(values: list[Any]) -> Any:
        whole = build([*values[:1], *values])
        cut = len(values) // 2
        return pa.chunked_array([whole.slice(1, cut), whole.slice(0, 0), whole.slice(1 + cut)])

    return built


def arrow_types() -> Iterator[tuple[str, Maker, Build, tuple[Type, ...]]]:
    """Go through the types of Arrow that stand for values."""
    for bits in (8, 16, 32, 64):
        yield f"int{bits}", integers(bits), _arrow(getattr(pa, f"int{bits}")()), NUMBERS
        unsigned = integers(bits, signed=False)
        yield f"uint{bits}", unsigned, _arrow(getattr(pa, f"uint{bits}")()), NUMBERS
    for name, dtype in (("float16", "f2"), ("float32", "f4"), ("float64", "f8")):
        yield name, floats(dtype), _arrow(getattr(pa, name)()), NUMBERS
    for arrow in (
        pa.decimal32(7, 2), pa.decimal64(15, 3), pa.decimal128(38, 0), pa.decimal128(38, 10),
        pa.decimal128(38, 38), pa.decimal256(76, 0), pa.decimal256(76, 30),
    ):  # fmt: skip
        yield str(arrow), decimals(arrow.precision, arrow.scale), _decimal(arrow), NUMBERS
    yield "string", raw_texts, _viewed(pa.binary(), pa.string()), (Type.TEXT,)
    yield "large_string", raw_texts, _viewed(pa.large_binary(), pa.large_string()), (Type.TEXT,)
    yield "string_view", raw_texts, _viewed(pa.binary_view(), pa.string_view()), (Type.TEXT,)
    yield "bool", truths, _arrow(pa.bool_()), (Type.BOOLEAN,)
    yield "date32", days, _viewed(pa.int32(), pa.date32()), TIMES
    yield "date64", day_ticks, _viewed(pa.int64(), pa.date64()), TIMES
    for unit, rate in RATES.items():
        for zone in (None, "Europe/Berlin"):
            arrow = pa.timestamp(unit, zone)
            yield str(arrow), ticks(rate), _viewed(pa.int64(), arrow), TIMES
    yield "null", _few, _arrow(pa.null()), tuple(Type)


def _uuid(values: list[Any]) -> Any:
    return pa.array([None if value is None else value.bytes for value in values], pa.uuid())


def _refused_arrow() -> Iterator[tuple[str, Build]]:
    """Go through types of Arrow that stand for nothing here."""
    for arrow in (
        pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.duration("s"), pa.time64("us"),
        pa.binary(), pa.binary(4), pa.large_binary(),
    ):  # fmt: skip
        yield str(arrow), partial(_nulls, arrow)


def _nulls(arrow: Any, values: list[Any]) -> Any:
    return pa.nulls(len(values), arrow)


def _few(random: Any, more: int) -> Any:
    del random, more
    return [(None, None)] * 2


def arrow_held() -> Iterator[Held]:
    """Go through columns of Arrow tables."""
    for name, poison, build, fits in arrow_types():
        yield Held("arrow", name, poison, build, fits)
        if name != "null":
            dictionary = _dictionary(build)
            yield Held("arrow", f"dictionary of {name}", poison, dictionary, fits)
            yield Held("arrow", f"chunked {name}", poison, _chunked(build), fits)
    yield Held("arrow", "uuid", uuids, _uuid, (Type.TEXT,))
    for name, build in _refused_arrow():
        yield Held("arrow", name, _few, build)


def parquet_held() -> Iterator[Held]:
    """Go through columns of Parquet files."""
    for name, poison, build, fits in arrow_types():
        if name.startswith(("decimal32", "decimal64")) or name in ("date64", "null"):
            continue
        if name.startswith("timestamp[s"):  # which are written as milliseconds
            near = only(poison, lambda raw: raw is None or abs(raw) < 2**53)
            yield Held("parquet", name, near, build, fits)
            continue
        few = name in FEW_BITS
        yield Held("parquet", name, poison, build, fits, ids=not few)
    for digits in (2, 4, 7, 9, 18):
        arrow = pa.decimal128(digits, 1)
        poison = crowded_decimals(digits, 1) if digits <= 4 else decimals(digits, 1)
        name, form = f"{arrow} in numbers", (("store_decimal_as_integer", True),)
        yield Held("parquet", name, poison, _decimal(arrow), NUMBERS, written=form)
    yield Held("parquet", "uuid", uuids, _uuid, (Type.TEXT,))
    dictionary = _dictionary(_viewed(pa.binary(), pa.string()))
    yield Held("parquet", "dictionary", without_missing(raw_texts), dictionary, (Type.TEXT,))
    yield Held("parquet", "plain text", nul_texts, _arrow(pa.string()), (Type.TEXT,))
    for name, build in _refused_arrow():
        yield Held("parquet", name, _few, build)


_TOGETHER: tuple[tuple[tuple[str, ...], tuple[Type, ...]], ...] = (
    (("int32", "int64", "float64"), NUMBERS),
    (("float64", "int8", "uint64"), NUMBERS),
    (("int64", "float32", "decimal128(38, 0)"), NUMBERS),
    (("decimal128(38, 10)", "decimal256(76, 30)"), NUMBERS),
    (("decimal128(38, 38)", "int16"), NUMBERS),
    (("decimal128(4, 1) in numbers", "decimal128(38, 10)", "int64"), NUMBERS),
    (("string", "large_string", "dictionary"), (Type.TEXT,)),
    (("dictionary", "string_view"), (Type.TEXT,)),
    (("string", "plain text"), (Type.TEXT,)),  # of which one is read otherwise in the end
    (("timestamp[us]", "timestamp[ms]", "timestamp[ns]"), TIMES),
    (("timestamp[ns]", "date32", "timestamp[us, tz=Europe/Berlin]"), TIMES),
    (("string", "int64"), ()),
    (("bool", "int8", "string"), ()),
    (("string", "timestamp[us]"), ()),
    (("uuid", "string"), ()),
)


def files_held() -> Iterator[Held]:
    """Go through columns whose type differs from file to file, in folders like columns."""
    single = {held.name: held for held in parquet_held()}
    for names, fits in _TOGETHER:
        parts = tuple(single[name] for name in names)
        ids = all(part.ids for part in parts)
        yield Held("files", " + ".join(names), _mixed(parts), list, fits, parts=parts, ids=ids)


def _mixed(parts: tuple[Held, ...]) -> Maker:
    """Return the poison of all parts, each value with the number of its part."""

    def make(random: Random, more: int) -> list[Pair]:
        return [
            ((place, raw), cell)
            for place, part in enumerate(parts)
            for raw, cell in part.poison(random, more)
        ]

    return make


def _numpy(dtype: Any) -> Build:
    return lambda values: np.array(values, dtype=dtype)


def _moments(unit: str) -> Build:
    return lambda values: np.array(values, dtype="i8").view(f"M8[{unit}]")


def _loose(values: list[Any]) -> Any:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def numpy_types() -> Iterator[tuple[str, Maker, Build, tuple[Type, ...]]]:
    """Go through dtypes of numpy."""
    for bits in (8, 32, 64):
        yield f"int{bits}", without_missing(integers(bits)), _numpy(f"i{bits // 8}"), NUMBERS
        unsigned = without_missing(integers(bits, signed=False))
        yield f"uint{bits}", unsigned, _numpy(f"u{bits // 8}"), NUMBERS
    for dtype in ("f2", "f4", "f8", "g"):
        yield dtype, without_missing(floats(dtype)), _numpy(dtype), NUMBERS
    yield "bool", without_missing(truths), _numpy("?"), (Type.BOOLEAN,)
    for unit, rate in RATES.items():
        yield f"M8[{unit}]", without_missing(ticks(rate)), _moments(unit), TIMES
    yield "M8[D]", without_missing(far_days), _moments("D"), TIMES
    for size in (3, 7):
        yield f"M8[{size}D]", without_missing(far_days_of(size)), _moments(f"{size}D"), TIMES


def dictionary_held() -> Iterator[Held]:
    """Go through columns of dictionaries: arrays of numpy, and lists."""
    for name, poison, build, fits in numpy_types():
        yield Held("dictionary", name, poison, build, fits)
    plain = only(texts, lambda raw: raw is not None and len(raw) < 100)  # all are as long as one
    yield Held("dictionary", "U", plain, _numpy("U"), (Type.TEXT,), objects=True)
    width = _numpy(np.dtypes.StringDType())
    yield Held("dictionary", "T", without_missing(nul_texts), width, (Type.TEXT,), True)
    yield Held("dictionary", "list", objects, list, tuple(Type), objects=True)
    yield Held("dictionary", "object", objects, _loose, tuple(Type), objects=True)
    for dtype in ("c8", "m8[s]", "S3", "i4,i4"):
        yield Held("dictionary", dtype, _few, partial(_zeros, dtype))


def _zeros(dtype: str, values: list[Any]) -> Any:
    return np.zeros(len(values), dtype)


def pandas_held() -> Iterator[Held]:
    """Go through columns of pandas frames."""
    for name, poison, build, fits in numpy_types():
        if name.endswith("D]") or name in ("f2", "g"):
            continue
        yield Held("pandas", name, poison, partial(_as_series, build), fits)
    for bits in (8, 64):
        for prefix, signed in (("Int", True), ("UInt", False)):
            dtype = f"{prefix}{bits}"
            yield Held("pandas", dtype, integers(bits, signed=signed), _series(dtype), NUMBERS)
    yield Held("pandas", "boolean", truths, _series("boolean"), (Type.BOOLEAN,))
    for dtype in ("string[python]", "string[pyarrow]", "str"):
        is_loose = dtype == "string[python]"
        yield Held("pandas", dtype, texts, _series(dtype), (Type.TEXT,), objects=is_loose)
    yield Held("pandas", "object", objects, lambda v: pd.Series(_loose(v)), tuple(Type), True)
    named = lambda v: pd.Series(pd.Categorical(pd.array(v, dtype="str")))  # noqa: E731
    yield Held("pandas", "category", texts, named, tuple(Type), objects=True)
    whole = lambda v: pd.Series(pd.Categorical(pd.array(v, dtype="Int64")))  # noqa: E731
    yield Held("pandas", "category of Int64", integers(64), whole, tuple(Type), objects=True)
    for name, poison, build, fits in arrow_types():
        if name != "null":
            yield Held("pandas", f"ArrowDtype {name}", poison, _arrow_series(build), fits)
    yield Held("pandas", "zone", without_missing(ticks(10**6)), _zoned, TIMES)
    yield Held("pandas", "period", _few,
               lambda v: pd.Series(pd.period_range("2020", periods=len(v), freq="D")))  # fmt: skip
    yield Held("pandas", "sparse", _few, lambda v: pd.Series([0] * len(v), dtype="Sparse[int]"))


def _as_series(build: Build, values: list[Any]) -> Any:
    return pd.Series(build(values))


def _series(dtype: str) -> Build:
    return lambda values: pd.Series(values, dtype=dtype)


def _arrow_series(build: Build) -> Build:
    def built(values: list[Any]) -> Any:
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([build(values)])))

    return built


def _zoned(values: list[Any]) -> Any:
    moments = pd.Series(np.array(values, dtype="i8").view("M8[us]"))
    return moments.dt.tz_localize("UTC").dt.tz_convert("Asia/Kolkata")


def polars_held() -> Iterator[Held]:
    """Go through columns of polars frames."""
    for bits in (8, 16, 32, 64):
        yield Held("polars", f"Int{bits}", integers(bits), _polars(f"Int{bits}"), NUMBERS)
        unsigned = integers(bits, signed=False)
        yield Held("polars", f"UInt{bits}", unsigned, _polars(f"UInt{bits}"), NUMBERS)
    for bits in (32, 64):
        poison = floats(f"f{bits // 8}")
        yield Held("polars", f"Float{bits}", poison, _polars(f"Float{bits}"), NUMBERS)
    scaled = decimals(38, 10)
    yield Held("polars", "Decimal", scaled, _polars_arrow(_decimal(pa.decimal128(38, 10))), NUMBERS)
    yield Held("polars", "String", nul_texts, _polars("String"), (Type.TEXT,))
    yield Held("polars", "Categorical", nul_texts, _polars("Categorical"), (Type.TEXT,))
    enumeration = lambda values: pl.Series(values, dtype=pl.Enum(WORDS))  # noqa: E731
    yield Held("polars", "Enum", words, enumeration, (Type.TEXT,))
    yield Held("polars", "Boolean", truths, _polars("Boolean"), (Type.BOOLEAN,))
    date = _polars_arrow(_viewed(pa.int32(), pa.date32()))
    yield Held("polars", "Date", days, date, TIMES)
    for unit in ("ms", "us", "ns"):
        moments = _polars_arrow(_viewed(pa.int64(), pa.timestamp(unit)))
        yield Held("polars", f"Datetime {unit}", ticks(RATES[unit]), moments, TIMES)
    yield Held("polars", "Int128", _few, _polars("Int128"))
    yield Held(
        "polars", "Object", _few, lambda v: pl.Series([object() for _ in v], dtype=pl.Object)
    )
    yield Held(
        "polars", "List", _few, lambda v: pl.Series([[1] for _ in v], dtype=pl.List(pl.Int64))
    )


def _polars(dtype: str) -> Build:
    def built(values: list[Any]) -> Any:
        plain = [value.item() if isinstance(value, np.generic) else value for value in values]
        return pl.Series(plain, dtype=getattr(pl, dtype))

    return built


def _polars_arrow(build: Build) -> Build:
    return lambda values: pl.Series(pl.from_arrow(build(values)))


def csv_held() -> Iterator[Held]:
    """Go through ways in which CSV files are written; all cells are text."""
    there = only(raw_texts, lambda raw: raw != b"" and (raw is None or b"\0" not in raw))
    yield Held("csv", "text", there, list, tuple(Type))
    bare = only(there, lambda raw: raw is None or not set(raw) & set(b"\n\r,"))
    yield Held("csv", "bare", bare, list, tuple(Type))
    yield Held("csv", "latin-1", _in_latin, list, tuple(Type))


def _in_latin(random: Random, more: int) -> list[Pair]:
    """Return bytes that are all text in their encoding."""
    pairs = [(raw, cell) for raw, cell in raw_texts(random, more) if raw != b""]
    inside = [(raw, cell) for raw, cell in pairs if raw is None or b"\0" not in raw]
    return [(raw, None if raw is None else raw.decode("latin-1")) for raw, _ in inside]


def _sql(template: str) -> Build:
    """Return literals of SQL."""
    return lambda values: ["NULL" if v is None else template.format(_literal(v)) for v in values]


def _literal(value: Any) -> str:
    if isinstance(value, str | UUID):
        return "'" + str(value).replace("'", "''").replace("\0", "' || chr(0) || '") + "'"
    if isinstance(value, float | np.floating):
        return f"'{float(value)!r}'::DOUBLE"
    return str(value)


def _shifted(precision: int, scale: int) -> Build:
    def built(values: list[Any]) -> Any:
        kind = f"DECIMAL({precision},{scale})"
        numbers = [None if v is None else Decimal(v).scaleb(-scale, _WIDE) for v in values]
        return ["NULL" if n is None else f"'{n:f}'::{kind}" for n in numbers]

    return built


def duckdb_held() -> Iterator[Held]:
    """Go through columns of DuckDB files."""
    for name, bits in (
        ("TINYINT", 8),
        ("SMALLINT", 16),
        ("INTEGER", 32),
        ("BIGINT", 64),
        ("HUGEINT", 128),
    ):
        yield Held("duckdb", name, integers(bits), _sql(f"({{}})::{name}"), NUMBERS)
        unsigned = integers(bits, signed=False)
        yield Held("duckdb", f"U{name}", unsigned, _sql(f"({{}})::U{name}"), NUMBERS)
    yield Held("duckdb", "FLOAT", floats("f4"), _sql("({})::FLOAT"), NUMBERS)
    yield Held("duckdb", "DOUBLE", floats("f8"), _sql("{}"), NUMBERS)
    for precision, scale in ((4, 1), (9, 2), (18, 3), (38, 0), (38, 10), (38, 37), (38, 38)):
        name = f"DECIMAL({precision},{scale})"
        yield Held("duckdb", name, decimals(precision, scale), _shifted(precision, scale), NUMBERS)
    for collation in ("", " COLLATE NOCASE", " COLLATE NOACCENT", " COLLATE NOCASE.NOACCENT"):
        yield Held("duckdb", f"VARCHAR{collation}", nul_texts, _sql("{}"), (Type.TEXT,))
    listed = ", ".join(f"'{word}'" for word in WORDS)
    yield Held("duckdb", f"ENUM({listed})", words, _sql("{}"), (Type.TEXT,))
    yield Held("duckdb", "UUID", uuids, _sql("{}"), (Type.TEXT,))
    yield Held("duckdb", "BOOLEAN", truths, _sql("{}"), (Type.BOOLEAN,))
    near = only(days, lambda raw: raw is None or abs(raw) < 10**7)
    yield Held("duckdb", "DATE", near, _sql("(DATE '1970-01-01' + ({})::INTEGER)"), TIMES)
    edge = -9_223_372_022_400_000_000
    makers = {
        "TIMESTAMP": ("make_timestamp({})", ticks(10**6, least=edge)),
        "TIMESTAMP WITH TIME ZONE": ("make_timestamp({})::TIMESTAMPTZ", ticks(10**6, least=edge)),
        "TIMESTAMP_NS": ("make_timestamp_ns({})", ticks(10**9, least=edge)),
    }
    for name, (template, poison) in makers.items():
        most = only(poison, lambda raw: raw is None or raw < 2**63 - 2)
        yield Held("duckdb", name, most, _sql(template), TIMES)
    for name, rate in (("TIMESTAMP_S", 1), ("TIMESTAMP_MS", 10**3)):
        inside = only(ticks(rate), partial(_is_near, 9 * 10**12 * rate))
        scale = 10**6 // rate
        template = f"make_timestamp(({{}})::BIGINT * {scale})::{name}"
        yield Held("duckdb", name, inside, _sql(template), TIMES)
    for name in ("TIME", "TIMETZ", "INTERVAL", "BLOB", "BIT", "INTEGER[]", "STRUCT(a INTEGER)",
                 "MAP(INTEGER, INTEGER)", "UNION(a INTEGER, b VARCHAR)", "INTEGER[2]"):  # fmt: skip
        yield Held("duckdb", name, _few, _sql("{}"))


def _is_near(most: int, raw: int | None) -> bool:
    return raw is None or abs(raw) < most


def postgres_held() -> Iterator[Held]:
    """Go through columns of tables in PostgreSQL."""
    for column in servers.COLUMNS:
        yield Held("postgres", column.name, column.poison, list, column.fits)


def every_held() -> list[Held]:
    """Return all types of all kinds of sources."""
    makers = (arrow_held, parquet_held, files_held, dictionary_held, pandas_held, polars_held,
              csv_held, duckdb_held, postgres_held)  # fmt: skip
    return [held for make in makers for held in make()]


@dataclass(frozen=True, slots=True)
class Rows:
    """What is written into one table: plain columns of whole numbers, and poisoned ones."""

    held: Held
    plain: Mapping[str, list[Any]]
    poison: Mapping[str, list[Any]]


def write(tables: list[Rows], folder: Path, stem: str) -> list[Written]:
    """Write tables of one kind of source."""
    if tables[0].held.kind == "postgres":
        given = [(rows.held.name, rows.plain, rows.poison) for rows in tables]
        return [Written(source) for source in servers.write(given, stem)]
    if tables[0].held.kind == "duckdb":
        return _database(tables, folder / f"{stem}.duckdb")
    return [_written(rows, folder / f"{stem}-{place}") for place, rows in enumerate(tables)]


def _written(rows: Rows, path: Path) -> Written:
    if rows.held.parts:
        return _several(rows, path)
    built = {name: rows.held.build(values) for name, values in rows.poison.items()}
    if rows.held.kind == "parquet":
        whole = {name: pa.array(values, pa.int64()) for name, values in rows.plain.items()}
        file = path.with_suffix(".parquet")
        form = dict(rows.held.written)
        pq.write_table(_beside(whole | built), file, row_group_size=7, **form)
        return Written(ParquetFile(file))
    if rows.held.kind == "csv":
        text = path.with_suffix(".csv")
        quote = "" if rows.held.name == "bare" else '"'
        text.write_bytes(_csv_bytes(rows.plain, built, quote.encode()))
        encoding = "latin-1" if rows.held.name == "latin-1" else "utf-8"
        return Written(CsvFile(text, encoding=encoding, quote=quote))
    frame = _frame(rows.held.kind, rows.plain, built)
    return Written(frame=frame)


def _beside(columns: Mapping[str, Any]) -> Any:
    """Return a table with columns beside that nobody declares, and that are called like others.

    DuckDB has columns of its own in every file, and gives way where the file has one of that name.
    """
    many = len(next(iter(columns.values())))
    others = {name: pa.array([0] * many, pa.int64()) for name in BESIDE}
    return pa.table(others | dict(columns))


def _several(rows: Rows, path: Path) -> Written:
    """Write a file for each part, in folders whose names would be columns if they were read."""
    places = [place for place, _ in next(iter(rows.poison.values()))]
    for place, part in enumerate(rows.held.parts):
        mine = [n for n, owner in enumerate(places) if owner == place]
        whole = {
            name: pa.array([values[n] for n in mine], pa.int64())
            for name, values in rows.plain.items()
        }
        built = {
            name: part.build([values[n][1] for n in mine]) for name, values in rows.poison.items()
        }
        folder = path / f"who={place}" / "n=x"
        folder.mkdir(parents=True)
        form = dict(part.written)
        file = folder / "v_text=1.parquet"
        pq.write_table(_beside(whole | built), file, row_group_size=7, **form)
    return Written(ParquetFile(path / "*" / "*" / "*.parquet"))


def _database(tables: list[Rows], path: Path) -> list[Written]:
    """Write a DuckDB file with a table for each type."""
    path.unlink(missing_ok=True)
    written = []
    with duckdb.connect(str(path), config={"threads": 1}) as connection:
        for place, rows in enumerate(tables):
            built = {name: rows.held.build(values) for name, values in rows.poison.items()}
            columns = [f"{column} BIGINT" for column in rows.plain]
            columns += [f"{column} {rows.held.name}" for column in built]
            connection.execute(f"CREATE TABLE d{place} ({', '.join(columns)})")
            plain = (map(str, values) for values in rows.plain.values())
            lines = [f"({', '.join(row)})" for row in zip(*plain, *built.values(), strict=True)]
            if lines:
                connection.execute(f"INSERT INTO d{place} VALUES {', '.join(lines)}")  # noqa: S608
            written.append(Written(DuckdbTable(path, f"d{place}")))
    return written


def _csv_bytes(
    plain: Mapping[str, list[Any]], built: Mapping[str, list[Any]], quote: bytes
) -> bytes:
    columns = [[str(value).encode() for value in values] for values in plain.values()]
    columns += [[_csv_cell(value, quote) for value in values] for values in built.values()]
    lines = [",".join((*plain, *built)).encode()]
    lines += [b",".join(row) for row in zip(*columns, strict=True)]
    return b"\n".join(lines) + b"\n"


def _csv_cell(value: bytes | None, quote: bytes) -> bytes:
    if value is None or not quote:
        return value or b""
    return quote + value.replace(quote, quote * 2) + quote


def _frame(kind: str, plain: Mapping[str, list[Any]], built: Mapping[str, Any]) -> Any:
    if kind == "arrow":
        whole = {name: pa.array(values, pa.int64()) for name, values in plain.items()}
        return pa.table(whole | dict(built))
    if kind == "pandas":
        series = {name: pd.Series(values, dtype="int64") for name, values in plain.items()}
        return pd.DataFrame(series | dict(built))
    if kind == "polars":
        return pl.DataFrame([*(pl.Series(n, v, dtype=pl.Int64) for n, v in plain.items()),
                             *(series.alias(name) for name, series in built.items())])  # fmt: skip
    return {**{name: np.array(values, dtype="i8") for name, values in plain.items()}, **built}


def _held_in_memory(frame: Any, types: Mapping[str, Type]) -> Source:
    """Return a frame with the columns of given types alone, as the door for frames has it."""
    if isinstance(frame, pd.DataFrame):
        frame = frame[list(types)]
    elif isinstance(frame, dict):
        frame = {name: frame[name] for name in types}
    else:
        frame = frame.select(list(types))
    return Frame(to_arrow(frame, types={name: kind.value for name, kind in types.items()}))
