# SPDX-License-Identifier: Apache-2.0
"""Finite public lists of values: what can be grouped by without discovering keys.

Of public keys those are left out that no row can have, because the question leaves such rows out:
``WHERE disease IN ('flu', 'asthma') GROUP BY disease`` asks about two keys, not about all that are
declared. The condition is public, so leaving the others out tells nothing; keys are only removed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.catalog.model import Column
from sordino.query.operations import SEE_MISSING, Doubtful, apply, evaluate
from sordino.query.tree import (
    Bins,
    Call,
    Derive,
    Field,
    JoinPublic,
    JoinUnit,
    Key,
    Literal,
    Rows,
    Scalar,
    Where,
    Window,
)
from sordino.query.types import Range, Type, Value

Domain: TypeAlias = "tuple[Value, ...] | None"
PublicValues: TypeAlias = "Callable[[str, str], tuple[Value, ...]]"  # of a table and its column

MOST = 10_000  # values that a list has at most
_STEPS = 50_000  # operations that are tried to find one
_STEPS_IN_ALL = 500_000  # and for a whole question
_PARTS = {"quarter": (1, 4), "month": (1, 12), "day": (1, 31), "dow": (0, 6), "hour": (0, 23)}
_BRANCHING = ("case", "coalesce")
_VALUE = 48  # bytes of a number or a day in a list
_NUMBERS: Shelf[Domain] = Shelf(2 * MEGABYTE, weigh=lambda found: _VALUE * (1 + len(found or ())))
_CALENDARS: Shelf[tuple[date, ...] | None] = Shelf(
    2 * MEGABYTE, weigh=lambda found: _VALUE * (1 + len(found or ()))
)


def of_column(column: Column, public: PublicValues | None = None) -> Domain:
    """Return the public values of a column: listed, from a public table, or from its bounds.

    >>> of_column(Column("ward", Type.INTEGER, bounds=Range(Fraction(1), Fraction(4))))
    (1, 2, 3, 4)
    """
    if column.keys is not None:
        return column.keys
    if column.keys_from is not None:
        return None if public is None else ordered(public(*column.keys_from))
    if column.type is Type.BOOLEAN:
        return (False, True)
    if column.bounds is None:
        return None
    if column.type is Type.INTEGER:
        return _integers(column.bounds)
    return _days(column.bounds) if column.type is Type.DATE else None


class TooMuchWork(Exception):
    """A question has too many computed values for their lists to be found."""


@dataclass(slots=True)
class Lists:
    """The public lists of one question: what computed fields mean, and which lists were found.

    Lists are found when they are needed. All the work for one question is bounded.
    """

    meanings: dict[str, Scalar] = field(default_factory=dict)  # of computed fields, by name
    _found: dict[str, Domain] = field(default_factory=dict)
    _steps: int = 0
    _extra: int = 0  # steps to leave values out again

    def of(self, scalar: Scalar) -> Domain:
        """Return all values that a scalar is expected to have, or None if no short list holds them.

        A missing value is on the list only where the question itself names one.
        """
        match scalar:
            case Literal(value=value):
                return (value,)
            case Field():
                return self._of_field(scalar)
            case Call(type=Type.REAL):
                return None
            case Call(type=Type.BOOLEAN, operation=operation) if operation not in _BRANCHING:
                return (False, True)
            case Call():
                return self._of_call(scalar)

    def known(self, wanted: Field) -> Domain:
        """Return the list of a field, or None if there is none or it takes too long to find."""
        try:
            return self._of_field(wanted)
        except TooMuchWork:
            return None

    def affords(self, steps: int) -> bool:
        """Tell whether the question may take so many further steps, and count them if so."""
        if self._extra + steps > _STEPS_IN_ALL:
            return False
        self._extra += steps
        return True

    def _of_field(self, known: Field) -> Domain:
        if known.domain is not None or known.name not in self.meanings:
            return known.domain
        if known.name not in self._found:
            self._found[known.name] = self.of(self.meanings[known.name])
        return self._found[known.name]

    def _of_call(self, call: Call) -> Domain:
        try:
            found = self._composed(call) if branches(call) else self._evaluated(call)
        except Doubtful:
            found = None
        return found or _of_part(call) or _of_range(call)

    def _composed(self, call: Call) -> Domain:
        """Return what an operation gives for all values of its arguments, branch by branch."""
        if call.operation == "case":
            return self._union((*call.arguments[1::2], call.arguments[-1]))
        if call.operation == "coalesce":
            return self._union(call.arguments)
        see = call.operation in SEE_MISSING
        known = self._all(call.arguments, 1, missing=see)
        if known is None:
            return None
        values = _applied(call, known)
        if see:
            values |= _applied(call, _with_missing(known)) - {None}
        return ordered(values)

    def _evaluated(self, call: Call) -> Domain:
        """Return what an operation gives for all values of the fields that it uses.

        A field may always be missing, which matters if some part gives a value then.
        """
        fields = tuple(dict.fromkeys(part for part in _parts(call) if isinstance(part, Field)))
        see = _uses(call, SEE_MISSING)
        known = self._all(fields, sum(1 for _ in _parts(call)), missing=see)
        if not fields or known is None:
            return None
        names = [known_field.name for known_field in fields]
        values = {
            evaluate(call, dict(zip(names, row, strict=True)), sure=True)
            for row in product(*(_with_missing(known) if see else known))
            if see or None not in row
        }
        named = {None} if any(None in domain for domain in known) else set()
        return ordered((values - {None}) | named)

    def _union(self, scalars: Iterable[Scalar]) -> Domain:
        values: set[Value] = set()
        for scalar in scalars:
            domain = self.of(scalar)
            if domain is None:
                return None
            values.update(domain)
        self._work(len(values))
        return ordered(values) if len(values) <= MOST else None

    def _all(
        self, scalars: Iterable[Scalar], parts: int, *, missing: bool
    ) -> list[tuple[Value, ...]] | None:
        """Return the lists of all scalars, unless some has none or they make too many rows.

        With ``missing``, rows are counted in which any of the scalars may be missing.
        """
        known: list[tuple[Value, ...]] = []
        for scalar in scalars:
            domain = self.of(scalar)
            if domain is None:
                return None
            known.append(domain)
        rows = math.prod(map(len, _with_missing(known) if missing else known))
        if rows > MOST or rows * parts > _STEPS:
            return None
        self._work(rows * parts)
        return known

    def _work(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _STEPS_IN_ALL:
            raise TooMuchWork


def ordered(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return values once each and in order, a missing one last.

    >>> ordered(["b", None, "a", "b"])
    ('a', 'b', None)
    """
    distinct = set(values)
    missing = (None,) if None in distinct else ()
    return (*sorted(distinct - {None}, key=_rank), *missing)


