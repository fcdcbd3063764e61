# SPDX-License-Identifier: Apache-2.0
"""Whether the noise of two runs was seen and followed, so that what they tell can be judged.

Where all noise was followed, a run that replays another comes out the same again and again, also
if noise that is added to numbers is replaced by other noise: only the sums are kept. Noise that
goes anywhere else shows, and so does randomness that no draw accounts for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from sordino.auditing.differences import Fact
from sordino.auditing.draws import Draw

_SHUFFLES = {"permutation", "permuted", "shuffle"}  # of no effect on sums and counts
_AGAIN = 10  # runs on each side; a hidden coin is missed by 20 runs once in a million
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
    return not all(again() for _ in range(_AGAIN))


def has_shuffles(draws: Sequence[Draw]) -> bool:
    """Tell whether any draw is a shuffle."""
    return any(draw.kind in _SHUFFLES for draw in draws)
