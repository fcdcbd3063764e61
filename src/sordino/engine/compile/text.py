# SPDX-License-Identifier: Apache-2.0
"""What a statement is written with: bound values, named steps, and names of our own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sordino.engine.compile.dialect import Dialect
from sordino.query.types import Type, Value

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
