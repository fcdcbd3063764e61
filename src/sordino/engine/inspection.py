# SPDX-License-Identifier: Apache-2.0
"""A look at all rows for the eyes of their owner: what was read, what was not, and why.

What is found is exact and has no noise: it is private, and is never shown to who asks questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import numpy as np

from sordino.catalog.doctor import Finding, Severity, mistake
from sordino.catalog.model import DEFAULT_ROWS, ROW, Catalog, Column, CsvFile, Limits, Table
from sordino.catalog.schemas import WORDS, Malformed
from sordino.engine.compile.dialect import Writer, inner, select
from sordino.engine.compile.rows import Tables, upward
from sordino.engine.duckdb.columns import view_name
from sordino.engine.duckdb.connection import read_typed
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.duckdb.sources import CsvRows
from sordino.engine.opening import open_engine
from sordino.engine.protocol import OpenEngine
from sordino.engine.several import Engines
from sordino.errors import CatalogError
from sordino.query.types import Type, Value

if TYPE_CHECKING:
    from sordino.catalog.csv.files import Block
    from sordino.catalog.csv.tokens import Places


LINES = 5  # line numbers that are told


@dataclass(slots=True)
class Tally:
    """How often something was seen, and the first lines of it, each a file and a number."""

    count: int = 0
    lines: list[tuple[str, int]] = field(default_factory=list)

    def add(self, file: str, lines: Any) -> None:
        """Count lines of a file, and keep those that are among the first."""
        self.count += len(lines)
        self.lines += [(file, line) for line in lines[: LINES - len(self.lines)].tolist()]

    def words(self, *, files: bool = False) -> str:
        """Return the number, and in brackets the lines; with ``files`` also where they are."""
        if not self.lines:
            return f"{self.count:,}"
        groups: dict[str, list[int]] = {}
        for file, line in self.lines:
            groups.setdefault(file if files else "", []).append(line)
        said = "; ".join(
            f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}{f' of {file}' * bool(file)}"
            for file, lines in groups.items()
        )
        more = ", ..." if self.count > len(self.lines) else ""
        return f"{self.count:,} ({said}{more})"


@dataclass(slots=True)
class CsvTally:
    """What is told of a table after its files were read through.

    ``begun`` has, for each file by name, the lines in which its rows begin.
    """

    table: Table
    rows: int = 0
    left_out: int = 0
    findings: list[Finding] = field(default_factory=list)
    is_readable: bool = True
    begun: list[tuple[str, list[Places]]] = field(default_factory=list)

    def note(self, severity: Severity, where: str, tally: Tally, message: str, hint: str) -> None:
        """Tell what was seen in one file, if it was."""
        if tally.count:
            said = f"{message}: {tally.words()}"
            self.findings.append(
                Finding(severity, where, said, hint, tally.count, tuple(tally.lines))
            )

    def line_of(self, row: int) -> tuple[str, int]:
        """Return the file and the line of a row; rows of all files count from 1."""
        passed = 1
        for file, blocks in self.begun:
            for lines in blocks:
                if row < passed + len(lines):
                    return file, int(lines[row - passed])
                passed += len(lines)
        raise IndexError(f"there is no row {row}")


def read_through(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    how: tuple[CsvRows, str],
    watch: Callable[[int], None],
) -> CsvTally:
    """Read the files of a table and count; ``watch`` is told how many rows were read."""
    rows, typed = how
    tally = CsvTally(table)
    for file in rows.files:
        where = table.name if len(rows.files) == 1 else f"{table.name} ({file.path.name})"
        blocks = _watched(read_typed(connection, file, rows, typed), tally, watch)
        try:
            _count(tally, where, file, blocks)
        except Malformed as error:
            tally.is_readable = False
            _tell_malformed(tally, where, error, file)
        except CatalogError as error:
            tally.is_readable = False
            tally.findings.append(mistake(where, str(error), "write the file anew"))
    return tally


def _watched(
    blocks: Iterator[tuple[Block, Any]], tally: CsvTally, watch: Callable[[int], None]
) -> Iterator[tuple[Block, Any]]:
    for block, values in blocks:
        tally.rows += len(block.lines)
        watch(tally.rows)
        yield block, values


def _count(tally: CsvTally, where: str, file: CsvFile, blocks: Iterator[tuple[Block, Any]]) -> None:
    columns = tally.table.columns
    name = file.path.name
    unreadable = [Tally() for _ in columns]
    unfit = [Tally() for _ in columns]
    longer, shorter = Tally(), Tally()
    bad: dict[str, Tally] = {}
    begun: list[Places] = []
    tally.begun.append((name, begun))
    for block, values in blocks:
        begun.append(block.lines)
        longer.add(name, block.longer)
        shorter.add(name, block.shorter)
        for place, texts in enumerate(block.texts):
            known = values.column(place).is_valid().to_numpy()
            unreadable[place].add(name, block.lines[texts.unreadable])
            unfit[place].add(name, block.lines[texts.present & ~texts.unreadable & ~known])
        for reason in dict.fromkeys(block.reasons):
            chosen = np.array([other == reason for other in block.reasons])
            bad.setdefault(reason, Tally()).add(name, block.bad[chosen])
    for reason, lines in bad.items():
        tally.left_out += lines.count
        tally.note(
            Severity.WARNING,
            where,
            lines,
            f"lines that are left out, because {reason}",
            "mend the lines, or the program that writes them",
        )
    tally.note(
        Severity.WARNING,
        where,
        longer,
        "rows with more values than the header, of which the last are not read",
        "mend the rows; if a value holds the separator, it must be quoted, or others shift",
    )
    tally.note(
        Severity.WARNING,
        where,
        shorter,
        "rows with fewer values than the header, of which the last are missing",
        "mend the rows, or the program that writes them",
    )
    for place, column in enumerate(columns):
        tally.note(
            Severity.WARNING,
            f"{where}.{column.name}",
            unreadable[place],
            f"values that are no text in {file.encoding}, and are missing",
            'state the encoding of the file, as in encoding = "cp1252"',
        )
        tally.note(
            Severity.WARNING,
            f"{where}.{column.name}",
            unfit[place],
            f"values that do not fit the type {column.type}, and are missing",
            _hint(column.type, file),
        )


def _hint(kind: str, file: CsvFile) -> str:
    if kind in ("date", "timestamp"):
        stated = getattr(file, f"{kind}_format")
        if stated is None:
            return f'state how they are written, as in {kind}_format = "{_FORMATS[kind]}"'
        return f"they are read as {stated}; correct {kind}_format, or the values"
    if kind == "real" and file.decimal == ".":
        return 'correct the values; if fractions have a comma, state decimal = ","'
    return 'correct the values or the type, or name what means nothing, as in nulls = ["", "NA"]'


_FORMATS = {"date": "%d.%m.%Y", "timestamp": "%d.%m.%Y %H:%M:%S"}


def _tell_malformed(tally: CsvTally, where: str, error: Malformed, file: CsvFile) -> None:
    from sordino.catalog.csv.files import read_blocks  # only where there is a CSV file

    lines = Tally()
    for block in read_blocks(replace(file, malformed="skip"), ()):
        lines.add(file.path.name, block.bad)
    tally.findings.append(
        Finding(
            Severity.ERROR,
            where,
            f"line {error.line:,}: {error.reason}; nothing of the table can be asked",
            f'mend the line; malformed = "skip" would leave out such lines: {lines.words()}',
            lines.count,
            tuple(lines.lines),
        )
    )


Watch: TypeAlias = "Callable[[str, int], None]"  # told a table and how many of its rows were read


PRIVATE = "What follows is exact and private: it is for the owner alone, and must not be passed on."
_MUCH = Fraction(1, 100)  # of all rows: a count that is off by more is worth a warning

Condition: TypeAlias = "Callable[[Writer, Tables], list[str]]"  # on rows whose value is called v


@dataclass(frozen=True, slots=True)
class Inspected:
    """What the owner is told of one table: its rows, the lines left out, and what is odd.

    ``rows`` were read, and is None if the table cannot be read. ``left_out`` counts those of them
    that are nobody's, and lines that are no rows. ``people`` is how many the other rows are about,
    and None where no ids are declared.
    """

    table: str
    rows: int | None
    left_out: int
    people: int | None
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what a program needs."""
        return {
            "table": self.table,
            "rows": self.rows,
            "left_out": self.left_out,
            "people": self.people,
            "findings": [finding.as_json() for finding in self.findings],
        }

    def __str__(self) -> str:
        if self.rows is None:
            return f"{self.table}: cannot be read"
        left = f", left out: {self.left_out:,}" if self.left_out else ""
        people = "" if self.people is None else f", people: {self.people:,}"
        return f"{self.table}: rows read: {self.rows:,}{left}{people}"


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the owner is told of all tables; printed, it says first that it is private.

    Guarantee: none; it is exact, and for the owner of the data alone.
    """

    tables: tuple[Inspected, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is odd about all tables, the worst first."""
        found = (finding for table in self.tables for finding in table.findings)
        return tuple(sorted(found, key=lambda finding: list(Severity).index(finding.severity)))

    def as_json(self) -> dict[str, Any]:
        """Return what a program needs."""
        return {"note": PRIVATE, "tables": [table.as_json() for table in self.tables]}

    def __str__(self) -> str:
        lines = [PRIVATE, "", *map(str, self.tables)]
        for finding in self.findings:
            lines += ["", f"{finding.severity}: {finding.where}: {finding.message}"]
            lines.append(f"  {finding.hint}")
        return "\n".join(lines)


