# SPDX-License-Identifier: Apache-2.0
"""Tables of a PostgreSQL database: what is known of each without a row, and which are read.

Rows that are stored are read, and nothing that is computed while it is read: a view, a virtual
column, a foreign table or a row policy may call functions that fail on a value, mix the rows of
several people, or give something else the second time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from sordino.catalog.model import Catalog, PostgresTable, Table
from sordino.catalog.servers import names_in
from sordino.engine.compile.dialect import quoted
from sordino.engine.compile.rows import id_columns
from sordino.engine.postgres.columns import OF_TYPE, Held, PostgresBase, check_fit
from sordino.engine.postgres.connection import Connection
from sordino.errors import CatalogError

_SYSTEM = ("information_schema",)
_KINDS = {"v": "a view", "f": "a foreign table", "S": "a sequence", "i": "an index"}
_READ = ("r", "p", "m")  # tables, those with partitions, and views whose rows are stored
_TABLE = """SELECT c.oid::bigint, c.relkind::text, row_security_active(c.oid),
  has_table_privilege(c.oid, 'SELECT'),
  EXISTS (SELECT FROM pg_rewrite WHERE ev_class = c.oid AND ev_type = '1')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2"""
# A domain stands for the type below it, and each of its values is one of that type.
_COLUMNS = """WITH RECURSIVE held (number, name, type, computed, below, kind, plain) AS (
  SELECT a.attnum, a.attname, a.atttypid, a.attgenerated, t.typbasetype, t.typtype,
    NOT EXISTS (SELECT FROM pg_collation AS l WHERE l.oid = a.attcollation
      AND NOT l.collisdeterministic)
  FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT h.number, h.name, t.oid, h.computed, t.typbasetype, t.typtype, h.plain
  FROM held AS h JOIN pg_type AS t ON t.oid = h.below WHERE h.kind = 'd'
) SELECT name::text, type::bigint, kind::text, computed::text, format_type(type, NULL), plain
FROM held WHERE kind <> 'd' ORDER BY number"""
_BELOW = """WITH RECURSIVE below (oid) AS (
  SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::oid
  UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN below AS b ON i.inhparent = b.oid
) SELECT c.relname::text, c.relkind::text,
  EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attgenerated = 'v')
FROM below AS b JOIN pg_class AS c ON c.oid = b.oid ORDER BY 1"""
# Casts that somebody has added between types of the system itself would change what ours mean.
_CASTS = """SELECT count(*) FROM pg_cast
WHERE oid >= 16384 AND castsource < 16384 AND casttarget < 16384"""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a table is: its number, and for each column its type and whether it is computed.

    At the end of a column stands whether its texts are equal only if their bytes are.
    """

    number: int
    kind: str
    columns: tuple[tuple[str, int, str, str, str, bool], ...]

    def held(self, name: str) -> tuple[str, Held | None, str]:
        """Return how a column is spelled as a type, what it holds, and how it is computed."""
        for column, type_, kind, computed, spelled, _ in self.columns:
            if column == name:
                return spelled, Held.WORD if kind == "e" else OF_TYPE.get(type_), computed
        raise KeyError(name)


