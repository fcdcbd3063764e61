# SPDX-License-Identifier: Apache-2.0
"""Reading scores: whole arrays as they are, anything else as exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, MappingView, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from numbers import Number as AnyNumber
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.domains import Domain
from sordino.numbers.columns import (
    DAYS,
    Door,
    as_int64,
    check_kind,
    is_number,
    kinds_of,
    number_of,
    read_numbers,
)
from sordino.numbers.rational import (
    Integer,
    Number,
    is_integer,
)
from sordino.randomness.selection import EachLevels, Floats, Found, Integers, Levels, array_levels

Names: TypeAlias = "Sequence[Any] | npt.NDArray[Any]"  # all candidates, in a public order

ROWS = "for raw rows count them first, as with collections.Counter(rows)"
_NUMBERS = (AnyNumber, np.number, np.bool_)
_STRANGER = "scores name something that is not among the candidates"
_NEVER = "and never add a candidate because the data has it"


def labels_of(given: Any) -> Any:
    """Return the index of a pandas Series, the keys of a mapping, or None."""
    if isinstance(given, Mapping):
        return given.keys()
    index = getattr(given, "index", None)
    return index if hasattr(given, "to_numpy") and hasattr(index, "tolist") else None


def as_mapping(what: str, given: Any, candidates: Any = None) -> Mapping[Any, Any] | None:
    """Return numbers that have names of their own as a mapping; None if they only have an order.

    The labels 0, 1, ... that pandas gives to rows without names are no names, unless there are
    numbers among the candidates. So the candidates decide, which are public, and not which labels
    the data have left over.
    """
    if isinstance(given, Mapping):
        return given
    labels = labels_of(given)
    if labels is None or (counts_rows(labels) and not _has_numbers(candidates)):
        return None
    found = dict(zip(labels.tolist(), given.to_numpy().tolist(), strict=True))
    if len(found) != len(given):
        raise ValueError(
            f"a candidate is named twice in {what}; every candidate must be there once"
        )
    return found


def in_order(what: str, given: Any, names: Names) -> list[Any]:
    """Return one public number for each candidate: by name if they have names, else as they come.

    >>> in_order("base", {"b": 2, "a": 1}, ["a", "b"]), in_order("base", [2, 1], ["a", "b"])
    ([1, 2], [2, 1])
    """
    named = as_mapping(what, given, names)
    if named is None:
        found = in_row(what, given)
    elif named.keys() == known_names(names):
        found = [named[name] for name in names]
    else:
        raise ValueError(f"{what} must name every candidate, and nothing else")
    if len(found) != len(names):
        raise ValueError(f"{what} must have one number for {each_of(len(names))}, got {len(found)}")
    return found


def in_row(what: str, given: Any) -> list[Any]:
    """Return numbers that go by the order of the candidates; refuse what has names or no order."""
    rule = f"{what} must be a list in the order of the candidates, got"
    labels = labels_of(given)
    if isinstance(given, str | bytes | Mapping | MappingView | Set) or is_table(given):
        raise TypeError(f"{rule} a value of type {type(given).__name__}")
    if labels is not None and not counts_rows(labels):
        raise TypeError(
            f"{rule} a {type(given).__name__} with labels; put it into that order and give its "
            "values, as with .tolist()"
        )
    try:
        return list(given)
    except TypeError:
        raise TypeError(f"{rule} a value of type {type(given).__name__}") from None


def known_names(names: Names) -> set[Any]:
    """Return the candidates as a set, to look names up."""
    try:
        return set(names)
    except TypeError:
        raise TypeError(
            "candidates that are called by name must be hashable, such as tuples"
        ) from None


def stranger(candidates: Names, named: Mapping[Any, Any], how: str = "") -> ValueError:
    """Return the error for a name that is no candidate; of names it tells the type only."""
    ours = {type(plain(name)).__name__ for name in candidates}
    theirs = {type(name).__name__ for name in named}
    if len(ours) == len(theirs) == 1 and ours != theirs:
        return ValueError(
            f"{_STRANGER}: candidates are of type {ours.pop()}, scores are named by "
            f"{theirs.pop()}; give both the same type"
        )
    return ValueError(f"{_STRANGER}; leave it out, {how}{_NEVER}")


ROW_NUMBERS = (
    f"{_STRANGER}: its labels 0, 1, ... are names because there are numbers among the candidates; "
    "give a plain list in the order of the candidates, as with .tolist()"
)


def plain(candidate: Any) -> Any:
    """Return a numpy scalar as the Python object it stands for, anything else as it is."""
    return candidate.item() if isinstance(candidate, np.generic) else candidate


def each_of(many: int) -> str:
    """Say how many candidates there are, in a sentence about each of them.

    >>> each_of(1), each_of(4)
    ('the only candidate', 'each of 4 candidates')
    """
    return "the only candidate" if many == 1 else f"each of {many} candidates"


def is_table(given: Any) -> bool:
    """Tell whether something has columns, as the tables of pandas, polars and pyarrow have."""
    return hasattr(type(given), "columns")


def counts_rows(labels: Any) -> bool:
    """Tell whether labels are the numbers 0, 1, ... that pandas gives to rows without names."""
    return type(labels).__name__ == "RangeIndex" and (labels.start, labels.step) == (0, 1)


def _has_numbers(candidates: Any) -> bool:
    """Tell whether a number is among the candidates, of any type that equals a label."""
    if isinstance(candidates, range):
        return True
    if isinstance(candidates, Domain):
        return isinstance(candidates.member(0), AnyNumber)
    if isinstance(candidates, np.ndarray) and candidates.dtype.kind != "O":
        return candidates.dtype.kind in "biufc"
    return candidates is not None and any(
        isinstance(candidate, AnyNumber | np.generic)
        and not isinstance(candidate, np.str_ | np.bytes_)
        for candidate in candidates
    )


# One-dimensional int64, uint64 or float64; or exact numbers one by one.
Scores: TypeAlias = "npt.NDArray[Any] | list[Fraction]"

_NOT_FINITE = "scores must be finite, and some are infinite or not a number"
_EMPTY = "there is no candidate to choose: scores are empty"
_BEYOND = Fraction(1 << 1000)  # no weight is larger than exp of minus this, for a larger exponent
_LONGEST = 1 << 12  # bits of an exact score
_RULE = "scores must be a sequence of finite numbers, one for each candidate, got {0}"
SCORES = Door(
    rule=_RULE,
    shape=_RULE,
    missing="scores must be finite, and some are missing",
    entry="a score of type {0}",
    reads_extended=True,
    texts=f"; {ROWS}",
)


def read_scores(scores: object, *, others: int = 0) -> Scores:
    """Read scores, each as exactly the number it is; a float is the binary fraction it holds.

    There may be none at all if there are other candidates, which are not listed.
    """
    row = read_row(scores)
    if row.size == 0:
        if not others:
            raise ValueError(_EMPTY)
        return np.empty(0, dtype=np.int64)
    if row.dtype.kind == "O" or row.dtype.itemsize > 8:
        return _of_objects(row)
    kind = np.float64 if row.dtype.kind == "f" else np.int64
    return np.ascontiguousarray(row, dtype=np.uint64 if row.dtype == np.uint64 else kind)


def read_row(scores: object) -> npt.NDArray[Any]:
    """Return scores as numbers in the order of the candidates; refuse what has another order."""
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
    return read_numbers(SCORES, list(scores) if isinstance(scores, Iterator) else scores)


def one_by_one(scores: Scores) -> list[Fraction]:
    """Return scores as fractions; refuse an infinity or something that is no number."""
    if isinstance(scores, list):
        return scores
    if scores.size:
        best_of_array(scores)
    return [Fraction(score) for score in scores.tolist()]


def best_of_array(scores: npt.NDArray[Any]) -> int | float:
    """Return the largest score of an array; refuse one with an infinity or without a number."""
    best: int | float = scores.max().item()
    if isinstance(best, float) and not (math.isfinite(best) and math.isfinite(scores.min().item())):
        raise ValueError(_NOT_FINITE)
    return best


def levels_of(
    scores: Scores, rate: Fraction, *, others: int = 0, default: Fraction = Fraction(0)
) -> Levels:
    """Sort candidates into levels: those with scores, and ``others`` with the default score.

    The others are numbered after those with scores.
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
    """Read how many candidates are not listed, and the score they all have."""
    if not is_integer(others) or others < 0:
        raise ValueError(f"others must be a whole number that is not negative, got {others!r}")
    if int(others).bit_length() > _LONGEST:
        raise ValueError(f"others must have at most {_LONGEST} bits")
    return int(others), read_default(default_score)


