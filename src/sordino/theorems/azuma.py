# SPDX-License-Identifier: Apache-2.0
"""Azuma's inequality: a sum of bounded steps seldom runs far ahead of its drift."""

from __future__ import annotations

from fractions import Fraction

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Integer, Number, positive, positive_whole
from sordino.theorems.arguments import read_signed, read_slack


def azuma(*, times: Integer, largest: Number, drift: Number = 0, above: Number) -> float:
    """Return a bound on the probability that a sum of bounded steps is larger than ``above``.

    There are ``times`` steps, none larger than ``largest`` in absolute value, and whatever came
    before, the mean of the next one is at most ``drift``. With k steps of at most a and drift b the
    bound is exp(-(above - k b)^2 / (2 k a^2)), and 1 for what is not above k b.

    >>> azuma(times=100, largest=1, above=30)
    0.011108996538242308
    >>> azuma(times=100, largest=1, drift=0.1, above=5)
    1.0

    Guarantee:
        Neighbours: none; about random numbers of any kind.
        Loss: none; a probability. With steps that are the losses of answers, largest = epsilon and
            the drift epsilon tanh(epsilon / 2) it is the delta of advanced composition.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/divergences.md, theorem 1.
    """
    steps, most, mean = _read(times, largest, drift)
    ahead = read_signed("above", above) - steps * mean
    if ahead <= 0:
        return 1.0
    exponent = ahead * ahead / (2 * steps * most * most)

    def tail() -> Ball:
        return (-ball(exponent)).exp()

    return round_up(tail)


def azuma_threshold(*, times: Integer, largest: Number, drift: Number = 0, slack: Number) -> float:
    """Return what a sum of bounded steps exceeds with a probability of at most ``slack``.

    It is k b + a sqrt(2 k ln(1/slack)), for the numbers of `azuma`.

    >>> azuma_threshold(times=100, largest=1, slack=0.011108996538242308)
    30.0
    """
    steps, most, mean = _read(times, largest, drift)
    extra = read_slack("slack", slack)
    return round_up(lambda: exceeded(steps, ball(most), ball(mean), extra))


def exceeded(times: int, largest: Ball, drift: Ball, slack: Fraction) -> Ball:
    """Return the ball around the number that `azuma_threshold` rounds up."""
    return largest * (2 * ball(times) * -ball(slack).log()).sqrt() + times * drift


def _read(times: Integer, largest: Number, drift: Number) -> tuple[int, Fraction, Fraction]:
    steps, most = positive_whole("times", times), positive("largest", largest)
    mean = read_signed("drift", drift)
    if mean < -most:
        raise ValueError("drift must be at least -largest: no step is smaller than that")
    return steps, most, mean
