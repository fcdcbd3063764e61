# SPDX-License-Identifier: Apache-2.0
"""The law of the door, checked on one type of column of one kind of source at a time.

A case is one poisoned value in one declared type and one role: a value that must come out as the
law says, an id that must stay apart from all others, or a row of a person who comes and goes.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb

from sordino.catalog import checks as declare
from sordino.catalog.model import Catalog, Column, Frame, Limits, PostgresTable, Source, Table
from sordino.engine.duckdb.sources import doors_of, sources_of
from sordino.engine.opening import open_engine
from sordino.engine.postgres.tables import base_of, shape_of
from sordino.engine.protocol import OpenEngine
from sordino.errors import CatalogError, SealedError
from sordino.plan.plan import Bounded, Cells, RowCount, Shares
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.contract.poisons import Pair, raws
from tests.engine.contract.sources import Held, Rows, Written, write
from tests.engine.engines import RECEIPT
from tests.engine.stored import owner
from tests.privacy.contract.law import ANY, Cell, identity, leaves
from tests.session.attack.neighbours.check import exact_faults, public_faults
from tests.session.attack.neighbours.dice import dice
from tests.support.trace import look, prepare, unsealed

EVERY = 10**6  # rows of a person that count in full
PEOPLE = 7
GONE = 3  # the person who comes and goes
WHOLE, WHO = "n", "who"
INEXACT = ("duckdb", "parquet", "files")  # decimals of which DuckDB makes doubles
PURSES = (("people", declare.purse(epsilon=100)),)
KEYS: dict[Type, tuple[Any, ...]] = {
    Type.INTEGER: (1, 2, 7),
    Type.TEXT: ("1", "a", "A", "x"),
    Type.BOOLEAN: (True, False),
    Type.DATE: (date(2020, 2, 29), date(1970, 1, 1)),
}
QUESTIONS: dict[Type | None, tuple[str, ...]] = {
    None: ("SELECT COUNT(*) FROM t", "SELECT COUNT(DISTINCT who) FROM t"),
    Type.INTEGER: (
        "SELECT SUM(CLAMP(v_integer, -5, 100)), AVG(CLAMP(v_integer, 0, 9)) FROM t",
        "SELECT v_integer, COUNT(*), COUNT(DISTINCT who) FROM t GROUP BY v_integer",
        "SELECT MEDIAN(CLAMP(v_integer, 0, 100)) FROM t",
    ),
    Type.REAL: (
        "SELECT SUM(CLAMP(v_real, -5, 100)), AVG(CLAMP(v_real, 0, 9)) FROM t",
        "SELECT MEDIAN(CLAMP(v_real, 0, 100)) FROM t",
    ),
    Type.TEXT: (
        "SELECT v_text, COUNT(*) FROM t GROUP BY v_text",
        "SELECT COUNT(DISTINCT v_text), COUNT(v_text) FROM t",
    ),
    Type.BOOLEAN: ("SELECT v_boolean, COUNT(*) FROM t GROUP BY v_boolean",),
    Type.DATE: (
        "SELECT v_date, COUNT(*) FROM t GROUP BY v_date",
        "SELECT SUM(CLAMP(EXTRACT(year FROM v_date), 1900, 2100)) FROM t",
    ),
    Type.TIMESTAMP: ("SELECT AVG(CLAMP(EXTRACT(year FROM v_timestamp), 1900, 2100)) FROM t",),
}


@dataclass(slots=True)
class Tally:
    """What was checked, by kind of source, and what was against the law."""

    cases: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.cases.update(other.cases)
        self.faults += other.faults

    def note(self, fault: str) -> None:
        """Keep what is against the law."""
        self.faults.append(fault)


@dataclass(slots=True)
class Door:
    """One type of column, its poison, the tables that hold it, and the types it is accepted as."""

    name: str  # of its table
    held: Held
    pairs: list[Pair]
    tally: Tally
    empty: Written
    poisoned: Written
    accepted: list[Type] = field(default_factory=list)

    def fault(self, what: str) -> None:
        self.tally.note(f"{self.held.label}: {what}")

    def count(self, cases: int) -> None:
        self.tally.cases[self.held.kind] += cases

    @property
    def types(self) -> dict[str, Type]:
        """All columns of its table."""
        poisoned = {column_of(kind): kind for kind in self.accepted}
        return {WHOLE: Type.INTEGER, WHO: Type.INTEGER} | poisoned


def column_of(kind: Type) -> str:
    """Return the name of the poisoned column that is declared as a type."""
    return f"v_{kind.value}"


def check(
    every: list[Held],
    seed: object,
    folder: Path,
    *,
    more: int = 0,
    questions: int = 3,
    tally: Tally | None = None,
) -> Tally:
    """Return what is against the law in types of columns, all of one kind of source."""
    random, tally = dice(f"{every[0].kind} {seed}"), tally or Tally()
    poison = [held.poison(random, more) for held in every]
    empty = write([_rows(held, []) for held in every], folder, "empty")
    full = [_rows(held, pairs) for held, pairs in zip(every, poison, strict=True)]
    poisoned = write(full, folder, "poisoned")
    doors = [
        Door(f"t{place}", held, pairs, tally, nobody, everybody)
        for place, (held, pairs, nobody, everybody) in enumerate(
            zip(every, poison, empty, poisoned, strict=True)
        )
    ]
    with quiet():
        with closing(duckdb.connect(config={"threads": 1})) as connection:
            for door in doors:
                _accept(door, connection)
        doors = [door for door in doors if door.accepted]
        if doors:
            _check_values(doors, folder, random, questions)
            _check_ids(doors)
    return tally


def _rows(held: Held, pairs: list[Pair], numbers: list[int] | None = None) -> Rows:
    """Return poison once for every declared type, beside rows' numbers and whose they are."""
    numbers = list(range(len(pairs))) if numbers is None else numbers
    plain = {WHOLE: numbers, WHO: [number % PEOPLE for number in numbers]}
    return Rows(held, plain, {column_of(kind): raws(pairs) for kind in Type})


