# SPDX-License-Identifier: Apache-2.0
"""A store in a PostgreSQL database: processes on several machines may share it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any, TypeAlias

from sordino.errors import LedgerError
from sordino.ledger.entry import FIELDS, Entry, entry_of
from sordino.ledger.stores.protocol import (
    COLUMN_NAMES,
    LIMITS,
    column_definitions,
    compare_and_add,
)

try:
    import psycopg
    from psycopg import errors
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import TransactionStatus
    from psycopg.types.numeric import Int8Dumper
except ImportError as missing:
    raise LedgerError(
        "a ledger in PostgreSQL needs psycopg: pip install 'sordino[postgres]'"
    ) from missing

# The tables, and the triggers that hold to the rules a second time. -------------------------------

_OWN = ("share", "share_slack", "kept", "kept_slack")
_LETTERS = 'text COLLATE "C"'  # an order that no update of the system changes


def _moved(names: tuple[str, ...], before: str) -> str:
    return " OR ".join(f'new."{name}" IS DISTINCT FROM {before}."{name}"' for name in names)


_COLUMNS = column_definitions(text=_LETTERS, number="bigint")
_BY_CHARGE = """CREATE INDEX entries_charged ON sordino.entries (plan, data, who, people, number)
  WHERE kind = 'charge'"""

TABLES = (
    "CREATE TABLE sordino.versions (version integer PRIMARY KEY CHECK (version > 0))",
    """CREATE TABLE sordino.about (
  one integer PRIMARY KEY CHECK (one = 1),
  identity text NOT NULL,
  keyed boolean NOT NULL
)""",
    f"""CREATE TABLE sordino.spaces (
  people {_LETTERS} PRIMARY KEY,
  currency text NOT NULL
)""",
    f"""CREATE TABLE sordino.entries (
  {_COLUMNS},
  PRIMARY KEY (people, number),
  FOREIGN KEY (people) REFERENCES sordino.spaces (people),
  CHECK (kind IN ('open', 'limits', 'share', 'charge', 'answer')),
  CHECK ((number = 1) = (kind = 'open')),
  CHECK ((price > 0) = (kind = 'charge')),
  CHECK (price_slack = 0 OR kind = 'charge'),
  CHECK ((charge > 0) = (kind = 'answer')),
  CHECK ((who = '') = (kind IN ('open', 'limits'))),
  CHECK (length(hash) = 64)
)""",
    """CREATE INDEX entries_of ON sordino.entries (people, who, number)
  WHERE kind IN ('charge', 'share')""",
    "CREATE UNIQUE INDEX entries_paid ON sordino.entries (people, charge) WHERE kind = 'answer'",
    """CREATE INDEX entries_asked ON sordino.entries (plan, data, who, people, charge)
  WHERE kind = 'answer'""",
    _BY_CHARGE,
    f"""CREATE TABLE sordino.answers (
  people {_LETTERS} NOT NULL,
  charge bigint NOT NULL CHECK (charge > 0),
  body bytea NOT NULL,
  PRIMARY KEY (people, charge)
)""",
)

# The names in a function are looked for in the system's schema alone, so that nobody can put a
# table or an operator of their own before those that are meant.
_FUNCTION = """CREATE FUNCTION sordino.{name}() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
{body}
$$"""

_ONLY_ADDED_TO = """BEGIN
  RAISE EXCEPTION 'a ledger is only added to';
END"""

_FOLLOW = f"""DECLARE
  p sordino.entries;    -- the entry before
  own sordino.entries;  -- the newest one about the same analyst
  unspent bigint;       -- what is kept for them after this one
  unspent_slack bigint;
