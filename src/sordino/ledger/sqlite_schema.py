# SPDX-License-Identifier: Apache-2.0
"""The tables of a ledger in SQLite, and the triggers that hold to the rules a second time."""

from __future__ import annotations

from sordino.ledger.entry import FIELDS

ROOM = 1 << 40  # an entry has the id: place of its id space times this, plus its number
_NULLABLE = ("most", "others", "others_slack", "share", "share_slack")
_TEXT = ("people", "kind", "at", "who", "by", "why", "plan", "data", "body", "hash")
_STAYS = ("cap", "cap_slack", "most", "others", "others_slack")


def _column(name: str) -> str:
    kind = "TEXT" if name in _TEXT else "INTEGER"
    if name in _NULLABLE:
        return f'"{name}" {kind} CHECK ("{name}" >= 0)'
    check = "" if name in _TEXT else f' CHECK ("{name}" >= 0)'
    return f'"{name}" {kind} NOT NULL{check}'


_COLUMNS = ",\n  ".join(map(_column, FIELDS))
_STAYED = " AND ".join(f'new."{name}" IS p."{name}"' for name in _STAYS)

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
  CHECK (id % {ROOM} = number),
  CHECK (kind IN ('open', 'limits', 'share', 'charge', 'answer')),
  CHECK ((number = 1) = (kind = 'open')),
  CHECK ((price > 0) = (kind = 'charge')),
  CHECK (price_slack = 0 OR kind = 'charge'),
  CHECK ((charge > 0) = (kind = 'answer')),
  CHECK ((who = '') = (kind IN ('open', 'limits'))),
  CHECK (number > 0),
  CHECK (who != '' OR (used + used_slack + kept + kept_slack = 0
    AND share IS NULL AND share_slack IS NULL)),
  CHECK (length(hash) = 64)
) STRICT""",
    "CREATE INDEX entries_of ON entries (who) WHERE kind IN ('charge', 'share')",
    "CREATE INDEX entries_asked ON entries (plan) WHERE kind = 'answer'",
    """CREATE TABLE answers (
  id INTEGER PRIMARY KEY,
  people TEXT NOT NULL,
  charge INTEGER NOT NULL CHECK (charge > 0),
  body BLOB NOT NULL
) STRICT""",
)

# Every insert pays for its triggers, so each looks at a row once. That an entry follows the last
# one needs no look: the one before it is there, and by the primary key the one itself is not.
TRIGGERS = (
    *(
        f"CREATE TRIGGER {table}_{word}s BEFORE {word.upper()} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        for table in ("about", "spaces", "entries", "answers")
        for word in ("update", "delete")
    ),
    *(
        f"CREATE TRIGGER {table}_once BEFORE INSERT ON {table} BEGIN "
        f"SELECT RAISE(ABORT, 'a ledger is only added to') WHERE EXISTS ({found}); END"
        for table, found in (
            ("about", "SELECT 1 FROM about"),
            ("spaces", "SELECT 1 FROM spaces WHERE people = new.people OR place = new.place"),
            ("entries", "SELECT 1 FROM entries WHERE id = new.id"),
            ("answers", "SELECT 1 FROM answers WHERE id = new.id"),
        )
    ),
    f"""CREATE TRIGGER entries_begin BEFORE INSERT ON entries WHEN new.number = 1 BEGIN
  SELECT RAISE(ABORT, 'the first entry opens an id space')
  WHERE new.spent + new.spent_slack + new.held + new.held_slack > 0 OR NOT EXISTS (
    SELECT 1 FROM spaces WHERE people = new.people AND place = new.id / {ROOM});
