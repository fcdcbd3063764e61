# SPDX-License-Identifier: Apache-2.0
"""A draft of sordino.toml from schemas and headers; values enter it for declared columns alone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.catalog.arrow import plain, type_of
from sordino.catalog.checks import about, among
from sordino.catalog.csv.options import csv_file
from sordino.catalog.model import ROW, CsvFile, ParquetFile
from sordino.catalog.schemas import (
    Reader,
    Schema,
    SourceColumn,
    csv_names,
    kind_of,
    lacking,
    parquet_files,
    parquet_schema,
    separator_of,
    table_name,
)
from sordino.catalog.servers import SPARK_ADDRESS, is_address, names_in
from sordino.catalog.toml import key, quoted, value
from sordino.catalog.values import LONGEST_TEXT
from sordino.errors import CatalogError
from sordino.query.types import Type, Value

if TYPE_CHECKING:
    from sordino.catalog.guesses import Nearly


MOST_DISTINCT = 1000


def public_entry(name: str, kind: Type, columns: Iterable[Any]) -> str:
    """Return the bounds or the keys that the values of a column have, as TOML.

    Of several files there are several ``columns``, which may be of different types. Text has keys,
    all else has bounds. Empty if there are no values to tell them from.
    """
    with about(f"column {name!r}"):
        found = sorted({value for column in columns for value in _values(kind, column)})
    if kind is Type.BOOLEAN or not found:
        return ""
    if kind is Type.TEXT:
        if len(found) > MOST_DISTINCT:
            raise CatalogError(
                f"{name!r} has more than {MOST_DISTINCT:,} distinct values; list its keys yourself "
                "or leave it without"
            )
        return f"keys = [{', '.join(map(value, found))}]"
    low, high = found[0], found[-1]
    if kind.is_time:
        return f"bounds = [{low.year}, {high.year}]"
    return f"bounds = [{value(low)}, {value(high)}]" if low < high else ""


def parquet_values(path: Path, name: str) -> list[Any]:
    """Return a column of a Parquet file, or one for each file that a pattern matches."""
    import pyarrow as pa  # pyarrow is loaded only where files are read
    import pyarrow.parquet as pq

    try:
        return [pq.read_table(file, columns=[name]).column(0) for file in parquet_files(path)]
    except (OSError, pa.ArrowException, IndexError):
        raise CatalogError(f"column {name!r} of {str(path)!r} cannot be read") from None


def _values(kind: Type, column: Any) -> Iterable[Any]:
    import pyarrow.compute as pc  # pyarrow is loaded only where files are read

    if type_of(column.type) is Type.TEXT and kind is not Type.TEXT:
        texts = pc.unique(plain(column, Type.TEXT)).to_pylist()
        read = (_parsed(kind, text) for text in texts if text is not None)
    else:
        read = iter(pc.unique(plain(column, kind)).to_pylist())
    return {found for found in read if _is_fit(found)}


def _is_fit(found: Value) -> bool:
    if isinstance(found, str):
        return len(found) <= LONGEST_TEXT and "\0" not in found
    if isinstance(found, float):
        return abs(found) < 1e100  # infinities and NaN are not
    return found is not None


_PARSERS: dict[Type, Callable[[str], Value]] = {
    Type.INTEGER: int,
    Type.REAL: float,
    Type.DATE: date.fromisoformat,
    Type.TIMESTAMP: lambda text: datetime.fromisoformat(text).replace(tzinfo=None),
}


def _parsed(kind: Type, text: str) -> Value:
    parser = _PARSERS.get(kind)
    try:
        return None if parser is None else parser(text.strip())
    except ValueError:
        return None


_HEAD = """\
# What is declared about the data. All of it is public.
{origin}
# What only the owner can state is marked TODO; `sordino check` says what is still missing.
"""
_BUDGET = """
[budget]
epsilon = 1  # the most that all answers together may reveal about one person; less protects more
# delta = 1e-6  # for grouping by columns without keys; take far less than 1 / number of people
# question = 0.1  # the part of the budget that one question may cost at most

