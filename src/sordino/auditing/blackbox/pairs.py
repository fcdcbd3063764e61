# SPDX-License-Identifier: Apache-2.0
"""Neighbouring inputs to try, and the search for the pair that tells most."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sordino.auditing.blackbox.events import choose
from sordino.auditing.blackbox.runner import Runner, collect
from sordino.sensitivity.check import Space
from sordino.sensitivity.norms import Neighbours, read_neighbours

Inputs: TypeAlias = tuple[Any, Any]

_MIN_RUNS = 100  # On each input of a pair.
_PAIRS_FOR_EACH_KEPT = 4


@dataclass(frozen=True)
class Universe:
    """All neighbouring data sets of up to some size, with records from a short list.

    Data sets are multisets, as sorted tuples, or tuples in every order if ``ordered``.

    >>> list(Universe("ab", size=1, neighbours="add_remove").pairs())
    [((), ('a',)), ((), ('b',))]
    >>> len(Universe(range(3), size=2, neighbours="replace_one", least=2).pairs())
    9
    """

    records: Iterable[Any]
    size: int
    neighbours: str
    least: int = 0
    ordered: bool = False

    def pairs(self) -> list[Inputs]:
        """Return all pairs of neighbours, each once."""
        relation = read_neighbours(self.neighbours)
        records = tuple(self.records)
        if not records:
            raise ValueError("a universe needs records; give at least one")
        if not 0 <= self.least <= self.size:
            raise ValueError(f"sizes from {self.least} to {self.size} make no sense; lower least")
        least = self.least if relation is Neighbours.add_remove else max(1, self.least)
        space = Space(len(records), least, self.size, self.ordered)
        space.refuse_too_many(relation)
        data = list(space.all())
        firsts, seconds = space.neighbours(data, relation)
        numbers = {
            (int(one), int(other))
            for first, second in zip(firsts, seconds, strict=True)
            for one, other in zip(first, second, strict=True)
            if one != other
        }
        sets = [tuple(records[place] for place in places) for places in data]
        return [(sets[one], sets[other]) for one, other in sorted(numbers)]


def read_pairs(universe: object) -> list[Inputs]:
    """Return the pairs of a universe, or of a sequence of pairs."""
    if isinstance(universe, Universe):
        return universe.pairs()
    if universe is None:
        raise TypeError("search=True needs a universe, such as [(0, 1), (3, 2)]")
    if not isinstance(universe, Iterable) or isinstance(universe, (str, bytes)):
        raise TypeError("universe must be a Universe or a sequence of pairs (x, y)")
    pairs = []
    for pair in universe:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"{str(pair)[:60]} is not a pair; a universe holds pairs (x, y)")
        pairs.append((pair[0], pair[1]))
    if not pairs:
        raise ValueError("the universe holds no pairs of neighbours; give at least one")
    return pairs


def most_promising(
    runner: Runner,
    pairs: list[Inputs],
    runs: int,
    *,
    delta: float,
    alpha: float,
    spend: Callable[[int], None],
) -> Inputs:
    """Return the pair whose best event looks worst; `spend` is told of all runs it takes.

    Turns of fewer pairs and more runs each; the runs of a turn are not used for the audit.
    """
    turns = 1
    while _PAIRS_FOR_EACH_KEPT**turns < len(pairs):
        turns += 1
    while len(pairs) > 1:
        each = runs // (2 * turns * len(pairs))
        if each < _MIN_RUNS:
            raise ValueError(
                f"{len(pairs)} pairs need at least {10 * 2 * turns * len(pairs) * _MIN_RUNS} runs "
                "to be searched; give more runs or a smaller universe"
            )
        guesses = []
        for x, y in pairs:
            runner.start(x, y)
            kept = collect(runner, each)
            guesses.append(choose(kept, runner.reader, delta=delta, alpha=alpha).guess)
            spend(2 * each)
        places = sorted(range(len(pairs)), key=lambda place: -guesses[place])
        pairs = [pairs[place] for place in places[: max(1, len(pairs) // _PAIRS_FOR_EACH_KEPT)]]
    return pairs[0]
