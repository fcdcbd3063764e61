# SPDX-License-Identifier: Apache-2.0
"""Making a catalog: every part is checked, and every mistake is said in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from sordino.catalog.model import (
    EVERYBODY,
    ROW,
    Analyst,
    Book,
    Catalog,
    Column,
    ForeignKey,
    Limits,
    Log,
    Purse,
    Serving,
    Source,
    Table,
    read_limits,
)
from sordino.catalog.values import read_bounds, read_keys, read_type, read_value
from sordino.errors import CatalogError
from sordino.numbers.rational import is_integer, nonnegative, positive, probability
from sordino.privacy.budget import Budget, Counted
from sordino.query.types import Type

LONGEST_NAME = 200
_PLAIN = re.compile(r"[\w*-]+")
LONGEST_SPACE = 100  # of an id space: it has to fit into the anchor of a ledger

Named = TypeVar("Named", Table, Column)


def reference(name: str, text: object) -> tuple[str, str]:
    """Read ``"table.column"``.

    >>> reference("parent", "visits.visit_id")
    ('visits', 'visit_id')
    """
    if isinstance(text, str):
        first, dot, second = text.partition(".")
        if first and dot and second:
            return first, second
    raise CatalogError(f"{name} must be written as 'table.column', got {text!r}")


@contextmanager
def about(where: str) -> Iterator[None]:
    """Put the place of a mistake before what is wrong there."""
    try:
        yield
    except (CatalogError, ValueError, TypeError) as error:
        raise CatalogError(f"{where}: {error}") from None


def among(names: Iterable[str]) -> str:
    """Return a list of names for a message, in which it is seen where each of them ends.

    >>> among(["city, big", "age", "note "])
    "age, 'city, big', 'note '"
    """
    return ", ".join(name if _PLAIN.fullmatch(name) else repr(name) for name in sorted(names)) or (
        "none"
    )


def check_name(what: str, name: object) -> None:
    """Refuse what cannot be the name of a table, a column or an id space."""
    longest = LONGEST_NAME if what != "id space" else LONGEST_SPACE
    fits = isinstance(name, str) and 0 < len(name) <= longest and name.isprintable()
    if not fits or not str(name).strip():
        raise CatalogError(
            f"the {what} name must be printable text of at most {longest} characters, got {name!r}"
        )
    if what != "column" and str(name).strip() != name:  # columns are named by their sources
        raise CatalogError(f"the {what} name must have no spaces around it, got {name!r}")
    if what == "table" and "." in str(name):
        raise CatalogError(f"the name of a table must not have a dot in it, got {name!r}")


def distinct(what: str, things: tuple[Named, ...]) -> tuple[Named, ...]:
    """Return things whose names differ in more than the case of letters."""
    seen: dict[str, str] = {}
    for thing in things:
        folded = thing.name.casefold()
        if folded in seen:
            raise CatalogError(
                f"the {what} names {seen[folded]!r} and {thing.name!r} are the same, because the "
                "case of letters does not count; leave one of them out"
            )
        seen[folded] = thing.name
    return things


def column_of(table: Table, name: str, what: str) -> Column:
    """Return the column of a table that something names, or say what there is."""
    found = table.column(name) if isinstance(name, str) else None
    if found is None:
        raise CatalogError(
            f"{what} names {name!r}, which is not among its columns: "
            f"{among(column.name for column in table.columns)}"
        )
    return found


PEOPLE = "people"  # the id space of tables that name none


def resolved(made: Catalog, table: Table) -> Table:
    """Return a table whose references are spelled as declared, with the id space it leads to."""
    with about(f"table {table.name!r}"):
        columns = tuple(_with_keys(made, column) for column in table.columns)
        if table.parent is None:
            return replace(table, columns=columns)
        root = _root(made, table)
        if table.people not in (PEOPLE, root.people):
            raise CatalogError(
                f"its parent leads to the id space {root.people!r}, not to {table.people!r}; leave "
                "people out"
            )
        parent, key = _parent(made, table)
        foreign = replace(parent_key(table), parent=parent.name, parent_column=key.name)
        return replace(table, columns=columns, parent=foreign, people=root.people)


def _with_keys(made: Catalog, column: Column) -> Column:
    if column.keys_from is None:
        return column
    with about(f"column {column.name!r}"):
        name, key = column.keys_from
        table = made.table(name)
        if table is None or not table.public:
            names = among(table.name for table in made.tables if table.public)
            raise CatalogError(
                f"keys_from must name a public table, not {name!r}; the public tables: {names}"
            )
        found = column_of(table, key, f"keys_from of table {table.name!r}")
        _check_same_type(column, found, "keys_from")
        return replace(column, keys_from=(table.name, found.name))


def _parent(made: Catalog, table: Table) -> tuple[Table, Column]:
    """Return the parent of a table, and the column that its foreign key leads to."""
    key = parent_key(table)
    parent = made.table(key.parent)
    if parent is None or parent.public or parent.each_row:
        names = among(
            other.name
            for other in made.tables
            if not (other.public or other.each_row or other.name == table.name)
        )
        raise CatalogError(
            f"parent must name a private table with a unit column, or with a parent of its own, "
            f"not {key.parent!r}; there are: {names}"
        )
    found = column_of(parent, key.parent_column, f"parent (table {parent.name!r})")
    via = column_of(table, key.column, "via")
    if via.type is Type.REAL:
        raise CatalogError("via must not be a column of type real; make it integer or text")
    _check_same_type(via, found, "parent")
    return parent, found


def parent_key(table: Table) -> ForeignKey:
    """Return the foreign key of a table that has one."""
    if table.parent is None:
        raise CatalogError(f"table {table.name!r} has no parent")
    return table.parent


def _root(made: Catalog, table: Table) -> Table:
    seen = {table.name}
    while table.parent is not None:
        table, _ = _parent(made, table)
        if table.name in seen:
            raise CatalogError("its parents form a cycle and lead to no unit; break the cycle")
        seen.add(table.name)
    return table


def _check_same_type(one: Column, other: Column, what: str) -> None:
    if one.type is not other.type:
        raise CatalogError(
            f"{what}: {one.name!r} is of type {one.type} and {other.name!r} of type {other.type}; "
            "both must have the same type"
        )


def check_ids(made: Catalog) -> None:
    """Refuse unit columns of one id space that could never be equal."""
    kinds: dict[str, tuple[Type, str]] = {}
    for table in made.tables:
        unit = table.column(table.unit) if table.unit and not table.each_row else None
        if unit is None:
            continue
        kind, name = kinds.setdefault(table.people, (unit.type, table.name))
        if kind is not unit.type:
            raise CatalogError(
                f"tables {name!r} and {table.name!r} are about the same {table.people!r}, but "
                f"their units are of types {kind} and {unit.type}; use one type, or set people"
            )


class Mistakes:
    """What is wrong, in the order in which it was seen."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}  # each once

    @contextmanager
    def caught(self, place: str = "") -> Iterator[None]:
        """Note a mistake, with its place before it, and go on."""
        try:
            if place:
                with about(place):
                    yield
            else:
                yield
        except CatalogError as error:
            self._texts[str(error)] = None

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