# [ledger]  # where it is kept what was spent; without this, in sordino.ledger beside this file
# file = "sordino.ledger"
# key = "ledger.key"  # a file with a key of the owner; who does not have it cannot forge entries

# [analysts.alice]
# share = 0.5  # the part of the budget that alice may spend at most
# reserved = 0.2  # the part that nobody else may spend
# [analysts."*"]  # everybody else; without this, nobody but those who are named may ask

# [server]  # for 'sordino serve' alone
# slot = "1s"  # answers leave at the end of a slot; twice as long as questions take
# approve_above = 0.5  # the price of a question above which somebody has to approve it first
"""
_VIEW = """
# The view {} is left out: it may mix rows of several people. To use it, store its rows, by
# CREATE TABLE ... AS.
"""
_VIEW_SAID = "the view {} is left out; to use it, store its rows, by CREATE TABLE ... AS"
_FIRST = "line {} is the first that is not"
_ASK = {
    Type.INTEGER: '{ type = "integer", bounds = [0, 100] }',
    Type.REAL: '{ type = "real", bounds = [0, 100] }',
    Type.DATE: '{ type = "date", bounds = [2020, 2029] }',
    Type.TIMESTAMP: '{ type = "timestamp", bounds = [2020, 2029] }',
    Type.TEXT: '{ type = "text", keys = ["a", "b"] }',
}
_END = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}")


_PLAIN = CsvFile(Path())


@dataclass(frozen=True, slots=True)
class _Drafted:
    """A table on its way into the draft; ``untyped`` says that its types are not known."""

    name: str
    lines: tuple[str, ...]
    schema: Schema
    values: Callable[[str], Iterable[Any]]
    untyped: bool = False
    guessed: bool = False
    nearly: Mapping[str, Nearly] = field(default_factory=dict)
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lacking: Mapping[str, Path] = field(default_factory=dict)


def draft(
    paths: str | Path | Iterable[str | Path],
    *,
    unit: str | None = None,
    declare_public: Iterable[str] = (),
    bounds: Mapping[str, tuple[str, str]] | None = None,
    guess_types: bool = False,
    csv: Mapping[str, object] | None = None,
    folder: Path | None = None,
    reader: Reader | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> str:
    """Return the text of a sordino.toml for Parquet, CSV and DuckDB files, and for servers.

    A text that begins like an address, such as ``postgresql://host/name``, is a server.

    No value of the data is in it, but for two wishes that the owner must state. ``declare_public``
    names columns, as ``"disease"`` or ``"visits.disease"``, whose range or distinct values are
    read and written down as public. ``guess_types`` looks at the first rows of CSV files to tell
    the types of columns and how days and fractions are written, and nothing else of them. ``csv``
    are options of theirs that the owner knows, such as the encoding. ``bounds`` are the owner's
    own. ``folder`` is where the text will be kept; ``reader`` is needed for databases. What the
    owner should know besides is handed to ``tell``, and is not public.
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    tables: list[_Drafted] = []
    views: list[str] = []
    for place in listed:
        if isinstance(place, str) and is_address(place):
            tables += _on_server(place, reader)
            views += () if reader is None else reader.views(place)
            continue
        path = Path(place)
        views += _views(path, reader)
        tables += _tables(path, folder or Path(), reader, guess_types=guess_types, csv=csv or {})
    if not tables and views:
        raise CatalogError(
            f"there are only views ({among(views)}), which are not read; store the rows of one, by "
            "CREATE TABLE ... AS"
        )
    if not tables:
        raise CatalogError(
            "name at least one Parquet, CSV or DuckDB file that has a table, or a database with "
            "one that may be read"
        )
    tables = _renamed(tables)
    wishes = _Wishes(unit, tuple(declare_public), dict(bounds or {}))
    _check_wishes(wishes, tables)
    for said in (*_remarks(tables, wishes), *map(_VIEW_SAID.format, map(key, views))):
        tell(said)
    return (
        _HEAD.format(origin=_origin(wishes, tables))
        + _BUDGET
        + "".join(_section(table, wishes) for table in tables)
        + "".join(_VIEW.format(key(view)) for view in views)
    )


