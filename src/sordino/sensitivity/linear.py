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

from sordino.numbers.rational import Number, is_integer
from sordino.sensitivity.norms import (
    Bounds,
    Neighbours,
    Relation,
    Rows,
    Sensitivity,
    Vector,
    Witness,
    binary,
    read_bounds,
    read_number,
    read_records,
    select,
)

Integers: TypeAlias = npt.NDArray[Any]
Matrix: TypeAlias = list[Vector]
Corner: TypeAlias = tuple[int, ...]
Found: TypeAlias = dict[str, tuple[Fraction, tuple[int, int]]]

_MOST_WORK = 200_000_000  # entries of the differences of all pairs of columns
_MOST_COLUMNS = 16  # of records whose corners are all looked at
_SAFE = 2**62
_POWERS = {"l1": 1, "l2": 2, "linf": 1}  # the square of L2 is kept
_NORMS = tuple(_POWERS)


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
        Numerics: exact, for answers without rounding errors. Floats in the matrix may be meant as
            the decimals that they print as or as the binary numbers that they are; each norm is
            the larger one of the two matrices.
        Proof: docs/proofs/sensitivity.md, theorem 9.
    """
    relation = read_records(neighbours, "a linear query", instead="use sum or histogram with Units")
    readings, whole = _read_matrix(matrix)
    if bounds is None:
        return _over_histogram(readings, relation, whole)
    return _over_records(readings, _all_bounds(bounds, len(readings[0][0])), relation, whole)


def _over_histogram(readings: list[Matrix], relation: Neighbours, whole: bool) -> Sensitivity:
    rows, many = len(readings[0]), len(readings[0][0])
    work = many**2 * rows // 2
    if relation is Neighbours.replace_one and work > _MOST_WORK:
        raise ValueError(
            f"comparing all pairs of columns takes {work} differences, and at most {_MOST_WORK} "
            "are looked at; divide the query into several ones, or take two times its sensitivity "
            "under add_remove"
        )
    found = [_kinds(list(zip(*matrix, strict=True)), relation) for matrix in readings]
    best = _best(found)
    shown = tuple(
        (tuple(zip(*readings[number], strict=True)), place) for _, number, place in best.values()
    )
    return _made(
        "linear query over a histogram",
        best,
        relation,
        whole=whole,
        recipe=partial(_two_kinds, shown),
    )


def _kinds(columns: list[Vector], relation: Neighbours) -> Found:
    """Return the largest norms, and the two kinds of records for each; -1 is no record."""
    table, unit = _scaled(columns)
    if relation is Neighbours.add_remove:
        return {
            name: (size * unit ** _POWERS[name], (column, -1))
            for name, (size, _, column) in _largest(enumerate([table])).items()
        }
    moves = ((first, table[first + 1 :] - table[first]) for first in range(len(columns) - 1))
    return {
        name: (size * unit ** _POWERS[name], (first, first + 1 + place))
        for name, (size, first, place) in _largest(moves).items()
    }


def _over_records(
    readings: list[Matrix], ends: list[Bounds], relation: Neighbours, whole: bool
) -> Sensitivity:
    if len(ends) > _MOST_COLUMNS:
        raise ValueError(
            f"a matrix for records has at most {_MOST_COLUMNS} columns here, got {len(ends)}, as "
            "all corners of the bounds are looked at; divide the query into several ones"
        )
    corners = list(itertools.product((0, 1), repeat=len(ends)))
    best = _best([_corners(matrix, ends, corners, relation) for matrix in readings])
    shown = tuple(
        (tuple(readings[number]), corners[place]) for _, number, (place, _) in best.values()
    )
    return _made(
        "linear query over records",
        best,
        relation,
        whole=whole and all(end.whole for end in ends),
        recipe=partial(_two_corners, shown, tuple(ends), relation),
    )


def _corners(
    matrix: Matrix, ends: list[Bounds], corners: list[Corner], relation: Neighbours
) -> Found:
    """Return the largest norms, and the corner of the bounds for each."""
    lows, highs = [end.low for end in ends], [end.high for end in ends]
    if relation is Neighbours.replace_one:  # what counts is how far a record moves, up or down
        lows, highs = [-end.width for end in ends], [end.width for end in ends]
    base = [_dot(row, lows) for row in matrix]
    steps = [[row[j] * (highs[j] - lows[j]) for row in matrix] for j in range(len(ends))]
    scaled, unit = _scaled([*map(tuple, steps), tuple(base)])
    table = np.array(corners, dtype=scaled.dtype) @ scaled[:-1] + scaled[-1]
    return {
        name: (size * unit ** _POWERS[name], (place, -1))
        for name, (size, _, place) in _largest(enumerate([table])).items()
    }


def _best(found: list[Found]) -> dict[str, tuple[Fraction, int, tuple[int, int]]]:
    """Return, for each norm, the largest one of all readings, which one that is, and its place."""
    best = {}
    for name in _NORMS:
        number = max(range(len(found)), key=lambda number: found[number][name][0])
        size, place = found[number][name]
        best[name] = (size, number, place)
    return best


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
    best: dict[str, tuple[Fraction, int, tuple[int, int]]],
    relation: Neighbours,
    *,
    whole: bool,
    recipe: partial[tuple[Witness, ...]],
) -> Sensitivity:
    return Sensitivity(
        query=query,
        l1=best["l1"][0],
        l2_squared=best["l2"][0],
        linf=best["linf"][0],
        neighbours=relation,
        whole=whole,
        recipe=recipe,
    )


def _two_kinds(
    shown: tuple[tuple[tuple[Vector, ...], tuple[int, int]], ...],
) -> tuple[Witness, ...]:
    found = []
    for columns, (one, other) in shown:
        # With a single kind of record, a replacement changes nothing.
        second = other if other < len(columns) else one
        rows = () if second < 0 else (Rows(f"kind {second + 1}"),)
        answer = (Fraction(0),) * len(columns[0]) if second < 0 else columns[second]
        found.append(Witness((Rows(f"kind {one + 1}"),), rows, (columns[one], answer)))
    return select(found)


def _two_corners(
    shown: tuple[tuple[tuple[Vector, ...], Corner], ...],
    ends: tuple[Bounds, ...],
    relation: Neighbours,
) -> tuple[Witness, ...]:
    found = []
    for matrix, corner in shown:
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


def _read_matrix(matrix: object) -> tuple[list[Matrix], bool]:
    """Return the matrix in decimals, the one in binary if it is another one, and if it is whole."""
    rows = matrix.tolist() if isinstance(matrix, np.ndarray) else matrix
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
        raise TypeError("matrix must be a list of rows of numbers, one row for each answer")
    decimals, doubles, whole = [], [], True
    for number, row in enumerate(rows):
        if not isinstance(row, Sequence | np.ndarray) or isinstance(row, str) or not len(row):
            raise TypeError(f"matrix[{number}] must be a row of numbers")
        if len(row) != len(rows[0]):
            raise ValueError("all rows of matrix must have the same length")
        names = (f"matrix[{number}][{place}]" for place in range(len(row)))
        decimals.append(tuple(map(read_number, names, row)))
        doubles.append(tuple(map(binary, row, decimals[-1])))
        whole = whole and all(map(is_integer, row))
    return [decimals] if doubles == decimals else [decimals, doubles], whole


def _all_bounds(bounds: object, columns: int) -> list[Bounds]:
    if not isinstance(bounds, tuple | list) or not len(bounds):
        raise TypeError("bounds must be a pair (low, high), or a list with a pair for each column")
    if not isinstance(bounds[0], tuple | list):
        return [read_bounds(bounds)] * columns
    if len(bounds) != columns:
        raise ValueError(f"bounds must hold {columns} pairs, one for each column of matrix")
    return [read_bounds(pair, name=f"bounds[{place}]") for place, pair in enumerate(bounds)]