_LONGEST = 100
DEFAULT = "sordino.ledger"
POSTGRES_ADDRESSES = ("postgresql://", "postgres://")


def analyst(name: str, *, share: object = None, reserved: object = None) -> Analyst:
    """Return a checked analyst; ``share`` and ``reserved`` are parts of the budget.

    >>> analyst("alice", share=0.5).share
    Fraction(1, 2)
    """
    with about(f"analyst {name!r}"):
        if name.strip() != name or not name.isprintable() or not 0 < len(name) <= _LONGEST:
            raise CatalogError(f"a name has 1 to {_LONGEST} letters, and no space at its ends")
        most = None if share is None else part("share", share)
        kept = Fraction(0) if reserved is None else nonnegative("reserved", reserved)
        if kept and name == EVERYBODY:
            raise CatalogError("nothing can be reserved for everybody; name an analyst")
        if kept > (1 if most is None else most):
            raise CatalogError("reserved must be at most the share, or 1")
        return Analyst(name, most, kept)


def read_analysts(declared: Iterable[Analyst]) -> tuple[Analyst, ...]:
    """Return analysts for whom no more is reserved than there is."""
    found = tuple(declared)
    others = next((one.share for one in found if one.name == EVERYBODY), None)
    for one in found:
        if others is not None and one.share is None and one.reserved > others:
            raise CatalogError(
                f"analyst {one.name!r}: more is reserved than the share of everybody; state a "
                "share too"
            )
    if sum(one.reserved for one in found) > 1:
        raise CatalogError("analysts: more is reserved than there is; the parts add up to above 1")
    return found


def book(
    folder: Path,
    *,
    file: str | None = None,
    postgres: str | None = None,
    anchor: str | None = None,
    key: str | None = None,
) -> Book:
    """Return where a ledger is kept; names of files are relative to a folder.

    >>> book(Path("study")).place.name
    'sordino.ledger'
    """
    with about("ledger"):
        if file is not None and postgres is not None:
            raise CatalogError("file and postgres exclude each other; leave one of them out")
        held = None if key is None else folder / key
        if postgres is not None:
            if not postgres.startswith(POSTGRES_ADDRESSES):
                raise CatalogError("postgres must be an address, such as 'postgresql://host/name'")
            return Book(postgres, None if anchor is None else folder / anchor, held)
        place = folder / (file or DEFAULT)
        beside = place.with_name(f"{place.name}.heads")
        return Book(place, beside if anchor is None else folder / anchor, held)