END""",  # noqa: S608 - names of our own
    f"""CREATE TRIGGER entries_follow BEFORE INSERT ON entries WHEN new.number > 1 BEGIN
  SELECT RAISE(ABORT, 'an entry follows from the one before, and so do its sums')
  WHERE NOT EXISTS (SELECT 1 FROM entries AS p
    WHERE p.id = new.id - 1 AND p.people = new.people
      AND new.spent = p.spent + new.price AND new.spent_slack = p.spent_slack + new.price_slack
      AND (new.kind = 'limits' OR ({_STAYED}))
      AND (new.who != '' OR (new.held = p.held AND new.held_slack = p.held_slack)));
END""",  # noqa: S608 - names of our own
    f"""CREATE TRIGGER entries_own BEFORE INSERT ON entries WHEN new.who != '' BEGIN
  SELECT RAISE(ABORT, 'the sums of an analyst follow from their last entry')
  FROM entries AS p, (
    SELECT coalesce(max(used), 0) AS used, coalesce(max(used_slack), 0) AS used_slack,
      coalesce(max(kept), 0) AS kept, coalesce(max(kept_slack), 0) AS kept_slack,
      max(share) AS share, max(share_slack) AS share_slack
    FROM (SELECT used, used_slack, kept, kept_slack, share, share_slack FROM entries
      WHERE who = new.who AND kind IN ('charge', 'share')
        AND id BETWEEN new.id / {ROOM} * {ROOM} AND new.id ORDER BY id DESC LIMIT 1)) AS o
  WHERE p.id = new.id - 1 AND (
    new.used != o.used + new.price OR new.used_slack != o.used_slack + new.price_slack
    OR new.held != p.held - max(0, o.kept - o.used) + max(0, new.kept - new.used)
    OR new.held_slack != p.held_slack - max(0, o.kept_slack - o.used_slack)
      + max(0, new.kept_slack - new.used_slack)
    OR (new.kind != 'share' AND (new.kept != o.kept OR new.kept_slack != o.kept_slack
      OR new.share IS NOT o.share OR new.share_slack IS NOT o.share_slack)));
END""",  # noqa: S608 - names of our own
    """CREATE TRIGGER entries_fit BEFORE INSERT ON entries WHEN new.kind = 'charge' BEGIN
  SELECT RAISE(ABORT, 'a charge fits the budget')
  WHERE new.spent + new.held - max(0, new.kept - new.used) > new.cap
    OR (new.price_slack > 0 AND new.spent_slack + new.held_slack
      - max(0, new.kept_slack - new.used_slack) > new.cap_slack)
    OR new.price > coalesce(new.most, new.price)
    OR new.used > coalesce(new.share, new.others, new.used)
    OR (new.price_slack > 0
      AND new.used_slack > coalesce(new.share_slack, new.others_slack, new.used_slack));
END""",
    """CREATE TRIGGER entries_paid_for BEFORE INSERT ON entries WHEN new.kind = 'answer' BEGIN
  SELECT RAISE(ABORT, 'an answer is paid for by a charge of its own')
  WHERE NOT EXISTS (SELECT 1 FROM entries AS c
    WHERE c.id = new.id - new.number + new.charge AND c.kind = 'charge'
      AND c.who = new.who AND c.plan = new.plan AND c.data = new.data)
    OR EXISTS (SELECT 1 FROM answers WHERE id = new.id - new.number + new.charge);
END""",
    f"""CREATE TRIGGER answers_paid_for BEFORE INSERT ON answers BEGIN
  SELECT RAISE(ABORT, 'an answer follows its entry')
  WHERE NOT EXISTS (SELECT 1 FROM (SELECT * FROM entries
      WHERE id < (new.id / {ROOM} + 1) * {ROOM} ORDER BY id DESC LIMIT 1)
    WHERE people = new.people AND kind = 'answer' AND charge = new.charge
      AND id - number + charge = new.id);
END""",  # noqa: S608 - names of our own
)

SCHEMA = (*TABLES, *TRIGGERS)

# What carries a file of version n over to n + 1, for n = 1, 2, and so on.
MIGRATIONS: tuple[tuple[str, ...], ...] = ()