BEGIN
  SELECT * INTO p FROM sordino.entries
    WHERE people = new.people ORDER BY number DESC LIMIT 1;
  IF new.number != coalesce(p.number, 0) + 1 THEN
    RAISE EXCEPTION 'entries follow each other without a gap';
  END IF;
  IF new.who != '' THEN
    SELECT * INTO own FROM sordino.entries
      WHERE people = new.people AND who = new.who AND kind IN ('charge', 'share')
      ORDER BY number DESC LIMIT 1;
  END IF;
  own.used := coalesce(own.used, 0);
  own.used_slack := coalesce(own.used_slack, 0);
  own.kept := coalesce(own.kept, 0);
  own.kept_slack := coalesce(own.kept_slack, 0);
  IF new.used != own.used + new.price OR new.used_slack != own.used_slack + new.price_slack THEN
    RAISE EXCEPTION 'what an analyst has used follows from their last entry';
  END IF;
  IF new.kind != 'share' AND ({_moved(_OWN, "own")}) THEN
    RAISE EXCEPTION 'only an entry of its own changes the share of an analyst';
  END IF;
  IF new.kind NOT IN ('open', 'limits') AND ({_moved(LIMITS, "p")}) THEN
    RAISE EXCEPTION 'only an entry of its own changes the limits';
  END IF;
  unspent := greatest(0, new.kept - new.used);
  unspent_slack := greatest(0, new.kept_slack - new.used_slack);
  IF new.spent != coalesce(p.spent, 0) + new.price
    OR new.spent_slack != coalesce(p.spent_slack, 0) + new.price_slack
    OR new.held != coalesce(p.held, 0) - greatest(0, own.kept - own.used) + unspent
    OR new.held_slack != coalesce(p.held_slack, 0)
      - greatest(0, own.kept_slack - own.used_slack) + unspent_slack THEN
    RAISE EXCEPTION 'the sums of an entry follow from the one before';
  END IF;
  IF new.kind = 'charge' AND (
    new.spent + new.held - unspent > new.cap
    OR (new.price_slack > 0
      AND new.spent_slack + new.held_slack - unspent_slack > new.cap_slack)
    OR new.price > new.most
    OR new.used > coalesce(new.share, new.others)
    OR (new.price_slack > 0
      AND new.used_slack > coalesce(new.share_slack, new.others_slack))) THEN
    RAISE EXCEPTION 'a charge fits the budget';
  END IF;
  IF new.kind = 'share' AND (
    (new.held > p.held AND new.spent + new.held > new.cap)
    OR (new.held_slack > p.held_slack AND new.spent_slack + new.held_slack > new.cap_slack)) THEN
    RAISE EXCEPTION 'no more is kept for analysts than there is';
  END IF;
  IF new.kind = 'answer' AND NOT EXISTS (SELECT FROM sordino.entries AS c
    WHERE c.people = new.people AND c.number = new.charge AND c.kind = 'charge'
      AND c.who = new.who AND c.plan = new.plan AND c.data = new.data) THEN
    RAISE EXCEPTION 'an answer is paid for by a charge';
  END IF;
  RETURN new;
END"""  # noqa: S608 - names of our own

_PAID_FOR = """BEGIN
  IF NOT EXISTS (SELECT FROM sordino.entries AS a
    WHERE a.people = new.people AND a.charge = new.charge AND a.kind = 'answer'
      AND a.body = encode(sha256(new.body), 'hex')) THEN
    RAISE EXCEPTION 'an answer has an entry';
  END IF;
  RETURN new;