@dataclass(frozen=True, slots=True)
class _Wishes:
    unit: str | None
    public: tuple[str, ...]
    bounds: dict[str, tuple[str, str]]

    def is_public(self, table: _Drafted, column: str) -> bool:
        return any(_means(name, table, column) for name in self.public)

    def bounds_of(self, table: _Drafted, column: str) -> tuple[str, str] | None:
        stated = (ends for name, ends in self.bounds.items() if _means(name, table, column))
        return next(stated, None)


def _means(name: str, table: _Drafted, column: str) -> bool:
    return name in (column, f"{table.name}.{column}")


def _views(path: Path, reader: Reader | None) -> tuple[str, ...]:
    return reader.views(path) if reader is not None and kind_of(path) == "duckdb" else ()


def _tables(
    path: Path,
    folder: Path,
    reader: Reader | None,
    *,
    guess_types: bool,
    csv: Mapping[str, object],
) -> list[_Drafted]:
    kind = kind_of(path)
    name = table_name(path)
    place = quoted(Path(os.path.relpath(path, folder)).as_posix())
    if kind == "csv":
        return [_csv(csv_file(path, **csv), name, place, guess_types=guess_types)]
    if kind == "duckdb":
        if reader is None:
            raise CatalogError(f"{str(path)!r} is a DuckDB file; hand over a reader for it")
        return [
            _Drafted(
                table,
                (f"duckdb = {place}", f"table = {quoted(table)}"),
                schema,
                partial(_stored, reader, path, table),
            )
            for table, schema in reader.schemas(path).items()
        ]
    return [
        _Drafted(
            name,
            (f"parquet = {place}",),
            parquet_schema(path),
            partial(parquet_values, path),
            lacking=lacking(ParquetFile(path)),
        )
    ]


def _on_server(address: str, reader: Reader | None) -> list[_Drafted]:
    """Return the tables of a server that the role in its address may read."""
    if reader is None:
        raise CatalogError(f"{address!r} is a server; hand over a reader for it")
    kind = "spark" if address.startswith(SPARK_ADDRESS) else "postgres"
    return [
        _Drafted(
            re.sub(r"\W+", "_", names_in(table)[-1]),
            (f"{kind} = {quoted(address)}", f"table = {quoted(table)}"),
            schema,
            partial(_stored, reader, address, table),
        )
        for table, schema in reader.schemas(address).items()
    ]


def _stored(reader: Reader, place: Path | str, table: str, column: str) -> list[Any]:
    return [reader.column(place, table, column)]


def _csv(plain: CsvFile, name: str, place: str, *, guess_types: bool) -> _Drafted:
    from sordino.catalog.csv.files import header_line  # pyarrow is loaded only where files are read
    from sordino.catalog.guesses import Guess, column_of, guess

    first = replace(plain, path=parquet_files(plain.path)[0])
    source = replace(first, separator=separator_of(header_line(first)))
    names = csv_names(replace(source, path=plain.path))
    guessed = Guess(source, dict.fromkeys(names, Type.TEXT))
    if guess_types:
        guessed = guess(source, names)
    source, types = guessed.source, guessed.types
    lines = [f"csv = {place}"]
    stated = {"separator": source.separator} if source.separator != plain.separator else {}
    for option in ("encoding", "decimal", "date_format"):
        value = getattr(source, option)
        if value != getattr(_PLAIN, option):
            stated[option] = value
    lines += [f"{option} = {quoted(value)}" for option, value in stated.items()]
    if source.nulls != _PLAIN.nulls:
        words = ", ".join(map(quoted, source.nulls))
        lines.append(f"nulls = [{words}]  # texts that mean that there is no value")
    return _Drafted(
        name,
        tuple(lines),
        tuple(SourceColumn(column, types[column], "") for column in names),
        lambda column: [column_of(source, column, types[column])],
        untyped=not guess_types,
        guessed=guess_types,
        nearly=guessed.nearly,
        orders=guessed.orders,
        lacking=lacking(replace(source, path=plain.path)),
    )


