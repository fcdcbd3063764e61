# SPDX-License-Identifier: Apache-2.0
"""Record and replay: a function runs on neighbouring data sets and sees the same noisy values.

A draw of the second run comes out as the noisy value that it was in the first, as if its noise had
been just that much larger or smaller; what such a step costs is how far the number under the noise
moved, over the scale of the noise. Nothing else may differ then: not how much noise there is and
how often it is drawn, not the form of the output or any value in it, no error and no price.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from sordino.auditing.adapters import Adapter, diffprivlib_draws, numpy_draws, opendp_draws
from sordino.auditing.differences import (
    Change,
    Fact,
    Finding,
    changes,
    facts,
    raised,
    reused,
    told,
    too_dear,
    too_far,
)
from sordino.auditing.draws import Draw, Recorder, is_followed
from sordino.auditing.followed import plain
from sordino.auditing.own_draws import sordino_draws
from sordino.exact.rational import Number, nonnegative, probability_or_zero

_FALSE_ALARMS = 28.0  # (1 - 1 / 2t)^28t is below 1e-6
_MOST_REPEATS = 400


@dataclass(frozen=True, slots=True)
class Replayed:
    """What two runs on neighbours have told.

    ``findings`` are the differences that noise does not hide; ``changes`` is how far the numbers
    under each draw of noise moved, which is the sensitivity actually used on this pair; ``unseen``
    counts draws of which it was not seen what they were added to. ``outputs`` are those of x and y.

    Guarantee: none needed; it tells about invented data only.
    """

    findings: tuple[Finding, ...]
    changes: tuple[Change, ...]
    draws: tuple[int, int]
    unseen: int
    outputs: tuple[Any, Any]

    @property
    def verdict(self) -> Literal["violation", "no violation found"]:
        """Whether anything was found that tells neighbours apart."""
        return "violation" if self.findings else "no violation found"

    @property
    def private(self) -> bool:
        """Tell whether nothing was found."""
        return not self.findings

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
            lines.append(f"  not seen what {self.unseen} of the draws were added to")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Run:
    value: Any
    error: Exception | None
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

    The function takes a data set and draws its noise by numpy, random, sordino, diffprivlib or
    OpenDP; ``adapters`` says which, all that are loaded if not given. With ``epsilon`` the changes
    found are held against the noise on top of them, each noisy number counted as if it were told.
    With ``lines`` the lines of the function's own files that ran on one side only are findings too;
    a loop that clips row by row has such lines and does no harm.

    Some noise cannot be followed to what it is added to, such as noise that is rounded first. Then
    it is the same on both sides, and a difference is a finding if it stays in ``repeats`` runs with
    other noise on each side: x and y never give the same. By default there are as many runs as keep
    false alarms below one in a million at this epsilon, or at 1, but at most 400, which is enough
    up to epsilon 2.6. With 0 every difference counts.

    An error that both runs end in alike is raised. It sees one pair: no finding is no proof.

    >>> import numpy as np
    >>> def noisy_sum(values):
    ...     return sum(values) + np.random.default_rng().laplace(scale=10)
    >>> replay(noisy_sum, [1, 2, 9], [1, 2], epsilon=1).private
    True
    >>> print(replay(noisy_sum, [1, 2, 90], [1, 2], epsilon=1).findings[0].words)
    the numbers moved by 90 in l1: that costs epsilon 9, claimed is 1

    Guarantee: none needed; it looks at invented data only.
    """
    price = None if epsilon is None else float(nonnegative("epsilon", epsilon))
    slack = float(probability_or_zero("delta", delta))
    used = _loaded() if adapters is None else tuple(adapters)

    def run(data: Any, number: int, replayed: _Run | None = None) -> _Run:
        recorder = Recorder(number, None if replayed is None else replayed.recorder)
        return _run(function, data, recorder, used, lines=lines)

    one = run(x, 0)
    other = run(y, 0, one)
    if one.error is not None and raised(one.error) == raised(other.error):
        raise one.error  # there is nothing to compare
    mine, yours = one.facts(), other.facts()
    apart = [fact for fact in mine.keys() & yours.keys() if mine[fact] != yours[fact]]
    if apart and (_is_loose(one, other) or run(x, 0, one).facts() != mine):
        many = _repeats(price) if repeats is None else repeats
        apart = _stay_apart(apart, lambda n: (run(x, n).facts(), run(y, n).facts()), many)
    seen = tuple(change for change in changes(one.draws, other.draws) if change is not None)
    findings = [told(fact, one.draws, other.draws, (mine[fact], yours[fact]))
                for fact in _first(apart)]  # fmt: skip
    findings += [*reused(one.draws), *too_far(seen)]
    if price is not None:
        findings += too_dear(seen, price, slack)
    return Replayed(
        findings=(*findings, *_compare_lines(one, other)),
        changes=seen,
        draws=(len(one.draws), len(other.draws)),
        unseen=_unseen(one, other),
        outputs=(one.value, other.value),
    )


def _is_loose(one: _Run, other: _Run) -> bool:
    """Tell whether noise was drawn that the second run did not get as noisy values.

    Once the two make other draws they have parted, and what they draw then cannot hide it.
    """
    for mine, yours in zip(one.draws, other.draws, strict=False):
        if (mine.kind, mine.shape) != (yours.kind, yours.shape):
            break
        if not yours.tied:
            return True
    return bool(one.recorder.tape.kept or other.recorder.tape.kept)


def _first(apart: list[Fact]) -> list[Fact]:
    """Return the facts to tell: one of each kind, and no scales or prices if draws differ."""
    kinds = {kind for kind, _ in apart}
    idle = {"price", "scale"} if "draws" in kinds else {"scale"} if "price" in kinds else set()
    idle |= {"no noise"} if kinds & {"draws", "output"} else set()
    firsts = {kind: min(at for name, at in apart if name == kind) for kind in kinds - idle}
    return sorted(firsts.items())


def _repeats(epsilon: float | None) -> int:
    wanted = _FALSE_ALARMS * math.exp(min(1.0 if epsilon is None else epsilon, 9.0))
    return min(math.ceil(wanted), _MOST_REPEATS)


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
            stack.enter_context(_watched(seen))
        try:
            value = plain(function(own))
        except MemoryError:
            raise
        except Exception as raised:
            error = raised
    return _Run(value, error, recorder, frozenset(seen))


@contextmanager
def _watched(seen: set[str]) -> Iterator[None]:
    """Note the lines of the code under test that run in this thread."""

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen.add(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return line

    def enter(frame: FrameType, *_: Any) -> Any:
        return line if is_followed(frame.f_code.co_filename) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def _compare_lines(one: _Run, other: _Run) -> Iterator[Finding]:
    for name, line in sorted(
        [("x", line) for line in one.lines - other.lines]
        + [("y", line) for line in other.lines - one.lines]
    ):
        yield Finding("lines", f"this line runs on {name} only", Path(line).name)
