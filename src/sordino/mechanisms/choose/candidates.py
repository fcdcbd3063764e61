# SPDX-License-Identifier: Apache-2.0
"""Putting candidates and scores together, whatever they come as, all at once or in chunks."""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence, Set, ValuesView
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.domains import (
    MOST_LISTED,
    TWICE,
    Domain,
    Integers,
    as_domain,
    members_of,
)
from sordino.mechanisms.choose.scores import (
    ROW_NUMBERS,
    ROWS,
    ExactLevels,
    Names,
    Scores,
    as_mapping,
    best_of_array,
    counts_rows,
    each_of,
    in_row,
    is_table,
    known_names,
    labels_of,
    one_by_one,
    plain,
    read_default,
    read_flag,
    read_scores,
    stranger,
)
from sordino.mechanisms.choose.terms import Floats, weights
from sordino.numbers import rational
from sordino.numbers.rational import Integer, Number
from sordino.randomness.entropy import system
from sordino.randomness.race import LARGEST_RATE, LEAST_RATE, Noise, Race
from sordino.randomness.selection import Levels

FROM_DATA = (
    "the candidates come from the same object as the scores, so who is in the data decides which "
    "candidates there are, and no noise hides that. List the candidates without looking at the "
    "data, or state public_domain=True if this list is public knowledge"
)
_DICT = "for instance with {name: counts.get(name, 0) for name in CANDIDATES}, "
_SERIES = "for instance with counts.reindex(CANDIDATES, fill_value=0), "
_BY_NAME = "for so many candidates scores must be a mapping of those not default"
_ONE_OF_MANY = (
    f"the k best, and what goes by the order of the candidates, need a list of at most "
    f"{MOST_LISTED:,} candidates; draw the best one with choose, without base"
)
_MOST_UNHASHABLE = 2_000
_LONGEST = 1 << 12  # bits of a weight once all have one denominator
Array: TypeAlias = npt.NDArray[Any]
Kind: TypeAlias = Literal["exponential", "permute_and_flip"]
_NOISES: dict[str, Noise] = {"exponential": "gumbel", "permute_and_flip": "exponential"}


@dataclass(frozen=True, slots=True)
class Slate:
    """Scores in a row, how many more candidates there are, and which candidate an index means.

    In an ``ordered`` one every candidate is there, in the public order of ``names``; otherwise the
    data may have decided the order, and what goes by the order must be refused.
    """

    scores: Any
    candidate: Callable[[int], Any]
    others: int = 0
    names: Names | None = None

    @property
    def ordered(self) -> bool:
        """Whether there are names in a public order."""
        return self.names is not None


def read_slate(
    candidates: Any,
    scores: Any,
    *,
    domain_size: Integer | None = None,
    default_score: Number,
    public_domain: object,
    listed: bool = False,
) -> Slate:
    """Read candidates and scores; with ``listed`` all candidates of a domain are gone through.

    Guarantee:
        Neighbours: the candidates must be the same for all of them; what is certain to come from
            the data is refused.
        Loss: none by itself; nothing is released.
        Numerics: exact.
        Proof: docs/proofs/choosing.md, theorem 5.
    """
    public = read_flag("public_domain", public_domain)
    if scores is None:
        if labels_of(candidates) is None:
            raise TypeError("scores are missing; give one for each candidate")
        scores = candidates
    read_default(default_score)
    _check_no_tables(candidates, scores)
    if domain_size is not None:
        return _numbered(candidates, scores, rational.positive_whole("domain_size", domain_size))
    if not public and is_from_data(candidates, scores):
        raise ValueError(FROM_DATA)
    candidates, scores = _aligned(candidates, scores)
    candidates = [*candidates] if isinstance(candidates, Iterator) else candidates
    by_name = as_mapping("scores", scores, candidates)
    if isinstance(candidates, Domain) or (isinstance(candidates, range) and by_name is not None):
        domain = as_domain(candidates)
        if by_name is not None and not listed:
            return _sparse(domain, by_name)
        if domain.size > MOST_LISTED:
            raise TypeError(_ONE_OF_MANY if listed else _BY_NAME)
        candidates = members_of(domain)
    return _listed(candidates, scores, by_name, default_score)


