# SPDX-License-Identifier: Apache-2.0
"""How SQL is written: what differs between engines, bound values, named steps, own names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sordino.query.types import Type, Value


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


# What a statement is written with. ----------------------------------------------------------------

Bound: TypeAlias = "Value | list[Value]"
_PLACES = re.compile(r'"(?:[^"]|"")*"|\$(?P<place>\d+)')
_DIGITS = 2**62  # whole numbers up to here have the type of 64 bits or a smaller one
SALT = "salt"  # stands for the salt among bound values until a statement is run


@dataclass(slots=True)
class Writer:
    """A statement while it is written; no value and no name of an analyst gets into its text.

    Whole numbers that we computed do: limits, weights, ends of grids.
    """

    dialect: Dialect
    bound: list[Bound] = field(default_factory=list)
    salted: int | None = None  # where among bound values the salt belongs
    steps: list[tuple[str, str]] = field(default_factory=list)
    _known: dict[tuple[object, ...], str] = field(default_factory=dict)
    _fields: dict[str, str] = field(default_factory=dict)

    def value(self, value: Value, kind: Type) -> str:
        """Bind a value and return what stands for it, in its type."""
        key = (kind, type(value), repr(value))
        if key not in self._known:
            self._known[key] = self.cast(self._bind(value), self.dialect.types[kind])
        return self._known[key]

    def values(self, values: Sequence[Value], kind: Type) -> str:
        """Bind a list of values and return a step with them in c, and their places from 0 in v."""
        key = (kind, tuple, tuple(map(repr, values)))
        if key not in self._known:
            bound = self.cast(self._bind(list(values)), self.dialect.types[kind] + "[]")
            self._known[key] = self.step("listed", self.dialect.listed.format(bound), keep=True)
        return self._known[key]

    def salt(self) -> str:
        """Return what stands for the salt."""
        if self.salted is None:
            self.salted = len(self.bound)
            self._known[(SALT,)] = self.cast(self._bind(0), self.dialect.types[Type.INTEGER])
        return self._known[(SALT,)]

    def integer(self, value: int) -> str:
        """Return a whole number of the plan as digits: it is ours, and they bind faster.

        What an analyst wrote goes through ``value``.
        """
        if abs(value) > _DIGITS:
            return self.value(value, Type.INTEGER)
        return f"{value:d}" if value >= 0 else f"({value:d})"

    def cast(self, text: str, name: str) -> str:
        """Return a cast that gives a missing value where it does not fit."""
        return self.dialect.try_cast.format(text, name)

    def as_type(self, text: str, kind: Type) -> str:
        """Return a cast to one of the six types."""
        return self.cast(text, self.dialect.types[kind])

    def step(self, name: str, text: str, *, keep: bool = False) -> str:
        """Name a step of the statement; ``keep`` has the engine compute it once."""
        unique = f"{name}{len(self.steps)}"
        how = self.dialect.materialized if keep else self.dialect.inlined
        self.steps.append((f"{unique} {how}", text))
        return unique

    def column(self, name: str) -> str:
        """Return the column in which a field of the question is kept."""
        return self._fields.setdefault(name, f"c{len(self._fields)}")

    def statement(self, last: str) -> tuple[str, tuple[Bound, ...], int | None]:
        """Return all steps as one statement, the values that it uses, and the place of the salt."""
        named = ",\n".join(f"{head} (\n{text}\n)" for head, text in self.steps)
        text = f"WITH {named}\n{last}" if self.steps else last
        used: dict[int, int] = {}

        def renumbered(found: re.Match[str]) -> str:
            if found["place"] is None:  # a quoted name
                return found[0]
            place = used.setdefault(int(found["place"]) - 1, len(used) + 1)
            return self.dialect.parameter.format(place)

        text = _PLACES.sub(renumbered, text)
        salted = None if self.salted is None else used.get(self.salted)
        bound = tuple(self.bound[place] for place in used)
        return text, bound, None if salted is None else salted - 1

    def _bind(self, value: Bound) -> str:
        self.bound.append(value)
        return self.dialect.parameter.format(len(self.bound))


def select(
    columns: Iterable[str],
    source: str,
    *,
    where: Iterable[str] = (),
    by: Iterable[str] = (),
    having: Iterable[str] = (),
    distinct: bool = False,
) -> str:
    """Return a SELECT; conditions are joined by AND, and without columns there is one of NULL.

    >>> select(["u", "count(*) AS n"], "rows", where=["u IS NOT NULL"], by=["u"])
    'SELECT u, count(*) AS n FROM rows WHERE u IS NOT NULL GROUP BY u'
    """
    clauses = ["SELECT DISTINCT" if distinct else "SELECT", ", ".join(columns) or "NULL AS c"]
    clauses += ["FROM", source]
    for word, joint, parts in (
        ("WHERE", " AND ", where),
        ("GROUP BY", ", ", by),
        ("HAVING", " AND ", having),
    ):
        text = joint.join(parts)
        clauses += [word, text] if text else []
    return " ".join(clauses)


def inner(text: str) -> str:
    """Return a SELECT as what another selects from."""
    return f"(\n{text}\n)"
