# SPDX-License-Identifier: Apache-2.0
"""A privacy loss is a value: it composes, repeats and scales to groups, in any currency."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from sordino.numbers.balls import ball, round_up
from sordino.numbers.rational import (
    Integer,
    Number,
    finite,
    nonnegative,
    positive_whole,
    probability_or_zero,
    reading,
    up_as_printed,
)
from sordino.privacy.bounds import (
    by_orders,
    by_responses,
    by_rho,
    by_sums,
    delta_by_orders,
    delta_by_responses,
    is_sampled,
    is_told_by_divergences,
    knows_more_than_profiles,
    set_aside,
    set_aside_delta,
    variation_by_entropy,
)
from sordino.privacy.codec import Json, leaf_from_json, leaf_to_json
from sordino.privacy.concentrated import Concentrated, delta_from_rho
from sordino.privacy.leaf import RELATIONS, Leaf, Relation
from sordino.privacy.pld import Pld

_MANY_PARTS = 256  # beyond so many different leaves the distribution alone is used
_LOW_ORDER = Fraction(65, 64)
_VERSION = 1  # of the JSON of a loss; what a version means never changes


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a number of mechanisms together, each a leaf with how often it is used.

    Losses are added with ``+`` and repeated with ``*``. Equal leaves are counted together, so that
    ``3 * a``, ``a + a + a`` and ``compose([a, a, a])`` are the same value, and this is the one
    place that counts. ``stated`` has, for each part, the relation that ``under`` stated it for, or
    None; a part that was stated is counted apart from one that was not.

    >>> from sordino.privacy import losses
    >>> a = losses.pure(epsilon=0.1)
    >>> 3 * a == a + a + a, (3 * a).epsilon(delta=0)
    (True, 0.3)
    >>> round((100 * a).epsilon(delta=1e-6), 4)
    4.7746

    Guarantee:
        Neighbours: those of the leaves; leaves that hold for different relations do not compose.
        Loss: of all uses together, when which mechanisms are used, with which parameters, was
            fixed beforehand; their inputs may depend on earlier outputs. Budgets are for
            parameters that are chosen as one goes along.
        Numerics: every number is an upper bound; of several bounds that hold the least is given.
        Proof: docs/proofs/composition.md and docs/proofs/pld.md.
    """

    parts: tuple[tuple[Leaf, int], ...]
    stated: tuple[Relation | None, ...] = ()

    def __post_init__(self) -> None:
        stated = self.stated or (None,) * len(self.parts)
        counts: dict[tuple[Leaf, Relation | None], int] = {}
        for (leaf, times), relation in zip(self.parts, stated, strict=True):
            key = leaf, _checked(leaf, relation)
            counts[key] = counts.get(key, 0) + times
        ordered = sorted(counts.items(), key=_place)
        object.__setattr__(self, "parts", tuple((leaf, n) for (leaf, _), n in ordered))
        object.__setattr__(self, "stated", tuple(relation for (_, relation), _ in ordered))
        self.neighbours  # noqa: B018  # refuses leaves that hold for different relations

    @property
    def neighbours(self) -> Relation | None:
        """The relation the loss holds for, or None if no part names one."""
        named = {*self.stated, *(leaf.neighbours for leaf, _ in self.parts)} - {None}
        if len(named) > 1:
            raise ValueError(
                "losses for add_remove and for replace_one do not compose; "
                "state all of them for the same neighbours"
            )
        return named.pop() if named else None

    @property
    def uses(self) -> int:
        """How many uses of mechanisms there are in all."""
        return sum(times for _, times in self.parts)

    @property
    def pure(self) -> Fraction | None:
        """The sum of the largest losses, or None if one of them has none."""
        total: Fraction | int = 0
        for leaf, times in self.parts:
            pure = leaf.pure
            if pure is None:
                return None
            more = pure if times == 1 else times * pure
            total = total + more if total else more
        return Fraction(total)

    @property
    def rho(self) -> float:
        """A rho for which all uses together are rho-zCDP, or infinity."""
        return self._sum(lambda leaf: leaf.rho)

    @property
    def kl(self) -> float:
        """A bound on the Kullback-Leibler divergence, either way round."""
        return self._sum(lambda leaf: leaf.kl)

    @property
    def total_variation(self) -> float:
        """A bound on the total variation distance."""
        return self.delta(epsilon=0)

    def renyi(self, *, order: Number) -> float:
        """Return a bound on the Rényi divergence of an order above 1."""
        exact = nonnegative("order", order)
        if exact <= 1:
            raise ValueError(f"order must be a number above 1, got {order!r}")
        return self._sum(lambda leaf: leaf.renyi(order=float(exact)))

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that is certain to go with delta; with delta 0 the pure loss."""
        target = probability_or_zero("delta", delta)
        pure = self.pure
        whole = math.inf if pure is None else up_as_printed(pure)
        if not self.parts or target == 0:
            return whole
        if self.uses == 1:
            return self.parts[0][0].epsilon(delta=target)
        if self._are_few() and reading(variation_by_entropy(self.parts)) <= target:
            return 0.0
        exact = by_responses(self.parts, delta=target) if self._are_few() else None
        if exact is not None:
            return min(whole, exact)
        found = whole
        if not is_told_by_divergences(self.parts, self.rho):
            found = min(found, self.pld().epsilon_upper(delta=target))
        if self._are_few():
            found = min(found, by_rho(self.rho, delta=target), set_aside(self.parts, delta=target))
        if found == math.inf:
            found = by_sums(self.parts, delta=target)
        if self._has_an_order() if found == math.inf else self._may_have_better_orders():
            found = min(found, by_orders(lambda order: self.renyi(order=order), delta=target))
        return found

    def delta(self, *, epsilon: Number) -> float:
        """Return the least delta that is certain to go with epsilon, which may be negative.

        It bounds P(S) - e^epsilon Q(S) for all sets S and both orders of P and Q. At a negative
        epsilon it follows from that at the positive one: docs/proofs/composition.md.
        """
        exact = finite("epsilon", epsilon)
        if exact < 0:
            other = Fraction(reading(self._delta(-exact)))
            return round_up(lambda: ball(exact).exp() * ball(other) - ball(exact).expm1())
        return self._delta(exact)

    def _delta(self, exact: Fraction) -> float:
        pure = self.pure
        if pure is not None and exact >= pure:
            return 0.0
        if self.uses == 1:
            return self.parts[0][0].delta(epsilon=exact)
        known = delta_by_responses(self.parts, epsilon=exact) if self._are_few() else None
        if known is not None:
            return known
        found = self.pld().delta_upper(epsilon=exact)
        if self._are_few():
            rho = self.rho
            if math.isfinite(rho) and rho > 0:
                found = min(found, delta_from_rho(rho=Fraction(reading(rho)), epsilon=exact))
            found = min(found, set_aside_delta(self.parts, epsilon=exact))
            found = min(found, variation_by_entropy(self.parts))
        if self._may_have_better_orders():
            other = delta_by_orders(lambda order: self.renyi(order=order), epsilon=exact)
            found = min(found, other)
        return min(found, 1.0)

    def pld(self) -> Pld:
        """Return the distribution of the loss, which brackets epsilon and delta from both sides."""
        known = [(leaf, n) for leaf, n in self.parts if not isinstance(leaf, Concentrated)]
        rhos = [n * leaf.exact for leaf, n in self.parts if isinstance(leaf, Concentrated)]
        if rhos:  # what is known by its rho alone is composed by adding, then used once
            known.append((Concentrated(rho=sum(rhos, Fraction(0))), 1))
        return Pld(tuple(known))

    def under(self, neighbours: Relation) -> Loss:
        """Return the same loss, stated for one relation; it then composes with no other."""
        if self.neighbours not in (None, neighbours):
            raise ValueError(f"this loss holds for {self.neighbours}, not for {neighbours}")
        stated = (
            relation or (None if leaf.neighbours else neighbours)
            for (leaf, _), relation in zip(self.parts, self.stated, strict=True)
        )
        return Loss(self.parts, tuple(stated))

    def group(self, size: Integer) -> Loss:
        """Return the loss for neighbours that differ in that many units."""
        many = positive_whole("size", size)
        return Loss(tuple((leaf.group(many), times) for leaf, times in self.parts), self.stated)

    def _are_few(self) -> bool:
        """Tell whether other bounds than the distribution are worth the time they take."""
        return len(self.parts) <= _MANY_PARTS

    def _may_have_better_orders(self) -> bool:
        """Tell whether Rényi orders may be better; a divergence of a sample takes too long."""
        return (
            self._are_few()
            and knows_more_than_profiles(self.parts)
            and not any(is_sampled(leaf) for leaf, _ in self.parts)
        )

    def _has_an_order(self) -> bool:
        """Tell whether the divergence of a low order is finite, without which that of none is."""
        return math.isfinite(self.renyi(order=_LOW_ORDER))

    def __repr__(self) -> str:
        """Write the leaves with how often each is used, and what they were stated for."""
        shown = [
            f"{f'{n} * ' if n > 1 else ''}{leaf!r}{f' under {relation}' if relation else ''}"
            for (leaf, n), relation in zip(self.parts, self.stated, strict=True)
        ]
        return f"Loss({' + '.join(shown)})"

    def _sum(self, of: Callable[[Leaf], float]) -> float:
        """Add up one number of each leaf, as often as it is used, rounding up."""
        if self.uses == 1:
            return of(self.parts[0][0])
        numbers = [(reading(of(leaf)), times) for leaf, times in self.parts]
        if any(number == math.inf for number, _ in numbers):
            return math.inf
        return up_as_printed(sum((Fraction(x) * times for x, times in numbers), Fraction(0)))

    def __add__(self, other: Loss) -> Loss:
        if not isinstance(other, Loss):
            return NotImplemented
        return Loss(self.parts + other.parts, self.stated + other.stated)

    def __mul__(self, times: Integer) -> Loss:
        many = positive_whole("times", times)
        return Loss(tuple((leaf, n * many) for leaf, n in self.parts), self.stated)

    __rmul__ = __mul__


def single(leaf: Leaf) -> Loss:
    """Return the loss of one use of one mechanism."""
    return Loss(((leaf, 1),))


def compose(losses: Iterable[Loss]) -> Loss:
    """Return the loss of all of these together.

    Guarantee: as for Loss.
    """
    parts: list[tuple[Leaf, int]] = []
    stated: list[Relation | None] = []
    for loss in losses:
        if not isinstance(loss, Loss):
            raise TypeError(f"compose takes losses, not {type(loss).__name__}")
        parts += loss.parts
        stated += loss.stated
    return Loss(tuple(parts), tuple(stated))


def _checked(leaf: Leaf, relation: Relation | None) -> Relation | None:
    """Return the plain word for the relation a leaf is stated for, which must be its own if any."""
    if relation is None:
        return None
    if relation not in RELATIONS:
        raise ValueError(f"neighbours must be 'add_remove' or 'replace_one', got {relation!r}")
    if leaf.neighbours not in (None, relation):
        raise ValueError(f"this loss holds for {leaf.neighbours}, not for {relation}")
    return RELATIONS[RELATIONS.index(relation)]


def _place(part: tuple[tuple[Leaf, Relation | None], int]) -> str:
    """Order parts by their texts, in which the parts that were stated stand together."""
    (leaf, relation), _ = part
    # Records of losses and the identities made of them have always had this order.
    return repr(leaf) if relation is None else f"Related({leaf!r}"


def loss_to_json(loss: Loss) -> Json:
    """Write a loss as a dictionary for JSON, exactly and for ever.

    >>> from sordino.privacy import losses
    >>> loss_to_json(2 * losses.pure(epsilon=0.1))
    {'loss': 1, 'parts': [{'times': 2, 'leaf': {'leaf': 'pure', 'epsilon': '1/10'}}]}
    """
    parts = [
        {"times": times, "leaf": leaf_to_json(leaf, relation)}
        for (leaf, times), relation in zip(loss.parts, loss.stated, strict=True)
    ]
    return {"loss": _VERSION, "parts": parts}


def loss_from_json(record: object) -> Loss:
    """Read back what ``loss_to_json`` wrote; anything else is refused.

    Guarantee: the loss that was written.
    """
    if not isinstance(record, dict) or set(record) != {"loss", "parts"}:
        raise ValueError("this is not a loss: it needs the fields 'loss' and 'parts', no others")
    if record["loss"] != _VERSION:
        raise ValueError(f"unknown version of a loss: {record['loss']!r}; known is {_VERSION}")
    parts: list[tuple[Leaf, int]] = []
    stated: list[Relation | None] = []
    for part in record["parts"] if isinstance(record["parts"], list) else [None]:
        if not isinstance(part, dict) or set(part) != {"times", "leaf"}:
            raise ValueError("this is not a loss: each part needs the fields 'times' and 'leaf'")
        leaf, relation = leaf_from_json(part["leaf"])
        parts.append((leaf, positive_whole("times", part["times"])))
        stated.append(relation)
    return Loss(tuple(parts), tuple(stated))
