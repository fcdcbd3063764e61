# SPDX-License-Identifier: Apache-2.0
"""Public keys that no row can have, because the question itself leaves such rows out.

``WHERE disease IN ('flu', 'asthma') GROUP BY disease`` asks about two keys, not about all that are
declared. The condition is public, so leaving the others out tells nothing; keys are only removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sordino.query.domains import Lists
from sordino.query.doubtful import Doubtful
from sordino.query.evaluate import evaluate
from sordino.query.tree import (
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
from sordino.query.types import Value


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
    direct = [part for part in direct if lists.affords(_parts(part) * len(key.domain))]
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


def _parts(scalar: Scalar) -> int:
    inside = scalar.arguments if isinstance(scalar, Call) else ()
    return 1 + sum(map(_parts, inside))
