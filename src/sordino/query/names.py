# SPDX-License-Identifier: Apache-2.0
"""Names in a catalog: which are allowed, what they refer to, and how a mistake is placed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sordino.errors import CatalogError
from sordino.query.catalog import Column, Table

LONGEST_NAME = 200
_PLAIN = re.compile(r"[\w*-]+")
LONGEST_SPACE = 100  # of an id space: it has to fit into the anchor of a ledger

Named = TypeVar("Named", Table, Column)


def reference(name: str, text: object) -> tuple[str, str]:
    """Read ``"table.column"``.

    >>> reference("parent", "visits.visit_id")
    ('visits', 'visit_id')
    """
    if isinstance(text, str):
        first, dot, second = text.partition(".")
        if first and dot and second:
            return first, second
    raise CatalogError(f"{name} must be written as 'table.column', got {text!r}")


@contextmanager
def about(where: str) -> Iterator[None]:
    """Put the place of a mistake before what is wrong there."""
    try:
        yield
    except (CatalogError, ValueError, TypeError) as error:
        raise CatalogError(f"{where}: {error}") from None


def among(names: Iterable[str]) -> str:
    """Return a list of names for a message, in which it is seen where each of them ends.

    >>> among(["city, big", "age", "note "])
    "age, 'city, big', 'note '"
    """
    return ", ".join(name if _PLAIN.fullmatch(name) else repr(name) for name in sorted(names)) or (
        "none"
    )


def check_name(what: str, name: object) -> None:
    """Refuse what cannot be the name of a table, a column or an id space."""
    longest = LONGEST_NAME if what != "id space" else LONGEST_SPACE
    fits = isinstance(name, str) and 0 < len(name) <= longest and name.isprintable()
    if not fits or not str(name).strip():
        raise CatalogError(
            f"the {what} name must be printable text of at most {longest} characters, got {name!r}"
        )
    if what != "column" and str(name).strip() != name:  # columns are named by their sources
        raise CatalogError(f"the {what} name must have no spaces around it, got {name!r}")
    if what == "table" and "." in str(name):
        raise CatalogError(f"the name of a table must not have a dot in it, got {name!r}")


def distinct(what: str, things: tuple[Named, ...]) -> tuple[Named, ...]:
    """Return things whose names differ in more than the case of letters."""
    seen: dict[str, str] = {}
    for thing in things:
        folded = thing.name.casefold()
        if folded in seen:
            raise CatalogError(
                f"the {what} names {seen[folded]!r} and {thing.name!r} are the same, because the "
                "case of letters does not count; leave one of them out"
            )
        seen[folded] = thing.name
    return things


def column_of(table: Table, name: str, what: str) -> Column:
    """Return the column of a table that something names, or say what there is."""
    found = table.column(name) if isinstance(name, str) else None
    if found is None:
        raise CatalogError(
            f"{what} names {name!r}, which is not among its columns: "
            f"{among(column.name for column in table.columns)}"
        )
    return found
