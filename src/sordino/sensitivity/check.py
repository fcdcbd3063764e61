# SPDX-License-Identifier: Apache-2.0
"""Brute force: any function, on all data sets of a small universe."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.columns import is_missing, number_of
from sordino.numbers.rational import Integer, Number, is_integer, nonnegative, positive_whole
from sordino.sensitivity.norms import (
    Neighbours,
    Relation,
    Rows,
    Sensitivity,
    Units,
    Vector,
    Witness,
    described,
    norms,
    read_neighbours,
    read_relation,
    root_up,
    select,
    shown,
)

Table: TypeAlias = npt.NDArray[Any]
Places: TypeAlias = tuple[int, ...]  # of the records in the universe

MOST_DATASETS = 200_000
MOST_PAIRS = 5_000_000
_MOST_RECORDS = 10_000


class Space(NamedTuple):
    """All data sets of some sizes, as places of records in the universe."""

    kinds: int
    fewest: int
    most: int
    ordered: bool

    def number(self, size: int) -> int:
        """Return how many data sets of a size there are."""
        return self.kinds**size if self.ordered else math.comb(self.kinds + size - 1, size)

    def of(self, size: int) -> Iterable[Places]:
        """Return all data sets of a size."""
        if self.ordered:
            return itertools.product(range(self.kinds), repeat=size)
        return itertools.combinations_with_replacement(range(self.kinds), size)

    def all(self) -> Iterable[Places]:
        """Return all data sets."""
        return itertools.chain.from_iterable(map(self.of, range(self.fewest, self.most + 1)))

    def bigger(self, base: Places) -> Iterable[list[Places]]:
        """Yield the data sets with one record more, of every kind, for each place it can take."""
        kinds = range(self.kinds)
        if not self.ordered:
            yield [tuple(sorted((*base, kind))) for kind in kinds]
            return
        for place in range(len(base) + 1):
            yield [(*base[:place], kind, *base[place:]) for kind in kinds]

    def neighbours(
        self, data: list[Places], relation: Neighbours
    ) -> tuple[list[Table], list[Table]]:
        """Return the numbers of the data sets of all pairs, of the first and of the second.

        Both relations start from data sets with one record less: two that grew from the same one
        differ by a replacement.
        """
        number = {places: n for n, places in enumerate(data)}
        added = relation is Neighbours.add_remove
        bases, grown = [], []
        for size in range(self.fewest if added else self.fewest - 1, self.most):
            for base in self.of(size):
                for bigger in self.bigger(base):
                    bases.append(number.get(base, -1))
                    grown.append([number[places] for places in bigger])
        table = np.array(grown, dtype=np.int64).reshape(-1, self.kinds)
        if added:
            first = np.array(bases, dtype=np.int64)
            return [first] * self.kinds, list(table.T)
        pairs = list(itertools.combinations(range(self.kinds), 2))
        return [table[:, a] for a, _ in pairs], [table[:, b] for _, b in pairs]

    def refuse_too_many(self, relation: Neighbours) -> None:
        """Raise an error if there are more data sets or pairs than can be looked at."""
        if self.most > _MOST_RECORDS:
            raise ValueError(too_many("too many data sets of so many records", "a smaller size"))
        sizes = range(self.fewest, self.most + 1)
        total = sum(map(self.number, sizes))
        if total > MOST_DATASETS:
            raise ValueError(too_many(f"{_big(total)} data sets", "a smaller size or universe"))
        added = relation is Neighbours.add_remove
        each = self.kinds if added else self.kinds * (self.kinds - 1) // 2
        pairs = 0
        for larger in sizes[1:] if added else sizes:
            pairs += self.number(larger - 1) * each * (larger if self.ordered else 1)
        if pairs > MOST_PAIRS:
            what = f"{_big(pairs)} pairs of neighbours"
            raise ValueError(too_many(what, "a smaller size or universe"))


def too_many(what: str, way: str) -> str:
    """Say that there is too much to look at, and the way out."""
    return (
        f"there are {what}, and at most {MOST_DATASETS} data sets and {MOST_PAIRS} pairs are "
        f"looked at; take {way}"
    )


def _big(number: int) -> str:
    return str(number) if number < 10**15 else f"more than 10**{len(str(number)) - 1}"


Claim: TypeAlias = "Sensitivity | Fraction"

_ROUNDING = Fraction(1, 10**9)  # an excess below this share of the claim looks like rounding
_LETTERS = {"l1": "L1", "l2": "L2", "linf": "Linf"}


@dataclass(frozen=True, slots=True)
class Report:
    """The largest moves between all neighbours in a small universe, with the pairs that move most.

    ``datasets`` is how often the function was called and ``pairs`` how many pairs of neighbours
    were compared. ``holds`` tells whether a claim was kept to; None if none was made.

    Guarantee:
        Neighbours: as given, of the data sets that were looked at and of no others.
        Loss: none. A claim that is exceeded is false; one that holds here may fail elsewhere.
        Numerics: exact, for the numbers that the function returned.
        Proof: docs/proofs/sensitivity.md, theorem 10.
    """

    scope: str
    neighbours: Neighbours | Units
    datasets: int
    pairs: int
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    witnesses: tuple[Witness, ...]
    claimed: Claim | None = None
    floats: bool = False

    @property
    def l2(self) -> float:
        """The root of ``l2_squared``, as the least double that reads as at least that."""
        return root_up(self.l2_squared)

    @property
    def witness(self) -> Witness | None:
        """A pair of neighbouring data sets that attains L1; None if nothing moves."""
        return self.witnesses[0] if self.witnesses else None

    @property
    def holds(self) -> bool | None:
        """Whether the claim was kept to by all pairs; a number claims L1."""
        return None if self.claimed is None else not self._exceeded()

    def __bool__(self) -> bool:
        """Refuse: a report of a wrong claim must not pass for a yes."""
        raise TypeError("a report is neither true nor false; read .holds")

    def _exceeded(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Return the norms that are larger than what was claimed, with both numbers."""
        if self.claimed is None:
            return {}
        found = {"l1": self.l1, "l2": self.l2_squared, "linf": self.linf}
        claims = {"l1": self.claimed}
        if isinstance(self.claimed, Sensitivity):
            c = self.claimed
            claims = {"l1": c.l1, "l2": c.l2_squared, "linf": c.linf}
        return {
            name: (found[name], Fraction(claim))
            for name, claim in claims.items()
            if isinstance(claim, Fraction) and found[name] > claim
        }

    def __str__(self) -> str:
        """Write what was looked at, the norms, the fate of the claim, and the worst pairs."""
        lines = [f"{self.scope}; {described(self.neighbours)}; {norms(self)}"]
        broken = self._exceeded()
        for name, (found, claim) in broken.items():
            if self.l1 == self.linf and len(lines) > 1:
                continue  # a single number: all norms say the same
            if name == "l2":
                got, said = f"{root_up(found):.6g}", f"{root_up(claim):.6g}"
            else:
                got, said = shown(found), shown(claim)
            lines.append(f"the claim is wrong: {_LETTERS[name]} of at most {said}, but it is {got}")
        small = all(found - claim <= _ROUNDING * claim for found, claim in broken.values())
        if broken and small and self.floats:
            lines.append(
                "by so little that it may be rounding: let the function return Fractions, or "
                "claim more"
            )
        if self.holds:
            lines.append("the claim holds here")
        shown_pairs = [w for w in self.witnesses if not broken or set(w.attains) & set(broken)]
        return "\n".join([*lines, *_blocks(shown_pairs)])


