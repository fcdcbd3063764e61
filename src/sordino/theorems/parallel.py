# SPDX-License-Identifier: Apache-2.0
"""Parallel composition: questions about disjoint parts of the data.

A part is given by what its answers cost when a unit is added to it or removed from it, as a number;
or by a pair of this and of what they cost when a unit inside the part is replaced. Without
the second number twice the epsilon, or four times the rho, stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

from sordino.numbers.rational import Number
from sordino.theorems.arguments import one_of, read_parts, rounded

Neighbours = Literal["add_remove", "replace_one"]
Split = Literal["by value", "by position"]
_BY_POSITION = (
    "parts by position gain nothing when units are added or removed, because every later unit "
    "moves; add the losses up with basic"
)


def parallel(
    *,
    parts: Iterable[Number | tuple[Number, Number]],
    neighbours: Neighbours,
    split: Split = "by value",
) -> float:
    """Return the epsilon of answers about disjoint parts of the data.

    If units are added or removed, it is the largest epsilon of a part. If they are replaced, a
    unit may leave one part and enter another, which costs the sum of both, or change inside one;
    so the two largest are not always enough.

    >>> parallel(parts=[1, 0.1], neighbours="add_remove")
    1.0
    >>> parallel(parts=[1, 0.1], neighbours="replace_one")
    2.0
    >>> parallel(parts=[(1, 1), 0.1], neighbours="replace_one")
    1.1

    Guarantee:
        Neighbours: one unit added or removed, or one replaced, as ``neighbours`` says. Which part
            a unit belongs to, if any, is a function of that unit alone; with ``split="by
            position"`` it is its place in a table of fixed length, and replacing is the only
            relation that is allowed.
        Loss: epsilon-private, all parts together; each part is asked without knowing the others.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 12; docs/errata.md, E-C9.
    """
    return _cost(parts, neighbours, split, inside=2)


def parallel_rho(
    *,
    parts: Iterable[Number | tuple[Number, Number]],
    neighbours: Neighbours,
    split: Split = "by value",
) -> float:
    """Return the rho of answers about disjoint parts of the data.

    The rule is that of `parallel`, except that a change inside a part costs up to four times its
    rho, if nothing better is known.

    >>> parallel_rho(parts=[0.1, 0.1, 0.05], neighbours="add_remove")
    0.1
    >>> parallel_rho(parts=[(0.1, 0.1), (0.1, 0.15)], neighbours="replace_one")
    0.2

    Guarantee:
        Neighbours: as in `parallel`.
        Loss: rho-zCDP, all parts together; each part is asked without knowing the others.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 12; docs/errata.md, E-C9.
    """
    return _cost(parts, neighbours, split, inside=4)


def _cost(
    parts: Iterable[Number | tuple[Number, Number]], neighbours: str, split: str, *, inside: int
) -> float:
    one_of("neighbours", neighbours, ("add_remove", "replace_one"))
    one_of("split", split, ("by value", "by position"))
    read = read_parts(parts)
    if neighbours == "add_remove":
        if split == "by position":
            raise ValueError(_BY_POSITION)
        return rounded(max(loss for loss, _ in read))
    replaced = max(
        inside * loss if given is None else min(given, inside * loss) for loss, given in read
    )
    if split == "by position":
        return rounded(replaced)
    # A unit that leaves a part enters another one, or none if the parts do not cover all units.
    largest = sorted((loss for loss, _ in read), reverse=True)[:2]
    return rounded(max(replaced, sum(largest, start=Fraction(0))))
