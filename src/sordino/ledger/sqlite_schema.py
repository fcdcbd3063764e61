# SPDX-License-Identifier: Apache-2.0
"""The tables of a ledger in SQLite, and the triggers that hold to the rules a second time."""

from __future__ import annotations

from sordino.ledger.entry import FIELDS

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
_MOVED = " OR ".join(f'new."{name}" IS NOT p."{name}"' for name in _STAYS)

TABLES = (
    """CREATE TABLE about (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  identity TEXT NOT NULL,
  keyed INTEGER NOT NULL CHECK (keyed IN (0, 1))
) STRICT""",
    "CREATE TABLE spaces (people TEXT PRIMARY KEY NOT NULL, currency TEXT NOT NULL) STRICT",
    f"""CREATE TABLE entries (
  {_COLUMNS},
  PRIMARY KEY (people, number),
  FOREIGN KEY (people) REFERENCES spaces (people),
  CHECK (kind IN ('open', 'limits', 'share', 'charge', 'answer')),
  CHECK ((number = 1) = (kind = 'open')),
  CHECK ((price > 0) = (kind = 'charge')),
  CHECK (price_slack = 0 OR kind = 'charge'),
  CHECK ((charge > 0) = (kind = 'answer')),
  CHECK ((who = '') = (kind IN ('open', 'limits'))),
  CHECK (length(hash) = 64)
) STRICT""",
    "CREATE INDEX entries_of ON entries (people, who, number)",
    "CREATE UNIQUE INDEX entries_paid ON entries (people, charge) WHERE kind = 'answer'",
    """CREATE INDEX entries_asked ON entries (plan, data, who, people, number)
  WHERE kind = 'answer'""",
    """CREATE TABLE answers (
  people TEXT NOT NULL,
  charge INTEGER NOT NULL CHECK (charge > 0),
  body BLOB NOT NULL,
  PRIMARY KEY (people, charge)
) STRICT""",
)

TRIGGERS = (
    *(
        f"CREATE TRIGGER {table}_{word}s BEFORE {word.upper()} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        for table in ("about", "spaces", "entries", "answers")
        for word in ("update", "delete")
    ),
    """CREATE TRIGGER entries_follow BEFORE INSERT ON entries BEGIN
  SELECT RAISE(ABORT, 'entries follow each other without a gap')
  WHERE new.number != 1 + coalesce(
    (SELECT max(number) FROM entries WHERE people = new.people), 0);
END""",
    f"""CREATE TRIGGER entries_add_up BEFORE INSERT ON entries WHEN new.number > 1 BEGIN
  SELECT RAISE(ABORT, 'the sums of an entry follow from the one before')
  FROM entries AS p
  WHERE p.people = new.people AND p.number = new.number - 1 AND (
    new.spent != p.spent + new.price
    OR new.spent_slack != p.spent_slack + new.price_slack
    OR (new.kind != 'limits' AND ({_MOVED}))
    OR (new.kind IN ('limits', 'answer') AND new.held != p.held));
  SELECT RAISE(ABORT, 'what an analyst has used follows from their last entry')
  WHERE new.who != '' AND (
    new.used != new.price + coalesce((SELECT used FROM entries
      WHERE people = new.people AND who = new.who ORDER BY number DESC LIMIT 1), 0)
    OR new.used_slack != new.price_slack + coalesce((SELECT used_slack FROM entries
      WHERE people = new.people AND who = new.who ORDER BY number DESC LIMIT 1), 0));
END""",  # noqa: S608 - names of our own
    """CREATE TRIGGER entries_fit BEFORE INSERT ON entries WHEN new.kind = 'charge' BEGIN
  SELECT RAISE(ABORT, 'a charge fits the budget')
  WHERE new.spent + new.held > new.cap OR new.spent_slack + new.held_slack > new.cap_slack
    OR new.price > coalesce(new.most, new.price)
    OR new.used > coalesce(new.share, new.others, new.used)
    OR new.used_slack > coalesce(new.share_slack, new.others_slack, new.used_slack);
END""",
    """CREATE TRIGGER entries_paid_for BEFORE INSERT ON entries WHEN new.kind = 'answer' BEGIN
  SELECT RAISE(ABORT, 'an answer is paid for by a charge')
  WHERE NOT EXISTS (SELECT 1 FROM entries AS c
    WHERE c.people = new.people AND c.number = new.charge AND c.kind = 'charge'
      AND c.who = new.who AND c.plan = new.plan AND c.data = new.data);
END""",
    """CREATE TRIGGER answers_paid_for BEFORE INSERT ON answers BEGIN
  SELECT RAISE(ABORT, 'an answer has an entry')
  WHERE NOT EXISTS (SELECT 1 FROM entries AS a
    WHERE a.people = new.people AND a.charge = new.charge AND a.kind = 'answer');
END""",
)

SCHEMA = (*TABLES, *TRIGGERS)

# What carries a file of version n over to n + 1, for n = 1, 2, and so on.
MIGRATIONS: tuple[tuple[str, ...], ...] = ()
