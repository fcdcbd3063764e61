# SPDX-License-Identifier: Apache-2.0
"""Where the rows of a random question come from: tables, joins, subqueries, per-unit numbers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from sordino.query.types import Type
from tests.session.attack.neighbours.schemas import UNIT, Schema
from tests.session.attack.neighbours.scope import Expressions, Name, Scope, names_of, quoted


class Sources:
    """Makes scopes; every alias is fresh."""

    def __init__(self, random: Random, schema: Schema, tags: set[str]) -> None:
        self.random = random
        self.schema = schema
        self.tags = tags
        self.aliases = 0

    def fresh(self, letter: str = "t") -> str:
        self.aliases += 1
        return f"{letter}{self.aliases}"

    def any(self, depth: int = 2) -> Scope:
        """Return a random scope with a private table in it."""
        if self.schema.alone is not None and self.random.random() < 0.2:
            return self._around_rows(depth)
        kind = self.random.randrange(12)
        if depth <= 0 or kind < 3:
            return self.table()
        if kind < 5 and self.schema.public is not None:
            return self.with_public(self.any(0) if kind == 3 else self.subquery(depth - 1))
        if kind < 7:
            return self.on_unit(depth)
        if kind == 7:
            return self.common(depth - 1)
        if kind == 8:
            return self.subquery(depth - 1)
        if kind == 9:
            return self.per_unit(depth - 1)
        if kind == 10:
            return self.window(depth - 1)
        return self.table()

    def table(self, name: str | None = None) -> Scope:
        """Return one private table."""
        private = (self.schema.main, self.schema.main, self.schema.second, self.schema.child)
        chosen = name or self.random.choice([n for n in private if n is not None])
        if chosen == self.schema.child:
            self.tags.add("child")
        alias = self.fresh()
        table = self.schema.table(chosen)
        return Scope(f"{quoted(chosen)} AS {alias}", names_of(table, alias), f"{alias}.{UNIT}")

    def _around_rows(self, depth: int) -> Scope:
        assert self.schema.alone is not None
        self.tags.add("row units")
        alias = self.fresh()
        table = self.schema.table(self.schema.alone)
        scope = Scope(f"{quoted(table.name)} AS {alias}", names_of(table, alias), None)
        kind = self.random.randrange(4)
        if kind == 0 and self.schema.public is not None:
            return self.with_public(scope)
        return self._wrapped(scope) if kind == 1 and depth else scope

    def with_public(self, scope: Scope) -> Scope:
        """Join with the public table, on a text or a number."""
        assert self.schema.public is not None
        table, alias = self.schema.table(self.schema.public), self.fresh("p")
        pairs = [(n.sql, "word") for n in scope.of(Type.TEXT)]
        pairs += [(n.sql, "code") for n in scope.of(Type.INTEGER)]
        if not pairs:
            return scope
        mine, theirs = self.random.choice(pairs)
        names = scope.names + names_of(table, alias)
        on = f"ON {mine} = {alias}.{theirs}"
        place = f"{quoted(table.name)} AS {alias}"
        if " JOIN " not in scope.text and self.random.random() < 0.25:
            self.tags.add("public first")
            return Scope(f"{place} JOIN {scope.text} {on}", names, scope.unit, scope.before)
        side = self.random.choice(("JOIN", "INNER JOIN", "LEFT JOIN"))
        self.tags.add("public left" if side == "LEFT JOIN" else "public join")
        return Scope(f"{scope.text} {side} {place} {on}", names, scope.unit, scope.before)

    def on_unit(self, depth: int) -> Scope:
        """Join two private sources on the unit; often a table with itself."""
        left = self.table()
        if self.random.random() < 0.3:
            self.tags.add("self join")
            right = self.table(self.schema.main)
            left = self.table(self.schema.main)
        elif self.random.random() < 0.4:
            right = self.per_unit(depth - 1)
        else:
            right = self.subquery(depth - 1) if self.random.random() < 0.3 else self.table()
        if left.unit is None or right.unit is None or left.before or right.before:
            return left
        side = self.random.choice(("JOIN", "LEFT JOIN"))
        self.tags.add("unit left" if side == "LEFT JOIN" else "unit join")
        on = f"{left.unit} = {right.unit}"
        texts = [(a.sql, b.sql) for a in left.of(Type.TEXT) for b in right.of(Type.TEXT)]
        if texts and self.random.random() < 0.3:
            mine, theirs = self.random.choice(texts)
            on += f" AND {mine} = {theirs}"
        text = f"{left.text} {side} {right.text} ON {on}"
        return Scope(text, left.names + right.names, left.unit)

    def subquery(self, depth: int) -> Scope:
        """Put a projection and a filter around another source."""
        self.tags.add("subquery")
        inner = self.any(depth) if depth > 0 else self.table()
        return inner if inner.before else self._wrapped(inner)

    def common(self, depth: int) -> Scope:
        """Name a projection and a filter in a WITH clause; sometimes use it twice."""
        scope = self.subquery(depth)
        if scope.before or not scope.text.startswith("("):
            return scope
        body, alias = scope.text.rsplit(") AS ", 1)
        if " " in alias:
            return scope
        self.tags.add("cte")
        name = self.fresh("w")
        before = f"WITH {name} AS {body}) "
        first = _renamed(scope, alias, alias)
        text = f"{name} AS {alias}"
        if scope.unit is not None and self.random.random() < 0.3:
            self.tags.add("cte twice")
            again = self.fresh()
            second = _renamed(scope, alias, again)
            text += f" JOIN {name} AS {again} ON {scope.unit} = {second.unit}"
            return Scope(text, first.names + second.names, scope.unit, before)
        return Scope(text, first.names, scope.unit, before)

    def per_unit(self, depth: int) -> Scope:
        """Return one row for each unit."""
        return self._of_units(depth, "per unit", self._per_unit)

    def window(self, depth: int) -> Scope:
        """Give each row numbers of its unit."""
        return self._of_units(depth, "window", self._window)

    def _of_units(
        self, depth: int, tag: str, made: Callable[[Scope, Expressions, str], Scope]
    ) -> Scope:
        inner = self.any(depth) if depth > 0 else self.table()
        if inner.unit is None or inner.before:
            return inner
        self.tags.add(tag)
        return made(inner, Expressions(self.random, inner, self.tags), self.fresh())

    def _per_unit(self, inner: Scope, makes: Expressions, alias: str) -> Scope:
        columns, names = [f"{inner.unit} AS who"], []
        for place in range(self.random.randint(1, 3)):
            kind = self.random.choice(("COUNT(*)", "COUNT", "SUM", "AVG", "MIN", "MAX"))
            text = kind if kind == "COUNT(*)" else f"{kind}(CLAMP({makes.number(1)}, -10, 100))"
            columns.append(f"{text} AS n{place}")
            bounded = not kind.startswith("COUNT") and kind != "SUM"
            type_ = Type.INTEGER if kind.startswith("COUNT") else Type.REAL
            names.append(Name(f"{alias}.n{place}", type_, bounded=bounded))
        text = f"SELECT {', '.join(columns)} FROM {inner.text}"  # noqa: S608  # for our own parser
        if self.random.random() < 0.3:
            text += f" WHERE {makes.condition(1)}"
        text += f" GROUP BY {inner.unit}"
        if self.random.random() < 0.3:
            text += " HAVING COUNT(*) > 1"
        return Scope(f"({text}) AS {alias}", tuple(names), f"{alias}.who")

    def _window(self, inner: Scope, makes: Expressions, alias: str) -> Scope:
        kind = self.random.choice(("MAX", "MIN", "SUM", "AVG", "COUNT"))
        over = f"{kind}(CLAMP({makes.number(1)}, 0, 50)) OVER (PARTITION BY {inner.unit})"
        wrapped = self._projected(inner, alias)
        columns = f"{wrapped[0]}, {over} AS wide"
        names = (
            *wrapped[1],
            Name(f"{alias}.wide", Type.REAL, bounded=kind not in ("SUM", "COUNT")),
        )
        text = f"SELECT {columns} FROM {inner.text}"  # noqa: S608  # for our own parser
        return Scope(f"({text}) AS {alias}", names, f"{alias}.who")

    def _wrapped(self, inner: Scope) -> Scope:
        makes = Expressions(self.random, inner, self.tags)
        alias = self.fresh()
        columns, names = self._projected(inner, alias)
        text = f"SELECT {columns} FROM {inner.text}"  # noqa: S608  # for our own parser
        if self.random.random() < 0.5:
            text += f" WHERE {makes.condition(1)}"
        unit = None if inner.unit is None else f"{alias}.who"
        return Scope(f"({text}) AS {alias}", names, unit)

    def _projected(self, inner: Scope, alias: str) -> tuple[str, tuple[Name, ...]]:
        makes = Expressions(self.random, inner, self.tags)
        columns = [] if inner.unit is None else [f"{inner.unit} AS who"]
        names = []
        for place, name in enumerate(inner.names):
            columns.append(f"{name.sql} AS f{place}")
            names.append(Name(f"{alias}.f{place}", name.type, name.bounded, name.keyed))
        if self.random.random() < 0.4:
            columns.append(f"CLAMP({makes.wild()}, {makes.ends()}) AS made")
            names.append(Name(f"{alias}.made", Type.REAL, bounded=True))
        return ", ".join(columns), tuple(names)


def _renamed(scope: Scope, old: str, new: str) -> Scope:
    names = tuple(
        Name(n.sql.replace(f"{old}.", f"{new}.", 1), n.type, n.bounded, n.keyed)
        for n in scope.names
    )
    unit = None if scope.unit is None else scope.unit.replace(f"{old}.", f"{new}.", 1)
    return Scope(scope.text, names, unit, scope.before)
