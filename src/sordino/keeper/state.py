# SPDX-License-Identifier: Apache-2.0
"""The keeper's own memory: people, tokens, questions under way, requests, and the journal.

It is a SQLite file in the state folder. Every change is one transaction that is durable when it
returns. The file knows the version of its tables; an older one is copied and then brought forward,
and a newer one is refused. The ledger is another file, and is never touched from here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from time import time
from typing import Any, Final, TypeAlias

from sordino.errors import SordinoError

Row: TypeAlias = sqlite3.Row

_FIRST_HASH = hashlib.sha256(b"sordino journal").hexdigest()

# What brings a file from each version to the next one. What stands here never changes.
MIGRATIONS: Final = (
    """
    CREATE TABLE people (
      name TEXT PRIMARY KEY,
      roles TEXT NOT NULL,
      password TEXT,
      made INTEGER NOT NULL,
      ended INTEGER
    ) STRICT;
    CREATE TABLE tokens (
      id TEXT PRIMARY KEY,
      secret TEXT NOT NULL UNIQUE,
      who TEXT NOT NULL REFERENCES people(name),
      scopes TEXT NOT NULL,
      made INTEGER NOT NULL,
      expires INTEGER NOT NULL,
      cap INTEGER,
      spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0 AND (cap IS NULL OR spent <= cap)),
      tables TEXT,
      fresh INTEGER NOT NULL,
      note TEXT NOT NULL,
      used INTEGER,
      revoked INTEGER
    ) STRICT;
    CREATE INDEX tokens_of ON tokens(who);
    CREATE TABLE questions (
      number INTEGER PRIMARY KEY,
      who TEXT NOT NULL,
      key TEXT,
      body TEXT NOT NULL,
      ask TEXT NOT NULL,
      asked TEXT NOT NULL,
      people TEXT NOT NULL,
      before INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('begun', 'answered')),
      charge INTEGER,
      attempts INTEGER NOT NULL DEFAULT 0,
      at INTEGER NOT NULL,
      UNIQUE (who, key)
    ) STRICT;
    CREATE INDEX questions_begun ON questions(people, who, asked) WHERE state = 'begun';
    CREATE TABLE requests (
      number INTEGER PRIMARY KEY,
      who TEXT NOT NULL,
      ask TEXT NOT NULL,
      asked TEXT NOT NULL,
      people TEXT NOT NULL,
      price INTEGER NOT NULL,
      delta INTEGER NOT NULL,
      explanation TEXT NOT NULL,
      comment TEXT NOT NULL,
      generation TEXT NOT NULL,
      approvers INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN
        ('sent', 'voted', 'approved', 'denied', 'returned', 'withdrawn', 'expired', 'answered')),
      charge INTEGER,
      at INTEGER NOT NULL,
      expires INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX requests_of ON requests(who, asked);
    CREATE TABLE votes (
      request INTEGER NOT NULL REFERENCES requests(number),
      who TEXT NOT NULL,
      decision TEXT NOT NULL CHECK (decision IN ('approve', 'deny', 'return')),
      comment TEXT NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (request, who)
    ) STRICT;
    CREATE TABLE journal (
      number INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      by TEXT NOT NULL,
      what TEXT NOT NULL,
      about TEXT NOT NULL,
      hash TEXT NOT NULL
    ) STRICT;
    CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal
      BEGIN SELECT RAISE(ABORT, 'a step of the journal is never changed'); END;
    CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal
      BEGIN SELECT RAISE(ABORT, 'a step of the journal is never taken away'); END;
    CREATE TRIGGER journal_in_order BEFORE INSERT ON journal
      WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM journal)
      BEGIN SELECT RAISE(ABORT, 'steps of the journal are numbered without a gap'); END;
    """,
    """
    ALTER TABLE tokens ADD COLUMN made_with TEXT REFERENCES tokens(id);
    CREATE INDEX tokens_made_with ON tokens(made_with);
    """,
)
_STEPS = 1_000  # of the journal that are read at once, so that others may write in between
_APPLICATION = 0x5D0BDB  # tells the file from other files of SQLite


class StateError(SordinoError):
    """The keeper's own file cannot be used; the text is for the owner alone."""

    code: str = "state"


