# SPDX-License-Identifier: Apache-2.0
"""Choosing a point of an interval, or of the whole line, by scores constant on pieces of it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.interval import Interval, Line, OnLine
from sordino.mechanisms.choose.scores import Scores, best_of_array, one_by_one, read_scores
from sordino.mechanisms.choose.terms import Terms
from sordino.numbers.rational import Number, positive
from sordino.randomness.entropy import system
from sordino.randomness.selection import Found, by_weight

_FARTHEST = 2.0**1000  # exponents beyond this weigh nothing that a double could tell from it
_BREAKS = "breaks must be finite numbers that do not decrease"


def choose_in(
    interval: Interval | Line,
    breaks: Sequence[Number] | npt.NDArray[Any],
    scores: object,
    *,
    sensitivity: Number,
    epsilon: Number,
    monotone: bool = False,
    spread: Number | None = None,
    closed: Literal["left", "right"] = "left",
    falls: Number | None = None,
) -> int | float:
    """Choose a point of an interval or of a line, with a weight that grows with its score.

    ``breaks`` cut the interval into one piece more than there are breaks, and ``scores`` has one
    score for each piece, which all its points share. A break belongs to the piece on its right, or
    with ``closed="right"`` to the one on its left. Breaks and scores may come from the data; the
    interval, its step and its base may not. A float among them is exactly the number it is.

    A Line has no ends, so its weights must add up by themselves. Either it has a base, or scores
    fall: with ``falls`` the score of the first piece is that at the first break, and falls by so
    much for each unit to the left, and likewise to the right of the last break. Then there is at
    least one break, and ``falls`` is public. One break at b with the scores 0 and 0 and falls=1 is
    the score -abs(y - b), and the choice is b with noise.

    A small grid and a large epsilon leave one point to choose:

    >>> choose_in(Interval(0, 9), [3, 4], [0, 1, 0], sensitivity=1, epsilon=200)
    3
    >>> choose_in(Line(centre=0, scale=50), [3, 4], [0, 1, 0], sensitivity=1, epsilon=200)
    3
    >>> choose_in(Line(), [-7], [0, 0], falls=1, sensitivity=1, epsilon=200)
    -7

    Guarantee:
        Neighbours: any change to the data that moves the score of no point of the interval or line
            by more than ``sensitivity``, and those of no two points apart by more than ``spread``.
        Loss: ``losses.exponential(epsilon=epsilon)``: pure, and bounded range.
        Numerics: exact; no float decides an outcome.
        Proof: docs/proofs/quantiles.md, theorem 1; docs/proofs/choosing.md, theorem 9.
    """
    if not isinstance(interval, Interval | Line):
        raise TypeError(
            f"interval must be an Interval or a Line, got a value of type {type(interval).__name__}"
        )
    if closed not in ("left", "right"):
        raise ValueError("closed must be 'left' or 'right'")
    terms = Terms(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone, spread=spread)
    listed = read_scores(scores)
    if len(listed) != len(breaks) + 1:
        raise ValueError("scores must have one entry more than breaks: one for each piece")
    if isinstance(interval, Line):
        fall = Fraction(0) if falls is None else positive("falls", falls)
        on_line = OnLine(
            interval,
            _in_order(breaks),
            one_by_one(listed),
            rate=terms.rate,
            falls=fall,
            after=closed == "right",
        )
        return interval.point(on_line.draw(system()))
    if falls is not None:
        raise ValueError("an Interval has an end, so scores need not fall; leave falls out")
    cuts = cut_places(interval, breaks, after=closed == "right")
    pieces = Pieces(interval, [0, *cuts, interval.size], listed, terms.rate)
    return interval.point(by_weight(pieces, system())[1].candidate)


def cut_places(
    interval: Interval, breaks: Sequence[Number] | npt.NDArray[Any], *, after: bool
) -> list[int]:
    """Return the place of the first point from each break on, or ``after`` it; exactly.

    Guarantee: none by itself; a function of each break alone.
    """
    if isinstance(breaks, np.ndarray) and breaks.dtype.kind == "f" and breaks.dtype.itemsize <= 8:
        doubles = breaks.astype(np.float64).reshape(-1)
        if not np.isfinite(doubles).all() or (doubles[1:] < doubles[:-1]).any():
            raise ValueError(_BREAKS)
        if interval == interval.plain():
            return _double_places(interval, doubles, after)
    return [interval.first_from(x, after=after) for x in _in_order(breaks)]


def _in_order(breaks: Sequence[Number] | npt.NDArray[Any]) -> list[Fraction]:
    """Read breaks as exactly the numbers they are."""
    exact = [_exact(x) for x in breaks]
    if any(a > b for a, b in pairwise(exact)):
        raise ValueError(_BREAKS)
    return exact


def _double_places(interval: Interval, breaks: npt.NDArray[np.float64], after: bool) -> list[int]:
    """Find places by doubles, which hold the points of a plain interval up to 2**53 exactly."""
    origin, step, size = float(interval.origin), float(interval.step), interval.size
    if max(abs(interval.low), abs(interval.high)) > step * 2**53:
        return [interval.first_from(Fraction(x), after=after) for x in breaks.tolist()]
    with np.errstate(over="ignore"):
        guess = np.floor((breaks - origin) / step)
    places = np.clip(guess - 1, 0, size).astype(np.int64)
    for _ in range(4):  # the guess is off by less than 2
        points = origin + places * step
        places += (points <= breaks if after else points < breaks) & (places < size)
    found: list[int] = places.tolist()
    return found


class Pieces:
    """The pieces of an interval as levels: as many candidates as their points weigh."""

    __slots__ = ("_best", "_interval", "_masses", "_rate", "_scores", "counts", "floors")

    def __init__(
        self, interval: Interval, cuts: Sequence[int], scores: Scores, rate: Fraction
    ) -> None:
        self._interval = interval
        self._masses = [*cuts] if interval.uniform else [interval.mass(cut) for cut in cuts]
        self._scores = scores
        self._rate = rate
        self.counts = [after - before for before, after in pairwise(self._masses)]
        if isinstance(scores, list):
            self._best = max(scores)
            gaps = np.array([_double(self._best - score) for score in scores])
        else:
            best = best_of_array(scores)
            self._best = Fraction(best)
            gaps = _gaps(best, scores)
        with np.errstate(over="ignore"):
            self.floors = np.minimum(gaps * float(rate), _FARTHEST)

    def floor(self, level: int) -> Fraction:
        score = self._scores[level]
        exact = score if isinstance(score, Fraction) else Fraction(score.item())
        return self._rate * (self._best - exact)

    def find(self, level: int, rank: int) -> Found:
        return Found(self._interval.locate(self._masses[level] + rank), Fraction(0))


def _gaps(best: float, scores: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return how far scores are behind the best, with one rounding."""
    if scores.dtype.kind == "f":
        with np.errstate(over="ignore"):
            behind: npt.NDArray[np.float64] = best - scores
        return behind
    # Differences of 64-bit integers are exact as unsigned ones, even where they wrap around.
    wrapped = np.uint64(int(best) & 0xFFFF_FFFF_FFFF_FFFF) - scores.view(np.uint64)
    return wrapped.astype(np.float64)


def _double(x: Fraction) -> float:
    return float(min(x, Fraction(1 << 1000)))


def _exact(x: Any) -> Fraction:
    plain = x.item() if isinstance(x, np.generic) else x
    if isinstance(plain, bool) or not isinstance(plain, int | float | Fraction | Decimal):
        raise TypeError(f"{_BREAKS}, got a value of type {type(x).__name__}")
    try:
        return Fraction(plain)
    except (ValueError, OverflowError):
        raise ValueError(_BREAKS) from None