@dataclass(frozen=True, slots=True)
class Why:
    """The neighbouring data sets that move an answer the most; printing it shows them."""

    title: str
    witnesses: tuple[Witness, ...]

    def __str__(self) -> str:
        """Write the title and the pairs of data sets."""
        return "\n".join([self.title, *_blocks(self.witnesses)])


def why(found: Sensitivity | Report) -> Why:
    """Return why a sensitivity is as large as it is: data sets that attain it, side by side.

    >>> from sordino.sensitivity.sums import sum
    >>> print(why(sum(bounds=(10, 100), neighbours="replace_one")))
    sum of values from 10 to 100; one record replaced; moves by at most 90
                one   other
      records   100   10
      answer    100   10
      moved by  90
    """
    if isinstance(found, Report):
        return Why(str(found).partition("\n")[0], found.witnesses)
    if not isinstance(found, Sensitivity):
        raise TypeError(
            f"why takes a sensitivity or the report of a check, not {type(found).__name__}"
        )
    return Why(str(found), found.witnesses)


def _blocks(witnesses: list[Witness] | tuple[Witness, ...]) -> list[str]:
    """Write each pair, with the norms that it attains if there are several pairs."""
    if len(witnesses) == 1:
        return [str(witnesses[0])]
    lines = []
    for witness in witnesses:
        names = " and ".join(_LETTERS[name] for name in witness.attains)
        lines += [f"for {names}:", str(witness)]
    return lines


