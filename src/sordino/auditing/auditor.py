# SPDX-License-Identifier: Apache-2.0
"""Auditing any mechanism on two inputs by running it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sordino.auditing.bounds import least_epsilon, shares
from sordino.auditing.choosing import Choice, choose
from sordino.auditing.features import Pair
from sordino.auditing.outputs import Outputs, joined
from sordino.auditing.pairs import most_promising, read_pairs
from sordino.auditing.report import Report, Sample, Side
from sordino.auditing.running import Mechanism, Progress, Runner

LEAST_RUNS = 400
_FIRST = 500  # runs on each input before the first event is chosen
_GROWTH = 4
_MOST_KEPT = 1 << 18  # runs on each input that events are chosen on
_MOST_NUMBERS = 1 << 22  # coordinates of them
_SEARCH = 5  # one in so many runs goes to the search for the pair
_SAMPLE = 20_000
_MOST_WORDS = 64


def audit(
    mechanism: Mechanism,
    x: Any = ...,
    y: Any = ...,
    *,
    epsilon: float = 1.0,
    delta: float = 0.0,
    runs: int = 1_000_000,
    confidence: float = 0.999,
    batch: bool | None = None,
    search: bool = False,
    universe: object = None,
    time: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Run a mechanism on two neighbouring inputs and report the privacy loss that this proves.

    Events that tell the inputs apart are looked for in some runs; the best one is then counted in
    fresh runs. This is done in rounds that grow, so an obvious violation ends after a moment and
    a mechanism that keeps its promise takes all the runs. The report is wrong with chance at most
    ``1 - confidence``, all rounds together. Runs must not influence each other.

    Args:
        mechanism: Any callable; an error that it raises is an output like any other.
        x: One input; it may be left out with ``search``.
        y: A neighbour of it.
        epsilon: What the mechanism claims to lose at most.
        delta: The probability with which it may lose more.
        runs: How often to run it at most, on both inputs together.
        confidence: How sure the lower bound must be.
        batch: Whether it is called with the data and a number of outputs to return.
        search: Whether to look for the worst pair in ``universe`` first.
        universe: Pairs of neighbours, or a `Universe` of small data sets.
        time: Whether to look at how long each run takes, too, in whole microseconds. A machine is
            not quite fair to two inputs, so look at a small loss that only time shows twice.
        progress: Called now and then with the runs done and the runs in all.

    >>> report = audit(lambda data: data, 3, 2, epsilon=1)
    >>> report.verdict, report.event
    ('violation', 'the output is at least 3')

    Guarantee: none needed; it must be given invented data only, and its report shows them.
    """
    began = perf_counter()
    _check(epsilon, delta, runs, confidence)
    runner = Runner(mechanism, batch=batch, timed=time)
    work = _Work(runner, x, y, runs, progress)
    if search:
        pairs = read_pairs(universe) + ([] if x is ... else [(x, y)])
        work.x, work.y = most_promising(
            runner, pairs, runs // _SEARCH, delta=delta, alpha=1.0 - confidence, spend=work.spend
        )
    elif x is ... or y is ...:
        raise TypeError("give two neighbouring inputs x and y, or search=True and a universe")
    _refuse_equal(work.x, work.y)
    return work.report(epsilon=epsilon, delta=delta, confidence=confidence, began=began)


class _Tested(NamedTuple):
    """What one round showed: hits of an event in so many fresh runs on each input."""

    bound: float
    choice: Choice
    hits: tuple[int, int]
    runs: int


