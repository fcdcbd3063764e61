# SPDX-License-Identifier: Apache-2.0
"""Record and replay: a function runs on neighbouring data sets and sees the same noisy values.

A draw of the second run comes out as the noisy value that it was in the first, as if its noise had
been just that much larger or smaller; what such a step costs is how far the number under the noise
moved, over the scale of the noise. Nothing else may differ then: not how much noise there is and
how often it is drawn, not the form of the output or any value in it, no error and no price.

Where all noise was followed, a run that replays another comes out the same again and again, also
if noise that is added to numbers is replaced by other noise: only the sums are kept. Noise that
goes anywhere else shows, and so does randomness that no draw accounts for.
"""

from __future__ import annotations

import copy
import math
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import numpy as np

from sordino.auditing.replays.adapters import (
    Adapter,
    diffprivlib_draws,
    numpy_draws,
    opendp_draws,
    scipy_draws,
    sordino_draws,
)
from sordino.auditing.replays.differences import (
    Change,
    Fact,
    Finding,
    changes,
    facts,
    form,
    raised,
    reused,
    told,
    too_dear,
    too_far,
)
from sordino.auditing.replays.draws import Draw, Recorder, is_under_test, plain
from sordino.numbers.rational import Number, nonnegative, probability_or_zero


@contextmanager
def watched(seen: set[str]) -> Iterator[None]:
    """Note the lines of the code under test that run in this thread."""

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen.add(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return line

    def enter(frame: FrameType, *_: Any) -> Any:
        return line if is_under_test(frame.f_code.co_filename) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def one_sided(x: frozenset[str], y: frozenset[str]) -> Iterator[Finding]:
    """Yield the lines that ran on one data set only."""
    one = [("x", line) for line in x - y]
    for name, line in sorted(one + [("y", line) for line in y - x]):
        yield Finding("lines", f"this line runs on {name} only", Path(line).name)


_SHUFFLES = {"permutation", "permuted", "shuffle"}  # They do not change sums and counts.
_RERUNS = 10  # On each side; 20 runs miss a hidden coin once in a million.
_IN_WORDS = {
    "draws": "the draws that are made",
    "price": "the price of a draw",
    "scale": "the parameters of a draw",
    "error": "the error",
    "output": "the form of the output",
    "no noise": "a value in the output",
}


def loose(one: Sequence[Draw], other: Sequence[Draw]) -> list[Draw]:
    """Return the draws of the second run that it did not get as noisy values.

    Once the two make other draws they have parted, and what they draw then cannot hide it.
    """
    found = []
    for mine, yours in zip(one, other, strict=False):
        if (mine.kind, mine.shape) != (yours.kind, yours.shape):
            break
        if not yours.tied:
            found.append(yours)
    return found


def not_followed(draws: Sequence[Draw]) -> Iterator[str]:
    """Say which draws were not followed; a shuffle need not be."""
    named = (f"{draw.kind} ({draw.where})" for draw in draws if draw.kind not in _SHUFFLES)
    for name, many in Counter(named).items():
        times = "" if many == 1 else f", {many} times"
        yield f"{name}{times}: it was not followed to what it hides"


def excused(facts: Sequence[Fact]) -> Iterator[str]:
    """Say what differs though noise may hide it."""
    for kind in sorted({kind for kind, _ in facts}):
        words = _IN_WORDS.get(kind, kind)
        yield f"{words} differs with the same randomness, and only noise not followed can hide it"


def is_hidden(again: Callable[[], bool]) -> bool:
    """Tell whether runs that get the same noise differ."""
    return not all(again() for _ in range(_RERUNS))


def has_shuffles(draws: Sequence[Draw]) -> bool:
    """Tell whether any draw is a shuffle."""
    return any(draw.kind in _SHUFFLES for draw in draws)


_REPEAT_FACTOR = 28.0  # (1 - 1 / 2t)^28t is below 1e-6.
_MAX_REPEATS = 400
_SHUFFLES_TRIED = 8
# Patches of two replays that overlap would never be taken back.
_ONE_AT_A_TIME = threading.RLock()


@dataclass(frozen=True, slots=True)
class Replayed:
    """What two runs on neighbours have told.

    ``findings`` are the differences that noise does not hide; ``changes`` is how far the numbers
    under each draw of noise moved, which is the sensitivity actually used on this pair; ``unseen``
    counts draws of which it was not seen what they were added to. ``outputs`` are those of x and y.
    ``doubts`` says what was not understood: noise that was not seen or not followed, so that the
    runs cannot be judged, unless there are findings all the same.
    """

    findings: tuple[Finding, ...]
    changes: tuple[Change, ...]
    draws: tuple[int, int]
    unseen: int
    outputs: tuple[Any, Any]
    doubts: tuple[str, ...] = ()

    @property
    def verdict(self) -> Literal["violation", "not understood", "no violation found"]:
        """Whether anything was found that tells neighbours apart."""
        if self.findings:
            return "violation"
        return "not understood" if self.doubts else "no violation found"

    @property
    def private(self) -> bool:
        """Tell whether all was understood and nothing was found."""
        return self.verdict == "no violation found"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of all findings."""
        return frozenset(finding.kind for finding in self.findings)

    def __str__(self) -> str:
        lines = [f"{self.verdict}; draws: {self.draws[0]} on x, {self.draws[1]} on y"]
        lines += [f"  {finding}" for finding in self.findings]
        for change in self.changes:
            size = getattr(change, change.norm)
            cost = "" if change.loss is None else f", {change.loss:.6g} times the noise"
            lines.append(f"  {change.kind} ({change.where}) hides {size:.6g} {change.norm}{cost}")
        if self.draws == (0, 0):
            lines.append("  no draw of noise was seen")
        if self.unseen:
            lines.append(f"  not seen what {self.unseen} of the draws went into")
        lines += [f"  not understood: {doubt}" for doubt in self.doubts]
        if self.verdict == "not understood":
            lines.append("  so.audit can judge it: it runs the function often")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Run:
    value: Any
    error: Exception | SystemExit | None
    recorder: Recorder
    lines: frozenset[str]

    @property
    def draws(self) -> list[Draw]:
        return self.recorder.draws

    def facts(self) -> dict[Fact, str]:
        return facts(self.draws, self.value, self.error)


def replay(
    function: Callable[[Any], Any],
    x: Any,
    y: Any,
    *,
    epsilon: Number | None = None,
    delta: Number = 0.0,
    adapters: Sequence[Adapter] | None = None,
    lines: bool = False,
    repeats: int | None = None,
) -> Replayed:
    """Run a function on two neighbouring data sets with the same noisy values; say what differs.

    The function takes a data set and draws its noise by numpy, random, scipy, sordino, diffprivlib
    or OpenDP; ``adapters`` says which; if not given, all that are loaded once it has run. With
    ``epsilon`` the changes found are held against the noise on top of them, each noisy number
    counted as if it were told. With ``lines`` the lines of the function's own files that ran on one
    side only are findings too; a loop that clips row by row has such lines and does no harm.

    Some noise cannot be followed to what it is added to, such as noise that is rounded first or
    made by hand from uniform numbers, and some is not seen at all. Then the verdict is not "no
    violation found" but "not understood", and ``doubts`` says why. What can be judged still is:
    such noise is the same on both sides, and a difference is a finding if it stays in ``repeats``
    runs with other noise on each side: x and y never give the same. By default there are as many
    runs as keep false alarms below one in a million at this epsilon, or at 1, but at most 400,
    which is enough up to epsilon 2.6. With 0 every difference counts.

    An error that both runs end in alike is raised. It sees one pair: no finding is no proof. One
    replay runs at a time in a process, and draws of other threads are left alone.

    >>> import numpy as np
    >>> def noisy_sum(values):
    ...     return sum(values) + np.random.default_rng().laplace(scale=10)
    >>> replay(noisy_sum, [1, 2, 9], [1, 2], epsilon=1).private
    True
    >>> print(replay(noisy_sum, [1, 2, 90], [1, 2], epsilon=1).findings[0].words)
    the numbers moved by 90 in l1: that costs epsilon 9, claimed is 1
    """
    price = None if epsilon is None else float(nonnegative("epsilon", epsilon))
    slack = float(probability_or_zero("delta", delta))
    _check(function, x, y, adapters, repeats)
    with _ONE_AT_A_TIME:
        for data in (x, y):
            _warm(function, data)
        used = _loaded() if adapters is None else tuple(adapters)

        def compared(*, chained: bool) -> Replayed:
            def run(
                data: Any, number: int, replayed: _Run | None = None, *, shifted: bool = False
            ) -> _Run:
                held = None if replayed is None else replayed.recorder
                guide = None
                if chained and held is not None:
                    guide = Recorder(number, chained=True)
                    _run(function, data, guide, used, lines=False)
                recorder = Recorder(number, held, shifted=shifted, chained=chained, guide=guide)
                return _run(function, data, recorder, used, lines=lines)

            return _compare(run, x, y, price=price, slack=slack, repeats=repeats)

        found = compared(chained=False)
        if "no noise" not in found.kinds:
            return found
        # Data may have been added after the noise; if that explains all, it is as good.
        other = compared(chained=True)
        return other if other.private or other.kinds == {"sensitivity"} else found


def _compare(
    run: Callable[..., _Run],
    x: Any,
    y: Any,
    *,
    price: float | None,
    slack: float,
    repeats: int | None,
) -> Replayed:
    """Run on both data sets as often as it takes, and say what differs."""
    one = run(x, 0)
    other = run(y, 0, one)
    if one.error is not None and raised(one.error) == raised(other.error):
        if isinstance(one.error, SystemExit):
            raise RuntimeError("the function leaves Python on both inputs") from one.error
        raise one.error  # there is nothing to compare
    mine, yours = one.facts(), other.facts()
    apart = [fact for fact in mine.keys() & yours.keys() if mine[fact] != yours[fact]]
    open_ = loose(one.draws, other.draws)
    taped = bool(one.recorder.tape.kept or other.recorder.tape.kept)
    hidden = not open_ and not taped and is_hidden(
        lambda: run(x, 0, one).facts() == mine and run(y, 0, one).facts() == yours
    )  # fmt: skip
    left: list[Fact] = []
    if apart and (open_ or taped or hidden):
        many = _repeats(price) if repeats is None else repeats
        stay = _stay_apart(apart, lambda n: (run(x, n).facts(), run(y, n).facts()), many)
        apart, left = stay, [fact for fact in apart if fact not in stay]
    doubts = [*not_followed(open_), *excused(left)]
    if taped:
        doubts.append("bits of sordino's own randomness that are read outside of a release")
    if hidden:
        doubts.append("runs that get the same noise differ, so there is randomness not seen")
    seen = tuple(change for change in changes(one.draws, other.draws) if change is not None)
    findings = [told(fact, one.draws, other.draws, (mine[fact], yours[fact]))
                for fact in _first(apart)]  # fmt: skip
    findings += [*reused(one.draws), *too_far(seen)]
    if price is not None:
        findings += too_dear(seen, price, slack)
    if not findings and not doubts:
        doubts += _tried(run, x, y, one, other)
    return Replayed(
        findings=(*findings, *one_sided(one.lines, other.lines)),
        changes=seen,
        draws=(len(one.draws), len(other.draws)),
        unseen=_unseen(one, other),
        outputs=(one.value, other.value),
        doubts=tuple(doubts),
    )


def _tried(run: Callable[..., _Run], x: Any, y: Any, one: _Run, other: _Run) -> Iterator[str]:
    """Try other noise below the same sums, and other shuffles; say what does not go with them."""
    if run(y, 0, one, shifted=True).facts() != other.facts():
        yield "noise goes elsewhere than into one sum, such as into the output as it is"
    for number in range(1, _SHUFFLES_TRIED + 1) if has_shuffles(one.draws) else ():
        mine = run(x, number)
        if run(y, number, mine).facts() != mine.facts():
            yield "what is shuffled shows in the output or in what is drawn"
            return


def _check(
    function: Any, x: Any, y: Any, adapters: Sequence[Adapter] | None, repeats: int | None
) -> None:
    """Refuse arguments that are not what they should be."""
    if not callable(function):
        kind = type(function).__name__
        raise TypeError(f"function must be callable with a data set, not {kind}")
    if adapters is not None and (
        isinstance(adapters, str) or not isinstance(adapters, Iterable)
        or not all(map(callable, adapters))
    ):  # fmt: skip
        raise TypeError(
            "adapters must be a list of adapters, such as [numpy_draws] of "
            "sordino.auditing.replays.adapters; leave it out to have all that are loaded"
        )
    if repeats is not None and (not isinstance(repeats, int) or repeats < 0):
        raise ValueError(f"repeats must be a whole number of at least 0, not {repeats!r}")
    if x is y or (type(x) is type(y) and form(x) == form(y) and _same(x, y)):
        raise ValueError("x and y are the same input; give two neighbours that differ")


def _same(x: Any, y: Any) -> bool:
    try:
        return bool(np.all(x == y)) and np.shape(x) == np.shape(y)
    except Exception:  # what cannot be compared is taken to differ
        return False


def _warm(function: Callable[[Any], Any], data: Any) -> None:
    """Run a function once as it is, so that all it imports is there before anything is patched."""
    with suppress(Exception, SystemExit):
        function(copy.deepcopy(data))


def _first(apart: list[Fact]) -> list[Fact]:
    """Return the facts to tell: one of each kind, and no scales or prices if draws differ."""
    kinds = {kind for kind, _ in apart}
    idle = {"price", "scale"} if "draws" in kinds else {"scale"} if "price" in kinds else set()
    idle |= {"no noise"} if kinds & {"draws", "output"} else set()
    firsts = {kind: min(at for name, at in apart if name == kind) for kind in kinds - idle}
    return sorted(firsts.items())


def _repeats(epsilon: float | None) -> int:
    wanted = _REPEAT_FACTOR * math.exp(min(1.0 if epsilon is None else epsilon, 9.0))
    return min(math.ceil(wanted), _MAX_REPEATS)


def _stay_apart(
    apart: list[Fact], pair: Callable[[int], tuple[dict[Fact, str], dict[Fact, str]]], many: int
) -> list[Fact]:
    """Return the facts that no run on x has in common with any run on y.

    A fact that takes other values in more than an eighth of the runs is moved by noise. One that
    takes few: then it is likely that those seen on x have half of the probability, and each run on
    y gives one of them with probability e^-epsilon / 2 at least if it is epsilon-private. All n
    runs miss them with probability (1 - e^-epsilon / 2)^n at most.
    """
    seen: dict[Fact, tuple[set[str], set[str]]] = {fact: (set(), set()) for fact in apart}
    for number in range(1, many + 1):
        if not seen:
            break
        found = pair(number)
        for fact in list(seen):
            for values, side in zip(seen[fact], found, strict=True):
                values.add(side.get(fact, ""))
            if seen[fact][0] & seen[fact][1] or max(map(len, seen[fact])) > max(many / 8, 1):
                del seen[fact]
    return list(seen)


def _unseen(one: _Run, other: _Run) -> int:
    """Count the draws of noise of which it was not seen what they were added to, on either side."""
    draws = zip(one.draws, other.draws, strict=False)
    return sum(a.norm is not None and _is_unseen(a) and _is_unseen(b) for a, b in draws)


def _is_unseen(draw: Draw) -> bool:
    return draw.declared is None and draw.onto() is None


def _loaded() -> tuple[Adapter, ...]:
    """Return the adapters for what has been imported."""
    found: list[Adapter] = [numpy_draws, sordino_draws]
    if "scipy.stats" in sys.modules:
        found.append(scipy_draws)
    if "diffprivlib" in sys.modules:
        found.append(diffprivlib_draws)
    if "opendp" in sys.modules:
        found.append(opendp_draws)
    return tuple(found)


def _run(
    function: Callable[[Any], Any],
    data: Any,
    recorder: Recorder,
    adapters: Sequence[Adapter],
    *,
    lines: bool,
) -> _Run:
    own = copy.deepcopy(data)  # what the function does to it must not be seen by the next run
    seen: set[str] = set()
    value, error = None, None
    with ExitStack() as stack:
        for adapter in adapters:
            stack.enter_context(adapter(recorder, function))
        if lines:
            stack.enter_context(watched(seen))
        try:
            value = plain(function(own))
        except MemoryError:
            raise
        except (Exception, SystemExit) as raised:
            error = raised
        finally:
            recorder.close()
    return _Run(value, error, recorder, frozenset(seen))
