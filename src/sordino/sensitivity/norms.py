# SPDX-License-Identifier: Apache-2.0
"""A sensitivity is a value: three norms, the relation they hold for, and data that shows why.

The relation says which change to the data is hidden; it comes first, with the arguments that
sensitivities share.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sordino.numbers.balls import ball, round_up
from sordino.numbers.rational import (
    Integer,
    Number,
    covering,
    is_integer,
    nonnegative,
    positive,
    positive_whole,
    up_as_printed,
    written,
)
from sordino.privacy.loss import Loss

_NO_WAY_BACK = (
    "a promise about replacing a record says nothing about adding or removing one: all its data "
    "sets have the same size, so the size itself may be told; find the sensitivity under "
    "add_remove and make the mechanism for that"
)
Relation: TypeAlias = "str | Neighbours | Units"
_LONGEST_INTEGER = 64  # bits of integers that are written out
_LARGEST_DENOMINATOR = 10_000  # fractions beyond are shown as decimals


class Neighbours(enum.StrEnum):
    """Which two data sets must be hard to tell apart.

    ``add_remove``: one has a record more than the other. ``replace_one``: both have the same public
    number of records and differ in one of them. Members are equal to their names as strings.

    >>> Neighbours("add_remove") is Neighbours.add_remove, Neighbours.add_remove == "add_remove"
    (True, True)
    """

    add_remove = "add_remove"
    replace_one = "replace_one"


add_remove, replace_one = Neighbours.add_remove, Neighbours.replace_one


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Units:
    """The user level: what is hidden is a person, with all of that person's rows.

    A person has rows in at most ``groups`` groups; in each of them at most ``rows`` rows, or rows
    whose values add up to at most ``amount`` in absolute value, or both. A person may have no rows
    at all. The system that reads the data must see to these limits, before it adds anything up.

    >>> Units(neighbours="add_remove", groups=3, rows=2)
    Units(neighbours='add_remove', groups=3, rows=2)

    Guarantee:
        Neighbours: all rows of one person added or removed (add_remove), or the rows of one person
            exchanged for any others within the limits (replace_one); how many people there are is
            public then, and how many rows there are is not.
        Loss: none by itself.
        Numerics: exact; a float amount counts as the larger of the decimal and of the double.
        Proof: docs/proofs/sensitivity.md, theorem 8.
    """

    neighbours: Neighbours
    groups: int
    rows: int | None
    amount: Fraction | None
    whole: bool

    def __init__(
        self,
        *,
        neighbours: str,
        groups: Integer,
        rows: Integer | None = None,
        amount: Number | None = None,
    ) -> None:
        whole = amount is None or is_integer(amount)
        keep = object.__setattr__
        keep(self, "neighbours", read_neighbours(neighbours))
        keep(self, "groups", positive_whole("groups", groups))
        keep(self, "rows", None if rows is None else positive_whole("rows", rows))
        keep(self, "amount", None if amount is None else _read_amount(amount))
        keep(self, "whole", whole)

    def __repr__(self) -> str:
        parts = [f"neighbours={str(self.neighbours)!r}", f"groups={self.groups}"]
        if self.rows is not None:
            parts.append(f"rows={self.rows}")
        if self.amount is not None:
            plain = _read_amount(float(self.amount)) == self.amount and not self.whole
            parts.append(f"amount={float(self.amount) if plain else written(self.amount)}")
        return f"Units({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        whole = self.whole and self.amount is not None
        amount = self.amount.numerator if whole and self.amount is not None else self.amount
        return _units, (str(self.neighbours), self.groups, self.rows, amount)


def read_neighbours(value: object) -> Neighbours:
    """Read a relation, given as a member of Neighbours or as its name.

    >>> read_neighbours("replace_one") is Neighbours.replace_one
    True
    """
    if isinstance(value, Units):
        raise TypeError(
            "neighbours must be 'add_remove' or 'replace_one' here, not Units; this is about "
            "single records"
        )
    if not isinstance(value, str):
        shown = f"a value of type {type(value).__name__}"
        raise TypeError(f"neighbours must be 'add_remove' or 'replace_one', got {shown}")
    try:
        return Neighbours(value)
    except ValueError:
        shown = repr(str(value))[:60]
        raise ValueError(f"neighbours must be 'add_remove' or 'replace_one', got {shown}") from None


def read_relation(value: object) -> Neighbours | Units:
    """Read a relation between records, or Units for one between people."""
    return value if isinstance(value, Units) else read_neighbours(value)


def convert(loss: Loss, *, given: str, wanted: str) -> Loss:
    """Return a loss for the wanted relation, from one that holds for the given relation.

    To replace a record is to remove one and to add one: two steps of add_remove. So a pure epsilon
    becomes 2 epsilon, (epsilon, delta) becomes (2 epsilon, (1 + e^epsilon) delta), and rho becomes
    4 rho. Where the query is known, its sensitivity under replace_one often costs less: a
    count moves by 1 under both relations. The other way round there is no conversion.

    >>> from sordino.privacy import losses
    >>> convert(losses.pure(epsilon=0.5), given="add_remove", wanted="replace_one")
    Loss(Pure(epsilon=1))

    Guarantee:
        Neighbours: ``wanted``, if the loss holds for ``given``.
        Loss: that of a group of two; the same loss if both relations are the same.
        Numerics: as for Loss.group.
        Proof: docs/proofs/composition.md, theorem 11; docs/proofs/sensitivity.md, theorem 1.
    """
    if not isinstance(loss, Loss):
        raise TypeError(f"convert takes a loss, got a value of type {type(loss).__name__}")
    held, asked = read_neighbours(given), read_neighbours(wanted)
    if loss.neighbours not in (None, held):
        raise ValueError(f"this loss holds for {loss.neighbours}, not for {held}")
    if held == asked:
        return loss
    if held is Neighbours.replace_one:
        raise ValueError(_NO_WAY_BACK)
    return loss.group(2)


def _read_amount(value: object) -> Fraction:
    return (positive if is_integer(value) else covering)("amount", value)


def _units(neighbours: str, groups: int, rows: int | None, amount: Number | None) -> Units:
    return Units(neighbours=neighbours, groups=groups, rows=rows, amount=amount)


class Bounds(NamedTuple):
    """The range that values are clamped to; whole if both ends were given as integers."""

    low: Fraction
    high: Fraction
    whole: bool

    @property
    def width(self) -> Fraction:
        """How far one value can move."""
        return self.high - self.low

    @property
    def largest(self) -> Fraction:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    @property
    def extreme(self) -> Fraction:
        """The end with the largest absolute value."""
        return self.high if self.high >= -self.low else self.low

    def __str__(self) -> str:
        return f"from {shown(self.low)} to {shown(self.high)}"


def read_number(name: str, value: object) -> Fraction:
    """Read a finite number of either sign.

    >>> read_number("a number", -0.1)
    Fraction(-1, 10)
    """
    if isinstance(value, bool) or not isinstance(
        value, int | float | Fraction | Decimal | np.integer | np.floating
    ):
        raise TypeError(f"{name} must be a number, got a value of type {type(value).__name__}")
    if isinstance(value, float | Decimal | np.floating) and not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number, got {value!s}")
    number = int(value) if is_integer(value) else value
    return -positive(name, -number) if number < 0 else nonnegative(name, number)


def read_bounds(value: object, *, name: str = "bounds") -> Bounds:
    """Read a pair (low, high) that values are clamped to.

    A float is the decimal that it prints as, unless the double it stands for lies a little outside
    of it: values clamped to that double are inside the bounds too.

    >>> read_bounds((0, 100))
    Bounds(low=Fraction(0, 1), high=Fraction(100, 1), whole=True)
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (low, high), such as (0, 100)")
    low, high = (read_number(f"{name}[{place}]", end) for place, end in enumerate(value))
    if low > high:
        raise ValueError(f"{name} must be (low, high), got a low end above the high end")
    return Bounds(
        low=min(low, binary(value[0], low)),
        high=max(high, binary(value[1], high)),
        whole=all(map(is_integer, value)),
    )


