# SPDX-License-Identifier: Apache-2.0
"""A sensitivity is a value: three norms, the relation they hold for, and data that shows why."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from sordino.numbers.balls import ball, round_up
from sordino.numbers.rational import Number, covering, nonnegative, written
from sordino.numbers.rounding import up_as_printed
from sordino.sensitivity.arguments import shown
from sordino.sensitivity.neighbours import Neighbours, Relation, Units, read_relation
from sordino.sensitivity.witness import Witness

Recipe: TypeAlias = "Callable[[], tuple[Witness, ...]]"

_MOST_BITS = 4096  # of a number that is written out in full


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
