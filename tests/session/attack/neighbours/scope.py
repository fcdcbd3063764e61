# SPDX-License-Identifier: Apache-2.0
"""What a random question can name: columns with their types, and expressions over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from sordino.catalog.model import Table
from sordino.query.types import Type
from tests.session.attack.neighbours.schemas import ROW_ID, UNIT, WORDS


@dataclass(frozen=True, slots=True)
class Name:
    """A column as SQL writes it."""

    sql: str
    type: Type
    bounded: bool = False
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The text after FROM, its columns, how the unit is written, and a WITH clause."""

    text: str
    names: tuple[Name, ...]
    unit: str | None
    before: str = ""

    def of(self, *types: Type) -> tuple[Name, ...]:
        return tuple(n for n in self.names if n.type in types)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if not name.isidentifier() else name


def names_of(table: Table, alias: str) -> tuple[Name, ...]:
    """Return the columns of a table under an alias, without those that say whose row it is."""
    return tuple(
        Name(
            f"{alias}.{quoted(c.name)}",
            c.type,
            bounded=c.bounds is not None,
            keyed=c.keys is not None or c.type is Type.BOOLEAN,
        )
        for c in table.columns
        if c.name not in (UNIT, ROW_ID)
    )


@dataclass(slots=True)
class Expressions:
    """Random scalar expressions over a scope; ``tags`` tells which constructs occurred."""

    random: Random
    scope: Scope
    tags: set[str] = field(default_factory=set)

    def number(self, depth: int = 2) -> str:
        """Return a number with a range that can be derived, in most cases."""
        random = self.random
        plain = [n for n in self.scope.of(Type.INTEGER, Type.REAL) if n.bounded]
        if depth == 0 or random.random() < 0.35:
            if plain and random.random() < 0.93:
                return random.choice(plain).sql
            return random.choice(("1", "2.5", "-3", "0", "1000000"))
        inner = self.number(depth - 1)
        makers = (
            self._arithmetic, self._amplified, self._partly, self._rounded, self._extreme,
            self._filled, self._clamped, self._divided, self._without, self._negative, self._dated,
        )  # fmt: skip
        return random.choice(makers)(inner, depth - 1)

    def _arithmetic(self, inner: str, depth: int) -> str:
        return f"({inner} {self.random.choice('+-*')} {self.number(depth)})"

    def _amplified(self, inner: str, depth: int) -> str:
        self.tags.add("amplifier")
        factor = self.random.choice(("1000000", "-1000", "1e6"))
        return f"CASE WHEN {self.condition(depth)} THEN {factor} * {inner} ELSE {inner} END"

    def _partly(self, inner: str, depth: int) -> str:
        self.tags.add("case")
        return f"CASE WHEN {self.condition(depth)} THEN {inner} END"

    def _rounded(self, inner: str, depth: int) -> str:
        del depth
        return f"{self.random.choice(('ABS', 'FLOOR', 'CEIL', 'ROUND'))}({inner})"

    def _extreme(self, inner: str, depth: int) -> str:
        return f"{self.random.choice(('GREATEST', 'LEAST'))}({inner}, {self.number(depth)})"

    def _filled(self, inner: str, depth: int) -> str:
        del depth
        return f"COALESCE({inner}, {self.random.choice(('0', '1', '-5'))})"

    def _clamped(self, inner: str, depth: int) -> str:
        del inner
        self.tags.add("clamp")
        return f"CLAMP({self.wild(depth)}, {self.ends()})"

    def _divided(self, inner: str, depth: int) -> str:
        del depth
        return f"({inner} / {self.random.choice(('2', '0.5', '-4'))})"

    def _without(self, inner: str, depth: int) -> str:
        del depth
        return f"NULLIF({inner}, {self.random.choice(('0', '1'))})"

    def _negative(self, inner: str, depth: int) -> str:
        del depth
        return f"(- {inner})"

    def _dated(self, inner: str, depth: int) -> str:
        del depth
        return self.timely() or inner

    def ends(self) -> str:
        return self.random.choice(("0, 1", "-5, 5", "0, 100", "-1000000, 3", "0.25, 0.75", "2, 3"))

    def wild(self, depth: int = 1) -> str:
        """Return a number that nothing is known about."""
        random = self.random
        any_number = self.scope.of(Type.INTEGER, Type.REAL)
        texts = self.scope.of(Type.TEXT)
        kind = random.randrange(6)
        if kind == 0 and texts:
            return f"TRY_CAST({random.choice(texts).sql} AS DOUBLE)"
        if kind == 1 and texts:
            return f"LENGTH({random.choice(texts).sql})"
        if any_number:
            first = random.choice(any_number).sql
            if kind == 2:
                return f"({first} / {random.choice(any_number).sql})"
            if kind == 3:
                return f"({first} * {random.choice(any_number).sql})"
            if kind == 4 and depth:
                return f"CAST({self.wild(0)} AS BIGINT)"
            return first
        return "1"

    def timely(self) -> str | None:
        times = self.scope.of(Type.DATE, Type.TIMESTAMP)
        if not times:
            return None
        self.tags.add("time")
        part = self.random.choice(("year", "quarter", "month", "day", "dow", "hour"))
        return f"EXTRACT({part} FROM {self.random.choice(times).sql})"

    def text(self, depth: int = 1) -> str | None:
        texts = self.scope.of(Type.TEXT)
        if not texts:
            return None
        name = self.random.choice(texts).sql
        kind = self.random.randrange(6) if depth else 5
        if kind == 0:
            return f"{self.random.choice(('LOWER', 'UPPER', 'TRIM'))}({name})"
        if kind == 1:
            return f"SUBSTRING({name}, 1, {self.random.randint(1, 4)})"
        if kind == 2:
            return f"COALESCE({name}, {literal('none')})"
        return name

    def condition(self, depth: int = 2) -> str:
        random = self.random
        if depth > 0 and random.random() < 0.35:
            kind = random.choice(("AND", "OR", "NOT"))
            if kind == "NOT":
                return f"NOT ({self.condition(depth - 1)})"
            return f"({self.condition(depth - 1)} {kind} {self.condition(depth - 1)})"
        makers = (
            self._compare, self._compare, self._texts, self._between, self._missing, self._flag,
            self._days,
        )  # fmt: skip
        return random.choice(makers)() or self._compare() or "1 = 1"

    def _compare(self) -> str | None:
        numbers = self.scope.of(Type.INTEGER, Type.REAL)
        if not numbers:
            return None
        sign = self.random.choice(("=", "<>", "<", "<=", ">", ">="))
        right = self.random.choice(("0", "1", "5", "2.5", "-1", "9007199254740991"))
        if self.random.random() < 0.2:
            right = self.random.choice(numbers).sql
        return f"{self.random.choice(numbers).sql} {sign} {right}"

    def _texts(self) -> str | None:
        texts = self.scope.of(Type.TEXT)
        if not texts:
            return None
        name = self.random.choice(texts).sql
        kind = self.random.randrange(4)
        if kind == 0:
            listed = ", ".join(literal(w) for w in self.random.sample(WORDS, 3))
            return f"{name} {self.random.choice(('', 'NOT '))}IN ({listed})"
        if kind == 1:
            pattern = self.random.choice(("%e%", "r_d", "", "%", "5_%"))
            return f"{name} {self.random.choice(('LIKE', 'ILIKE'))} {literal(pattern)}"
        return f"{name} {self.random.choice(('=', '<>', '<'))} {literal(self.random.choice(WORDS))}"

    def _between(self) -> str | None:
        numbers = self.scope.of(Type.INTEGER, Type.REAL)
        return f"{self.random.choice(numbers).sql} BETWEEN 0 AND 3" if numbers else None

    def _missing(self) -> str | None:
        if not self.scope.names:
            return None
        name = self.random.choice(self.scope.names).sql
        return f"{name} IS {self.random.choice(('', 'NOT '))}NULL"

    def _flag(self) -> str | None:
        flags = self.scope.of(Type.BOOLEAN)
        return self.random.choice(flags).sql if flags else None

    def _days(self) -> str | None:
        days = self.scope.of(Type.DATE)
        if not days:
            return None
        return f"{self.random.choice(days).sql} {self.random.choice('<>')} DATE '2024-03-01'"


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
