# SPDX-License-Identifier: Apache-2.0
"""A store in one SQLite file: every transaction is on the disk before it has ended.

Its tables have triggers that hold to the rules of a ledger a second time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from math import inf, nan
from threading import RLock, local
from time import monotonic, sleep
from typing import Any
from weakref import WeakValueDictionary

from sordino.errors import LedgerError
from sordino.gate import Gate
from sordino.ledger.entry import FIELDS, Entry, entry_of
from sordino.ledger.stores.protocol import COLUMN_NAMES, LIMITS, column_definitions
from sordino.ledger.stores.sqlite.files import (
    IMPATIENT,
    PATIENT,
    STANDARD,
    Driver,
    Migrations,
    Schema,
    beside,
    check_added,
    check_pages,
    check_place,
    check_schema,
    create,
    explained,
    inode,
    is_busy,
    is_refused,
    ledger_error,
    make_file,
    open_file,
    resolved,
)

ROOM = 1 << 40  # an entry has the id: place of its id space times this, plus its number
_COLUMNS = column_definitions(text="TEXT", number="INTEGER")
# For a list of more than two SQLite builds a table with every row that is added.
_KINDS = " OR ".join(f"kind = '{kind}'" for kind in ("charge", "answer", "share", "open", "limits"))
_CHARGED = "CREATE INDEX entries_charged ON entries (plan) WHERE kind = 'charge'"
_STAYED = " AND ".join(f'new."{name}" IS p."{name}"' for name in LIMITS)

TABLES = (
    """CREATE TABLE about (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  identity TEXT NOT NULL,
  keyed INTEGER NOT NULL CHECK (keyed IN (0, 1))
) STRICT""",
    """CREATE TABLE spaces (
  place INTEGER PRIMARY KEY CHECK (place BETWEEN 1 AND 1000000),
  people TEXT NOT NULL UNIQUE,
  currency TEXT NOT NULL
) STRICT""",
    f"""CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  {_COLUMNS},
  bytes BLOB,
  CHECK (id % {ROOM} = number),
  CHECK ({_KINDS}),
  CHECK ((number = 1) = (kind = 'open')),
  CHECK ((price > 0) = (kind = 'charge')),
  CHECK (price_slack = 0 OR kind = 'charge'),
  CHECK ((charge > 0) = (kind = 'answer')),
  CHECK ((who = '') = (kind IN ('open', 'limits'))),
  CHECK (number > 0),
  CHECK (who != '' OR (used + used_slack + kept + kept_slack = 0
    AND share IS NULL AND share_slack IS NULL)),
  CHECK (length(hash) = 64),
  CHECK ((typeof(bytes) = 'blob') = (kind = 'answer'))
) STRICT""",
    # Where the entries of an analyst were followed by one of somebody else. An index on who would
    # cost a page for every charge; this one costs a row when another analyst has their turn.
    """CREATE TABLE turns (
  who TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (who, id)
) STRICT, WITHOUT ROWID""",
    "CREATE INDEX entries_asked ON entries (plan, charge) WHERE kind = 'answer'",
    _CHARGED,
)

# Every insert pays for its triggers, so there is one for each kind of row, and it looks at each
# other row once. That an entry is the last one needs no look: the one before it is there, and it is
# not there itself. The end of a turn is rare, and what is rare is kept out by WHEN.
_AGAIN = "RAISE(ABORT, 'a ledger is only added to')"

TRIGGERS = (
    *(
        f"CREATE TRIGGER {table}_{word}s BEFORE {word.upper()} ON {table} "
        f"BEGIN SELECT {_AGAIN}; END"
        for table in ("about", "spaces", "entries", "turns")
        for word in ("update", "delete")
    ),
    f"""CREATE TRIGGER about_once BEFORE INSERT ON about BEGIN
  SELECT {_AGAIN} WHERE EXISTS (SELECT 1 FROM about);
END""",  # noqa: S608 - names of our own
    f"""CREATE TRIGGER spaces_once BEFORE INSERT ON spaces BEGIN
  SELECT {_AGAIN} FROM spaces WHERE people = new.people OR place = new.place;
END""",  # noqa: S608 - names of our own
    """CREATE TRIGGER turns_end BEFORE INSERT ON turns BEGIN
  SELECT RAISE(ABORT, 'a turn ends with an entry') WHERE NOT EXISTS (
    SELECT 1 FROM entries WHERE id = new.id AND who = new.who);
