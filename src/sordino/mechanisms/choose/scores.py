# SPDX-License-Identifier: Apache-2.0
"""Reading scores: whole arrays as they are, anything else as exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.levels import EachLevels, Floats, Found, Integers, Levels, array_levels
from sordino.exact.rational import Integer, Number, is_integer
from sordino.mechanisms.choose.labels import ROWS, counts_rows, labels_of

# One-dimensional int64, uint64 or float64; or exact numbers one by one.
Scores: TypeAlias = "npt.NDArray[Any] | list[Fraction]"

_RULE = "scores must be a sequence of finite numbers, one for each candidate"
_NOT_FINITE = "scores must be finite, and some are infinite or not a number"
_EMPTY = "there is no candidate to choose: scores are empty"
_BEYOND = Fraction(1 << 1000)  # no weight is larger than exp of minus this, for a larger exponent
_LONGEST = 1 << 12  # bits of an exact score
_KINDS = {
    "U": "strings",
    "S": "bytes",
    "b": "booleans",
    "M": "dates",
    "m": "durations",
    "c": "complex numbers",
    "f": "long doubles",
}
_LONG = "a score has more digits than can be worked with; round the scores"


def read_scores(scores: object, *, others: int = 0) -> Scores:
    """Read scores, each as exactly the number it is; a float is the binary fraction it holds.

    There may be none at all if there are other candidates, which are not listed.

    Guarantee: none needed; nothing is released, and no message quotes a score.
    """
    if isinstance(scores, MappingView | Set):
        raise TypeError(
            "scores must be a list in the order of the candidates, and "
            f"{type(scores).__name__} has the order of the data; give the mapping itself to choose"
        )
    labels = labels_of(scores)
    if labels is not None and not isinstance(scores, Mapping) and not counts_rows(labels):
        raise TypeError(
            "scores have labels, whose order the data may have decided; give them to choose "
            "together with the candidates, or put them into the order of the candidates, .tolist()"
        )
    listed = list(scores) if isinstance(scores, Iterator) else scores
    if not isinstance(listed, list | tuple):
        listed = _unwrapped(listed)
    if len(listed) == 0:
        if not others:
            raise ValueError(_EMPTY)
        return np.empty(0, dtype=np.int64)
    if isinstance(listed, np.ndarray):
        return _read_array(listed)
    return (
        _read_array(np.asarray(listed))
        if _all_alike(listed)
        else _as_array(map(exact_score, listed))
    )


def one_by_one(scores: Scores) -> list[Fraction]:
    """Return scores as fractions; refuse an infinity or something that is no number.

    Guarantee: none needed; the result stays inside a mechanism.
    """
    if isinstance(scores, list):
        return scores
    if scores.size:
        best_of_array(scores)
    return [Fraction(score) for score in scores.tolist()]


def best_of_array(scores: npt.NDArray[Any]) -> int | float:
    """Return the largest score of an array; refuse one with an infinity or without a number.

    Guarantee: none needed; the result stays inside a mechanism.
    """
    best: int | float = scores.max().item()
    if isinstance(best, float) and not (math.isfinite(best) and math.isfinite(scores.min().item())):
        raise ValueError(_NOT_FINITE)
    return best


def levels_of(
    scores: Scores, rate: Fraction, *, others: int = 0, default: Fraction = Fraction(0)
) -> Levels:
    """Sort candidates into levels: those with scores, and ``others`` with the default score.

    The others are numbered after those with scores.

    Guarantee: none needed; the result stays inside a mechanism.
    """
    levels: Levels
    if len(scores) == 0:
        return WithOthers(ExactLevels([], []), 0, others, Fraction(0))
    if isinstance(scores, list):
        top = max(scores)
        exponents = [rate * (top - score) for score in scores]
        levels = EachLevels(np.array([_nearest(x) for x in exponents]), exponents.__getitem__)
    else:
        best = best_of_array(scores)
        top, levels = Fraction(best), array_levels(scores, rate, best)
    if not others:
        return levels
    return WithOthers(levels, len(scores), others, rate * (default - top))


def read_others(others: Integer, default_score: Number) -> tuple[int, Fraction]:
    """Read how many candidates are not listed, and the score they all have.

    Guarantee: none needed; public inputs only.
    """
    if not is_integer(others) or others < 0:
        raise ValueError(f"others must be a whole number that is not negative, got {others!r}")
    if int(others).bit_length() > _LONGEST:
        raise ValueError(f"others must have at most {_LONGEST} bits")
    return int(others), read_default(default_score)


def read_default(default_score: Number) -> Fraction:
    """Read the score of those that have none of their own, as exactly the number it is.

    Guarantee: none needed; public inputs only.
    """
    try:
        return exact_score(default_score)
    except TypeError:
        raise TypeError(
            f"default_score must be a finite number, got a value of type "
            f"{type(default_score).__name__}"
        ) from None
    except ValueError as error:
        if str(error) == _LONG:
            raise ValueError("default_score has more digits than can be worked with") from None
        raise ValueError(f"default_score must be a finite number, got {default_score}") from None


class ExactLevels:
    """A level for each exponent, with so many candidates that are alike.

    Guarantee: none needed; it stays inside a mechanism.
    """

    __slots__ = ("_exponents", "counts", "floors")

    def __init__(self, exponents: Sequence[Fraction], counts: list[int]) -> None:
        self._exponents = exponents
        self.counts: Integers | list[int] = counts
        self.floors: Floats = np.array([_nearest(x) for x in exponents])

    def floor(self, level: int) -> Fraction:
        return self._exponents[level]

    def find(self, level: int, rank: int) -> Found:  # noqa: ARG002 - a level is one candidate
        return Found(level, Fraction(0))


class WithOthers:
    """Levels, and one more for many candidates with one score, which is ``ahead`` of the best.

    Guarantee: none needed; it stays inside a mechanism.
    """

    __slots__ = ("_behind", "_levels", "_offset", "_size", "counts", "floors")

    def __init__(self, levels: Levels, size: int, others: int, ahead: Fraction) -> None:
        self._levels = levels
        self._size = size
        self._offset = max(ahead, Fraction(0))
        behind = max(-ahead, Fraction(0))
        self.counts: Integers | list[int] = [*map(int, levels.counts), others]
        self.floors: Floats = np.append(levels.floors + _nearest(self._offset), _nearest(behind))
        self._behind = behind

    def floor(self, level: int) -> Fraction:
        if level == len(self.counts) - 1:
            return self._behind
        return self._levels.floor(level) + self._offset

    def find(self, level: int, rank: int) -> Found:
        if level == len(self.counts) - 1:
            return Found(self._size + rank, Fraction(0))
        return self._levels.find(level, rank)


def _unwrapped(scores: Any) -> npt.NDArray[Any] | list[Any]:
    """Return anything that numpy reads as a row, as an array; as a list if it holds objects."""
    if isinstance(scores, str | bytes | dict | set | frozenset | np.ma.MaskedArray):
        raise TypeError(f"{_RULE}, got a value of type {type(scores).__name__}")
    try:
        array = np.asarray(scores)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{_RULE}, got a value of type {type(scores).__name__}") from None
    if array.ndim == 0:
        raise TypeError(f"{_RULE}, got a value of type {type(scores).__name__}")
    if array.ndim != 1:
        raise ValueError(f"{_RULE}, got an array of {array.ndim} dimensions")
    return array.tolist() if array.dtype.kind == "O" else array


def _all_alike(scores: Sequence[Any]) -> bool:
    """Tell whether an array holds all of these without rounding any."""
    kinds = set(map(type, scores))
    if kinds == {int}:
        return bool(min(scores) >= -(1 << 63) and max(scores) < 1 << 63)
    return len(kinds) == 1 and (kinds == {float} or issubclass(kinds.pop(), np.generic))


def _read_array(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if scores.dtype.kind not in "iuf" or scores.dtype.itemsize > 8:
        hint = f"; {ROWS}" if scores.dtype.kind == "U" else ""
        raise TypeError(
            f"{_RULE}, got an array of {_KINDS.get(scores.dtype.kind, 'other things')}{hint}"
        )
    kind: type[np.generic] = np.float64 if scores.dtype.kind == "f" else np.int64
    if scores.dtype == np.uint64:
        kind = np.uint64
    return np.ascontiguousarray(scores, dtype=kind)


def exact_score(score: object) -> Fraction:
    """Return a score as exactly the number it is.

    Guarantee: none needed; the result stays inside a mechanism, and no message quotes it.
    """
    if isinstance(score, bool | np.bool_) or not isinstance(
        score, int | float | Fraction | Decimal | np.integer | np.floating
    ):
        hint = f"; {ROWS}" if isinstance(score, str) else ""
        raise TypeError(f"{_RULE}, got a score of type {type(score).__name__}{hint}")
    if isinstance(score, Decimal) and score.is_finite() and abs(score.adjusted()) > _LONGEST:
        raise ValueError(_LONG)  # before it is written out, which takes a while
    try:
        above, below = score.as_integer_ratio() if not isinstance(score, np.integer) else (score, 1)
    except (ValueError, OverflowError):
        raise ValueError(_NOT_FINITE) from None
    exact = Fraction(int(above), int(below))
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _LONGEST:
        raise ValueError(_LONG)
    return exact


def _as_array(exact: Iterable[Fraction]) -> Scores:
    """Return whole numbers that fit 64 bits as an array."""
    scores = list(exact)
    if all(score.denominator == 1 and abs(score.numerator) >> 63 == 0 for score in scores):
        return np.array([score.numerator for score in scores], dtype=np.int64)
    return scores


def _nearest(x: Fraction) -> float:
    """Return an exponent as a double; beyond the largest ones a smaller one, which covers it."""
    return float(min(_BEYOND, x))
