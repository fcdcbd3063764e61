# SPDX-License-Identifier: Apache-2.0
"""A question without noise, for tables that the caller made up: what the auditor compares.

An exact answer is not private. So no ledger is charged, no session and no engine is taken from
anybody, and a catalog must hold its tables in memory, where whoever asks can see them anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from sordino.catalog.model import Catalog, Frame, Limits
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.protocol import OpenEngine
from sordino.ledger.entry import Receipt
from sordino.numbers.rational import positive
from sordino.plan.allocate import plan_question
from sordino.plan.ask import Ask, Epsilon
from sordino.plan.plan import Added, Chosen, Plan, Ranked, Release, column_shift
from sordino.privacy.currency import Price
from sordino.query.types import Value
from sordino.release.key import KEY
from sordino.sql.parse import parse

Group: TypeAlias = "tuple[Value, ...]"
Counted: TypeAlias = "dict[Group, tuple[int, ...]]"  # the integers of a part; v ends the group
Exact: TypeAlias = "tuple[Counted, ...]"


@dataclass(frozen=True, slots=True)
class Shift:
    """How far one unit moves a release, in steps, as the plan declares it."""

    l1: Fraction
    l2_squared: Fraction
    linf: Fraction


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that is known of a question before data is touched."""

    plan: Plan
    sql: str
    parameters: tuple[object, ...]
    price: Price
    slack: Fraction
    mechanisms: tuple[str, ...]
    shifts: tuple[Shift, ...]
    columns: tuple[str, ...]
    types: tuple[str, ...]


def prepare(
    engine: OpenEngine,
    sql: str,
    *,
    epsilon: Fraction | float,
    salt: int = 0,
    limits: Limits | None = None,
    diagnostics: bool = False,
) -> Prepared:
    """Parse, bound, allocate and compile; no data is touched."""
    catalog = engine.catalog
    query = parse(sql, catalog, engine.public_values)
    price = Epsilon(positive("epsilon", epsilon))
    ask = Ask(sql, price, limits=limits or Limits(), diagnostics=diagnostics)
    plan = plan_question(query, catalog, ask)
    statement = engine.statement(plan.bounded, salt=salt)
    return Prepared(
        plan=plan,
        sql=statement.sql,
        parameters=statement.parameters,
        price=catalog.purse(plan.people).budget.price(plan.loss),
        slack=plan.slack,
        mechanisms=tuple(described(release) for release in plan.releases),
        shifts=tuple(_shift(plan, release) for release in plan.releases),
        columns=tuple(column.title for column in plan.columns),
        types=tuple(column.type.value for column in plan.columns),
    )


def rehearse(
    catalog: Catalog,
    tables: Mapping[str, Any],
    sql: str,
    *,
    epsilon: Fraction | float,
    salt: int = 0,
) -> tuple[Prepared, Exact]:
    """Return what a question does before noise, and the exact integers of every part, by group.

    ``tables`` take the places of those of the catalog that have their names. Ranks and votes come
    by place besides.

    Guarantee: none; exact values, for invented data only.
    """
    for table in catalog.tables:
        if not isinstance(table.source, Frame):
            raise TypeError(
                f"only tables in memory are looked at without noise, and {table.name!r} is none"
            )
    engine = DuckdbEngine(catalog)
    try:
        for name, frame in tables.items():
            engine.swap(name, frame)
        prepared = prepare(engine, sql, epsilon=epsilon, salt=salt)
        sealed = engine.run(prepared.plan.bounded, unpaid(prepared), salt=salt)
        return prepared, tuple(map(by_group, sealed.open(KEY)))
    finally:
        engine.close()


def unpaid(prepared: Prepared) -> Receipt:
    """Return the receipt of a rehearsal, which no ledger has and whose head follows no other."""
    return Receipt(
        number=1,
        people=prepared.plan.people,
        price=prepared.price,
        slack=prepared.slack,
        left=prepared.price,
        slack_left=Fraction(0),
        plan=prepared.plan.fingerprint,
        head="0" * 64,
        who="owner",
    )


def by_group(table: Any) -> Counted:
    """Return the integers of an Arrow table by its keys, and by v if it has that column.

    Guarantee: none; exact values, for invented data only.
    """
    names: list[str] = table.column_names
    columns = [table.column(name).to_pylist() for name in names]
    keys = [c for name, c in zip(names, columns, strict=True) if name[0] in "kv"]
    numbers = [c for name, c in zip(names, columns, strict=True) if name[0] == "s"]
    rows = range(table.num_rows)
    found = {tuple(c[row] for c in keys): tuple(int(c[row]) for c in numbers) for row in rows}
    if len(found) != table.num_rows:
        raise AssertionError("a group came twice")
    return found


def described(release: Release) -> str:
    """Return the mechanism of a release in words that tell all its parameters."""
    match release:
        case Added():
            return f"{release.mechanism!r} * {release.step}"
        case Ranked() | Chosen():
            return repr(release)
        case _:
            assert_never(release)


def _shift(plan: Plan, release: Release) -> Shift:
    column = release.column if isinstance(release, Added) else 0
    found = column_shift(plan.bounded, release.part, column)
    return Shift(found.l1, found.l2_squared, found.linf)