END""",
    f"""CREATE TRIGGER entries_of_nobody BEFORE INSERT ON entries WHEN new.who = '' BEGIN
  SELECT CASE
    WHEN EXISTS (SELECT 1 FROM entries WHERE id = new.id) THEN {_AGAIN}
    WHEN NOT EXISTS (SELECT 1 FROM spaces WHERE people = new.people AND place = new.id / {ROOM})
      THEN RAISE(ABORT, 'an entry belongs to an id space')
    WHEN p.id IS NULL AND new.number > 1
      THEN RAISE(ABORT, 'entries follow each other without a gap')
    WHEN new.spent != coalesce(p.spent, 0) OR new.spent_slack != coalesce(p.spent_slack, 0)
      OR new.held != coalesce(p.held, 0) OR new.held_slack != coalesce(p.held_slack, 0)
      THEN RAISE(ABORT, 'the sums of an entry follow from the one before') END
  FROM (SELECT 1) LEFT JOIN entries AS p ON p.id = new.id - 1 AND new.number > 1;
END""",  # noqa: S608 - names of our own
    f"""CREATE TRIGGER entries_of_somebody BEFORE INSERT ON entries WHEN new.who != '' BEGIN
  SELECT CASE
    WHEN EXISTS (SELECT 1 FROM entries WHERE id = new.id) THEN {_AGAIN}
    WHEN p.id IS NULL OR p.people != new.people
      THEN RAISE(ABORT, 'entries follow each other without a gap')
    WHEN NOT ({_STAYED}) THEN RAISE(ABORT, 'only an entry of its own changes the limits')
    WHEN new.spent != p.spent + new.price OR new.spent_slack != p.spent_slack + new.price_slack
      OR new.used != coalesce(o.used, 0) + new.price
      OR new.used_slack != coalesce(o.used_slack, 0) + new.price_slack
      OR new.held != p.held - max(0, coalesce(o.kept - o.used, 0)) + max(0, new.kept - new.used)
      OR new.held_slack != p.held_slack - max(0, coalesce(o.kept_slack - o.used_slack, 0))
        + max(0, new.kept_slack - new.used_slack)
      THEN RAISE(ABORT, 'the sums of an entry follow from the one before')
    WHEN new.kind != 'share' AND (
      new.kept != coalesce(o.kept, 0) OR new.kept_slack != coalesce(o.kept_slack, 0)
      OR new.share IS NOT o.share OR new.share_slack IS NOT o.share_slack)
      THEN RAISE(ABORT, 'only an entry of its own changes the share of an analyst')
    WHEN new.kind = 'charge' AND (
      new.spent + new.held - max(0, new.kept - new.used) > new.cap
      OR new.price > new.most OR new.used > coalesce(new.share, new.others)
      OR (new.price_slack > 0 AND (
        new.spent_slack + new.held_slack - max(0, new.kept_slack - new.used_slack) > new.cap_slack
        OR new.used_slack > coalesce(new.share_slack, new.others_slack))))
      THEN RAISE(ABORT, 'a charge fits the budget')
    WHEN new.kind = 'share' AND (
      (new.held > p.held AND new.spent + new.held > new.cap)
      OR (new.held_slack > p.held_slack AND new.spent_slack + new.held_slack > new.cap_slack))
      THEN RAISE(ABORT, 'no more is kept for analysts than there is') END
  FROM (SELECT 1) LEFT JOIN entries AS p ON p.id = new.id - 1
    LEFT JOIN entries AS o ON o.id = CASE WHEN p.who = new.who THEN p.id ELSE (
      SELECT max(id) FROM turns WHERE who = new.who AND id BETWEEN new.id - new.number AND new.id)
    END;
END""",  # noqa: S608 - names of our own
    """CREATE TRIGGER entries_of_another BEFORE INSERT ON entries WHEN new.number > 1
  AND (SELECT who FROM entries WHERE id = new.id - 1) NOT IN ('', new.who) BEGIN
  INSERT INTO turns SELECT who, id FROM entries WHERE id = new.id - 1;
END""",
    """CREATE TRIGGER entries_paid_for BEFORE INSERT ON entries WHEN new.kind = 'answer' BEGIN
  SELECT RAISE(ABORT, 'an answer is paid for by a charge of its own')
  WHERE NOT EXISTS (SELECT 1 FROM entries AS c
    WHERE c.id = new.id - new.number + new.charge AND c.kind = 'charge'
      AND c.who = new.who AND c.plan = new.plan AND c.data = new.data)
    OR EXISTS (SELECT 1 FROM entries WHERE plan = new.plan AND kind = 'answer'
      AND charge = new.charge AND id BETWEEN new.id - new.number AND new.id);