def _renamed(tables: list[_Drafted]) -> list[_Drafted]:
    """Return tables whose names differ, and are as short as that allows."""
    seen: set[str] = set()
    found = []
    for table in tables:
        name, many = table.name, 1
        while name.casefold() in seen:
            many += 1
            name = f"{table.name}_{many}"
        seen.add(name.casefold())
        found.append(replace(table, name=name))
    return found


def _check_wishes(wishes: _Wishes, tables: list[_Drafted]) -> None:
    columns = [(table, column.name) for table in tables for column in table.schema]
    names = among({column for _, column in columns})
    stated = [("--declare-public", name) for name in wishes.public]
    stated += [("--bounds", name) for name in wishes.bounds]
    for option, name in stated:
        if not any(_means(name, table, column) for table, column in columns):
            raise CatalogError(
                f"{option} names {name!r}, which is not a column: {names}{_meant(name, columns)}"
            )
        if wishes.unit is not None and name.split(".")[-1] == wishes.unit:
            raise CatalogError(f"{option} names the unit, and people's ids are not public")
    for name, (low, high) in wishes.bounds.items():
        if not (_END.fullmatch(low) and _END.fullmatch(high)):
            raise CatalogError(f"--bounds of {name!r} must be two numbers, years or dates")
        if _is_day(low) != _is_day(high):
            raise CatalogError(f"--bounds of {name!r} must be two numbers or two dates")
        if low > high if _is_day(low) else Fraction(low) > Fraction(high):
            raise CatalogError(f"--bounds of {name!r} must have the lower end first")
    if wishes.unit not in (None, ROW) and all(column != wishes.unit for _, column in columns):
        raise CatalogError(
            f"--unit names {wishes.unit!r}, which is not a column: {names}"
            f"{_meant(str(wishes.unit), columns)}"
        )


def _meant(name: str, columns: list[tuple[_Drafted, str]]) -> str:
    """Return a hint at the column whose name is close to what was typed, or nothing."""
    folded = {column.casefold(): column for _, column in columns}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""


def _is_day(end: str) -> bool:
    return end.count("-") == 2 and "e" not in end.lower()


def _origin(wishes: _Wishes, tables: list[_Drafted]) -> str:
    lines = ["# Drafted from schemas and headers; no value of the data is in it."]
    guessed = any(table.guessed for table in tables)
    if guessed or wishes.public:
        lines = ["# Drafted from schemas and headers, and besides:"]
    if guessed:
        lines.append("# - types, guessed from the first rows of CSV files;")
    if wishes.public:
        names = ", ".join(key(name) for name in wishes.public)
        lines.append(f"# - what the values of {names} are, which the owner declared public.")
    return "\n".join(lines)


def _remarks(tables: list[_Drafted], wishes: _Wishes) -> Iterator[str]:
    """Say what of the files is not in the draft, or hardly as it is meant."""
    for table in tables:
        for name, file in table.lacking.items():
            yield (
                f"{table.name} is left without the column {key(name)}, which {file.name} does not "
                "have and other files have"
            )
        for column in table.schema:
            if column.type is None:
                yield (
                    f"{table.name} is left without the column {key(column.name)}, which is of the "
                    f"type {column.held}"
                )
        for name, found in table.nearly.items():
            if wishes.bounds_of(table, name) is not None:
                yield (
                    f"not all values are {found.what}: {key(name)} ({_FIRST.format(found.line)}); "
                    "such values will be missing in every answer, and 'sordino check --read' "
                    "counts them"
                )
            elif wishes.unit != name:
                yield (
                    f"taken as text although nearly all of its values are {found.what}: "
                    f"{key(name)} ({_FIRST.format(found.line)}); if that is a word for a missing "
                    "value, name it, as in --nulls WORD"
                )
        for name, forms in table.orders.items():
            yield (
                f"taken as text, because its days may be written in several ways: {key(name)}; say "
                f"which, as in --date-format {forms[0]}"
            )


