# SPDX-License-Identifier: Apache-2.0
"""What differs between engines, in one small table for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sordino.query.types import Type


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine spells what its SQL has in its own way.

    Templates have ``{0}``, ``{1}`` and so on for what they are applied to.
    """

    name: str
    types: Mapping[Type, str]
    wide: str  # whole numbers of 38 digits
    place: str  # whole numbers from 0 to 65,535
    try_cast: str  # {0} as {1}, missing where it does not fit
    parameter: str  # the {0}-th bound value
    opaque: str  # {0}, of which nothing is known: no statistics of a source are used for it
    is_nan: str
    round: str  # to a whole number, half away from zero
    hash: str  # of {0}, a list of expressions
    nth_least: str | None  # the {1}-th least of {0} in a group, or the largest if there are fewer
    whole_division: str  # {0} divided by {1}, both positive, rounded down
    listed: str  # rows (c, v): the values of the bound list {0}, and their places from 0
    materialized: str
    inlined: str
    functions: Mapping[str, str]


DUCKDB = Dialect(
    name="duckdb",
    types={
        Type.INTEGER: "BIGINT",
        Type.REAL: "DOUBLE",
        Type.TEXT: "VARCHAR",
        Type.BOOLEAN: "BOOLEAN",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP",
    },
    wide="DECIMAL(38, 0)",
    place="USMALLINT",
    try_cast="TRY_CAST({0} AS {1})",
    parameter="${0}",
    opaque="TRY({0})",
    is_nan="isnan({0})",
    round="round({0})",
    hash="hash(hash({0}))",
    nth_least="list_max(min({0}, {1}))",
    whole_division="({0} // {1})",
    listed="SELECT unnest({0}) AS c, generate_subscripts({0}, 1) - 1 AS v",
    materialized="AS MATERIALIZED",
    inlined="AS NOT MATERIALIZED",
    functions={
        "zoned": "TRY(make_timestamp(epoch_us({0})))",  # a moment with a zone, in UTC
        "from_ns": (  # nanoseconds, with or without a zone, cut off toward the past
            "make_timestamp(epoch_ns({0}) // 1000 - CAST(epoch_ns({0}) % 1000 < 0 AS BIGINT))"
        ),
        "matches": "regexp_full_match({0}, {1})",
        "is_finite": "isfinite({0})",
        "longer": "(strlen({0}) > {1})",  # bytes
        "left": "left({0}, {1})",  # characters
        "has_nul": "contains({0}, chr(0))",
        "without_nul": "replace({0}, chr(0), '')",
        "length": "length({0})",
        "lower": "lower({0})",
        "substring": "substring({0}, {1}, {2})",
        "year": "year({0})",
    },
)


def quoted(name: str) -> str:
    """Return a name as SQL has it, whatever characters it has.

    >>> quoted("visits")
    '"visits"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """Return a text of the owner's as an SQL literal; an analyst's never gets here."""
    return "'" + value.replace("'", "''") + "'"