def read_records(value: object, query: str, *, instead: str) -> Neighbours:
    """Read a relation between records; for Units say what to do instead."""
    if isinstance(value, Units):
        raise ValueError(f"{query} has no formula for Units; {instead}")
    return read_neighbours(value)


def shown(x: Fraction) -> str:
    """Write a number for people: whole, a short decimal, or a small fraction.

    >>> shown(Fraction(3)), shown(Fraction(1, 8)), shown(Fraction(2, 3)), shown(Fraction(0.1))
    ('3', '0.125', '2/3', '0.1')
    """
    if x.denominator == 1 and x.numerator.bit_length() <= _LONGEST_INTEGER:
        return str(x.numerator)
    try:
        printed = repr(float(x))
    except OverflowError:
        return f"{Decimal(x.numerator) / Decimal(x.denominator):.6e}"
    if Fraction(printed) != x and x.denominator <= _LARGEST_DENOMINATOR:
        return f"{x.numerator}/{x.denominator}"
    return printed


def binary(value: object, read: Fraction) -> Fraction:
    """Return the number that a float is in binary, or what was read for other numbers."""
    if not isinstance(value, float | np.floating):
        return read
    above, below = value.as_integer_ratio()
    return Fraction(int(above), int(below))


# The value. ---------------------------------------------------------------------------------------

