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
    from sordino.query.csv_tokens import Places

LINES = 5  # line numbers that are told


@dataclass(slots=True)
class Tally:
    """How often something was seen, and the first lines of it, each a file and a number."""

    many: int = 0
    lines: list[tuple[str, int]] = field(default_factory=list)

    def add(self, file: str, lines: Any) -> None:
        """Count lines of a file, and keep those that are among the first."""
        self.many += len(lines)
        self.lines += [(file, line) for line in lines[: LINES - len(self.lines)].tolist()]

    def words(self, *, files: bool = False) -> str:
        """Return the number, and in brackets the lines; with ``files`` also where they are."""
        if not self.lines:
            return f"{self.many:,}"
        groups: dict[str, list[int]] = {}
        for file, line in self.lines:
            groups.setdefault(file if files else "", []).append(line)
        said = "; ".join(
            f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}{f' of {file}' * bool(file)}"
            for file, lines in groups.items()
        )
        more = ", ..." if self.many > len(self.lines) else ""
        return f"{self.many:,} ({said}{more})"


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
        if tally.many:
            said = f"{message}: {tally.words()}"
            self.findings.append(
                Finding(severity, where, said, hint, tally.many, tuple(tally.lines))
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
        tally.left_out += lines.many
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
    from sordino.query.csv_files import read_blocks  # only where there is a CSV file

    lines = Tally()
    for block in read_blocks(replace(file, malformed="skip"), ()):
        lines.add(file.path.name, block.bad)
    tally.findings.append(
        Finding(
            Severity.ERROR,
            where,
            f"line {error.line:,}: {error.reason}; nothing of the table can be asked",
            f'mend the line; malformed = "skip" would leave out such lines: {lines.words()}',
            lines.many,
            tuple(lines.lines),
        )
    )
