# SPDX-License-Identifier: Apache-2.0
"""All laws of a few outcomes, some larger ones, and their events."""

import itertools
from collections.abc import Iterator
from fractions import Fraction

from hypothesis import strategies as st

Law = list[Fraction]


def laws(outcomes: int, parts: int) -> Iterator[Law]:
    """Return all laws of so many outcomes with probabilities that are multiples of 1/parts."""
    for cuts in itertools.combinations(range(parts + outcomes - 1), outcomes - 1):
        ends = [-1, *cuts, parts + outcomes - 1]
        yield [Fraction(b - a - 1, parts) for a, b in itertools.pairwise(ends)]


SMALL = [(p, q) for p, q in itertools.product(laws(3, 4), repeat=2)]
some_laws = (
    st.lists(st.integers(0, 9), min_size=4, max_size=4)
    .filter(any)
    .map(lambda weights: [Fraction(w, sum(weights)) for w in weights])
)


def events(p: Law, q: Law) -> Iterator[tuple[Fraction, Fraction]]:
    for event in itertools.product((0, 1), repeat=len(p)):
        yield (
            sum((y for y, part in zip(p, event, strict=True) if part), Fraction(0)),
            sum((z for z, part in zip(q, event, strict=True) if part), Fraction(0)),
        )
