# SPDX-License-Identifier: Apache-2.0
"""Random questions from a grammar of what is answered."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from sordino.query.types import Type
from tests.session.attack.neighbours.schemas import Schema
from tests.session.attack.neighbours.scope import Expressions, Scope
from tests.session.attack.neighbours.sources import Sources

CONSTRUCTS = frozenset(
    {
        "amplifier", "case", "clamp", "time", "child", "row units", "public first", "public left",
        "public join", "self join", "unit left", "unit join", "subquery", "cte", "cte twice",
        "per unit", "window", "where", "group keyed", "group discovered", "group expression",
        "group two", "histogram", "having", "order", "limit", "arithmetic", "filter",
        "COUNT(*)", "COUNT", "COUNT UNITS", "COUNT DISTINCT", "SUM", "AVG", "VARIANCE", "STDDEV",
        "MEDIAN", "QUANTILE", "MIN", "MAX", "MODE", "TOP",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A text, and the constructs in it."""

    sql: str
    tags: frozenset[str]


def make_question(random: Random, schema: Schema) -> Question:
    """Return a random question about a schema."""
    tags: set[str] = set()
    scope = Sources(random, schema, tags).any(random.choice((0, 1, 1, 2)))
    return _Maker(random, scope, tags).question()


class _Maker:
    def __init__(self, random: Random, scope: Scope, tags: set[str]) -> None:
        self.random = random
        self.scope = scope
        self.tags = tags
        self.makes = Expressions(random, scope, tags)

    def question(self) -> Question:
        random = self.random
        keys = self._keys()
        if not keys and random.random() < 0.04:
            measures = [self._histogram()]
        else:
            measures = [self._output() for _ in range(random.choice((1, 1, 1, 2, 3)))]
        columns = [f"{key} AS k{place}" for place, key in enumerate(keys)]
        columns += [f"{measure} AS m{place}" for place, measure in enumerate(measures)]
        if "histogram" in self.tags:
            columns = measures
        text = f"{self.scope.before}SELECT {', '.join(columns)} FROM {self.scope.text}"  # noqa: S608  # for our own parser
        if random.random() < 0.4:
            self.tags.add("where")
            text += f" WHERE {self.makes.condition()}"
        if keys:
            text += f" GROUP BY {', '.join(keys)}"
        if "histogram" not in self.tags:
            text += self._after(keys)
        return Question(text, frozenset(self.tags))

    def _after(self, keys: list[str]) -> str:
        text = ""
        if keys and self.random.random() < 0.12:
            self.tags.add("having")
            text += " HAVING COUNT(*) > 2"
        if keys and self.random.random() < 0.15:
            self.tags.add("order")
            text += f" ORDER BY {self.random.choice(('m0 DESC', '1', 'k0', 'COUNT(*) DESC'))}"
            if self.random.random() < 0.5:
                self.tags.add("limit")
                text += " LIMIT 3"
        return text

    def _keys(self) -> list[str]:
        many = self.random.choice((0, 0, 1, 1, 1, 2))
        made: list[str] = []
        for _ in range(many):
            key = self._key()
            if key is not None and key not in made:
                made.append(key)
        if len(made) > 1:
            self.tags.add("group two")
        return made

    def _key(self) -> str | None:
        random = self.random
        kind = random.randrange(6)
        keyed = [n for n in self.scope.names if n.keyed]
        if kind < 2 and keyed:
            self.tags.add("group keyed")
            return random.choice(keyed).sql
        if kind == 2:
            whole = [n for n in self.scope.of(Type.INTEGER) if n.bounded]
            if whole:
                return random.choice(whole).sql
        if kind == 3:
            self.tags.add("group expression")
            return self.makes.timely() or self._bucket()
        free = [n for n in self.scope.of(Type.TEXT, Type.DATE) if not n.keyed]
        if kind == 4 and free:
            self.tags.add("group discovered")
            return random.choice(free).sql
        self.tags.add("group expression")
        return random.choice((self._bucket(), self.makes.text() or self._bucket()))

    def _bucket(self) -> str:
        condition = self.makes.condition(1)
        return f"CASE WHEN {condition} THEN 'yes' ELSE 'no' END"

    def _output(self) -> str:
        measure = self._measure()
        if self.random.random() < 0.08 and not measure.startswith(("MODE", "TOP")):
            self.tags.add("arithmetic")
            return self.random.choice(
                (f"{measure} / COUNT(*)", f"{measure} * 100", f"ROUND({measure}, 2)")
            )
        return measure

    def _measure(self) -> str:
        random, makes = self.random, self.makes
        kind = random.choice(_KINDS)
        self.tags.add(kind)
        match kind:
            case "COUNT(*)":
                return self._filtered("COUNT(*)")
            case "COUNT":
                name = random.choice(self.scope.names).sql
                return self._filtered(f"COUNT({name})")
            case "COUNT UNITS":
                if self.scope.unit is None:
                    return "COUNT(*)"
                return f"COUNT(DISTINCT {self.scope.unit})"
            case "COUNT DISTINCT":
                return f"COUNT(DISTINCT {random.choice(self.scope.names).sql})"
            case "MODE" | "TOP":
                return self._choice(kind)
            case "QUANTILE":
                share = random.choice(("0.1", "0.9", "0.99"))
                return random.choice(
                    (
                        f"QUANTILE({makes.number()}, {share})",
                        f"PERCENTILE_CONT({share}) WITHIN GROUP (ORDER BY {makes.number()})",
                    )
                )
        argument = makes.number()
        if random.random() < 0.35:
            self.tags.add("clamp")
            argument = f"CLAMP({makes.wild()}, {makes.ends()})"
        return self._filtered(f"{kind}({argument})")

    def _filtered(self, text: str) -> str:
        if self.random.random() < 0.06 and text.startswith(("COUNT", "SUM", "AVG")):
            self.tags.add("filter")
            return f"{text} FILTER (WHERE {self.makes.condition(1)})"
        return text

    def _choice(self, kind: str) -> str:
        keyed = [n for n in self.scope.names if n.keyed]
        argument = self.random.choice(keyed).sql if keyed else self._bucket()
        if self.random.random() < 0.2:
            argument = self._bucket()
        return f"MODE({argument})" if kind == "MODE" else f"TOP(2, {argument})"

    def _histogram(self) -> str:
        self.tags.add("histogram")
        return f"HISTOGRAM({self.makes.number(1)}, {self.random.choice((1, 4, 10))})"


_KINDS = (
    "COUNT(*)", "COUNT(*)", "COUNT", "COUNT UNITS", "COUNT UNITS", "COUNT DISTINCT", "SUM", "SUM",
    "SUM", "AVG", "AVG", "VARIANCE", "STDDEV", "MEDIAN", "QUANTILE", "MIN", "MAX", "MODE", "TOP",
)  # fmt: skip