def _accept(door: Door, connection: duckdb.DuckDBPyConnection) -> None:
    """Learn as what a column is accepted; rows must not matter for it."""
    for kind in Type:
        types = {WHOLE: Type.INTEGER, column_of(kind): kind}
        refusal = _refusal(door.empty, types, connection)
        if refusal is None:
            door.accepted.append(kind)
        elif kind in door.held.fits:
            door.fault(f"{kind} is refused: {refusal}")
        elif _refusal(door.poisoned, types, connection) != refusal:
            door.fault(f"whether {kind} is refused depends on rows")
        door.count(1)


def _refusal(
    written: Written, types: Mapping[str, Type], connection: duckdb.DuckDBPyConnection
) -> str | None:
    """Return why a table is refused, without the names of files, or None if it is not.

    A connection that may read all files does for one table after the other what opening does.
    """
    try:
        source = written.source(types)
        if isinstance(source, PostgresTable):
            table = _table("t", source, types, unit="row")
            shape = shape_of(owner(source.address), table, source)
            base_of(Catalog((table,), PURSES), table, source, shape)
        elif not isinstance(source, Frame):
            sources = sources_of(Catalog((_table("t", source, types, unit="row"),), PURSES))
            for file, name in sources.databases.items():
                connection.execute(f"ATTACH OR REPLACE '{file}' AS {name} (READ_ONLY)")
            doors_of(sources, connection)
    except CatalogError as error:
        return str(error).replace("poisoned", "empty")
    return None


def _table(name: str, source: Source, types: Mapping[str, Type], *, unit: str) -> Table:
    columns = tuple(
        Column(column, kind, keys=KEYS.get(kind) if column.startswith("v_") else None)
        for column, kind in types.items()
    )
    return Table(name, source, columns, unit=unit, limits=Limits(rows=3, groups=2))


def _engine(tables: list[Table]) -> OpenEngine:
    return open_engine(Catalog(tuple(tables), PURSES), threads=1)


def _check_values(doors: list[Door], folder: Path, random: Random, questions: int) -> None:
    """Compare values with the law, and everything with what is left when a person goes."""
    stays = {door.name: [n for n in range(len(door.pairs)) if n % PEOPLE != GONE] for door in doors}
    rest = [
        _rows(door.held, [door.pairs[n] for n in stays[door.name]], stays[door.name])
        for door in doors
    ]
    fewer = write(rest, folder, "fewer")
    tables = [
        [_table(door.name, written.source(door.types), door.types, unit=WHO)
         for door, written in zip(doors, every, strict=True)]
        for every in (fewer, [door.poisoned for door in doors])
    ]  # fmt: skip
    with ExitStack() as stack:
        engines = [stack.enter_context(closing(_engine(every))) for every in tables]
        for door in doors:
            for kind in door.accepted:
                less, values = (_values(door, engine, kind) for engine in engines)
                _compare(door, kind, values)
                if less != {n: values.get(n) for n in stays[door.name]}:
                    door.fault(f"{kind}: what comes out of a row depends on other rows")
                door.count(2 * len(door.pairs))
            asked = [sql for kind in (None, *door.accepted) for sql in QUESTIONS[kind]]
            random.shuffle(asked)
            for sql in asked[:questions]:
                _compare_neighbours(door, engines, sql.replace("FROM t", f"FROM {door.name}"))


