# SPDX-License-Identifier: Apache-2.0
"""How far one record, or one person, can move the answer to a query."""

from sordino.sensitivity.check import Report, Why, check, distance, local, why
from sordino.sensitivity.linear import linear
from sordino.sensitivity.norms import (
    Neighbours,
    Rows,
    Sensitivity,
    Units,
    Witness,
    convert,
    read_neighbours,
)
from sordino.sensitivity.sums import (
    choices,
    count,
    histogram,
    maximum,
    mean,
    minimum,
    quantile,
    rows,
    sum,  # noqa: A004 - called with its package
    variance,
)

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
