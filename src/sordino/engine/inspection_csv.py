# SPDX-License-Identifier: Apache-2.0
"""What a CSV file has that cannot be read as declared, with the lines where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.engine.duckdb_connection import read_typed
from sordino.engine.duckdb_sources import CsvRows
from sordino.errors import CatalogError
from sordino.query.catalog import CsvFile, Table
from sordino.query.doctor import Finding, Severity, mistake
from sordino.query.malformed import Malformed

if TYPE_CHECKING:
    import duckdb

    from sordino.query.csv_files import Block

_LINES = 5  # line numbers that are told


@dataclass(slots=True)
class _Tally:
    """How often something was seen, and the first lines of it."""

    many: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, lines: Any) -> None:
        self.many += len(lines)
        self.lines += lines[: _LINES - len(self.lines)].tolist()

    def __str__(self) -> str:
        more = ", ..." if self.many > len(self.lines) else ""
        lines = ", ".join(map(str, self.lines))
        return f"{self.many:,} (line{'s' * (self.many > 1)} {lines}{more})"


@dataclass(slots=True)
class CsvTally:
    """What is told of a table after its files were read through."""

    table: Table
    rows: int = 0
    left_out: int = 0
    findings: list[Finding] = field(default_factory=list)
    is_readable: bool = True

    def note(self, severity: Severity, where: str, message: str, hint: str) -> None:
        self.findings.append(Finding(severity, where, message, hint))


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
    unreadable = [_Tally() for _ in columns]
    unfit = [_Tally() for _ in columns]
    bad: dict[str, _Tally] = {}
    for block, values in blocks:
        for place, texts in enumerate(block.texts):
            known = values.column(place).is_valid().to_numpy()
            unreadable[place].add(block.lines[texts.unreadable])
            unfit[place].add(block.lines[texts.present & ~texts.unreadable & ~known])
        for reason in dict.fromkeys(block.reasons):
            chosen = np.array([other == reason for other in block.reasons])
            bad.setdefault(reason, _Tally()).add(block.bad[chosen])
    for reason, lines in bad.items():
        tally.left_out += lines.many
        tally.note(
            Severity.WARNING,
            where,
            f"lines that are left out, because {reason}: {lines}",
            "mend the lines, or the program that writes them",
        )
    for place, column in enumerate(columns):
        place_of = f"{where}.{column.name}"
        if unreadable[place].many:
            tally.note(
                Severity.WARNING,
                place_of,
                f"values that are no text in {file.encoding}, and are missing: {unreadable[place]}",
                'state the encoding of the file, as in encoding = "cp1252"',
            )
        if unfit[place].many:
            tally.note(
                Severity.WARNING,
                place_of,
                f"values that do not fit the type {column.type}, and are missing: {unfit[place]}",
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
    from sordino.query.csv_files import read_blocks  # only where there is a CSV file

    lines = _Tally()
    for block in read_blocks(replace(file, malformed="skip"), ()):
        lines.add(block.bad)
    tally.note(
        Severity.ERROR,
        where,
        f"line {error.line:,}: {error.reason}; nothing of the table can be asked",
        f'mend the line; malformed = "skip" would leave out such lines: {lines}',
    )