Vector: TypeAlias = tuple[Fraction, ...]

_MOST_LINES = 10  # of a data set that is printed
_MOST_ENTRIES = 6  # of an answer that is printed
_LONGEST = 36  # characters of one entry
Recipe: TypeAlias = "Callable[[], tuple[Witness, ...]]"
_MOST_BITS = 4096  # of a number that is written out in full


class Rows(NamedTuple):
    """So many equal records."""

    record: object
    times: int = 1

    def __str__(self) -> str:
        return _line(_cut(_record(self.record)), self.times)


@dataclass(frozen=True, slots=True)
class Witness:
    """Two neighbouring data sets, the answers to both, and the norms whose maximum they reach.

    The order of the records matters only if it is ``ordered``.
    """

    one: tuple[Rows, ...]
    other: tuple[Rows, ...]
    answers: tuple[Vector, Vector]
    attains: tuple[str, ...] = ("l1", "l2", "linf")
    ordered: bool = False

    @property
    def difference(self) -> Vector:
        """What is left of one answer when the other is taken away."""
        return tuple(a - b for a, b in zip(*self.answers, strict=True))

    @property
    def l1(self) -> Fraction:
        """The sum of the absolute differences."""
        return sum(map(abs, self.difference), Fraction(0))

    @property
    def l2_squared(self) -> Fraction:
        """The sum of the squared differences."""
        return sum((x * x for x in self.difference), Fraction(0))

    @property
    def linf(self) -> Fraction:
        """The largest absolute difference."""
        return max(map(abs, self.difference), default=Fraction(0))

    def data(self) -> tuple[list[object], list[object]]:
        """Return both data sets record by record."""
        both = (self.one, self.other)
        one, other = ([r.record for r in rows for _ in range(r.times)] for rows in both)
        return one, other

    def __str__(self) -> str:
        """Write both data sets side by side; unless they are ordered, what they share first."""
        lines = [("", "one", "other")]
        if self.ordered:
            both = map(str, self.one), map(str, self.other)
            pairs = list(itertools.zip_longest(*both, fillvalue=""))
        else:
            pairs = _aligned(self.one, self.other)
        for place, (left, right) in enumerate(pairs[:_MOST_LINES]):
            lines.append(("" if place else "records", left, right))
        if not pairs:
            lines.append(("records", "none", "none"))
        if len(pairs) > _MOST_LINES:
            more = f"... {len(pairs) - _MOST_LINES} more"
            lines.append(("", more, more))
        first, second = self.answers
        lines.append(("answer", _vector(first), _vector(second)))
        lines.append(("moved by", _vector(tuple(map(abs, self.difference))), ""))
        wide = max(len(left) for _, left, _ in lines)
        return "\n".join(f"  {a:<10}{b:<{wide}}   {c}".rstrip() for a, b, c in lines)


def of_number(
    one: Iterable[Rows], other: Iterable[Rows], answers: tuple[Fraction | int, Fraction | int]
) -> Witness:
    """Return the witness for a query whose answer is a single number."""
    first, second = ((Fraction(answer),) for answer in answers)
    return Witness(kept(one), kept(other), (first, second))


def select(candidates: Sequence[Witness]) -> tuple[Witness, ...]:
    """Return as few witnesses as attain the largest norms of all, with the norms they attain."""
    norms: dict[str, Callable[[Witness], Fraction]] = {
        "l1": lambda w: w.l1,
        "l2": lambda w: w.l2_squared,
        "linf": lambda w: w.linf,
    }
    top = {name: max(map(norm, candidates)) for name, norm in norms.items() if candidates}
    found: list[Witness] = []
    left = set(top)
    for name, largest in top.items():
        if name not in left:
            continue
        best = [w for w in candidates if norms[name](w) == largest]
        attained = [tuple(n for n in top if norms[n](w) == top[n]) for w in best]
        most = max(range(len(best)), key=lambda place: len(attained[place]))
        found.append(replace(best[most], attains=attained[most]))
        left -= set(attained[most])
    return tuple(found)


