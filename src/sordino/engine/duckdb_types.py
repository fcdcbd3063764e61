# SPDX-License-Identifier: Apache-2.0
"""Types of DuckDB as the door knows them."""

from __future__ import annotations

from typing import Any

from sordino.engine.bases import NOTHING

_NAMED = ("enum", "list", "array", "struct", "map", "union", "variant")


def held_of(kind: Any) -> str:
    """Return the name of a type of DuckDB; parameters are left out, but for those of DECIMAL.

    A type with others within it is named without them, for their names may hold values of rows.
    """
    if kind.id == "null":
        return NOTHING
    return str(kind.id).upper() if kind.id in _NAMED else str(kind)
