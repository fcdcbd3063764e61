# SPDX-License-Identifier: Apache-2.0
"""Exact verification: where the law of the output is known, no run is needed.

A promise (epsilon, delta) is about sets of outputs. The worst set for two laws p and q is known: it
holds the outputs with p > e^epsilon q, and it misses the promise by the sum of p - e^epsilon q over
them. To look at outputs one by one is not enough: a thousand outputs of one data set against a
thousand others pass it with epsilon 0 and delta 1/1000, and tell the two apart for certain.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.auditing.blackbox.pairs import Universe
from sordino.numbers.balls import exp_neg
from sordino.numbers.rational import (
    Number,
    nonnegative,
    positive,
    probability_or_zero,
    up,
)
from sordino.privacy.gaussian import continuous_delta


@dataclass(frozen=True, slots=True)
class Verified:
    """The worst pair of neighbours, and the promise that would hold.

    ``least_delta`` is the least delta that holds at the claimed epsilon for the worst pair, ``x``
    being the likelier; ``least_epsilon`` the least epsilon that holds at the claimed delta for all
    pairs. ``outputs`` is the worst set, ``event`` says it in words. ``tolerance`` is how far off,
    relative to it, each probability was taken to be: 0 where the law was exact.
    """

    epsilon: float
    delta: float
    verdict: Literal["holds", "violation"]
    x: Any
    y: Any
    least_delta: float
    least_epsilon: float
    outputs: tuple[Any, ...]
    event: str
    pairs: int
    tolerance: float

    @property
    def private(self) -> bool:
        """Tell whether the promise holds."""
        return self.verdict == "holds"

    def __str__(self) -> str:
        claimed = f"epsilon {self.epsilon:g}, delta {self.delta:g}"
        many = "1 pair" if self.pairs == 1 else f"{self.pairs} pairs"
        rounding = "exactly" if not self.tolerance else f"within rounding of {self.tolerance:g}"
        said = "it holds" if self.private else "it does not hold"
        return "\n".join(
            [
                f"{claimed} for {many} of neighbours, {rounding}: {said}",
                f"the least delta at this epsilon is {self.least_delta:.6g}",
                f"the least epsilon at this delta is {self.least_epsilon:.6g}",
                f"worst pair: {_short(self.x)} and {_short(self.y)}; {self.event}",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values; data and outputs as text, and an infinite number as null."""
        finite = self.least_epsilon < float("inf")
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "verdict": self.verdict,
            "x": _short(self.x),
            "y": _short(self.y),
            "least_delta": self.least_delta,
            "least_epsilon": self.least_epsilon if finite else None,
            "event": self.event,
            "pairs": self.pairs,
            "tolerance": self.tolerance,
        }


