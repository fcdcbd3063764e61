# SPDX-License-Identifier: Apache-2.0
"""The pages of a ledger in PostgreSQL: what is asked of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sordino.errors import LedgerError
from sordino.ledger.entry import FIELDS, Entry
from sordino.ledger.postgres_schema import GUARDED

_OPENING = 0x736F7265  # the advisory lock of who opens an id space, with a number from its name
_LOCK = "SELECT FROM sordino.spaces WHERE people = %s FOR UPDATE"
_NAMES = ", ".join(f'"{name}"' for name in FIELDS)
_SELECT = f"SELECT {_NAMES} FROM sordino.entries WHERE "  # noqa: S608 - names of our own
_INSERT = (
    f"INSERT INTO sordino.entries ({_NAMES}) "  # noqa: S608 - names of our own
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
        """Return the currency of every id space that was opened, by its name."""
        return dict(self._all("SELECT people, currency FROM sordino.spaces ORDER BY people"))

    def currency(self, people: str) -> str | None:
        """Return the currency of an id space, or None if it was not opened."""
        found = self._one("SELECT currency FROM sordino.spaces WHERE people = %s", people)
        return None if found is None else found[0]

    def add_space(self, people: str, currency: str) -> None:
        """Begin an id space."""
        self._add("INSERT INTO sordino.spaces VALUES (%s, %s)", (people, currency))

    def last(self, people: str) -> Entry | None:
        """Return the newest entry of an id space."""
        return _entry(self._one(_LAST, people))

    def head(self, people: str) -> tuple[int, str] | None:
        """Return the number and the hash of the newest entry of an id space."""
        found: tuple[int, str] | None = self._one(_HEAD, people)
        return found

    def last_of(self, people: str, who: str) -> Entry | None:
        """Return the newest charge or share of an analyst in an id space."""
        return _entry(self._one(_LAST_OF, people, who))

    def entry(self, people: str, number: int) -> Entry | None:
        """Return an entry by its number."""
        return _entry(self._one(_ENTRY, people, number)) if number <= _LARGEST else None

    def entries(self, people: str, first: int = 1) -> Iterator[Entry]:
        """Return the entries of an id space in their order, without holding them all."""
        while rows := self._all(_ENTRIES, people, first, _AT_ONCE):
            yield from map(Entry._make, rows)
            first = rows[-1][1] + 1

    def answer_to(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        """Return the answer to an analyst's newest charge for a plan on a version of the data."""
        return _entry(self._one(_ASKED, plan, data, who, people))

    def charge_for(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        """Return an analyst's newest charge for a plan on a version of the data."""
        return _entry(self._one(_CHARGED, plan, data, who, people))

    def analysts(self, people: str) -> list[str]:
        """Return the names of all analysts that entries of an id space are about, sorted."""
        return [who for (who,) in self._all(_ANALYSTS, people, people)]

    def append(self, entry: Entry, body: bytes | None = None) -> None:
        """Add an entry, that of an answer with its bytes; one that breaks a rule is refused."""
        self._add(_INSERT, entry)
        if body is not None:
            kept = entry.people, entry.charge, body
            self._add("INSERT INTO sordino.answers VALUES (%s, %s, %s)", kept)

    def body(self, entry: Entry) -> bytes | None:
        """Return the bytes of the answer that an entry speaks of."""
        asked = "SELECT body FROM sordino.answers WHERE people = %s AND charge = %s"
        found = self._one(asked, entry.people, entry.charge)
        return None if found is None else found[0]

    def answer_of(self, charge: Entry) -> Entry | None:
        """Return the answer that a charge has paid for, or None if none was recorded."""
        return _entry(self._one(_PAID, charge.people, charge.number))

    def bodies(self, people: str) -> int:
        """Return how many answers are kept."""
        found = self._one("SELECT count(*) FROM sordino.answers WHERE people = %s", people)
        return 0 if found is None else int(found[0])

    def total(self) -> tuple[int, int]:
        """Return how many entries and how many answers there are, whoever they are about."""
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


def _entry(row: Any) -> Entry | None:
    return None if row is None else Entry._make(row)
