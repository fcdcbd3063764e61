# SPDX-License-Identifier: Apache-2.0
"""Brute force: any function, on all data sets of a small universe."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import Integer, Number, is_integer, nonnegative, positive_whole
from sordino.sensitivity.neighbours import Neighbours, Relation, Units, read_relation
from sordino.sensitivity.norms import Sensitivity
from sordino.sensitivity.report import Report
from sordino.sensitivity.universe import MOST_DATASETS, Space, too_many
from sordino.sensitivity.witness import Rows, Vector, Witness, select

Function: TypeAlias = "Callable[[tuple[Any, ...]], Any]"
Table: TypeAlias = npt.NDArray[Any]

_SAFE = 2**62
_NORMS = ("l1", "l2", "linf")
_ANSWERS = "the function must return a number or a list of numbers"


def check(
    f: Function,
    universe: Iterable[object],
    size: Integer,
    neighbours: Relation,
    *,
    claimed: Sensitivity | Number | None = None,
    least: Integer = 0,
    ordered: bool = False,
) -> Report:
    """Return how far a function moves between all neighbouring data sets of a small universe.

    All data sets of ``least`` to ``size`` records from the universe are looked at: as multisets, or
    in every order if ``ordered``. The function takes a tuple of records and returns a number or a
    list of numbers. With Units a record stands for a person with all rows. ``claimed`` is a
    sensitivity, or a number for L1.

    >>> print(check(max, universe=range(4), size=3, neighbours="add_remove", least=1, claimed=1))
    34 data sets of 1 to 3 records; one record added or removed; moves by at most 3
    the claim is wrong: L1 of at most 1, but it is 3
                one   other
      records   0     0
                      3
      answer    0     3
      moved by  3

    Guarantee: as for Report.
    """
    relation = read_relation(neighbours)
    claim = _read_claim(claimed, relation)
    records = listed("universe", universe)
    most, fewest = positive_whole("size", size), _read_least(least)
    plain = _plain(relation)
    if plain is Neighbours.replace_one:
        fewest = max(fewest, 1)
    if fewest > most or (fewest == most and plain is Neighbours.add_remove):
        raise ValueError("no two data sets of these sizes are neighbours; lower least")
    space = Space(len(records), fewest, most, ordered)
    space.refuse_too_many(plain)
    data = list(space.all())
    table, floats = answers(f, [tuple(records[p] for p in places) for places in data])
    best, pairs = _largest(table, *space.neighbours(data, plain))
    scope = f"{len(data)} data sets of {_sizes(fewest, most)}"
    witnesses = select(
        [
            Witness(
                _counted(records[place] for place in data[one]),
                _counted(records[place] for place in data[other]),
                (table.rows[one], table.rows[other]),
                ordered=ordered,
            )
            for one, other in best
        ]
    )
    return _report(scope, relation, (len(data), pairs), witnesses, claim=claim, floats=floats)


def local(
    f: Function,
    dataset: Iterable[object],
    universe: Iterable[object],
    neighbours: Relation,
    *,
    ordered: bool = False,
) -> Report:
    """Return how far a function moves from one data set to any of its neighbours.

    Records that come in are those of the universe. It depends on the data: noise that is scaled to
    it is not private.

    >>> local(max, (0, 2), universe=range(10), neighbours="replace_one").l1
    Fraction(7, 1)

    Guarantee:
        Neighbours: as given, of this data set only.
        Loss: not private; it tells about the data.
        Numerics: exact, for the numbers that the function returned.
        Proof: docs/proofs/sensitivity.md, theorem 10.
    """
    relation = read_relation(neighbours)
    here, records = tuple(dataset), listed("universe", universe)
    added = _plain(relation) is Neighbours.add_remove
    places = range(len(here) + 1) if ordered else [len(here)]
    total = len(here) + len(places) * len(records) if added else len(here) * len(records)
    if total > MOST_DATASETS:
        raise ValueError(too_many(f"{total} neighbours", "a smaller universe"))
    if added:
        around = [here[:p] + here[p + 1 :] for p in range(len(here))]
        around += [(*here[:p], new, *here[p:]) for p in places for new in records]
    else:
        around = [(*here[:p], new, *here[p + 1 :]) for p in range(len(here)) for new in records]
    table, floats = answers(f, [here, *around], describe=_size_of)
    ends = np.arange(1, len(around) + 1)
    best, pairs = _largest(table, [np.zeros_like(ends)], [ends])
    witnesses = select(
        [
            Witness(_counted(here), _counted(around[other - 1]), (table.rows[0], table.rows[other]))
            for _, other in best
        ]
    )
    scope = f"the neighbours of a data set of {_sizes(len(here), len(here))}"
    return _report(scope, relation, (len(around) + 1, pairs), witnesses, floats=floats)


def _brief(records: tuple[object, ...]) -> str:
    text = repr(records)
    return f"the data set {text if len(text) <= 60 else text[:57] + '...'}"


def _size_of(records: tuple[object, ...]) -> str:
    """Describe a data set that may be private."""
    return f"a data set of {_sizes(len(records), len(records))}"


class Answers(NamedTuple):
    """The answers to all data sets: exact, and as integers that count one in ``unit`` parts.

    Guarantee: none; private if the data are.
    """

    rows: list[Vector]
    integers: Table
    unit: int


def _largest(
    answers: Answers, ones: Sequence[Table], others: Sequence[Table]
) -> tuple[list[tuple[int, int]], int]:
    """Return a pair that moves most for each norm, and how many were compared."""
    top: dict[str, tuple[int, tuple[int, int]]] = {}
    compared = 0
    for one, other in zip(ones, others, strict=True):
        compared += len(one)
        moves = answers.integers[other] - answers.integers[one]
        if not moves.size:
            continue
        sizes = np.abs(moves)
        all_norms = (sizes.sum(axis=1), (moves * moves).sum(axis=1), sizes.max(axis=1))
        for name, found in zip(_NORMS, all_norms, strict=True):
            place = int(found.argmax())
            if name not in top or found[place] > top[name][0]:
                top[name] = (int(found[place]), (int(one[place]), int(other[place])))
    return [pair for _, pair in top.values()], compared


def answers(
    f: Function,
    data: list[tuple[object, ...]],
    describe: Callable[[tuple[object, ...]], str] = _brief,
) -> tuple[Answers, bool]:
    """Call the function on all data sets, and write the answers as integers of a common unit.

    Guarantee: none; private if the data are.
    """
    rows, floats = [], False
    for records in data:
        try:
            answer = f(records)
        except Exception as error:
            hint = "; leave it out with least=1" if not records else ""
            raise ValueError(
                f"the function fails on {describe(records)} with {type(error).__name__}{hint}"
            ) from error
        vector, binary = _vector(answer, describe(records))
        rows.append(vector)
        floats = floats or binary
    if len({len(row) for row in rows}) > 1:
        raise ValueError("the function must return equally many numbers for all data sets")
    if not rows[0]:
        raise ValueError(f"{_ANSWERS}, not an empty list")
    unit = math.lcm(*{x.denominator for row in rows for x in row})
    whole = [[x.numerator * (unit // x.denominator) for x in row] for row in rows]
    largest = max(abs(x) for row in whole for x in row)
    fits = len(rows[0]) * (2 * largest) ** 2 < _SAFE
    return Answers(rows, np.array(whole, dtype=np.int64 if fits else object), unit), floats


def _vector(answer: object, where: str) -> tuple[Vector, bool]:
    if isinstance(answer, np.ndarray):
        answer = answer.ravel().tolist()
    entries = list(answer) if isinstance(answer, list | tuple) else [answer]
    found = []
    for x in entries:
        if is_integer(x) or isinstance(x, bool | np.bool_):
            found.append(Fraction(int(x)))
        elif isinstance(x, float | np.floating | Decimal | Fraction):
            if not isinstance(x, Fraction) and not math.isfinite(x):
                raise ValueError(f"{_ANSWERS}, not {x} as for {where}")
            above, below = x.as_integer_ratio()
            found.append(Fraction(int(above), int(below)))
        else:
            raise TypeError(f"{_ANSWERS}, not {type(x).__name__}")
    return tuple(found), any(isinstance(x, float | np.floating) for x in entries)


def _report(
    scope: str,
    relation: Neighbours | Units,
    compared: tuple[int, int],
    witnesses: tuple[Witness, ...],
    *,
    claim: Sensitivity | Fraction | None = None,
    floats: bool,
) -> Report:
    nothing = Fraction(0)
    return Report(
        scope=scope,
        neighbours=relation,
        datasets=compared[0],
        pairs=compared[1],
        l1=max((w.l1 for w in witnesses), default=nothing),
        l2_squared=max((w.l2_squared for w in witnesses), default=nothing),
        linf=max((w.linf for w in witnesses), default=nothing),
        witnesses=witnesses,
        claimed=claim,
        floats=floats,
    )


def _counted(records: Iterable[object]) -> tuple[Rows, ...]:
    """Collect records that follow each other and are the same object, as equality may be odd."""
    groups = (list(same) for _, same in itertools.groupby(records, key=id))
    return tuple(Rows(same[0], len(same)) for same in groups)


def _read_claim(
    claimed: Sensitivity | Number | None, relation: Neighbours | Units
) -> Sensitivity | Fraction | None:
    if isinstance(claimed, Sensitivity):
        if _plain(claimed.neighbours) is not _plain(relation):
            raise ValueError(
                f"the claim is about {_plain(claimed.neighbours)}, not about {_plain(relation)}"
            )
        return claimed
    return None if claimed is None else nonnegative("claimed", claimed)


def _plain(relation: Neighbours | Units) -> Neighbours:
    return relation.neighbours if isinstance(relation, Units) else relation


def _read_least(least: object) -> int:
    return 0 if is_integer(least) and least == 0 else positive_whole("least", least)


def listed(name: str, values: Iterable[object]) -> list[object]:
    """Return a list that is not empty.

    Guarantee: none needed; messages speak of types only.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of records, not {type(values).__name__}")
    found = list(values)
    if not found:
        raise ValueError(f"{name} must hold at least one record")
    return found


def _sizes(fewest: int, most: int) -> str:
    if fewest == most:
        return "1 record" if most == 1 else f"{most} records"
    return f"up to {most} records" if fewest == 0 else f"{fewest} to {most} records"
