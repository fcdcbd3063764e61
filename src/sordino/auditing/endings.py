# SPDX-License-Identifier: Apache-2.0
"""How the runs on one input ended: how many raised an error, and whether errors set in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_WORKED = 20  # runs, before errors can be said to set in
_TIMES = 120  # the mean distance of two runs that work, after which none is no chance


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

    Guarantee: none needed; it sees what a mechanism made of invented data.
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
        return worked >= _WORKED and self.tail * worked > _TIMES * (self.runs - self.tail)
