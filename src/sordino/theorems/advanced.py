# SPDX-License-Identifier: Apache-2.0
"""Advanced composition as the textbooks print it, and the rules of thumb made from it."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, positive, positive_whole
from sordino.theorems.arguments import (
    EpsilonDelta,
    one_of,
    pair,
    read_amount,
    read_delta,
    read_slack,
)
from sordino.theorems.azuma import exceeded

Drift: TypeAlias = Literal["printed", "tight"]
DRIFTS: tuple[Drift, ...] = ("printed", "tight")


def advanced(
    *,
    epsilon: Number,
    delta: Number = 0,
    times: int,
    slack: Number,
    drift: Drift = "printed",
) -> EpsilonDelta:
    """Return the loss of equal steps by advanced composition.

    With k steps and slack d the epsilon is epsilon sqrt(2 k ln(1/d)) + k epsilon (e^epsilon - 1),
    and the delta is k delta + d. The second term bounds the mean of the loss; its least value is
    k epsilon tanh(epsilon / 2), about half as much, and ``drift="tight"`` uses it.

    For few steps this is more than `basic` gives; it is never less than `optimal` gives.

    >>> advanced(epsilon=0.1, times=100, slack=1e-6)
    EpsilonDelta(epsilon=6.308230950513409, delta=1e-06)
    >>> advanced(epsilon=0.1, times=100, slack=1e-6, drift="tight")
    EpsilonDelta(epsilon=5.756105519335732, delta=1e-06)

    Guarantee:
        Neighbours: those of the loss that came in.
        Loss: the steps together, each chosen after the answers to those before it, but with an
            epsilon and a delta that were fixed beforehand. The slack must be positive.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 3 (Dwork, Rothblum, Vadhan 2010).
    """
    one_of("drift", drift, DRIFTS)
    price, lost = read_amount("epsilon", epsilon), read_delta("delta", delta)
    steps, extra = positive_whole("times", times), read_slack("slack", slack)

    def formula() -> Ball:
        mean = (ball(price) / 2).tanh() if drift == "tight" else ball(price).expm1()
        return exceeded(steps, ball(price), ball(price) * mean, extra)

    return pair(round_up(formula), steps * lost + extra)


def advanced_per_query(
    *,
    total_epsilon: Number,
    times: int,
    slack: Number,
    constant: Literal["2 sqrt 2", "2"] = "2 sqrt 2",
) -> float:
    """Return the epsilon of one step by a rule of thumb: total / (c sqrt(k ln(1/slack))).

    It is here for comparison only; nothing in this library is calibrated with it. Two versions
    are in use, with c = 2 sqrt 2 and with c = 2. Both are meant for totals below 1. Neither
    follows from `advanced` when the slack is large (above 0.71 and 0.33 for one step and a total
    of 0.99). Both are cautious: whether a total holds is what `optimal` tells, and `optimal`
    found no case in which it does not.

    >>> advanced_per_query(total_epsilon=0.5, times=100, slack=1e-6)
    0.004755996663770314
    >>> advanced_per_query(total_epsilon=0.5, times=100, slack=1e-6, constant="2")
    0.006725994984505172

    Guarantee:
        Neighbours: those of the steps.
        Loss: none is promised; check the total with `optimal`.
        Numerics: rounded down, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 3; docs/errata.md, E-C1.
    """
    one_of("constant", constant, ("2 sqrt 2", "2"))
    total, steps = positive("total_epsilon", total_epsilon), positive_whole("times", times)
    extra = read_slack("slack", slack)
    if total >= 1:
        raise ValueError("the rule of thumb is stated for total_epsilon below 1; use so.calibrate")

    def negated() -> Ball:
        root = (ball(Fraction(steps)) * -ball(extra).log()).sqrt()
        factor = 2 * ball(Fraction(2)).sqrt() if constant == "2 sqrt 2" else 2
        return -ball(total) / (factor * root)

    return -round_up(negated)