def log(folder: Path, *, file: object = None, level: object = None) -> Log:
    """Return where the owner's log is written; ``file`` is a name, or False for no log.

    >>> log(Path("study"), file=False)
    Log(file=None, level='error')
    """
    with about("log"):
        if level is not None and level not in ("error", "warning"):
            raise CatalogError(f"level must be 'error' or 'warning', got {level!r}")
        if file is None:
            raise CatalogError("state the file, or file = false for no log")
        if file is False:
            return Log(None)
        if not isinstance(file, str) or not file:
            raise CatalogError(f"file must be a name, or false for no log, got {file!r}")
        return Log(folder / file, "warning" if level == "warning" else "error")


def part(name: str, value: object) -> Fraction:
    """Return a part of a budget, above 0 and at most 1."""
    found = positive(name, value)
    if found > 1:
        raise CatalogError(f"{name} is a part of the budget, from 0 to 1, got {value!r}")
    return found


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
    """Return the limits that an owner declares."""
    try:
        return read_limits(rows=rows, groups=groups, rows_per_group=rows_per_group)
    except ValueError as error:
        raise CatalogError(str(error)) from None


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
    shared = read_analysts(analysts)
    return replace(made, purses=_shared_out(purses, spaces), analysts=shared, book=book, log=log)


_WITH_DELTA: Mapping[str, Counted] = {"rho": "rho", "gdp": "gdp"}


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
    delta is for discovering keys. In the currencies rho and gdp, which make many small questions
    cheaper, one half of the delta is for that and for noise that fails, and the other half turns
    what is counted into epsilon.

    >>> str(purse(epsilon=3, delta=1e-6).budget.cap), purse(epsilon=3, delta=1e-6).slack
    ('epsilon 3', Fraction(1, 1000000))
    >>> purse(epsilon=3, delta=1e-6, currency="rho").slack
    Fraction(1, 2000000)
    """
    with about("budget"):
        most = None if question is None else part("question", question)
        if (epsilon is None) == (rho is None):
            raise CatalogError("state epsilon, with or without delta, or else rho")
        if currency not in (None, "epsilon", "rho", "gdp"):
            raise CatalogError("currency must be 'epsilon', 'rho' or 'gdp'")
        if rho is not None and currency not in (None, "rho"):
            raise CatalogError("currency must be 'rho' if rho is stated")
        slack = None if delta is None else probability("delta", delta)
        if rho is not None:
            half = None if slack is None else slack / 2
            stated = positive("rho", rho)
            budget = Budget(rho=stated, delta=half, failures=0, neighbours="add_remove")
            return Purse(budget, half or Fraction(0), most)
        stated = positive("epsilon", epsilon)
        counted = _WITH_DELTA.get(currency or "epsilon")
        if counted is not None:
            if slack is None:
                raise CatalogError(f"the currency {currency!r} needs a delta, such as delta = 1e-6")
            half = slack / 2
            budget = Budget(
                epsilon=stated,
                delta=half,
                currency=counted,
                failures=0,
                neighbours="add_remove",
            )
            return Purse(budget, half, most)
        budget = Budget(epsilon=stated, neighbours="add_remove")
        return Purse(budget, slack or Fraction(0), most)


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


# How a catalog is served: the section [server], all of it public. ---------------------------------

SERVING = ("slot", "deadline", "resume", "approve_above", "approvers", "show_all", "rate")
_SLOT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s)")
_UNITS = {"ms": Fraction(1, 1000), "s": Fraction(1)}
_SHORTEST_SLOT, _LONGEST_SLOT = Fraction(1, 100), Fraction(3600)  # seconds
_MOST_SLOTS = 10_000
_MOST_RATE = 10_000


def serving(
    *,
    slot: object = "1s",
    deadline: object = 30,
    resume: object = False,
    approve_above: object = None,
    approvers: object = 1,
    show_all: object = False,
    rate: object = 20,
) -> Serving:
    """Return how a catalog is served.

    >>> serving(slot="250ms").slot, serving(slot="off").slot
    (Fraction(1, 4), None)
    """
    with about("server"):
        return Serving(
            slot=_slot(slot),
            deadline=_whole("deadline", deadline, _MOST_SLOTS),
            resume=_flag("resume", resume),
            approve_above=None
            if approve_above is None
            else positive("approve_above", approve_above),
            approvers=_whole("approvers", approvers, 2),
            show_all=_flag("show_all", show_all),
            rate=_whole("rate", rate, _MOST_RATE),
        )


def _slot(text: object) -> Fraction | None:
    """Read how long a slot is; None stands for no slots at all."""
    if text == "off":
        return None
    found = _SLOT.fullmatch(text) if isinstance(text, str) else None
    length = None if found is None else Fraction(found[1]) * _UNITS[found[2]]
    if length is None or not _SHORTEST_SLOT <= length <= _LONGEST_SLOT:
        raise CatalogError(
            "slot must be a time such as '1s' or '250ms', from 10ms to 3600s, or 'off', "
            f"got {text!r}"
        )
    return length


def _whole(name: str, value: object, most: int) -> int:
    if not is_integer(value) or not 1 <= value <= most:
        raise CatalogError(f"{name} must be a whole number from 1 to {most:,}, got {value!r}")
    return int(value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise CatalogError(f"{name} must be true or false, got {value!r}")
    return value
