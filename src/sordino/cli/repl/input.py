# SPDX-License-Identifier: Apache-2.0
"""Reading statements from a terminal or a pipe, with completion and a history of their own."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import typer

from sordino.catalog.model import Catalog, Table
from sordino.query.aggregates import AGGREGATES
from sordino.query.operations import OPERATIONS

COMMANDS_WITHOUT_BACKSLASH = ("quit", "exit", "help")
PROMPT, CONTINUED = "sordino> ", "     ... "
_MAX_REMEMBERED = 1_000  # lines
_MOMENT = 0.15  # seconds in which the rest of a paste arrives
_PIECE = 65_536  # bytes
_PARTS = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|.", re.DOTALL)
DELIMITERS = " \t\n,()=<>+-*/'\";"
_CLAUSES = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN"),
    *("ON", "USING", "AS", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "IS NULL", "CASE"),
    *("WHEN", "THEN", "ELSE", "END", "DISTINCT", "DESC", "ASC", "WITH", "FILTER", "OVER"),
    *("PARTITION BY", "TRUE", "FALSE", "NULL", "DATE", "TIMESTAMP"),
)
_FUNCTIONS = (
    *(function.name.upper() for row in AGGREGATES.values() for function in row.functions),
    *("EXTRACT", "CAST", "TRY_CAST"),
    *(row.sql.functions[0].name.upper() for row in OPERATIONS.values() if row.sql.functions),
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TABLE_NEXT = re.compile(r"\b(from|join)\s+\S*$", re.IGNORECASE)
_DOTTED = re.compile(r"(.+)\.([^.]*)")


def is_ended(text: str) -> bool:
    """Tell whether a statement ends with a semicolon that is neither text nor a remark.

    >>> is_ended("SELECT 1 ;  -- one"), is_ended("SELECT ';"), is_ended("SELECT 1 --;")
    (True, False, False)
    """
    parts = [part for part in _PARTS.findall(text) if not part.startswith(("--", "/*"))]
    return "".join(parts).rstrip().endswith(";") and "'" not in parts and '"' not in parts


def statements(read: Callable[[str], str], *, watched: bool) -> Iterator[str]:
    """Return statements, and lines that are a command, until there is no more input.

    A statement ends with a semicolon, or before an empty line. An interrupt forgets what was typed.
    """
    lines: list[str] = []
    while True:
        try:
            line = read(CONTINUED if lines else PROMPT)
        except KeyboardInterrupt:
            typer.echo()
            lines.clear()
            continue
        except EOFError:
            break
        if not lines and (
            line.strip().startswith("\\") or line.strip() in ("", *COMMANDS_WITHOUT_BACKSLASH)
        ):
            if line.strip():
                yield line.strip()
            continue
        if line.strip():
            lines.append(line)
        if not line.strip() or is_ended("\n".join(lines)):
            yield "\n".join(lines)
            lines.clear()
    if watched:
        typer.echo()
    elif lines:
        yield "\n".join(lines)


def read_pipe(prompt: str) -> str:
    """Return the next line of standard input; no prompt is shown."""
    del prompt
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def history_file() -> Path:
    """Return where statements are remembered: in the folder for the state of programs."""
    stated = os.environ.get("XDG_STATE_HOME", "")
    state = Path(stated) if Path(stated).is_absolute() else Path.home() / ".local" / "state"
    return state / "sordino" / "history"


def drop_typed_ahead(terminal: int) -> None:
    """Drop what was typed or pasted before, until nothing more comes for a moment.

    Raises EOFError if the terminal is gone.
    """
    try:
        termios.tcflush(terminal, termios.TCIFLUSH)
        while select.select([terminal], [], [], _MOMENT)[0]:
            if not os.read(terminal, _PIECE):
                raise EOFError
            termios.tcflush(terminal, termios.TCIFLUSH)
    except (OSError, termios.error):
        raise EOFError from None


class Terminal:
    """Lines from a terminal, with editing, completion and, if there is a file, a history in it."""

    def __init__(self, catalog: Catalog, commands: Sequence[str], history: Path | None) -> None:
        self._history = history
        self._typed: list[str] = []  # of the statement that is being typed
        self._readline: ModuleType | None = None
        with suppress(ImportError):
            import readline  # not everywhere; lines are then read without it

            self._readline = readline
            old = "libedit" in (readline.__doc__ or "")
            readline.parse_and_bind("bind ^I rl_complete" if old else "tab: complete")
            readline.set_completer_delims(DELIMITERS)
            readline.set_completer(completer(catalog, commands, self._before))
            readline.set_auto_history(False)
            for line in self._remembered():
                readline.add_history(line)

    def read(self, prompt: str) -> str:
        """Return the next line that is typed."""
        if prompt == PROMPT:
            self._typed.clear()
        line = input(prompt)
        self._typed.append(line)
        return line

    def confirm(self, prompt: str) -> str:
        """Return a line that was typed after the prompt was shown; what came before is dropped.

        It is not read by readline, so that nothing readline holds back can be the answer either.
        """
        drop_typed_ahead(sys.stdin.fileno())
        sys.stdout.write(prompt)
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def remember(self, statement: str) -> None:
        """Keep a statement, on one line unless a remark would swallow what follows it."""
        lines = statement.splitlines() if "--" in statement else [" ".join(statement.split("\n"))]
        if self._readline is not None:
            for line in lines:
                self._readline.add_history(line)
        if self._history is not None:
            with suppress(OSError):  # asking goes on without it
                _append(self._history, lines)

    def close(self) -> None:
        """Let go of the completion, which holds on to the catalog."""
        if self._readline is not None:
            self._readline.set_completer(None)
            self._readline.set_auto_history(True)

    def _before(self) -> str:
        """Return all of the statement before the word that is being completed."""
        found = self._readline
        line = "" if found is None else found.get_line_buffer()[: found.get_begidx()]
        return "\n".join([*self._typed, line])

    def _remembered(self) -> list[str]:
        if self._history is None:
            return []
        try:
            lines = self._history.read_text("utf-8", "replace").splitlines()
            if len(lines) > 2 * _MAX_REMEMBERED:
                self._history.unlink()
                _append(self._history, lines[-_MAX_REMEMBERED:])
        except OSError:
            return []
        return lines[-_MAX_REMEMBERED:]


def _append(path: Path, lines: list[str]) -> None:
    """Add to a file that only its owner can read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open(held, "a", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
        file.writelines(f"{line}\n" for line in lines)


def candidates(catalog: Catalog, commands: Sequence[str], before: str, text: str) -> list[str]:
    """Return what a word may become, given all that stands before it.

    After FROM and JOIN these are tables, and columns are those of the tables that are named.
    """
    if text.startswith("\\"):
        return [name for name in commands if name.startswith(text)]
    if _TABLE_NEXT.search(before + text):
        return _matching([_name(table.name) for table in catalog.tables], text)
    dotted = _DOTTED.fullmatch(text)
    if dotted is not None:
        table = catalog.table(dotted[1])
        columns = [] if table is None else [f"{dotted[1]}.{_name(c.name)}" for c in table.columns]
        return _matching(columns, text)
    named = [table for table in catalog.tables if _is_named(table, before)]
    columns = [_name(c.name) for table in named or catalog.tables for c in table.columns]
    words = [word if text.isupper() or not text else word.lower() for word in _CLAUSES]
    called = [f"{name if text.isupper() else name.lower()}(" for name in _FUNCTIONS]
    names = [*dict.fromkeys(columns), *(_name(table.name) for table in catalog.tables)]
    return _matching([*names, *words, *called], text)


def completer(
    catalog: Catalog, commands: Sequence[str], before: Callable[[], str]
) -> Callable[[str, int], str | None]:
    """Return what readline asks for the first, second ... candidate, until there is none."""

    def complete(text: str, state: int) -> str | None:
        found = candidates(catalog, commands, before(), text)
        return found[state] if state < len(found) else None

    return complete


def _matching(words: list[str], text: str) -> list[str]:
    start = text.casefold()
    return list(dict.fromkeys(word for word in words if word.casefold().startswith(start)))


def _name(name: str) -> str:
    """Return a name as it is written in SQL."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _is_named(table: Table, text: str) -> bool:
    return re.search(rf"\b{re.escape(table.name)}\b", text, re.IGNORECASE) is not None
