# SPDX-License-Identifier: Apache-2.0
"""Everything a question does before noise is drawn, laid open. For invented data only.

An exact answer is not private. Only the auditor and tests look here; no server may.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from sordino.engine.duckdb import DuckdbEngine
from sordino.ledger.receipt import Receipt
from sordino.plan.allocate import plan_question
from sordino.plan.plan import Added, Chosen, Plan, Ranked, Release
from sordino.plan.shifts import column_shift
from sordino.privacy.currency import Price
from sordino.query.catalog import Limits
from sordino.query.sql import parse
from sordino.query.types import Value

Group: TypeAlias = "tuple[Value, ...]"
Exact: TypeAlias = "tuple[dict[Group, tuple[int, ...]], ...]"  # for each part; v ends the group


@dataclass(frozen=True, slots=True)
class Shift:
    """How far one unit moves a release, in steps, as the plan declares it.

    Guarantee: none needed; public inputs only.
    """

    l1: Fraction
    l2_squared: Fraction
    linf: Fraction


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that is known of a question before data is touched.

    Guarantee: none needed; public inputs only.
    """

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
    engine: DuckdbEngine,
    sql: str,
    *,
    epsilon: Fraction | float,
    salt: int = 0,
    limits: Limits | None = None,
    diagnostics: bool = False,
) -> Prepared:
    """Parse, bound, allocate and compile; no data is touched.

    Guarantee: none needed; public inputs only.
    """
    catalog = engine.catalog
    query = parse(sql, catalog, engine.public_values)
    plan = plan_question(query, catalog, epsilon=epsilon, limits=limits, diagnostics=diagnostics)
    statement = engine.statement(plan.bounded, salt=salt)
    outputs = plan.query.post.outputs
    return Prepared(
        plan=plan,
        sql=statement.sql,
        parameters=statement.parameters,
        price=catalog.purse(plan.people).budget.price(plan.loss),
        slack=plan.slack,
        mechanisms=tuple(described(release) for release in plan.releases),
        shifts=tuple(_shift(plan, release) for release in plan.releases),
        columns=tuple(output.title for output in outputs),
        types=tuple(output.scalar.type.value for output in outputs),
    )


def look(engine: DuckdbEngine, prepared: Prepared, *, salt: int = 0) -> Exact:
    """Return the exact integers of every part, by group; for ranks and votes by place besides.

    Guarantee: none; exact values, for invented data only.
    """
    plan = prepared.plan
    receipt = Receipt(
        number=1,
        people=plan.people,
        price=prepared.price,
        slack=plan.slack,
        left=prepared.price,
        slack_left=Fraction(0),
        plan=plan.fingerprint,
        head="0" * 64,
        who="owner",
    )
    tables = engine.run(plan.bounded, receipt, salt=salt).open()
    return tuple(by_group(table) for table in tables)


def by_group(table: Any) -> dict[Group, tuple[int, ...]]:
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
    """Return the mechanism of a release in words that tell all its parameters.

    Guarantee: none needed; public inputs only.
    """
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
