# SPDX-License-Identifier: Apache-2.0
"""The tables of a ledger in PostgreSQL, and the triggers that hold to the rules a second time."""

from __future__ import annotations

from sordino.ledger.stores.protocol import LIMITS, column_definitions

_OWN = ("share", "share_slack", "kept", "kept_slack")
_LETTERS = 'text COLLATE "C"'  # an order that no update of the system changes


def _moved(names: tuple[str, ...], before: str) -> str:
    return " OR ".join(f'new."{name}" IS DISTINCT FROM {before}."{name}"' for name in names)


_COLUMNS = column_definitions(text=_LETTERS, number="bigint")
_CHARGED = """CREATE INDEX entries_charged ON sordino.entries (plan, data, who, people, number)
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
    _CHARGED,
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
MIGRATIONS: tuple[tuple[str, ...], ...] = ((_CHARGED,),)
