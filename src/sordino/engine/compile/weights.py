# SPDX-License-Identifier: Apache-2.0
"""How much each row counts, as whole numbers: counts of rows by unit, or by unit and group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sordino.engine.compile.text import Writer, inner, select
from sordino.plan.bounded import Shares
from sordino.query.types import Type

_SAFE = 2**62
_FEW = 1_000  # groups of a unit up to which the last one to keep is sought before they are counted


@dataclass(frozen=True, slots=True)
class Weights:
    """A step with one row for each unit, or with ``by_group`` for each kept group of a unit.

    It has the number n of its rows, and with ``by_group`` m as well, which is N of ``Shares``.
    """

    step: str
    by_group: bool


def by_unit(writer: Writer, rows: str) -> Weights:
    """Count the rows of each unit."""
    text = select(["u", "count(*) AS n"], rows, by=["u"])
    return Weights(writer.step("counted", text, keep=True), by_group=False)


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of units: the columns that make one, and how many of a unit are kept.

    ``least`` is what a group counts for in m. ``sums`` are aggregates to compute for each group, by
    the names that they get. ``unit`` is empty where every row is a unit: it has no id to be hashed.
    """

    writer: Writer
    rows: str
    columns: tuple[str, ...]
    most: int | None
    least: str
    sums: Mapping[str, str]
    unit: tuple[str, ...]

    def weights(self) -> Weights:
        """Return the kept groups with their counts."""
        if self.most is None:
            text = self._with_total(self.writer.step("pairs", self._pairs(self.rows), keep=True))
        elif self.writer.dialect.nth_least is None or self.most > _FEW:
            text = self._ranked(inner(self._pairs(self._hashed(), hashed=True)))
        else:
            text = self._cut(self.writer.dialect.nth_least)
        return Weights(self.writer.step("counted", text), by_group=True)

    def _pairs(self, rows: str, *, hashed: bool = False) -> str:
        """Return each unit and group with the number of its rows."""
        made = [f"{text} AS {name}" for name, text in self.sums.items()]
        made += ["min(h) AS h"] if hashed else []
        by = ["u", *self.columns]
        return select([*by, "count(*) AS n", *made], rows, by=by)

    def _hashed(self) -> str:
        texts = ", ".join([self.writer.salt(), *self.unit, *self.columns])
        h = self.writer.dialect.hash.format(texts)
        return self.writer.step("hashed", select(["*", f"{h} AS h"], self.rows))

    def _cut(self, nth_least: str) -> str:
        """Leave most groups out before they are counted: those after the last one that is kept."""
        rows, most = self._hashed(), self.writer.integer(self.most or 0)
        places = inner(select(["u", "h"], rows, distinct=True))
        last = f"{nth_least.format('h', most)} AS last"
        ends = self.writer.step("ends", select(["u", last], places, by=["u"]))
        near = inner(select(["c.*"], f"{rows} AS c JOIN {ends} AS a ON c.u = a.u AND h <= last"))
        pairs = self.writer.step("pairs", self._pairs(near, hashed=True), keep=True)
        many = select(["u"], pairs, by=["u"], having=[f"count(*) > {most}"])
        tied = self.writer.step("tied", many, keep=True)  # two groups with one hash, if ever
        units = inner(select(["u"], tied))
        few = inner(select(["*"], pairs, where=[f"u NOT IN {units}"]))
        rest = inner(select(["*"], pairs, where=[f"u IN {units}"]))
        return f"{self._with_total(few)}\nUNION ALL\n{self._ranked(rest)}"

    def _names(self) -> list[str]:
        return ["u", *self.columns, "n", *self.sums]

    def _with_total(self, pairs: str) -> str:
        total = self.writer.as_type(f"sum({self.least}) OVER (PARTITION BY u)", Type.INTEGER)
        return select([*self._names(), f"{total} AS m"], pairs)

    def _ranked(self, pairs: str) -> str:
        """Return the first groups of each unit by hash, and by key where hashes tie."""
        order = ", ".join(["h", *self.columns])
        place = f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
        ranked = inner(select([*self._names(), place], pairs))
        kept = select(["*"], ranked, where=[f"place <= {self.writer.integer(self.most or 0)}"])
        return self._with_total(inner(kept))


def least_rows(writer: Writer, shares: Shares) -> str:
    """Return how many whole rows a group of a unit counts for after step 3."""
    limit = shares.rows_per_group
    return "n" if limit is None else f"LEAST(n, {writer.integer(limit)})"


def weight(writer: Writer, weights: Weights, shares: Shares, steps: int) -> str:
    """Return what a row weighs: floor(steps * share), by whole divisions.

    floor(floor(x / a) / b) is floor(x / (a * b)), so nothing is lost by dividing twice.
    """
    limit, rows = shares.rows_per_group, writer.integer(shares.rows)
    if steps * shares.rows * (limit or 1) >= _SAFE:
        raise ValueError("limits this large cannot be weighed in 64 bits")
    divide = writer.dialect.whole_division.format
    least = least_rows(writer, shares)
    total = "m" if weights.by_group else least
    whole, most = writer.integer(steps), writer.integer(steps * shares.rows)
    if limit is not None:
        whole = divide(f"({whole} * {least})", "n")
        most = divide(f"({most} * {least})", "n")
    return f"CASE WHEN {total} <= {rows} THEN {whole} ELSE {divide(most, total)} END"


def crowded(writer: Writer, rows: str, keys: tuple[str, ...], shares: Shares) -> str:
    """Return how many units have more rows, or more groups, than count in full."""
    pairs = inner(select(["u", "count(*) AS n"], rows, by=["u", *keys]))
    tests = [f"sum({least_rows(writer, shares)}) > {writer.integer(shares.rows)}"]
    if shares.groups is not None and keys:
        tests.append(f"count(*) > {writer.integer(shares.groups)}")
    if shares.rows_per_group is not None:
        tests.append(f"max(n) > {writer.integer(shares.rows_per_group)}")
    units = inner(select(["u"], pairs, by=["u"], having=[" OR ".join(tests)]))
    return select(["count(*) AS s0"], units)