_MISSING = ("missing",)  # equal to no record: records that are tuples become longer ones


def distance(one: object, other: object, *, neighbours: str) -> int:
    """Return the least number of steps from neighbour to neighbour between two data sets.

    A data set is a list of records, an array, a column or a table of pandas, whose rows are the
    records; the order of records does not matter. A mapping is a histogram: how often each record
    occurs. Numbers are equal if their values are, missing entries are all equal.

    With add_remove it is the L1 distance of the histograms, and of one data set from nothing, its
    number of records. With replace_one it is half of that, and both must be of one size.

    >>> distance([1, 3, 5, 5], [1, 3, 5], neighbours="add_remove")
    1
    >>> distance([1, 3, 5, 5], [3, 4, 5, 5], neighbours="replace_one")
    1
    >>> distance({1: 1, 3: 1, 5: 2}, {3: 1, 4: 1, 5: 2}, neighbours="add_remove")
    2

    Guarantee:
        Neighbours: as given.
        Loss: not private; it tells about the data.
        Numerics: exact.
        Proof: docs/proofs/sensitivity.md, theorem 11.
    """
    relation = read_neighbours(neighbours)
    _same_columns(one, other)
    here, there = _histogram(one), _histogram(other)
    apart = (here - there).total() + (there - here).total()
    if relation is Neighbours.add_remove:
        return apart
    if here.total() != there.total():
        raise ValueError(
            "data sets of two sizes are no number of replacements apart; use add_remove"
        )
    return apart // 2


def _histogram(data: object) -> Counter[Hashable]:
    if isinstance(data, Mapping):
        return _counts(data)
    return Counter(map(_key, _records(data)))


def _counts(counts: Mapping[Any, object]) -> Counter[Hashable]:
    histogram: Counter[Hashable] = Counter()
    for record, times in counts.items():
        if not is_integer(times):
            raise TypeError(f"a histogram holds whole numbers, not {type(times).__name__}")
        if times < 0:
            raise ValueError("a histogram holds numbers that are not negative")
        histogram[_key(record)] += int(times)
    return histogram


def _records(data: Any) -> Iterable[object]:
    """Return the records one by one; the rows of a table are tuples."""
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError("masked arrays are not read; fill them with .filled(...) first")
    if hasattr(data, "itertuples"):
        return data.itertuples(index=False, name=None)  # type: ignore[no-any-return]
    if isinstance(data, np.ndarray):
        if data.ndim not in (1, 2):
            raise TypeError("an array must be one column of records or a table of rows")
        return data if data.ndim == 1 else map(tuple, data)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise TypeError(f"a data set must be a list of records, not {type(data).__name__}")
    return data


def _key(record: object) -> Hashable:
    """Return what equal records have in common, and no others."""
    if isinstance(record, tuple | list | np.ndarray):
        return ("record", *map(_key, record))
    if is_missing(record):
        return _MISSING
    number = number_of(record)
    if number is not None:
        return number
    if not isinstance(record, Hashable):
        raise TypeError(f"records must be values or tuples of them, not {type(record).__name__}")
    return record


def _same_columns(one: object, other: object) -> None:
    both = [getattr(data, "columns", None) for data in (one, other)]
    if both[0] is not None and both[1] is not None and list(both[0]) != list(both[1]):
        raise ValueError("both tables must have the same columns, in the same order")


Function: TypeAlias = "Callable[[tuple[Any, ...]], Any]"


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
    """Return a list that is not empty."""
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
