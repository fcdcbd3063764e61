# SPDX-License-Identifier: Apache-2.0
"""A loss that holds for one relation between neighbours, and composes with no other."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sordino.numbers.rational import Number
from sordino.privacy.leaf import Floats, Leaf, Relation

RELATIONS: tuple[Relation, ...] = ("add_remove", "replace_one")


@dataclass(frozen=True, slots=True, repr=False)
class Related(Leaf):
    """The loss ``base``, which holds for these ``neighbours``.

    It is for mechanisms whose noise is made for one relation: their losses do not compose with
    those for the other one.

    >>> from sordino.privacy.pure import Pure
    >>> Related(Pure(epsilon=Fraction(1)), "add_remove").neighbours
    'add_remove'

    Guarantee:
        Neighbours: those stated.
        Loss: that of the base.
        Numerics: those of the base.
        Proof: docs/proofs/leaves.md; nothing but the name of the relation is added.
    """

    base: Leaf
    neighbours: Relation = field()  # else the property of the base would be its default

    def __post_init__(self) -> None:
        if self.neighbours not in RELATIONS:
            raise ValueError(
                f"neighbours must be 'add_remove' or 'replace_one', got {self.neighbours!r}"
            )
        if self.base.neighbours not in (None, self.neighbours):
            raise ValueError(
                f"this loss holds for {self.base.neighbours}, not for {self.neighbours}"
            )
        # A member of an enumeration is kept as the plain word.
        object.__setattr__(self, "neighbours", str(self.neighbours))

    def __repr__(self) -> str:
        return f"Related({self.base!r}, {self.neighbours!r})"

    @property
    def symmetric(self) -> bool:
        return self.base.symmetric

    @property
    def pure(self) -> Fraction | None:
        return self.base.pure

    @property
    def infinity(self) -> float:
        return self.base.infinity

    @property
    def rho(self) -> float:
        return self.base.rho

    @property
    def summit(self) -> float:
        return self.base.summit

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        return self.base.atoms

    @property
    def kl(self) -> float:
        return self.base.kl

    def _delta(self, epsilon: Fraction) -> float:
        return self.base.delta(epsilon=epsilon)

    def epsilon(self, *, delta: Number) -> float:
        return self.base.epsilon(delta=delta)

    def renyi(self, *, order: float) -> float:
        return self.base.renyi(order=order)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:
        return self.base.profile(epsilons, reverse=reverse)

    def reach(self, tail: float) -> tuple[float, float]:
        return self.base.reach(tail)

    def group(self, size: int) -> Related:
        return Related(self.base.group(size), self.neighbours)


def plain(leaf: Leaf) -> Leaf:
    """Return a leaf without the relation that it was stated for.

    Guarantee: the same loss.
    """
    return leaf.base if isinstance(leaf, Related) else leaf