def edges(bins: Bins) -> tuple[Fraction, ...]:
    """Return the ends of all bins: the lower end of each, and the upper end of the last.

    >>> [str(edge) for edge in edges(Bins(Range(Fraction(0), Fraction(1)), 4))]
    ['0', '1/4', '1/2', '3/4', '1']
    """
    width = (bins.range.high - bins.range.low) / bins.count
    return tuple(bins.range.low + width * index for index in range(bins.count + 1))


def _rank(value: Value) -> tuple[str, Value]:
    return (type(value).__name__ if isinstance(value, str | date) else "", value)


def _of_part(call: Call) -> Domain:
    """Return the values of a part of a moment, or the years or days of its bounds."""
    if call.operation in _PARTS:
        low, high = _PARTS[call.operation]
        return tuple(range(low, high + 1))
    if call.type is Type.TIMESTAMP and call.range and call.operation.startswith("trunc_"):
        days = _days(call.range) or ()
        hours = range(24) if call.operation == "trunc_hour" else (0,)
        if len(days) * len(hours) <= MOST:
            moments = (datetime(d.year, d.month, d.day, h) for d in days for h in hours)
            return ordered({apply(call.operation, [moment], call.type) for moment in moments})
    return None


def _of_range(call: Call) -> Domain:
    if call.type is Type.INTEGER and call.range is not None:
        return _integers(call.range)
    return None


@kept_on(_NUMBERS)
def _integers(bounds: Range) -> Domain:
    low, high = math.ceil(bounds.low), math.floor(bounds.high)
    return tuple(range(low, high + 1)) if 0 <= high - low < MOST else None


