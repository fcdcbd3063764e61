# SPDX-License-Identifier: Apache-2.0
"""The tables of a ledger in SQLite, and the triggers that hold to the rules a second time."""

from __future__ import annotations

from sordino.ledger.stores.protocol import LIMITS, column_definitions

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
