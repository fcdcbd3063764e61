# SPDX-License-Identifier: Apache-2.0
"""Which change to the data is hidden, and the arguments that sensitivities share."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sordino.numbers.rational import (
    Integer,
    Number,
    covering,
    is_integer,
    nonnegative,
    positive,
    positive_whole,
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
