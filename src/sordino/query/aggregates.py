# SPDX-License-Identifier: Apache-2.0
"""The aggregates that a question may ask for, one row each: how SQL writes them, what they give.

The parser, the binder, post-processing and completion read this table. ``plan.aggregates`` has the
rows that say which exact integers each of them needs, and what follows from noisy ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sordino.query.operations import Function
from sordino.query.tree import Kind


@dataclass(frozen=True, slots=True)
class Aggregate:
    """How an aggregate is written in SQL.

    ``functions`` are its names, and ``synonyms`` further ones, which are not offered. ``nodes`` are
    the parser's classes by name, with the arguments that they may have. One that is ``numeric``
    takes a number with public bounds and nothing else. One that ``counts`` gives a whole number
    that is not negative, and one that ``lists`` gives several values.
    """

    kind: Kind
    functions: tuple[Function, ...] = ()
    synonyms: tuple[Function, ...] = ()
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numeric: bool = False
    counts: bool = False
    lists: bool = False


def _numeric(kind: Kind, *synonyms: str, nodes: tuple[str, ...]) -> Aggregate:
    others = tuple(Function(name, (1,)) for name in synonyms)
    arguments = dict.fromkeys(nodes, ("this",))
    return Aggregate(kind, (Function(kind.value, (1,)),), others, arguments, numeric=True)


_ROWS = (
    Aggregate(
        Kind.COUNT,
        (
            Function("count", (1,), "COUNT(*), or COUNT(x) for each x"),
            Function("count_if", (1,)),
            Function("histogram", (2,), "HISTOGRAM(x, 10)", unknown=True),  # a count for each bin
        ),
        (Function("countif", (1,), unknown=True),),
        {"Count": ("this", "big_int"), "CountIf": ("this",), "Distinct": ("expressions",)},
        counts=True,
    ),
    Aggregate(Kind.COUNT_UNITS, counts=True),  # COUNT(DISTINCT x), where x is the unit
    Aggregate(Kind.COUNT_DISTINCT, counts=True),
    _numeric(Kind.SUM, nodes=("Sum",)),
    _numeric(Kind.AVG, "mean", nodes=("Avg",)),
    _numeric(Kind.MIN, nodes=("Min",)),
    _numeric(Kind.MAX, nodes=("Max",)),
    Aggregate(
        Kind.QUANTILE,
        (
            Function("median", (1,)),
            Function("quantile", (2,), "QUANTILE(x, 0.5), and one QUANTILE for each share"),
        ),
        (
            Function("quantile_cont", (2,), "QUANTILE_CONT(x, 0.5), and one for each share"),
            Function(
                "percentile_cont",
                (1,),
                "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x), one for each share",
            ),
        ),
        {
            "Median": ("this",),
            "Quantile": ("this", "quantile"),
            "PercentileCont": ("this", "expression"),
            "WithinGroup": ("this", "expression"),
        },
    ),
    Aggregate(Kind.MODE, (Function("mode", (1,)),), nodes={"Mode": ("this",)}),
    Aggregate(Kind.TOP, (Function("top", (2,), "TOP(3, x)", unknown=True),), lists=True),
    _numeric(Kind.VARIANCE, "var_pop", "var_samp", nodes=("Variance", "VariancePop")),
    _numeric(
        Kind.STDDEV,
        *("stddev_pop", "stddev_samp"),
        nodes=("Stddev", "StddevPop", "StddevSamp"),
    ),
)
AGGREGATES = {row.kind: row for row in _ROWS}
COUNTS = frozenset(row.kind for row in _ROWS if row.counts)
FUNCTIONS = tuple(function for row in _ROWS for function in (*row.functions, *row.synonyms))
