# SPDX-License-Identifier: Apache-2.0
"""What needs no calculation: losses add up, and nothing done to an answer costs more."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sordino.numbers.rational import Number
from sordino.theorems.arguments import EpsilonDelta, pair, read_amount, read_delta, read_losses


def basic(*, losses: Iterable[tuple[Number, Number]]) -> EpsilonDelta:
    """Return the loss of several steps as the sum of their losses.

    >>> basic(losses=[(0.1, 0), (0.2, 1e-6), (0.3, 1e-6)])
    EpsilonDelta(epsilon=0.6, delta=2e-06)

    Guarantee:
        Neighbours: those of the losses that came in, which must all mean the same.
        Loss: the steps together, each chosen after the answers to those before it, and also when
            their losses are chosen on the way, as long as the sums stay below this pair.
        Numerics: exact sums, rounded up to the next double that reads as at least as much.
        Proof: docs/proofs/composition.md, theorem 1.
    """
    read = read_losses(losses).items()
    epsilon = sum((n * epsilon for (epsilon, _), n in read), start=Fraction(0))
    return pair(epsilon, sum((n * delta for (_, delta), n in read), start=Fraction(0)))


def postprocessing(*, epsilon: Number, delta: Number = 0) -> EpsilonDelta:
    """Return the loss of anything computed from a private answer and nothing else: the same loss.

    The computation may be random and may use everything that is public, earlier answers too. It
    may not look at the data again, not even to decide whether to look.

    >>> postprocessing(epsilon=1, delta=1e-6)
    EpsilonDelta(epsilon=1.0, delta=1e-06)

    Guarantee:
        Neighbours: those of the loss that came in.
        Loss: that loss.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 2.
    """
    return pair(read_amount("epsilon", epsilon), read_delta("delta", delta))
