# SPDX-License-Identifier: Apache-2.0
"""Propose-test-release: noise for a proposed local sensitivity, if the data is far from more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from typing import Any, NamedTuple
from weakref import ref

from sordino.mechanisms.keys.optimal import LaplaceNoise, Threshold, least_threshold
from sordino.mechanisms.laplace import Laplace, moved
from sordino.mechanisms.mechanism import Mechanism, check_scales, fill, read_length
from sordino.numbers import rational
from sordino.numbers.balls import ball, ceiling
from sordino.numbers.rational import Integer, Number
from sordino.privacy import losses
from sordino.privacy.loss import Loss
from sordino.randomness.samplers import SamplerAt, no_sampler
from sordino.sensitivity.check import MOST_DATASETS
from sordino.sensitivity.norms import Neighbours, Sensitivity, read_neighbours

_DISTANCE = "distance must be a whole number that is not negative"
_HALF = Fraction(1, 2)

DataSet = tuple[Any, ...]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ProposeTestRelease(Mechanism):
    """Release a value with noise for the sensitivity ``bound``, or nothing at all.

    The bound need not hold for all data sets. With the value goes a ``distance``: how many units
    must change before the value of the data set could move by more than the bound with one unit.
    Noise is added to the distance, and only if the result reaches the ``threshold`` is the value
    released, with Laplace noise for the bound. The test takes the ``share`` of epsilon, the release
    the rest.

    What the distance, a whole number for each data set, must keep to, for the same neighbours as
    everything else:

    - neighbouring data sets have distances that differ by at most 1;
    - where the values of two neighbours differ by more than the bound, both have the distance 0.

    The number of changes to the nearest data set with a larger local sensitivity keeps to both, and
    so does any smaller number that keeps to the first. ``check_distance`` tries a distance out.

    To read: ``bound``, ``epsilon``, ``delta`` and ``share`` as they were given, ``threshold``,
    ``laplace`` (the mechanism of the release) and ``loss``.

    >>> m = ProposeTestRelease(bound=1, epsilon=1, delta=1e-6)
    >>> m, m.threshold, m.distance_for(0.99), m.accuracy(confidence=0.95)
    (ProposeTestRelease(bound=1, epsilon=1, delta=1e-06), 27, 35, 6)

    Guarantee:
        Neighbours: those that the distance was made for.
        Loss: (epsilon, delta) for each release, whether it is refused or not.
        Numerics: exact; the threshold is the least that noise on a distance of 0 is certain to
            reach with at most delta.
        Proof: docs/proofs/partitions.md, theorem 5 (Dwork and Lei 2009).
    """

    bound: Fraction
    whole: bool
    epsilon: Fraction
    delta: Fraction
    share: Fraction
    threshold: int = field(compare=False)
    laplace: Laplace = field(compare=False)
    loss: Loss = field(compare=False)
    _test: Threshold = field(compare=False)
    _sampler: SamplerAt = field(compare=False)

    def __init__(
        self, *, bound: Number | Sensitivity, epsilon: Number, delta: Number, share: Number = _HALF
    ) -> None:
        price, slack = rational.positive("epsilon", epsilon), rational.probability("delta", delta)
        part = rational.probability("share", share)
        eta = part * price
        check_scales(
            1 / eta, price=f"{rational.brief(eta)} of {rational.brief(price)}", moved="the test"
        )
        if isinstance(bound, Sensitivity):
            bound = bound.l1_number
        length, whole = read_length("bound", bound)
        moved("bound", length, price - eta, whole=whole)
        laplace = Laplace(sensitivity=bound, epsilon=price - eta)
        test = _threshold(eta, slack)
        fill(
            self,
            bound=laplace.sensitivity,
            whole=laplace.whole,
            epsilon=price,
            delta=slack,
            share=part,
            threshold=test.least,
            laplace=laplace,
            loss=losses.approximate(epsilon=price, delta=slack),
            _test=test,
            _sampler=no_sampler,
        )

    def release(self, value: object, *, distance: Integer) -> Any:
        """Return the value with noise, or None if the noisy distance is below the threshold."""
        if not rational.is_integer(distance) or distance < 0:
            raise ValueError(_DISTANCE)
        sampler = self._sampler()
        if sampler is None:
            sampler = self._test.noise.sampler()
            object.__setattr__(self, "_sampler", ref(sampler))
        # Noise is drawn in any case, so that a value which cannot be released is an error in both.
        noisy = self.laplace.release(value)
        return noisy if int(distance) + sampler.one() >= self.threshold else None

    def probability(self, distance: Integer) -> float:
        """Return the probability that a value with this distance is released, rounded up."""
        if not rational.is_integer(distance) or distance < 0:
            raise ValueError(_DISTANCE)
        return self._test.probability(int(distance))

    def distance_for(self, probability: Number) -> int:
        """Return the least distance with at least this probability of a release."""
        share = rational.positive("probability", probability)
        if share >= 1:
            raise ValueError(f"probability must be below 1, got {rational.brief(share)}")
        return self._test.count_for(share)

    def accuracy(self, *, confidence: Number, coordinates: Integer = 1) -> int | float:
        """Return the least half-width that the noise of a release keeps to with this confidence."""
        return self.laplace.accuracy(confidence=confidence, coordinates=coordinates)


class Breach(NamedTuple):
    """Two neighbours for which a distance does not keep to its contract, and what is wrong."""

    reason: str
    first: DataSet
    second: DataSet


def check_distance(
    function: Callable[[DataSet], Any],
    distance: Callable[[DataSet], int],
    *,
    bound: Number,
    universe: Iterable[Any],
    size: Integer,
    neighbours: str,
) -> Breach | None:
    """Try a distance on all data sets from a small universe; return two that break the contract.

    Data sets are sorted tuples: of ``size`` records under replace_one, of up to ``size`` records
    under add_remove. None means that no breach was found among them, which is no proof for others.
    With such a distance it is private to release the value by ProposeTestRelease(bound=...).

    >>> check_distance(
    ...     max, lambda data: 3, bound=1, universe=[0, 5], size=2, neighbours="replace_one"
    ... )
    Breach(reason='the values differ by more than the bound', first=(0, 0), second=(0, 5))
    """
    most, many, relation = (
        rational.positive("bound", bound),
        rational.positive_whole("size", size),
        read_neighbours(neighbours),
    )
    records = sorted(set(universe))
    if not records:
        raise ValueError("universe must hold at least one record")
    sizes = [many] if relation is Neighbours.replace_one else list(range(many + 1))
    total = sum(comb(len(records) + n - 1, n) for n in sizes)
    if total > MOST_DATASETS:
        raise ValueError(
            f"there are {total} data sets, and at most {MOST_DATASETS} are gone through; take a "
            "smaller size or universe"
        )
    found = {
        data: (function(data), distance(data))
        for n in sizes
        for data in combinations_with_replacement(records, n)
    }
    for data, (value, far) in found.items():
        if not rational.is_integer(far) or far < 0:
            return Breach("a distance is not a whole number of at least 0", data, data)
        for other in _after(data, records, relation):
            if other not in found:
                continue
            other_value, other_far = found[other]
            if rational.is_integer(other_far) and abs(far - other_far) > 1:
                return Breach("the distances differ by more than 1", data, other)
            apart = abs(Fraction(value) - Fraction(other_value)) > most
            if apart and (far > 0 or other_far > 0):
                return Breach("the values differ by more than the bound", data, other)
    return None


def _after(data: DataSet, records: list[Any], relation: Neighbours) -> list[DataSet]:
    """Return the neighbours of a data set, each pair at least from one side."""
    if relation is Neighbours.add_remove:
        return [tuple(sorted((*data, record))) for record in records]
    return [
        tuple(sorted((*data[:place], record, *data[place + 1 :])))
        for place in range(len(data))
        for record in records
        if record != data[place]
    ]


def _threshold(eta: Fraction, delta: Fraction) -> Threshold:
    """Return the least threshold that noise on a distance of 0 reaches with at most delta."""
    near = ceiling(lambda: -ball(delta).log() / ball(eta))
    return least_threshold(LaplaceNoise(eta), hidden=0, times=1, delta=delta, near=near)