def inspect(catalog: Catalog, watch: Watch | None = None) -> Inspection:
    """Read all tables of a catalog, and tell what is odd about each of them."""
    return Inspection(tuple(_inspected_all(catalog, watch or (lambda _table, _rows: None))))


def _inspected_all(catalog: Catalog, watch: Watch) -> Iterator[Inspected]:
    engine = open_engine(catalog)
    try:
        tallies = _tallied(catalog, engine, watch)
        unread = {name for name, tally in tallies.items() if not tally.is_readable}
        for table in catalog.tables:
            watch(table.name, 0)
            own = engine.of_table(table.name) if isinstance(engine, Engines) else engine
            yield _inspected(own, table, tallies.get(table.name), unread)
    finally:
        engine.close()


def _tallied(catalog: Catalog, engine: OpenEngine, watch: Watch) -> dict[str, CsvTally]:
    """Read all CSV files through."""
    tallies: dict[str, CsvTally] = {}
    for place, table in enumerate(catalog.tables):
        if not isinstance(table.source, CsvFile):
            continue
        own = engine.of_table(table.name) if isinstance(engine, Engines) else engine
        if not isinstance(own, DuckdbEngine):
            raise TypeError("only DuckDB reads CSV files")
        how = own.database.loaded(view_name(place))
        if how is not None:
            with own.database.connection() as connection:
                told = partial(watch, table.name)
                tallies[table.name] = read_through(connection, table, how, told)
    return tallies


