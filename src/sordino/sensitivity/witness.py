# SPDX-License-Identifier: Apache-2.0
"""Two neighbouring data sets and the answers to them, side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from sordino.sensitivity.arguments import shown

Vector: TypeAlias = tuple[Fraction, ...]

_MOST_LINES = 10  # of a data set that is printed
_MOST_ENTRIES = 6  # of an answer that is printed
_LONGEST = 36  # characters of one entry


class Rows(NamedTuple):
    """So many equal records."""

    record: object
    times: int = 1

    def __str__(self) -> str:
        return _line(_cut(_record(self.record)), self.times)


@dataclass(frozen=True, slots=True)
class Witness:
    """Two neighbouring data sets, the answers to both, and the norms whose maximum they reach.

    The order of the records matters only if it is ``ordered``.
    """

    one: tuple[Rows, ...]
    other: tuple[Rows, ...]
    answers: tuple[Vector, Vector]
    attains: tuple[str, ...] = ("l1", "l2", "linf")
    ordered: bool = False

    @property
    def difference(self) -> Vector:
        """What is left of one answer when the other is taken away."""
        return tuple(a - b for a, b in zip(*self.answers, strict=True))

    @property
    def l1(self) -> Fraction:
        """The sum of the absolute differences."""
        return sum(map(abs, self.difference), Fraction(0))

    @property
    def l2_squared(self) -> Fraction:
        """The sum of the squared differences."""
        return sum((x * x for x in self.difference), Fraction(0))

    @property
    def linf(self) -> Fraction:
        """The largest absolute difference."""
        return max(map(abs, self.difference), default=Fraction(0))

    def data(self) -> tuple[list[object], list[object]]:
        """Return both data sets record by record."""
        both = (self.one, self.other)
        one, other = ([r.record for r in rows for _ in range(r.times)] for rows in both)
        return one, other

    def __str__(self) -> str:
        """Write both data sets side by side; unless they are ordered, what they share first."""
        lines = [("", "one", "other")]
        if self.ordered:
            both = map(str, self.one), map(str, self.other)
            pairs = list(itertools.zip_longest(*both, fillvalue=""))
        else:
            pairs = _aligned(self.one, self.other)
        for place, (left, right) in enumerate(pairs[:_MOST_LINES]):
            lines.append(("" if place else "records", left, right))
        if not pairs:
            lines.append(("records", "none", "none"))
        if len(pairs) > _MOST_LINES:
            more = f"... {len(pairs) - _MOST_LINES} more"
            lines.append(("", more, more))
        first, second = self.answers
        lines.append(("answer", _vector(first), _vector(second)))
        lines.append(("moved by", _vector(tuple(map(abs, self.difference))), ""))
        wide = max(len(left) for _, left, _ in lines)
        return "\n".join(f"  {a:<10}{b:<{wide}}   {c}".rstrip() for a, b, c in lines)


def of_number(
    one: Iterable[Rows], other: Iterable[Rows], answers: tuple[Fraction | int, Fraction | int]
) -> Witness:
    """Return the witness for a query whose answer is a single number."""
    first, second = ((Fraction(answer),) for answer in answers)
    return Witness(kept(one), kept(other), (first, second))


def select(candidates: Sequence[Witness]) -> tuple[Witness, ...]:
    """Return as few witnesses as attain the largest norms of all, with the norms they attain."""
    norms: dict[str, Callable[[Witness], Fraction]] = {
        "l1": lambda w: w.l1,
        "l2": lambda w: w.l2_squared,
        "linf": lambda w: w.linf,
    }
    top = {name: max(map(norm, candidates)) for name, norm in norms.items() if candidates}
    found: list[Witness] = []
    left = set(top)
    for name, largest in top.items():
        if name not in left:
            continue
        best = [w for w in candidates if norms[name](w) == largest]
        attained = [tuple(n for n in top if norms[n](w) == top[n]) for w in best]
        most = max(range(len(best)), key=lambda place: len(attained[place]))
        found.append(replace(best[most], attains=attained[most]))
        left -= set(attained[most])
    return tuple(found)


def kept(rows: Iterable[Rows]) -> tuple[Rows, ...]:
    """Leave out what occurs zero times."""
    return tuple(row for row in rows if row.times > 0)


def _aligned(one: Sequence[Rows], other: Sequence[Rows]) -> list[tuple[str, str]]:
    """Write both data sets line by line: the records that they share, then the rest."""
    left, right = _times(one), _times(other)
    common = {text: min(left[text], right.get(text, 0)) for text in left}
    pairs = [(_line(text, n), _line(text, n)) for text, n in common.items() if n]
    only = [_line(text, n - common[text]) for text, n in left.items() if n > common[text]]
    rest = [
        _line(text, n - common.get(text, 0)) for text, n in right.items() if n > common.get(text, 0)
    ]
    return pairs + list(itertools.zip_longest(only, rest, fillvalue=""))


def _times(rows: Sequence[Rows]) -> dict[str, int]:
    found: dict[str, int] = {}
    for record, times in rows:
        text = _cut(_record(record))
        found[text] = found.get(text, 0) + times
    return found


def _line(text: str, times: int) -> str:
    return text if times == 1 else f"{times} × {text}"


def _record(record: object) -> str:
    if isinstance(record, Fraction):
        return shown(record)
    if isinstance(record, str):
        return record
    if isinstance(record, tuple) and record:
        return f"({', '.join(map(_record, record))})"
    return repr(record)


def _vector(values: Vector) -> str:
    if len(values) == 1:
        return _cut(shown(values[0]))
    entries = [shown(value) for value in values[:_MOST_ENTRIES]]
    if len(values) > _MOST_ENTRIES:
        entries.append(f"... {len(values) - _MOST_ENTRIES} more")
    return f"({', '.join(entries)})"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