def _check_no_tables(candidates: Any, scores: Any) -> None:
    if is_table(candidates):
        raise TypeError(
            f"candidates must be a list, got a value of type {type(candidates).__name__}"
        )
    if is_table(scores):
        by_rows = hasattr(type(scores), "iter_rows")
        how = "dict(table.iter_rows())" if by_rows else "table.set_index(NAME)[COUNT]"
        raise TypeError(f"scores are a table; for a column of names and one of counts use {how}")


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
        _check_known(names, scores, by_name)
        scores = [by_name.get(name, default) for name in names]
    elif callable(scores):
        scores = [scores(name) for name in names]
    elif isinstance(scores, Iterator):
        scores = list(scores)
    elif not hasattr(scores, "__len__"):
        raise TypeError(
            f"scores must be a list of numbers, a mapping or a function, got a value of type "
            f"{type(scores).__name__}"
        )
    if len(scores) != len(names):  # how many there are may be private: it is not quoted
        raise ValueError(f"scores must be one number for {each_of(len(names))}; {ROWS}")
    return Slate(scores, lambda index: plain(names[index]), names=names)


def _check_known(names: Names, scores: Any, by_name: Mapping[Any, Any]) -> None:
    known = known_names(names)
    if all(name in known for name in by_name):
        return
    if isinstance(scores, Mapping):
        raise stranger(names, by_name, _DICT)
    if counts_rows(scores.index):
        raise ValueError(ROW_NUMBERS)
    raise stranger(names, by_name, _SERIES)


def _sparse(domain: Domain, by_name: Mapping[Any, Any]) -> Slate:
    numbers = [domain.number(name) for name in by_name]
    if None in numbers:
        raise stranger([domain.member(0)], by_name)
    return _sparse_numbers(domain, numbers, [*by_name.values()])


def _numbered(candidates: Any, scores: Any, size: int) -> Slate:
    """Read scores of some of the numbers below a size, which may come from the data."""
    whole = Integers(0, size - 1)
    if candidates is None:
        candidates = scores
    own = is_from_data(candidates, scores)
    candidates, scores = _aligned(candidates, scores)
    by_name = as_mapping("scores", scores, candidates)
    if by_name is not None and not own:
        raise TypeError(
            "with domain_size, scores that name their candidates go without a list of candidates; "
            "give None in its place"
        )
    if by_name is not None:
        return _sparse_numbers(whole, [*by_name], [*by_name.values()])
    if candidates is scores or not hasattr(candidates, "__len__"):
        raise TypeError("with domain_size, list the candidates that have scores, and their scores")
    if isinstance(candidates, Domain):
        raise TypeError("a domain has its own size; leave domain_size out")
    if callable(scores):
        scores = [scores(number) for number in candidates]
    return _sparse_numbers(whole, candidates, scores)


def _sparse_numbers(domain: Domain, listed: Any, scores: Any) -> Slate:
    """Read scores of members that are given by their numbers; the others have the default."""
    if len(listed) != len(scores):
        raise ValueError("there must be one score for each listed candidate")
    numbers = _as_numbers(listed)
    ordered = np.sort(numbers)
    if ordered.size and not (ordered[0] >= 0 and ordered[-1] < domain.size):
        raise stranger([0], {})
    if (ordered[1:] == ordered[:-1]).any():
        raise ValueError(TWICE)

    def candidate(index: int) -> Any:
        if index < numbers.size:
            return domain.member(int(numbers[index]))
        return domain.member(unlisted(ordered, index - numbers.size))

    return Slate(scores, candidate, domain.size - numbers.size)


def unlisted(ordered: Any, rank: int) -> int:
    """Return the number of this rank among those that are not listed, from the listed in order.

    >>> unlisted([2, 3, 7], 0), unlisted([2, 3, 7], 2), unlisted([2, 3, 7], 5)
    (0, 4, 8)
    """
    before = bisect_right(range(len(ordered)), rank, key=lambda i: int(ordered[i]) - i)
    return rank + before


def _as_numbers(listed: Any) -> Any:
    if isinstance(listed, np.ndarray) and listed.dtype.kind in "iu":
        return listed.astype(np.int64) if listed.dtype != np.uint64 else listed.astype(object)
    given = listed.tolist() if isinstance(listed, np.ndarray) else list(listed)
    if not all(rational.is_integer(number) for number in given):
        raise TypeError("with domain_size the candidates are whole numbers from 0 on")
    try:
        return np.array(given, dtype=np.int64)
    except OverflowError:
        return np.array([int(number) for number in given], dtype=object)


def check_distinct(names: Any) -> None:
    """Refuse a list that has a candidate twice."""
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


