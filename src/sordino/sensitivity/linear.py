# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of linear queries, given as a matrix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import Number, is_integer
from sordino.sensitivity.bounds import Bounds, read_bounds, read_number, read_records
from sordino.sensitivity.neighbours import Neighbours, Relation
from sordino.sensitivity.norms import Sensitivity
from sordino.sensitivity.witness import Rows, Vector, Witness, select

Integers: TypeAlias = npt.NDArray[Any]

_MOST_WORK = 200_000_000  # entries of the differences of all pairs of columns
_MOST_COLUMNS = 16  # of records whose corners are all looked at
_SAFE = 2**62
_NORMS = ("l1", "l2", "linf")


def linear(
    matrix: Sequence[Sequence[Number]],
    *,
    neighbours: Relation,
    bounds: object = None,
) -> Sensitivity:
    """Return the sensitivity of a linear query: the matrix times a vector made from the data.

    Without ``bounds`` that vector is the histogram: the number of records of each kind. Each record
    is of exactly one kind, and a column of zeros stands for kinds that do not count. With
    ``bounds`` it is the sum of the records, which are vectors with one number for each column,
    clamped to the bounds: one pair (low, high) for all columns, or a list with a pair for each.

    >>> print(linear([[1, 1, 0], [0, 1, 1]], neighbours="add_remove"))
    linear query over a histogram; one record added or removed; L1 2, L2 1.4142135623730951, Linf 1
    >>> linear([[1, -1]], bounds=(0, 10), neighbours="replace_one").l1
    Fraction(20, 1)

    Guarantee:
        Neighbours: as given.
        Loss: none by itself; no two neighbours are further apart, and the witnesses are as far.
        Numerics: exact, for answers without rounding errors. Floats in the matrix are the decimals
            that they print as.
        Proof: docs/proofs/sensitivity.md, theorem 9.
    """
    relation = read_records(neighbours, "a linear query", instead="use sum or histogram with Units")
    read, whole = _read_matrix(matrix)
    if bounds is None:
        return _over_histogram(read, relation, whole)
    return _over_records(read, _all_bounds(bounds, len(read[0])), relation, whole)


def _over_histogram(matrix: list[Vector], relation: Neighbours, whole: bool) -> Sensitivity:
    columns = list(zip(*matrix, strict=True))
    many, work = len(columns), len(columns) ** 2 * len(matrix) // 2
    if relation is Neighbours.replace_one and work > _MOST_WORK:
        raise ValueError(
            f"comparing all pairs of columns takes {work} differences, and at most {_MOST_WORK} "
            "are looked at; divide the query into several ones, or take two times its sensitivity "
            "under add_remove"
        )
    table, unit = _scaled(columns)
    if relation is Neighbours.add_remove:
        pairs = _largest(enumerate([table]))
        found = {name: (size, (column, -1)) for name, (size, _, column) in pairs.items()}
    else:
        moves = ((first, table[first + 1 :] - table[first]) for first in range(many - 1))
        found = {
            name: (size, (first, first + 1 + place))
            for name, (size, first, place) in _largest(moves).items()
        }
    return _made(
        "linear query over a histogram",
        found,
        unit,
        relation,
        whole=whole,
        recipe=partial(_two_kinds, tuple(columns), tuple(at for _, at in found.values())),
    )


def _over_records(
    matrix: list[Vector], ends: list[Bounds], relation: Neighbours, whole: bool
) -> Sensitivity:
    if len(ends) > _MOST_COLUMNS:
        raise ValueError(
            f"a matrix for records has at most {_MOST_COLUMNS} columns here, got {len(ends)}, as "
            "all corners of the bounds are looked at; divide the query into several ones"
        )
    corners = list(itertools.product((0, 1), repeat=len(ends)))
    lows, highs = [end.low for end in ends], [end.high for end in ends]
    if relation is Neighbours.replace_one:  # what counts is how far a record moves, up or down
        lows, highs = [-end.width for end in ends], [end.width for end in ends]
    base = [_dot(row, lows) for row in matrix]
    steps = [[row[j] * (highs[j] - lows[j]) for row in matrix] for j in range(len(ends))]
    scaled, unit = _scaled([*map(tuple, steps), tuple(base)])
    table = np.array(corners, dtype=scaled.dtype) @ scaled[:-1] + scaled[-1]
    found = {name: (size, (at, -1)) for name, (size, _, at) in _largest(enumerate([table])).items()}
    shown = tuple(corners[at] for _, (at, _) in found.values())
    return _made(
        "linear query over records",
        found,
        unit,
        relation,
        whole=whole and all(end.whole for end in ends),
        recipe=partial(_two_corners, tuple(matrix), tuple(ends), relation, shown),
    )