def _values(door: Door, engine: OpenEngine, kind: Type) -> dict[int, Any]:
    """Return what leaves the door in each row, by its number."""
    number, value = Field("f", Type.INTEGER, "f"), Field("g", kind, "g")
    scan = Scan(door.name, ((number, WHOLE), (value, column_of(kind))))
    keys = (Key(number, "f", None), Key(value, "g", None))
    bounded = Bounded(scan, keys, Shares(rows=EVERY), (Cells((RowCount(),)),))
    try:
        (part,) = unsealed(engine.run(bounded, RECEIPT, salt=7))
    except SealedError:
        door.fault(f"{kind}: reading fails")
        return {}
    try:
        numbers, values = (part.column(f"k{place}").to_pylist() for place in (0, 1))
    except (ValueError, OverflowError):
        door.fault(f"{kind}: what comes out is no value of the type")
        return {}
    if len(set(numbers)) != len(numbers):
        door.fault(f"{kind}: a row comes out twice")
    return dict(zip(numbers, values, strict=True))


def _compare(door: Door, kind: Type, values: dict[int, Any]) -> None:
    for n, (_, cell) in enumerate(door.pairs):
        wanted = leaves(cell, kind, objects=door.held.objects)
        if n not in values:
            door.fault(f"{kind}: the row of {_shown(cell)} is lost")
        elif wanted is not ANY and not _same(door, cell, values[n], wanted):
            door.fault(f"{kind}: {_shown(cell)} is {_shown(values[n])} and not {_shown(wanted)}")


def _same(door: Door, cell: Cell, one: Any, other: Any) -> bool:
    """Tell whether a value is the wanted one.

    Of numbers that no double has, DuckDB makes one that may be the second next.
    """
    if type(one) is not type(other):
        return False
    rounded = isinstance(other, float) and isinstance(cell, Fraction) and not math.isinf(other)
    if rounded and door.held.kind in INEXACT and cell != Fraction(other):
        return bool(abs(one - other) <= 2 * math.ulp(other))
    return bool(one == other)


def _check_ids(doors: list[Door]) -> None:
    """Check that as many rows have the same unit as have the same id."""
    roles = [
        (door, kind)
        for door in doors
        for kind in (Type.INTEGER, Type.TEXT)
        if kind in door.accepted
    ]
    tables, taken = [], []
    for door, kind in roles:
        types = {WHOLE: Type.INTEGER, column_of(kind): kind}
        source = door.poisoned.source(types)
        columns = tuple(Column(name, held) for name, held in types.items())
        table = Table(f"{door.name}_{kind}", source, columns, unit=column_of(kind))
        if door.held.ids:
            tables.append(table)
            taken.append((door, kind))
        elif not _is_refused(table):
            door.fault(f"{kind}: ids are not refused")
    if tables:
        with closing(_engine(tables)) as engine:
            for door, kind in taken:
                _compare_ids(door, engine, kind)


def _is_refused(table: Table) -> bool:
    try:
        _engine([table]).close()
    except CatalogError:
        return True
    return False


def _compare_ids(door: Door, engine: OpenEngine, kind: Type) -> None:
    """Compare weights: a unit with k rows, of which one counts, gives each of them 1/k."""
    number, shares = Field("f", Type.INTEGER, "f"), Shares(rows=1)
    scan = Scan(f"{door.name}_{kind}", ((number, WHOLE),))
    bounded = Bounded(scan, (Key(number, "f", None),), shares, (Cells((RowCount(),)),))
    try:
        (part,) = unsealed(engine.run(bounded, RECEIPT, salt=7))
    except SealedError:
        door.fault(f"{kind}: reading ids fails")
        return
    weights = dict(zip(part.column("k0").to_pylist(), part.column("s0").to_pylist(), strict=True))
    ids = [identity(cell, kind, objects=door.held.objects) for _, cell in door.pairs]
    sizes = Counter(ids)
    for n, (_, cell) in enumerate(door.pairs):
        wanted = 0 if ids[n] is None else shares.steps // sizes[ids[n]]
        if int(weights.get(n, 0)) != wanted:
            weight = weights.get(n)
            door.fault(f"{kind}: the id {_shown(cell)} has the weight {weight} and not {wanted}")
    door.count(len(door.pairs))


def _compare_neighbours(door: Door, engines: list[OpenEngine], sql: str) -> None:
    """Ask with and without a person: the same plan and price, and numbers within its shifts."""
    prepared = [prepare(engine, sql, epsilon=Fraction(1), salt=7) for engine in engines]
    for fault in public_faults(*prepared):
        door.fault(f"{fault}: {sql}")
    try:
        fewer, more = (look(engine, prepared[0], salt=7) for engine in engines)
    except SealedError:
        door.fault(f"a question fails: {sql}")
        return
    for fault in exact_faults(prepared[0], fewer, more):
        door.fault(f"{fault}: {sql}")
    door.count(1)


def _shown(cell: Cell | Any) -> str:
    text = (
        repr(cell) if not isinstance(cell, Fraction) or cell.denominator < 2**70 else "a fraction"
    )
    return text if len(text) < 80 else f"{text[:40]}... ({len(text)})"


@contextmanager
def quiet() -> Iterator[None]:
    """Keep from the screen what the owner is told of failures."""
    owner = logging.getLogger("sordino.owner")
    before, owner.propagate = owner.propagate, False
    try:
        yield
    finally:
        owner.propagate = before