def _inspected(
    engine: OpenEngine, table: Table, tally: CsvTally | None, unread: set[str]
) -> Inspected:
    findings = [] if tally is None else list(tally.findings)
    left_out = 0 if tally is None else tally.left_out
    above = upward(table.name, engine.catalog)
    if above & unread:
        if table.name not in unread:
            findings.append(_unread(table, "a table above it cannot be read", "correct that first"))
        return Inspected(table.name, None, left_out, None, tuple(findings))
    inspection = _TableInspection(engine, table, tally, findings)
    rows, people = None, None
    try:
        engine.read(above)
        rows = inspection.rows()
        inspection.keys()
        left_out += inspection.nobodies()
        people = inspection.people()
    except CatalogError as error:
        findings.append(_unread(table, str(error), "correct the file"))
    return Inspected(table.name, rows, left_out, people, tuple(findings))


def _unread(table: Table, message: str, hint: str) -> Finding:
    return Finding(Severity.ERROR, table.name, message, hint)


class _TableInspection:
    """Statements on all rows of one table."""

    def __init__(
        self, engine: OpenEngine, table: Table, csv: CsvTally | None, findings: list[Finding]
    ) -> None:
        self._engine = engine
        self._table = table
        self._alone = _alone(table)
        self._csv = csv
        self._findings = findings

    def rows(self) -> int:
        """Count rows, and values that do not fit or lie outside of their bounds."""
        writer, tables = self._begun()
        columns = self._table.columns
        wanted = [(f"v{place}", column.name) for place, column in enumerate(columns)]
        raw = [(f"r{place}", column.name) for place, column in enumerate(columns)]
        base = tables.base(self._alone, wanted, raw)
        counts, written = ["count(*)"], writer.dialect.functions["written"]
        for place, column in enumerate(columns):
            v, r = f"v{place}", f"r{place}"
            odd = f"{v} IS NULL AND {r} IS NOT NULL AND {written.format(r)} <> 'nan'"
            counts += [_count_where(odd), _count_where(_outside(writer, column, v))]
        (rows, *counted), *_ = self._fetched(writer, select(counts, base))
        if not rows:
            self._note(
                Severity.WARNING,
                "",
                Tally(),
                "it has no rows, and answers are noise alone",
                "see whether the source is the right one",
            )
        for place, column in enumerate(columns):
            unfit, outside = counted[2 * place : 2 * place + 2]
            self._tell(
                Severity.WARNING,
                column.name,
                Tally(unfit),
                f"values that do not fit the type {column.type}, and are missing",
                "correct the values or the type",
            )
            self._tell(
                Severity.NOTE,
                column.name,
                self._with_lines(outside, column.name, _outside_of(column)),
                "values that lie outside of the bounds, and are clamped",
                "state bounds that nearly all values keep to, from what is publicly known",
            )
        return int(rows)

    def keys(self) -> None:
        """Count values that are not among the declared keys."""
        for column in self._table.columns:
            keys = self._keys_of(column)
            if keys is None:
                continue
            end = (
                "are left out where rows are grouped by it"
                if column.other is None
                else (f"are counted as {column.other!r} where rows are grouped by it")
            )
            self._tell(
                Severity.NOTE,
                column.name,
                self._tally(column.name, _not_among(column, keys)),
                f"values that are not among its keys, and {end}",
                "correct them, or add keys that are publicly known",
            )

    def nobodies(self) -> int:
        """Count rows of nobody, which are left out, and say why they are."""
        table = self._table
        if table.public or table.each_row:
            return 0
        if table.unit is not None:
            return self._without(table.unit, "rows without an id, which are left out")
        key = table.parent
        parent = None if key is None else self._engine.catalog.table(key.parent)
        if key is None or parent is None:
            return 0
        without = self._without(key.column, "rows without an id of a parent, which are left out")
        orphans = self._tally(key.column, _led_nowhere(parent, key.parent_column))
        self._tell(
            Severity.WARNING,
            key.column,
            orphans,
            f"rows with an id that {key.parent} does not have, which are left out",
            f"add the rows to {key.parent}, or correct the ids",
        )
        writer, tables = self._begun(units=True)
        led = select(["v"], tables.base(table, [("v", key.column)]))
        base = tables.base(self._alone, [("v", key.column)])
        where = ["v IS NOT NULL", f"v NOT IN {inner(led)}"]
        lost = self._number(writer, select(["count(*)"], base, where=where))
        self._tell(
            Severity.WARNING,
            key.column,
            Tally(lost - orphans.count),
            f"rows that lead to rows of {key.parent} that are left out, and are left out too",
            f"correct {key.parent} first",
        )
        self._several(key.column, parent, key.parent_column)
        return without + lost

    def people(self) -> int | None:
        """Count people, and tell of ids that are doubtful and of people with many rows."""
        table = self._table
        if table.public or table.each_row:
            return None
        writer, tables = self._begun(units=True)
        limit = table.limits.rows or DEFAULT_ROWS
        each = inner(select(["count(*) AS n"], tables.base(table, []), by=["u"]))
        counts = ["count(*)", _count_where(f"n > {limit}"), "coalesce(sum(n), 0)"]
        counts.append(f"coalesce(sum(greatest(n - {limit}, 0)), 0)")
        people, crowded, rows, beyond = map(int, self._fetched(writer, select(counts, each))[0])
        if table.unit is not None:
            self._doubtful_ids(table.unit)
        if crowded:
            share = Fraction(beyond, rows)
            count = f"{limit:,} row{'s' * (limit != 1)}"
            self._note(
                Severity.WARNING if share >= _MUCH else Severity.NOTE,
                "",
                Tally(crowded),
                f"people with more than {count}, who count as {count} each: {crowded:,} of "
                f"{people:,}; that takes off {beyond:,} of {rows:,} rows ({float(100 * share):.3g} "
                "%), so that counts get smaller, and averages may be biased",
                "raise limits = { rows = ... } to what is publicly known to be enough for most "
                "people; noise grows with it",
            )
        return people

    def _doubtful_ids(self, name: str) -> None:
        column = self._table.column(name)
        if column is None or column.type is not Type.TEXT:
            return
        is_csv = self._csv is not None
        self._tell(
            Severity.WARNING,
            name,
            self._tally(name, _looks_missing),
            "rows whose id is blank or looks like a word for a missing one, so that all rows with "
            "the same word are taken for one person",
            'name the words that mean nothing, as in nulls = ["", "NA"]; such rows are left out'
            if is_csv
            else "make such ids missing where the source is written; such rows are left out",
        )
        writer, tables = self._begun()
        base = tables.base(self._alone, [("v", name)])
        squeezed = writer.dialect.functions["squeezed"].format("v")
        alike = select(
            ["count(DISTINCT v) AS n"],
            base,
            where=["v IS NOT NULL"],
            by=[squeezed],
            having=["count(DISTINCT v) > 1"],
        )
        many = self._number(writer, select(["coalesce(sum(n), 0)"], inner(alike)))
        self._tell(
            Severity.WARNING,
            name,
            Tally(many),
            "ids that differ from another one in spaces or in the case of letters alone, so that "
            "one person may count as several, each of whom is protected alone",
            "write each person's id in one way",
        )

    def _without(self, name: str, message: str) -> int:
        tally = self._tally(name, lambda _writer, _tables: ["v IS NULL"])
        hint = "add the ids, or leave the rows out of the file"
        self._tell(Severity.WARNING, name, tally, message, hint)
        return tally.count

    def _several(self, column: str, parent: Table, parent_column: str) -> None:
        writer, tables = self._begun()
        base = tables.base(_alone(parent), [("p", parent_column)])
        twice = select(["p"], base, where=["p IS NOT NULL"], by=["p"], having=["count(*) > 1"])
        self._tell(
            Severity.WARNING,
            column,
            Tally(self._number(writer, select(["count(*)"], inner(twice)))),
            f"ids that stand in several rows of {parent.name}, so that rows count several times",
            f"make {parent.name}.{parent_column} different in each row",
        )

    def _keys_of(self, column: Column) -> tuple[Value, ...] | None:
        if column.keys_from is not None:
            return self._engine.public_values(*column.keys_from)
        return column.keys

    def _tally(self, column: str, condition: Condition) -> Tally:
        """Count rows by a condition on a column, and find the first of them in a CSV file."""
        writer, tables = self._begun()
        base = tables.base(self._alone, [("v", column)])
        text = select(["count(*)"], base, where=condition(writer, tables))
        return self._with_lines(self._number(writer, text), column, condition)

    def _with_lines(self, many: int, column: str, condition: Condition) -> Tally:
        if self._csv is None or not many:
            return Tally(many)
        writer, tables = self._begun(units=True)
        numbered = replace(self._alone, public=False, unit=ROW)  # so that a unit is a row's number
        base = tables.base(numbered, [("v", column)])
        text = select(["u"], base, where=condition(writer, tables)) + f" ORDER BY u LIMIT {LINES}"
        return Tally(many, [self._csv.line_of(row) for (row,) in self._fetched(writer, text)])

    def _begun(self, *, units: bool = False) -> tuple[Writer, Tables]:
        writer = Writer(self._engine.dialect)
        return writer, Tables(writer, self._engine.catalog, self._engine.bases, units=units)

    def _fetched(self, writer: Writer, text: str) -> list[Any]:
        sql, bound, _ = writer.statement(text)
        return self._engine.fetch(sql, bound)

    def _number(self, writer: Writer, text: str) -> int:
        return int(self._fetched(writer, text)[0][0])

    def _tell(self, severity: Severity, column: str, tally: Tally, message: str, hint: str) -> None:
        if tally.count:
            files = self._csv is not None and len(self._csv.begun) > 1
            said = f"{message}: {tally.words(files=files)}"
            self._note(severity, column, tally, said, hint)

    def _note(self, severity: Severity, column: str, tally: Tally, message: str, hint: str) -> None:
        where = f"{self._table.name}.{column}" if column else self._table.name
        found = Finding(severity, where, message, hint, tally.count, tuple(tally.lines))
        self._findings.append(found)


