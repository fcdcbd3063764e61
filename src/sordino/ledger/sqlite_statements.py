# SPDX-License-Identifier: Apache-2.0
"""What is asked of the tables of a ledger in SQLite, and how an entry is added to them."""

from __future__ import annotations

from sordino.ledger.entry import FIELDS
from sordino.ledger.sqlite_schema import ROOM

_NAMES = ", ".join(f'"{name}"' for name in FIELDS)
_SELECT = f"SELECT {_NAMES} FROM entries WHERE "  # noqa: S608 - names of our own
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