END"""

# Each function with its triggers: on which table, when, and what the catalogue of PostgreSQL says
# of that in bits (1 for each row, 2 before, 4 insert, 8 delete, 16 update, 32 truncate).
_STAY = "UPDATE OR DELETE OR TRUNCATE", "STATEMENT", 2 | 8 | 16 | 32
_ADD = "INSERT", "ROW", 1 | 2 | 4
_GUARDS = (
    ("only_added_to", _ONLY_ADDED_TO, ("versions", "about", "spaces", "entries", "answers"), _STAY),
    ("follow", _FOLLOW, ("entries",), _ADD),
    ("paid_for", _PAID_FOR, ("answers",), _ADD),
)

TRIGGERS = tuple(
    statement
    for name, body, tables, (when, each, _) in _GUARDS
    for statement in (
        _FUNCTION.format(name=name, body=body),
        *(
            f"CREATE TRIGGER {table}_{name} BEFORE {when} ON sordino.{table} "
            f"FOR EACH {each} EXECUTE FUNCTION sordino.{name}()"
            for table in tables
        ),
    )
)

# What a ledger must still have: the table, name, bits and source of every trigger.
GUARDED = frozenset(
    (table, f"{table}_{name}", bits, f"\n{body}\n")
    for name, body, tables, (_, _, bits) in _GUARDS
    for table in tables
)

SCHEMA = (*TABLES, *TRIGGERS)

# What carries a ledger of version n over to n + 1, for n = 1, 2, and so on.
MIGRATIONS: tuple[tuple[str, ...], ...] = ((_BY_CHARGE,),)

# Statements. --------------------------------------------------------------------------------------

_OPENING = 0x736F7265  # the advisory lock of who opens an id space, with a number from its name
_LOCK = "SELECT FROM sordino.spaces WHERE people = %s FOR UPDATE"
_SELECT = f"SELECT {COLUMN_NAMES} FROM sordino.entries WHERE "  # noqa: S608 - names of our own
_INSERT = (
    f"INSERT INTO sordino.entries ({COLUMN_NAMES}) "  # noqa: S608 - names of our own
    f"VALUES ({', '.join(['%s'] * len(FIELDS))})"
)
_LAST = _SELECT + "people = %s ORDER BY number DESC LIMIT 1"
_HEAD = "SELECT number, hash FROM sordino.entries WHERE people = %s ORDER BY number DESC LIMIT 1"
_LAST_OF = (
    _SELECT + "people = %s AND who = %s AND kind IN ('charge', 'share') "
    "ORDER BY number DESC LIMIT 1"
)
_ENTRY = _SELECT + "people = %s AND number = %s"
_ENTRIES = _SELECT + "people = %s AND number >= %s ORDER BY number LIMIT %s"
_ASKED = (
    _SELECT + "plan = %s AND data = %s AND who = %s AND people = %s AND kind = 'answer' "
    "ORDER BY charge DESC LIMIT 1"
)
_PAID = _SELECT + "people = %s AND charge = %s AND kind = 'answer'"
_CHARGED = (
    _SELECT + "plan = %s AND data = %s AND who = %s AND people = %s AND kind = 'charge' "
    "ORDER BY number DESC LIMIT 1"
)
# From name to name along the index, however many entries there are.
_ANALYSTS = """WITH RECURSIVE found (who) AS (
  SELECT min(who) FROM sordino.entries WHERE people = %s AND kind IN ('charge', 'share')
  UNION ALL
  SELECT (SELECT min(who) FROM sordino.entries
    WHERE people = %s AND kind IN ('charge', 'share') AND who > found.who)
  FROM found WHERE found.who IS NOT NULL
) SELECT who FROM found WHERE who IS NOT NULL"""
_TRIGGERS = """SELECT c.relname, t.tgname, t.tgtype, p.prosrc
FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_proc AS p ON p.oid = t.tgfoid
WHERE c.relnamespace = 'sordino'::regnamespace AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
"""
# A rule may turn a statement into another one, a policy may hide rows, and a child has its own.
_MEDDLING = """SELECT (SELECT count(*) FROM pg_rules WHERE schemaname = 'sordino')
  + (SELECT count(*) FROM pg_policies WHERE schemaname = 'sordino')
  + (SELECT count(*) FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhparent
    WHERE c.relnamespace = 'sordino'::regnamespace)"""
_LARGEST = 2**63 - 1
_AT_ONCE = 1_000  # entries


class PostgresPages:
    """The entries and answers as one transaction of a connection sees them."""

    def __init__(self, connection: Any) -> None:  # of psycopg, which is an extra
        self._connection = connection

    def spaces(self) -> dict[str, str]:
        return dict(self._all("SELECT people, currency FROM sordino.spaces ORDER BY people"))

    def currency(self, people: str) -> str | None:
        found = self._one("SELECT currency FROM sordino.spaces WHERE people = %s", people)
        return None if found is None else found[0]

    def add_space(self, people: str, currency: str) -> None:
        self._add("INSERT INTO sordino.spaces VALUES (%s, %s)", (people, currency))

    def last(self, people: str) -> Entry | None:
        return entry_of(self._one(_LAST, people))

    def head(self, people: str) -> tuple[int, str] | None:
        found: tuple[int, str] | None = self._one(_HEAD, people)
        return found

    def last_of(self, people: str, who: str) -> Entry | None:
        """Return the newest charge or share of an analyst in an id space."""
        return entry_of(self._one(_LAST_OF, people, who))

    def entry(self, people: str, number: int) -> Entry | None:
        return entry_of(self._one(_ENTRY, people, number)) if number <= _LARGEST else None

    def entries(self, people: str, first: int = 1) -> Iterator[Entry]:
        while rows := self._all(_ENTRIES, people, first, _AT_ONCE):
            yield from map(Entry._make, rows)
            first = rows[-1][1] + 1

    def answer_to(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        return entry_of(self._one(_ASKED, plan, data, who, people))

    def charge_for(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        return entry_of(self._one(_CHARGED, plan, data, who, people))

    def analysts(self, people: str) -> list[str]:
        return [who for (who,) in self._all(_ANALYSTS, people, people)]

    def append(self, entry: Entry, body: bytes | None = None) -> None:
        self._add(_INSERT, entry)
        if body is not None:
            kept = entry.people, entry.charge, body
            self._add("INSERT INTO sordino.answers VALUES (%s, %s, %s)", kept)

    def body(self, entry: Entry) -> bytes | None:
        asked = "SELECT body FROM sordino.answers WHERE people = %s AND charge = %s"
        found = self._one(asked, entry.people, entry.charge)
        return None if found is None else found[0]

    def answer_of(self, charge: Entry) -> Entry | None:
        return entry_of(self._one(_PAID, charge.people, charge.number))

    def bodies(self, people: str) -> int:
        found = self._one("SELECT count(*) FROM sordino.answers WHERE people = %s", people)
        return 0 if found is None else int(found[0])

    def total(self) -> tuple[int, int]:
        (entries,) = self._one("SELECT count(*) FROM sordino.entries")
        (answers,) = self._one("SELECT count(*) FROM sordino.answers")
        return entries, answers

    def unguarded(self) -> bool:
        """Tell whether a trigger is gone, new or another one, or something hides or drops rows.

        Temporary triggers there are none in PostgreSQL: a trigger is part of its table.
        """
        found = {tuple(row) for row in self._all(_TRIGGERS)}
        return found != GUARDED or self._one(_MEDDLING)[0] != 0

    def lock(self, people: str) -> None:
        """Wait until nobody else adds to an id space, be it opened or not."""
        if self._one(_LOCK, people) is None:
            self._one("SELECT pg_advisory_xact_lock(%s::integer, hashtext(%s))", _OPENING, people)
            self._one(_LOCK, people)

    def _add(self, sql: str, values: tuple[object, ...]) -> None:
        if self._connection.execute(sql, values).rowcount != 1:
            raise LedgerError(
                "the database did not add what it was given; see 'sordino ledger verify'"
            )

    def _one(self, sql: str, *values: object) -> Any:
        return self._connection.execute(sql, values).fetchone()

    def _all(self, sql: str, *values: object) -> list[Any]:
        found: list[Any] = self._connection.execute(sql, values).fetchall()
        return found


Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

_PATIENCE = 60  # seconds to wait for others who write, and for one who writes and says no more
_CONNECTING: dict[str, int] = {  # unless the address says otherwise
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 1_000 * _PATIENCE,  # milliseconds
}
_MAKING = 0x736F7264  # the advisory lock of whoever makes or changes the tables
_SETTINGS = (
    f"SET lock_timeout = '{_PATIENCE}s'",
    f"SET idle_in_transaction_session_timeout = '{_PATIENCE}s'",
    f"SET statement_timeout = '{10 * _PATIENCE}s'",
    "SET client_encoding = 'UTF8'",
    "SET default_transaction_isolation = 'read committed'",
    "SET default_transaction_read_only = off",
)
_READ = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
    "SET LOCAL idle_in_transaction_session_timeout = 0"
)
_WRITE = "BEGIN"


class _Held:
    """What one process holds of a store; a forked one makes its own and leaves this one alone."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.connection: Connection | None = None

    def let_go(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class PostgresStore:
    """Entries and answers in the schema ``sordino`` of a database; it is made if it is not there.

    Threads, forks and other machines may share it. A connection that is lost fails the operation
    under way, and the next one connects anew.
    """

    def __init__(
        self,
        address: str,
        *,
        keyed: bool = False,
        migrations: Sequence[Sequence[str]] = MIGRATIONS,
    ) -> None:
        self._address = address
        self._place = _place(address)
        self._migrations = migrations
        self._held: dict[int, _Held] = {}
        self._closed = False
        self.identity = ""
        self.keyed = keyed
        with self._failures():
            self._own().connection = self._connect()

    @contextmanager
    def read(self) -> Iterator[PostgresPages]:
        with self._transaction(_READ) as pages:
            yield pages

    @contextmanager
    def write(self, people: str) -> Iterator[PostgresPages]:
        """Return the pages for adding to an id space; others go on meanwhile."""
        with self._transaction(_WRITE) as pages:
            pages.lock(people)
            yield pages

    def follow(self, last: Entry, entry: Entry, body: bytes | None = None) -> bool:
        """Add an entry if ``last`` is the newest; else add nothing."""
        return compare_and_add(self, last, entry, body)

    def check(self) -> None:
        """Look whether the triggers are those that the ledger was made with."""
        with self.read() as pages:
            self._check_guarded(pages)

    def settle(self) -> None:
        """Nothing is left behind."""

    def close(self) -> None:
        """Close the connection; the store cannot be used afterwards."""
        held = self._own()
        with held.lock:
            self._closed = True
            held.let_go()

    # Transactions. ------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[PostgresPages]:
        held = self._own()
        with held.lock, self._failures():
            connection = self._begun(held, begin)
            try:
                yield PostgresPages(connection)
                if connection.execute("COMMIT").statusmessage != "COMMIT":
                    raise LedgerError(f"the ledger {self._place}: nothing was added; ask again")
            except BaseException:
                if not _undone(connection):
                    held.let_go()
                raise

    def _begun(self, held: _Held, begin: str) -> Connection:
        """Begin a transaction, on a new connection if the old one was lost since the last."""
        if self._closed:
            raise LedgerError(f"the ledger {self._place} was closed; open it again")
        if held.connection is not None:
            with suppress(psycopg.OperationalError):
                if _status(held.connection) == TransactionStatus.IDLE:
                    held.connection.execute(begin)
                    return held.connection
            held.let_go()
        held.connection = self._connect()
        held.connection.execute(begin)
        return held.connection

    def _own(self) -> _Held:
        """Return what this process holds; that of a parent stays in the dictionary, untouched."""
        return self._held.setdefault(os.getpid(), _Held())

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.Error, UnicodeError) as error:
            raise LedgerError(f"the ledger {self._place}: {_explanation(error)}") from error

    # Opening. -----------------------------------------------------------------------------------

    def _connect(self) -> Connection:
        try:
            stated: dict[str, Any] = {**_CONNECTING, **conninfo_to_dict(self._address)}
            connection = psycopg.connect(autocommit=True, **stated)
        except psycopg.Error as error:
            told = str(error).strip().splitlines()[-1].strip() if str(error).strip() else ""
            raise LedgerError(
                f"the ledger {self._place} cannot be reached; see to the address, and whether the "
                f"server runs: {self._without_password(told)}"
            ) from None
        try:
            connection.adapters.register_dumper(int, Int8Dumper)
            for setting in _SETTINGS:
                connection.execute(setting)
            self._check_durable(connection)
            if not self.identity:
                self._make(connection)
            self._check_same(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_durable(self, connection: Connection) -> None:
        """Refuse a server that may forget what it has said, or that lags behind another."""
        for name in ("fsync", "full_page_writes"):
            if _setting(connection, name) != "on":
                raise LedgerError(
                    f"the ledger {self._place}: the server has {name} turned off and may forget "
                    "what was spent when the power fails; turn it on"
                )
        if _setting(connection, "synchronous_commit") != "remote_apply":
            connection.execute("SET synchronous_commit = on")
        if _setting(connection, "server_encoding") != "UTF8":
            raise LedgerError(
                f"the ledger {self._place}: the database cannot hold every name; make one with "
                "the encoding UTF8"
            )
        if _value(connection, "SELECT pg_is_in_recovery()"):
            raise LedgerError(
                f"the ledger {self._place}: the server is a standby, which lags behind; give the "
                "address of the primary"
            )

    def _make(self, connection: Connection) -> None:
        """Make the tables or carry them over, all in one transaction and by one at a time."""
        newest = len(self._migrations) + 1
        if _version(connection) == newest:
            return
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
            version = _version(connection)
            if version > newest:
                return  # and be refused
            if version == 0:
                if not _value(
                    connection, "SELECT count(*) FROM pg_namespace WHERE nspname = 'sordino'"
                ):
                    connection.execute("CREATE SCHEMA sordino")
                for statement in SCHEMA:
                    connection.execute(statement)
                about = secrets.token_hex(16), self.keyed
                connection.execute("INSERT INTO sordino.about VALUES (1, %s, %s)", about)
            else:
                for step in self._migrations[version - 1 :]:
                    for statement in step:
                        connection.execute(statement)
            if version < newest:
                connection.execute("INSERT INTO sordino.versions VALUES (%s)", (newest,))

    def _check_same(self, connection: Connection) -> None:
        """Refuse tables of another version, and others than those that were met first."""
        newest, version = len(self._migrations) + 1, _version(connection)
        if version > newest:
            raise LedgerError(
                f"the ledger {self._place} is of version {version}, and this sordino reads "
                f"versions 1 to {newest}; take a newer sordino"
            )
        about = "SELECT identity, keyed FROM sordino.about"
        found = connection.execute(about).fetchone() if version == newest else None
        if found is None or found[0] != (self.identity or found[0]):
            raise LedgerError(
                f"the ledger {self._place} was removed or exchanged while it was open; put it back"
            )
        self._check_guarded(PostgresPages(connection))
        self.identity, self.keyed = found

    def _check_guarded(self, pages: PostgresPages) -> None:
        if pages.unguarded():
            raise LedgerError(
                f"the ledger {self._place} does not have exactly the triggers that it was made "
                "with, or has rules beside them: somebody has changed it; put them back"
            )

    def _without_password(self, text: str) -> str:
        password = conninfo_to_dict(self._address).get("password")
        return text.replace(str(password), "***") if password else text


def _place(address: str) -> str:
    """Return the database and the host of an address, to be shown."""
    try:
        found = conninfo_to_dict(address)
    except psycopg.Error:  # its text would show the address
        raise LedgerError(
            "the address of the ledger cannot be read; it looks like 'postgresql://host/name'"
        ) from None
    return f"{str(found.get('dbname') or '')!r} at {str(found.get('host') or 'localhost')!r}"


def _value(connection: Connection, asked: str) -> Any:
    found = connection.execute(asked).fetchone()
    return None if found is None else found[0]


def _setting(connection: Connection, name: str) -> Any:
    return _value(connection, f"SHOW {name}")


def _version(connection: Connection) -> int:
    """Return the version of the tables, 0 if there are none."""
    # A look into the catalog itself: to_regclass may answer from before a lock was waited for.
    asked = "SELECT count(*) FROM pg_tables WHERE schemaname = 'sordino' AND tablename = 'versions'"
    if not _value(connection, asked):
        return 0
    return int(_value(connection, "SELECT max(version) FROM sordino.versions") or 0)


def _status(connection: Connection) -> TransactionStatus:
    return connection.info.transaction_status


def _undone(connection: Connection) -> bool:
    """Undo a transaction, and tell whether the connection can be used on."""
    if _status(connection) in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
    return _status(connection) == TransactionStatus.IDLE


_ENDED = ("08", "57P", "25P03")  # codes of what ends a connection; some ends have none
_WORDS: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.LockNotAvailable, "others have been writing for very long; ask again"),
    (errors.DiskFull, "the disk of the server is full; make room, and ask again"),
    (errors.InsufficientPrivilege, "this user lacks the right; see to the rights on its tables"),
    (errors.ReadOnlySqlTransaction, "it cannot be written to; see to the settings of the server"),
    (errors.QueryCanceled, "the server took very long; ask again, and see its log"),
)


def _explanation(error: Exception) -> str:
    if isinstance(error, UnicodeError | psycopg.DataError):
        return "a name or a number cannot be kept; use letters, and no larger numbers"
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return words
    if not isinstance(error, psycopg.Error) or (error.sqlstate or "08").startswith(_ENDED):
        return "the connection was lost; ask again, and see the server's log"
    return error.diag.message_primary or str(error)
