# SPDX-License-Identifier: Apache-2.0
"""Mutants of the code that reads sources, each with the type of column that is read with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

from sordino.catalog import arrow, frames
from sordino.catalog import arrow as entries
from sordino.catalog.csv import files as csv_values
from sordino.engine.compile.dialect import known_time, short_text
from sordino.engine.duckdb import attached as duckdb_attached
from sordino.engine.duckdb import columns as bases
from sordino.engine.duckdb import connection as duckdb_connection
from sordino.engine.duckdb import engine as duckdb
from sordino.engine.duckdb import parquet as duckdb_parquet
from sordino.engine.duckdb.dialect import DUCKDB
from tests.support.rewrite import rewritten

Mutant = tuple[str, Callable[[], AbstractContextManager[Any]]]


def _of(label: str, function: Callable[..., Any], old: str, new: str) -> Mutant:
    return label, lambda: rewritten(function, old, new)


def _with(label: str, owner: object, name: str, value: object) -> Mutant:
    return label, lambda: mock.patch.object(owner, name, value)


def _spelt(label: str, name: str, text: str) -> Mutant:
    return label, lambda: mock.patch.dict(DUCKDB.functions, {name: text})


@contextmanager
def _without_trying() -> Iterator[None]:
    """Let casts fail where they do not fit."""
    before = DUCKDB.try_cast
    object.__setattr__(DUCKDB, "try_cast", "CAST({0} AS {1})")
    try:
        yield
    finally:
        object.__setattr__(DUCKDB, "try_cast", before)


_OBJECTS, _VARCHAR, _CSV = "dictionary list", "duckdb VARCHAR", "csv text"
_FILES = "files int32 + int64 + float64"

READING: dict[str, Mutant] = {
    "a number is the text of itself": _of(
        _OBJECTS, entries._written_text, 'f"{_NUL}{above}" if', 'f"{above}" if'
    ),
    "a UUID is the text of itself": _of(
        _OBJECTS, entries._written_text, 'f"{_NUL}{value}"', "str(value)"
    ),
    "text may begin like a number": _of(
        _OBJECTS, entries._unicode, "_NUL + text if text.startswith(_NUL) else text", "text"
    ),
    "half characters become question marks": _of(
        _OBJECTS, entries._unicode,
        "text.encode()", 'text = text.encode("utf-8", "replace").decode()',
    ),
    "objects go through doubles": _of(
        _OBJECTS, entries._ratio, "number.as_integer_ratio()", "float(number).as_integer_ratio()"
    ),
    "Decimals go through doubles": _of(
        _OBJECTS, entries._ratio, "_decimal_ratio(number)", "float(number).as_integer_ratio()"
    ),
    "a truth value is a number": _of(_OBJECTS, entries._number, "kind is bool", "kind is None"),
    "text is what it says it is": _of(
        _OBJECTS, entries._written_text, "str.__str__(value)", "str(value)"
    ),
    "an error of an object is not caught": _of(
        _OBJECTS, entries._entry, "except Exception", "except MemoryError"
    ),
    "long doubles go through doubles": _of(
        "dictionary g", frames._from_numpy, "wanted.stated is Type.INTEGER", "False"
    ),
    "days of numpy wrap around": _with(
        "dictionary M8[D]", frames, "_PLAIN_UNITS", [*frames._PLAIN_UNITS, ("D", 1)]
    ),
    "multiples of days wrap around": _of(
        "dictionary M8[3D]", entries.moments, "ticks = plain.view(np.int64)",
        'ticks = plain.astype(f"M8[{unit}]").view(np.int64) // size',
    ),
    "categories have the type of their dtype": _of(
        "pandas category of Int64", frames._from_categories,
        "wanted.public and not loose", "not loose",
    ),
    "decimals go through doubles": _of(
        "arrow decimal128(38, 0)", arrow._to_integer, "pa.types.is_decimal(array.type)", "False"
    ),
    "nanoseconds are cut toward 1970": _of(
        "arrow timestamp[ns]", arrow._floor,
        'pc.subtract(cut, pc.less(left, pa.scalar(0, pa.int64())).cast("int64"))', "cut",
    ),
    "text in memory is not looked at": _of(
        "arrow string", arrow._texts, "if _is_valid(array):", "if True:"
    ),
    "a part of a number is dropped": _of(
        "arrow float64", arrow._to_integer, "pc.equal(array, pc.floor(array))", "pc.is_valid(array)"
    ),
    "large whole numbers wrap around": _of(
        "arrow uint64", arrow._to_integer, "array.type == pa.uint64()", "False"
    ),
    "ticks may be any": _of(
        "arrow timestamp[s]", arrow._between,
        "_where(pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high)), array)", "array",
    ),
    "NaN is a number": _of(
        "duckdb DOUBLE", bases._real, "CASE WHEN {test} THEN NULL WHEN", "CASE WHEN"
    ),
    "casts may fail": ("duckdb HUGEINT", _without_trying),
    "ids are read like values": _of(_VARCHAR, bases._integer, "if is_id:", "if False:"),
    "text is a number if DuckDB takes it for one": _of(
        _CSV, bases._integer, "WHEN {canonical} OR {matches} THEN", "WHEN TRUE THEN"
    ),
    "doubles are rounded": _of(
        "duckdb DOUBLE", bases._integer,
        "CASE WHEN {text} = floor({text}) THEN {cast} END", "{cast}",
    ),
    "decimals are compared with their floor": _of(
        "duckdb DECIMAL(38,37)", bases._integer,
        "CASE WHEN {_cast(cast, held)} = {text} THEN",
        "CASE WHEN {text} = floor({text}) THEN",
    ),
    "long ids are cut": _of(
        _VARCHAR, bases.normal, "text if whole or held not in TEXTS", "text if held not in TEXTS"
    ),
    "values keep NUL": _of(_VARCHAR, short_text, "WHEN {nul} THEN {clean} ", ""),
    "long text is not cut": _of(_VARCHAR, short_text, "WHEN {long} THEN {cut} ", ""),
    "a day is what DuckDB takes for one": _with(_VARCHAR, bases, "_DAY_TEXT", "'.*'"),
    "a moment is what DuckDB takes for one": _with(_VARCHAR, bases, "_MOMENT_TEXT", "'.*'"),
    "a real number is what DuckDB takes for one": _with(_VARCHAR, bases, "_REAL_TEXT", "'.*'"),
    "on and off are truth values": _with(_VARCHAR, bases, "_YES", (*bases._YES, "on")),
    "years may be any": _of(
        "duckdb DATE", known_time,
        "CASE WHEN {text} BETWEEN {first} AND {last} THEN {text} END", "{text}",
    ),
    "nanoseconds are rounded by DuckDB": _spelt(
        "duckdb TIMESTAMP_NS", "from_ns", "CAST({0} AS TIMESTAMP)"
    ),
    "a collation is kept": _of(
        "duckdb VARCHAR COLLATE NOCASE", duckdb_attached.attached_door,
        'text = f"{text} COLLATE C"', "pass",
    ),
    "names of folders are columns": _of(
        _FILES, duckdb_parquet.scan_of, "hive_partitioning = false", "hive_partitioning = true"
    ),
    "the first file decides": _of(
        _FILES, duckdb_parquet.parquet_door,
        "groups.setdefault(_declared(table, file, entries), [])",
        "groups.setdefault(next(iter(groups), _declared(table, file, entries)), [])",
    ),
    "milliseconds are left to DuckDB": _with(
        "parquet timestamp[ms]", duckdb_parquet._Entry, "is_careful", property(lambda _: False)
    ),
    "broken text gets question marks": _of(
        "parquet string", duckdb_parquet.scan_of, "'strict'", "'replace'"
    ),
    "broken text loses what is broken": _of(
        "parquet string", duckdb_parquet.scan_of, "'strict'", "'ignore'"
    ),
    "broken text is not looked for": _of(
        "parquet string", duckdb_connection._is_read, "return False", "return True"
    ),
    "broken text ends a question": _of(
        "parquet string", duckdb._read, "if not database.patch(known):", "if True:"
    ),
    "files of broken text are read twice": _of(
        "files string + plain text", duckdb_parquet.ParquetDoor.patched,
        "part.read(stay)", "part.view",
    ),
    "files without broken text are lost": _of(
        "files string + plain text", duckdb_parquet.ParquetDoor.patched, "if stay:", "if not stay:"
    ),
    "broken text is taken as it is": _of(
        "parquet string", duckdb_parquet._text, "return _settled_array(array, Type.TEXT)",
        "return array.cast(pa.large_binary()).view(pa.large_string())",
    ),
    "decimals in too many bits are left to DuckDB": _with(
        "parquet decimal128(4, 1) in numbers", duckdb_parquet, "_SIZES", {"INT32": 1, "INT64": 1}
    ),
    "decimals may have more digits than they say": _of(
        "parquet decimal128(4, 1) in numbers", arrow._decimals,
        "_where(pc.and_(pc.greater_equal(wide, low), pc.less_equal(wide, high)), wide)", "wide",
    ),
    "ids may have few bits": _with(
        "parquet int16", duckdb_parquet._Entry, "is_narrow", property(lambda _: False)
    ),
    "text in dictionaries is looked at by Arrow": _of(
        "parquet dictionary", duckdb_parquet._opened, "binary_type=pa.large_binary()", ""
    ),
    "long decimals go through doubles": _of(
        "parquet decimal256(76, 0)", duckdb_parquet._kind,
        "pa.types.is_decimal(arrow) and declared is Type.INTEGER", "False",
    ),
    "broken cells get question marks": _of(
        _CSV, csv_values._text, "cell.decode()", 'cell.decode(errors="replace")'
    ),
}  # fmt: skip