def kept(rows: Iterable[Rows]) -> tuple[Rows, ...]:
    """Leave out what occurs zero times."""
    return tuple(row for row in rows if row.times > 0)


def _aligned(one: Sequence[Rows], other: Sequence[Rows]) -> list[tuple[str, str]]:
    """Write both data sets line by line: the records that they share, then the rest."""
    left, right = _times(one), _times(other)
    common = {text: min(left[text], right.get(text, 0)) for text in left}
    pairs = [(_line(text, n), _line(text, n)) for text, n in common.items() if n]
    only = [_line(text, n - common[text]) for text, n in left.items() if n > common[text]]
    rest = [
        _line(text, n - common.get(text, 0)) for text, n in right.items() if n > common.get(text, 0)
    ]
    return pairs + list(itertools.zip_longest(only, rest, fillvalue=""))


def _times(rows: Sequence[Rows]) -> dict[str, int]:
    found: dict[str, int] = {}
    for record, times in rows:
        text = _cut(_record(record))
        found[text] = found.get(text, 0) + times
    return found


def _line(text: str, times: int) -> str:
    return text if times == 1 else f"{times} × {text}"


def _record(record: object) -> str:
    if isinstance(record, Fraction):
        return shown(record)
    if isinstance(record, str):
        return record
    if isinstance(record, tuple) and record:
        return f"({', '.join(map(_record, record))})"
    return repr(record)


def _vector(values: Vector) -> str:
    if len(values) == 1:
        return _cut(shown(values[0]))
    entries = [shown(value) for value in values[:_MOST_ENTRIES]]
    if len(values) > _MOST_ENTRIES:
        entries.append(f"... {len(values) - _MOST_ENTRIES} more")
    return f"({', '.join(entries)})"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Sensitivity:
    """How far one unit can move the answer to a query, in three norms.

    ``l1`` is the largest sum of absolute differences, for Laplace noise; ``l2_squared`` the largest
    sum of squared differences, exactly, and ``l2`` its root as a double rounded up, for Gaussian
    noise; ``linf`` the largest single difference. ``whole`` tells whether all answers are integers.
    ``witnesses`` are pairs of neighbouring data sets that attain the norms; ``witness`` is the
    first one, which attains L1.

    Own claims can be made in the same form, and tested with ``check``; ``recipe`` is a function
    without arguments that returns the witnesses. A norm that is a float counts as the decimal that
    it prints as or as the binary number that it is, whichever is larger.

    >>> Sensitivity(query="my sum", l1=3, l2_squared=5, linf=2, neighbours="add_remove").l2
    2.23606797749979

    Guarantee:
        Neighbours: ``neighbours``; Units stand for people with all their rows.
        Loss: none by itself; noise is scaled to it.
        Numerics: exact; ``l2`` is rounded up.
        Proof: docs/proofs/sensitivity.md.
    """

    query: str
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    neighbours: Neighbours | Units
    whole: bool
    _recipe: Recipe | None = field(compare=False)

    def __init__(
        self,
        *,
        query: str,
        l1: Number,
        l2_squared: Number,
        linf: Number,
        neighbours: Relation,
        whole: bool = False,
        recipe: Recipe | None = None,
    ) -> None:
        one, two = _amount("l1", l1), _amount("l2_squared", l2_squared)
        top = _amount("linf", linf)
        if not top * top <= two <= one * one:
            raise ValueError("no vector has these norms: linf <= l2 <= l1 must hold")
        if whole and any(x.denominator != 1 for x in (one, two, top)):
            raise ValueError("integers move by integers: with whole=True all norms must be whole")
        keep = object.__setattr__
        keep(self, "query", str(query))
        keep(self, "l1", one)
        keep(self, "l2_squared", two)
        keep(self, "linf", top)
        keep(self, "neighbours", read_relation(neighbours))
        keep(self, "whole", bool(whole))
        keep(self, "_recipe", recipe)

    @property
    def l2(self) -> float:
        """The root of ``l2_squared``, as the least double that reads as at least that."""
        return root_up(self.l2_squared)

    @property
    def l1_number(self) -> int | Fraction:
        """L1 as Laplace noise takes it: an int if all answers are integers, else a Fraction."""
        _refuse_zero(self.l1)
        return self.l1.numerator if self.whole else self.l1

    @property
    def l2_number(self) -> int | Fraction:
        """L2 as Gaussian noise takes it: an int if it is one and all answers are integers.

        Otherwise it is a Fraction rounded up; then ``l2_squared`` is still exact.
        """
        _refuse_zero(self.l2_squared)
        up = Fraction(repr(self.l2))
        return up.numerator if self.whole and up * up == self.l2_squared else up

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        """Pairs of neighbouring data sets; each says which norms it attains."""
        return () if self._recipe is None else self._recipe()

    @property
    def witness(self) -> Witness | None:
        """A pair of neighbouring data sets that attains L1; None if none is known."""
        return next(iter(self.witnesses), None)

    def __repr__(self) -> str:
        relation = self.neighbours if isinstance(self.neighbours, Units) else str(self.neighbours)
        numbers = [
            f"{name}={written(x) if _bits(x) <= _MOST_BITS else shown(x)}"
            for name, x in (("l1", self.l1), ("l2_squared", self.l2_squared), ("linf", self.linf))
        ]
        parts = [f"query={self.query!r}", *numbers, f"neighbours={relation!r}"]
        if self.whole:
            parts.append("whole=True")
        return f"Sensitivity({', '.join(parts)})"

    def __str__(self) -> str:
        """Write one line: the query, the relation and the norms."""
        return f"{self.query}; {described(self.neighbours)}; {norms(self)}"

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = {
            "query": self.query,
            "l1": self.l1,
            "l2_squared": self.l2_squared,
            "linf": self.linf,
            "neighbours": self.neighbours,
            "whole": self.whole,
            "recipe": self._recipe,
        }
        return _make, (arguments,)