@kept_on(_CALENDARS)
def _days(years: Range) -> tuple[date, ...] | None:
    low, high = math.ceil(years.low), math.floor(years.high)
    if not 1 <= low <= high <= 9999:
        return None
    first, last = date(low, 1, 1), date(high, 12, 31)
    count = (last - first).days + 1
    return tuple(first + timedelta(days=n) for n in range(count)) if count <= MOST else None


def branches(scalar: Scalar) -> bool:
    """Tell whether a value may come from elsewhere than the lists of the fields."""
    return _uses(scalar, _BRANCHING)


def _uses(scalar: Scalar, operations: Container[str]) -> bool:
    return any(isinstance(p, Call) and p.operation in operations for p in _parts(scalar))


def _applied(call: Call, known: list[tuple[Value, ...]]) -> set[Value]:
    return {apply(call.operation, row, call.type, sure=True) for row in product(*known)}


def _with_missing(known: list[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    return [domain if None in domain else (*domain, None) for domain in known]


def _parts(scalar: Scalar) -> Iterator[Scalar]:
    yield scalar
    if isinstance(scalar, Call):
        for argument in scalar.arguments:
            yield from _parts(argument)


def narrowed(key: Key, rows: Rows, lists: Lists) -> Key:
    """Return a key without the public values that no row left by the conditions can have.

    A key that would have no value left at all is returned with an empty list, unless rows with
    values that are not on the list have a group of their own: then nothing is removed.
    """
    if key.domain is None:
        return key
    met = list(_conditions(rows))
    stand_in = Field("", key.type, "")
    direct = [other for part in met if (other := _put(part, key.scalar, stand_in)) is not None]
    direct = [part for part in direct if lists.affords(_size(part) * len(key.domain))]
    kept = tuple(v for v in key.domain if all(_true(part, stand_in, v) for part in direct))
    named = _named(direct, stand_in)
    closed = named is not None and named <= set(key.domain)
    if key.other is None or (closed and kept):
        return replace(key, domain=kept, other=None)
    return replace(key, domain=kept) if kept else key


def _true(condition: Scalar, field: Field, value: Value) -> bool:
    """Tell whether a condition may be true: it is, or engines may differ on it."""
    try:
        return evaluate(condition, {field.name: value}, sure=True) is True
    except Doubtful:
        return True


def _conditions(rows: Rows) -> Iterator[Scalar]:
    """Yield conditions that every row meets, over fields that the rows have."""
    match rows:
        case Where(rows=below, condition=condition):
            yield from _conjuncts(condition)
            yield from _conditions(below)
        case Window(rows=below) | JoinPublic(rows=below) | JoinUnit(rows=below, outer=True):
            yield from _conditions(below)
        case JoinUnit(rows=below, other=other):
            yield from _conditions(below)
            yield from _conditions(other)
        case Derive(rows=below, fields=fields):
            same = [(new, old) for new, old in fields if isinstance(old, Field)]
            for condition in _conditions(below):
                yield from (
                    put for new, old in same if (put := _put(condition, old, new)) is not None
                )
        case _:
            return


def _conjuncts(condition: Scalar) -> Iterator[Scalar]:
    if isinstance(condition, Call) and condition.operation == "and":
        for argument in condition.arguments:
            yield from _conjuncts(argument)
    else:
        yield condition


def _put(scalar: Scalar, old: Scalar, new: Field) -> Scalar | None:
    """Return a scalar with a field in place of a part; None if it uses any other field."""
    if scalar == old:
        return new
    match scalar:
        case Literal():
            return scalar
        case Field():
            return None
        case Call(arguments=arguments):
            put = [_put(argument, old, new) for argument in arguments]
            there = tuple(part for part in put if part is not None)
            return replace(scalar, arguments=there) if len(there) == len(put) else None


def _named(direct: list[Scalar], field: Field) -> set[Value] | None:
    """Return the values that a condition lists one by one, if one does."""
    for part in direct:
        if isinstance(part, Call) and part.operation in ("eq", "in"):
            first, *rest = sorted(part.arguments, key=lambda a: isinstance(a, Literal))
            if first == field and all(isinstance(choice, Literal) for choice in rest):
                return {choice.value for choice in rest if isinstance(choice, Literal)}
    return None


def _size(scalar: Scalar) -> int:
    inside = scalar.arguments if isinstance(scalar, Call) else ()
    return 1 + sum(map(_size, inside))