def parts_of(table: str) -> tuple[str, str]:
    """Return the schema and the name of a table; without a schema it is in ``public``.

    >>> parts_of('clinic."Visits"')
    ('clinic', 'Visits')
    """
    parts = names_in(table)
    if len(parts) > 2:
        raise CatalogError(
            f"table must be a name such as 'clinic.visits', got {table!r}; the database is part of "
            "the address"
        )
    return ("public", parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def source_of(source: PostgresTable) -> str:
    """Return a table as SQL has it."""
    return ".".join(map(quoted, parts_of(source.table)))


def check_casts(connection: Connection) -> None:
    """Refuse a database in which casts between types of the system are not those of the system."""
    (many,) = _rows(connection, _CASTS)[0]
    if many:
        raise CatalogError(
            "the database has casts of its own between types of PostgreSQL, so that its values "
            "may be read in another way than they are meant; drop them"
        )


def shape_of(connection: Connection, table: Table, source: PostgresTable) -> Shape:
    """Return what a table is; one that is not there, or is not read, is a CatalogError."""
    schema, name = parts_of(source.table)
    where = f"table {table.name!r}: {source.table!r}"
    found = _rows(connection, _TABLE, schema, name)
    if not found or schema in _SYSTEM or schema.startswith("pg_"):
        raise CatalogError(
            f"{where} is not there, or the role may not see it; name it with its schema, as in "
            "'clinic.visits', in the case of letters that it has"
        )
    number, kind, policies, allowed, rule = found[0]
    if kind not in _READ or rule != (kind == "m"):
        what = _KINDS.get(kind, "no table")
        raise CatalogError(
            f"{where} is {what}, which may mix rows of several people or fail on a value; store "
            "its rows, by CREATE MATERIALIZED VIEW or CREATE TABLE ... AS, and declare that"
        )
    if not allowed:
        raise CatalogError(f"{where} may not be read by this role; GRANT SELECT on it")
    if policies:
        raise CatalogError(
            f"{where} has row security, whose policies compute for each row whether it is there; "
            "let the role see all rows (BYPASSRLS), or declare a table without policies"
        )
    for below, kind_below, computed in _rows(connection, _BELOW, number):
        if kind_below not in _READ or computed:
            what = "a virtual column" if computed else _KINDS.get(kind_below, "no table")
            raise CatalogError(
                f"{where} has a part {below!r} that is not stored as it is read ({what}); "
                "detach it, or declare a table without it"
            )
    return Shape(number, kind, tuple(map(tuple, _rows(connection, _COLUMNS, number))))


def base_of(catalog: Catalog, table: Table, source: PostgresTable, shape: Shape) -> PostgresBase:
    """Return how a table is read; columns that do not fit are a CatalogError."""
    ids = id_columns(catalog, table)
    held: dict[str, Held] = {}
    for column in table.columns:
        try:
            spelled, what, computed = shape.held(column.name)
        except KeyError:
            names = ", ".join(name for name, *_ in shape.columns)
            raise CatalogError(
                f"table {table.name!r}: {source.table!r} has no column {column.name!r}; it has "
                f"{names}"
            ) from None
        if computed == "v":
            raise CatalogError(
                f"column {column.name!r} of table {table.name!r} is computed when it is read, and "
                "may fail; store it, by GENERATED ALWAYS AS (...) STORED"
            )
        if what is None:
            raise CatalogError(
                f"column {column.name!r} of table {table.name!r} is of the type {spelled}, which "
                "is not read; leave it out, or store it as one of the types of docs/engines.md"
            )
        check_fit(table.name, column.name, column.type, what, is_id=column.name in ids)
        held[column.name] = what
    plain = frozenset(name for name, *_, is_plain in shape.columns if is_plain)
    return PostgresBase(source_of(source), held, ids, plain)


def made_up(base: PostgresBase, shape: Shape, table: Table) -> PostgresBase:
    """Return a base of the same types with one made-up row, for a dry run."""
    values = ", ".join(
        f"{_VALUES[base.held[column.name]].format(shape.held(column.name)[0])} "
        f"AS {quoted(column.name)}"
        for column in table.columns
    )
    return PostgresBase(f"(SELECT {values} OFFSET 0) AS made", base.held, base.ids, base.plain)


_VALUES: Mapping[Held, str] = {
    Held.WHOLE: "CAST(1 AS {0})", Held.WIDE: "CAST(1 AS {0})", Held.NUMERIC: "CAST(1 AS {0})",
    Held.REAL: "CAST(1 AS {0})", Held.TEXT: "CAST('1' AS {0})", Held.PADDED: "CAST('1' AS {0})",
    Held.WORD: "CAST(NULL AS {0})", Held.BOOLEAN: "CAST(TRUE AS {0})",
    Held.DATE: "CAST('2000-01-01' AS {0})", Held.MOMENT: "CAST('2000-01-01' AS {0})",
    Held.ZONED: "CAST('2000-01-01' AS {0})",
}  # fmt: skip


def _rows(connection: Connection, sql: str, *bound: object) -> list[Any]:
    return psycopg.RawCursor(connection).execute(sql, bound).fetchall()