class State:
    """The file, shared by the threads of one keeper, which take turns."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time,
        migrations: Sequence[str] = MIGRATIONS,
    ) -> None:
        self.path = path
        self._clock = clock
        self._turn = RLock()
        made = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(made, 0o600)
        finally:
            os.close(made)
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
        self._db.row_factory = sqlite3.Row
        try:
            self._prepare(migrations)
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise StateError(f"{str(path)!r} cannot be used: {error}") from None
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, migrations: Sequence[str]) -> None:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._db.execute(f"PRAGMA {pragma}")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if (tables or version) and application != _APPLICATION:
            raise StateError(f"{str(self.path)!r} holds something else")
        if version > len(migrations):
            raise StateError(
                f"{str(self.path)!r} was written by a newer version of sordino; install that one"
            )
        if version == len(migrations):
            return
        if version:
            self._copy(version)
        with self.writing():
            for step in migrations[version:]:
                for statement in _statements(step):
                    self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {len(migrations)}")

    def _copy(self, version: int) -> None:
        """Keep the file as it was; what is in its log is written into it before."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copy = self.path.with_name(f"{self.path.name}.version{version}")
        shutil.copyfile(self.path, copy)
        copy.chmod(0o600)

    def now(self) -> int:
        """Return the time in whole seconds."""
        return int(self._clock())

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Do one transaction; leaving it by an exception changes nothing."""
        with self._turn:
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # A COMMIT that fails, as on a full disk, may leave the transaction open, and all
                # that is written later would be part of it and never durable.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Return what a SELECT finds."""
        with self._turn:
            return self._db.execute(sql, values).fetchall()

    def row(self, sql: str, *values: object) -> Row | None:
        """Return the one row that a SELECT finds, or None."""
        with self._turn:
            found: Row | None = self._db.execute(sql, values).fetchone()
            return found

    def change(self, sql: str, *values: object) -> int:
        """Change rows in a transaction, and return how many."""
        with self.writing():
            return self._db.execute(sql, values).rowcount

    def add(self, sql: str, *values: object) -> int:
        """Add a row, and return its number."""
        with self.writing():
            return self._db.execute(sql, values).lastrowid or 0

    def note(self, by: str, what: str, about: str) -> int:
        """Add a step to the journal, in the transaction that is under way or one of its own."""
        with self.writing():
            last = self.row("SELECT number, hash FROM journal ORDER BY number DESC LIMIT 1")
            number, before = (0, _FIRST_HASH) if last is None else (last["number"], last["hash"])
            step = (number + 1, self.now(), by, what, about)
            self._db.execute(
                "INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?)", (*step, step_hash(before, step))
            )
            return number + 1

    def check_journal(self) -> int:
        """Compute all hashes of the journal anew; return how many steps there are."""
        before, number = _FIRST_HASH, 0
        first = -(2**63)  # and there should be none before 1
        while found := self.rows(
            "SELECT * FROM journal WHERE number >= ? ORDER BY number LIMIT ?", first, _STEPS
        ):
            for row in found:
                number += 1
                step = tuple(row)[:-1]
                if row["number"] != number or row["hash"] != step_hash(before, step):
                    raise StateError(f"step {number} of the journal was changed or taken away")
                before = row["hash"]
            first = number + 1
        return number

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            self._db.close()


def step_hash(before: str, step: tuple[Any, ...]) -> str:
    """Return the hash of a step of the journal that follows another one."""
    return hashlib.sha256(ascii((before, *step)).encode("ascii")).hexdigest()


def _statements(script: str) -> Iterator[str]:
    """Cut a script into its statements, for a script as a whole would end the transaction."""
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""