def _alone(table: Table) -> Table:
    """Return a table as if it were public, so that rows without an id are there too."""
    return replace(table, public=True, unit=None, parent=None, limits=Limits())


def _count_where(condition: str) -> str:
    return f"count(CASE WHEN {condition} THEN 1 END)"


def _outside_of(column: Column) -> Condition:
    return lambda writer, _: [_outside(writer, column, "v")]


def _not_among(column: Column, keys: tuple[Value, ...]) -> Condition:
    def condition(writer: Writer, _: Tables) -> list[str]:
        listed = writer.values([key for key in keys if key is not None], column.type)
        return ["v IS NOT NULL", f"v NOT IN {inner(select(['c'], listed))}"]

    return condition


def _led_nowhere(parent: Table, column: str) -> Condition:
    def condition(_: Writer, tables: Tables) -> list[str]:
        above = tables.base(_alone(parent), [("p", column)])
        there = inner(select(["p"], above, where=["p IS NOT NULL"]))
        return ["v IS NOT NULL", f"v NOT IN {there}"]

    return condition


def _looks_missing(writer: Writer, _: Tables) -> list[str]:
    words = sorted({"".join(word.lower().split()) for word in ("", *WORDS)})
    listed = inner(select(["c"], writer.values(words, Type.TEXT)))
    return ["v IS NOT NULL", f"{writer.dialect.functions['squeezed'].format('v')} IN {listed}"]


def _outside(writer: Writer, column: Column, v: str) -> str:
    bounds = column.bounds
    if bounds is None:
        return "FALSE"
    if column.type.is_time:
        v = writer.dialect.functions["year"].format(v)
    kind = Type.REAL if column.type is Type.REAL else Type.INTEGER
    low, high = (writer.value(_plain(end, kind), kind) for end in (bounds.low, bounds.high))
    return f"{v} < {low} OR {v} > {high}"


def _plain(end: Fraction, kind: Type) -> int | float:
    return float(end) if kind is Type.REAL else int(end)