def _short(value: Any, longest: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


Law: TypeAlias = "Mapping[Any, Any] | Sequence[Any] | npt.NDArray[Any]"
Pair: TypeAlias = tuple[Any, Any]
Floats: TypeAlias = npt.NDArray[np.float64]

TOLERANCE = 1e-12  # Relative to a probability that is a double.
_SUM_TOLERANCE = 1e-12
_PRECISIONS = (128, 512, 2048, 8192)  # In bits of e^-epsilon, tried one after the other.
_A_LAW = "a law is a mapping from outputs to probabilities, or a list or array of them"
_PAIRS = "pairs must be a list of pairs of neighbours, such as [(0, 1)], or a Universe"
_MAX_EPSILON = 5000


def verify_law(
    law: Callable[[Any], Law],
    pairs: Iterable[Pair] | Universe,
    *,
    epsilon: Number,
    delta: Number = 0.0,
) -> Verified:
    """Verify a promise for all given pairs of neighbours, in both orders, from the law itself.

    ``law`` takes a data set and returns the probability of every output: as a mapping (or what has
    ``items`` like one, such as a Series of pandas), or as a list, tuple or array of numpy whose
    places are the outputs, of the same length for both data sets. Fractions and whole numbers are
    taken as they are, and then the verdict is certain. Doubles are taken to be off by a relative
    1e-12 at most: it is a violation if the promise is broken whatever the exact probabilities are,
    so a promise that is kept or broken by less than that is said to hold, and ``tolerance`` says
    so. ``pairs`` are pairs of neighbours, or a Universe.

    >>> from fractions import Fraction
    >>> def coin(bit):
    ...     return {bit: Fraction(3, 4), 1 - bit: Fraction(1, 4)}
    >>> (
    ...     verify_law(coin, [(0, 1)], epsilon=1.1).verdict,
    ...     verify_law(coin, [(0, 1)], epsilon=1).verdict,
    ... )
    ('holds', 'violation')
    """
    price, slack = _read_epsilon(epsilon), probability_or_zero("delta", delta)
    if not callable(law):
        kind = type(law).__name__
        raise TypeError(f"law must be a function from a data set to a law, not {kind}")
    laws = _Laws(law)
    worst: _Found | None = None
    least, many, exact, broken = 0.0, 0, True, False
    for x, y in _read_pairs(pairs):
        one, other = laws.of(x), laws.of(y)
        many += 1
        exact = exact and one.exact and other.exact
        for (first, p), (second, q) in itertools.permutations([(x, one), (y, other)]):
            found = _compare((first, second), (p, q), price, slack)
            broken = broken or found.broken
            least = max(least, found.least)
            if worst is None or found.rank > worst.rank:
                worst = found
    if worst is None:
        raise ValueError("there is no pair to verify; give at least one pair of neighbours")
    return Verified(
        epsilon=float(price),
        delta=float(slack),
        verdict="violation" if broken else "holds",
        x=worst.x,
        y=worst.y,
        least_delta=worst.delta,
        least_epsilon=least,
        outputs=worst.outputs,
        event=_in_words(worst.outputs),
        pairs=many,
        tolerance=0.0 if exact else TOLERANCE,
    )


def verify_gaussian(
    *, sigma: Number, sensitivity: Number, epsilon: Number, delta: Number
) -> Verified:
    """Verify a promise of Gaussian noise on a real number, from the closed form of its profile.

    Sampling cannot do this where epsilon is large. At epsilon 20 a set must be 5e8 times likelier
    on one side, and of a set that never came up in a million runs it is known only that its
    probability is below some 7e-6: runs can show an epsilon of 12 at most. The textbook sigma for
    epsilon 20 and delta 1e-5 has in truth a delta of 1.5e-3.

    >>> from math import log, sqrt
    >>> textbook = sqrt(2 * log(1.25 / 1e-5)) / 20
    >>> found = verify_gaussian(sigma=textbook, sensitivity=1, epsilon=20, delta=1e-5)
    >>> found.verdict, round(found.least_delta, 6)
    ('violation', 0.001527)
    """
    width, length = positive("sigma", sigma), positive("sensitivity", sensitivity)
    price, slack = _read_epsilon(epsilon), probability_or_zero("delta", delta)
    ratio = (length / width) ** 2
    true = continuous_delta(ratio=ratio, epsilon=price)
    edge = float(length) / 2 + float(price * width * width / length)
    return Verified(
        epsilon=float(price),
        delta=float(slack),
        verdict="violation" if Fraction(true) > slack else "holds",
        x=float(length),
        y=0.0,
        least_delta=true,
        least_epsilon=_least_gaussian(ratio, slack),
        outputs=(),
        event=f"the output is above {edge:.6g}",
        pairs=1,
        tolerance=0.0,
    )


class _Probabilities:
    """One law: its outputs, and their probabilities as doubles and, where it can be, exactly."""

    __slots__ = ("by_place", "doubles", "exact", "fractions", "logs", "outputs", "places")

    def __init__(self, law: Law) -> None:
        self.by_place = isinstance(law, list | tuple | np.ndarray)
        self.outputs, given = _listed(law) if self.by_place else _named(law)
        self.exact = all(isinstance(p, int | np.integer | Fraction) for p in given)
        self.doubles = np.array([_checked(p) for p in given], dtype=np.float64)
        self.fractions = [Fraction(int(p) if _is_numpy(p) else p) for p in given if self.exact]
        self.logs = _logs(self.doubles, self.fractions)
        self.places = {_key(output): place for place, output in enumerate(self.outputs)}
        total = math.fsum(self.doubles)
        if sum(self.fractions) != 1 if self.exact else abs(total - 1) > _SUM_TOLERANCE:
            raise ValueError(
                f"the probabilities of a law must add up to 1, got {total:.16g}; list every output"
            )


class _Laws:
    """Calls a law once for each data set."""

    def __init__(self, law: Callable[[Any], Law]) -> None:
        self._law = law
        self._known: dict[Hashable, _Probabilities] = {}

    def of(self, data: Any) -> _Probabilities:
        if not isinstance(data, Hashable) or not _is_hashable(data):
            return _Probabilities(self._law(data))
        key = _key(data)
        if key not in self._known:
            self._known[key] = _Probabilities(self._law(data))
        return self._known[key]


class _Found:
    """What was found for one pair in one order."""

    __slots__ = ("broken", "delta", "least", "outputs", "x", "y")

    def __init__(self, x: Any, y: Any, *, broken: bool, delta: float, least: float) -> None:
        self.x, self.y = x, y
        self.broken, self.delta, self.least = broken, delta, least
        self.outputs: tuple[Any, ...] = ()

    @property
    def rank(self) -> tuple[bool, float, float]:
        return self.broken, self.delta, self.least


def _compare(
    data: Pair, laws: tuple[_Probabilities, _Probabilities], epsilon: Fraction, delta: Fraction
) -> _Found:
    """Compare two laws, the first as the likelier."""
    one, other = laws
    if one.by_place and other.by_place and len(one.outputs) != len(other.outputs):
        raise ValueError(
            f"two laws have {len(one.outputs)} and {len(other.outputs)} places; "
            "give an impossible output the probability 0"
        )
    at = [other.places.get(_key(output), -1) for output in one.outputs]
    missing = np.array(at) < 0
    p, q = one.doubles, np.where(missing, 0.0, other.doubles[at])
    with np.errstate(invalid="ignore"):  # where both are 0
        ratios = one.logs - np.where(missing, -np.inf, other.logs[at])
    ratios = np.where(one.logs > -np.inf, ratios, -np.inf)
    excess = _excess(p, q, ratios - float(epsilon))
    if one.exact and other.exact:
        exact = [Fraction(0) if place < 0 else other.fractions[place] for place in at]
        broken, least_delta = _exactly(one.fractions, exact, epsilon, delta)
    else:
        slipped = _excess(p, q, ratios - float(epsilon) - 2 * TOLERANCE) * (1 - TOLERANCE)
        broken = math.fsum(slipped[slipped > 0]) > delta
        if delta == 0:  # a sum of what is too small for a double would be 0
            broken = bool(np.any((p > 0) & (ratios - float(epsilon) > 2 * TOLERANCE)))
        least_delta = math.fsum(excess[excess > 0])
    found = _Found(*data, broken=broken, delta=least_delta, least=_least(p, q, ratios, delta))
    members = np.flatnonzero(excess > 0)
    if members.size == 0:  # then the set that comes closest
        members = np.flatnonzero(ratios == ratios.max())
    found.outputs = tuple(one.outputs[place] for place in members.tolist())
    return found


def _excess(p: Floats, q: Floats, beyond: Floats) -> Floats:
    """Return p - e^epsilon q from how far ln(p / q) is beyond epsilon; nothing overflows so."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = p * -np.expm1(-beyond)
    return np.where(p > 0, found, -q)


def _exactly(
    p: list[Fraction], q: list[Fraction], epsilon: Fraction, delta: Fraction
) -> tuple[bool, float]:
    """Tell whether the promise is broken, and return the least delta, rounded up."""
    highest, nothing = Fraction(1), Fraction(0)
    for precision in _PRECISIONS:
        low, high = exp_neg(epsilon, precision + 2 * int(epsilon))
        one = 1 << (precision + 2 * int(epsilon))
        # With e^-epsilon in [low, high] / one: the sum of p - q / (low / one) is too little.
        lowest = sum((max(a - b * one / low, nothing) for a, b in zip(p, q, strict=True)), nothing)
        highest = sum(
            (max(a - b * one / high, nothing) for a, b in zip(p, q, strict=True)), nothing
        )
        if lowest > delta or highest <= delta:
            break
    return highest > delta, up(highest)


def _least(p: Floats, q: Floats, ratios: Floats, delta: Fraction) -> float:
    """Return the least epsilon that holds with a delta.

    It is the largest ln((P(S) - delta) / Q(S)) over sets S, and the sets to look at are those of
    the outputs with the largest ratios: the first, the first two, and so on.
    """
    order = np.argsort(-ratios, kind="stable")
    if delta == 0:
        return max(float(ratios[order[0]]), 0.0)
    mass, other = np.cumsum(p[order]) - float(delta), np.cumsum(q[order])
    there = mass > TOLERANCE * float(delta)
    if not there.any():
        return 0.0
    with np.errstate(divide="ignore"):
        return max(float((np.log(mass[there]) - np.log(other[there])).max()), 0.0)


def _least_gaussian(ratio: Fraction, delta: Fraction) -> float:
    """Return the least epsilon of Gaussian noise at a delta, a little too large at most."""
    if delta == 0:
        return math.inf
    low, high = 0.0, 1.0
    while Fraction(continuous_delta(ratio=ratio, epsilon=Fraction(high))) > delta:
        low, high = high, 2 * high
    if Fraction(continuous_delta(ratio=ratio, epsilon=Fraction(0))) <= delta:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        kept = Fraction(continuous_delta(ratio=ratio, epsilon=Fraction(middle))) <= delta
        low, high = (low, middle) if kept else (middle, high)
    return high


def _read_epsilon(value: Number) -> Fraction:
    price = nonnegative("epsilon", value)
    if price > _MAX_EPSILON:
        raise ValueError(f"epsilon must be at most {_MAX_EPSILON}; a larger one promises nothing")
    return price


def _listed(law: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """Return outputs and probabilities of a law whose places are the outputs."""
    if isinstance(law, np.ndarray) and law.ndim != 1:
        raise TypeError(f"{_A_LAW}; got an array of {law.ndim} dimensions")
    given = law.tolist() if isinstance(law, np.ndarray) else list(law)
    return tuple(range(len(given))), given


def _named(law: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """Return outputs and probabilities of a mapping, or of what has items like one."""
    if not hasattr(law, "items"):
        kind = type(law).__name__
        raise TypeError(f"{_A_LAW}; got {kind}; for a function that draws use so.audit")
    pairs = list(law.items())
    outputs = tuple(output for output, _ in pairs)
    if not all(map(_is_hashable, outputs)):
        raise TypeError("an output in a law must be hashable; give tuples in place of lists")
    if len(set(outputs)) < len(outputs):
        raise ValueError("a law has the same output twice; add up its probabilities")
    return outputs, [p for _, p in pairs]


def _read_pairs(pairs: Any) -> Iterator[Pair]:
    """Yield the pairs of neighbours."""
    if isinstance(pairs, Universe):
        yield from pairs.pairs()
        return
    if not isinstance(pairs, Iterable) or isinstance(pairs, str | bytes | Mapping):
        raise TypeError(f"{_PAIRS}; got {type(pairs).__name__}")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise TypeError(f"{_PAIRS}; got {_short(pair)} in the place of a pair")
        yield pair[0], pair[1]


def _checked(p: Any) -> float:
    """Return a probability as a double."""
    try:
        found = math.nan if isinstance(p, str | bytes) or np.ndim(p) else float(p)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        kind = type(p).__name__
        raise TypeError(f"a probability must be a finite number, got one of type {kind}")
    if found < 0:
        raise ValueError(f"a probability must not be negative, got {found:.6g}")
    return found


def _logs(doubles: Floats, fractions: list[Fraction]) -> Floats:
    """Return logarithms; of fractions that are too small for a double as well."""
    with np.errstate(divide="ignore"):
        found: Floats = np.log(doubles)
    for place in np.flatnonzero(doubles < sys.float_info.min) if fractions else ():
        p = fractions[place]
        found[place] = math.log(p.numerator) - math.log(p.denominator) if p else -math.inf
    return found


def _is_numpy(p: Any) -> bool:
    return isinstance(p, np.integer)


def _key(value: Any) -> Hashable:
    """Return what tells values apart that are equal and not the same: True and 1, 0.0 and -0.0."""
    if isinstance(value, tuple):
        return type(value), tuple(map(_key, value))
    if isinstance(value, frozenset):
        return type(value), frozenset(map(_key, value))
    if isinstance(value, float):
        return type(value), value, math.copysign(1.0, value)
    held: Hashable = value
    return type(value), held


def _is_hashable(data: Any) -> bool:
    try:
        hash(data)
    except TypeError:
        return False
    return True


def _in_words(outputs: tuple[Any, ...]) -> str:
    few = 6
    shown = ", ".join(repr(output) for output in outputs[:few])
    if len(outputs) == 1:
        return f"the output is {shown}"
    more = f" or one of {len(outputs) - few} others" if len(outputs) > few else ""
    return f"the output is one of {shown}{more}"
