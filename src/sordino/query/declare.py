# SPDX-License-Identifier: Apache-2.0
"""Making a catalog: every part is checked, and every mistake is said in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from sordino.errors import CatalogError
from sordino.exact.rational import is_integer, positive, probability
from sordino.privacy.budget import Budget
from sordino.query import books
from sordino.query.catalog import (
    ROW,
    Analyst,
    Book,
    Catalog,
    Column,
    ForeignKey,
    Limits,
    Log,
    Purse,
    Source,
    Table,
)
from sordino.query.links import PEOPLE, check_ids, resolved
from sordino.query.names import about, among, check_name, column_of, distinct, reference
from sordino.query.types import Type
from sordino.query.values import read_bounds, read_keys, read_type, read_value

LARGEST_LIMIT = 1_000_000  # weights of so many rows are still computed in 64 bits


def column(
    name: str,
    kind: Type | str,
    *,
    bounds: object = None,
    keys: Iterable[object] | None = None,
    keys_from: str | None = None,
    other: object = None,
) -> Column:
    """Return a checked column; ``keys_from`` is written as ``"table.column"``.

    >>> column("age", "integer", bounds=(0, 120)).bounds
    Range(low=Fraction(0, 1), high=Fraction(120, 1))
    """
    check_name("column", name)
    with about(f"column {name!r}"):
        read = read_type(kind)
        if keys is not None and keys_from is not None:
            raise CatalogError("keys and keys_from exclude each other; leave one of them out")
        listed = None if keys is None else read_keys(read, keys)
        if keys_from is not None and read is Type.REAL:
            read_value(read, 0)  # says that reals have no keys
        if other is not None:
            if keys is None and keys_from is None:
                raise CatalogError("other is for columns with keys; state keys, or leave other out")
            other = read_value(read, other)
            if listed is not None and other in listed:
                raise CatalogError(f"other must not be one of the keys, but {other!r} is")
        return Column(
            name=name,
            type=read,
            bounds=None if bounds is None else read_bounds(read, bounds),
            keys=listed,
            keys_from=None if keys_from is None else reference("keys_from", keys_from),
            other=other if other is None else read_value(read, other),
        )


def limits(*, rows: object = None, groups: object = None, rows_per_group: object = None) -> Limits:
    """Return checked limits of how much of one unit counts."""
    return Limits(
        rows=_limit("rows", rows),
        groups=_limit("groups", groups),
        rows_per_group=_limit("rows_per_group", rows_per_group),
    )


def table(
    name: str,
    source: Source,
    columns: Iterable[Column],
    *,
    unit: str | None = None,
    parent: ForeignKey | None = None,
    people: str = PEOPLE,
    limits: Limits | None = None,
    public: bool = False,
) -> Table:
    """Return a table whose columns, unit and limits fit together."""
    check_name("table", name)
    with about(f"table {name!r}"):
        made = Table(
            name=name,
            source=source,
            columns=distinct("column", tuple(columns)),
            unit=unit,
            parent=parent,
            people=people,
            limits=limits or Limits(),
            public=public,
        )
        if not made.columns:
            raise CatalogError("state at least one column")
        check_name("id space", people)
        if public:
            _check_public(made)
            return made
        if (unit is None) == (parent is None):
            raise CatalogError(
                "state whom rows belong to: unit (a column, or 'row'), or parent and via, or "
                "public = true; exactly one of them"
            )
        if parent is not None:
            via = column_of(made, parent.column, "via")
            return replace(made, parent=replace(parent, column=via.name))
        return _with_unit(made, str(unit))


def catalog(
    tables: Iterable[Table],
    purses: Purse | Mapping[str, Purse] | None = None,
    *,
    path: Path | None = None,
    analysts: Iterable[Analyst] = (),
    book: Book | None = None,
    log: Log | None = None,
) -> Catalog:
    """Return a catalog whose tables refer to each other rightly, with a budget for each id space.

    A single purse is for the one id space that there is.
    """
    listed = distinct("table", tuple(tables))
    if not listed:
        raise CatalogError("state at least one table")
    made = Catalog(tables=listed, path=path)
    linked = tuple(resolved(made, table) for table in listed)
    made = replace(made, tables=linked)
    check_ids(made)
    spaces = list(dict.fromkeys(table.people for table in linked if not table.public))
    shared = books.analysts(analysts)
    return replace(made, purses=_shared_out(purses, spaces), analysts=shared, book=book, log=log)


def purse(
    *,
    epsilon: object = None,
    delta: object = None,
    rho: object = None,
    currency: str | None = None,
    question: object = None,
) -> Purse:
    """Return what may be spent; ``question`` is the part of it that one question may cost.

    With epsilon alone, epsilons are added up and keys are not discovered. With a delta too, the
    delta is for discovering keys. In the currency rho, which makes many small questions cheaper,
    one half of the delta is for that and the other half for turning rho into epsilon.

    >>> str(purse(epsilon=3, delta=1e-6).budget.cap), purse(epsilon=3, delta=1e-6).slack
    ('epsilon 3', Fraction(1, 1000000))
    >>> purse(epsilon=3, delta=1e-6, currency="rho").slack
    Fraction(1, 2000000)
    """
    with about("budget"):
        most = None if question is None else books.part("question", question)
        if (epsilon is None) == (rho is None):
            raise CatalogError("state epsilon, with or without delta, or else rho")
        if currency not in (None, "epsilon", "rho") or (rho is not None and currency == "epsilon"):
            raise CatalogError("currency must be 'epsilon' or 'rho', and 'rho' if rho is stated")
        slack = None if delta is None else probability("delta", delta)
        if rho is not None:
            half = None if slack is None else slack / 2
            stated = positive("rho", rho)
            budget = Budget(rho=stated, delta=half, failures=0, neighbours="add_remove")
            return Purse(budget, half or Fraction(0), most)
        stated = positive("epsilon", epsilon)
        if currency == "rho":
            if slack is None:
                raise CatalogError("the currency 'rho' needs a delta, such as delta = 1e-6")
            half = slack / 2
            budget = Budget(epsilon=stated, delta=half, failures=0, neighbours="add_remove")
            return Purse(budget, half, most)
        budget = Budget(epsilon=stated, neighbours="add_remove")
        return Purse(budget, slack or Fraction(0), most)


def _limit(name: str, value: object) -> int | None:
    if value is None:
        return None
    if not is_integer(value) or not 1 <= value <= LARGEST_LIMIT:
        raise CatalogError(
            f"limits: {name} must be a whole number from 1 to {LARGEST_LIMIT:,}, got {value!r}"
        )
    return int(value)


def _check_public(table: Table) -> None:
    if table.unit is not None or table.parent is not None:
        raise CatalogError("a public table belongs to nobody; leave out unit and parent, or public")
    if table.limits != Limits():
        raise CatalogError("limits are for private tables; leave them out")


def _with_unit(table: Table, unit: str) -> Table:
    if unit == "TODO":
        raise CatalogError(
            "replace 'TODO' by the column that says whom a row belongs to, or by 'row' if every "
            "row is one person"
        )
    if unit == ROW:
        if table.column(ROW) is not None:
            raise CatalogError("unit = 'row' means every row by itself; rename the column 'row'")
        return table
    column = column_of(table, unit, "unit")
    if column.type is Type.REAL:
        raise CatalogError(
            f"the unit column {column.name!r} is of type real, and real numbers that print alike "
            "may differ; declare it as text, or rewrite the file with whole numbers: an id that is "
            "written as 1.0 is no integer, and its row would be left out"
        )
    if column.type not in (Type.INTEGER, Type.TEXT):
        raise CatalogError(f"the unit column {column.name!r} must be of type integer or text")
    if column.bounds or column.keys is not None or column.keys_from:
        raise CatalogError(
            f"the unit column {column.name!r} holds ids, which are not public; leave out its "
            "bounds and keys"
        )
    return replace(table, unit=column.name)


def _shared_out(
    purses: Purse | Mapping[str, Purse] | None, spaces: list[str]
) -> tuple[tuple[str, Purse], ...]:
    if isinstance(purses, Purse):
        if len(spaces) > 1:
            raise CatalogError(
                f"there are several id spaces ({among(spaces)}), and each needs a budget of its "
                f"own, such as [budget.{spaces[0]}]"
            )
        return tuple((space, purses) for space in spaces)
    stated = dict(purses or {})
    if unknown := [name for name in stated if name not in spaces]:
        raise CatalogError(
            f"a budget is stated for {unknown[0]!r}, but the id spaces are {among(spaces)}"
        )
    if missing := [space for space in spaces if space not in stated]:
        raise CatalogError(
            f"no budget is stated for {missing[0]!r}; state one, such as epsilon = 1"
        )
    return tuple(stated.items())