def root_up(x: Fraction) -> float:
    """Return the least double that reads as at least the root of a number.

    >>> root_up(Fraction(4)), root_up(Fraction(2)), root_up(Fraction(1, 9))
    (2.0, 1.4142135623730951, 0.33333333333333337)
    """
    above, below = math.isqrt(x.numerator), math.isqrt(x.denominator)
    if above * above == x.numerator and below * below == x.denominator:
        return up_as_printed(Fraction(above, below)) + 0.0
    return round_up(lambda: ball(x).sqrt())


def described(neighbours: Neighbours | Units) -> str:
    """Say in words which change to the data a relation is about.

    >>> described(Neighbours.replace_one)
    'one record replaced'
    """
    plain = neighbours.neighbours if isinstance(neighbours, Units) else neighbours
    change = "added or removed" if plain is Neighbours.add_remove else "replaced"
    if not isinstance(neighbours, Units):
        return f"one record {change}"
    groups = "1 group" if neighbours.groups == 1 else f"at most {neighbours.groups} groups"
    limits = []
    if neighbours.rows is not None:
        limits.append(f"at most {neighbours.rows} row{'s' * (neighbours.rows > 1)}")
    if neighbours.amount is not None:
        limits.append(f"an amount of at most {shown(neighbours.amount)}")
    each = f" with {' and '.join(limits)} in each" if limits else ""
    return f"one person {change}, in {groups}{each}"


def norms(found: Any) -> str:
    """Write the three norms of a sensitivity, or the one number they are."""
    if found.l1 == found.linf:
        return f"moves by at most {shown(found.l1)}"
    root = shown(Fraction(found.l2)) if math.isfinite(found.l2) else "inf"
    return f"L1 {shown(found.l1)}, L2 {root}, Linf {shown(found.linf)}"


def _refuse_zero(x: Fraction) -> None:
    if x == 0:
        raise ValueError(
            "this answer does not move at all under its relation; it is public and needs no noise"
        )


def _bits(x: Fraction) -> int:
    return max(x.numerator.bit_length(), x.denominator.bit_length())


def _amount(name: str, value: Number) -> Fraction:
    """Read a norm; what a formula made may have more digits than what people type."""
    if isinstance(value, Fraction) and value >= 0:
        return value
    return nonnegative(name, value) and covering(name, value)


def _make(arguments: dict[str, Any]) -> Sensitivity:
    return Sensitivity(**arguments)
