# SPDX-License-Identifier: Apache-2.0
"""What the owner declares of the ledger: where it and its log are kept, and how it is shared."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from sordino.errors import CatalogError
from sordino.exact.rational import nonnegative, positive
from sordino.query.catalog import EVERYBODY, Analyst, Book, Log
from sordino.query.names import about

_LONGEST = 100
DEFAULT = "sordino.ledger"
_ADDRESSES = ("postgresql://", "postgres://")


def analyst(name: str, *, share: object = None, reserved: object = None) -> Analyst:
    """Return a checked analyst; ``share`` and ``reserved`` are parts of the budget.

    >>> analyst("alice", share=0.5).share
    Fraction(1, 2)
    """
    with about(f"analyst {name!r}"):
        if name.strip() != name or not name.isprintable() or not 0 < len(name) <= _LONGEST:
            raise CatalogError(f"a name has 1 to {_LONGEST} letters, and no space at its ends")
        most = None if share is None else part("share", share)
        kept = Fraction(0) if reserved is None else nonnegative("reserved", reserved)
        if kept and name == EVERYBODY:
            raise CatalogError("nothing can be reserved for everybody; name an analyst")
        if kept > (1 if most is None else most):
            raise CatalogError("reserved must be at most the share, or 1")
        return Analyst(name, most, kept)


def analysts(declared: Iterable[Analyst]) -> tuple[Analyst, ...]:
    """Return analysts for whom no more is reserved than there is."""
    found = tuple(declared)
    others = next((one.share for one in found if one.name == EVERYBODY), None)
    for one in found:
        if others is not None and one.share is None and one.reserved > others:
            raise CatalogError(
                f"analyst {one.name!r}: more is reserved than the share of everybody; state a "
                "share too"
            )
    if sum(one.reserved for one in found) > 1:
        raise CatalogError("analysts: more is reserved than there is; the parts add up to above 1")
    return found


def book(
    folder: Path,
    *,
    file: str | None = None,
    postgres: str | None = None,
    anchor: str | None = None,
    key: str | None = None,
) -> Book:
    """Return where a ledger is kept; names of files are relative to a folder.

    >>> book(Path("study")).place.name
    'sordino.ledger'
    """
    with about("ledger"):
        if file is not None and postgres is not None:
            raise CatalogError("file and postgres exclude each other; leave one of them out")
        held = None if key is None else folder / key
        if postgres is not None:
            if not postgres.startswith(_ADDRESSES):
                raise CatalogError("postgres must be an address, such as 'postgresql://host/name'")
            return Book(postgres, None if anchor is None else folder / anchor, held)
        place = folder / (file or DEFAULT)
        beside = place.with_name(f"{place.name}.heads")
        return Book(place, beside if anchor is None else folder / anchor, held)


def log(folder: Path, *, file: object = None, level: object = None) -> Log:
    """Return where the owner's log is written; ``file`` is a name, or False for no log.

    >>> log(Path("study"), file=False)
    Log(file=None, level='error')
    """
    with about("log"):
        if level is not None and level not in ("error", "warning"):
            raise CatalogError(f"level must be 'error' or 'warning', got {level!r}")
        if file is None:
            raise CatalogError("state the file, or file = false for no log")
        if file is False:
            return Log(None)
        if not isinstance(file, str) or not file:
            raise CatalogError(f"file must be a name, or false for no log, got {file!r}")
        return Log(folder / file, "warning" if level == "warning" else "error")


def part(name: str, value: object) -> Fraction:
    """Return a part of a budget, above 0 and at most 1."""
    found = positive(name, value)
    if found > 1:
        raise CatalogError(f"{name} is a part of the budget, from 0 to 1, got {value!r}")
    return found
