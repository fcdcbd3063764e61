# SPDX-License-Identifier: Apache-2.0
"""Estimated frequencies with intervals, as numbers, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.local.domain import Label

Floats = npt.NDArray[np.float64]

_MOST_LINES = 40
_LONGEST = 40  # places of a label


class Line(NamedTuple):
    """What is estimated of one category.

    Guarantee: none needed; it is made of private reports.
    """

    label: Label
    frequency: float
    low: float
    high: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """How frequent each category is among the people, as far as their reports tell.

    ``frequencies`` are unbiased, so a rare category may come out below 0; ``projected`` gives the
    nearest numbers that are none below 0 and add up to 1. ``low`` and ``high`` hold the true
    frequency with the confidence, ``standard_errors`` are those of the reports' coins.

    Guarantee: none needed; it is made of private reports.
    """

    labels: tuple[Label, ...]
    people: int
    confidence: float
    together: bool
    frequencies: Floats
    low: Floats
    high: Floats
    standard_errors: Floats

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Line]:
        columns = (self.frequencies, self.low, self.high, self.standard_errors)
        return map(Line, self.labels, *(column.tolist() for column in columns))

    def __getitem__(self, label: Label) -> Line:
        try:
            place = self.labels.index(label)
        except ValueError:
            raise KeyError(f"there is no category {label!r}") from None
        return next(line for at, line in enumerate(self) if at == place)

    @property
    def counts(self) -> Floats:
        """How many of the people are estimated to be in each category."""
        return self.frequencies * self.people

    def projected(self) -> Estimate:
        """Return the estimate with the nearest frequencies that are a distribution.

        The intervals stay as they are: moving nearer to what is possible does not move the truth.

        Guarantee: none needed; it is made of private reports.
        """
        return replace(self, frequencies=onto_simplex(self.frequencies))

    def to_json(self) -> dict[str, Any]:
        """Return everything in plain numbers and texts.

        Guarantee: none needed; it is made of private reports.
        """
        return {
            "people": self.people,
            "confidence": self.confidence,
            "together": self.together,
            "categories": [line._asdict() for line in self],
        }

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw the frequencies with their intervals and return the figure; with a path, save it.

        Guarantee: none needed; it is made of private reports.
        """
        from sordino.local.plot import draw_estimate

        return draw_estimate(self, path)

    def __str__(self) -> str:
        """Write a table, the most frequent categories first."""
        order = np.argsort(-self.frequencies, kind="stable").tolist()
        lines = list(self)
        rows = [
            (_cut(line.label), _percent(line.frequency), _percent(line.low), _percent(line.high))
            for line in (lines[place] for place in order[:_MOST_LINES])
        ]
        rows = [("category", "frequency", "from", "to"), *rows]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        text = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        if len(self) > _MOST_LINES:
            text.append(f"... and {len(self) - _MOST_LINES} more")
        return "\n".join([*text, self.words])

    __repr__ = __str__

    @property
    def words(self) -> str:
        """What the intervals mean, in a line."""
        sure = f"{self.confidence:.10g}".rstrip("0")
        how = "all intervals together hold" if self.together else "each interval holds"
        return f"{self.people:,} people; {how} with confidence {sure}"


def onto_simplex(values: Floats) -> Floats:
    """Return the nearest numbers that are not below 0 and add up to 1.

    >>> onto_simplex(np.array([0.7, 0.5, -0.1])).round(6).tolist()
    [0.6, 0.4, 0.0]

    Guarantee: none needed; it is made of private reports.
    """
    order = np.sort(values)[::-1]
    excess = (np.cumsum(order) - 1) / np.arange(1, values.size + 1)
    last = np.flatnonzero(order > excess)[-1]
    found: Floats = np.maximum(values - excess[last], 0)
    return found


def _cut(label: Label) -> str:
    text = str(label)
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