END""",
)

SCHEMA = (*TABLES, *TRIGGERS)

# What carries a file of version n over to n + 1, for n = 1, 2, and so on.
MIGRATIONS: tuple[tuple[str, ...], ...] = ((_CHARGED,),)


# What is asked of these tables, and added to them. ------------------------------------------------

_SELECT = f"SELECT {COLUMN_NAMES} FROM entries WHERE "  # noqa: S608 - names of our own
INSERT = f"INSERT INTO entries VALUES (?, {', '.join('?' * len(FIELDS))}, ?)"  # noqa: S608
# Adds the entry that follows the newest one, if that has the hash which is stated; else the hash of
# the new one is NULL, which no row may have.
FOLLOW = (
    f"INSERT INTO entries VALUES (?1, {', '.join('?' * (len(FIELDS) - 1))}, CASE WHEN "  # noqa: S608
    f"(SELECT id, hash FROM entries WHERE id < (?1 / {ROOM} + 1) * {ROOM} ORDER BY id DESC LIMIT 1)"
    " = (?1 - 1, ?) THEN ? END, ?)"
)
LAST = _SELECT + "id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1"
HEAD = "SELECT number, hash FROM entries WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1"
_TURN = "(SELECT max(id) FROM turns WHERE who = ? AND id BETWEEN ? AND ?)"
LAST_OF = f"{_SELECT} id = {_TURN}"
ENTRY = _SELECT + "id = ?"
ENTRIES = _SELECT + "id BETWEEN ? AND ? ORDER BY id LIMIT ?"
ASKED = (
    _SELECT + "plan = ? AND kind = 'answer' AND id BETWEEN ? AND ? AND who = ? AND data = ? "
    "ORDER BY charge DESC LIMIT 1"
)
CHARGED = (
    _SELECT + "plan = ? AND kind = 'charge' AND id BETWEEN ? AND ? AND who = ? AND data = ? "
    "ORDER BY id DESC LIMIT 1"
)
PAID = _SELECT + "plan = ? AND kind = 'answer' AND charge = ? AND id BETWEEN ? AND ?"
ANALYSTS = (  # from name to name along the index, however many entries each has
    "WITH RECURSIVE names (who) AS (SELECT min(who) FROM turns UNION ALL "
    "SELECT (SELECT min(who) FROM turns WHERE who > names.who) FROM names "
    "WHERE names.who IS NOT NULL) SELECT who FROM names WHERE who IS NOT NULL"
)

_AT_ONCE = 1_000  # entries
_STEP = 0.001  # seconds between two tries to write
_WRITE = "BEGIN IMMEDIATE"
# For every None and all bytes Python looks for an adapter, and for a float and a bytearray it does
# not. SQLite takes a NaN for NULL. That saves a sixteenth of an answer beside its syncs.
_NULL = nan
# A look at the names of the files costs more than adding a row, so they are believed for a moment.
_LOOK_AGAIN = 0.01  # seconds


class SqliteStore:
    """Entries and answers in a SQLite file; it may be shared by threads, processes and forks.

    A file that does not exist is made, with ``keyed`` as given. ``patience`` is how many seconds it
    waits for other threads, and for others who write.
    """

    patience = 60.0

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keyed: bool = False,
        driver: Driver = STANDARD,
        schema: Schema = SCHEMA,
        migrations: Migrations = MIGRATIONS,
    ) -> None:
        self.path = resolved(path)
        self._name = str(self.path)
        self._driver = driver
        self._schema = schema
        self._migrations = migrations
        self._lock = RLock()
        self._process = os.getpid()
        self._closed = False
        self._looked = -inf
        self._places: dict[str, int] = {}
        self._connection: Any = None
        with OPENING.passing():
            if not self.path.exists():
                version = len(migrations) + 1
                create(
                    self.path,
                    lambda draft: make_file(draft, driver, schema, keyed=keyed, version=version),
                )
            self._file = inode(check_place(self.path))
            with self._lock, explained(self.path, driver):
                _STORES[id(self)] = self
                check_not_inherited(self._name, self._file)
                self._connection = self._opened(whole=True)
                try:
                    self.identity, self.keyed = self._about()
                    self._beside = beside(self._name)
                except BaseException:
                    self.part()
                    raise

    def read(self) -> _Transaction:
        return _Transaction(self, "BEGIN")

    def write(self, people: str) -> _Transaction:
        """Return the pages for adding; the whole file is locked, whoever the people are."""
        del people
        return _Transaction(self, _WRITE)

    def follow(self, last: Entry, entry: Entry, body: bytes | None = None) -> bool:
        """Add an entry by one statement, if ``last`` is the newest; else add nothing.

        A statement on its own is a transaction. SQLite takes the lock for writing before it reads,
        and waits for it as for ``write``; the statement looks at the newest entry under that lock;
        and it has synced the log when it is done. So nobody can add between the look and the entry,
        and nothing is left to be ended. What a rule refuses is not added, whichever rule it was.
        """
        try:
            self._take()
            self._prepare()
            place = self._first(entry.people) + entry.number
            fields = (place, *entry[:-1], last.hash, entry.hash)
            values: list[object] = [_NULL if field is None else field for field in fields]
            # A class of bytes may say of itself that it is other bytes than those of its memory.
            values.append(_NULL if body is None else bytearray(memoryview(body)))
            check_added(self.path, self._driver, self._in_turn(FOLLOW, values))
        except BaseException as error:
            self.settle()
            if is_refused(error, self._driver):
                return False
            self._explain(error)
            raise
        self._lock.release()
        return True

    def spaces(self) -> dict[str, str]:
        found = self._all("SELECT people, currency FROM spaces ORDER BY people")
        if not all(isinstance(text, str) for row in found for text in row):
            raise LedgerError(f"the ledger {self._name!r} is damaged; put the newest copy back")
        return dict(found)

    def currency(self, people: str) -> str | None:
        found = self._one("SELECT currency FROM spaces WHERE people = ?", people)
        return None if found is None else found[0]

    def add_space(self, people: str, currency: str) -> None:
        self._add("INSERT INTO spaces (people, currency) VALUES (?, ?)", (people, currency))

    def last(self, people: str) -> Entry | None:
        first = self._first(people)
        return entry_of(self._one(LAST, first, first + ROOM - 1))

    def head(self, people: str) -> tuple[int, str] | None:
        first = self._first(people)
        found: tuple[int, str] | None = self._one(HEAD, first, first + ROOM - 1)
        return found

    def last_of(self, people: str, who: str) -> Entry | None:
        """Return the newest entry of an id space about an analyst."""
        last = self.last(people)
        if last is None or last.who == who:
            return last
        first = self._first(people)
        return entry_of(self._one(LAST_OF, who, first, first + ROOM - 1))

    def entry(self, people: str, number: int) -> Entry | None:
        inside = 0 < number < ROOM
        return entry_of(self._one(ENTRY, self._first(people) + number)) if inside else None

    def entries(self, people: str, first: int = 1) -> Iterator[Entry]:
        start = self._first(people)
        while rows := self._all(ENTRIES, start + first, start + ROOM - 1, _AT_ONCE):
            yield from map(Entry._make, rows)
            first = rows[-1][1] + 1

    def answer_to(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        first = self._first(people)
        return entry_of(self._one(ASKED, plan, first, first + ROOM - 1, who, data))

    def charge_for(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        first = self._first(people)
        return entry_of(self._one(CHARGED, plan, first, first + ROOM - 1, who, data))

    def analysts(self, people: str) -> list[str]:
        last = self.last(people)
        named = {who for (who,) in self._all(ANALYSTS) if self.last_of(people, who) is not None}
        return sorted(named | ({last.who} if last is not None and last.who else set()))

    def append(self, entry: Entry, body: bytes | None = None) -> None:
        place = self._first(entry.people) + entry.number
        self._add(INSERT, (place, *entry, body))

    def body(self, entry: Entry) -> bytes | None:
        place = self._first(entry.people) + entry.number
        found = self._one("SELECT bytes FROM entries WHERE id = ?", place)
        return None if found is None else found[0]

    def answer_of(self, charge: Entry) -> Entry | None:
        first = self._first(charge.people)
        return entry_of(self._one(PAID, charge.plan, charge.number, first, first + ROOM - 1))

    def bodies(self, people: str) -> int:
        first = self._first(people)
        asked = "SELECT count(bytes) FROM entries WHERE id BETWEEN ? AND ?"
        return int(self._one(asked, first, first + ROOM - 1)[0])

    def total(self) -> tuple[int, int]:
        entries, answers = self._one("SELECT count(*), count(bytes) FROM entries")
        return entries, answers

    def check(self) -> None:
        """Look at every page of the file and at its design; refuse one that is damaged."""
        with self.read():
            check_pages(self.path, self._connection)
            check_schema(self.path, self._connection, self._schema)

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        with self._lock:
            self._closed = True
            self._looked = -inf
            self.part()

    # Transactions. ------------------------------------------------------------------------------

    def begin(self, how: str) -> None:
        """Begin a transaction; it is ended by ``end`` on the same thread."""
        try:
            self._take()
            self._prepare()
            if how == _WRITE:
                self._in_turn(how, ())
            else:
                self._connection.execute(how)
        except BaseException as error:
            self.settle()
            self._explain(error)
            raise

    def end(self, error: BaseException | None) -> None:
        """Make a transaction durable, or undo it if there was an error."""
        try:
            if error is None:
                self._connection.execute("COMMIT")
        except BaseException as failure:
            error = failure
            raise
        finally:
            try:
                if error is not None:
                    self._places.clear()  # an id space may have been begun, and is not
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
            except self._driver.errors as failure:
                error = failure
            finally:
                self.settle()
                self._explain(error)

    def settle(self) -> None:
        """Let go of what this thread holds: an interrupt may come before an end has begun."""
        if self._is_mine():
            try:
                if self._connection is not None and self._connection.in_transaction:
                    self._places.clear()
                    self._connection.execute("ROLLBACK")
            finally:
                while self._is_mine():
                    self._lock.release()

    def _in_turn(self, sql: str, values: Sequence[object]) -> Any:
        """Execute what takes the lock for writing, and wait for it in small steps.

        SQLite itself would try less and less often, up to ten times a second, and a process that
        writes without a pause would nearly always be faster than one that has waited for long.
        """
        until = monotonic() + self.patience
        self._connection.execute(IMPATIENT)
        try:
            while True:
                try:
                    return self._connection.execute(sql, values)
                except self._driver.errors as error:
                    if not is_busy(error) or monotonic() > until:
                        raise
                sleep(_STEP)
        finally:
            self._connection.execute(PATIENT)

    def _take(self) -> None:
        if not self._lock.acquire(True, self.patience):
            raise LedgerError(f"the ledger {self._name!r} is held by another thread; ask again")

    def _prepare(self) -> None:
        """Look whether the file is still the one, and undo what an interrupt has left in it."""
        if self._process != os.getpid() or self._looked + _LOOK_AGAIN < monotonic():
            self._check_file()
            self._check_open()
            self._looked = monotonic()
        if self._connection.in_transaction:  # an interrupt came before its end
            self._places.clear()
            self._connection.execute("ROLLBACK")

    def _is_mine(self) -> bool:
        """Tell whether this thread holds the lock, which the lock alone knows for certain."""
        owned: bool = self._lock._is_owned()  # type: ignore[attr-defined]  # what conditions use
        return owned

    def _explain(self, error: BaseException | None) -> None:
        if isinstance(error, self._driver.errors):
            raise ledger_error(self.path, error) from error

    def _check_open(self) -> None:
        """Open the file again after a fork; a connection must never be in two processes."""
        if self._closed:
            raise LedgerError(f"the ledger {self._name!r} has been closed; open it again")
        if self._connection is None:
            # At once: who forks waits for the lock of this store, which this thread holds.
            with OPENING.passing(at_once=True):
                check_not_inherited(self._name, self._file)
                self._connection = self._opened(whole=False)
                self._process = os.getpid()
            self._beside = beside(self._name)
        elif self._process != os.getpid():
            check_not_inherited(self._name, self._file)
        elif beside(self._name) != self._beside:
            raise LedgerError(
                f"the log beside the ledger {self._name!r} was removed or exchanged while it was "
                "open, and others may be spending the same budget; close it everywhere, and open "
                "it again"
            )

    def _opened(self, *, whole: bool) -> Any:
        return open_file(self.path, self._driver, self._schema, self._migrations, whole=whole)

    def _check_file(self) -> None:
        """Refuse to go on with a file that has lost its name to another one."""
        try:
            same = inode(os.stat(self._name)) == self._file  # noqa: PTH116 - twice as fast
        except OSError:
            same = False
        if not same:
            raise LedgerError(
                f"the ledger {self._name!r} was moved or exchanged while it was open; put it "
                "back, and open it again"
            )

    # Forks. -------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Let nobody else use the store, and let go of the file, because a fork follows."""
        self._lock.acquire()
        self.part()

    def part(self) -> None:
        """Close the file, if this process has it open and is not in the midst of a transaction."""
        mine = self._connection is not None and self._process == os.getpid()
        if mine and not self._connection.in_transaction:
            connection, self._connection = self._connection, None  # also if closing is interrupted
            self._looked = -inf
            connection.close()

    def is_inherited(self, file: tuple[int, int]) -> bool:
        """Tell whether a connection to a file was opened by the process that this one is from."""
        return self._connection is not None and self._process != os.getpid() and self._file == file

    def go_on(self) -> None:
        """Let the store be used again after a fork, if it was held."""
        if self._is_mine():
            self._lock.release()

    # Reading. -----------------------------------------------------------------------------------

    def _first(self, people: str) -> int:
        """Return the id before the first entry of an id space; a place without entries if none."""
        place = self._places.get(people)
        if place is None:
            found = self._one("SELECT place FROM spaces WHERE people = ?", people)
            if found is None:
                return -ROOM
            place = self._places[people] = int(found[0])
        return place * ROOM

    def _about(self) -> tuple[str, bool]:
        found = self._one("SELECT identity, keyed FROM about")
        if found is None:
            raise LedgerError(f"{self._name!r} is not a ledger")
        return found[0], bool(found[1])

    def _add(self, sql: str, values: tuple[object, ...]) -> None:
        check_added(self.path, self._driver, self._connection.execute(sql, values))

    def _one(self, sql: str, *values: object) -> Any:
        return self._connection.execute(sql, values).fetchone()

    def _all(self, sql: str, *values: object) -> list[Any]:
        found: list[Any] = self._connection.execute(sql, values).fetchall()
        return found