def _largest(
    moves: Iterator[tuple[int, Integers]] | enumerate[Integers],
) -> dict[str, tuple[int, int, int]]:
    """Return, for each norm, the largest one of a row, with the number of its table and its row."""
    found = dict.fromkeys(_NORMS, (0, 0, 0))
    for number, table in moves:
        if not len(table):
            continue
        sizes = np.abs(table)
        all_norms = (sizes.sum(axis=1), (table * table).sum(axis=1), sizes.max(axis=1))
        for name, norms in zip(_NORMS, all_norms, strict=True):
            place = int(norms.argmax())
            if norms[place] > found[name][0]:
                found[name] = (int(norms[place]), number, place)
    return found


def _made(
    query: str,
    found: dict[str, tuple[int, tuple[int, int]]],
    unit: Fraction,
    relation: Neighbours,
    *,
    whole: bool,
    recipe: partial[tuple[Witness, ...]],
) -> Sensitivity:
    return Sensitivity(
        query=query,
        l1=found["l1"][0] * unit,
        l2_squared=found["l2"][0] * unit**2,
        linf=found["linf"][0] * unit,
        neighbours=relation,
        whole=whole,
        recipe=recipe,
    )


def _two_kinds(
    columns: tuple[Vector, ...], places: tuple[tuple[int, int], ...]
) -> tuple[Witness, ...]:
    nothing = (Fraction(0),) * len(columns[0])
    found = []
    for one, other in places:
        # With a single kind of record, a replacement changes nothing.
        second = other if other < len(columns) else one
        rows = () if second < 0 else (Rows(f"kind {second + 1}"),)
        answer = nothing if second < 0 else columns[second]
        found.append(Witness((Rows(f"kind {one + 1}"),), rows, (columns[one], answer)))
    return select(found)


def _two_corners(
    matrix: tuple[Vector, ...],
    ends: tuple[Bounds, ...],
    relation: Neighbours,
    places: tuple[tuple[int, ...], ...],
) -> tuple[Witness, ...]:
    found = []
    for corner in places:
        record = tuple(end.high if up else end.low for end, up in zip(ends, corner, strict=True))
        opposite = tuple(end.low if up else end.high for end, up in zip(ends, corner, strict=True))
        replaced = relation is Neighbours.replace_one
        answer = tuple(_dot(row, record) for row in matrix)
        other = tuple(_dot(row, opposite) if replaced else Fraction(0) for row in matrix)
        rows = (Rows(opposite),) if replaced else ()
        found.append(Witness((Rows(record),), rows, (answer, other)))
    return select(found)


def _dot(row: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(row, values, strict=True)), Fraction(0))


def _scaled(rows: Sequence[Vector]) -> tuple[Integers, Fraction]:
    """Return a table as integers, and the unit that they count."""
    common = math.lcm(*(x.denominator for row in rows for x in row))
    whole = [[int(x * common) for x in row] for row in rows]
    largest = max((abs(x) for row in whole for x in row), default=0)
    # Sums over all rows, differences and sums of squares must fit, or Python's integers are used.
    fits = len(whole[0]) * (2 * len(whole) * largest) ** 2 < _SAFE
    return np.array(whole, dtype=np.int64 if fits else object), Fraction(1, common)


def _read_matrix(matrix: object) -> tuple[list[Vector], bool]:
    rows = matrix.tolist() if isinstance(matrix, np.ndarray) else matrix
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
        raise TypeError("matrix must be a list of rows of numbers, one row for each answer")
    read, whole = [], True
    for number, row in enumerate(rows):
        if not isinstance(row, Sequence | np.ndarray) or isinstance(row, str) or not len(row):
            raise TypeError(f"matrix[{number}] must be a row of numbers")
        if len(row) != len(rows[0]):
            raise ValueError("all rows of matrix must have the same length")
        names = (f"matrix[{number}][{place}]" for place in range(len(row)))
        read.append(tuple(map(read_number, names, row)))
        whole = whole and all(map(is_integer, row))
    return read, whole


def _all_bounds(bounds: object, columns: int) -> list[Bounds]:
    if not isinstance(bounds, tuple | list) or not len(bounds):
        raise TypeError("bounds must be a pair (low, high), or a list with a pair for each column")
    if not isinstance(bounds[0], tuple | list):
        return [read_bounds(bounds)] * columns
    if len(bounds) != columns:
        raise ValueError(f"bounds must hold {columns} pairs, one for each column of matrix")
    return [read_bounds(pair, name=f"bounds[{place}]") for place, pair in enumerate(bounds)]
