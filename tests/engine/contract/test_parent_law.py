# SPDX-License-Identifier: Apache-2.0
"""Foreign keys of all kinds of sources: a row leads to whoever has its key, and to nobody else.

Parents and children are poisoned alike. Some keys of children are nobody's, some are those of
several people, and parents come from another kind of source than their children.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sordino.catalog.model import Catalog, Column, ForeignKey, Table
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.plan.plan import Bounded, Cells, RowCount, Shares
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.contract.doors import EVERY, GONE, PEOPLE, PURSES, WHO, WHOLE, column_of, quiet
from tests.engine.contract.poisons import Pair, raws
from tests.engine.contract.sources import Held, Rows, every_held, write
from tests.engine.engines import RECEIPT
from tests.privacy.contract.law import identity
from tests.session.attack.neighbours.dice import dice
from tests.support.trace import unsealed

LEAST = 1_000  # keys of each declared type
LABELS = {
    Type.INTEGER: (
        "arrow int64", "arrow decimal128(38, 0)", "parquet int32", "parquet float64",
        "parquet decimal128(4, 1) in numbers", "parquet string", "files int32 + int64 + float64",
        "duckdb HUGEINT", "duckdb VARCHAR", "duckdb DECIMAL(38,10)", "csv text", "polars UInt64",
        "dictionary list",
    ),
    Type.TEXT: (
        "arrow string", "parquet string", "parquet uuid", "parquet dictionary",
        "files string + plain text", "csv text", "csv latin-1", "duckdb VARCHAR",
        "duckdb VARCHAR COLLATE NOCASE", "duckdb UUID", "polars String", "dictionary object",
    ),
}  # fmt: skip
HELD = {held.label: held for held in every_held()}


@dataclass(frozen=True, slots=True)
class Family:
    """People with keys, some of them twice, and rows below that have keys too."""

    number: int
    parent: Held
    child: Held
    owners: list[tuple[int, Pair]]
    below: list[Pair]

    def leads(self, kind: Type, gone: int | None) -> list[int]:
        """Return how many people each row below leads to, by the law."""
        has: dict[Any, set[int]] = {}
        for who, (_, cell) in self.owners:
            if who != gone:
                has.setdefault(identity(cell, kind, objects=self.parent.objects), set()).add(who)
        has.pop(None, None)
        ids = [identity(cell, kind, objects=self.child.objects) for _, cell in self.below]
        return [len(has.get(one, ())) for one in ids]


def families(kind: Type) -> list[Family]:
    """Return families of one kind of source each, and of every two that follow each other."""
    labels = LABELS[kind]
    alike = [(label, label) for label in labels]
    mixed = [
        pair
        for pair in zip(labels, (*labels[1:], labels[0]), strict=True)
        if not any(HELD[label].objects for label in pair)
    ]
    made = []
    for number, (above, under) in enumerate(alike + mixed):
        random = dice(f"{kind} {number}")
        parent, child = HELD[above], HELD[under]
        pairs = parent.poison(random, 4)
        owners = [(n % PEOPLE, pair) for n, pair in enumerate(pairs) if n % 4]
        owners += [((n + 1) % PEOPLE, pair) for n, pair in enumerate(pairs) if n % 3 == 0]
        owners += owners[:5]  # rows that are there twice
        below = child.poison(random, 4)
        made.append(Family(number, parent, child, owners, [*below, *below[:5]]))
    return made


def tables(family: Family, kind: Type, folder: Path, gone: int | None) -> list[Table]:
    name, number = column_of(kind), family.number
    stay = [(who, pair) for who, pair in family.owners if who != gone]
    whose = {WHOLE: list(range(len(stay))), WHO: [who for who, _ in stay]}
    counted = {WHOLE: list(range(len(family.below))), WHO: [0] * len(family.below)}
    above = Rows(family.parent, whose, {name: raws(pair for _, pair in stay)})
    below = Rows(family.child, counted, {name: raws(family.below)})
    made = []
    for rows, letter in ((above, "p"), (below, "c")):
        (written,) = write([rows], folder, f"{letter}{number}-{gone}")
        types = {(WHO if letter == "p" else WHOLE): Type.INTEGER, name: kind}
        columns = tuple(Column(column, held) for column, held in types.items())
        key = ForeignKey(name, f"p{number}", name) if letter == "c" else None
        unit = WHO if letter == "p" else None
        source = written.source(types)
        made.append(Table(f"{letter}{number}", source, columns, unit=unit, parent=key))
    return made


def counts(engine: DuckdbEngine, family: Family) -> list[int]:
    """Return as how many rows each row below counts."""
    number, shares = Field("f", Type.INTEGER, "f"), Shares(rows=EVERY)
    scan = Scan(f"c{family.number}", ((number, WHOLE),))
    bounded = Bounded(scan, (Key(number, "f", None),), shares, (Cells((RowCount(),)),))
    (part,) = unsealed(engine.run(bounded, RECEIPT, salt=7))
    found = dict(zip(part.column("k0").to_pylist(), part.column("s0").to_pylist(), strict=True))
    return [int(found.get(n, 0)) // shares.steps for n in range(len(family.below))]


@pytest.mark.parametrize("kind", LABELS)
def test_rows_lead_to_whoever_has_their_key(kind: Type, tmp_path: Path) -> None:
    every, cases, seen = families(kind), 0, set[int]()
    for gone in (None, GONE):
        made = [table for family in every for table in tables(family, kind, tmp_path, gone)]
        with quiet(), closing(DuckdbEngine(Catalog(tuple(made), PURSES), threads=1)) as engine:
            for family in every:
                wanted, found = family.leads(kind, gone), counts(engine, family)
                label = f"{family.parent.label} above {family.child.label}"
                wrong = [
                    (pair[1], many, right)
                    for pair, many, right in zip(family.below, found, wanted, strict=True)
                    if many != right
                ]
                assert not wrong, f"{label}: {wrong[:5]}"
                if family.parent is family.child:
                    assert len({*wanted}) > 1, f"{label}: keys are all alike"
                seen.update(wanted)
                cases += len(wanted)
    assert {0, 1, 2} <= seen
    assert cases >= LEAST
    print(f"{cases} cases")  # noqa: T201  # shown with -rP