def is_from_data(candidates: Any, scores: Any) -> bool:
    """Tell whether the candidates were taken from what holds the scores; never by comparing."""
    return (
        candidates is scores
        or (isinstance(candidates, KeysView) and isinstance(scores, Mapping | ValuesView))
        or _is_same(candidates, labels_of(scores))
        or _is_same(labels_of(candidates), labels_of(scores))
    )


def _aligned(candidates: Any, scores: Any) -> tuple[Any, Any]:
    """Return candidates as a list of names, and scores in their order where they share labels."""
    labels = labels_of(scores)
    if labels is None:
        return candidates, scores
    if candidates is scores:
        return list(labels), scores
    if _is_same(labels_of(candidates), labels):
        return list(candidates), scores.to_numpy()
    return candidates, scores


def _is_same(index: Any, other: Any) -> bool:
    """Tell whether two are one index, perhaps by way of views; equal ones are not the same."""
    if index is None or other is None:
        return False
    return index is other or (hasattr(index, "is_") and bool(index.is_(other)))


def read_base(base: object, candidates: int) -> list[Fraction]:
    """Read one weight for each candidate, none negative and not all 0, as the decimals they print.

    They come in the order of the candidates: what has names is refused, because names are not
    looked at here.
    """
    given = in_row("base", base)
    if len(given) != candidates:
        raise ValueError(f"base must have one number for {each_of(candidates)}, got {len(given)}")
    found = [rational.nonnegative("a weight of base", weight) for weight in given]
    if not any(found):
        raise ValueError("base must give some candidate a weight above 0")
    return found


def with_base(scores: Scores, base: list[Fraction], rate: Fraction) -> Levels:
    """Sort candidates into levels of their own, each as often as its weight says."""
    exact = one_by_one(scores)
    unit = math.lcm(*(weight.denominator for weight in base))
    counts = [int(weight * unit) for weight in base]
    if max(counts).bit_length() > _LONGEST:
        raise ValueError("the weights of base have no common denominator that can be worked with")
    best = max(exact)
    return ExactLevels([rate * (best - score) for score in exact], counts)


def weights_with_base(scores: Scores, base: list[Fraction], rate: Fraction) -> Floats:
    """Return each candidate's weight as a double; the best one that has a weight in base has that.

    Guarantee: none; the result is as private as the scores.
    """
    exact = one_by_one(scores)
    used = [index for index, weight in enumerate(base) if weight]
    found: Floats = np.zeros(len(exact))
    found[used] = weights([exact[index] for index in used], rate)
    found[used] *= [float(base[index]) for index in used]
    return found


