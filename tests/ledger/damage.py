# SPDX-License-Identifier: Apache-2.0
"""Ways to damage the files of a ledger: bits that rot, files that are cut, rows that are edited."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import TypeAlias

from sordino.ledger.entry import FIELDS
from tests.ledger.images import HEADS, NAME, PEOPLE

LOG = f"{NAME}-wal"
Damage: TypeAlias = "Callable[[Path, Path, Random], None]"  # to a folder, with older copies
_PLAIN = tuple(name for name in FIELDS if name not in ("people", "number", "kind", "charge"))
_NUMBERS = (
    "price",
    "cap",
    "spent",
    "held",
    "used",
    "kept",
    "share",
    "others",
    "most",
    "spent_slack",
)
_WRONG: tuple[object, ...] = (None, "text", b"\xff\xfe", 1.5, -1, 0, 2**62, "\ud7ff", "")


def flip(path: Path, luck: Random) -> None:
    """Turn one bit over."""
    data = bytearray(path.read_bytes())
    data[luck.randrange(len(data))] ^= 1 << luck.randrange(8)
    path.write_bytes(data)


def blot(path: Path, luck: Random, size: int, *, zero: bool) -> None:
    """Lose one block of a size: to zeros, or to anything."""
    data = bytearray(path.read_bytes())
    at = luck.randrange(-(-len(data) // size)) * size
    stop = min(len(data), at + size)
    data[at:stop] = bytes(stop - at) if zero else luck.randbytes(stop - at)
    path.write_bytes(data)


def cut(path: Path, luck: Random) -> None:
    """Lose the end of a file."""
    data = path.read_bytes()
    path.write_bytes(data[: luck.randrange(len(data))])


@contextmanager
def edited(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file as somebody does who may write to it, with all that would hinder them put away.

    Afterwards the file looks as before but for what was done to its rows.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        kept = triggers.fetchall()
        for name, _ in kept:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for _, sql in kept:
            connection.execute(sql)


def swap_rows(path: Path, luck: Random) -> None:
    """Exchange what two entries say, in all columns or in some."""
    with edited(path) as connection:
        kind = luck.choice(("charge", "answer"))
        numbers = [
            number
            for (number,) in connection.execute(
                "SELECT number FROM entries WHERE people = ? AND kind = ?", (PEOPLE[0], kind)
            )
        ]
        one, other = luck.sample(numbers, 2)
        names = luck.sample(_PLAIN, luck.choice((1, 3, len(_PLAIN))))
        columns = ", ".join(f'"{name}"' for name in names)
        sql = f"SELECT {columns} FROM entries WHERE people = ? AND number = ?"  # noqa: S608
        put = ", ".join(f'"{name}" = ?' for name in names)
        first, second = (connection.execute(sql, (PEOPLE[0], n)).fetchone() for n in (one, other))
        for number, row in ((one, second), (other, first)):
            connection.execute(
                f"UPDATE entries SET {put} WHERE people = ? AND number = ?",  # noqa: S608
                (*row, PEOPLE[0], number),
            )


def delete_last(path: Path, many: int) -> None:
    """Take the last entries away, with the answers in them."""
    with edited(path) as connection:
        connection.execute(
            "DELETE FROM entries WHERE people = ?1 AND number > "
            "(SELECT max(number) FROM entries WHERE people = ?1) - ?2",
            (PEOPLE[0], many),
        )
        connection.execute("DELETE FROM turns WHERE id NOT IN (SELECT id - 1 FROM entries)")


def delete_one(path: Path, luck: Random) -> None:
    """Take one entry away from the middle."""
    with edited(path) as connection:
        connection.execute(
            "DELETE FROM entries WHERE people = ? AND number = ?", (PEOPLE[0], luck.randint(1, 30))
        )


def rename_newest(path: Path, who: str, other: str) -> None:
    """Put the newest charge of an analyst on another name."""
    with edited(path) as connection:
        (newest,) = connection.execute(
            "SELECT max(number) FROM entries WHERE people = ? AND who = ? AND kind = 'charge'",
            (PEOPLE[0], who),
        ).fetchone()
        connection.execute(
            "UPDATE entries SET who = ? WHERE people = ? AND number = ?",
            (other, PEOPLE[0], newest),
        )


def spend_less(path: Path, luck: Random) -> None:
    """Make a number of some entry smaller, mostly of the last one."""
    name = luck.choice(_NUMBERS)
    with edited(path) as connection:
        (last,) = connection.execute(
            "SELECT max(number) FROM entries WHERE people = ?", (PEOPLE[0],)
        ).fetchone()
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(
            f'UPDATE entries SET "{name}" = "{name}" / 2 WHERE people = ? AND number = ?',  # noqa: S608
            (PEOPLE[0], last - luck.choice((0, 0, 0, 1, 2, 5))),
        )


def mistype(path: Path, luck: Random) -> None:
    """Put a value of a wrong type, or none, into a cell that cannot have it."""
    table, name = luck.choice(
        [("entries", name) for name in FIELDS]
        + [
            ("spaces", "currency"),
            ("spaces", "people"),
            ("entries", "bytes"),
            ("about", "identity"),
        ]
    )
    with edited(path) as connection:
        (sql,) = connection.execute(
            "SELECT sql FROM sqlite_schema WHERE name = ?", (table,)
        ).fetchone()
        loose = sql.replace("STRICT", "").replace("NOT NULL", "")
        for kind in ("TEXT", "INTEGER", "BLOB"):
            loose = loose.replace(f"{kind} ", "ANY " if "PRIMARY" not in loose else f"{kind} ")
        _write_schema(connection, table, loose)
        rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table}")]  # noqa: S608
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("PRAGMA ignore_check_constraints = ON")
            other.execute("PRAGMA foreign_keys = OFF")
            other.execute(
                f'UPDATE OR IGNORE {table} SET "{name}" = ? WHERE rowid = ?',  # noqa: S608
                (luck.choice(_WRONG), luck.choice((luck.choice(rows), rows[-1]))),
            )
        _write_schema(connection, table, sql)


def _write_schema(connection: sqlite3.Connection, table: str, sql: str) -> None:
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.execute(f"PRAGMA schema_version = {version + 1}")
    connection.execute("PRAGMA writable_schema = RESET")


def put_back(folder: Path, copies: Path, luck: Random, *, log: bool) -> None:
    """Put an older copy in the place of the ledger; the newer log may stay beside it."""
    older = luck.choice(sorted(copies.iterdir())[:-1])
    shutil.copy(older / NAME, folder / NAME)
    if not log:
        (folder / LOG).unlink(missing_ok=True)
        if (older / LOG).exists():
            shutil.copy(older / LOG, folder / LOG)


def put_log_back(folder: Path, copies: Path, luck: Random) -> None:
    """Put the log of another moment beside the ledger."""
    older = luck.choice([copy for copy in sorted(copies.iterdir()) if (copy / LOG).exists()])
    shutil.copy(older / LOG, folder / LOG)


def _on(name: str, damage: Callable[[Path, Random], None]) -> Damage:
    return lambda folder, _, luck: damage(folder / name, luck)


def _blots(name: str, size: int, *, zero: bool) -> Damage:
    return lambda folder, _, luck: blot(folder / name, luck, size, zero=zero)


WAYS: dict[str, Damage] = {
    "flip a bit": _on(NAME, flip),
    "flip a bit again": _on(NAME, flip),  # these are the most likely
    "zero a page": _blots(NAME, 4096, zero=True),
    "garble a sector": _blots(NAME, 512, zero=False),
    "garble a few bytes": _blots(NAME, 8, zero=False),
    "cut the file": _on(NAME, cut),
    "swap rows": _on(NAME, swap_rows),
    "delete the last rows": lambda folder, _, luck: delete_last(folder / NAME, luck.randint(1, 30)),
    "delete a row": _on(NAME, delete_one),
    "spend less": _on(NAME, spend_less),
    "mistype a cell": _on(NAME, mistype),
    "put an old copy back": lambda folder, old, luck: put_back(folder, old, luck, log=False),
    "put a log back": put_log_back,
    "delete the file": lambda folder, _, __: (folder / NAME).unlink(),
    "flip a bit of the anchor": _on(HEADS, flip),
    "cut the anchor": _on(HEADS, cut),
    "garble the anchor": _blots(HEADS, 512, zero=False),
}
CRASHED_WAYS: dict[str, Damage] = {
    "flip a bit of the log": _on(LOG, flip),
    "zero a sector of the log": _blots(LOG, 512, zero=True),
    "cut the log": _on(LOG, cut),
    "delete the log": lambda folder, _, __: (folder / LOG).unlink(),
    "keep the log of a newer one": lambda folder, old, luck: put_back(folder, old, luck, log=True),
}
