# SPDX-License-Identifier: Apache-2.0
"""Basic and advanced composition, parallel composition, and several units at once."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, TypeAlias

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Integer, Number, one_of, positive, positive_whole, read_signed
from sordino.privacy.theorems.arguments import (
    EpsilonDelta,
    pair,
    read_amount,
    read_delta,
    read_losses,
    read_parts,
    read_slack,
    rounded,
)

Drift: TypeAlias = Literal["printed", "tight"]
DRIFTS: tuple[Drift, ...] = ("printed", "tight")
Neighbours = Literal["add_remove", "replace_one"]
Split = Literal["by value", "by position"]
_BY_POSITION = (
    "parts by position gain nothing when units are added or removed, because every later unit "
    "moves; add the losses up with basic"
)


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

    Guarantee: as for azuma.
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


def group(
    *,
    epsilon: Number,
    delta: Number = 0,
    size: int,
    form: Literal["tight", "printed"] = "tight",
) -> EpsilonDelta:
    """Return the loss for ``size`` units at once.

    The delta is delta (e^(k epsilon) - 1) / (e^epsilon - 1) for k units. Textbooks print
    k e^((k - 1) epsilon) delta, which is true but larger; ``form="printed"`` gives it.

    A step is one step of the relation: when units are added or removed, replacing one is two
    steps, so k replacements are a group of 2 k.

    >>> group(epsilon=0.5, delta=1e-6, size=10)
    EpsilonDelta(epsilon=5.0, delta=0.0002272365124446774)
    >>> group(epsilon=0.5, delta=1e-6, size=10, form="printed")
    EpsilonDelta(epsilon=5.0, delta=0.0009001713130052182)

    Guarantee:
        Neighbours: data sets that are ``size`` steps of the relation of epsilon and delta apart.
        Loss: (epsilon, delta)-private for them. The tight form cannot be improved: choosing which
            keys to publish attains it.
        Numerics: epsilon exact, delta from a certified ball; both rounded up.
        Proof: docs/proofs/composition.md, theorem 11.
    """
    one_of("form", form, ("tight", "printed"))
    price, lost = read_amount("epsilon", epsilon), read_delta("delta", delta)
    many = positive_whole("size", size)
    if lost == 0 or price == 0 or many == 1:
        return pair(many * price, many * lost)

    def formula() -> Ball:
        if form == "printed":
            return ball(lost) * many * ball((many - 1) * price).exp()
        return ball(lost) * ball(many * price).expm1() / ball(price).expm1()

    return pair(many * price, round_up(formula))


def group_rho(*, rho: Number, size: int) -> float:
    """Return the rho for ``size`` units at once: size^2 rho.

    >>> group_rho(rho=0.1, size=3)
    0.9

    Guarantee:
        Neighbours: data sets that are ``size`` steps of the relation of rho apart.
        Loss: rho-zCDP for them; Gaussian noise attains it.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 11 (Bun and Steinke 2016).
    """
    return rounded(positive_whole("size", size) ** 2 * read_amount("rho", rho))


def replace_from_add_remove(*, epsilon: Number, delta: Number = 0) -> EpsilonDelta:
    """Return the loss when a unit is replaced, from the loss when one is added or removed.

    To replace is to remove and to add: (2 epsilon, (1 + e^epsilon) delta). There is no way back: a
    promise about replacements says nothing about how many units there are.

    >>> replace_from_add_remove(epsilon=1)
    EpsilonDelta(epsilon=2.0, delta=0.0)

    Guarantee:
        Neighbours: one unit replaced by another; epsilon and delta are for one added or removed.
        Loss: (epsilon, delta)-private.
        Numerics: epsilon exact, delta from a certified ball; both rounded up.
        Proof: docs/proofs/composition.md, theorem 11.
    """
    return group(epsilon=epsilon, delta=delta, size=2)


def replace_from_add_remove_rho(*, rho: Number) -> float:
    """Return rho when a unit is replaced, from rho when one is added or removed: 4 rho.

    >>> replace_from_add_remove_rho(rho=0.1)
    0.4

    Guarantee:
        Neighbours: one unit replaced by another; rho is for one added or removed.
        Loss: rho-zCDP.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 11.
    """
    return rounded(4 * Fraction(read_amount("rho", rho)))


def parallel(
    *,
    parts: Iterable[Number | tuple[Number, Number]],
    neighbours: Neighbours,
    split: Split = "by value",
) -> float:
    """Return the epsilon of answers about disjoint parts of the data.

    If units are added or removed, it is the largest epsilon of a part. If they are replaced, a
    unit may leave one part and enter another, which costs the sum of both, or change inside one;
    so the two largest are not always enough.

    >>> parallel(parts=[1, 0.1], neighbours="add_remove")
    1.0
    >>> parallel(parts=[1, 0.1], neighbours="replace_one")
    2.0
    >>> parallel(parts=[(1, 1), 0.1], neighbours="replace_one")
    1.1

    Guarantee:
        Neighbours: one unit added or removed, or one replaced, as ``neighbours`` says. Which part
            a unit belongs to, if any, is a function of that unit alone; with ``split="by
            position"`` it is its place in a table of fixed length, and replacing is the only
            relation that is allowed.
        Loss: epsilon-private, all parts together; each part is asked without knowing the others.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 12; docs/errata.md, E-C9.
    """
    return _cost(parts, neighbours, split, inside=2)


def parallel_rho(
    *,
    parts: Iterable[Number | tuple[Number, Number]],
    neighbours: Neighbours,
    split: Split = "by value",
) -> float:
    """Return the rho of answers about disjoint parts of the data.

    The rule is that of `parallel`, except that a change inside a part costs up to four times its
    rho, if nothing better is known.

    >>> parallel_rho(parts=[0.1, 0.1, 0.05], neighbours="add_remove")
    0.1
    >>> parallel_rho(parts=[(0.1, 0.1), (0.1, 0.15)], neighbours="replace_one")
    0.2

    Guarantee:
        Neighbours: as in `parallel`.
        Loss: rho-zCDP, all parts together; each part is asked without knowing the others.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 12; docs/errata.md, E-C9.
    """
    return _cost(parts, neighbours, split, inside=4)


def _cost(
    parts: Iterable[Number | tuple[Number, Number]], neighbours: str, split: str, *, inside: int
) -> float:
    one_of("neighbours", neighbours, ("add_remove", "replace_one"))
    one_of("split", split, ("by value", "by position"))
    read = read_parts(parts)
    if neighbours == "add_remove":
        if split == "by position":
            raise ValueError(_BY_POSITION)
        return rounded(max(loss for loss, _ in read))
    replaced = max(
        inside * loss if given is None else min(given, inside * loss) for loss, given in read
    )
    if split == "by position":
        return rounded(replaced)
    # A unit that leaves a part enters another one, or none if the parts do not cover all units.
    largest = sorted((loss for loss, _ in read), reverse=True)[:2]
    return rounded(max(replaced, sum(largest, start=Fraction(0))))