@dataclass
class _Work:
    """The runs of one audit: those kept to choose events on, and the best bound so far."""

    runner: Runner
    x: Any
    y: Any
    total: int
    progress: Progress | None
    spent: int = 0
    kept: tuple[list[Any], list[Any]] = field(default_factory=lambda: ([], []))
    held: int = 0

    def report(self, *, epsilon: float, delta: float, confidence: float, began: float) -> Report:
        self.runner.start(self.x, self.y)
        ends = rounds((self.total - self.spent) // 2)
        self._run(ends[0], None)
        self._refuse_useless()
        best: _Tested | None = None
        for number, share in enumerate(shares(1.0 - confidence, len(ends) - 1), start=1):
            choice = choose(self._training(), self.runner.reader, delta=delta, alpha=share)
            size = ends[number] - ends[number - 1]
            hits = self._run(size, choice)
            bound = least_epsilon(hits, (size, size), delta=delta, alpha=share)
            if best is None or bound > best.bound:
                best = _Tested(bound, choice, hits, size)
            if bound > epsilon:
                break
        assert best is not None  # noqa: S101 - there is at least one round
        choice = best.choice
        some = [outputs.part(slice(0, _SAMPLE)) for outputs in self._training()]
        order: tuple[Side, Side] = ("x", "y") if choice.likelier == 0 else ("y", "x")
        return Report(
            epsilon=epsilon,
            delta=delta,
            lower_bound=max(best.bound, 0.0),
            confidence=confidence,
            event=choice.event.words,
            verdict="violation" if best.bound > epsilon else "no violation found",
            runs=self.spent,
            x=self.x,
            y=self.y,
            order=order,
            hits=best.hits,
            tested=(best.runs, best.runs),
            seconds=perf_counter() - began,
            rounds=number,
            axis=choice.event.coding.column.words,
            sample=self._sample(choice, some),
            members=(choice.event.holds(some[0]), choice.event.holds(some[1])),
            edges=choice.event.edges,
            inside=choice.event.inside,
        )

    def spend(self, runs: int) -> None:
        """Count runs, and tell how far the audit is."""
        self.spent += runs
        if self.progress is not None:
            self.progress(self.spent, self.total)

    def _run(self, runs: int, choice: Choice | None) -> tuple[int, int]:
        """Run so often on each input; return the hits of an event, the likelier input first."""
        hits = [0, 0]
        done = 0
        while done < runs:
            size = min(self.runner.chunk, runs - done)
            pair = self.runner.run(self.x, self.y, size)
            if choice is not None:
                for side in (0, 1):
                    hits[side] += int(np.count_nonzero(choice.event.holds(pair[side])))
            self._keep(pair)
            done += size
            self.spend(2 * size)
        likelier = 0 if choice is None else choice.likelier
        return hits[likelier], hits[1 - likelier]

    def _keep(self, pair: Pair) -> None:
        width = max(1, pair[0].width, pair[1].width)
        room = min(_MOST_KEPT, _MOST_NUMBERS // width) - self.held
        if room <= 0:
            return
        for side in (0, 1):
            self.kept[side].append(pair[side].part(slice(0, room)))
        self.held += min(room, len(pair[0]))

    def _training(self) -> Pair:
        for side in (0, 1):
            self.kept[side][:] = [joined(self.kept[side])]
        return self.kept[0][0], self.kept[1][0]

    def _refuse_useless(self) -> None:
        """Raise an error if all runs raised one: nothing would be audited."""
        kinds = {int(kind) for side in self._training() for kind in np.unique(side.kinds)}
        names = {self.runner.reader.kinds.word(kind) for kind in kinds}
        if len(names) == 1 and names.pop().startswith("error "):
            raise ValueError(
                f"the mechanism raises {self.runner.message} on both inputs, every time; "
                "check that x and y are what it takes"
            )

    def _sample(self, choice: Choice, some: list[Outputs]) -> tuple[Sample, Sample] | None:
        """Return some outputs as the event looks at them: as numbers, or as words if few differ."""
        column = choice.event.coding.column
        if column.sort in ("number", "places"):
            return column.of(some[0]), column.of(some[1])
        both = joined(some)
        if column.sort == "whole" and both.width == 1 and not np.isnan(both.numbers).any():
            return some[0].numbers[:, 0], some[1].numbers[:, 0]
        reader = self.runner.reader
        _, first, places = np.unique(column.of(both), return_index=True, return_inverse=True)
        if len(first) > _MOST_WORDS:
            return None
        if column.sort == "kind":
            names = np.array([reader.kinds.word(int(both.kinds[place])) for place in first])
        else:
            names = np.array([reader.shown(both, place) for place in first.tolist()])
        return names[places[: len(some[0])]], names[places[len(some[0]) :]]


def rounds(runs: int) -> list[int]:
    """Return after how many runs on each input an event is chosen, and then all the runs.

    >>> rounds(500_000)
    [976, 3906, 15625, 62500, 250000, 500000]

    Guarantee: none needed; it sees no data.
    """
    ends = [min(runs // 2, _MOST_KEPT), runs]
    while ends[0] // _GROWTH >= _FIRST:
        ends.insert(0, ends[0] // _GROWTH)
    return ends


def _check(epsilon: float, delta: float, runs: int, confidence: float) -> None:
    if not epsilon >= 0 or math.isinf(epsilon):
        raise ValueError(f"epsilon must be a finite number of at least 0, not {epsilon}")
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be at least 0 and less than 1, not {delta}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}; try 0.999")
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < LEAST_RUNS:
        raise ValueError(f"runs must be a whole number of at least {LEAST_RUNS}, not {runs}")


def _refuse_equal(x: Any, y: Any) -> None:
    same = x is y
    if not same and type(x) is type(y):
        try:
            same = bool(np.all(x == y)) and np.shape(x) == np.shape(y)
        except (TypeError, ValueError):
            same = False
    if same:
        raise ValueError("x and y are the same input; give two neighbours that differ")
