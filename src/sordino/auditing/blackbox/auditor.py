# SPDX-License-Identifier: Apache-2.0
"""Auditing any mechanism on two inputs by running it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.auditing.blackbox.events import Choice, choose, least_epsilon, shares
from sordino.auditing.blackbox.features import Pair
from sordino.auditing.blackbox.outputs import PLACE, Outputs, joined
from sordino.auditing.blackbox.pairs import most_promising, read_pairs
from sordino.auditing.blackbox.runner import (
    AlwaysRaisesError,
    BatchRaisedError,
    Mechanism,
    Progress,
    Runner,
)
from sordino.auditing.report import Report, Sample, Side

_MIN_WORKING_RUNS = 20  # Before errors can be said to set in.
# So many mean distances of two runs that work without one are no chance.
_MEAN_DISTANCES = 120


@dataclass
class Endings:
    """Counts of the runs on one input, in their order.

    >>> ends = Endings()
    >>> ends.add(np.repeat([False, True], [100, 100]))
    >>> ends.share, ends.set_in
    (0.5, False)
    >>> ends.add(np.repeat(True, 100))
    >>> ends.set_in
    True
    """

    runs: int = 0
    errors: int = 0
    tail: int = 0  # errors since the last run that worked

    def add(self, raised: npt.NDArray[np.bool_]) -> None:
        """Count more runs: for each whether it raised an error."""
        worked = np.flatnonzero(~raised)
        self.runs += len(raised)
        self.errors += len(raised) - len(worked)
        self.tail = len(raised) - 1 - int(worked[-1]) if len(worked) else self.tail + len(raised)

    @property
    def share(self) -> float:
        """The share of the runs that raised an error."""
        return self.errors / self.runs if self.runs else 0.0

    @property
    def set_in(self) -> bool:
        """Whether all runs raise from some run on, which independent runs would never do.

        If they work with a chance that is a third of what was seen, or more, then so long a row of
        errors has a chance of e to the power -40.
        """
        worked = self.runs - self.errors
        return worked >= _MIN_WORKING_RUNS and self.tail * worked > _MEAN_DISTANCES * (
            self.runs - self.tail
        )


MIN_RUNS = 400
_FIRST_RUNS = 500  # On each input, before the first event is chosen.
_GROWTH = 4
_MAX_KEPT_RUNS = 1 << 18  # On each input; events are chosen on them.
_MAX_KEPT_COORDINATES = 1 << 22
_RUNS_FOR_EACH_SEARCHED = 5
_SAMPLE = 20_000
_MOST_WORDS = 64
_ALIKE = 0.1  # So near are shares of runs that raise if both inputs fail alike.


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
        epsilon: What the mechanism promises to lose at most.
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
    """
    began = perf_counter()
    _check(epsilon, delta, runs, confidence)
    _check_inputs(x, y, search=search, universe=universe)
    runner = Runner(mechanism, batch=batch, timed=time)
    pairs = read_pairs(universe) if search else []
    if x is not ...:
        _refuse_equal(x, y)
        pairs.append((x, y))
    work = _Work(runner, runs, progress)
    try:
        return work.report(pairs, epsilon=epsilon, delta=delta, confidence=confidence, began=began)
    except BatchRaisedError:  # one run of the batch raised: begin anew with runs of one output
        runner.one_by_one()
    if 2 * runner.done > runs:
        raise ValueError(
            f"the mechanism raises {runner.message} in few batches; audit single runs, "
            "such as lambda data: mechanism(data, 1)[0]"
        ) from runner.error
    work.forget()
    return work.report(pairs, epsilon=epsilon, delta=delta, confidence=confidence, began=began)


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
    total: int
    progress: Progress | None
    x: Any = None
    y: Any = None
    spent: int = 0
    kept: tuple[list[Any], list[Any]] = field(default_factory=lambda: ([], []))
    held: int = 0
    ends: tuple[Endings, Endings] = field(default_factory=lambda: (Endings(), Endings()))

    def __post_init__(self) -> None:
        self.runner.tick = self._tell

    def forget(self) -> None:
        """Begin anew: forget all outputs, but not how many runs they took."""
        self.kept, self.held = ([], []), 0
        self.ends = (Endings(), Endings())
        self.spent = self.runner.done

    def report(
        self,
        pairs: list[tuple[Any, Any]],
        *,
        epsilon: float,
        delta: float,
        confidence: float,
        began: float,
    ) -> Report:
        alpha, searched = 1.0 - confidence, self.total // _RUNS_FOR_EACH_SEARCHED
        self.x, self.y = most_promising(
            self.runner, pairs, searched, delta=delta, alpha=alpha, spend=self.spend
        )
        _refuse_equal(self.x, self.y)
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
            self._refuse_useless()
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
            allowed=self.total,
            x=self.x,
            y=self.y,
            order=order,
            hits=best.hits,
            tested=(best.runs, best.runs),
            seconds=perf_counter() - began,
            rounds=number,
            axis=choice.event.coding.column.axis,
            sample=self._sample(choice, some),
            members=(choice.event.holds(some[0]), choice.event.holds(some[1])),
            edges=choice.event.edges,
            inside=choice.event.inside,
        )

    def spend(self, runs: int) -> None:
        """Count runs, and tell how far the audit is."""
        self.spent += runs
        self._tell()

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(max(self.spent, self.runner.done), self.total)

    def _run(self, runs: int, choice: Choice | None) -> tuple[int, int]:
        """Run so often on each input; return the hits of an event, the likelier input first."""
        hits = [0, 0]
        done = 0
        while done < runs:
            size = min(self.runner.chunk, runs - done)
            pair = self.runner.run(size)
            for side in (0, 1):
                self._count_errors(pair[side], side)
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
        room = min(_MAX_KEPT_RUNS, _MAX_KEPT_COORDINATES // width) - self.held
        if room <= 0:
            return
        for side in (0, 1):
            self.kept[side].append(pair[side].part(slice(0, room)))
        self.held += min(room, len(pair[0]))

    def _training(self) -> Pair:
        for side in (0, 1):
            self.kept[side][:] = [joined(self.kept[side])]
        return self.kept[0][0], self.kept[1][0]

    def _count_errors(self, outputs: Outputs, side: int) -> None:
        kinds, places = np.unique(outputs.kinds, return_inverse=True)
        words = [self.runner.reader.kinds.word(kind) for kind in kinds.tolist()]
        self.ends[side].add(np.array([word.startswith("error ") for word in words])[places])
        if self.ends[side].set_in:
            raise ValueError(
                f"the mechanism worked at first and then raised {self.runner.message} in every "
                "run; give it what it needs for all runs, or fewer runs"
            ) from self.runner.error

    def _refuse_useless(self) -> None:
        """Raise an error if most runs raised one, on both inputs alike: little would be audited."""
        one, other = (ends.share for ends in self.ends)
        if one == other == 1 and len(self._kinds()) > 1:
            return  # each input has an error of its own
        if min(one, other) > 0.5 and abs(one - other) < _ALIKE:
            always = one == other == 1
            often = "every time" if always else f"in {100 * one:.3g} % of the runs"
            raise (AlwaysRaisesError if always else ValueError)(
                f"the mechanism raises {self.runner.message} on both inputs, {often}; "
                f"{_hint(self.runner.error)}"
            ) from self.runner.error

    def _kinds(self) -> set[int]:
        return {int(kind) for side in self._training() for kind in np.unique(side.kinds)}

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
        elif column.sort == "words":
            codes = column.of(both)[first]
            names = np.array([reader.words.word(int(code)).replace(PLACE, "...") for code in codes])
        else:
            names = np.array([reader.shown(both, place) for place in first.tolist()])
        return names[places[: len(some[0])]], names[places[len(some[0]) :]]


def rounds(runs: int) -> list[int]:
    """Return after how many runs on each input an event is chosen, and then all the runs.

    >>> rounds(500_000)
    [976, 3906, 15625, 62500, 250000, 500000]
    """
    ends = [min(runs // 2, _MAX_KEPT_RUNS), runs]
    while ends[0] // _GROWTH >= _FIRST_RUNS:
        ends.insert(0, ends[0] // _GROWTH)
    return ends


def _hint(error: BaseException | None) -> str:
    """Return what to do about an error that a mechanism raises most of the time."""
    if isinstance(error, TypeError) and "positional argument" in str(error):
        return "it is called with the data alone, or with batch=True with a number of runs, too"
    if isinstance(error, (NameError, AttributeError, ImportError, SyntaxError)):
        return "mend it"
    return "check that x and y are what it takes"


def _check(epsilon: float, delta: float, runs: int, confidence: float) -> None:
    options = {"epsilon": epsilon, "delta": delta, "confidence": confidence}
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number such as 0.5, not {value!r}")
    if not epsilon >= 0 or math.isinf(epsilon):
        raise ValueError(f"epsilon must be a finite number of at least 0, not {epsilon}")
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be at least 0 and less than 1, not {delta}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}; try 0.999")
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < MIN_RUNS:
        raise ValueError(f"runs must be a whole number of at least {MIN_RUNS}, not {runs!r}")


def _check_inputs(x: Any, y: Any, *, search: bool, universe: object) -> None:
    if (x is ...) != (y is ...) or (x is ... and not search):
        raise TypeError("give two neighbouring inputs x and y, or search=True and a universe")
    if universe is not None and not search:
        raise TypeError("a universe is only looked at with search=True; give that, too")


def _refuse_equal(x: Any, y: Any) -> None:
    same = x is y
    if not same and type(x) is type(y):
        try:
            same = bool(np.all(x == y)) and np.shape(x) == np.shape(y)
        except (TypeError, ValueError):
            same = False
    if same:
        raise ValueError("x and y are the same input; give two neighbours that differ")
