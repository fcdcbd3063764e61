# SPDX-License-Identifier: Apache-2.0
"""Tables of servers in a catalog: their addresses and names; no server is asked anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from sordino.catalog.checks import POSTGRES_ADDRESSES
from sordino.catalog.model import PostgresTable, ServerTable, SparkTable
from sordino.errors import CatalogError

SPARK_ADDRESS = "sc://"
SPARK_FORMS = ("table", "parquet", "delta", "iceberg")
SERVER_ENTRIES = ("postgres", "spark", *SPARK_FORMS, "version")
_SECRETS = ("password", "passwd", "token", "sslpassword", "oauth_client_secret")
_LONGEST_VERSION = 200
_NAME = re.compile(r'"(?:[^"]|"")+"|[^".\s][^".]*')


def is_address(place: str) -> bool:
    """Tell whether a text is the address of a server, and no name of a file.

    >>> is_address("postgresql://db.example/clinic"), is_address("visits.parquet")
    (True, False)
    """
    return place.startswith((*POSTGRES_ADDRESSES, SPARK_ADDRESS))


def server_table(kind: str, entries: Mapping[str, str | None]) -> ServerTable:
    """Return a table of a server as it is declared; raises CatalogError for what is wrong.

    >>> server_table("postgres", {"postgres": "postgresql://db.example/clinic", "table": "visits"})
    PostgresTable(address='postgresql://db.example/clinic', table='visits', version=None)
    """
    address = check_address(kind, entries.get(kind) or "")
    version = entries.get("version")
    if version is not None and not (0 < len(version) <= _LONGEST_VERSION and version.isprintable()):
        raise CatalogError(f"version must be a word of 1 to {_LONGEST_VERSION} characters")
    if kind == "postgres":
        table = entries.get("table") or ""
        names_in(table)
        return PostgresTable(address, table, version)
    forms = [form for form in SPARK_FORMS if entries.get(form) is not None]
    if len(forms) != 1:
        raise CatalogError(
            "say what Spark is to read by exactly one of table, parquet, delta and iceberg"
        )
    (form,) = forms
    name = entries.get(form) or ""
    if form == "table":
        names_in(name)
    elif not name:
        raise CatalogError(f"{form} must be a path that the Spark server knows")
    return SparkTable(address, name, form, version)


def check_address(kind: str, address: str) -> str:
    """Return an address that is one, and that has no password; else raise CatalogError."""
    starts = POSTGRES_ADDRESSES if kind == "postgres" else (SPARK_ADDRESS,)
    if not address.startswith(starts):
        example = "postgresql://host/name" if kind == "postgres" else "sc://host:15002"
        raise CatalogError(f"{kind} must be an address, such as {example!r}")
    if _has_secret(address):
        hint = (
            "put it into a file that PGPASSFILE or PGSERVICEFILE names, or into PGPASSWORD"
            if kind == "postgres"
            else "put the token into the environment variable SPARK_CONNECT_TOKEN"
        )
        raise CatalogError(f"the address has a password, and a catalog is no place for one; {hint}")
    return address


def _has_secret(address: str) -> bool:
    try:
        parts = urlsplit(address)
        password = parts.password
    except ValueError:
        raise CatalogError("the address of the server is not one; see to its brackets") from None
    options = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    after = parts.path.lstrip("/").split(";")  # where those of Spark stand
    options += [unquote(option.split("=")[0]) for option in after if "=" in option]
    return password is not None or any(name.lower() in _SECRETS for name in options)


def names_in(table: str) -> tuple[str, ...]:
    """Return the parts of a name such as ``schema.name``; a part in quotes may have any sign.

    >>> names_in('clinic."odd.name"')
    ('clinic', 'odd.name')
    """
    parts: list[str] = []
    place = 0
    while found := _NAME.match(table, place):
        text = found[0]
        parts.append(text[1:-1].replace('""', '"') if text[0] == '"' else text)
        place = found.end()
        if place == len(table):
            return tuple(parts)
        if table[place] != ".":
            break
        place += 1
    raise CatalogError(f"table must be a name such as 'clinic.visits', got {table!r}")
