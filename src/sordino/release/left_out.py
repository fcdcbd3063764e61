# SPDX-License-Identifier: Apache-2.0
"""Which rows have no group in an answer, as its keys are declared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from sordino.plan.naming import in_words, named
from sordino.query.tree import Call, Field, Key, Literal, Scalar
from sordino.query.types import Type

_COMPLETE = frozenset({"quarter", "month", "day", "dow", "hour"})  # all their values are known
_BOUNDED = frozenset({"year", "trunc_year", "trunc_quarter", "trunc_month", "trunc_day"})
_BOUNDED |= {"trunc_hour"}
_UNKNOWN = "not declared"


def rows_left_out(keys: Iterable[Key]) -> list[str]:
    """Return which rows are left out because the list of a key may not hold them.

    Guarantee: none needed; public inputs only.
    """
    found, titles = [], dict[str, list[str]]()
    for key in keys:
        if key.bins is not None:
            name = named(key.scalar) or key.title
            found.append(f"rows with {name} outside {in_words(key.bins.range)}")
        elif key.domain is not None and key.other is None:
            for why in _why(key.scalar):
                titles.setdefault(why, []).append(key.title)
    return found + [f"rows whose {' or '.join(names)} is {why}" for why, names in titles.items()]


def _why(scalar: Scalar) -> list[str]:
    """Return at most one reason why a value may be on no list; being missing is none."""
    if scalar.type is Type.BOOLEAN or (isinstance(scalar, Call) and scalar.operation in _COMPLETE):
        return []
    match scalar:
        case Literal():
            return [] if scalar.value is not None else [_UNKNOWN]
        case Field():
            return [_UNKNOWN]
        case Call(operation=operation) if operation in _BOUNDED:
            return ["outside its declared bounds"]
        case Call(operation="case", arguments=arguments):
            return _first((*arguments[1:-1:2], arguments[-1]))
        case Call(arguments=arguments):
            return _first(arguments)
        case _:
            assert_never(scalar)


def _first(scalars: Iterable[Scalar]) -> list[str]:
    return [why for scalar in scalars for why in _why(scalar)][:1]
