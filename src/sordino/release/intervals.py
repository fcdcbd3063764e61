# SPDX-License-Identifier: Apache-2.0
"""Operations on noisy numbers: the value, and an interval for what exact numbers would give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sordino.query.operations import apply
from sordino.query.types import Type, Value

Ends: TypeAlias = "tuple[Fraction, Fraction]"


@dataclass(frozen=True, slots=True)
class Near:
    """A value made from noisy numbers, and where the exact one lies if theirs lie as stated.

    ``ends`` is there for numbers. ``truth`` is there for conditions: what they can be. Where both
    are None, nothing is said, and the exact value may even be missing. What is ``sure`` comes from
    public keys and literals alone and is exact.
    """

    value: Value
    ends: Ends | None = None
    truth: frozenset[bool] | None = None
    sure: bool = False

    @property
    def interval(self) -> Ends | None:
        """The interval of a number, whether it is sure or noisy."""
        if not self.sure:
            return self.ends
        if isinstance(self.value, int | float) and math.isfinite(self.value):
            return Fraction(self.value), Fraction(self.value)
        return None

    @property
    def possible(self) -> frozenset[bool] | None:
        """What a condition can be, whether it is sure or noisy."""
        if self.sure:
            return frozenset({self.value}) if isinstance(self.value, bool) else None
        return self.truth


def exactly(value: Value) -> Near:
    """Return what is public."""
    return Near(value, sure=True)


def operate(operation: str, given: Sequence[Near], kind: Type) -> Near:
    """Return what an operation gives.

    Intervals hold whatever the exact operation gives before it is rounded to a type.
    """
    value = apply(operation, [x.value for x in given], kind)
    if all(x.sure for x in given):
        return exactly(value)
    if operation in _TRUTHS:
        return Near(value, truth=_TRUTHS[operation](given))
    if operation == "case":
        return _case(value, given)
    if operation == "coalesce":
        return _coalesce(value, given)
    ends = _intervals(given)
    if ends is None or operation not in _ENDS or value is None:
        return Near(value)
    return Near(value, ends=_ENDS[operation](*ends))


def _intervals(given: Sequence[Near]) -> list[Ends] | None:
    found = [x.interval for x in given]
    known = [x for x in found if x is not None]
    return known if len(known) == len(found) else None


# Numbers. ----------------------------------------------------------------------------------------


def _mul(a: Ends, b: Ends) -> Ends:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _div(a: Ends, b: Ends) -> Ends | None:
    if b[0] <= 0 <= b[1]:
        return None  # the exact divisor may be 0, or as close to it as can be
    quotients = [x / y for x in a for y in b]
    return min(quotients), max(quotients)


def _abs(a: Ends) -> Ends:
    low, high = sorted((abs(a[0]), abs(a[1])))
    return (Fraction(0) if a[0] <= 0 <= a[1] else low), high


def _each(rule: Callable[[Fraction], Fraction | int]) -> Callable[[Ends], Ends]:
    """Return the rule for an operation that never decreases."""
    return lambda a: (Fraction(rule(a[0])), Fraction(rule(a[1])))


def _round(a: Ends, digits: Ends) -> Ends:
    unit = Fraction(10) ** int(digits[0])
    low, high = (_half_away(x * unit) / unit for x in a)
    return low, high


def _half_away(x: Fraction) -> Fraction:
    whole = math.floor(abs(x) + Fraction(1, 2))
    return Fraction(whole if x >= 0 else -whole)


def _greatest(*given: Ends) -> Ends:
    return max(x[0] for x in given), max(x[1] for x in given)


def _least(*given: Ends) -> Ends:
    return min(x[0] for x in given), min(x[1] for x in given)


def _clamp(x: Ends, low: Ends, high: Ends) -> Ends:
    return _least(_greatest(x, low), high)


def _nullif(x: Ends, y: Ends) -> Ends | None:
    return x if x[1] < y[0] or y[1] < x[0] else None


_ENDS: dict[str, Callable[..., Ends | None]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _mul,
    "div": _div,
    "neg": lambda a: (-a[1], -a[0]),
    "abs": _abs,
    "floor": _each(math.floor),
    "ceil": _each(math.ceil),
    "round": _round,
    "greatest": _greatest,
    "least": _least,
    "clamp": _clamp,
    "nullif": _nullif,
    "to_real": lambda a: a,
    "to_integer": _each(round),  # ties to even, as doubles are cast
}


# Conditions and branches. -----------------------------------------------------------------------


def _compare(certain: Callable[[Ends, Ends], bool | None]) -> Callable[..., frozenset[bool] | None]:
    def rule(given: Sequence[Near]) -> frozenset[bool] | None:
        ends = _intervals(given)
        if ends is None:
            return None
        known = certain(ends[0], ends[1])
        return frozenset({True, False}) if known is None else frozenset({known})

    return rule


def _below(a: Ends, b: Ends) -> bool | None:
    return True if a[1] < b[0] else False if a[0] >= b[1] else None


def _at_most(a: Ends, b: Ends) -> bool | None:
    return True if a[1] <= b[0] else False if a[0] > b[1] else None


def _equal(a: Ends, b: Ends) -> bool | None:
    if a[1] < b[0] or b[1] < a[0]:
        return False
    return True if a[0] == a[1] == b[0] == b[1] else None


def _unequal(a: Ends, b: Ends) -> bool | None:
    same = _equal(a, b)
    return None if same is None else not same


def _in(given: Sequence[Near]) -> frozenset[bool] | None:
    ends = _intervals(given)
    if ends is None:
        return None
    found = [_equal(ends[0], other) for other in ends[1:]]
    if any(found):
        return frozenset({True})
    return frozenset({False} if all(x is False for x in found) else {True, False})


def _logic(rule: Callable[..., bool]) -> Callable[..., frozenset[bool] | None]:
    def combined(given: Sequence[Near]) -> frozenset[bool] | None:
        sets = [x.possible for x in given]
        if any(x is None for x in sets):
            return None
        if len(sets) == 1:
            return frozenset(rule(a) for a in sets[0] or ())
        return frozenset(rule(a, b) for a in sets[0] or () for b in sets[1] or ())

    return combined


def _is_null(given: Sequence[Near]) -> frozenset[bool] | None:
    known = given[0].ends is not None or given[0].truth is not None
    return frozenset({False}) if known else None


_TRUTHS: dict[str, Callable[[Sequence[Near]], frozenset[bool] | None]] = {
    "lt": _compare(_below),
    "lte": _compare(_at_most),
    "gt": _compare(lambda a, b: _below(b, a)),
    "gte": _compare(lambda a, b: _at_most(b, a)),
    "eq": _compare(_equal),
    "neq": _compare(_unequal),
    "in": _in,
    "and": _logic(lambda a, b: a and b),
    "or": _logic(lambda a, b: a or b),
    "not": _logic(lambda a: not a),
    "is_null": _is_null,
}


def _case(value: Value, given: Sequence[Near]) -> Near:
    """Join the intervals of all branches that the exact numbers could take."""
    open_branches: list[Near] = []
    for condition, branch in zip(given[:-1:2], given[1::2], strict=True):
        missing = condition.sure and condition.value is None
        possible = frozenset({False}) if missing else condition.possible
        if possible is None:
            return Near(value)
        if True in possible:
            open_branches.append(branch)
        if False not in possible:
            break
    else:
        open_branches.append(given[-1])
    return _joined(value, open_branches)


def _coalesce(value: Value, given: Sequence[Near]) -> Near:
    """Take the first that is certain to be there."""
    for x in given:
        if x.sure and x.value is None:
            continue
        return _joined(value, [x])
    return exactly(None)


def _joined(value: Value, branches: list[Near]) -> Near:
    if len(branches) == 1 and branches[0].sure:
        return exactly(branches[0].value)
    ends = _intervals(branches)
    if ends is not None:
        return Near(value, ends=(min(x[0] for x in ends), max(x[1] for x in ends)))
    sets = [x.possible for x in branches]
    if all(x is not None for x in sets):
        return Near(value, truth=frozenset().union(*(x for x in sets if x is not None)))
    return Near(value)
