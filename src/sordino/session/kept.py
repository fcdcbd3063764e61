# SPDX-License-Identifier: Apache-2.0
"""How much memory a question and its plan take, so that a session keeps so many and no more."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from sys import getsizeof

from sordino.plan.bounded import Votes
from sordino.plan.plan import Plan
from sordino.query.tree import Query
from sordino.query.types import Value

_QUESTION = 10_000  # bytes, without the lists of values that it speaks of
_PLAN = 20_000
_PLACE = 8  # bytes of a place in a list
_TIME = getsizeof(datetime(1, 1, 1))  # no other value but text is larger


def weight_of_question(query: Query) -> int:
    """Return about how many bytes a question takes.

    Guarantee: none needed; public inputs only.
    """
    lists = (key.domain or () for key in query.keys)
    return _QUESTION + 2 * len(query.sql) + sum(map(_listed, lists))


def weight_of_plan(plan: Plan) -> int:
    """Return about how many bytes a plan takes, with its question and all lists of values.

    Guarantee: none needed; public inputs only.
    """
    lists = (part.domain for part in plan.bounded.parts if isinstance(part, Votes))
    return _PLAN + weight_of_question(plan.query) + sum(map(_listed, lists))


def _listed(values: Iterable[Value]) -> int:
    return sum(_PLACE + (getsizeof(v) if isinstance(v, str) else _TIME) for v in values)
