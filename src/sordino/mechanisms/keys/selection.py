# SPDX-License-Identifier: Apache-2.0
"""Which keys may be told, when the keys themselves come from the data."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.additive import release_integers
from sordino.mechanisms.keys.optimal import (
    GaussianNoise,
    LaplaceNoise,
    OptimalLaw,
    Threshold,
    least_threshold,
)
from sordino.mechanisms.mechanism import Mechanism, check_scales, fill, not_drawn
from sordino.numbers import rational
from sordino.numbers.balls import Ball, ball, ceiling, is_positive, round_up
from sordino.numbers.columns import Door, read_whole
from sordino.numbers.rational import Integer, Number
from sordino.privacy import losses
from sordino.privacy.discrete_gaussian import DiscreteGaussian, least_variance
from sordino.privacy.loss import Loss, single
from sordino.privacy.search import least
from sordino.randomness.entropy import system
from sordino.randomness.samplers import LARGEST_SCALE, SMALLEST_SCALE
from sordino.sensitivity.norms import Neighbours, read_neighbours

Place: TypeAlias = "tuple[int, Any, str, str]"

_ONE_COLUMN = "keys must be one column, such as a list"
_NUMBERS, _TEXTS, _BYTES, _DATES, _TUPLES, _OTHERS = range(6)
_BOXED = np.number | np.bool_ | np.str_ | np.bytes_  # a list may hold them beside Python's own
_SCALARS = "biufUSO"  # kinds of arrays whose entries Python has types of its own for


def read_keys(keys: object) -> list[Any]:
    """Return the keys one by one, none changed because of another one."""
    if isinstance(keys, np.ndarray):
        if keys.ndim != 1 or isinstance(keys, np.ma.MaskedArray):
            raise TypeError(_ONE_COLUMN)
        return keys.tolist() if keys.dtype.kind in _SCALARS else list(keys)
    if isinstance(keys, str | bytes) or hasattr(keys, "columns") or not isinstance(keys, Iterable):
        raise TypeError(_ONE_COLUMN)
    return [key.item() if isinstance(key, _BOXED) else key for key in keys]


def place(key: object) -> Place:
    """Return what keys are sorted by: numbers by size, texts, dates, tuples, and then all others.

    Two keys have one place only if they are the same: 1, 1.0 and True are three keys, 0.0 and -0.0
    are two, and all NaN of one type are one. Keys of other types are told apart by their ``repr``.

    >>> sorted(["b", 2, 1.5, "a", (2, "x")], key=place)
    [1.5, 2, 'a', 'b', (2, 'x')]
    """
    kind = f"{type(key).__module__}.{type(key).__qualname__}"
    if isinstance(key, tuple):
        return _TUPLES, tuple(map(place, key)), kind, ""
    for kinds, rank, rule in _RULES:
        if isinstance(key, kinds):
            value, rest = rule(key)
            return rank, value, kind, rest
    return _OTHERS, repr(key), kind, ""


def _real(key: Any) -> tuple[float, str]:
    """Sort NaN behind infinity; the sign of a zero and more digits are in the repr alone."""
    value = float(key)
    return math.inf if math.isnan(value) else value, repr(key)


_RULES: tuple[tuple[tuple[type, ...], int, Callable[[Any], tuple[Any, str]]], ...] = (
    ((np.timedelta64,), _OTHERS, lambda key: (repr(key), "")),  # which numpy counts as an integer
    ((bool, np.bool_, int, np.integer), _NUMBERS, lambda key: (int(key), "")),
    ((float, np.floating), _NUMBERS, _real),
    ((str,), _TEXTS, lambda key: (str(key), "")),
    ((bytes,), _BYTES, lambda key: (bytes(key), "")),
    ((datetime.date,), _DATES, lambda key: (key.isoformat(), repr(key))),
    ((np.datetime64,), _DATES, lambda key: (str(key), str(key.dtype))),
)


_Rule: TypeAlias = OptimalLaw | Threshold
Method: TypeAlias = Literal["optimal", "laplace", "gaussian"]
Booleans: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.int64]

_METHODS = ("optimal", "laplace", "gaussian")
_DIGITS = 64  # bits of the delta of one key
_COUNTS = "counts must be one column of whole numbers that are not negative"
COUNTS = Door(rule=_COUNTS, shape=_COUNTS, missing=_COUNTS)
_LEAST_LOSS = Fraction(1, 2**40)
_MANY = 2**62  # a larger count is taken for this one


class Selected(NamedTuple):
    """Which keys are kept, and the noisy counts of those; 0 for all others.

    Guarantee: that of the release it came from.
    """

    kept: Booleans
    counts: Integers


@dataclass(frozen=True, slots=True, init=False, repr=False)
class KeySelection(Mechanism):
    """Keep keys that enough units have, so that no single unit can put a key on the list.

    A unit has at most ``groups`` keys and is counted once for each of them; contributions must have
    been cut to that. ``method`` is "optimal", which keeps each key as often as can be and tells
    nothing else, or "laplace" or "gaussian", which keep the keys whose noisy counts reach the
    ``threshold`` and tell these counts too, at no further cost. Only keys that some unit has are
    ever looked at, and a key that is not kept must not be told, nor how many such keys there are.

    To read: ``epsilon``, ``delta``, ``groups``, ``method`` and ``neighbours`` as they were given,
    ``moves`` (how many keys can change with one unit: ``groups``, or twice that under replace_one),
    ``threshold`` (the least noisy count kept; None for "optimal") and ``loss``. For "gaussian",
    ``noise`` is the record of the noise, and ``composed`` counts it and the keys that only one unit
    has apart: a loss that is larger for one release and smaller for many.

    >>> keys = KeySelection(epsilon=1, delta=1e-5, neighbours="add_remove")
    >>> keys, keys.probability(10), keys.count_for(0.99)
    (KeySelection(epsilon=1, delta=1e-05, neighbours='add_remove'), 0.12818308050524607, 16)
    >>> noisy = KeySelection(epsilon=1, delta=1e-5, method="laplace", neighbours="add_remove")
    >>> noisy.threshold, noisy.count_for(0.99)
    (13, 17)

    Guarantee:
        Neighbours: one unit with at most ``groups`` keys, added or removed, or exchanged for
            another one (``neighbours``).
        Loss: (epsilon, delta) for each release. With "laplace" and "gaussian" all of delta may go
            to the keys that only one unit has, and with "gaussian" all of it to the noise too:
            a unit that has more of the former moves fewer of the counts that others have as well.
        Numerics: exact; thresholds are the least that are certain to keep to delta.
        Proof: docs/proofs/partitions.md, theorems 2 to 4 and 7.
    """

    epsilon: Fraction
    delta: Fraction
    groups: int
    method: Method
    neighbours: Neighbours
    moves: int = field(compare=False)
    threshold: int | None = field(compare=False)
    loss: Loss = field(compare=False)
    composed: Loss = field(compare=False)
    noise: DiscreteGaussian | None = field(compare=False)
    _rule: _Rule = field(compare=False)

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        groups: Integer = 1,
        method: Method = "optimal",
        neighbours: str,
    ) -> None:
        price, slack = rational.positive("epsilon", epsilon), rational.probability("delta", delta)
        relation, most = read_neighbours(neighbours), rational.positive_whole("groups", groups)
        if method not in _METHODS:
            raise ValueError(f"method must be 'optimal', 'laplace' or 'gaussian', got {method!r}")
        # Under replace_one a unit can leave all its keys and appear in as many others.
        moves = most if relation is Neighbours.add_remove else 2 * most
        loss = losses.approximate(epsilon=price, delta=slack).under(relation.value)
        composed, noise, rule = loss, None, _rule(method, price, slack, most, moves)
        if isinstance(rule, Threshold) and isinstance(rule.noise, GaussianNoise):
            noise = _moved(rule.noise.variance, moves)
            composed = _composed(noise, rule, most).under(relation.value)
        fill(
            self,
            epsilon=price,
            delta=slack,
            groups=most,
            method=method,
            neighbours=relation,
            moves=moves,
            threshold=None if isinstance(rule, OptimalLaw) else rule.least,
            loss=loss,
            composed=composed,
            noise=noise,
            _rule=rule,
        )

    def release(self, counts: object) -> Any:
        """Decide for each key, given by how many units have it, whether it is kept.

        Returns booleans for "optimal"; otherwise Selected, booleans and the noisy counts of the
        keys that are kept. Both have an entry for each key, kept or not: hand on the kept keys
        alone, in an order that does not come from the data, such as their alphabetical one.
        """
        numbers = _read_counts(counts)
        if isinstance(self._rule, OptimalLaw):
            return self._rule.draw(numbers, system())
        return _pass(self._rule, numbers)

    def probability(self, n: Integer) -> float:
        """Return the probability that a key is kept that n units have, rounded up."""
        if not rational.is_integer(n) or n < 0:
            raise ValueError("n must be a whole number of units that is not negative")
        return self._rule.probability(int(n)) if n else 0.0

    def count_for(self, probability: Number) -> int:
        """Return how many units a key needs to be kept with at least this probability."""
        share = rational.positive("probability", probability)
        if share > 1 or (share == 1 and self.method != "optimal"):
            bound = "at most 1" if self.method == "optimal" else "below 1"
            raise ValueError(
                f"probability must be a positive number {bound}, got {rational.brief(share)}"
            )
        return self._rule.count_for(share, lowest=1)


def select_keys(
    keys: object,
    counts: object,
    *,
    epsilon: Number,
    delta: Number,
    neighbours: str,
    groups: Integer = 1,
    method: Method = "optimal",
) -> Any:
    """Return a list of the keys that enough units have, in their own order; see KeySelection.

    ``keys`` are different from each other and ``counts`` says how many units have each. With
    "laplace" and "gaussian" the result is a pair: the keys that are kept, and their noisy counts.

    Keys may be of any kinds. What is returned, and whether a key that is listed twice is found and
    refused, depends on the keys that are kept alone: their types, their order, which is numbers by
    size, then texts, bytes, dates, tuples and all others, and nothing else. Give keys of several
    kinds as a list: an array made all of them alike before they came here, and that shows.

    >>> select_keys(["x", "b", 7], [1000, 900, 800], epsilon=1, delta=1e-9, neighbours="add_remove")
    [7, 'b', 'x']

    Guarantee: as for KeySelection.
    """
    rule = KeySelection(
        epsilon=epsilon, delta=delta, neighbours=neighbours, groups=groups, method=method
    )
    names, numbers = read_keys(keys), _read_counts(counts)
    if len(names) != numbers.size:
        raise ValueError("keys and counts must be columns of one length")
    found = rule.release(numbers)
    kept = np.flatnonzero(found.kept if isinstance(found, Selected) else found).tolist()
    # From here on only kept keys are looked at: what follows is a function of the result.
    places = {index: place(names[index]) for index in kept}
    kept.sort(key=places.__getitem__)
    if any(places[one] == places[other] for one, other in pairwise(kept)):
        raise ValueError("some keys are listed twice; add up their units first")
    chosen = [names[index] for index in kept]
    return (chosen, found.counts[kept]) if isinstance(found, Selected) else chosen


def _rule(method: Method, epsilon: Fraction, delta: Fraction, groups: int, moves: int) -> _Rule:
    """Return how keys are decided upon; one unit has at most ``groups`` keys of its own."""
    match method:
        case "optimal":
            return OptimalLaw(epsilon / moves, share_of(delta, moves))
        case "laplace":
            return _laplace(epsilon, delta, groups, moves)
        case "gaussian":
            return _gaussian(epsilon, delta, groups, moves)


def _laplace(epsilon: Fraction, delta: Fraction, groups: int, moves: int) -> Threshold:
    eta = epsilon / moves
    check_scales(1 / eta, price=rational.brief(epsilon))
    near = ceiling(lambda: ball(groups / delta).log() / ball(eta))
    return least_threshold(LaplaceNoise(eta), hidden=1, times=groups, delta=delta, near=near)


def _gaussian(epsilon: Fraction, delta: Fraction, groups: int, moves: int) -> Threshold:
    """Let the noise spend all of delta, and find the threshold that leaves it at that."""
    try:
        variance = least_variance(
            squared_sensitivity=moves,
            coordinates=moves,
            epsilon=epsilon,
            delta=delta,
            low=SMALLEST_SCALE**2,
            high=LARGEST_SCALE**2,
        )
    except ValueError:
        raise not_drawn(wide=epsilon < 1, price=rational.brief(epsilon)) from None

    def formula() -> Ball:
        return (2 * ball(variance) * ball(groups / delta).log()).sqrt()

    @cache
    def spent(others: int) -> Fraction:
        """Return the delta of the noise where so many counts move that other units are in."""
        if not others:
            return Fraction(0)
        return Fraction(repr(_moved(variance, others).delta(epsilon=epsilon)))

    drawn = GaussianNoise(variance)

    def hides(threshold: int, first: int, last: int) -> bool:
        """Tell whether units with from ``first`` to ``last`` keys of their own are hidden."""

        def spare() -> Ball:
            silent = (last * (-drawn.tail(threshold - 1)).log1p()).expm1()
            noise = spent(moves - first)
            return ball(delta - noise) + ball(1 - noise) * silent

        if is_positive(spare):
            return True
        middle = (first + last) // 2
        return (
            first < last and hides(threshold, first, middle) and hides(threshold, middle + 1, last)
        )

    near = ceiling(formula)
    lowest = least_threshold(drawn, hidden=1, times=groups, delta=delta, near=near).least
    found = least(lambda threshold: hides(threshold, 1, groups), lowest, 2**63, near=lowest)
    return Threshold(drawn, found)


def _moved(variance: Fraction, counts: int) -> DiscreteGaussian:
    """Return the loss of noise on so many counts that one unit moves by 1 each."""
    return DiscreteGaussian(variance=variance, squared_sensitivity=counts, coordinates=counts)


def _composed(noise: DiscreteGaussian, rule: Threshold, groups: int) -> Loss:
    """Return the loss of the noise and that of the keys that only one unit has, added up."""

    def formula() -> Ball:
        return -(groups * (-rule.noise.tail(rule.least - 1)).log1p()).expm1()

    # Such keys are there with at most this probability, and else it is as if nobody had them,
    # which is a loss of 0, or less than this least one.
    shown = Fraction(repr(round_up(formula)))
    return single(noise) + losses.approximate(epsilon=_LEAST_LOSS, delta=shown)


def _pass(rule: Threshold, counts: Integers) -> Selected:
    """Add noise to the counts of keys that somebody has, and keep what passes."""
    there = np.flatnonzero(counts > 0)
    kept, noisy = np.zeros(counts.shape, dtype=np.bool_), np.zeros_like(counts)
    drawn = release_integers(counts[there], rule.noise.sampler(), sensitivity=1, most=None)
    passed = drawn >= rule.least
    kept[there], noisy[there] = passed, np.where(passed, drawn, 0)
    return Selected(kept, noisy)


def share_of(delta: Fraction, moves: int) -> Fraction:
    """Return nearly the largest delta of one key such that all keys together have at most delta.

    >>> share_of(Fraction(1, 10**6), 1), float(share_of(Fraction(3, 4), 2))
    (Fraction(1, 1000000), 0.5)

    Guarantee:
        Neighbours: those of each key.
        Loss: 1 - (1 - share)^moves is at most delta.
        Numerics: rounded down, to 64 bits.
        Proof: docs/proofs/partitions.md, theorem 3.
    """
    if moves == 1:
        return delta
    steps = 2 ** (_DIGITS + (moves * delta.denominator // delta.numerator).bit_length())
    return Fraction(-ceiling(lambda: steps * ((-ball(delta)).log1p() / moves).expm1()), steps)


def _read_counts(counts: object) -> Integers:
    array = read_whole(COUNTS, counts)
    if (array < 0).any():
        raise ValueError(_COUNTS)
    if array.dtype.kind == "O":
        return np.array([min(count, _MANY) for count in array.tolist()], dtype=np.int64)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    most = min(_MANY, np.iinfo(array.dtype).max)
    numbers: Integers = np.minimum(array, array.dtype.type(most)).astype(np.int64)
    return numbers
