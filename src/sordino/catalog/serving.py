# SPDX-License-Identifier: Apache-2.0
"""How a catalog is served: the section [server], all of it public."""

from __future__ import annotations

import re
from fractions import Fraction

from sordino.catalog.checks import about
from sordino.catalog.model import Serving
from sordino.errors import CatalogError
from sordino.numbers.rational import is_integer, positive

ENTRIES = (*("slot", "deadline", "resume", "approve_above", "approvers", "show_all", "rate"),)
_SLOT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s)")
_UNITS = {"ms": Fraction(1, 1000), "s": Fraction(1)}
_SHORTEST, _LONGEST = Fraction(1, 100), Fraction(3600)  # seconds
_MOST_SLOTS = 10_000
_MOST_RATE = 10_000


def serving(
    *,
    slot: object = "1s",
    deadline: object = 30,
    resume: object = False,
    approve_above: object = None,
    approvers: object = 1,
    show_all: object = False,
    rate: object = 20,
) -> Serving:
    """Return how a catalog is served.

    >>> serving(slot="250ms").slot, serving(slot="off").slot
    (Fraction(1, 4), None)
    """
    with about("server"):
        return Serving(
            slot=_slot(slot),
            deadline=_whole("deadline", deadline, _MOST_SLOTS),
            resume=_flag("resume", resume),
            approve_above=None
            if approve_above is None
            else positive("approve_above", approve_above),
            approvers=_whole("approvers", approvers, 2),
            show_all=_flag("show_all", show_all),
            rate=_whole("rate", rate, _MOST_RATE),
        )


def _slot(text: object) -> Fraction | None:
    """Read how long a slot is; None stands for no slots at all."""
    if text == "off":
        return None
    found = _SLOT.fullmatch(text) if isinstance(text, str) else None
    length = None if found is None else Fraction(found[1]) * _UNITS[found[2]]
    if length is None or not _SHORTEST <= length <= _LONGEST:
        raise CatalogError(
            "slot must be a time such as '1s' or '250ms', from 10ms to 3600s, or 'off', "
            f"got {text!r}"
        )
    return length


def _whole(name: str, value: object, most: int) -> int:
    if not is_integer(value) or not 1 <= value <= most:
        raise CatalogError(f"{name} must be a whole number from 1 to {most:,}, got {value!r}")
    return int(value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise CatalogError(f"{name} must be true or false, got {value!r}")
    return value
