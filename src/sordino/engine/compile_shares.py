# SPDX-License-Identifier: Apache-2.0
"""How much each row counts, as whole numbers: counts of rows by unit, or by unit and group."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.engine.compile_keys import Keyed
from sordino.engine.writer import Writer
from sordino.plan.bounded import Bounded, Shares

_SAFE = 2**62


@dataclass(frozen=True, slots=True)
class Weights:
    """Steps of what every unit has.

    ``step`` gives one row for each unit, or with ``by_group`` for each kept group of a unit, with
    the number n of its rows and the columns that weights are computed from. ``every`` is the same
    before groups are cut, and ``partial`` has the columns that were added up for each of them.
    """

    step: str
    by_group: bool
    every: str
    partial: dict[str, str]


def by_unit(writer: Writer, rows: Keyed) -> Weights:
    """Count the rows of each unit."""
    text = f"SELECT u, count(*) AS n FROM {rows.step} GROUP BY u"
    step = writer.step("counted", text, keep=True)
    return Weights(step, by_group=False, every=step, partial={})


def by_group(
    writer: Writer, rows: Keyed, shares: Shares, *, sums: dict[str, str], hashed_unit: bool
) -> Weights:
    """Count the rows of each unit and group, and keep as many groups of a unit as count.

    ``sums`` are aggregates to compute for each of them, by the names that they get.
    """
    keys = ", ".join(rows.keys)
    made = "".join(f", {text} AS {name}" for name, text in sums.items())
    text = f"SELECT u, {keys}, count(*) AS n{made} FROM {rows.step} GROUP BY u, {keys}"
    every = writer.step("pairs", text, keep=True)
    kept = every
    if shares.groups is not None:
        hashed = [writer.salt(), *(["u"] if hashed_unit else []), *rows.keys]
        order = writer.dialect.hash.format(", ".join(hashed))
        text = (
            f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY {order}, {keys}) AS place "
            f"FROM {every}"
        )
        text = f"SELECT * FROM (\n{text}\n) WHERE place <= {writer.integer(shares.groups)}"
        kept = writer.step("kept", text)
    least = _least(writer, shares)
    text = f"SELECT *, sum({least}) OVER (PARTITION BY u) AS m FROM {kept}"
    step = writer.step("counted", text)
    return Weights(step, by_group=True, every=every, partial={name: name for name in sums})


def _least(writer: Writer, shares: Shares) -> str:
    """Return how many whole rows the rows of a unit in a group count for after step 3."""
    limit = shares.rows_per_group
    return "n" if limit is None else f"LEAST(n, {writer.integer(limit)})"


def weight(
    writer: Writer, weights: Weights, shares: Shares, steps: int, *, prefix: str = ""
) -> str:
    """Return what a row weighs: floor(steps * share), by two whole divisions.

    floor(floor(x / a) / b) is floor(x / (a * b)), so nothing is lost by dividing twice.
    """
    n, limit = f"{prefix}n", shares.rows_per_group
    whole, rows = writer.integer(steps), shares.rows
    divide = writer.dialect.whole_division.format
    if not weights.by_group and limit is None:
        part = divide(writer.integer(_checked(steps * rows)), n)
        return f"CASE WHEN {n} <= {writer.integer(rows)} THEN {whole} ELSE {part} END"
    _checked(steps * rows * (limit or 1))
    first = n if limit is None else f"LEAST({n}, {writer.integer(limit)})"
    total = f"{prefix}m" if weights.by_group else first
    total = writer.cast(total, "BIGINT")
    if limit is None:
        part = divide(writer.integer(_checked(steps * rows)), total)
        return f"CASE WHEN {total} <= {writer.integer(rows)} THEN {whole} ELSE {part} END"
    if_few = divide(f"({whole} * {first})", n)
    if_many = divide(divide(f"({writer.integer(steps * rows)} * {first})", n), total)
    return f"CASE WHEN {total} <= {writer.integer(rows)} THEN {if_few} ELSE {if_many} END"


def _checked(size: int) -> int:
    if size >= _SAFE:
        raise ValueError("limits this large cannot be weighed in 64 bits")
    return size


def crowded(writer: Writer, bounded: Bounded, weights: Weights | None) -> str:
    """Return how many units have more rows, or more groups, than count in full."""
    shares = bounded.shares
    if weights is None:
        return "SELECT 0 AS s0"
    rows = writer.integer(shares.rows)
    limit = shares.rows_per_group
    if not weights.by_group:
        most = rows if limit is None else writer.integer(min(shares.rows, limit))
        return f"SELECT count(*) AS s0 FROM {weights.every} WHERE n > {most}"
    tests = [f"sum({_least(writer, shares)}) > {rows}"]
    if shares.groups is not None:
        tests.append(f"count(*) > {writer.integer(shares.groups)}")
    if limit is not None:
        tests.append(f"max(n) > {writer.integer(limit)}")
    inner = f"SELECT u FROM {weights.every} GROUP BY u HAVING {' OR '.join(tests)}"
    return f"SELECT count(*) AS s0 FROM (\n{inner}\n)"
