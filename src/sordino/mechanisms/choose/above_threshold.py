# SPDX-License-Identifier: Apache-2.0
"""The sparse vector technique: many questions about a threshold, paid for by the few that pass."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from threading import Lock
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.additive import priced_exponent, to_grid
from sordino.mechanisms.choose.noisy_max import least_difference
from sordino.mechanisms.mechanism import Mechanism, check_scales, fill, read_length
from sordino.numbers import rational
from sordino.numbers.balls import Ball, ball, ceiling
from sordino.numbers.columns import Door, clamped, is_number, read_finite, read_numbers
from sordino.numbers.rational import Integer, Number
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Pure
from sordino.randomness.samplers import Sampler, discrete_laplace
from sordino.randomness.tables import BLOCK

Array: TypeAlias = npt.NDArray[Any]
Integers: TypeAlias = npt.NDArray[np.int64]
Booleans: TypeAlias = npt.NDArray[np.bool_]

_SAFE = 1 << 62  # integers below this are subtracted within 64 bits
_NEAR = 2.0**62
_THOUSANDTHS = 1000  # in which the best split is written down

DONE = (
    "this run has given all its positive answers and is over; "
    "start another one, which costs the loss again"
)
WHOLE = (
    "this mechanism takes whole numbers because its sensitivity is an integer; "
    "give the sensitivity as a float, such as 1.0, for real values"
)
NOT_FINITE = "some values are NaN or infinite; replace or clip them first"
OTHERS = "ask takes numbers, not {0}"
_MANY = "ask_many takes a list of numbers, not {0}"
VALUES = Door(
    rule=_MANY,
    shape=_MANY,
    missing="some values are missing; fill them in or leave them out first",
    masked="values must not be masked; fill them with .filled(...) first",
)
KEPT = "a run of AboveThreshold cannot be copied or stored: its noise may be used once only"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AboveThreshold(Mechanism):
    """Tell of one value after the other whether it reaches a threshold, until enough did.

    ``sensitivity`` is how far one unit can move each value; an integer means that values and
    threshold are whole numbers, any other number that they are reals, rounded to a public grid.
    Values below the threshold are free, however many there are; after ``positives`` values that
    reached it the run is over. ``monotone`` says that one unit moves all values the same way, as it
    does with counts when it is added or removed, never when it is replaced: then there is half the
    noise. ``split`` is the share of epsilon spent on the threshold.

    To read: the parameters, ``whole``, ``grid`` (the step, 1 for integers), ``threshold_scale`` and
    ``value_scale`` (of the two noises, in units of the values), and ``loss`` (of a whole run).

    >>> m = AboveThreshold(threshold=100, epsilon=1, positives=4)
    >>> m, m.split, m.loss
    (AboveThreshold(threshold=100, epsilon=1, positives=4), Fraction(1, 5), Loss(Pure(epsilon=1)))
    >>> m.threshold_scale, m.value_scale, m.accuracy(confidence=0.95, queries=50)
    (Fraction(5, 1), Fraction(10, 1), 65)

    Guarantee:
        Neighbours: any change that moves each value by at most ``sensitivity``; with ``monotone``
            any such change that moves no two values in opposite directions.
        Loss: epsilon, pure, for all answers of one run together, also if values are chosen after
            seeing earlier answers.
        Numerics: exact; a noisy value is compared and forgotten, and never released.
        Proof: docs/proofs/sparse-vector.md, theorem 4.
    """

    threshold: Fraction
    sensitivity: Fraction
    epsilon: Fraction
    positives: int
    monotone: bool
    split: Fraction
    whole: bool
    grid: Fraction = field(compare=False)
    threshold_scale: Fraction = field(compare=False)
    value_scale: Fraction = field(compare=False)
    loss: Loss = field(compare=False)
    _exponent: int = field(compare=False)

    def __init__(
        self,
        *,
        threshold: Number,
        sensitivity: Number = 1,
        epsilon: Number,
        positives: Integer = 1,
        monotone: bool = False,
        split: Number | None = None,
    ) -> None:
        price = rational.positive("epsilon", epsilon)
        length, whole = read_length("sensitivity", sensitivity)
        level = read_finite("threshold", threshold)
        if whole and not rational.is_integer(threshold):
            raise TypeError(
                "threshold must be an integer because sensitivity is one; for real values give "
                "the sensitivity as a float, such as 1.0"
            )
        if not isinstance(monotone, bool):
            raise TypeError("monotone must be True or False")
        many = rational.positive_whole("positives", positives)
        share = (
            _best_split(many, monotone) if split is None else rational.probability("split", split)
        )
        first, rest = share * price, price - share * price
        times = many if monotone else 2 * many
        width = length * min(1 / first, times / rest)  # of the smaller of the two noises
        exponent = 0 if whole else priced_exponent(width, price, "sensitivity", length)
        steps = length.numerator if whole else shift_on_grid(length, exponent)
        scales = steps / first, times * steps / rest
        moved = f"a sensitivity of {rational.brief(length)}"
        check_scales(*scales, price=rational.brief(price), moved=moved)
        grid = Fraction(2) ** exponent
        fill(
            self,
            threshold=level,
            sensitivity=length,
            epsilon=price,
            positives=many,
            monotone=monotone,
            split=share,
            whole=whole,
            grid=grid,
            threshold_scale=scales[0] * grid,
            value_scale=scales[1] * grid,
            loss=single(Pure(epsilon=price)),
            _exponent=exponent,
        )

    def _typed(self, name: str) -> Any:
        if name == "split" and self.split == _best_split(self.positives, self.monotone):
            return None
        if name == "threshold" and self.whole:
            return self.threshold.numerator
        return Mechanism._typed(self, name)

    def start(self) -> AboveThresholdRun:
        """Draw the noise of the threshold and return a run, which costs the loss once."""
        return AboveThresholdRun(self)

    def accuracy(self, *, confidence: Number, queries: Integer) -> int | float:
        """Return how far off the threshold the answers are at most, with this confidence.

        With a the result: of so many questions, all that are answered True have a value of at least
        threshold - a, and all that are answered False one below threshold + a.
        """
        level, many = (
            rational.confidence_level(confidence),
            rational.positive_whole("queries", queries),
        )
        scales = self.threshold_scale / self.grid, self.value_scale / self.grid
        steps = least_difference(scales, share=(1 - level) / many) - 1
        share = scales[0] / sum(scales)  # nearly the best: it balances the two exponents
        apart = _reach(scales[0], share * (1 - level) / 2)
        apart += _reach(scales[1], (1 - share) * (1 - level) / many)
        steps = min(steps, apart)
        return steps if self.whole else rational.up((steps + 1) * self.grid)


class AboveThresholdRun:
    """One run of a mechanism: it has noise on its threshold, and answers until it is finished."""

    __slots__ = ("_left", "_limit", "_lock", "_noise", "_of", "_process")

    def __init__(self, mechanism: AboveThreshold) -> None:
        steps = to_grid(mechanism.threshold, mechanism._exponent)
        noise = discrete_laplace(mechanism.threshold_scale / mechanism.grid)
        self._of = mechanism
        self._limit = steps + noise.one()
        self._noise: Sampler = discrete_laplace(mechanism.value_scale / mechanism.grid)
        self._left = mechanism.positives
        self._process = os.getpid()  # a copy in another process would answer yes once more
        self._lock = Lock()  # two threads must not both take the last positive answer

    def __repr__(self) -> str:
        answers = "1 positive answer" if self._left == 1 else f"{self._left} positive answers"
        state = "finished" if self.finished else f"{answers} left"
        return f"<run of {self._of!r}: {state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(KEPT)

    @property
    def finished(self) -> bool:
        """Whether all positive answers have been given."""
        return self._left == 0

    def _check_process(self) -> None:
        # Before the lock is taken: it may have been held by a thread that a fork left behind.
        if self._process != os.getpid():
            raise RuntimeError("a run stays in the process that started it; start another one")

    def _check_open(self) -> None:
        if self._left == 0:
            raise ValueError(DONE)

    def ask(self, value: object) -> bool:
        """Tell whether a value reaches the threshold, both with noise."""
        self._check_process()
        steps = _steps(value, self._of)
        with self._lock:
            self._check_open()
            answer = steps + self._noise.one() >= self._limit
            self._left -= answer
        return answer

    def ask_many(self, values: object) -> Booleans:
        """Ask about an array of values in order; return the answers up to the end of the run.

        There are fewer answers than values if the run finishes before the last of them.
        """
        self._check_process()
        array = _read(values, self._of)
        with self._lock:
            if array.size:
                self._check_open()
            answers = [np.zeros(0, dtype=np.bool_)]
            for start in range(0, array.size, BLOCK):
                answer = self._block(array[start : start + BLOCK])
                reached = np.flatnonzero(answer)
                if reached.size >= self._left:
                    answer = answer[: int(reached[self._left - 1]) + 1]
                    reached = reached[: self._left]
                answers.append(answer)
                self._left -= reached.size
                if self._left == 0:
                    break
            return np.concatenate(answers)

    def _block(self, values: Array) -> Booleans:
        """Compare each value plus noise with the limit, that is, the noise with what is missing."""
        missing = _missing(values, self._limit, self._of)
        noise = np.empty(values.size, dtype=np.int64)
        _, drawn, beyond = next(iter(self._noise.fill(noise)))
        answers: Booleans = drawn >= missing
        # What is missing was cut to 2**62 on both sides: larger noise is compared one by one.
        unsure = np.flatnonzero((drawn >= _SAFE) | (drawn <= -_SAFE)).tolist()
        for at in {*unsure, *beyond}:
            steps = _steps(values[at], self._of)
            answers[at] = steps + beyond.get(at, int(drawn[at])) >= self._limit
        return answers


def shift_on_grid(sensitivity: Fraction, exponent: int) -> int:
    """Return how many steps one value can move once it is rounded.

    Guarantee:
        Neighbours: any change that moves the value by at most ``sensitivity``.
        Loss: none by itself; the result bounds the shift of the rounded value.
        Numerics: exact.
        Proof: docs/proofs/sparse-vector.md, theorem 4.
    """
    return math.floor(sensitivity / Fraction(2) ** exponent) + 1


def _best_split(positives: int, monotone: bool) -> Fraction:
    """Return the share of the threshold, about 1 / (1 + (2 c)**(2/3)), or with c if monotone."""
    times = positives if monotone else 2 * positives
    cube = times**2 * _THOUSANDTHS**3
    root, lower = cube, 1 << -(-cube.bit_length() // 3)
    while lower < root:  # Newton's steps to the cube root, from above
        root, lower = lower, (2 * lower + cube // lower**2) // 3
    return Fraction(_THOUSANDTHS, _THOUSANDTHS + root)


def _reach(scale: Fraction, share: Fraction) -> int:
    """Return the least k such that noise is above k with a probability of at most ``share``."""

    def formula() -> Ball:
        q = (-1 / ball(scale)).exp()
        return -(ball(share) * (1 + q)).log() * ball(scale)

    return max(ceiling(formula) - 1, 0)


def _read(values: object, of: AboveThreshold) -> Array:
    """Return values as an array of integers, doubles or exact numbers, or refuse them."""
    array = read_numbers(VALUES, values)
    if array.dtype.kind == "O":
        for value in array.tolist():
            _steps(value, of)
    elif array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise ValueError(NOT_FINITE)
        if of.whole:
            raise TypeError(WHOLE)
    return array


def _steps(value: Any, of: AboveThreshold) -> int:
    """Return a value as a whole number of steps, exactly."""
    if rational.is_integer(value):
        return int(value) if of.whole else to_grid(int(value), of._exponent)
    if not is_number(type(value)) or isinstance(value, np.longdouble):
        raise TypeError(OTHERS.format(type(value).__name__))
    real = clamped(value)
    if isinstance(real, float) and not math.isfinite(real):
        raise ValueError(NOT_FINITE)
    if of.whole:
        raise TypeError(WHOLE)
    return to_grid(real, of._exponent)


def _missing(values: Array, limit: int, of: AboveThreshold) -> Integers:
    """Return limit - value in steps, cut to 2**62 on both sides."""
    if abs(limit) < _SAFE and values.dtype.kind in "iuf":
        if values.dtype.kind == "f":
            with np.errstate(over="ignore", under="ignore"):
                steps = np.rint(np.ldexp(values.astype(np.float64), -of._exponent))
            easy = bool((np.abs(steps) < _NEAR).all())
        else:
            steps = values
            easy = of._exponent == 0 and bool(
                values.max(initial=0) < _SAFE and values.min(initial=0) > -_SAFE
            )
        if easy:
            near: Integers = np.clip(limit - steps.astype(np.int64), -_SAFE, _SAFE)
            return near
    exact = [min(max(limit - _steps(value, of), -_SAFE), _SAFE) for value in values.tolist()]
    return np.array(exact, dtype=np.int64)
