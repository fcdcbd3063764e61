# SPDX-License-Identifier: Apache-2.0
"""What is audited of sordino itself: mechanisms, functions on records and local protocols.

Each case claims what the mechanism itself says of its loss. Where the law can be written down it is
verified for many small neighbours; all of them are run on one of the worst pairs as well.

Functions are run on records, so that a sensitivity that is taken too small, a candidate that comes
from the data or a count that shows through would be seen there, and not in the audit of a
mechanism. Local protocols are verified for every pair of values of one person by their channel,
which is written down from their parameters and shares no code with their draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from sordino.auditing.blackbox.auditor import audit
from sordino.auditing.blackbox.pairs import Universe
from sordino.auditing.blackbox.runner import Progress
from sordino.auditing.exact import Verified, verify_law
from sordino.auditing.own import laws
from sordino.auditing.report import Report
from sordino.local import Hadamard, Hashing, OneBit, Piecewise, Protocol, Response, Subset, Unary
from sordino.local.numbers import NumberProtocol
from sordino.mechanisms import choose as choosing
from sordino.mechanisms import smooth
from sordino.mechanisms.bounds import PrivateBounds, private_bounds
from sordino.mechanisms.gaussian import Gaussian
from sordino.mechanisms.keys.selection import KeySelection, Method, Selected, select_keys
from sordino.mechanisms.laplace import Laplace
from sordino.mechanisms.mechanism import Constant
from sordino.mechanisms.propose_test_release import ProposeTestRelease
from sordino.mechanisms.smooth import Smooth

Pair: TypeAlias = tuple[Any, Any]
Law: TypeAlias = Callable[[Any], Any]
Relation: TypeAlias = Literal["add_remove", "replace_one"]
By: TypeAlias = tuple[tuple[Relation, Pair], ...]

_CHANGES = {"add_remove": "one more", "replace_one": "one changed"}


@dataclass(frozen=True)
class Case:
    """A mechanism, one pair of neighbours to run it on, and what it claims.

    ``kind`` is the class that is under audit. ``law`` gives the probabilities of all outputs for
    a data set, where they can be written down, and ``pairs`` are the neighbours to verify them on.
    """

    name: str
    kind: type
    mechanism: Callable[..., Any]
    x: Any
    y: Any
    epsilon: float
    delta: float = 0.0
    law: Law | None = None
    pairs: tuple[Pair, ...] = ()
    described: str = ""  # in full, where the name is short

    @property
    def quick(self) -> bool:
        """Whether one call makes many runs; the others take some 0.2 ms a run."""
        return bool(getattr(self.mechanism, "batch", False))

    def audit(self, runs: int, *, confidence: float, progress: Progress | None = None) -> Report:
        """Run it so often on its pair of neighbours, and say what that proves."""
        return audit(
            self.mechanism,
            self.x,
            self.y,
            epsilon=self.epsilon,
            delta=self.delta,
            runs=runs,
            confidence=confidence,
            progress=progress,
        )

    def verify(self) -> Verified | None:
        """Verify the claim from the law for all pairs; None if there is no law."""
        if self.law is None:
            return None
        pairs = (*self.pairs, (self.x, self.y))
        return verify_law(self.law, pairs, epsilon=self.epsilon, delta=self.delta)


class _Many:
    """Many releases in one call: an array with one row a run is released row by row."""

    batch = True

    def __init__(self, release: Callable[[Any], Any]) -> None:
        self._release = release

    def __call__(self, data: Any, runs: int) -> Any:
        return self._release(np.broadcast_to(np.asarray(data), (runs, *np.shape(data))).copy())


def cases() -> Iterator[Case]:
    """Yield every mechanism of sordino, each with a pair of neighbours and its claim."""
    yield from _adding()
    yield from _choosing()
    yield from _smooth()
    yield from _keys()
    yield from _releasing()


def _case(
    mechanism: Any,
    call: Callable[..., Any],
    pair: Pair,
    *,
    delta: float = 0.0,
    law: Law | None = None,
    pairs: tuple[Pair, ...] = (),
    name: str = "",
) -> Case:
    """Return a case; its name is the class, and what sets it apart from others of that class."""
    epsilon = mechanism.loss.epsilon(delta=delta)
    kind = type(mechanism)
    short = f"{kind.__name__}, {name}" if name else kind.__name__
    return Case(short, kind, call, *pair, epsilon, delta, law, pairs, repr(mechanism))


def _adding() -> Iterator[Case]:
    for name, laplace, pair in (
        ("a whole number", Laplace(sensitivity=1, epsilon=1), (0, 1)),
        ("two whole numbers", Laplace(sensitivity=2, epsilon=1), ((0, 0), (1, 1))),
        ("a real number", Laplace(sensitivity=1.0, epsilon=1), (0.0, 1.0)),
    ):
        law = laws.laplace_law(laplace) if laplace.whole else None
        yield _case(laplace, _Many(laplace.release), pair, law=law, name=name)
    for name, gaussian, shift in (
        ("a whole number", Gaussian(sensitivity=1, epsilon=1, delta=0.01), (0, 1)),
        ("four whole numbers", Gaussian(sensitivity=2, rho=1.0), ((0, 0, 0, 0), (1, 1, 1, 1))),
        ("a real number", Gaussian(sensitivity=1.0, epsilon=1, delta=0.01), (0.0, 1.0)),
    ):
        scalar = gaussian.whole and shift == (0, 1)
        law = laws.gaussian_law(gaussian) if scalar else None
        yield _case(gaussian, _Many(gaussian.release), shift, delta=0.01, law=law, name=name)


def _choosing() -> Iterator[Case]:
    apart = tuple(_moved(3, (-1, 1)))
    same_way = tuple(_moved(3, (0, 1)))
    pair: Pair = ((3, 1, 1), (2, 2, 2))
    for name, one in (
        ("", choosing.Exponential(sensitivity=1, epsilon=1)),
        ("", choosing.PermuteAndFlip(sensitivity=1, epsilon=1)),
        ("laplace noise", choosing.NoisyMax(sensitivity=1, epsilon=1, noise="laplace")),
        ("gumbel noise", choosing.NoisyMax(sensitivity=1, epsilon=1, noise="gumbel")),
        ("exponential noise", choosing.NoisyMax(sensitivity=1, epsilon=1, noise="exponential")),
        ("", choosing.Generalised(sensitivities=[1, 1, 1], epsilon=1)),
    ):
        yield _case(one, one.release, pair, law=one.probabilities, pairs=apart, name=name)
    monotone = choosing.Exponential(sensitivity=1, epsilon=1, monotone=True)
    yield _case(
        monotone,
        monotone.release,
        ((3, 1, 1), (3, 2, 2)),
        law=monotone.probabilities,
        pairs=same_way,
        name="monotone",
    )
    exchanging = choosing.Exponential(sensitivity=1, epsilon=1, normaliser="constant")
    yield _case(
        exchanging,
        exchanging.release,
        ((1, 0, 0), (0, 1, 0)),
        law=exchanging.probabilities,
        pairs=tuple(_exchanged(3)),
        name="constant normaliser",
    )
    ranked = choosing.TopK(k=2, sensitivity=1, epsilon=1, monotone=True)
    more = tuple(_moved(4, (0, 1)))
    pair = ((3, 3, 0, 0), (3, 3, 1, 1))
    yield _case(ranked, _tuple(ranked), pair, law=ranked.probabilities, pairs=more)
    counts: By = (
        ("add_remove", ((4, 4, 0, 0), (4, 4, 0, 1))),
        ("replace_one", ((4, 4, 0, 0), (3, 4, 0, 1))),
    )
    for relation, votes in counts:
        joint = choosing.JointTopK(k=2, epsilon=1, neighbours=relation)
        yield _case(
            joint,
            _tuple(joint),
            votes,
            law=joint.probabilities,
            pairs=tuple(_votes(relation)),
            name=_CHANGES[relation],
        )
    values: By = (("add_remove", ((1,), (0, 1))), ("replace_one", ((0, 0, 1), (0, 1, 3))))
    for relation, records in values:
        middle = choosing.Quantiles([0.5], range=(0, 3), epsilon=1, neighbours=relation)
        pairs = tuple(Universe(range(4), size=3, neighbours=relation).pairs())
        law, name = laws.point_law(middle), _CHANGES[relation]
        yield _case(middle, _first(middle), records, law=law, pairs=pairs, name=name)


def _moved(size: int, steps: tuple[int, int]) -> Iterator[Pair]:
    """All scores from 0 to 2, with every change by these steps."""
    for scores in itertools.product(range(3), repeat=size):
        for change in itertools.product(range(steps[0], steps[1] + 1), repeat=size):
            yield scores, tuple(a + b for a, b in zip(scores, change, strict=True))


def _exchanged(size: int) -> Iterator[Pair]:
    """All scores from 0 to 2, with every order of them in which none has moved by more than 1."""
    for scores in itertools.product(range(3), repeat=size):
        for other in set(itertools.permutations(scores)):
            if max(abs(a - b) for a, b in zip(scores, other, strict=True)) == 1:
                yield scores, other


def _votes(relation: str) -> Iterator[Pair]:
    """Counts of up to three votes for four candidates, one of which comes or changes."""
    for one, other in Universe(range(4), size=3, neighbours=relation).pairs():
        yield tuple(map(one.count, range(4))), tuple(map(other.count, range(4)))


def _tuple(mechanism: choosing.TopK | choosing.JointTopK) -> Callable[[Any], tuple[int, ...]]:
    return lambda scores: tuple(mechanism.release(scores))


def _first(mechanism: choosing.Quantiles) -> Callable[[Any], Any]:
    return lambda values: mechanism.release(list(values))[0]


def _smooth() -> Iterator[Case]:
    """Data are a value and its smooth bound; neighbours have bounds e^beta apart."""
    noises: tuple[tuple[Literal["cauchy", "lomax", "power", "student", "laplace"], float], ...] = (
        ("cauchy", 0.0),
        ("lomax", 0.0),
        ("power", 0.0),
        ("student", 0.0),
        ("laplace", 0.01),
    )
    for noise, delta in noises:
        mechanism = Smooth(
            noise=noise,
            epsilon=1,
            delta=delta,
            step=Fraction(1, 2),
            floor=Fraction(1, 8),
            bounds=(-20, 20),
        )
        beta = float(mechanism.beta)
        wider = float(np.exp(beta)) * (1 - 1e-9)
        yield _case(
            mechanism,
            _with_bound(mechanism),
            ((0, 1), (1, wider)),
            delta=delta,
            law=laws.smooth_law(mechanism),
            pairs=(((0, 1), (1, 1)), ((0, 1), (0, wider))),
            name=f"{noise} noise",
        )


def _with_bound(mechanism: Smooth) -> Callable[[Any], float]:
    return lambda data: mechanism.release(*data)


def _keys() -> Iterator[Case]:
    """Data are how many units have a key: one more or one less, and the first one most of all."""
    methods: tuple[Method, ...] = ("optimal", "laplace", "gaussian")
    few = tuple((n, n + 1) for n in range(9))
    for method in methods:
        keys = KeySelection(epsilon=1, delta=0.05, neighbours="add_remove", method=method)
        law = None if method == "gaussian" else laws.key_law(keys)
        for pair in ((0, 1), (3, 4)):
            yield _case(
                keys,
                _Many(_told(keys)),
                pair,
                delta=0.05,
                law=law,
                pairs=() if law is None else few,
                name=f"{method}, {pair[0]} or {pair[1]}",
            )


def _told(keys: KeySelection) -> Callable[[Any], Any]:
    """What is told of each key: whether it is kept, or its noisy count, -1 if it is not."""

    def told(counts: Any) -> Any:
        found = keys.release(counts)
        return np.where(found.kept, found.counts, -1) if isinstance(found, Selected) else found

    return told


def _releasing() -> Iterator[Case]:
    proposal = ProposeTestRelease(bound=1, epsilon=2, delta=0.05)
    yield _case(
        proposal,
        lambda data: proposal.release(data[0], distance=data[1]),
        ((0, 3), (1, 4)),
        delta=0.05,
        law=laws.proposal_law(proposal),
        pairs=(((0, 0), (6, 0)), *(((0, n), (1, n + 1)) for n in range(6))),
    )
    values = (-3.0, -1.0, 0.5, 1.0, 100.0)  # one of each cell
    high = (0.5,) * 11 + (100.0,) * 4  # one more at the top, and the rank sought is there
    for relation, pair in (
        ("add_remove", (high, (*high, 100.0))),
        ("replace_one", ((*high, -1.0), (*high, 100.0))),
    ):
        ends = PrivateBounds(epsilon=2, neighbours=relation, side="upper", powers=(0, 2))
        law = laws.upper_law(ends, values)
        pairs = tuple(Universe(values, size=3, neighbours=relation).pairs())
        name = _CHANGES[relation]
        yield _case(ends, _end(ends), pair, law=law, pairs=pairs, name=name)
    moved = tuple(_moved(3, (-1, 1)))
    once = choosing.AboveThreshold(threshold=0, epsilon=1)
    twice = choosing.AboveThreshold(threshold=0, epsilon=2, positives=2)
    for name, sparse, queries in (
        ("", once, ((0, 0, 0, 1), (1, 1, 1, 0))),
        ("two positives", twice, ((0, 0, 1, 1), (1, 1, 0, 0))),
    ):
        law = laws.threshold_law(sparse)
        yield _case(sparse, _answers(sparse), queries, law=law, pairs=moved, name=name)
    run = choosing.Exponential(sensitivity=1, epsilon=1)
    best = choosing.BestOf(loss=run, expected_runs=2)
    yield _case(
        best,
        lambda scores: best.release(lambda: run.release(scores), score=lambda place: place),
        ((1, 0, 0), (0, 1, 1)),
        law=laws.best_law(best, run.probabilities),
        pairs=moved,
    )
    silent = Constant(0)
    yield _case(silent, silent.release, ((0, 0, 0), (6, 6, 6)), law=lambda _: {0: 1.0}, pairs=moved)


def _end(ends: PrivateBounds) -> Callable[[Any], Any]:
    return lambda values: ends.release(np.array(values))[1]


def _answers(sparse: choosing.AboveThreshold) -> Callable[[Any], tuple[bool, ...]]:
    return lambda values: tuple(sparse.start().ask_many(list(values)).tolist())


Records: TypeAlias = tuple[Any, ...]

_NAMES = ("a", "b", "c", "d")
_LOW, _HIGH = (0, 0, 0, 6, 6), (0, 0, 6, 6, 6)  # one record replaced: the median jumps
_NONE, _ONE = (0, 0, 0, 0, 0), (0, 0, 0, 0, 6)  # here the largest does
_VOTES, _CHANGED = ("a", "a", "a", "a", "b"), ("a", "a", "a", "b", "b")


def function_cases() -> Iterator[Case]:
    """Yield the functions that release something, each on records and with its claim."""
    yield from _vote_functions()
    yield from _value_functions()
    yield from _smooth_functions()
    yield from _shape_functions()


def _vote_functions() -> Iterator[Case]:
    def counted(votes: Records) -> list[int]:
        return [votes.count(name) for name in _NAMES]

    def only_those_seen(votes: Records) -> Any:
        seen = sorted(set(votes))
        counts = [votes.count(number) for number in seen]
        return choosing.choose(seen, counts, domain_size=9, epsilon=1, monotone=True)

    def only_those_of_integers(votes: Records) -> Any:
        counts = {number: votes.count(number) for number in set(votes)}
        return choosing.choose(choosing.Integers(1, 9), counts, epsilon=1, monotone=True)

    def kept(votes: Records) -> tuple[Any, ...]:
        seen = sorted(set(votes))
        counts = [votes.count(name) for name in seen]
        found = select_keys(seen, counts, epsilon=1, delta=0.05, neighbours="add_remove")
        return tuple(sorted(found))

    def best(votes: Records) -> Any:
        scores = counted(votes)
        return choosing.best_of(
            lambda: run.release(scores), score=lambda place: place, runs=2, loss=run
        )

    run = choosing.Exponential(sensitivity=1, epsilon=1)
    changed, later = (_VOTES, _CHANGED), ((2, 2), (2, 2, 7))
    more = (_VOTES, (*_VOTES, "c"))
    yield Case(
        "choose",
        choosing.PermuteAndFlip,
        lambda votes: choosing.choose(_NAMES, counted(votes), epsilon=1),
        *changed,
        1.0,
    )
    yield Case("choose, an unlisted domain", choosing.PermuteAndFlip, only_those_seen, *later, 1.0)
    yield Case("choose, integers", choosing.PermuteAndFlip, only_those_of_integers, *later, 1.0)
    yield Case(
        "top_k",
        choosing.TopK,
        lambda votes: tuple(choosing.top_k(_NAMES, counted(votes), k=2, epsilon=1)),
        *changed,
        1.0,
    )
    yield Case(
        "top_k, joint",
        choosing.JointTopK,
        lambda votes: tuple(
            choosing.top_k(
                _NAMES,
                counted(votes),
                k=2,
                epsilon=1,
                method="joint",
                neighbours="add_remove",
            )
        ),
        *more,
        1.0,
    )
    yield Case("select_keys", KeySelection, kept, *more, 1.0, 0.05)
    yield Case("best_of", choosing.BestOf, best, *changed, 3.0)


def _value_functions() -> Iterator[Case]:
    def ranked(values: Records) -> Any:
        """Every place between two values is scored by how far it is from the middle rank."""
        scores = [-abs(place - len(values) // 2) for place in range(len(values) + 1)]
        return choosing.choose_in(
            choosing.Interval(0, 9), sorted(values), scores, sensitivity=1, epsilon=1
        )

    def on_line(values: Records) -> Any:
        half = len(values) / 2
        scores = [-abs(rank - half) for rank in range(len(values) + 1)]
        line = choosing.Line(centre=3, scale=4)
        return choosing.choose_in(line, sorted(values), scores, sensitivity=1, epsilon=1)

    def falling(values: Records) -> Any:
        return choosing.choose_in(
            choosing.Line(), values, [0, 0], falls=1, sensitivity=1, epsilon=1
        )

    def price(bids: Records) -> Any:
        return choosing.best_price(bids, [1, 2, 3, 4, 5, 6], epsilon=1)

    def middle(values: Records) -> Any:
        return choosing.median(values, range=(0, 6), epsilon=1, neighbours="replace_one")

    def quarters(method: Literal["joint", "recursive"]) -> Callable[[Records], tuple[Any, ...]]:
        return lambda values: tuple(
            choosing.quantiles(
                values,
                [0.25, 0.75],
                range=(0, 6),
                epsilon=1,
                neighbours="replace_one",
                method=method,
            )
        )

    def ends(values: Records) -> Any:
        return private_bounds(values, epsilon=1, neighbours="replace_one", powers=(0, 3))

    yield Case("choose_in", choosing.Exponential, ranked, _LOW, _HIGH, 1.0)
    yield Case("choose_in, a line with a base", choosing.Exponential, on_line, _LOW, _HIGH, 1.0)
    yield Case("choose_in, scores that fall", choosing.Exponential, falling, (0,), (1,), 1.0)
    yield Case("best_price", choosing.PermuteAndFlip, price, (3, 4), (3, 4, 5), 1.0)
    yield Case("median", choosing.Quantiles, middle, _LOW, _HIGH, 1.0)
    yield Case("quantiles, joint", choosing.Quantiles, quarters("joint"), _LOW, _HIGH, 1.0)
    yield Case("quantiles, recursive", choosing.Quantiles, quarters("recursive"), _LOW, _HIGH, 1.0)
    yield Case("private_bounds", PrivateBounds, ends, _LOW, _HIGH, 1.0)


def _smooth_functions() -> Iterator[Case]:
    bounds = (0, 6)

    def local(_changes: int) -> int:
        """One value can take the largest of all from anywhere to the end of the range."""
        return 6

    functions: tuple[tuple[str, Callable[[Records], Any]], ...] = (
        ("smooth.median", lambda v: smooth.median(v, bounds=bounds, epsilon=1)),
        ("smooth.quantile", lambda v: smooth.quantile(v, rank=3, bounds=bounds, epsilon=1)),
        ("smooth.maximum", lambda v: smooth.maximum(v, bounds=bounds, epsilon=1)),
        ("smooth.trimmed_mean", lambda v: smooth.trimmed_mean(v, trim=1, bounds=bounds, epsilon=1)),
        (
            "smooth.custom",
            lambda v: smooth.custom(max(v), local, global_bound=6, records=len(v), epsilon=1),
        ),
    )
    for name, release in functions:
        pair = (_NONE, _ONE) if name in ("smooth.maximum", "smooth.custom") else (_LOW, _HIGH)
        yield Case(name, Smooth, release, *pair, 1.0)
    yield Case(
        "smooth.median with a delta",
        Smooth,
        lambda v: smooth.median(v, bounds=bounds, epsilon=1, delta=0.01, noise="laplace"),
        _LOW,
        _HIGH,
        1.0,
        0.01,
    )


def _shape_functions() -> Iterator[Case]:
    """Graphs that differ in an edge or a weight, and points of which one leaves its cluster."""
    square = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2))
    light = ((0, 1, 0), (1, 2, 0), (2, 0, 0), (2, 3, 6), (3, 0, 6))
    heavy = (*light[:3], (2, 3, 0), (3, 0, 6))
    inside = ((0, 1), (0, -1), (9, 0), (9, 1), (9, -1))

    def triangles(edges: Records) -> float:
        return smooth.triangles(edges, nodes=4, epsilon=1)

    def tree(edges: Records) -> float:
        return smooth.spanning_tree(edges, nodes=4, largest=6, epsilon=1)

    def radii(points: Records) -> tuple[float, ...]:
        centres = [(0, 0), (9, 0)]
        return tuple(smooth.cluster_radii(points, centres, trim=1, largest=6, epsilon=1))

    yield Case("smooth.triangles", Smooth, triangles, square, (*square, (1, 3)), 1.0)
    yield Case("smooth.spanning_tree", Smooth, tree, light, heavy, 1.0)
    yield Case("smooth.cluster_radii", Smooth, radii, inside, ((5, 0), *inside[1:]), 1.0)


_DIGIT_BITS = 8


def local_cases() -> Iterator[Case]:
    """Yield every local protocol, with two values of a person and its claim."""
    for protocol in (
        Response(2, epsilon=1),
        Response(5, epsilon=1),
        Unary(3, epsilon=1),
        Unary(3, epsilon=1, optimised=False),
        Hadamard(3, epsilon=1),
        Subset(4, epsilon=0.5),
        Hashing(3, epsilon=1, prime=5),
    ):
        values = range(len(protocol.domain))
        yield _local_case(protocol, _reported(protocol), (values[0], values[-1]), len(values))
    for numbers in (OneBit(0, 4, epsilon=1, steps=4), Piecewise(0, 4, epsilon=1, steps=4)):
        yield _local_case(numbers, _numbers_reported(numbers), (0, 4), numbers.scale.steps + 1)


def _local_case(
    protocol: Protocol | NumberProtocol, call: Callable[..., Any], pair: Pair, values: int
) -> Case:
    name = type(protocol).__name__
    if isinstance(protocol, Unary):
        name += ", optimised" if protocol.optimised else ", symmetric"
    of = f"{values} categories" if isinstance(protocol, Protocol) else "numbers"
    return Case(
        f"{name}, {of}",
        type(protocol),
        call,
        *pair,
        protocol.loss.epsilon(delta=0),
        law=_law(protocol),
        pairs=tuple(itertools.permutations(range(values), 2)),
        described=repr(protocol),
    )


def _law(protocol: Protocol | NumberProtocol) -> Law:
    channel = protocol.channel()
    return lambda value: {report: chances[value] for report, chances in channel.items()}


def _reported(protocol: Protocol) -> _Many:
    return _Many(lambda values: _numbered(protocol.draw(values.astype(np.int64))))


def _numbers_reported(protocol: NumberProtocol) -> _Many:
    return _Many(lambda values: _numbered(protocol.client().encode(values).data))


def _numbered(data: Any) -> Any:
    """Return one whole number for each report: its own, or its columns as digits."""
    columns = data.reshape(len(data), -1).astype(np.int64)
    numbers = np.zeros(len(data), dtype=np.int64)
    for column in columns.T:
        numbers = numbers << _DIGIT_BITS | column
    return numbers