class _Transaction:
    """A transaction as a context.

    It is a class, because an interrupt that comes while a generator is on its way to or from
    contextlib would find nobody who lets go of the lock.
    """

    __slots__ = ("_how", "_store")

    def __init__(self, store: SqliteStore, how: str) -> None:
        self._store = store
        self._how = how

    def __enter__(self) -> SqliteStore:
        try:
            self._store.begin(self._how)
        except BaseException:
            self._store.settle()  # an interrupt may come while it does so itself
            raise
        return self._store

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self._store.end(error)
        except BaseException:
            self._store.settle()
            raise


# Forks. -------------------------------------------------------------------------------------------
#
# No connection to a SQLite file may be in two processes. SQLite keeps one record of its locks for
# each file and process. A child that inherited an open connection would believe that it holds locks
# which it does not, and its charges could be lost. So no connection is open at the moment of a
# fork; each process opens its own when it needs it. Nor is one being opened: while a ledger is made
# or opened, a connection to its file belongs to no store yet.

_STORES: WeakValueDictionary[int, SqliteStore] = WeakValueDictionary()
OPENING = Gate(patience=60.0)


class _Held(local):
    """The stores that the thread which forks holds meanwhile."""

    def __init__(self) -> None:
        self.stores: list[SqliteStore] = []


_HELD = _Held()


def check_not_inherited(name: str, file: tuple[int, int]) -> None:
    """Refuse a file of which this process inherited a connection after all."""
    if OPENING.is_cut:
        raise LedgerError(
            f"the ledger {name!r} cannot be used in this process: it was forked while another "
            "thread was opening a ledger; fork before, or start a process of its own"
        )
    if any(store.is_inherited(file) for store in stores()):
        raise LedgerError(
            f"the ledger {name!r} was in use when this process was forked; use it in a process "
            "that was forked before or after"
        )


def stores() -> list[SqliteStore]:
    """Return the stores that there are, whatever other threads add meanwhile."""
    return [store for held in _STORES.valuerefs() if (store := held()) is not None]


def _before_fork() -> None:
    OPENING.close()  # first, so that no store comes to those that are held
    for store in sorted(stores(), key=id):  # in one order, so that no two threads wait in a ring
        _HELD.stores.append(store)  # first, because an interrupt may come into holding it
        store.hold()


def _go_on() -> None:
    while _HELD.stores:
        _HELD.stores.pop().go_on()


def _after_in_parent() -> None:
    _go_on()
    OPENING.open()


def _after_in_child() -> None:
    _go_on()
    OPENING.begin_in_child()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
