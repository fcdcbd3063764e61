# SPDX-License-Identifier: Apache-2.0
"""Other distances between what is seen with a unit and without it.

All of them are attained by randomized response.
"""

from __future__ import annotations

from fractions import Fraction

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, positive
from sordino.theorems.arguments import read_amount, read_delta


def pure_to_renyi(*, epsilon: Number, order: Number) -> float:
    """Return the largest Rényi divergence of whatever is epsilon-private.

    It is (ln cosh((a - 1/2) epsilon) - ln cosh(epsilon / 2)) / (a - 1) for the order a. At order 1
    this is the Kullback-Leibler divergence, epsilon tanh(epsilon / 2).

    >>> pure_to_renyi(epsilon=1, order=2)
    0.7353256640555194

    Guarantee:
        Neighbours: those of the epsilon that came in.
        Loss: the divergence in both directions, for every order from 1 on.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 9.
    """
    price, at = read_amount("epsilon", epsilon), positive("order", order)
    if at < 1:
        raise ValueError(f"order must be at least 1, got {order}")

    def log_cosh(x: Fraction) -> Ball:
        return ball(x) + (-2 * ball(x)).exp().log1p()  # less ln 2, which cancels

    if at == 1:
        return round_up(lambda: ball(price) * (ball(price) / 2).tanh())
    half = Fraction(1, 2)
    return round_up(lambda: (log_cosh((at - half) * price) - log_cosh(half * price)) / ball(at - 1))


def pure_to_total_variation(*, epsilon: Number, delta: Number = 0) -> float:
    """Return by how much the probability of an event can differ: delta + (1 - delta) tanh(eps/2).

    >>> pure_to_total_variation(epsilon=1)
    0.4621171572600098

    Guarantee:
        Neighbours: those of the loss that came in.
        Loss: the total variation distance of whatever is (epsilon, delta)-private.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 9.
    """
    price, lost = read_amount("epsilon", epsilon), read_delta("delta", delta)
    return round_up(lambda: ball(lost) + ball(1 - lost) * (ball(price) / 2).tanh())


def pure_to_chi_squared(*, epsilon: Number) -> float:
    """Return the largest chi-squared divergence: (e^epsilon - 1)^2 e^-epsilon.

    >>> pure_to_chi_squared(epsilon=1)
    1.0861612696304876

    Guarantee:
        Neighbours: those of the epsilon that came in.
        Loss: the divergence of whatever is epsilon-private, in both directions.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 9.
    """
    price = read_amount("epsilon", epsilon)
    return round_up(lambda: 4 * (ball(price) / 2).sinh() ** 2)