def _section(table: _Drafted, wishes: _Wishes) -> str:
    name = key(table.name)
    lines = ["", f"[tables.{name}]", *table.lines, *_whose(table, wishes)]
    lines += ["", f"[tables.{name}.columns]"]
    seen: set[str] = set()
    for column in table.schema:
        lines.append(_column(table, column, wishes, seen))
        seen.add(column.name.casefold())
    for absent in table.lacking:
        lines.append(f"# {key(absent)}: not all files have it; it is left out")
    return "\n".join(lines) + "\n"


def _whose(table: _Drafted, wishes: _Wishes) -> list[str]:
    if wishes.unit == ROW:
        return ['unit = "row"  # every row is one person']
    if any(column.name == wishes.unit for column in table.schema):
        return [
            f"unit = {quoted(str(wishes.unit))}  # the column that says whom a row belongs to",
            "# limits = { rows = 10 }  # TODO: how many rows of one person count in full",
        ]
    return [
        'unit = "TODO"  # TODO: the column that says whom a row belongs to, or "row"; or instead',
        '# parent = "visits.visit_id"  # a column of a table that leads to the person, and',
        '# via = "visit_id"  # the column here that holds the same; or',
        "# public = true  # if the table is about nobody",
    ]


def _column(table: _Drafted, column: SourceColumn, wishes: _Wishes, seen: set[str]) -> str:
    name = key(column.name)
    if not column.name.isprintable() or column.name.casefold() in seen or not column.name.strip():
        return f"# {name}: its name cannot be declared; rename the column to use it"
    if column.type is None:
        return f"# {name}: its type {column.held} has no counterpart here; it is left out"
    if column.name == wishes.unit:
        return f"{name} = {quoted(column.type)}  # the unit" + _unit_remark(column.type)
    ends = wishes.bounds_of(table, column.name)
    if ends is not None:
        kind = _bounded(table, column, ends)
        return f"{name} = {{ type = {quoted(kind)}, bounds = [{ends[0]}, {ends[1]}] }}"
    if wishes.is_public(table, column.name):
        entry = public_entry(column.name, column.type, table.values(column.name))
        if entry:
            return (
                f"{name} = {{ type = {quoted(column.type)}, {entry} }}"
                "  # declared public by the owner, and read off the data"
            )
    return f"{name} = {quoted(column.type)}{_todo(table, column, column.type)}"


def _bounded(table: _Drafted, column: SourceColumn, ends: tuple[str, str]) -> Type:
    """Return the type of a column with bounds.

    Where no schema says that a column is text, where some files hold it as text and others do not,
    or nearly all of its values have such bounds, it is taken for what has such bounds.
    """
    if column.type is Type.TEXT and (table.untyped or column.is_mixed):
        return Type.DATE if _is_day(ends[0]) else Type.REAL
    found = table.nearly.get(column.name)
    if found is not None and found.what == ("dates" if _is_day(ends[0]) else "numbers"):
        return Type.DATE if _is_day(ends[0]) else Type.REAL
    if column.type in (None, Type.TEXT, Type.BOOLEAN):
        raise CatalogError(
            f"--bounds names {column.name!r}, which is {column.type} and has no bounds; leave it "
            "out, or rewrite the file so that all of its values are numbers or dates"
        )
    return column.type


def _unit_remark(kind: Type) -> str:
    fits = kind in (Type.INTEGER, Type.TEXT)
    if fits:
        return ""
    return "; TODO: declare the ids as text, or rewrite the file with whole numbers"


def _todo(table: _Drafted, column: SourceColumn, kind: Type) -> str:
    if table.untyped:
        return "  # TODO: state the type (integer, real, text, boolean, date or timestamp)"
    if found := table.nearly.get(column.name):
        return (
            f"  # TODO: nearly all of its values are {found.what}; if the others are words for a "
            "missing value, add them to nulls, and state the type"
        )
    if forms := table.orders.get(column.name):
        either = " or ".join(f"date_format = {quoted(form)}" for form in forms)
        return f"  # TODO: it looks like days; state {either}, and the type date"
    if kind is Type.BOOLEAN:
        return ""
    what = "keys" if kind is Type.TEXT else "bounds"
    return f"  # TODO: state public {what}, as in {_ASK[kind]}"
