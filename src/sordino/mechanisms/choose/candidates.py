# SPDX-License-Identifier: Apache-2.0
"""Putting candidates and scores together, whatever they come as.

The candidates are public and the scores are not. So the candidates are an argument of their own,
and taking them from whatever holds the scores is refused: which candidates are there at all would
tell who is in the data.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, KeysView, Mapping, ValuesView
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.exact.rational import Integer, Number, is_integer, positive_whole
from sordino.mechanisms.choose.domains import TWICE, Domain, Integers, as_domain

FROM_DATA = (
    "the candidates come from the same object as the scores, so who is in the data decides which "
    "candidates there are, and no noise hides that. List the candidates without looking at the "
    "data, or state public_domain=True if this list is public knowledge"
)
_UNKNOWN = (
    "scores name a candidate that is not among the candidates; "
    "add it to the candidates, or leave its score out"
)
_MOST_UNHASHABLE = 2_000
_MOST_MEMBERS = 1 << 20  # of a domain that is gone through one by one


@dataclass(frozen=True, slots=True)
class Slate:
    """Scores in a row, how many more candidates there are, and which candidate an index means.

    In an ``ordered`` one every candidate is there, in the public order of the list; otherwise the
    data may have decided the order, and what goes by the order must be refused.

    Guarantee: none needed; it stays inside a mechanism.
    """

    scores: Any
    candidate: Callable[[int], Any]
    others: int = 0
    ordered: bool = True


def read_slate(
    candidates: Any,
    scores: Any,
    *,
    domain_size: Integer | None,
    default_score: Number,
    public_domain: bool,
) -> Slate:
    """Read candidates and scores.

    Guarantee:
        Neighbours: the candidates must be the same for all of them; what is certain to come from
            the data is refused.
        Loss: none by itself; nothing is released.
        Numerics: exact.
        Proof: docs/proofs/choosing.md, theorem 5.
    """
    if scores is None:
        if _labels(candidates) is None:
            raise TypeError("scores are missing; give one for each candidate")
        scores = candidates
    if domain_size is not None:
        return _numbered(candidates, scores, positive_whole("domain_size", domain_size))
    if not public_domain and is_from_data(candidates, scores):
        raise ValueError(FROM_DATA)
    candidates, scores = _aligned(candidates, scores)
    by_name = _as_mapping(scores)
    if isinstance(candidates, Domain) or (isinstance(candidates, range) and by_name is not None):
        domain = as_domain(candidates)
        if by_name is not None:
            return _sparse(domain, by_name)
        if domain.size > _MOST_MEMBERS:
            raise TypeError("for so many candidates scores must be a mapping of those not default")
        candidates = [domain.member(number) for number in range(domain.size)]
    return _listed(candidates, scores, by_name, default_score)


def _listed(candidates: Any, scores: Any, by_name: Mapping[Any, Any] | None, default: Any) -> Slate:
    if isinstance(candidates, str | bytes | Mapping | set | frozenset):
        raise TypeError(
            f"candidates must be a list in a fixed order, got a value of type "
            f"{type(candidates).__name__}"
        )
    try:
        names = candidates if isinstance(candidates, range | np.ndarray) else list(candidates)
    except TypeError:
        raise TypeError(
            f"candidates must be a list, got a value of type {type(candidates).__name__}"
        ) from None
    if len(names) == 0:
        raise ValueError("there is no candidate to choose: the list is empty")
    check_distinct(names)
    if by_name is not None:
        known = set(names)
        if any(name not in known for name in by_name):
            raise ValueError(_UNKNOWN)
        scores = [by_name.get(name, default) for name in names]
    elif callable(scores):
        scores = [scores(name) for name in names]
    elif isinstance(scores, Iterator | ValuesView):
        scores = list(scores)
    elif not hasattr(scores, "__len__"):
        raise TypeError(
            f"scores must be a list of numbers, a mapping or a function, got a value of type "
            f"{type(scores).__name__}"
        )
    if len(scores) != len(names):
        raise ValueError(
            f"there must be one score for each candidate, got {len(names)} candidates and "
            f"{len(scores)} scores"
        )
    return Slate(scores, lambda index: plain(names[index]))


def _sparse(domain: Domain, by_name: Mapping[Any, Any]) -> Slate:
    numbers = [domain.number(name) for name in by_name]
    if None in numbers:
        raise ValueError(_UNKNOWN)
    return _sparse_numbers(domain, numbers, [*by_name.values()])


def _numbered(candidates: Any, scores: Any, size: int) -> Slate:
    """Read scores of some of the numbers below a size, which may come from the data."""
    whole = Integers(0, size - 1)
    if candidates is None:
        candidates = scores
    own = is_from_data(candidates, scores)
    candidates, scores = _aligned(candidates, scores)
    by_name = _as_mapping(scores)
    if by_name is not None and not own:
        raise TypeError(
            "with domain_size, scores that name their candidates go without a list of candidates; "
            "give None in its place"
        )
    if by_name is not None:
        return _sparse_numbers(whole, [*by_name], [*by_name.values()])
    if candidates is scores or not hasattr(candidates, "__len__"):
        raise TypeError("with domain_size, list the candidates that have scores, and their scores")
    if callable(scores):
        scores = [scores(number) for number in candidates]
    return _sparse_numbers(whole, candidates, scores)


def _sparse_numbers(domain: Domain, listed: Any, scores: Any) -> Slate:
    """Read scores of members that are given by their numbers; the others have the default."""
    if len(listed) != len(scores):
        raise ValueError(
            f"there must be one score for each listed candidate, got {len(listed)} candidates and "
            f"{len(scores)} scores"
        )
    numbers = _as_numbers(listed)
    ordered = np.sort(numbers)
    if ordered.size and not (ordered[0] >= 0 and ordered[-1] < domain.size):
        raise ValueError(_UNKNOWN)
    if (ordered[1:] == ordered[:-1]).any():
        raise ValueError(TWICE)

    def candidate(index: int) -> Any:
        if index < numbers.size:
            return domain.member(int(numbers[index]))
        return domain.member(unlisted(ordered, index - numbers.size))

    return Slate(scores, candidate, domain.size - numbers.size, ordered=False)


def unlisted(ordered: Any, rank: int) -> int:
    """Return the number of this rank among those that are not listed, from the listed in order.

    >>> unlisted([2, 3, 7], 0), unlisted([2, 3, 7], 2), unlisted([2, 3, 7], 5)
    (0, 4, 8)

    Guarantee: none needed; it stays inside a mechanism.
    """
    before = bisect_right(range(len(ordered)), rank, key=lambda i: int(ordered[i]) - i)
    return rank + before


def _as_numbers(listed: Any) -> Any:
    if isinstance(listed, np.ndarray) and listed.dtype.kind in "iu":
        return listed.astype(np.int64) if listed.dtype != np.uint64 else listed.astype(object)
    given = listed.tolist() if isinstance(listed, np.ndarray) else list(listed)
    if not all(is_integer(number) for number in given):
        raise TypeError("with domain_size the candidates are whole numbers from 0 on")
    try:
        return np.array(given, dtype=np.int64)
    except OverflowError:
        return np.array([int(number) for number in given], dtype=object)


def check_distinct(names: Any) -> None:
    """Refuse a list that has a candidate twice.

    Guarantee: none needed; public inputs only.
    """
    if isinstance(names, range):
        return
    if isinstance(names, np.ndarray) and names.ndim != 1:
        raise ValueError(f"candidates must be a list, got an array of {names.ndim} dimensions")
    if isinstance(names, np.ndarray) and names.dtype.kind in "iuf":
        ordered = names if (names[1:] > names[:-1]).all() else np.sort(names)
        distinct = bool((ordered[1:] != ordered[:-1]).all())
    else:
        try:
            distinct = len(set(names)) == len(names)
        except TypeError:
            if len(names) > _MOST_UNHASHABLE:
                raise TypeError(
                    f"more than {_MOST_UNHASHABLE} candidates must be hashable, such as tuples"
                ) from None
            distinct = all(name not in names[:at] for at, name in enumerate(names))
    if not distinct:
        raise ValueError(TWICE)


def plain(candidate: Any) -> Any:
    """Return a numpy scalar as the Python object it stands for, anything else as it is.

    Guarantee: none needed; post-processing.
    """
    return candidate.item() if isinstance(candidate, np.generic) else candidate


def _as_mapping(scores: Any) -> Mapping[Any, Any] | None:
    """Return scores that have names of their own as a mapping; None if they only have an order."""
    if isinstance(scores, Mapping):
        return scores
    labels = _labels(scores)
    if labels is None or type(labels).__name__ == "RangeIndex":
        return None
    found = dict(zip(labels.tolist(), scores.to_numpy().tolist(), strict=True))
    if len(found) != len(scores):
        raise ValueError("scores name a candidate twice; every candidate must be there once")
    return found


def _labels(scores: Any) -> Any:
    """Return the index of a pandas Series, the keys of a mapping, or None."""
    if isinstance(scores, Mapping):
        return scores.keys()
    index = getattr(scores, "index", None)
    return index if hasattr(scores, "to_numpy") and hasattr(index, "tolist") else None


def is_from_data(candidates: Any, scores: Any) -> bool:
    """Tell whether the candidates were taken from what holds the scores; never by comparing.

    Guarantee: none needed; which objects these are is public.
    """
    return (
        candidates is scores
        or (isinstance(candidates, KeysView) and isinstance(scores, Mapping | ValuesView))
        or _is_same(candidates, _labels(scores))
        or _is_same(_labels(candidates), _labels(scores))
    )


def _aligned(candidates: Any, scores: Any) -> tuple[Any, Any]:
    """Return candidates as a list of names, and scores in their order where they share labels."""
    labels = _labels(scores)
    if labels is None:
        return candidates, scores
    if candidates is scores:
        return list(labels), scores
    if _is_same(_labels(candidates), labels):
        return list(candidates), scores.to_numpy()
    return candidates, scores


def _is_same(index: Any, other: Any) -> bool:
    """Tell whether two are one index, perhaps by way of views; equal ones are not the same."""
    if index is None or other is None:
        return False
    return index is other or (hasattr(index, "is_") and bool(index.is_(other)))