def read_default(default_score: Number) -> Fraction:
    """Read the score of those that have none of their own, as exactly the number it is."""
    if not is_number(type(default_score)):
        raise TypeError(
            f"default_score must be a finite number, got a value of type "
            f"{type(default_score).__name__}"
        )
    try:
        exact = _within_reach(default_score)
    except ValueError:
        raise ValueError(f"default_score must be a finite number, got {default_score}") from None
    if exact is None:
        raise ValueError("default_score has more digits than can be worked with")
    return exact


class ExactLevels:
    """A level for each exponent, with so many candidates that are alike."""

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
    """Levels, and one more for many candidates with one score, which is ``ahead`` of the best."""

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


def exact_score(score: object) -> Fraction:
    """Return a score as exactly the number it is."""
    check_kind(SCORES, type(score))
    exact = _within_reach(score)
    if exact is None:
        raise ValueError("a score has more digits than can be worked with; round the scores")
    return exact


def _within_reach(score: Any) -> Fraction | None:
    """Return a number exactly, or None if it has too many digits; refuse what is not finite."""
    if isinstance(score, Decimal) and score.is_finite() and abs(score.adjusted()) > _LONGEST:
        return None  # before it is written out, which takes a while
    number = number_of(score)
    if number is None or isinstance(number, float):
        raise ValueError(_NOT_FINITE)
    exact = Fraction(number)
    bits = max(exact.numerator.bit_length(), exact.denominator.bit_length())
    return exact if bits <= _LONGEST else None


def _of_objects(row: npt.NDArray[Any]) -> Scores:
    """Return doubles, and whole numbers that fit 64 bits, as an array, and others as fractions."""
    kinds = kinds_of(row)
    if all(issubclass(kind, float | np.float32 | np.float16) for kind in kinds):
        return row.astype(np.float64)
    whole = as_int64(row) if all(issubclass(kind, int | np.integer) for kind in kinds) else None
    if whole is not None:
        return whole
    scores = [exact_score(score) for score in row.tolist()]
    if all(score.denominator == 1 and abs(score.numerator) >> 63 == 0 for score in scores):
        return np.array([score.numerator for score in scores], dtype=np.int64)
    return scores


def _nearest(x: Fraction) -> float:
    """Return an exponent as a double; beyond the largest ones a smaller one, which covers it."""
    return float(min(_BEYOND, x))


VALUES = Door(
    rule="values must be numbers, not {0}",
    shape="values must be a list or a column of numbers, got {0}",
    missing="some values are missing; fill them in or leave them out before the release",
    booleans="values must be numbers, not booleans; "
    "turn them into 0 and 1 with int(...) or .astype(int)",
    dates=f"; {DAYS}",
)


def read_flag(name: str, value: object) -> bool:
    """Read True or False, and nothing that only looks like it."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got a value of type {type(value).__name__}")
    return value
