# SPDX-License-Identifier: Apache-2.0
"""The role that a catalog needs: it may read the declared tables, and nothing else.

``python -m sordino.engine.postgres.role sordino.toml reader`` prints the statements that make it,
for whoever administers the database to read and to run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from psycopg.conninfo import conninfo_to_dict

from sordino.catalog.model import Catalog, PostgresTable
from sordino.catalog.toml import read_catalog
from sordino.engine.compile.dialect import quoted
from sordino.engine.postgres.tables import parts_of, source_of
from sordino.errors import CatalogError

_MAY_NOT = "NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
CONNECTIONS, SECONDS = 20, 600


def statements(catalog: Catalog, role: str) -> Iterator[str]:
    """Return what makes a role that may read the tables of a catalog that lie in PostgreSQL.

    It has no password: let it in by its certificate, by a socket, or give it one.
    """
    sources = [table.source for table in catalog.tables if isinstance(table.source, PostgresTable)]
    if not sources:
        raise CatalogError("no table of this catalog lies in PostgreSQL")
    name = quoted(role)
    yield f"CREATE ROLE {name} LOGIN NOINHERIT {_MAY_NOT} CONNECTION LIMIT {CONNECTIONS}"
    yield f"ALTER ROLE {name} SET default_transaction_read_only = on"
    yield f"ALTER ROLE {name} SET statement_timeout = '{SECONDS}s'"
    for database in _distinct(_database(source) for source in sources):
        yield f"REVOKE TEMPORARY ON DATABASE {quoted(database)} FROM PUBLIC"
        yield f"GRANT CONNECT ON DATABASE {quoted(database)} TO {name}"
    for schema in _distinct(parts_of(source.table)[0] for source in sources):
        yield f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {name}"
    for table in _distinct(map(source_of, sources)):
        yield f"GRANT SELECT ON {table} TO {name}"


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _database(source: PostgresTable) -> str:
    return str(conninfo_to_dict(source.address).get("dbname") or "postgres")


def main(arguments: list[str]) -> int:
    """Print the statements for the catalog and the name of a role that are given."""
    if len(arguments) != 2:
        sys.stderr.write("name a catalog and a role, as in: sordino.toml reader\n")
        return 2
    try:
        for statement in statements(read_catalog(arguments[0]), arguments[1]):
            sys.stdout.write(f"{statement};\n")
    except CatalogError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
