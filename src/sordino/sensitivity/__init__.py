# SPDX-License-Identifier: Apache-2.0
"""How far one record, or one person, can move the answer to a query."""

from sordino.sensitivity.check import Report, Why, check, distance, local, why
from sordino.sensitivity.counts import choices, count, histogram, rows
from sordino.sensitivity.linear import linear
from sordino.sensitivity.neighbours import Neighbours, Units, convert, read_neighbours
from sordino.sensitivity.norms import Sensitivity
from sordino.sensitivity.sums import maximum, mean, minimum, quantile, sum, variance  # noqa: A004 - called with its package
from sordino.sensitivity.witness import Rows, Witness

__all__ = [
    "Neighbours",
    "Report",
    "Rows",
    "Sensitivity",
    "Units",
    "Why",
    "Witness",
    "check",
    "choices",
    "convert",
    "count",
    "distance",
    "histogram",
    "linear",
    "local",
    "maximum",
    "mean",
    "minimum",
    "quantile",
    "read_neighbours",
    "rows",
    "sum",
    "variance",
    "why",
]