class Stream:
    """A choice in progress: scores are added in any number of chunks, then one choice is made.

    Candidates are numbered from 0 in the order in which their scores arrive; ``candidates`` says
    how many there are so far. A chunk may bring the candidates themselves along, in the order of
    its scores; then the winner itself is returned in place of its number. Every candidate has to
    appear once, and which candidates appear must not depend on the data. A candidate that is there
    twice is refused within a chunk; across chunks that is not checked, because a stream does not
    remember the candidates, and is up to you: one that appears twice has a score in each chunk, and
    one unit moves both.

    The choice is one release, whatever the number of chunks, and it can be made once: a second one
    from the same noise would tell more than was paid for. For the same reason a stream is not
    copied, pickled or carried over into a forked process.

    >>> stream = open_stream("exponential", rate=0.5)
    >>> stream.add([3, 3, 2])
    >>> stream.add([3, 4])
    >>> stream.candidates, stream.choose() in range(5)
    (5, True)
    >>> stream.choose()
    Traceback (most recent call last):
    RuntimeError: this stream has made its choice; a second one would be a second release

    Guarantee:
        Neighbours: those between which the scores change as the mechanism that opened it states.
        Loss: one release of that mechanism, when the choice is made; adding scores tells nothing.
        Numerics: exact; the law is the same however the scores are cut into chunks.
        Proof: docs/proofs/top-k.md, theorems 1 to 3.
    """

    __slots__ = ("_lock", "_named", "_names", "_process", "_race")

    def __init__(self, race: Race) -> None:
        self._race: Race | None = race
        self._names: dict[int, object] = {}
        self._named: bool | None = None
        self._process = os.getpid()
        self._lock = Lock()

    def __repr__(self) -> str:
        return "<stream, closed>" if self._race is None else f"<stream of {self.candidates}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a stream is neither copied nor pickled: its noise is used once")

    @property
    def candidates(self) -> int:
        """How many candidates there are so far."""
        return self._open().count

    def add(self, scores: object, *, candidates: Sequence[object] | None = None) -> None:
        """Let more candidates compete, with one score each; ``candidates`` are returned if given.

        A chunk must not have a candidate twice, nor one of an earlier chunk, which is not checked.

        Guarantee: nothing is released.
        """
        self._check_process()
        array = score_block(scores, others=1)  # a chunk may be empty
        if candidates is not None and len(candidates) != array.size:
            raise ValueError("a chunk needs as many candidates as scores")
        if array.size:
            with self._lock:  # two threads must not both be the next chunk
                self._add(array, candidates)
        else:
            self._open()

    def _add(self, array: Array, candidates: Sequence[object] | None) -> None:
        race, named = self._open(), candidates is not None
        if candidates is not None:
            candidates = _in_row(candidates)
            check_distinct(candidates)
        if self._named not in (None, named):
            raise ValueError("either every chunk brings its candidates along or none does")
        self._named = named
        first = race.count
        race.add(array, system())
        if candidates is not None:
            self._names = {
                runner.index: self._names[runner.index]
                if runner.index < first
                else candidates[runner.index - first]
                for runner in race.leaders
            }

    def choose(self) -> Any:
        """Return the winner: its number, or the candidate if the chunks brought them."""
        if self._open().k != 1:
            raise TypeError("this stream chooses several candidates: call choose_many()")
        return self.choose_many()[0]

    def choose_many(self) -> list[Any]:
        """Return the k first, best first; a list of one for k = 1."""
        self._check_process()
        with self._lock:
            return self._choose()

    def _choose(self) -> list[Any]:
        race = self._open()
        if race.count < race.k:
            raise ValueError(
                "an empty stream has no winner; add scores first"
                if race.count == 0
                else f"{race.k} candidates cannot be chosen from {race.count}; add more or lower k"
            )
        self._race = None
        found = [runner.index for runner in race.leaders]
        return [self._names[index] for index in found] if self._named else found

    def _open(self) -> Race:
        if self._race is None:
            raise RuntimeError(
                "this stream has made its choice; a second one would be a second release"
            )
        self._check_process()
        return self._race

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise RuntimeError("a stream stays in the process that opened it; open another one")


def _in_row(candidates: Any) -> Any:
    """Return candidates by their place; a Series would look for labels."""
    if isinstance(candidates, Mapping | Set):
        raise TypeError(
            f"candidates must be a list in the order of the scores, got a value of type "
            f"{type(candidates).__name__}"
        )
    return candidates if isinstance(candidates, str | range | np.ndarray) else list(candidates)


def open_stream(kind: Kind, rate: Number, k: Integer = 1) -> Stream:
    """Open a stream whose choice has the law of a mechanism, whatever the chunks.

    ``kind`` is "exponential" or "permute_and_flip", and ``rate`` what scores are multiplied by,
    epsilon / spread. With a ``k`` above 1 that many exponential mechanisms choose one after the
    other, without replacement; permute-and-flip chooses once.

    Guarantee:
        Neighbours: those between which the scores change by amounts that differ by at most a
            spread s.
        Loss: for each of the k choices, rate * s: a bounded range for the exponential mechanism,
            pure for permute-and-flip.
        Numerics: exact.
        Proof: docs/proofs/top-k.md, theorems 1 to 4.
    """
    if kind not in _NOISES:
        raise ValueError(f"kind must be 'exponential' or 'permute_and_flip', got {kind!r}")
    many, factor = rational.positive_whole("k", k), rational.positive("rate", rate)
    if many > 1 and kind == "permute_and_flip":
        raise ValueError("permute-and-flip chooses one candidate; for more use 'exponential'")
    if not LEAST_RATE <= factor <= LARGEST_RATE:
        raise ValueError("rate must be a number between 2**-1000 and 2**1000")
    return Stream(Race(_NOISES[kind], factor, many))


def score_block(scores: object, *, others: int = 0) -> Array:
    """Return scores as an array that a race takes: int64, uint64, float64 or exact fractions."""
    block = read_scores(scores, others=others)
    if isinstance(block, list):
        exact = np.empty(len(block), dtype=object)
        exact[:] = block
        return exact
    if block.size:
        best_of_array(block)  # refuses what is not finite
    return block
