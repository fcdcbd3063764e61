# SPDX-License-Identifier: Apache-2.0
"""How large an answer becomes in the ledger: known before it is paid for if keys are public."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from fractions import Fraction

from sordino.errors import Unsupported
from sordino.plan.limits import how_many_groups
from sordino.query.tree import Key, KeyRef, Literal, Measure, MeasureRef, PostScalar, Query
from sordino.query.types import Type, Value

LARGEST = 64 * 10**6  # bytes of an answer that is kept for ever
_NUMBER = 64  # bytes: a number with both ends of its interval


def check_size(query: Query) -> None:
    """Refuse a question whose answer would be larger than an answer may be."""
    size = stored_size(query)
    if size is not None and size > LARGEST:
        raise Unsupported(
            "answer_too_large",
            f"the answer would take about {size // 10**6:,} MB, and {LARGEST // 10**6} MB is the "
            "most",
            why="every answer is kept in the ledger for ever, at whatever price",
            hint="group by fewer or by coarser keys, ask for fewer columns, or add LIMIT",
            sql=query.sql,
        )


def stored_size(query: Query) -> int | None:
    """Return about how many bytes an answer takes, or None if its keys are discovered.

    How many keys are discovered depends on the data. Each needs as many units as the rule of
    selection asks for, so they are few where units are.
    """
    groups = how_many_groups(query.keys)
    if groups is None:
        return None
    limit = query.post.limit
    rows = groups if limit is None else min(groups, limit)
    if rows * _NUMBER > LARGEST and any(
        isinstance(output.scalar, MeasureRef) for output in query.post.outputs
    ):
        return rows * _NUMBER  # without a look at a million keys
    return math.ceil(rows * sum(_width(output.scalar, query) for output in query.post.outputs))


def _width(scalar: PostScalar, query: Query) -> Fraction:
    """Return how many bytes a value of a column takes on the average."""
    match scalar:
        case KeyRef(index=index):
            return _of_key(query.keys[index])
        case MeasureRef(index=index):
            return _of_measure(query.measures[index])
        case Literal(value=value):
            return _average((value,))
        case _ if scalar.type is Type.TEXT:
            return sum((_width(one, query) for one in scalar.arguments), Fraction(0))
        case _:
            return Fraction(_NUMBER)


def _of_key(key: Key) -> Fraction:
    if key.domain is None:
        return Fraction(_NUMBER)
    return _average(key.domain if key.other is None else (*key.domain, key.other))


def _of_measure(measure: Measure) -> Fraction:
    if measure.domain is None:
        return Fraction(_NUMBER)
    return (measure.count or 1) * _average(measure.domain)


def _average(values: Iterable[Value]) -> Fraction:
    texts = [str(value) for value in values]
    # Each has a comma; two brackets are too many, and so are blanks after all commas but one.
    return Fraction(len(json.dumps(texts)) - len(texts), len(texts)) if texts else Fraction(0)
