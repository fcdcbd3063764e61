# SPDX-License-Identifier: Apache-2.0
"""Amplification by sampling: to ask a secret random part of the data costs less."""

from __future__ import annotations

from typing import Literal

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, positive
from sordino.theorems.arguments import EpsilonDelta, one_of, pair, read_amount, read_delta

_PAIRS = {"poisson": "add_remove", "without_replacement": "replace_one"}


def subsampled(
    *,
    epsilon: Number,
    delta: Number = 0,
    rate: Number,
    sampling: Literal["poisson", "without_replacement"],
    neighbours: Literal["add_remove", "replace_one"],
) -> EpsilonDelta:
    """Return the loss of a mechanism that is run on a random sample of the units.

    The result is (ln(1 + q (e^epsilon - 1)), q delta) for the rate q, in two cases: each unit is
    taken by a coin of its own, and units are added or removed; or a fixed number of units is drawn
    without replacement, m of n with q = m / n, and units are replaced. In both cases the loss of
    the mechanism is for the same relation. The other two pairs need other bounds and are refused.

    >>> subsampled(epsilon=1, rate=0.01, sampling="poisson", neighbours="add_remove")
    EpsilonDelta(epsilon=0.01703686323617655, delta=0.0)

    Guarantee:
        Neighbours: one unit added or removed, or one replaced, as ``neighbours`` says.
        Loss: (epsilon, delta)-private, if nobody learns which units were in the sample.
        Numerics: epsilon from a certified ball, delta exact; both rounded up.
        Proof: docs/proofs/composition.md, theorem 13 (Balle, Barthe, Gaboardi 2018).
    """
    one_of("sampling", sampling, tuple(_PAIRS))
    one_of("neighbours", neighbours, ("add_remove", "replace_one"))
    price, lost = read_amount("epsilon", epsilon), read_delta("delta", delta)
    share = positive("rate", rate)
    if share > 1:
        raise ValueError(f"rate must be at most 1, got {rate}")
    if neighbours != _PAIRS[sampling]:
        raise ValueError(
            f"{sampling} sampling is amplified for neighbours {_PAIRS[sampling]!r} only: "
            f"with {neighbours!r} this bound is not proved"
        )

    def formula() -> Ball:
        return (ball(share) * ball(price).expm1()).log1p()

    return pair(round_up(formula), share * lost)
