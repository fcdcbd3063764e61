# SPDX-License-Identifier: Apache-2.0
"""Estimated frequencies with intervals, as numbers, as a table and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.local.domain import Label

Floats = npt.NDArray[np.float64]

_MOST_LINES = 40
_MAX_LABEL_LENGTH = 40


class Line(NamedTuple):
    """What is estimated of one category."""

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
    """

    labels: tuple[Label, ...]
    people: int
    confidence: float
    together: bool
    frequencies: Floats
    low: Floats
    high: Floats
    standard_errors: Floats
    moved: bool = field(default=False, kw_only=True)  # onto the simplex

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
        """
        return replace(self, frequencies=onto_simplex(self.frequencies), moved=True)

    def to_json(self) -> dict[str, Any]:
        """Return everything in plain numbers and texts."""
        return {
            "people": self.people,
            "confidence": self.confidence,
            "together": self.together,
            "projected": self.moved,
            "categories": [line._asdict() for line in self],
        }

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw the frequencies with their intervals and return the figure; with a path, save it."""
        from sordino.local.plot import draw_estimate

        return draw_estimate(self, path)

    def __str__(self) -> str:
        """Write a table, the most frequent categories first."""
        order = np.argsort(-self.frequencies, kind="stable").tolist()
        lines = list(self)
        rows = [
            (short_label(line.label), f"{100 * line.frequency:z.2f} %", *_ends(line.low, line.high))
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
        if len(self) and self.frequencies.min() < 0:
            text.append("Below 0 is noise around a rare category: publish its interval.")
        return "\n".join([*text, self.words])

    __repr__ = __str__

    @property
    def words(self) -> str:
        """What the intervals mean, in a line."""
        how = "all intervals together hold" if self.together else "each interval holds"
        told = f"{self.people:,} people; {how} with confidence {sure(self.confidence)}"
        misses = round(len(self) * (1 - self.confidence))
        if misses and not self.together:
            told += f", so about {misses:,} of {len(self):,} do not: take them together"
        return told + ("; frequencies moved to the nearest that are possible" * self.moved)


def onto_simplex(values: Floats) -> Floats:
    """Return the nearest numbers that are not below 0 and add up to 1.

    >>> onto_simplex(np.array([0.7, 0.5, -0.1])).round(6).tolist()
    [0.6, 0.4, 0.0]
    """
    order = np.sort(values)[::-1]
    excess = (np.cumsum(order) - 1) / np.arange(1, values.size + 1)
    last = np.flatnonzero(order > excess)[-1]
    found: Floats = np.maximum(values - excess[last], 0)
    return found


def short_label(label: Label, longest: int = _MAX_LABEL_LENGTH) -> str:
    """Write a label in letters that can be shown, cut short if it is long."""
    text = str(label)
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= longest else text[: longest - 3] + "..."


def sure(confidence: float) -> str:
    """Write a confidence; one so near 1 that doubles cannot tell is written as less than 1.

    >>> sure(0.95), sure(1.0)
    ('0.95', '0.9999999999999999')
    """
    return repr(min(confidence, math.nextafter(1.0, 0.0)))


def _ends(low: float, high: float) -> tuple[str, str]:
    """Write an interval of shares in percent, no closer than it is but never beyond 0 and 100."""
    first, last = Fraction(repr(max(low, 0.0))), Fraction(repr(min(high, 1.0)))
    return f"{written_down(100 * first, 2)} %", f"{written_up(100 * last, 2)} %"


def written_down(limit: float | Fraction, places: int) -> str:
    """Write the largest number with so many decimal places that is not above a limit.

    >>> written_down(2.718, 2), written_down(-2.718, 2), written_down(-0.0, 1)
    ('2.71', '-2.72', '0.0')
    """
    return _placed(math.floor(Fraction(limit) * 10**places), places)


def written_up(limit: float | Fraction, places: int) -> str:
    """Write the least number with so many decimal places that is not below a limit.

    >>> written_up(2.718, 2), written_up(-2.718, 2), written_up(-0.001, 1)
    ('2.72', '-2.71', '0.0')
    """
    return _placed(math.ceil(Fraction(limit) * 10**places), places)


def written_near(number: float | Fraction, places: int) -> str:
    """Write the nearest number with so many decimal places.

    >>> written_near(2.718, 2), written_near(-0.001, 1)
    ('2.72', '0.0')
    """
    return _placed(round(Fraction(number) * 10**places), places)


def _placed(units: int, places: int) -> str:
    """Write a whole number of units of the last decimal place."""
    return f"{Decimal(f'{units}e-{places}'):f}"
