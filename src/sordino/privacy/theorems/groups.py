# SPDX-License-Identifier: Apache-2.0
"""Group privacy and parallel composition: several units, and disjoint parts of the data.

A part is given by what its answers cost when a unit is added to it or removed from it, as a number;
or by a pair of this and of what they cost when a unit inside the part is replaced. Without
the second number twice the epsilon, or four times the rho, stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, positive_whole
from sordino.privacy.theorems.arguments import (
    EpsilonDelta,
    one_of,
    pair,
    read_amount,
    read_delta,
    read_parts,
    rounded,
)


def group(
    *,
    epsilon: Number,
    delta: Number = 0,
    size: int,
    form: Literal["tight", "printed"] = "tight",
) -> EpsilonDelta:
    """Return the loss for ``size`` units at once.

    The delta is delta (e^(k epsilon) - 1) / (e^epsilon - 1) for k units. Textbooks print
    k e^((k - 1) epsilon) delta, which is true but larger; ``form="printed"`` gives it.

    A step is one step of the relation: when units are added or removed, replacing one is two
    steps, so k replacements are a group of 2 k.

    >>> group(epsilon=0.5, delta=1e-6, size=10)
    EpsilonDelta(epsilon=5.0, delta=0.0002272365124446774)
    >>> group(epsilon=0.5, delta=1e-6, size=10, form="printed")
    EpsilonDelta(epsilon=5.0, delta=0.0009001713130052182)

    Guarantee:
        Neighbours: data sets that are ``size`` steps of the relation of epsilon and delta apart.
        Loss: (epsilon, delta)-private for them. The tight form cannot be improved: choosing which
            keys to publish attains it.
        Numerics: epsilon exact, delta from a certified ball; both rounded up.
        Proof: docs/proofs/composition.md, theorem 11.
    """
    one_of("form", form, ("tight", "printed"))
    price, lost = read_amount("epsilon", epsilon), read_delta("delta", delta)
    many = positive_whole("size", size)
    if lost == 0 or price == 0 or many == 1:
        return pair(many * price, many * lost)

    def formula() -> Ball:
        if form == "printed":
            return ball(lost) * many * ball((many - 1) * price).exp()
        return ball(lost) * ball(many * price).expm1() / ball(price).expm1()

    return pair(many * price, round_up(formula))


def group_rho(*, rho: Number, size: int) -> float:
    """Return the rho for ``size`` units at once: size^2 rho.

    >>> group_rho(rho=0.1, size=3)
    0.9

    Guarantee:
        Neighbours: data sets that are ``size`` steps of the relation of rho apart.
        Loss: rho-zCDP for them; Gaussian noise attains it.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 11 (Bun and Steinke 2016).
    """
    return rounded(positive_whole("size", size) ** 2 * read_amount("rho", rho))


def replace_from_add_remove(*, epsilon: Number, delta: Number = 0) -> EpsilonDelta:
    """Return the loss when a unit is replaced, from the loss when one is added or removed.

    To replace is to remove and to add: (2 epsilon, (1 + e^epsilon) delta). There is no way back: a
    promise about replacements says nothing about how many units there are.

    >>> replace_from_add_remove(epsilon=1)
    EpsilonDelta(epsilon=2.0, delta=0.0)

    Guarantee:
        Neighbours: one unit replaced by another; epsilon and delta are for one added or removed.
        Loss: (epsilon, delta)-private.
        Numerics: epsilon exact, delta from a certified ball; both rounded up.
        Proof: docs/proofs/composition.md, theorem 11.
    """
    return group(epsilon=epsilon, delta=delta, size=2)


def replace_from_add_remove_rho(*, rho: Number) -> float:
    """Return rho when a unit is replaced, from rho when one is added or removed: 4 rho.

    >>> replace_from_add_remove_rho(rho=0.1)
    0.4

    Guarantee:
        Neighbours: one unit replaced by another; rho is for one added or removed.
        Loss: rho-zCDP.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 11.
    """
    return rounded(4 * Fraction(read_amount("rho", rho)))


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
