# SPDX-License-Identifier: Apache-2.0
"""Mutants of what the engine computes: it does something else than the plan was made for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from sordino.engine.compile import rows as compile_rows
from sordino.engine.compile import rows as compile_tables
from sordino.engine.compile import rows as compile_units
from sordino.engine.compile import statement as compile_parts
from sordino.engine.duckdb import columns as bases
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.plan.plan import Bounded, Cells, Distinct, Part, Total
from sordino.query.operations import call
from sordino.query.tree import Call, Literal
from sordino.query.types import Type
from tests.support.rewrite import Mutant, mutant

_WIDE = 2**31


@contextmanager
def _computing(change: Callable[[Bounded], Bounded]) -> Iterator[None]:
    """Let engines compute something else than they are asked for."""
    plain = DuckdbEngine._compile

    def changed(engine: DuckdbEngine, bounded: Bounded) -> Any:
        return plain(engine, change(bounded))

    with mock.patch.object(DuckdbEngine, "_compile", changed):
        yield


def _with_totals(change: Callable[[Total], Total]) -> Callable[[Bounded], Bounded]:
    def changed(part: Part) -> Part:
        if not isinstance(part, Cells):
            return part
        every = tuple(change(s) if isinstance(s, Total) else s for s in part.statistics)
        return replace(part, statistics=every)

    return lambda bounded: replace(bounded, parts=tuple(map(changed, bounded.parts)))


def _clamped_inside(total: Total) -> Total:
    """Clamp what is multiplied, and not the product."""
    argument = total.argument
    if not isinstance(argument, Call) or argument.operation != "mul":
        return total
    factor, inner = argument.arguments
    ends = (Literal(0, Type.INTEGER), Literal(10, Type.INTEGER))
    product = call("mul", factor, call("clamp", inner, *ends))
    return replace(total, argument=product, low=-_WIDE, high=_WIDE)


def _with_shares(**changes: Any) -> Callable[[Bounded], Bounded]:
    return lambda bounded: replace(bounded, shares=replace(bounded.shares, **changes))


def _uncut(bounded: Bounded) -> Bounded:
    parts = [replace(p, most=1000) if isinstance(p, Distinct) else p for p in bounded.parts]
    return replace(bounded, parts=tuple(parts))


def _more_groups(bounded: Bounded) -> Bounded:
    groups = bounded.shares.groups
    more = None if groups is None else groups + 1
    return replace(bounded, shares=replace(bounded.shares, groups=more))


def _undeclared(bounded: Bounded) -> Bounded:
    keys = tuple(replace(key, domain=None, other=None) for key in bounded.keys)
    return replace(bounded, keys=keys)


@contextmanager
def _counted_before_the_join() -> Iterator[None]:
    """Weigh rows by how many there were in the table that was scanned first."""
    scanned: list[str] = []
    scan, count = compile_rows.Reader._scan, compile_rows.by_unit

    def kept_scan(reader: Any, rows: Any) -> Any:
        found = scan(reader, rows)
        scanned.append(found.step)
        return found

    def early(writer: Any, rows: str, sums: Any) -> Any:
        first = scanned[0]
        scanned.clear()
        return count(writer, rows if sums else first, sums)

    with (
        mock.patch.object(compile_rows.Reader, "_scan", kept_scan),
        mock.patch.object(compile_parts, "by_unit", early),
    ):
        yield


def _bounded(change: Callable[[Bounded], Bounded]) -> Mutant:
    return lambda: _computing(change)


_Parts, _Rows, _Shares = compile_parts.PartMaker, compile_rows.Reader, compile_rows.Groups

ENGINE: dict[str, Mutant] = {
    "values are not clamped": _bounded(_with_totals(lambda t: replace(t, low=-_WIDE, high=_WIDE))),
    "values are clamped before they are multiplied": _bounded(_with_totals(_clamped_inside)),
    "the offset is forgotten": _bounded(_with_totals(lambda t: replace(t, offset=0))),
    "one group too many is kept": _bounded(_more_groups),
    "one row too many counts": _bounded(
        lambda b: replace(b, shares=replace(b.shares, rows=b.shares.rows + 1))
    ),
    "a limit of rows in a group is ignored": _bounded(_with_shares(rows_per_group=None)),
    "every row counts in full": _bounded(_with_shares(rows=10**6, rows_per_group=None)),
    "distinct values of a unit are not cut": _bounded(_uncut),
    "groups outside the declared keys are kept": _bounded(_undeclared),
    "sums are not weighed": mutant(_Parts._of_rows, 'f"w * ', 'f"65536 * '),
    "counts are not weighed": mutant(
        _Parts._of_rows, 'f"COALESCE({self.writer.total(\'w\')}, 0)"', '"65536 * count(*)"'
    ),
    "weights are rounded up": mutant(
        compile_rows.weight, "ELSE {divide(most, total)}", "ELSE 1 + {divide(most, total)}"
    ),
    "rows are counted before the join": _counted_before_the_join,
    "rows of nobody are kept": mutant(
        compile_tables.Tables.base, 'where=[f"{unit} IS NOT NULL"]', 'where=["TRUE"]'
    ),
    "NaN is kept": mutant(bases._real, "CASE WHEN {test} THEN NULL WHEN", "CASE WHEN"),
    "groups are chosen by the order of rows": mutant(
        _Shares._hash, "self.writer.dialect.hash.format(texts)", '"row_number() OVER ()"'
    ),
    "groups are chosen by their size": mutant(
        _Shares._hash,
        "self.writer.dialect.hash.format(texts)",
        'f"count(*) OVER (PARTITION BY {self.columns[0]})"',
    ),
    "units are counted by rows": mutant(_Parts._of_pairs, '"count(*)"', '"sum(n)"'),
    "a public row without a match is kept": mutant(
        _Rows._joined, '"LEFT JOIN" if outer', '"RIGHT JOIN" if outer'
    ),
    "private tables are joined past the unit": mutant(
        _Rows._join_unit, 'keys = self.scope(one), self.scope(two), [("u", "u")]',
        'keys = self.scope(one), self.scope(two), [("0", "0")]',
    ),
    "a window looks at everybody": mutant(_Rows._window, "PARTITION BY u", ""),
    "sums of a unit are added up as doubles": mutant(
        compile_units.measure_text,
        "size, value = _in_steps(scope, term, measure.range)",
        "size, value = 1.0, scope.real(term).text",
    ),
    "coarse weights are not divided": mutant(
        _Parts._by_value, "self.bounded.shares.coarse_steps", "4 * self.bounded.shares.coarse_steps"
    ),
}  # fmt: skip
