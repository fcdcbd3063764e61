# SPDX-License-Identifier: Apache-2.0
"""The best of several private results: run a mechanism a random, hidden number of times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from sordino.mechanisms.choose.scores import exact_score
from sordino.mechanisms.mechanism import Mechanism, fill
from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import (
    Number,
    brief,
    is_integer,
    one_of,
    positive,
    probability,
    read_signed,
    reading,
    up_as_printed,
)
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Approximate, Pure
from sordino.privacy.theorems.conversions import renyi_to_epsilon
from sordino.privacy.theorems.selection import (
    expected_runs as mean_runs,
)
from sordino.privacy.theorems.selection import (
    repeat_and_select_poisson,
    repeat_and_select_renyi,
)
from sordino.randomness.entropy import system
from sordino.randomness.samplers import draw_negative_binomial, draw_poisson

Distribution: TypeAlias = Literal["geometric", "logarithmic", "negative_binomial", "poisson"]

_SHAPES = {"geometric": Fraction(1), "logarithmic": Fraction(0)}
_NAMES = ("geometric", "logarithmic", "negative_binomial", "poisson")
_ORDERS = [1 + 2.0 ** (j / 2) for j in range(-8, 24)]
_POISSON_ORDERS = [1 + 2.0**j for j in range(10)]  # each one takes a search of its own
_MOST_RUNS = 10**6
_HALVINGS = 60
_LEAST_LOG = -300.0  # of gamma: about 1e-130


@dataclass(frozen=True, slots=True, init=False, repr=False)
class BestOf(Mechanism):
    """Run something private a random number of times and keep the result with the best score.

    ``loss`` is what each run costs: a Loss, or a value that has one. The number of runs is drawn
    from a distribution with ``expected_runs`` on average, or with parameter ``gamma``: geometric,
    logarithmic, negative_binomial (with ``eta`` above -1) or poisson. It is never shown, because
    the loss holds for those who do not learn it; whoever can time a release can guess it.

    The loss does not grow with the number of runs: for runs that are epsilon-private it is 3
    epsilon if the number is geometric, 2 epsilon if logarithmic and (2 + eta) epsilon in general.
    With ``delta`` a Rényi bound is used where it is smaller; runs without a finite epsilon, such as
    those with Gaussian noise, need it.

    To read: ``each`` (the loss of one run), ``distribution``, ``eta`` and ``gamma`` (None for
    poisson), ``expected_runs``, ``delta`` and ``loss``.

    >>> from sordino.privacy import losses
    >>> tuner = BestOf(loss=losses.pure(epsilon=0.1), expected_runs=10)
    >>> tuner, tuner.loss, tuner.expected_runs
    (BestOf(loss=Loss(Pure(epsilon=0.1)), gamma=0.1), Loss(Pure(epsilon=0.3)), 10.0)

    Guarantee:
        Neighbours: those of the loss of one run.
        Loss: ``loss`` for each release, if every run, with its score, costs at most ``each``.
        Numerics: the number of runs is drawn exactly; the loss is exact or rounded up.
        Proof: docs/proofs/private-candidates.md.
    """

    each: Loss
    distribution: Distribution
    eta: Fraction | None
    gamma: Fraction | None
    delta: Fraction | None
    expected_runs: float
    loss: Loss = field(compare=False)
    _mean: Fraction | None

    def __init__(
        self,
        *,
        loss: object,
        expected_runs: Number | None = None,
        gamma: Number | None = None,
        distribution: Distribution = "geometric",
        eta: Number | None = None,
        delta: Number | None = None,
    ) -> None:
        one_of("distribution", distribution, _NAMES)
        each = _read_loss(loss)
        slack = None if delta is None else probability("delta", delta)
        shape = _read_shape(distribution, eta)
        mean = share = None
        if shape is None:
            if gamma is not None or expected_runs is None:
                raise ValueError("a poisson number of runs is given by expected_runs, not by gamma")
            mean = _read_runs("expected_runs", expected_runs, 0)
        else:
            share = _read_share(shape, expected_runs, gamma)
        if shape is None or share is None:
            assert mean is not None  # noqa: S101 - read above
            runs, total = up_as_printed(mean), _poisson_loss(each, mean, slack)
        else:
            runs = mean_runs(eta=shape, gamma=share)
            total = _binomial_loss(each, shape, share, slack)
        fill(
            self,
            each=each,
            distribution=distribution,
            eta=shape,
            gamma=share,
            delta=slack,
            expected_runs=runs,
            loss=total if each.neighbours is None else total.under(each.neighbours),
            _mean=mean,
        )

    def _typed(self, name: str) -> Any:
        if name == "eta" and self.distribution != "negative_binomial":
            return None
        return getattr(self, {"loss": "each", "expected_runs": "_mean"}.get(name, name))

    def release(
        self, run: Callable[[], Any], score: Callable[[Any], Any] | None = None
    ) -> Any:  # what a run returns
        """Call ``run()`` a random number of times and return its best result, as it returned it.

        Without ``score`` each run returns a pair (candidate, score), and the pair is returned. With
        ``score`` a run returns a candidate, and ``score(candidate)`` must look at nothing else: a
        score that looks at private data is part of the run, and belongs into its loss. A score is a
        number; the first of equal scores wins, and NaN is the worst score. A poisson number may be
        0: then the result is None.

        An error in a run is passed on, and tells everybody that there was such a run: let runs
        return a bad score instead.
        """
        if not callable(run):
            raise TypeError(
                f"run must be a function without arguments, got a value of type "
                f"{type(run).__name__}"
            )
        if score is not None and not callable(score):
            raise TypeError(
                f"score must be a function of a candidate, got a value of type "
                f"{type(score).__name__}"
            )
        bits = system()
        if self._mean is not None:
            turns = _hidden(draw_poisson(self._mean, bits))
        else:
            assert self.eta is not None  # noqa: S101 - one of the two is there
            assert self.gamma is not None  # noqa: S101
            turns = _hidden(draw_negative_binomial(self.eta, self.gamma, bits))
        best: Any = None
        highest: Fraction | float | None = None
        for first in turns:
            result = run()
            points = _points(_second(result) if score is None else score(result))
            if first or _is_better(points, highest):
                best, highest = result, points
        return best


def best_of(
    mechanism: Callable[[], Any],
    score: Callable[[Any], Any] | None = None,
    *,
    runs: Number,
    loss: object = None,
    distribution: Distribution = "geometric",
    eta: Number | None = None,
    delta: Number | None = None,
) -> Any:
    """Run a private mechanism a random number of times, ``runs`` on average; return the best.

    ``mechanism()`` returns a pair (candidate, score), or a candidate if there is a function
    ``score`` that looks at the candidate alone. ``loss`` is what one run costs; it may be left out
    if the mechanism has a loss of its own. ``BestOf`` with the same arguments has the total loss.

    Guarantee: as for BestOf.
    """
    if not callable(mechanism):
        raise TypeError(
            f"best_of takes a function without arguments, not {type(mechanism).__name__}; "
            "write lambda: ... around what makes one candidate"
        )
    _read_runs("runs", runs, 0 if distribution == "poisson" else 1)
    tuner = BestOf(
        loss=mechanism if loss is None else loss,
        expected_runs=runs,
        distribution=distribution,
        eta=eta,
        delta=delta,
    )
    return tuner.release(mechanism, score)


def _hidden(count: int) -> Iterator[bool]:
    """Yield as often as counted, true the first time; a traceback of the loop shows no number."""
    for turn in range(count):
        yield turn == 0


def _second(result: object) -> Any:
    if isinstance(result, tuple) and len(result) == 2:
        return result[1]
    raise TypeError(
        "each run must return a pair (candidate, score); "
        "for candidates alone give a function score=..."
    )


def _points(score: object) -> Fraction | float | None:
    """Return a score so that any two can be compared: exact, or an infinity; None if it is NaN.

    Every score is checked, also the only one: an error must not tell that there were two.
    """
    if is_integer(score):
        return Fraction(int(score))
    if isinstance(score, Fraction):
        return score
    if isinstance(score, Decimal):
        nan, infinite = score.is_nan(), score.is_infinite()
    elif isinstance(score, float | np.floating):
        nan, infinite = bool(np.isnan(score)), bool(np.isinf(score))
    else:
        raise TypeError(f"a score must be a number, got a value of type {type(score).__name__}")
    if nan or infinite:
        return None if nan else math.copysign(math.inf, score)
    return exact_score(score)


def _is_better(points: Fraction | float | None, highest: Fraction | float | None) -> bool:
    """Tell whether a score beats the best so far; NaN beats nothing and is beaten by the rest."""
    return points is not None and (highest is None or points > highest)


def _read_loss(loss: object) -> Loss:
    found = loss if isinstance(loss, Loss) else getattr(loss, "loss", None)
    if not isinstance(found, Loss):
        raise TypeError(
            "loss must be what one run costs, such as losses.pure(epsilon=0.1) or a mechanism, "
            f"got a value of type {type(loss).__name__}"
        )
    return found


def _read_shape(distribution: str, eta: Number | None) -> Fraction | None:
    """Return eta, or None for a poisson number."""
    if distribution != "negative_binomial":
        if eta is not None:
            raise ValueError("eta goes with distribution='negative_binomial' only")
        return _SHAPES.get(distribution)
    if eta is None:
        raise ValueError("distribution='negative_binomial' needs eta, a number above -1")
    shape = read_signed("eta", eta)
    if shape <= -1:
        raise ValueError(f"eta must be above -1, got {eta}")
    return shape


def _read_runs(name: str, expected_runs: Number, least: int) -> Fraction:
    runs = positive(name, expected_runs)
    if not least < runs <= _MOST_RUNS:
        rule = f"above {least} and " if least else ""
        raise ValueError(f"{name} must be {rule}at most a million, got {expected_runs}")
    return runs


def _read_share(eta: Fraction, expected_runs: Number | None, gamma: Number | None) -> Fraction:
    if (expected_runs is None) == (gamma is None):
        raise ValueError("give exactly one of expected_runs and gamma")
    if gamma is not None:
        return probability("gamma", gamma)
    assert expected_runs is not None  # noqa: S101 - one of the two is there
    runs = _read_runs("expected_runs", expected_runs, 1)
    if eta == 1:
        return 1 / runs

    def share(logarithm: float) -> Fraction:
        return Fraction(repr(math.exp(logarithm)))

    def is_more(gamma: Fraction) -> bool:
        return gamma < 1 and reading(mean_runs(eta=eta, gamma=gamma)) > runs

    low, high = _LEAST_LOG, 0.0  # of gamma; the number of runs falls as it grows
    if not is_more(share(low)):
        raise ValueError(f"so many runs are not reached with an eta of {brief(eta)}")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_more(share(middle)) else (low, middle)
    return share(high) if share(high) < 1 else share(low)


def _binomial_loss(each: Loss, eta: Fraction, gamma: Fraction, delta: Fraction | None) -> Loss:
    """Return the loss of the best of a truncated negative binomial number of runs."""
    whole = None if each.pure is None else (2 + eta) * each.pure

    def divergence(order: float) -> float:
        return repeat_and_select_renyi(curve=_curve(each), order=order, eta=eta, gamma=gamma)

    return _least(whole, divergence, _ORDERS, delta)


def _poisson_loss(each: Loss, mean: Fraction, delta: Fraction | None) -> Loss:
    """Return the loss of the best of a Poisson number of runs."""
    whole = None
    pure = each.pure
    if pure is not None:
        exact = pure

        def formula() -> Ball:
            return ball(exact) + ball(mean) * (ball(exact) / 2).tanh()

        found = reading(round_up(formula))
        whole = found if isinstance(found, Fraction) else None

    def divergence(order: float) -> float:
        return repeat_and_select_poisson(curve=_curve(each), order=order, mean=mean, form="tight")

    return _least(whole, divergence, _POISSON_ORDERS, delta)


def _least(
    whole: Fraction | None,
    divergence: Callable[[float], float],
    orders: list[float],
    delta: Fraction | None,
) -> Loss:
    """Return the pure loss, or (epsilon, delta) if that is stated and gives a smaller epsilon."""
    if delta is not None:
        found = reading(renyi_to_epsilon(curve=divergence, delta=delta, orders=orders))
        if isinstance(found, Fraction) and found > 0 and (whole is None or found < whole):
            return single(Approximate(epsilon=found, delta=delta))
    if whole is not None:
        return single(Pure(epsilon=whole))
    if delta is None:
        raise ValueError(
            "the runs have no finite epsilon of their own, so state delta= for the best of them"
        )
    raise ValueError("no Rényi divergence of the runs is finite, so the best of them has no bound")


def _curve(each: Loss) -> Callable[[float], float]:
    """Return the Rényi divergences of one run, each computed once."""
    return lru_cache(maxsize=None)(lambda order: each.renyi(order=order))
