# SPDX-License-Identifier: Apache-2.0
"""The groups of an answer: all declared ones, or those of the discovered ones that are kept."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.key_order import place
from sordino.mechanisms.partitions import KeySelection, Selected
from sordino.plan.bounded import Bounded, Cells, UnitCount
from sordino.query.tree import Key
from sordino.query.types import Value

if TYPE_CHECKING:
    import pyarrow as pa

Keys: TypeAlias = "tuple[Value, ...]"
Integers: TypeAlias = npt.NDArray[np.int64]

NOWHERE = -1  # the place of a row whose group is not answered


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups in the order of the answer, which never comes from an engine.

    Guarantee: none by itself; declared groups are public, discovered ones went through selection.
    """

    keys: tuple[Keys, ...]
    places: dict[Keys, int]

    def find(self, table: pa.Table) -> Integers:
        """Return for each row of a part the place of its group; -1 if it is not answered.

        Guarantee: none by itself; private, as the rows are.
        """
        width = len(self.keys[0]) if self.keys else 0
        if not width:
            return np.full(table.num_rows, 0 if self.keys else NOWHERE, dtype=np.int64)
        rows = _keys_of(table, width)
        get = self.places.get
        return np.fromiter((get(key, NOWHERE) for key in rows), np.int64, count=len(rows))


def declared(bounded: Bounded) -> Groups:
    """Return all combinations of public keys, in the order in which they were declared.

    Guarantee: none needed; public inputs only.
    """
    keys = tuple(product(*map(_domain, bounded.keys)))
    return Groups(keys, {key: at for at, key in enumerate(keys)})


def discovered(bounded: Bounded, tables: tuple[pa.Table, ...], rule: KeySelection) -> Groups:
    """Return the keys that enough units have, in their own order.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: that of the rule; keys that are not kept leave no trace.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 5; docs/proofs/partitions.md, theorems 2 to 4.
    """
    part, column = _unit_count(bounded)
    table = tables[part]
    counts = table.column(f"s{column}").to_pylist()
    found = rule.release(np.array([int(n or 0) for n in counts], dtype=np.int64))
    kept = np.flatnonzero(found.kept if isinstance(found, Selected) else found)
    # From here on only kept keys are looked at: what follows is a function of the result.
    keys = sorted(_keys_of(table.take(kept), len(bounded.keys)), key=place)
    return Groups(tuple(keys), {key: at for at, key in enumerate(keys)})


def _domain(key: Key) -> tuple[Value, ...]:
    if key.bins is not None:
        return tuple(range(key.bins.count))
    if key.domain is None:
        raise ValueError("only declared keys can be listed")
    named = dict.fromkeys(key.domain)
    if key.other is not None:
        named[key.other] = None
    return tuple(named)


def _keys_of(table: pa.Table, width: int) -> list[Keys]:
    columns = [table.column(f"k{at}").to_pylist() for at in range(width)]
    return list(zip(*columns, strict=True))


def _unit_count(bounded: Bounded) -> tuple[int, int]:
    """Return the part and the column that say how many units have each key."""
    for part, cells in enumerate(bounded.parts):
        if isinstance(cells, Cells) and UnitCount() in cells.statistics:
            return part, cells.statistics.index(UnitCount())
    raise ValueError("keys are selected by how many units have them, and nothing counts that")
