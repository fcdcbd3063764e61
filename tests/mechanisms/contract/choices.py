# SPDX-License-Identifier: Apache-2.0
"""What the contract suite knows of each mechanism that chooses: examples, and pairs of scores."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from operator import sub
from typing import Any

from sordino import Exponential, Generalised, JointTopK, NoisyMax, PermuteAndFlip, Quantiles, TopK
from sordino.privacy import Loss
from sordino.privacy.bounded_range import BoundedRange

Scores = tuple[int, ...]
Law = dict[Any, float]
Pair = tuple[Scores, Scores]


@dataclass(frozen=True)
class Enrolled:
    """A mechanism that is held to laws."""

    mechanism: Any

    @property
    def loss(self) -> Loss:
        loss: Loss = self.mechanism.loss
        return loss

    def __repr__(self) -> str:
        return repr(self.mechanism)


@dataclass(frozen=True, repr=False)
class Choice(Enrolled):
    """With the law of what it releases for some scores, and the neighbours it is for."""

    law: Callable[[Any, Scores], Law]
    neighbours: Callable[[], Iterator[Pair]]


def by_index(mechanism: Any, scores: Scores) -> Law:
    return dict(enumerate(mechanism.probabilities(list(scores)).tolist()))


def by_tuple(mechanism: Any, scores: Scores) -> Law:
    found: Law = mechanism.probabilities(list(scores))
    return found


def by_point(mechanism: Any, values: Scores) -> Law:
    """The law of one quantile, point by point; a release is a list of one point."""
    found: Law = {}
    for first, last, probability in mechanism.probabilities(list(values)):
        size = last - first + 1
        found.update({(point,): probability / size for point in range(first, last + 1)})
    return found


def moved(size: int, top: int, lengths: tuple[int, ...], spread: int) -> Iterator[Pair]:
    """All pairs of scores from 0 to top that differ by at most the lengths, apart by the spread."""
    changes = [
        change
        for change in product(*(range(-length, length + 1) for length in lengths))
        if max(change) - min(change) <= spread and any(change)
    ]
    for scores in product(range(top + 1), repeat=size):
        for change in changes:
            yield scores, tuple(s + c for s, c in zip(scores, change, strict=True))


def plain(mechanism: Any) -> Choice:
    """Enrol a mechanism with terms: three candidates with scores from 0 to 3."""
    length, spread = int(mechanism.sensitivity), int(mechanism.spread)
    return Choice(mechanism, by_index, lambda: moved(3, 3, (length,) * 3, spread))


def exchanged(mechanism: Exponential) -> Choice:
    """Enrol a mechanism with a constant normaliser: scores change places, by at most 1 each."""

    def neighbours() -> Iterator[Pair]:
        for top in range(3):
            for scores in product(range(top + 1), repeat=3):
                for other in sorted(set(permutations(scores))):
                    if other != scores and max(map(abs, map(sub, scores, other))) == 1:
                        yield scores, other

    return Choice(mechanism, by_index, neighbours)


def generalised(mechanism: Generalised) -> Choice:
    lengths = tuple(map(int, mechanism.sensitivities))
    return Choice(mechanism, by_index, lambda: moved(3, 3, lengths, 2 * max(lengths)))


def ranked(mechanism: TopK) -> Choice:
    length, spread = int(mechanism.sensitivity), int(mechanism.spread)
    return Choice(mechanism, by_tuple, lambda: moved(4, 2, (length,) * 4, spread))


def votes(mechanism: JointTopK) -> Choice:
    """Counts of up to four votes, one of which comes, goes or changes."""
    return Choice(mechanism, by_tuple, lambda: _votes(mechanism.neighbours))


def _votes(neighbours: str) -> Iterator[Pair]:
    for counts in product(range(4), repeat=4):
        for place in range(4):
            more = tuple(c + (i == place) for i, c in enumerate(counts))
            if neighbours == "add_remove":
                yield counts, more
            elif counts[place - 1]:
                yield counts, tuple(c - (i == (place - 1) % 4) for i, c in enumerate(more))


def ranks(mechanism: Quantiles) -> Choice:
    """Up to three records from 0 to 3, one of which comes, goes or changes."""
    return Choice(mechanism, by_point, lambda: _records(mechanism.neighbours))


def _records(neighbours: str) -> Iterator[Pair]:
    for size in range(4):
        for values in combinations_with_replacement(range(4), size):
            for other in range(4):
                if neighbours == "add_remove":
                    yield values, (*values, other)
                else:
                    for place in range(size):
                        yield values, (*values[:place], other, *values[place + 1 :])


EXAMPLES: dict[type, list[Choice]] = {
    Exponential: [
        plain(Exponential(sensitivity=1, epsilon=1)),
        plain(Exponential(sensitivity=1, epsilon=0.3, monotone=True)),
        plain(Exponential(sensitivity=2, epsilon=2, spread=3)),
        exchanged(Exponential(sensitivity=1, epsilon=1, normaliser="constant")),
    ],
    PermuteAndFlip: [
        plain(PermuteAndFlip(sensitivity=1, epsilon=1)),
        plain(PermuteAndFlip(sensitivity=1, epsilon=0.3, monotone=True)),
        plain(PermuteAndFlip(sensitivity=2, epsilon=2, spread=3)),
    ],
    NoisyMax: [
        plain(NoisyMax(sensitivity=1, epsilon=1, noise="laplace")),
        plain(NoisyMax(sensitivity=1, epsilon=0.5, noise="laplace", monotone=True)),
        plain(NoisyMax(sensitivity=1, epsilon=1, noise="gumbel")),
        plain(NoisyMax(sensitivity=1, epsilon=1, noise="exponential")),
    ],
    Generalised: [
        generalised(Generalised(sensitivities=[1, 2, 1], epsilon=1)),
        generalised(Generalised(sensitivities=[1, 1, 3], epsilon=1, mechanism="exponential")),
    ],
    TopK: [
        ranked(TopK(k=2, sensitivity=1, epsilon=1, monotone=True)),
        ranked(TopK(k=3, sensitivity=1, epsilon=2)),
        ranked(TopK(k=2, sensitivity=1, epsilon=1, delta=0.01, monotone=True)),
    ],
    Quantiles: [
        ranks(Quantiles([0.5], range=(0, 3), epsilon=1, neighbours="add_remove")),
        ranks(Quantiles([0.5], range=(0, 3), epsilon=1, neighbours="replace_one")),
        ranks(Quantiles([0.9], range=(0, 3), epsilon=0.5, neighbours="add_remove")),
        ranks(Quantiles([0], range=(0, 3), epsilon=1, neighbours="replace_one")),
    ],
    JointTopK: [
        votes(JointTopK(k=2, epsilon=1, neighbours="add_remove")),
        votes(JointTopK(k=2, epsilon=1, neighbours="replace_one")),
    ],
}
EVERY = [choice for choices in EXAMPLES.values() for choice in choices]


def is_bounded_range(choice: Choice) -> bool:
    """Whether the loss is that of one exponential mechanism; several have no range together."""
    return choice.loss.uses == 1 and isinstance(choice.loss.parts[0][0], BoundedRange)


def price(choice: Choice) -> Fraction:
    found = choice.loss.pure
    assert found is not None
    return found
